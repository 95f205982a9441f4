"""A run that was asked for, as the queue knows it and as each of those who asked sees it."""

from __future__ import annotations

import pickle
import threading
import time
from typing import Any, Protocol

from engine.service.durations import USUAL_S
from engine.service.failures import Cancelled
from engine.service.job import Job
from engine.service.line import Line
from engine.service.slot import Asker, Outcome, Slot

TELLING = 0.05  # of a run: before that it says little about how long it takes
OUTLASTS = 2.0  # how many times as long as its longest run may last a run holds up others on a slot for short ones


class Queue(Protocol):
    """What a handle asks of its queue."""

    def position_of(self, run: Run) -> int:
        """0: running or finished; 1: next; k: after k - 1 others."""

    def expected_wait_of(self, run: Run) -> float | None:
        """Seconds until a worker takes it; None where nothing tells."""

    def cancel(self, handle: Handle) -> None:
        """Give the job up for this caller."""


class Run:
    """One execution, wanted by one or more handles."""

    def __init__(self, job: Job, session: str, line: Line[Run]) -> None:
        self.job, self.session, self.line = job, session, line
        self.message = pickle.dumps((job.function, job.args, dict(job.keywords)))  # now: the caller may change args
        self.holders: set[Handle] = set()
        self.state = "waiting"  # then "running", "done"
        self.progress = (0.0, "Starting")
        self.asked = time.monotonic()
        self.began = 0.0  # when a worker took it, by time.monotonic()
        self.length_s = line.durations.expected(job) or USUAL_S
        self.at_best_s = line.durations.at_best(job) or USUAL_S  # by which it gets its turn
        self.urgent = False
        self.makes_way = False  # for an urgent one, or for short ones: its worker is to stop it
        self.made_way = False  # which happens to a run once
        self.moved = False  # its host was lost: it is run again elsewhere, once
        self.outcome: Outcome | None = None
        self.finished_utc: float | None = None  # seconds since 1970

    @property
    def asker(self) -> Asker:
        """Whose it is, for a host that has a queue of its own."""
        return Asker(self.session, self.urgent, self.job.kind, self.job.operations)

    def left_s(self) -> float:
        """For how long it goes on that a worker has: as it says how far it is, else as was expected; 0: it may be done
        at any moment."""
        took, fraction = time.monotonic() - self.began, self.progress[0]
        if fraction >= TELLING:
            return took * (1.0 - fraction) / fraction
        return max(0.0, self.length_s - took)

    def outlasts(self, slot: Slot) -> bool:
        """Whether it has taken twice as long as the longest run may be that the slot takes: it makes way, and counts as
        a long one from now on. With the queue's lock held."""
        took = time.monotonic() - self.began
        if self.makes_way or took < OUTLASTS * slot.most_s:
            return False
        self.line.durations.add(self.job, took)
        self.length_s = self.at_best_s = OUTLASTS * took
        self.makes_way = True
        return True

    def report(self, fraction: float, text: str) -> None:
        """How far the job says it is."""
        self.progress = (min(1.0, max(0.0, fraction)), text)

    def given_up(self) -> bool:
        """Whether its worker is to stop it: nobody wants it any more, or it makes way."""
        return not self.holders or self.makes_way


class Handle:
    """A submitted job, seen by one caller.

    `done`: set when the job ended for this caller. `kept`: the value is of an earlier, identical run.
    `cancelled`: this caller, or the queue for its session's sake, gave it up.
    """

    def __init__(self, queue: Queue, run: Run, session: str, kept: bool) -> None:
        self._queue, self.run, self.cancelled = queue, run, False
        self.session, self.kept = session, kept
        self.done = threading.Event()

    @property
    def job(self) -> Job:
        """What was submitted."""
        return self.run.job

    @property
    def finished_utc(self) -> float | None:
        """When the run ended, in seconds since 1970; None before that."""
        return self.run.finished_utc

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction 0..1, what is being done); while it waits, how many runs are ahead."""
        if self.done.is_set():
            return (1.0, "Done")
        place = self.position()
        if place and not self.run.line.slots:
            return (0.0, "Waiting for a worker: none is there")
        if place:
            return (0.0, "Next in the queue" if place == 1 else f"In the queue, {place - 1} runs ahead")
        return self.run.progress

    def position(self) -> int:
        """0: running or finished; 1: next; k: after k - 1 others, as the queue stands now."""
        return self._queue.position_of(self.run)

    def expected_wait_s(self) -> float | None:
        """Seconds until a worker takes it, as far as is known by now; 0 for one that does not wait, None before any run
        has ended."""
        return self._queue.expected_wait_of(self.run)

    def result(self, timeout: float | None = None) -> Any:
        """The job's value, a copy of its own. Raises what the job raised, if it is one of the engine's exceptions;
        JobFailed, JobTimeout, WorkerDied, Cancelled; TimeoutError after `timeout` seconds without an end."""
        if not self.done.wait(timeout):
            raise TimeoutError(f"The run is not finished after {timeout:g} s.")
        if self.cancelled or self.run.outcome is None:
            raise Cancelled
        return self.run.outcome.value()

    def cancel(self) -> None:
        """Give the job up. A run that others wait for as well goes on for them."""
        self._queue.cancel(self)
