"""Faults planted in the service, each of which `tests.load.chaos` must find: a test of that test.

The variable CHAOS_FAULT names the fault of a server.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable
from typing import Any

from engine.service.job import JobTimeout, Outcome, WorkerDied
from engine.service.slots import WorkerSlot
from engine.store import measurements

VARIABLE = "CHAOS_FAULT"
ORPHAN_S = 40  # longer than `chaos` waits for processes to end


def _lose_results() -> None:
    """Lose every third measurement on its way to the store."""
    add, number = measurements.add, itertools.count()
    measurements.add = lambda *row: add(*row) if next(number) % 3 else 0


def _keep_twice() -> None:
    """Store every third measurement twice."""
    add, number = measurements.add, itertools.count()

    def twice(*row: Any) -> int:
        if next(number) % 3 == 0:
            add(*row)
        return add(*row)

    measurements.add = twice


def _run_twice() -> None:
    """Run each job twice and drop the first result."""
    run = WorkerSlot.run

    def twice(slot: WorkerSlot, *job: Any) -> Outcome:
        run(slot, *job)
        return run(slot, *job)

    WorkerSlot.run = twice  # type: ignore[method-assign]


def _mistake_verdicts() -> None:
    """Report a job that passed its deadline as crashed."""
    run = WorkerSlot.run

    def mistaken(slot: WorkerSlot, *job: Any) -> Outcome:
        outcome = run(slot, *job)
        try:
            outcome.value()
        except JobTimeout:
            return Outcome.failure(WorkerDied(1))
        except Exception:
            return outcome
        return outcome

    WorkerSlot.run = mistaken  # type: ignore[method-assign]


def _leave_orphans() -> None:
    """Start a program with each worker, which outlives it."""
    start = WorkerSlot.start

    def starting(slot: WorkerSlot) -> None:
        if not slot._worker:
            subprocess.Popen(["sleep", str(ORPHAN_S)], start_new_session=True)
        start(slot)

    WorkerSlot.start = starting  # type: ignore[method-assign]


# By name: the function that plants it, and the figure that must show it.
FAULTS: dict[str, tuple[Callable[[], None], str]] = {
    "lost": (_lose_results, "measurements lost"),
    "kept twice": (_keep_twice, "measurements kept twice"),
    "run twice": (_run_twice, "runs that nobody asked for"),
    "verdict": (_mistake_verdicts, "wrong verdicts"),
    "orphan": (_leave_orphans, "processes left"),
}


def plant() -> None:
    """Plant the fault that the variable names, if any."""
    if name := os.environ.get(VARIABLE):
        FAULTS[name][0]()
