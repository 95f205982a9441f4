"""Runs that a browser waits for: submitted one by one, remembered, and found again after a click on something else.

A page starts a `PageWork` in a button's callback and calls `follow` at its end. A click meanwhile starts the script
anew; the new run of the script finds the same `PageWork` and goes on waiting for it, so that the page stays usable.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from math import inf
from typing import ClassVar, Literal

import streamlit as st

from engine.backends.measure import failed
from engine.catalogue import KERNELS
from engine.history import history
from engine.history.history import LASTING
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from views.access import visitor
from views.shared import presence
from views.shared.menus import refusal

TOLD_S = 1.0  # a shorter wait is no news


class AwaitedRun:
    """A run of one browser. What the queue gave up for the browser's sake, because a newer click of its came first or
    its connection was lost, is submitted again when the browser is there and the page asks for it again."""

    def __init__(self, session: str, submit: Callable[[], service.Handle]) -> None:
        """Submit it, for a browser's `session`. NotRunnable."""
        self._session, self._submit = session, submit
        self._lock = threading.Lock()
        self._wanted = True
        self.handle = submit()

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction 0..1, what is being done); while it waits, how many runs are ahead and for about how long."""
        fraction, text = self.handle.progress
        wait = self.handle.expected_wait_s()
        return fraction, f"{text}, about {wait:.0f} s" if wait and wait >= TOLD_S else text

    @property
    def unfinished(self) -> bool:
        """Whether it still runs or waits, or is to be submitted again."""
        return not self.handle.done.is_set() or (self.handle.cancelled and self._wanted)

    def wait(self, patience_s: float) -> bool:
        """Wait up to `patience_s`; whether it has ended."""
        handle = self.handle
        if not handle.done.wait(patience_s):
            return False
        with self._lock:
            if not handle.cancelled or not self._wanted:
                return True
            # Else this run of the script is ending, or another one has submitted it again.
            if presence.is_here(self._session) and self.handle is handle:
                try:
                    self.handle = self._submit()
                except NotRunnable as refused:
                    # Its turn may come; where the server ends, that it was cancelled is all there is.
                    return not (isinstance(refused, service.Rejected) and refused.again_s)
        return False

    def cancel(self) -> None:
        """Give it up for good."""
        with self._lock:
            self._wanted = False
            self.handle.cancel()


# Why nothing is run for a choice: the emulator does the same every time, or another browser's is new.
Answer = Literal["emulated before", "another browser's"]

_HAD = "measurements had"

# Drawing is work for one core: browsers that draw at the same moment take turns.
RENDER = threading.Semaphore(1)

POLL_S = 0.1
QUICK_S = 0.25
SHARED_S = 120.0  # how long what one browser measured answers another's first click
REDRAW_S = 0.4  # many quick results are drawn together


class PageWork:
    """Choices being run for one browser, in order. Safe to be looked at by two runs of the script at once."""

    def __init__(
        self,
        choices: Sequence[Settled],
        names: Sequence[str],
        session: str,
        fresh: bool,
        *,
        urgent: bool = False,
        had: dict[Settled, str] | None = None,
    ) -> None:
        """`fresh`: measure anew. `had`: which measurement of each choice this browser was given last; where another
        browser's is newer than that, and new, it answers a `fresh` one too, and so does what was emulated before. None:
        nothing does. `urgent`: before all that waits and is not.
        """
        self.choices, self.names = tuple(choices), tuple(names)
        self.results: list[Measurement] = []
        self.answers: dict[Settled, Answer] = {}  # choices that nothing was run for
        self.turned_away = ""  # why the queue took no more of them
        self._session, self._fresh, self._urgent, self._had = session, fresh, urgent, had
        self._lock = threading.Lock()
        self._ahead: deque[AwaitedRun | Measurement] = deque()  # of the choices that follow the results
        self._held = ""  # why the choice at hand cannot be asked for yet
        self._stopped = False

    @property
    def finished(self) -> bool:
        """Whether every choice has its result, or the work was stopped."""
        return self._stopped or len(self.results) == len(self.choices)

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        done, first = len(self.results), next(iter(self._ahead), None)
        fraction, text = first.progress if isinstance(first, AwaitedRun) else (0.0, self._held or "Starting")
        if done == len(self.choices):
            return 1.0, "Done"
        several = f"{done + 1} of {len(self.choices)}: " if len(self.choices) > 1 else ""
        return (done + min(max(fraction, 0.0), 1.0)) / len(self.choices), f"{several}{self.names[done]}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for the choice at hand; True if its result came in."""
        with self._lock:
            if self.finished:
                return False
            self._submit()
            first = self._ahead[0] if self._ahead else None
        if first is None:
            time.sleep(min(patience_s, POLL_S))
            return False
        if isinstance(first, AwaitedRun) and not first.wait(patience_s):
            return False
        with self._lock:
            if self._stopped or not self._ahead or self._ahead[0] is not first:
                return False
            self._ahead.popleft()
            choice = self.choices[len(self.results)]
            self._keep(
                choice,
                service.measurement_of(first.handle, choice) if isinstance(first, AwaitedRun) else first,
            )
        return True

    def stop(self) -> None:
        """Give up what is left."""
        with self._lock:
            self._stopped = True
            for run in self._ahead:
                if isinstance(run, AwaitedRun):
                    run.cancel()

    def _submit(self) -> None:
        """Ask for the choice at hand, and for so many that follow that no worker is idle."""
        most = service.at_once(self.choices[len(self.results)].device)
        unfinished = sum(isinstance(run, AwaitedRun) and run.unfinished for run in self._ahead)
        self._held = ""
        while unfinished < most and (asked := len(self.results) + len(self._ahead)) < len(self.choices):
            try:
                found = self._asked(self.choices[asked])
            except service.Rejected as later:  # of its browser's share there is nothing left for a while
                self._held = str(later)
                break
            self._ahead.append(found)
            unfinished += isinstance(found, AwaitedRun)

    def _asked(self, choice: Settled) -> AwaitedRun | Measurement:
        """The choice's run, or what answers it without one. Rejected, if it is to be asked for again."""
        answer = self._answer(choice)
        if answer is not None:
            self.answers[choice], measurement = answer
            return measurement
        try:
            return AwaitedRun(
                self._session, lambda: service.submit(choice, self._session, fresh=self._fresh, urgent=self._urgent)
            )
        except NotRunnable as refused:
            if isinstance(refused, service.Rejected):
                if refused.again_s is not None:
                    raise
                self.turned_away = str(refused)
            return failed(choice, refused)

    def _answer(self, choice: Settled) -> tuple[Answer, Measurement] | None:
        if self._fresh and self._had is None:
            return None
        found = history.latest(choice)
        # What an earlier version kept has lost the counters of its lines.
        if found is None or found.status not in LASTING or not (found.counts is None or found.counts.lines):
            return None
        if found.device.get("kind") == "emulator" and found.counts is not None and found.cpu is None:
            return "emulated before", found
        # What is not wanted anew finds its own result in the queue.
        if not self._fresh or self._had is None or _utc(found) == self._had.get(choice) or _age_s(found) >= SHARED_S:
            return None
        return "another browser's", found

    def _keep(self, choice: Settled, measurement: Measurement) -> None:
        self.results.append(measurement)
        if self._had is not None:
            self._had[choice] = _utc(measurement)
        if measurement.status == "refused":  # known without running, and may be gone in a minute
            return
        known = history.latest(choice)
        if known is None or not _same(known, measurement):  # else another browser that shares the run was first
            history.remember(choice, measurement)


def _same(one: Measurement, other: Measurement) -> bool:
    return replace(one, badges=()) == replace(other, badges=())


def _utc(measurement: Measurement) -> str:
    return str(measurement.environment.get("utc") or "")


def _age_s(measurement: Measurement) -> float:
    utc = _utc(measurement)
    return (datetime.now(UTC) - datetime.fromisoformat(utc)).total_seconds() if utc else inf


def start(name: str, choices: Sequence[Settled], names: Sequence[str], fresh: bool = False) -> None:
    """Begin a page's work (`name`), in place of what it may still be doing, and of what this browser waits for on other
    pages and no worker has taken yet. For callbacks."""
    stop(name)
    session = presence.session_of_click()
    presenting = is_presenting()
    had = None if presenting else st.session_state.setdefault(_HAD, {})
    st.session_state[name] = work = PageWork(choices, names, session, fresh, urgent=presenting, had=had)
    work.advance(0.0)  # it runs while the page is being drawn


def is_presenting() -> bool:
    """Whether a hall looks at this browser: its runs go first, and are its own. Only who may presents to a hall."""
    return st.session_state.get("present") == "1" and visitor.rights().goes_first


def answer(name: str, choice: Settled) -> Answer | None:
    """What answered this choice in the page's work, if nothing was run for it."""
    work = current(name)
    return work.answers.get(choice) if isinstance(work, PageWork) else None


def stop(name: str) -> None:
    """Stop a page's work, if there is any. For callbacks."""
    work = current(name)
    if work is not None:
        work.stop()


def current(name: str) -> PageWork | None:
    """The page's work, finished or not."""
    return st.session_state.get(name)


def busy(name: str) -> bool:
    """Whether the page's work goes on."""
    work = current(name)
    return work is not None and not work.finished


def follow(name: str, show: Callable[[], None]) -> None:
    """Wait for the page's work, with a bar that moves; `show` draws what has come in so far.

    Every `bar.progress` is where Streamlit can end this run of the script, because the reader clicked or left.
    """
    work = current(name)
    if work is None:
        return
    if not work.finished:
        _follow(name, work, show)
    if isinstance(work, PageWork) and work.turned_away:  # which no row of the page has, as nothing was run
        said, work.turned_away = work.turned_away, ""
        st.toast(said, icon=":material/hourglass_top:", duration="long")


def _follow(name: str, work: PageWork, show: Callable[[], None]) -> None:
    presence.session()  # of a browser whose connection was lost, and is back, it is another one
    # What is quick is drawn once, with its result.
    work.advance(QUICK_S)
    if not work.finished:
        show()
        _wait(name, work, show)


def _wait(name: str, work: PageWork, show: Callable[[], None]) -> None:
    place = st.empty()
    with place.container(key="working", horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0)
        st.button("Stop", key="stop", icon=":material/stop:", on_click=stop, args=(name,))
    drawn, waiting = time.monotonic(), False
    while not work.finished:
        bar.progress(*work.progress)
        waiting |= work.advance(POLL_S)
        if waiting and not work.finished and time.monotonic() - drawn > REDRAW_S:
            show()
            drawn, waiting = time.monotonic(), False
    place.empty()


def outcome(choice: Settled, run: Settled | None = None) -> history.Known:
    """What is known about a choice; one that cannot run is known to be refused, and why.

    `run`: what is run in its place, where that is another one. Of a kernel that the emulator never runs, what a GPU
    recorded is all that can be known there, and no failure.
    """
    run, recorded = run or choice, history.recorded_for(choice)
    if recorded is not None and not KERNELS[run.kernel].runs_on(run.device):
        return history.Known(None, recorded)
    return history.Known(_refused(run, service.gpus()) or history.latest(run), recorded)


@lru_cache(maxsize=4096)
def _refused(run: Settled, found: tuple[service.HostGpu, ...]) -> Measurement | None:
    """The record of a run that these GPUs cannot run as asked, or None; it has another answer at no other time."""
    refused = refusal(run)
    return failed(run, refused) if refused is not None else None


class PageJobs:
    """Jobs of one browser, taken in as they end, with `views.shared.work.PageWork`'s way of being waited for.

    A page's own kind says what becomes of a job that ended: `_take`. `words`: what the bar says of each.
    """

    words: ClassVar[dict[str, str]] = {}

    def __init__(self, session: str) -> None:
        self._session = session
        self._runs: dict[str, AwaitedRun] = {}
        self._begun = 0
        self._stopped = False
        self._lock = threading.Lock()

    def _add(self, name: str, submit: Callable[[], service.Handle]) -> None:
        """Submit a job. NotRunnable."""
        self._runs[name] = AwaitedRun(self._session, submit)
        self._begun += 1

    def _take(self, name: str, handle: service.Handle) -> None:
        """What a job that ended has given; with the lock held, so that nobody else takes it."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether everything has come in, or the work was stopped."""
        with self._lock:  # a job that has ended may be followed by another one
            return self._stopped or not self._runs

    @property
    def stopped(self) -> bool:
        """Whether somebody gave it up."""
        return self._stopped

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        left = list(self._runs.items())
        if not left:
            return 1.0, "Done"
        name, run = left[0]
        fraction, text = run.progress
        done = self._begun - len(left) + min(max(fraction, 0.0), 1.0)
        return done / self._begun, f"{self.words[name]}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for what is running; True if something came in."""
        until = time.monotonic() + patience_s
        came = False
        while True:
            with self._lock:
                name = next(iter(self._runs), None)
                if name is None or self._stopped:
                    return came
                run = self._runs[name]
            if not run.wait(max(0.0, until - time.monotonic())):
                return came
            with self._lock:
                if self._runs.get(name) is run and not self._stopped:  # else somebody else has taken it in
                    del self._runs[name]
                    self._take(name, run.handle)
                    came = True

    def stop(self) -> None:
        """Give up what is left."""
        with self._lock:
            self._stopped = True
            for run in self._runs.values():
                run.cancel()
