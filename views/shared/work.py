"""Runs that a page waits for: submitted, followed with a progress bar, and found again after another click.

A page starts a `Work` in a button's callback and calls `follow` at its end. A click meanwhile starts the script anew;
the new run of the script finds the same `Work` and goes on waiting, so the page stays usable.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from math import inf
from typing import Literal, TypeVar

import streamlit as st

from engine.backends.measure import failed
from engine.catalogue import KERNELS
from engine.history import history
from engine.history.history import LASTING
from engine.model.estimate import Estimate
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from views.access import visitor
from views.shared import presence
from views.shared.menus import refusal
from views.shared.messages import label

# One core draws: browsers that draw at the same moment take turns.
RENDER = threading.Semaphore(1)

POLL_S = 0.1
QUICK_S = 0.25
REDRAW_S = 0.4  # results within this time are drawn together
SHOWN_WAIT_S = 1.0  # a shorter wait gets no bar
SHARED_S = 120.0  # seconds for which one browser's measurement answers another's first click

Submit = Callable[[], service.Handle]


class AwaitedRun:
    """A run of one browser. The queue may cancel it for a newer click of the browser, or because its connection was
    lost; it is submitted again once the browser is connected and the page waits for it again."""

    def __init__(self, session: str, submit: Submit) -> None:
        """Submit it, for a browser's `session`. NotRunnable."""
        self._session, self._submit = session, submit
        self._lock = threading.Lock()
        self._wanted = True
        self.handle = submit()

    @property
    def progress(self) -> tuple[float, str]:
        """Return (fraction 0..1, text); a queued run names the runs ahead of it and the expected wait."""
        fraction, text = self.handle.progress
        wait = self.handle.expected_wait_s()
        return fraction, f"{text}, about {wait:.0f} s" if wait and wait >= SHOWN_WAIT_S else text

    @property
    def unfinished(self) -> bool:
        """Return whether it runs, waits, or has to be submitted again."""
        return not self.handle.done.is_set() or (self.handle.cancelled and self._wanted)

    def wait(self, patience_s: float) -> bool:
        """Wait up to `patience_s`; return whether it has ended."""
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
                    # A quota may allow it later. When the server ends, the cancelled run is the result.
                    return not (isinstance(refused, service.Rejected) and refused.again_s)
        return False

    def cancel(self) -> None:
        """Cancel it for good."""
        with self._lock:
            self._wanted = False
            self.handle.cancel()


@dataclass(frozen=True, eq=False)
class _Part:
    """A run of a work. `label`: its name in the progress bar; `take`: called with the handle once it has ended."""

    run: AwaitedRun
    label: str
    take: Callable[[service.Handle], object]


class Work:
    """The runs that one browser waits for on a page. Two runs of the script may use it at once.

    A subclass starts runs with `_start` and keeps their results; the end of a run may start another one.
    """

    turned_away = ""  # the queue's reason for refusing a run

    def __init__(self, session: str) -> None:
        self._session = session
        self._parts: list[_Part] = []
        self._left: Collection[object] = ()  # to be started by `_start_more`
        self._held = ""  # the reason why none can start now
        self._begun = 0
        self._stopped = False
        self._lock = threading.Lock()

    def _start(self, label: str, submit: Submit, take: Callable[[service.Handle], object]) -> None:
        """Submit a run. NotRunnable."""
        self._parts.append(_Part(AwaitedRun(self._session, submit), label, take))
        self._begun += 1

    def _start_more(self) -> bool:
        """Start the runs that fit into the queue; return whether a result was known without a run."""
        return False

    def _counted(self) -> tuple[int, int]:
        """Return (finished parts of the work, all parts)."""
        return self._begun - len(self._parts), self._begun

    @property
    def finished(self) -> bool:
        """Return whether every result is known, or the work was stopped."""
        with self._lock:  # an ended run may be about to start another one
            return self._stopped or not (self._parts or self._left)

    @property
    def stopped(self) -> bool:
        """Return whether the work was stopped before its end."""
        return self._stopped

    @property
    def progress(self) -> tuple[float, str]:
        """Return (fraction 0..1 of the whole, text)."""
        with self._lock:
            if not self._parts:
                done, parts = self._counted()
                return (done / parts, self._held or "Starting") if self._left else (1.0, "Done")
            first = self._parts[0]
            fraction, text = first.run.progress
            done, parts = self._counted()
            return (done + min(max(fraction, 0.0), 1.0)) / parts, f"{first.label}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for the first run and those behind it; return whether a result came in."""
        until = time.monotonic() + patience_s
        came = False
        while True:
            with self._lock:
                if self._stopped:
                    return came
                came |= self._start_more()
                part = self._parts[0] if self._parts else None
            if part is None:
                if self._left:
                    time.sleep(min(patience_s, POLL_S))
                return came
            if not part.run.wait(max(0.0, until - time.monotonic())):
                return came
            with self._lock:
                if part in self._parts and not self._stopped:  # else another run of the script took it
                    self._parts.remove(part)
                    part.take(part.run.handle)
                    came = True

    def stop(self) -> None:
        """Cancel the unfinished runs."""
        with self._lock:
            self._stopped = True
            for part in self._parts:
                part.run.cancel()


# Why a choice is answered without a run: the emulator's results never change, or another browser just measured it.
Answer = Literal["emulated before", "another browser's"]

_HAD = "measurements had"


class MeasurementWork(Work):
    """Choices that are measured in order, several at a time."""

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
        """`fresh`: measure anew. `had`: the last measurement that this browser saw, by choice; a newer one of another
        browser or of the emulator then answers a `fresh` choice too. None: every `fresh` choice is measured. `urgent`:
        run before other sessions."""
        super().__init__(session)
        self.choices, self.names = tuple(choices), tuple(names)
        self.answers: dict[Settled, Answer] = {}  # choices that needed no run
        self._fresh, self._urgent, self._had = fresh, urgent, had
        self._found: dict[int, Measurement] = {}
        self._left: deque[int] = deque(range(len(choices)))

    @property
    def results(self) -> list[Measurement]:
        """The measurements so far, in the order of the choices."""
        return [self._found[position] for position in sorted(self._found)]

    def _counted(self) -> tuple[int, int]:
        return len(self._found), len(self.choices)

    def _label(self, position: int) -> str:
        several = f"{position + 1} of {len(self.choices)}: " if len(self.choices) > 1 else ""
        return several + self.names[position]

    def _start_more(self) -> bool:
        """Start runs for the next choices, enough to keep every worker of the device busy."""
        before, self._held = len(self._found), ""
        most = service.at_once(self.choices[self._left[0]].device) if self._left else 0
        while self._left and sum(part.run.unfinished for part in self._parts) < most:
            position = self._left[0]
            try:
                self._ask(position, self.choices[position])
            except service.Rejected as later:  # the browser's quota is used up for a while
                self._held = f"{self._label(position)}. {later}"
                break
            self._left.popleft()
        return len(self._found) > before

    def _ask(self, position: int, choice: Settled) -> None:
        """Start the choice's run, or keep its answer if that needs no run. Rejected, if it may be asked again."""
        answer = self._answer(choice)
        if answer is not None:
            self.answers[choice], measurement = answer
            self._keep(position, measurement)
            return
        submit = partial(service.submit, choice, self._session, fresh=self._fresh, urgent=self._urgent)
        try:
            self._start(
                self._label(position), submit, lambda handle: self._keep(position, take_measurement(handle, choice))
            )
        except NotRunnable as refused:
            if isinstance(refused, service.Rejected):
                if refused.again_s is not None:
                    raise
                self.turned_away = str(refused)
            self._keep(position, failed(choice, refused))

    def _answer(self, choice: Settled) -> tuple[Answer, Measurement] | None:
        if self._fresh and self._had is None:
            return None
        found = history.latest(choice)
        # Measurements of an earlier version have no counters per line.
        if found is None or found.status not in LASTING or not (found.counts is None or found.counts.lines):
            return None
        if found.device.get("kind") == "emulator" and found.counts is not None and found.cpu is None:
            return "emulated before", found
        # The queue returns an earlier result of a choice that is not `fresh`.
        if not self._fresh or self._had is None or _utc(found) == self._had.get(choice) or _age_s(found) >= SHARED_S:
            return None
        return "another browser's", found

    def _keep(self, position: int, measurement: Measurement) -> None:
        self._found[position] = measurement
        if self._had is not None:
            self._had[self.choices[position]] = _utc(measurement)


def take_measurement(handle: service.Handle, choice: Settled) -> Measurement:
    """Return the measurement of a run that has ended, and keep it in the history unless it was refused."""
    measurement = service.measurement_of(handle, choice)
    if measurement.status != "refused":  # a refusal is known without a run, and may not last
        known = history.latest(choice)
        if known is None or not _same(known, measurement):  # else the browser that shares the run kept it
            history.remember(choice, measurement)
    return measurement


def take_estimate(handle: service.Handle) -> Estimate | str:
    """Return the estimate of a run for costs that has ended, or the sentence that says how it failed."""
    try:
        found: Estimate = handle.result()
    except Exception as error:  # the page shows any failure
        return str(error)
    return found


def _same(one: Measurement, other: Measurement) -> bool:
    return replace(one, badges=()) == replace(other, badges=())


def _utc(measurement: Measurement) -> str:
    return str(measurement.environment.get("utc") or "")


def _age_s(measurement: Measurement) -> float:
    """Return the seconds since, or, if the clock was set back meanwhile, until the measurement's time."""
    utc = _utc(measurement)
    return abs((datetime.now(UTC) - datetime.fromisoformat(utc)).total_seconds()) if utc else inf


W = TypeVar("W", bound=Work)


def start(name: str, choices: Sequence[Settled], names: Sequence[str], fresh: bool = False) -> None:
    """Measure choices in place of the page's unfinished work (`name`). For callbacks."""
    presenting = is_presenting()
    had = None if presenting else st.session_state.setdefault(_HAD, {})
    made = begin(name, lambda session: MeasurementWork(choices, names, session, fresh, urgent=presenting, had=had))
    made.advance(0.0)  # it runs while the page is being drawn


def begin(name: str, make: Callable[[str], W]) -> W:
    """Stop the page's unfinished work (`name`) and the queued runs of this browser's other pages; make another work in
    its place, for the session that `make` gets. For callbacks."""
    stop(name)
    made = st.session_state[name] = make(presence.session_of_click())
    return made


def is_presenting() -> bool:
    """Return whether this browser presents to a class and may do so; its runs go first, and are measured anew."""
    return st.session_state.get("present") == "1" and visitor.rights().goes_first


def answer(name: str, choice: Settled) -> Answer | None:
    """Return why the page's work needed no run for this choice; None if it ran."""
    work = current(name)
    return work.answers.get(choice) if isinstance(work, MeasurementWork) else None


def stop(name: str) -> None:
    """Stop the page's work, if there is any. For callbacks."""
    work = current(name)
    if work is not None:
        work.stop()


def current(name: str) -> Work | None:
    """Return the page's work, finished or not."""
    return st.session_state.get(name)


def busy(name: str) -> bool:
    """Return whether the page's work is unfinished."""
    work = current(name)
    return work is not None and not work.finished


def follow(name: str, show: Callable[[], None]) -> None:
    """Wait for the page's work with a progress bar; `show` draws the results so far.

    Streamlit can end this run of the script at every `bar.progress`, if the reader clicked or left.
    """
    work = current(name)
    if work is None:
        return
    if not work.finished:
        presence.session()  # a browser that reconnects has a new session
        # A quick result is drawn once, without a bar.
        work.advance(QUICK_S)
        if not work.finished:
            show()
            _wait(name, work, show)
    if work.turned_away:  # nothing ran, and no row of the page shows this
        reason, work.turned_away = work.turned_away, ""
        st.toast(label(reason), icon=":material/hourglass_top:", duration="long")


def _wait(name: str, work: Work, show: Callable[[], None]) -> None:
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
    """Return the live and the recorded measurement of a choice, or the refusal of a choice that cannot run.

    `run`: the choice that runs in its place, if it is another one. A kernel that the emulator never runs has its
    recorded measurement alone, without a refusal.
    """
    run, recorded = run or choice, history.recorded_for(choice)
    if recorded is not None and not KERNELS[run.kernel].runs_on(run.device):
        return history.Known(None, recorded)
    return history.Known(_refused(run, service.gpus()) or history.latest(run), recorded)


@lru_cache(maxsize=4096)
def _refused(run: Settled, found: tuple[service.HostGpu, ...]) -> Measurement | None:
    """Return the refusal of a choice that these GPUs cannot run, or None."""
    refused = refusal(run)
    return failed(run, refused) if refused is not None else None
