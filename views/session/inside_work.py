"""The runs that the page Inside waits for: this rung, and what its picture needs: another run, a trace, a picture."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass

import streamlit as st

from engine.backends.emulator.watching.trace import Trace
from engine.history import history
from engine.measuring.measure import failed
from engine.picture.picture import Packed
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from engine.service.traces import submit_picture, submit_trace
from views.session import work


@dataclass(frozen=True)
class InsideChoice:
    """What is looked at: equal ones need not be run again. `look`: the picture's name.

    `before`: the rung before, where it is shown, too.
    """

    choice: Settled
    before: Settled | None
    block: int
    launch: int
    look: str


# The jobs of each picture, in the order in which they are waited for, and what the bar says of them. "motion" is
# the picture on the ladder page, which has a run of its own.
JOBS = {
    "picture": ("run", "picture", "picture before"),
    "motion": ("picture", "picture before"),
    "change": ("run", "before"),
    "banks": ("run", "trace"),
    "lanes": ("run", "trace"),
}
WORDS = {
    "run": "Running this rung",
    "before": "Running the rung before",
    "trace": "Tracing one block",
    "picture": "Drawing one block",
    "picture before": "Drawing it on the rung before",
}


class InsideWork:
    """The jobs of one browser, with `views.work.PageWork`'s way of being waited for."""

    def __init__(self, asked: InsideChoice, session: str, fresh: bool) -> None:
        self.asked = asked
        self.run: Measurement | None = None
        self.before: Measurement | None = None
        self.trace: Trace | None = None
        self.picture: Packed | None = None
        self.picture_before: Packed | None = None
        self.reason: str | None = None  # why there is no trace or picture
        self._stopped = False
        self._lock = threading.Lock()
        self._handles: dict[str, service.Handle] = {}
        for name in JOBS[asked.look]:
            try:
                handle = self._submit(name, session, fresh)
                if handle is not None:
                    self._handles[name] = handle
            except NotRunnable as refused:
                self._refuse(name, refused)
        self._all = len(self._handles)

    def _submit(self, name: str, session: str, fresh: bool) -> service.Handle | None:
        asked = self.asked
        choice = asked.before if name.endswith("before") else asked.choice
        if choice is None:
            return None
        if name in ("run", "before"):
            return service.submit(choice, session, fresh=fresh and name == "run")
        submit = submit_trace if name == "trace" else submit_picture
        return submit(choice, asked.block, session, launch=asked.launch, fresh=fresh and name != "picture before")

    def _refuse(self, name: str, refused: NotRunnable) -> None:
        if name in ("trace", "picture"):
            self.reason = str(refused)
        elif name == "run":
            self.run = failed(self.asked.choice, refused)
        elif name == "before" and self.asked.before is not None:
            self.before = failed(self.asked.before, refused)

    @property
    def finished(self) -> bool:
        """Whether everything has come in, or the work was stopped."""
        return self._stopped or not self._handles

    @property
    def stopped(self) -> bool:
        """Whether somebody gave it up."""
        return self._stopped

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        left = list(self._handles.items())
        if not left:
            return 1.0, "Done"
        name, handle = left[0]
        fraction, text = handle.progress
        return (self._all - len(left) + min(max(fraction, 0.0), 1.0)) / self._all, f"{WORDS[name]}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for what is running; True if something came in."""
        until = time.monotonic() + patience_s
        came = False
        while True:
            with self._lock:
                name = next(iter(self._handles), None)
                if name is None or self._stopped:
                    return came
                handle = self._handles[name]
            if not handle.done.wait(max(0.0, until - time.monotonic())):
                return came
            with self._lock:
                if self._handles.pop(name, None) is not None and not self._stopped:
                    self._take(name, handle)
                    came = True

    def _take(self, name: str, handle: service.Handle) -> None:
        if name not in ("run", "before"):
            self._take_picture(name, handle)
            return
        choice = self.asked.choice if name == "run" else self.asked.before
        assert choice is not None
        measurement = service.measurement_of(handle, choice)
        if name == "run":
            self.run = measurement
        else:
            self.before = measurement
        if measurement.status != "refused":
            history.remember(choice, measurement)

    def _take_picture(self, name: str, handle: service.Handle) -> None:
        try:
            made = handle.result()
        except Exception as error:  # whatever it is, the page says it; the rung before may have no such block
            self.reason = self.reason if name == "picture before" else str(error)
            return
        if name == "trace":
            self.trace = made
        elif name == "picture":
            self.picture = made
        else:
            self.picture_before = made

    def stop(self) -> None:
        """Give up what is left."""
        with self._lock:
            self._stopped = True
            for handle in self._handles.values():
                handle.cancel()


def work_on(name: str, asked: InsideChoice, fresh: bool = False) -> InsideWork:
    """The page's work on `asked`, begun if it is not going on already."""
    now = work.current(name)
    if isinstance(now, InsideWork) and now.asked == asked and not fresh:
        return now
    work.stop(name)
    session = st.session_state.setdefault("session", uuid.uuid4().hex)
    made = InsideWork(asked, session, fresh)
    st.session_state[name] = made
    return made
