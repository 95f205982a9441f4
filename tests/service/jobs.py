"""Helpers of the tests of the service: jobs of `misbehaving`, queues, and waiting for conditions."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.service.job import Job
from engine.service.queue import JobQueue
from engine.service.slots import WorkerSlot

JOBS = "tests.service.misbehaving"
SOON_S = 2.0  # from a failure to the next run's start
STARTS = 5  # worker starts; waiting for a failed job would take longer
PATIENCE_S = 60.0  # for events that take milliseconds on a calm machine


def job(
    name: str, *args: object, deadline: float = PATIENCE_S, key: str | None = None, device: str | None = None
) -> Job:
    return Job(f"{JOBS}:{name}", args, deadline=deadline, key=key, device=device)


@contextlib.contextmanager
def queue_with(*slots: WorkerSlot) -> Iterator[JobQueue]:
    made = JobQueue(slots or (WorkerSlot("emulator", "plain"),))
    try:
        yield made
    finally:
        made.close()


def next_run_is_soon(queue: JobQueue) -> None:
    start = time.monotonic()
    assert queue.submit(job("add", 1, 2), "neighbour").result(PATIENCE_S) == 3
    assert soon(time.monotonic() - start)


def soon(took_s: float, most_s: float = SOON_S) -> bool:
    """Return whether a duration is below `most_s`, or below a few worker starts, measured now.

    On a busy machine both take longer.
    """
    return took_s < most_s or any(took_s < STARTS * start_s() for _ in range(STARTS))


def start_s() -> float:
    """Return the seconds in which a worker starts and does a trivial job."""
    with queue_with() as queue:
        start = time.monotonic()
        queue.submit(job("add", 1, 2), "another").result(PATIENCE_S)
        return time.monotonic() - start


def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def alive(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
