"""Progress, cancelling, superseding and the place in the queue, with real workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.service import slots
from engine.service.job import Cancelled
from engine.service.queue import JobQueue
from tests.cases import case
from tests.service.jobs import PATIENCE_S, job, next_run_is_soon, queue_with, until


def test_progress_is_seen_while_the_job_runs(shared: JobQueue, tmp_path: Path) -> None:
    handle = shared.submit(job("steps", str(tmp_path), 8, deadline=60), "a")
    for step in range(8):
        assert until(lambda step=step: handle.progress == (step / 8, f"step {step}")), handle.progress
        (tmp_path / str(step)).touch()
    assert handle.result(PATIENCE_S) == 8
    assert handle.progress == (1.0, "Done")


def test_cancelling_a_job_that_reports_progress_keeps_its_worker(
    shared: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "STOP_S", PATIENCE_S)  # however seldom the job has a core
    before = shared.submit(job("process_id"), "a").result(PATIENCE_S)
    handle = shared.submit(job("endless_steps"), "a")
    assert until(lambda: handle.progress[1] == "going on")
    handle.cancel()
    with pytest.raises(Cancelled):
        handle.result(0)
    assert shared.submit(job("process_id"), "a").result(PATIENCE_S) == before


@pytest.mark.parametrize("name", [case(name, quick=name == "endless_loop") for name in ("endless_loop", "hang_in_c")])
def test_cancelling_a_job_that_does_not_listen_kills_it(name: str) -> None:
    with queue_with() as queue:
        before = queue.submit(job("process_id"), "a").result(PATIENCE_S)
        handle = queue.submit(job(name, deadline=60), "a")
        assert until(lambda: handle.position() == 0)
        handle.cancel()
        assert handle.done.is_set()
        next_run_is_soon(queue)
        assert queue.submit(job("process_id"), "a").result(PATIENCE_S) != before


def test_cancelling_a_waiting_job_means_that_it_never_runs(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    first = shared.submit(job("gate", str(door)), "a")
    waiting = shared.submit(job("mark", str(trace), "x"), "a")
    waiting.cancel()
    door.touch()
    first.result(PATIENCE_S)
    shared.submit(job("add", 1, 1), "a").result(PATIENCE_S)
    assert waiting.done.is_set()
    assert not trace.exists()


def test_cancelling_after_the_end_changes_nothing(shared: JobQueue) -> None:
    handle = shared.submit(job("add", 1, 1), "a")
    assert handle.result(PATIENCE_S) == 2
    handle.cancel()
    assert handle.result(0) == 2


def test_sessions_take_turns_and_positions_say_so(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    first = shared.submit(job("gate", str(door)), "z")
    assert until(lambda: first.position() == 0)
    words = [("a", "a0"), ("a", "a1"), ("a", "a2"), ("b", "b0"), ("b", "b1"), ("c", "c0")]
    handles = {word: shared.submit(job("mark", str(trace), word), session) for session, word in words}
    expected = ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert {word: handle.position() for word, handle in handles.items()} == {
        word: place for place, word in enumerate(expected, 1)
    }
    assert handles["a0"].progress == (0.0, "Next in the queue")
    assert handles["b0"].progress == (0.0, "In the queue, 1 run ahead")
    assert handles["c0"].progress == (0.0, "In the queue, 2 runs ahead")
    door.touch()
    for handle in handles.values():
        handle.result(PATIENCE_S)
    assert trace.read_text().split() == expected


def test_supersede_cancels_the_sessions_other_jobs(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    first = shared.submit(job("gate", str(door)), "z")
    old, other = shared.submit(job("add", 1, 1), "a"), shared.submit(job("add", 2, 2), "b")
    new = shared.submit(job("add", 3, 3), "a", supersede=True)
    door.touch()
    with pytest.raises(Cancelled):
        old.result(PATIENCE_S)
    assert (new.result(PATIENCE_S), other.result(PATIENCE_S)) == (6, 4)
    first.result(PATIENCE_S)


def test_superseding_with_an_identical_job_keeps_its_run(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    same = job("mark_behind", str(door), str(trace), "x", key="superseded")
    old = shared.submit(same, "a")
    assert until(lambda: old.position() == 0)
    new = shared.submit(same, "a", supersede=True)
    with pytest.raises(Cancelled):
        old.result(PATIENCE_S)
    door.touch()
    assert new.result(PATIENCE_S) == "x"
    assert trace.read_text() == "x\n"


def test_an_urgent_run_goes_first_and_so_does_a_waiting_run_that_it_joins(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    first = shared.submit(
        job("gate", str(door)),
        "z",
    )
    assert until(lambda: first.position() == 0)
    late = job("mark", str(trace), "shared", key="urgent")
    handles = [shared.submit(job("mark", str(trace), word), word) for word in "abc"]
    students = shared.submit(late, "d")
    assert students.position() == 4
    presenters = [shared.submit(each, "p", urgent=True) for each in (job("mark", str(trace), "own"), late)]
    assert [handle.position() for handle in (*presenters, students, *handles)] == [1, 2, 2, 3, 4, 5]
    door.touch()
    for handle in (*handles, students, *presenters):
        handle.result(PATIENCE_S)
    assert trace.read_text().split() == ["own", "shared", "a", "b", "c"]


def test_the_expected_wait_is_known_once_a_run_has_ended(tmp_path: Path) -> None:
    door = tmp_path / "door"
    with queue_with() as queue:
        first = queue.submit(job("gate", str(door)), "a")
        waiting = queue.submit(job("gate", str(door)), "a")
        assert until(lambda: first.position() == 0)
        assert first.expected_wait_s() == 0.0 and waiting.expected_wait_s() is None
        door.touch()
        assert first.result(PATIENCE_S) == waiting.result(PATIENCE_S)
        door.unlink()
        busy, behind = (queue.submit(job("gate", str(door)), "a") for _ in range(2))
        assert until(lambda: busy.position() == 0)
        wait_s = behind.expected_wait_s()
        assert wait_s is not None and wait_s > 0.0
        door.touch()


def test_leaving_cancels_a_sessions_runs_and_no_shared_one(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    mine = shared.submit(job("endless_steps"), "gone")
    assert until(lambda: mine.progress[1] == "going on")
    waiting = shared.submit(job("mark", str(trace), "x"), "gone")
    both = job("gate", str(door), key="with another")
    joined, other = shared.submit(both, "gone"), shared.submit(both, "here")
    shared.leave("gone")
    shared.leave("never here")
    assert mine.done.is_set() and waiting.done.is_set() and joined.done.is_set() and not other.done.is_set()
    door.touch()
    assert other.result(PATIENCE_S) > 0 and not trace.exists()


def test_leaving_can_cancel_waiting_runs_only(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    running, waiting = shared.submit(job("gate", str(door)), "a"), shared.submit(job("add", 1, 1), "a")
    other = shared.submit(job("add", 2, 2), "b")
    assert until(lambda: running.position() == 0)
    shared.leave("a", waiting_only=True)
    assert waiting.cancelled and not running.cancelled and not other.cancelled
    door.touch()
    assert running.result(PATIENCE_S) > 0 and other.result(PATIENCE_S) == 4


def test_an_urgent_run_waits_for_the_run_before_it_and_goes_before_all_others(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    running = shared.submit(job("gate", str(door)), "a")
    assert until(lambda: running.position() == 0)
    waiting = [shared.submit(job("mark", str(trace), word), word) for word in "bc"]
    urgent = [shared.submit(job("mark", str(trace), word), "p", urgent=True) for word in ("p0", "p1")]
    assert [handle.position() for handle in (running, *urgent, *waiting)] == [0, 1, 2, 3, 4]
    door.touch()
    for handle in (running, *waiting, *urgent):
        handle.result(PATIENCE_S)
    assert trace.read_text().split() == ["p0", "p1", "b", "c"]
