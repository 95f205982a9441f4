"""What the tests of the service share: jobs of `misbehaving`, queues of their own, and patience."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.service.job import Job
from engine.service.queue import JobQueue
from engine.service.worker_slot import WorkerSlot

JOBS = "tests.service.misbehaving"
SOON_S = 2.0  # the next run starts within this after any failure


def job(name: str, *args: object, deadline: float = 5.0, key: str | None = None, device: str | None = None) -> Job:
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
    assert queue.submit(job("add", 1, 2), "neighbour").result(10) == 3
    assert time.monotonic() - start < SOON_S


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
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
