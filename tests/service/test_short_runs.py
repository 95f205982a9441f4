"""A worker that takes short runs only: they wait for no long one."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable

import pytest

from engine.records import Progress
from engine.service import short_runs
from engine.service.failures import Cancelled
from engine.service.job import Job
from engine.service.queue import JobQueue
from engine.service.slot import Asker, Outcome
from tests.service.jobs import PATIENCE_S, until
from tests.service.test_hosts import Slot

QUICK_S = 0.1  # less than any worker for short runs is for


def of(operations: int) -> Job:
    return Job("nobody:reads", deadline=60.0, device="emulator", kind="sum", operations=operations)


def known(queue: JobQueue) -> None:
    """Let the queue learn what an operation takes: next to nothing, as far as the machine lets it be seen."""

    def quick() -> bool:
        began = time.monotonic()
        queue.submit(of(1), "s").result(PATIENCE_S)
        return time.monotonic() - began < QUICK_S

    assert until(quick)


def test_a_short_run_goes_on_while_long_ones_run_and_wait() -> None:
    any_run, short = Slot("any", "emulator"), Slot("short", "emulator", most_s=2.0)
    queue = JobQueue([any_run])
    any_run.go_on.set()
    known(queue)
    any_run.begun.clear()
    any_run.go_on.clear()
    queue.add(short)
    long, next_long = (queue.submit(of(10**12), name) for name in "ab")
    assert any_run.begun.wait(PATIENCE_S) and until(lambda: long.position() == 0)
    assert next_long.position() == 1 and (next_long.expected_wait_s() or 0) > 50 and not short.begun.is_set()
    quick = queue.submit(of(1), "c")
    assert short.begun.wait(PATIENCE_S) and until(lambda: quick.position() == 0)
    behind = queue.submit(of(1), "d")
    assert behind.position() == 1 and (behind.expected_wait_s() or 0) < 2.0
    short.go_on.set()
    assert quick.result(PATIENCE_S) == behind.result(PATIENCE_S) == "short" and next_long.position() == 1
    any_run.go_on.set()
    assert long.result(PATIENCE_S) == next_long.result(PATIENCE_S) == "any"
    queue.close()


def test_an_urgent_long_run_stops_a_long_one_although_the_worker_for_short_ones_is_idle() -> None:
    any_run, short = Slot("any", "emulator"), Slot("short", "emulator", most_s=2.0)
    queue = JobQueue([any_run])
    any_run.go_on.set()
    known(queue)
    any_run.begun.clear()
    any_run.go_on.clear()
    queue.add(short)
    long = queue.submit(of(10**12), "a")
    assert any_run.begun.wait(PATIENCE_S) and until(lambda: long.position() == 0)
    urgent = queue.submit(of(10**12), "p", urgent=True)
    assert urgent.result(PATIENCE_S) == long.result(PATIENCE_S) == "any"  # it was interrupted
    assert not short.begun.is_set()
    queue.close()


class Short(Slot):
    """A worker for short runs, on which one runs until it is stopped."""

    def run(
        self, job: bytes, deadline_s: float, progress: Progress, cancelled: Callable[[], bool], asker: Asker
    ) -> Outcome:
        super().run(job, deadline_s, progress, cancelled, asker)
        return Outcome.failure(Cancelled()) if cancelled() else Outcome(True, pickle.dumps(self.host))


def test_a_run_that_turns_out_long_makes_way_for_one_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_runs, "LOOK_S", 0.01)
    any_run, short = Slot("any", "emulator"), Short("short", "emulator", most_s=0.2)
    queue = JobQueue([any_run])
    any_run.go_on.set()
    known(queue)
    any_run.begun.clear()
    any_run.go_on.clear()
    busy = queue.submit(of(10**12), "s")
    assert any_run.begun.wait(PATIENCE_S)
    queue.add(short)
    long = queue.submit(of(1), "a")
    assert short.begun.wait(PATIENCE_S) and until(lambda: long.position() == 0)
    assert queue.submit(of(1), "b").result(PATIENCE_S) == "short" and long.position() == 1
    any_run.go_on.set()
    assert long.result(PATIENCE_S) == busy.result(PATIENCE_S) == "any", "it is not for that worker any more"
    queue.close()


def test_a_run_that_says_how_far_it_is_tells_how_long_others_wait() -> None:
    slot = Slot("any", "emulator")
    queue = JobQueue([slot])
    slot.go_on.set()
    known(queue)
    slot.begun.clear()
    slot.go_on.clear()
    long, waiting = (queue.submit(of(10**12), name) for name in "ab")
    assert slot.begun.wait(PATIENCE_S) and until(lambda: long.position() == 0)
    assert (waiting.expected_wait_s() or 0.0) > 50
    long.run.report(0.99, "4055 of 4096 blocks")
    assert 0 < (waiting.expected_wait_s() or 0.0) < 50
    slot.go_on.set()
    assert long.result(PATIENCE_S) == waiting.result(PATIENCE_S) == "any"
    queue.close()
