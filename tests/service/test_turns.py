"""Whose turn it is, without any worker: what `ahead` promises is the order of all that waits."""

from __future__ import annotations

import random

import pytest

from engine.service.turns import STRETCH, Turns


def made(*items: str, urgent: tuple[str, ...] = ()) -> Turns[str]:
    """Items of a second each, all asked for at once; the first letter is the session."""
    turns: Turns[str] = Turns()
    for item in (*items, *urgent):
        turns.add(item[0], item, 0.0, 1.0, urgent=item in urgent)
    return turns


def take(turns: Turns[str]) -> str:
    """The next item, which no longer waits."""
    item = next(iter(turns))
    turns.remove(item[0], item)
    return item


def taken(turns: Turns[str]) -> list[str]:
    """All that waits, one after the other, which is the order that all are in before the first is taken."""
    promised = list(turns)
    assert [take(turns) for _ in range(len(turns))] == promised and not list(turns)
    return promised


def test_one_of_each_session_in_turn_and_first_in_first_out_within() -> None:
    turns = made("a0", "a1", "a2", "b0", "c0", "b1")
    assert len(turns) == 6
    assert taken(turns) == ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert len(turns) == 0


def test_a_short_one_goes_first_and_a_long_one_is_not_overtaken_by_what_comes_late() -> None:
    turns: Turns[str] = Turns()
    turns.add("a", "long", 0.0, 2.0)
    for second in range(40):
        turns.add(f"b{second}", f"short {second}", float(second), 0.1)
    due = int(STRETCH * 2.0)
    assert turns.before("a", "long") == [f"short {second}" for second in range(due - 1)]
    assert list(turns)[due - 1] == "long"


def test_the_many_short_ones_of_one_session_hold_up_nobodys_single_one() -> None:
    turns: Turns[str] = Turns()
    for number in range(100):
        turns.add("a", f"a{number}", 0.0, 0.1)
    turns.add("b", "b0", 0.5, 0.1)
    assert turns.ahead("b", "b0") == 1


def test_what_is_urgent_goes_first_and_takes_turns_too() -> None:
    turns = made("a0", "b0", "a1", urgent=("b1", "c0", "b2", "c1"))
    assert turns.ahead("b", "b2") == 2 and turns.ahead("b", "b0") == 5 and len(turns) == 7
    turns.remove("c", "c1")
    turns.remove("a", "a0")
    assert taken(turns) == ["b1", "c0", "b2", "b0", "a1"]


def test_what_was_taken_too_early_comes_back_to_its_place() -> None:
    turns = made("a0", "a1", "b0")
    taken_early = take(turns)
    turns.add("c", "c0", 0.0, 1.0, urgent=True)
    turns.add("a", taken_early, 0.0, 1.0, first=True)
    assert turns.ahead("a", "a0") == 1
    assert taken(turns) == ["c0", "a0", "b0", "a1"]


@pytest.mark.parametrize("seed", range(20))
def test_the_place_told_is_the_place_taken(seed: int) -> None:
    chance, turns = random.Random(seed), Turns[str]()
    items = [f"{chance.choice('abcd')}{number}" for number in range(chance.randrange(1, 30))]
    for item in items:
        turns.add(item[0], item, 9 * chance.random(), chance.random(), urgent=chance.random() < 0.3)
    for item in chance.sample(items, len(items) // 4):
        turns.remove(item[0], item)
        items.remove(item)
    for _ in range(chance.randrange(len(items) + 1)):
        items.remove(take(turns))
    promised = sorted(items, key=lambda item: turns.ahead(item[0], item))
    for item in items:
        assert turns.before(item[0], item) == promised[: turns.ahead(item[0], item)]
    assert taken(turns) == promised
