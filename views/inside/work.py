"""The runs that the page Inside waits for: this rung, and what its picture needs: another run, a trace, a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import streamlit as st

from engine.backends.emulator.watching.trace import Trace
from engine.backends.measure import failed
from engine.history import history
from engine.picture.picture import Packed
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from engine.service.traces import submit_picture, submit_trace
from views.shared import presence, work
from views.shared.work import PageJobs


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


class InsideWork(PageJobs):
    """The jobs of one browser."""

    words: ClassVar = WORDS

    def __init__(self, asked: InsideChoice, session: str, fresh: bool, urgent: bool = False) -> None:
        super().__init__(session)
        self.asked = asked
        self.run: Measurement | None = None
        self.before: Measurement | None = None
        self.trace: Trace | None = None
        self.picture: Packed | None = None
        self.picture_before: Packed | None = None
        self.reason: str | None = None  # why there is no trace or picture
        self._fresh, self._urgent = fresh, urgent
        for name in JOBS[asked.look]:
            choice = asked.before if name.endswith("before") else asked.choice
            if choice is not None:
                try:
                    self._add(name, partial(self._submit, name, choice))
                except NotRunnable as refused:
                    self._refuse(name, refused)

    def _submit(self, name: str, choice: Settled) -> service.Handle:
        asked, session, urgent = self.asked, self._session, self._urgent
        fresh = self._fresh and not name.endswith("before")
        if name in ("run", "before"):
            return service.submit(choice, session, fresh=fresh, urgent=urgent)
        submit = submit_trace if name == "trace" else submit_picture
        return submit(choice, asked.block, session, launch=asked.launch, fresh=fresh, urgent=urgent)

    def _refuse(self, name: str, refused: NotRunnable) -> None:
        if name in ("trace", "picture"):
            self.reason = str(refused)
        elif name == "run":
            self.run = failed(self.asked.choice, refused)
        elif name == "before" and self.asked.before is not None:
            self.before = failed(self.asked.before, refused)

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


def work_on(name: str, asked: InsideChoice, fresh: bool = False) -> InsideWork:
    """The page's work on `asked`, begun if it is not going on already."""
    now = work.current(name)
    known = now if isinstance(now, InsideWork) and now.asked == asked else None
    if known is not None and not fresh:
        return known
    work.stop(name)
    made = InsideWork(asked, presence.session(), fresh, work.is_presenting())
    if known is not None:  # what was found before stays until it is found anew
        made.run, made.before, made.trace = known.run, known.before, known.trace
        made.picture, made.picture_before = known.picture, known.picture_before
    st.session_state[name] = made
    return made
