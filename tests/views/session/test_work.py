"""Runs that a browser waits for: in order, once each, found again by a second run of the script, stoppable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.choices import settle
from engine.history import history
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service
from tests.history.test_history import measured
from views.session.work import PageWork

CHOICES = [settle(Choice("reduce_sequential", 1000, block_size, device="emulator")) for block_size in (32, 64, 128)]


class Handle:
    """A run that ends when the test says so."""

    progress = (0.5, "Running")

    def __init__(self, choice: Choice) -> None:
        self.choice, self.done, self.cancelled = choice, threading.Event(), False

    def cancel(self) -> None:
        self.cancelled = True
        self.done.set()


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Handle]]:
    made: list[Handle] = []

    def submit(choice: Choice, session: str, *, fresh: bool = False) -> Handle:
        if choice.n < 1:
            raise NotRunnable("N must be at least 1, not 0.")
        made.append(Handle(choice))
        return made[-1]

    def measurement_of(handle: Handle, choice: Choice) -> Measurement:
        return measured(choice, device={"kind": "emulator"}, time_us=None)

    monkeypatch.setattr(service, "submit", submit)
    monkeypatch.setattr(service, "measurement_of", measurement_of)
    yield made


def work(choices: list[Choice] = CHOICES) -> PageWork:
    return PageWork(choices, [str(choice.block_size) for choice in choices], "a session", fresh=True)


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
