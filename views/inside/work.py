"""The runs that the page Inside waits for: the rung, and for its picture another run, a trace or a drawn block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from engine.backends.emulator.watching.trace import Trace
from engine.backends.measure import failed
from engine.picture.picture import Packed
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from engine.service.traces import submit_picture, submit_trace
from views.shared import presence, work
from views.shared.work import Work


@dataclass(frozen=True)
class InsideChoice:
    """A rung and the picture of it; an equal one needs no new run.

    `look`: the picture's name. `before`: the previous rung, if the picture compares with it.
    """

    choice: Settled
    before: Settled | None
    block: int
    launch: int
    look: str


# The runs of each picture, in the order in which the page waits for them. "motion" is the picture on the ladder page,
# where the rung itself runs on its own.
JOBS = {
    "picture": ("run", "picture", "picture_before"),
    "motion": ("picture", "picture_before"),
    "change": ("run", "before"),
    "banks": ("run", "trace"),
    "lanes": ("run", "trace"),
}
WORDS = {
    "run": "Running this rung",
    "before": "Running the previous rung",
    "trace": "Tracing one block",
    "picture": "Drawing one block",
    "picture_before": "Drawing it on the previous rung",
}


class InsideWork(Work):
    """The runs of one picture, each kept in the attribute of its name."""

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
                    self._start(WORDS[name], partial(self._submit, name, choice), partial(self._take, name, choice))
                except NotRunnable as refused:
                    if name in ("run", "before"):
                        setattr(self, name, failed(choice, refused))
                    elif name != "picture_before":
                        self.reason = str(refused)

    def _submit(self, name: str, choice: Settled) -> service.Handle:
        asked, session, urgent = self.asked, self._session, self._urgent
        fresh = self._fresh and not name.endswith("before")
        if name in ("run", "before"):
            return service.submit(choice, session, fresh=fresh, urgent=urgent)
        submit = submit_trace if name == "trace" else submit_picture
        return submit(choice, asked.block, session, launch=asked.launch, fresh=fresh, urgent=urgent)

    def _take(self, name: str, choice: Settled, handle: service.Handle) -> None:
        if name in ("run", "before"):
            setattr(self, name, work.take_measurement(handle, choice))
            return
        try:
            setattr(self, name, handle.result())
        except Exception as error:  # the page shows any failure, but the previous rung may have no such block
            if name != "picture_before":
                self.reason = str(error)


def work_on(name: str, asked: InsideChoice, fresh: bool = False) -> InsideWork:
    """Return the page's work on `asked`, started unless it is there already."""
    now = work.current(name)
    known = now if isinstance(now, InsideWork) and now.asked == asked else None
    if known is not None and not fresh:
        return known
    work.stop(name)
    made = InsideWork(asked, presence.session(), fresh, work.is_presenting())
    if known is not None:  # the page shows the earlier results until the new ones are there
        made.run, made.before, made.trace = known.run, known.before, known.trace
        made.picture, made.picture_before = known.picture, known.picture_before
    st.session_state[name] = made
    return made
