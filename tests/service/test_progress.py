"""Progress, cancelling, superseding and the place in the queue, while real workers run."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.service import worker_slot
from engine.service.failures import Cancelled
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
    monkeypatch.setattr(worker_slot, "STOP_S", PATIENCE_S)  # however seldom the job has a core
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


def test_sessions_take_turns_and_positions_say_so(tmp_path: Path) -> None:
    """In a queue that knows no run yet: of some that are known to take a millisecond, one that is asked for a little
    later is due later than all that were asked for before it."""
    with queue_with() as queue:
        take_turns(queue, tmp_path / "door", tmp_path / "trace")


def take_turns(queue: JobQueue, door: Path, trace: Path) -> None:
    first = queue.submit(job("gate", str(door)), "z")
    assert until(lambda: first.position() == 0)
    words = [("a", "a0"), ("a", "a1"), ("a", "a2"), ("b", "b0"), ("b", "b1"), ("c", "c0")]
    handles = {word: queue.submit(job("mark", str(trace), word), session) for session, word in words}
    expected = ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert {word: handle.position() for word, handle in handles.items()} == {
        word: place for place, word in enumerate(expected, 1)
    }
    assert handles["a0"].progress == (0.0, "Next in the queue")
    assert handles["c0"].progress == (0.0, "In the queue, 2 runs ahead")
    door.touch()
    for handle in handles.values():
        handle.result(PATIENCE_S)
    assert trace.read_text().split() == expected


def test_supersede_gives_up_the_sessions_other_jobs(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    first = shared.submit(job("gate", str(door)), "z")
    old, other = shared.submit(job("add", 1, 1), "a"), shared.submit(job("add", 2, 2), "b")
    new = shared.submit(job("add", 3, 3), "a", supersede=True)
    door.touch()
    with pytest.raises(Cancelled):
        old.result(PATIENCE_S)
    assert (new.result(PATIENCE_S), other.result(PATIENCE_S)) == (6, 4)
    first.result(PATIENCE_S)


def test_superseding_with_the_same_job_goes_on_with_its_run(shared: JobQueue, tmp_path: Path) -> None:
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


def test_who_is_urgent_goes_first_and_takes_a_run_along_that_was_waited_for(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    first = shared.submit(job("gate", str(door)), "z", urgent=True)  # which makes no way
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


def test_the_wait_is_told_from_what_has_run(tmp_path: Path) -> None:
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
        told = behind.expected_wait_s()
        assert told is not None and told >= 0.0
        door.touch()


def test_who_has_gone_waits_for_nothing_and_keeps_nobodys_run(shared: JobQueue, tmp_path: Path) -> None:
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


def test_a_newer_click_replaces_only_what_still_waits(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    running, waiting = shared.submit(job("gate", str(door)), "a"), shared.submit(job("add", 1, 1), "a")
    other = shared.submit(job("add", 2, 2), "b")
    assert until(lambda: running.position() == 0)
    shared.leave("a", waiting_only=True)
    assert waiting.cancelled and not running.cancelled and not other.cancelled
    door.touch()
    assert running.result(PATIENCE_S) > 0 and other.result(PATIENCE_S) == 4


# Stopped at its next step, and killed.
@pytest.mark.parametrize(
    "name", [case(name, quick=name == "endless_steps") for name in ("endless_steps", "endless_loop")]
)
def test_a_long_run_makes_way_for_an_urgent_one_once_and_is_run_again(name: str, tmp_path: Path) -> None:
    with queue_with() as queue:
        long, next_one = queue.submit(job(name, deadline=60), "a"), queue.submit(job("add", 1, 1), "b")
        assert until(lambda: long.position() == 0)
        urgent = queue.submit(job("add", 2, 2), "p", urgent=True)
        assert urgent.result(PATIENCE_S) == 4
        assert not long.done.is_set() and not long.cancelled
        assert until(lambda: long.position() == 0)  # it has a worker again, before what came after it
        assert not next_one.done.is_set()
        second = queue.submit(job("add", 3, 3), "p", urgent=True)
        assert not until(second.done.is_set, 0.2) and second.position() == 1
        long.cancel()
        assert (second.result(PATIENCE_S), next_one.result(PATIENCE_S)) == (6, 2)


def test_what_somebody_urgent_waits_for_makes_no_way(tmp_path: Path) -> None:
    door = tmp_path / "door"
    with queue_with() as queue:
        students = queue.submit(job("gate", str(door), key="both"), "a")
        assert until(lambda: students.position() == 0)
        presenters = queue.submit(job("gate", str(door), key="both"), "p", urgent=True)
        another = queue.submit(job("add", 2, 2), "q", urgent=True)
        assert until(lambda: another.position() == 1)
        door.touch()
        assert students.result(PATIENCE_S) == presenters.result(PATIENCE_S) and another.result(PATIENCE_S) == 4
