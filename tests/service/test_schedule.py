"""The order of waiting runs, without any worker: `ahead` says the place in which `take` returns an item."""

from __future__ import annotations

import random

import pytest

from engine.service.schedule import DeviceQueue, RoundRobin
from tests.service.test_hosts import Slot


def queued(*items: str, urgent: tuple[str, ...] = ()) -> RoundRobin[str]:
    """Return a queue of items; the first letter of each is its session."""
    queue: RoundRobin[str] = RoundRobin()
    for item in (*items, *urgent):
        queue.add(item[0], item, urgent=item in urgent)
    return queue


def taken(queue: RoundRobin[str]) -> list[str]:
    """Take all items, and check that they come in the order of iteration."""
    expected = list(queue)
    assert [queue.take() for _ in range(len(queue))] == expected
    with pytest.raises(IndexError):
        queue.take()
    return expected


def test_sessions_take_turns_and_keep_their_own_order() -> None:
    queue = queued("a0", "a1", "a2", "b0", "c0", "b1")
    assert len(queue) == 6
    assert taken(queue) == ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert len(queue) == 0


def test_many_runs_of_one_session_delay_another_sessions_run_by_one() -> None:
    queue = queued(*(f"a{number}" for number in range(100)), "b0")
    assert queue.ahead("b", "b0") == 1
    assert queue.take() == "a0"
    queue.add("c", "c0")
    assert (queue.ahead("b", "b0"), queue.ahead("a", "a1"), queue.ahead("c", "c0")) == (0, 1, 2)


def test_urgent_runs_precede_all_others_and_take_turns_too() -> None:
    queue = queued("a0", "b0", "a1", urgent=("b1", "c0", "b2", "c1"))
    assert queue.ahead("b", "b2") == 2 and queue.ahead("b", "b0") == 5 and len(queue) == 7
    queue.remove("c", "c1")
    queue.remove("a", "a0")
    assert taken(queue) == ["b1", "c0", "b2", "a1", "b0"]  # session a keeps its turn


def test_a_run_whose_host_was_lost_waits_before_all_others_of_its_rank() -> None:
    queue = queued("a0", "a1", "b0")
    lost = queue.take()
    queue.add("c", "c0", urgent=True)
    queue.add("a", lost, first=True)
    assert queue.ahead("a", "a0") == 1
    assert taken(queue) == ["c0", "a0", "b0", "a1"]


@pytest.mark.parametrize("seed", range(20))
def test_the_place_in_the_queue_is_the_place_of_being_taken(seed: int) -> None:
    chance = random.Random(seed)
    items = [f"{chance.choice('abcd')}{number}" for number in range(chance.randrange(1, 30))]
    queue: RoundRobin[str] = RoundRobin()
    for item in items:
        queue.add(item[0], item, urgent=chance.random() < 0.3, first=chance.random() < 0.1)
    for item in chance.sample(items, len(items) // 4):
        queue.remove(item[0], item)
        items.remove(item)
    for _ in range(chance.randrange(len(items) + 1)):
        items.remove(queue.take())
    expected = sorted(items, key=lambda item: queue.ahead(item[0], item))
    assert [queue.ahead(item[0], item) for item in expected] == list(range(len(items)))
    assert taken(queue) == expected


def test_a_wait_is_estimated_by_the_mean_of_recent_runs_and_the_number_of_slots() -> None:
    queue: DeviceQueue[str] = DeviceQueue("emulator", None)
    queue.slots = [Slot("a", "emulator"), Slot("b", "emulator")]
    assert queue.expected_wait_s(1) is None
    queue.add_duration(2.0)
    queue.add_duration(4.0)
    assert (queue.expected_wait_s(1), queue.expected_wait_s(4)) == (1.5, 6.0)
    for slot in list(queue.slots):
        queue.drop(slot)
    assert queue.expected_wait_s(1) is None
