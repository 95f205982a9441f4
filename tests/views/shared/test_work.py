"""Runs that a browser waits for: in order, once each, found again by a second run of the script, stoppable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.history import history
from engine.plan import settle
from engine.records import Choice, Measurement, NotRunnable, Settled
from engine.service import service
from engine.store import measurements
from tests.history.test_history import measured
from tests.made import ENVIRONMENT
from views.shared import presence
from views.shared import work as page_work
from views.shared.work import MeasurementWork

CHOICES = [settle(Choice("reduce_sequential", 1000, block_size, device="emulator")) for block_size in (32, 64, 128)]


class Handle:
    """A run that ends when the test says so."""

    progress = (0.5, "Running")
    expected_wait = 0.0

    def __init__(self, choice: Choice) -> None:
        self.choice, self.done, self.cancelled = choice, threading.Event(), False

    def cancel(self) -> None:
        self.cancelled = True
        self.done.set()

    def expected_wait_s(self) -> float | None:
        return self.expected_wait


def emulated(choice: Choice, seconds: int = 0, ago: float = 0.0) -> Measurement:
    """A measurement of its own: so many seconds after the hour, or so many seconds ago."""
    utc = f"2026-11-21T04:00:{seconds:02}+00:00"
    if ago:
        utc = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat(timespec="seconds")
    return measured(choice, device={"kind": "emulator"}, time_us=None, environment={**ENVIRONMENT, "utc": utc})


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Handle]]:
    made: list[Handle] = []

    def submit(choice: Choice, session: str, *, fresh: bool, urgent: bool) -> Handle:
        if choice.n < 1:
            raise NotRunnable("N must be at least 1, not 0.")
        made.append(Handle(choice))
        return made[-1]

    def measurement_of(handle: Handle, choice: Choice) -> Measurement:
        return emulated(choice, made.index(handle))

    monkeypatch.setattr(service, "at_once", lambda device: 1)
    monkeypatch.setattr(service, "submit", submit)
    monkeypatch.setattr(service, "measurement_of", measurement_of)
    yield made


def work(choices: list[Choice] = CHOICES) -> MeasurementWork:
    return MeasurementWork(choices, [str(choice.block_size) for choice in choices], "a session", fresh=True)


def test_one_at_a_time_in_order_and_remembered(handles: list[Handle]) -> None:
    running = work()
    for i, choice in enumerate(CHOICES):
        assert not running.advance(0.0)
        assert len(handles) == i + 1
        assert running.progress[1].startswith(f"{i + 1} of 3: ")
        handles[i].done.set()
        assert running.advance(0.0)
        assert history.latest(choice) is not None
    assert running.finished and running.progress == (1.0, "Done")
    assert not running.advance(0.0)


def test_several_workers_run_several_choices_and_results_come_in_order(
    handles: list[Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "at_once", lambda device: 2)
    running = work()
    running.advance(0.0)
    assert [handle.choice for handle in handles] == CHOICES[:2]
    handles[1].done.set()
    assert not running.advance(0.0)  # the first is not there yet
    handles[0].done.set()
    assert running.advance(0.0)  # takes both
    assert [result.choice for result in running.results] == CHOICES[:2]
    assert len(handles) == 3
    running.stop()
    assert handles[2].cancelled


def test_progress_grows_over_the_whole(handles: list[Handle]) -> None:
    running = work()
    running.advance(0.0)
    first = running.progress[0]
    handles[0].done.set()
    running.advance(0.0)
    running.advance(0.0)
    assert 0 < first < running.progress[0] < 1


def test_a_refusal_is_a_result_and_is_not_kept(handles: list[Handle]) -> None:
    refused = replace(CHOICES[0], n=0)
    running = work([refused, CHOICES[1]])
    assert running.advance(0.0)
    assert running.results[0].status == "refused"
    assert history.latest(refused) is None
    running.advance(0.0)
    assert len(handles) == 1


def test_stop_cancels_what_runs_and_submits_no_more(handles: list[Handle]) -> None:
    running = work()
    running.advance(0.0)
    running.stop()
    assert handles[0].cancelled and running.finished
    assert not running.advance(0.0)
    assert len(handles) == 1 and history.latest(CHOICES[0]) is None


def test_two_runs_of_the_script_count_a_result_once(handles: list[Handle]) -> None:
    running = work(CHOICES[:1])
    running.advance(0.0)
    came_in: list[bool] = []
    waiting = [threading.Thread(target=lambda: came_in.append(running.advance(5.0))) for _ in range(4)]
    for thread in waiting:
        thread.start()
    handles[0].done.set()
    for thread in waiting:
        thread.join()
    assert came_in.count(True) == 1 and len(running.results) == 1


def test_another_browsers_new_measurement_answers_a_first_click_and_the_second_measures_anew(
    handles: list[Handle],
) -> None:
    history.remember(CHOICES[0], theirs := emulated(CHOICES[0], ago=30.0))
    had: dict[Settled, str] = {}
    first = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=True, had=had)
    assert first.advance(0.0) and first.finished and not handles
    assert first.results == [theirs] and first.answers == {CHOICES[0]: "another browser's"}
    again = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=True, had=had)
    again.advance(0.0)
    handles[0].done.set()
    assert again.advance(0.0) and again.results != [theirs] and not again.answers
    third = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=True, had=had)  # one's own is no reason either
    third.advance(0.0)
    assert len(handles) == 2


COUNTED = {"counters": {"barriers": 1.0}, "lines": ({"line": 3, "text": "x", "barriers": 1.0},)}


def test_what_was_emulated_before_answers_every_click_but_a_presenters(handles: list[Handle]) -> None:
    device, environment = {"kind": "emulator"}, {**ENVIRONMENT, "utc": "2026-11-20T04:00:00+00:00"}
    mine = measured(CHOICES[0], device=device, time_us=None, environment=environment, **COUNTED)
    history.remember(CHOICES[0], mine)
    had = {CHOICES[0]: "2026-11-20T04:00:00+00:00"}
    again = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=True, had=had)
    assert again.advance(0.0) and again.results == [mine] and not handles
    assert again.answers == {CHOICES[0]: "emulated before"}
    ladder = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=False)
    assert ladder.advance(0.0) and ladder.results == [mine] and not handles
    presenting = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=True, had=None)
    assert not presenting.advance(0.0) and len(handles) == 1


def test_a_cpus_time_is_measured_anew(handles: list[Handle]) -> None:
    environment = {**ENVIRONMENT, "utc": "2026-11-20T04:00:00+00:00", "cpu": "a CPU"}
    of_a_cpu = measured(CHOICES[0], device={"kind": "emulator"}, time_us=None, environment=environment, **COUNTED)
    history.remember(CHOICES[0], of_a_cpu)
    asked = MeasurementWork(CHOICES[:1], ["one"], "mine", fresh=True, had={})
    assert not asked.advance(0.0) and len(handles) == 1


def test_a_long_one_holds_up_nothing_that_follows(handles: list[Handle], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "at_once", lambda device: 2)
    running = work([replace(CHOICES[0], n=1000 + number) for number in range(6)])
    running.advance(0.0)
    for ended in (1, 2, 3, 4):
        assert len(handles) == ended + 1
        handles[ended].done.set()
        assert not running.advance(0.0)
    handles[0].done.set()
    assert running.advance(0.0)
    assert len(handles) == 6 and len(running.results) == 5


def test_what_the_limits_hold_back_is_asked_for_again_and_nothing_is_lost(
    handles: list[Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, left = service.submit, iter([True, False, False, False, False, True, True])

    def limited(choice: Settled, session: str, **how: Any) -> Any:
        if not next(left):
            raise service.Rejected("You have started as many runs as a student may.", 7.0)
        return submit(choice, session, **how)

    monkeypatch.setattr(service, "submit", limited)
    running = work()
    running.advance(0.0)
    handles[0].done.set()
    assert running.advance(0.0)
    for _ in range(2):
        assert not running.advance(0.0) and not running.finished
        assert running.progress == (1 / 3, "2 of 3: 64. You have started as many runs as a student may.")
    for number in (1, 2):
        running.advance(0.0)
        handles[number].done.set()
        assert running.advance(0.0)
    assert running.finished and [found.status for found in running.results] == ["ok"] * 3
    assert not running.turned_away


@pytest.mark.parametrize(
    ("ago", "changes", "mine"),
    [
        (page_work.SHARED_S + 5.0, {}, {}),  # too long ago
        (30.0, {"status": "crashed", "reason": "It crashed."}, {}),  # which need not happen again
        (30.0, {"counters": {"barriers": 1.0}}, {}),  # kept without the counters of its lines
        (30.0, {}, {"fresh": False}),  # what is not wanted anew finds its own result in the queue
        (30.0, {}, {"had": None}),  # a presenter measures before the hall
    ],
)
def test_nothing_else_answers_a_click(
    ago: float, changes: dict[str, Any], mine: dict[str, Any], handles: list[Handle]
) -> None:
    found = emulated(CHOICES[0], ago=ago)
    changes = changes | {"environment": found.environment, "device": found.device, "time_us": None}
    history.remember(CHOICES[0], measured(CHOICES[0], **changes))
    asked = MeasurementWork(CHOICES[:1], ["one"], "mine", **{"fresh": True, "had": {}} | mine)
    assert not asked.advance(0.0) and len(handles) == 1


def test_a_result_that_is_there_already_is_not_kept_twice(handles: list[Handle]) -> None:
    running = work(CHOICES[:1])
    running.advance(0.0)
    history.remember(CHOICES[0], emulated(CHOICES[0]))
    handles[0].done.set()
    assert running.advance(0.0) and measurements.count() == 1


def test_what_the_queue_gave_up_is_submitted_again_while_the_browser_is_there(
    handles: list[Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = False
    monkeypatch.setattr(presence, "is_here", lambda name: here)
    running = work(CHOICES[:1])
    running.advance(0.0)
    handles[0].cancel()
    assert not running.advance(0.0) and len(handles) == 1  # its connection is lost: nobody would see it
    here = True
    assert not running.advance(0.0) and len(handles) == 2
    handles[1].done.set()
    assert running.advance(0.0) and running.finished and running.results[0].status == "ok"
    stopped = work(CHOICES[1:2])
    stopped.advance(0.0)
    stopped.stop()
    assert not stopped.advance(0.0) and len(handles) == 3


def test_the_wait_is_told_where_it_is_long(handles: list[Handle]) -> None:
    running = work(CHOICES[:1])
    running.advance(0.0)
    assert running.progress == (0.5, "32. Running")
    handles[0].expected_wait = 12.4
    assert running.progress == (0.5, "32. Running, about 12 s")
