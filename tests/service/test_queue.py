"""Identical jobs share a run and its result, limits hold, and every job gets a slot of its device."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine.records import NotRunnable
from engine.service import queue as job_queue
from engine.service.job import Cancelled, Rejected, WorkerDied
from engine.service.queue import JobQueue
from engine.service.slots import WorkerSlot
from tests.service.jobs import PATIENCE_S, job, queue_with, until


def test_identical_jobs_share_one_run(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    same = job("mark_behind", str(door), str(trace), "x", key="joined")
    handles = [shared.submit(same, f"s{i}") for i in range(30)]
    door.touch()
    assert {handle.result(PATIENCE_S) for handle in handles} == {"x"}
    assert trace.read_text() == "x\n"
    assert not any(handle.kept for handle in handles)


def test_a_result_is_cached_unless_a_fresh_one_is_asked_for(shared: JobQueue, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    same = job("mark", str(trace), "x", key="kept")
    assert shared.submit(same, "a").result(PATIENCE_S) == "x"
    again = shared.submit(same, "b")
    assert again.kept
    assert again.done.is_set()
    assert again.result(0) == "x"
    assert again.finished_utc is not None
    assert trace.read_text() == "x\n"
    assert shared.submit(same, "b", fresh=True).result(PATIENCE_S) == "x"
    assert trace.read_text() == "x\nx\n"


def test_failures_are_not_cached(shared: JobQueue) -> None:
    for _ in range(2):
        handle = shared.submit(job("fail", "NotRunnable", key="failure"), "a")
        with pytest.raises(NotRunnable):
            handle.result(PATIENCE_S)
        assert not handle.kept


def test_a_shared_run_ends_only_with_its_last_holder(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    first, second = (shared.submit(job("gate", str(door), key="two holders"), name) for name in "ab")
    assert until(lambda: first.position() == 0)
    first.cancel()
    with pytest.raises(Cancelled):
        first.result(0)
    assert not second.done.is_set()
    door.touch()
    assert second.result(PATIENCE_S) > 0
    last = shared.submit(job("endless_steps", key="one holder"), "a")
    last.cancel()
    again = shared.submit(job("endless_steps", key="one holder"), "b")  # does not join a run that is being stopped
    assert until(lambda: again.progress[1] == "going on")
    again.cancel()


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_queue, "CACHE_BYTES", 80_000)
    with queue_with() as queue:
        for index in range(12):
            queue.submit(job("large", 9_000, key=f"k{index}"), "a").result(PATIENCE_S)
        queue.submit(job("large", 20_000, key="too large"), "a").result(PATIENCE_S)
        assert not queue.submit(job("large", 20_000, key="too large"), "a").kept
        assert queue.submit(job("large", 9_000, key="k11"), "a").kept
        assert not queue.submit(job("large", 9_000, key="k0"), "a").kept


def test_a_full_queue_rejects(shared: JobQueue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(job_queue, "SESSION_LIMIT", 3)
    monkeypatch.setattr(job_queue, "QUEUE_LIMIT", 5)
    door = tmp_path / "door"
    first = shared.submit(job("gate", str(door)), "z")
    assert until(lambda: first.position() == 0)
    handles = [shared.submit(job("add", 1, 1), session) for session in "aaabb"]
    with pytest.raises(Rejected, match="You already have 3 runs"):
        shared.submit(job("add", 1, 1), "a")
    with pytest.raises(Rejected, match="The queue is full"):
        shared.submit(job("add", 1, 1), "c")
    door.touch()
    assert [handle.result(PATIENCE_S) for handle in handles] == [2] * 5
    assert shared.submit(job("add", 1, 1), "a").result(PATIENCE_S) == 2


@pytest.mark.thorough
def test_fifty_sessions_at_once_where_a_third_crash(capfd: pytest.CaptureFixture[str]) -> None:
    outcomes: dict[int, object] = {}

    def session(number: int, queue: JobQueue) -> None:
        bad = number % 3 == 0
        handle = queue.submit(job("leave", 7) if bad else job("add", number, 1), f"session {number}")
        try:
            outcomes[number] = handle.result(60)
        except WorkerDied as died:
            outcomes[number] = died.exit_code

    with queue_with(WorkerSlot("emulator", "one"), WorkerSlot("emulator", "two")) as queue:
        threads = [threading.Thread(target=session, args=(number, queue)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == {number: 7 if number % 3 == 0 else number + 1 for number in range(50)}


def test_jobs_go_to_slots_of_their_device() -> None:
    slots = [WorkerSlot(kind, kind, environment={"SLOT": kind}) for kind in ("gpu", "emulator")]
    with queue_with(*slots) as queue:
        handles = {kind: queue.submit(job("environment", "SLOT", device=kind), "a") for kind in ("emulator", "gpu")}
        ran_on = {kind: handle.result(PATIENCE_S) for kind, handle in handles.items()}
    assert ran_on == {"emulator": "emulator", "gpu": "gpu"}
    with queue_with() as queue, pytest.raises(Rejected, match="no gpu"):
        queue.submit(job("add", 1, 1, device="gpu"), "a")


def test_a_worker_can_be_nice() -> None:
    with queue_with(WorkerSlot("emulator", "nice", nice=5)) as queue:
        assert queue.submit(job("niceness"), "a").result(PATIENCE_S) == min(19, os.nice(0) + 5)


def test_a_second_worker_is_started_only_when_runs_wait_for_it(tmp_path: Path) -> None:
    """A warm worker takes the next run; two runs at once take two workers."""
    with queue_with(*(WorkerSlot("emulator", name) for name in "ab")) as queue:
        first = {queue.submit(job("process_id"), "a").result(PATIENCE_S) for _ in range(8)}
        assert len(first) == 1
        door = tmp_path / "door"
        both = [queue.submit(job("gate", str(door)), "a") for _ in range(2)]
        assert until(lambda: all(handle.position() == 0 for handle in both))
        door.touch()
        assert len({handle.result(PATIENCE_S) for handle in both} | first) == 2
