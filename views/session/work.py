"""Runs that a browser waits for: submitted one by one, remembered, and found again after a click on something else.

A page starts a `PageWork` in a button's callback and calls `follow` at its end. A click meanwhile starts the script
anew; the new run of the script finds the same `PageWork` and goes on waiting for it, so that the page stays usable.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.catalogue import KERNELS
from engine.history import history
from engine.measuring.measure import failed
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from views.session.choices import refusal

# Drawing is work for one core: browsers that draw at the same moment take turns.
RENDER = threading.Semaphore(1)

POLL_S = 0.1
QUICK_S = 0.25
REDRAW_S = 0.4  # many quick results are drawn together


class PageWork:
    """Choices being run for one browser, in order. Safe to be looked at by two runs of the script at once."""

    def __init__(self, choices: Sequence[Settled], names: Sequence[str], session: str, fresh: bool) -> None:
        self.choices, self.names = tuple(choices), tuple(names)
        self.results: list[Measurement] = []
        self._session, self._fresh = session, fresh
        self._lock = threading.Lock()
        self._handle: service.Handle | None = None
        self._stopped = False

    @property
    def finished(self) -> bool:
        """Whether every choice has its result, or the work was stopped."""
        return self._stopped or len(self.results) == len(self.choices)

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        done, handle = len(self.results), self._handle
        fraction, text = handle.progress if handle else (0.0, "Starting")
        if done == len(self.choices):
            return 1.0, "Done"
        several = f"{done + 1} of {len(self.choices)}: " if len(self.choices) > 1 else ""
        return (done + min(max(fraction, 0.0), 1.0)) / len(self.choices), f"{several}{self.names[done]}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for the choice at hand; True if its result came in."""
        with self._lock:
            if self.finished:
                return False
            if self._handle is None and not self._submit():
                return True
            handle = self._handle
        if handle is None or not handle.done.wait(patience_s):
            return False
        with self._lock:
            if self._handle is not handle or self._stopped:
                return False
            choice = self.choices[len(self.results)]
            self._keep(choice, service.measurement_of(handle, choice))
        return True

    def stop(self) -> None:
        """Give up what is left."""
        with self._lock:
            self._stopped = True
            if self._handle is not None:
                self._handle.cancel()

    def _submit(self) -> bool:
        choice = self.choices[len(self.results)]
        try:
            self._handle = service.submit(choice, self._session, fresh=self._fresh)
        except NotRunnable as refused:
            self._keep(choice, failed(choice, refused))
            return False
        return True

    def _keep(self, choice: Settled, measurement: Measurement) -> None:
        self._handle = None
        self.results.append(measurement)
        if measurement.status != "refused":  # a refusal is known without running, and may be gone in a minute
            history.remember(choice, measurement)


def start(name: str, choices: Sequence[Settled], names: Sequence[str], fresh: bool = False) -> None:
    """Begin a page's work (`name`), in place of what it may still be doing. For callbacks."""
    stop(name)
    session = st.session_state.setdefault("session", uuid.uuid4().hex)
    st.session_state[name] = work = PageWork(choices, names, session, fresh)
    work.advance(0.0)  # it runs while the page is being drawn


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

    Every `bar.progress` is where Streamlit can end this run of the script, because the reader clicked or left. Who left
    waits for nothing any more: the worker is free for others at once.
    """
    work = current(name)
    if work is None or work.finished:
        return
    try:
        # What is quick is drawn once, with its result.
        work.advance(QUICK_S)
        if not work.finished:
            show()
            _wait(name, work, show)
    finally:
        if not work.finished and not _is_watched():
            work.stop()


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


def _is_watched() -> bool:
    """Whether the browser of this run of the script is still there."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is None or not runtime.exists() or runtime.get_instance().is_active_session(context.session_id)


def outcome(choice: Settled, run: Settled | None = None) -> history.Known:
    """What is known about a choice; one that cannot run is known to be refused, and why.

    `run`: what is run in its place, where that is another one. Of a kernel that the emulator never runs, what a GPU
    recorded is all that can be known there, and no failure.
    """
    run, recorded = run or choice, history.recorded_for(choice)
    if recorded is not None and not KERNELS[run.kernel].runs_on(run.device):
        return history.Known(None, recorded)
    return history.Known(_refused(run) or history.latest(run), recorded)


@lru_cache(maxsize=4096)
def _refused(run: Settled) -> Measurement | None:
    """The record of a run that this computer cannot run as asked, or None; it has another answer at no other time."""
    refused = refusal(run)
    return failed(run, refused) if refused is not None else None
