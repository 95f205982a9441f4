"""Whose turn it is, without any worker: what `ahead` promises is what `take` does."""

from __future__ import annotations

import random

import pytest

from engine.service.turns import Turns


def taken(turns: Turns[str]) -> list[str]:
    items = []
    while (item := turns.take()) is not None:
        items.append(item)
    return items


def test_one_of_each_session_in_turn_and_first_in_first_out_within() -> None:
    turns: Turns[str] = Turns()
    for item in ("a0", "a1", "a2", "b0", "c0", "b1"):
        turns.add(item[0], item)
    assert len(turns) == 6
    assert taken(turns) == ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert len(turns) == 0


def test_who_was_served_goes_behind_all_others() -> None:
    turns: Turns[str] = Turns()
    for item in ("a0", "a1", "b0"):
        turns.add(item[0], item)
    assert turns.take() == "a0"
    turns.add("c", "c0")
    assert taken(turns) == ["b0", "a1", "c0"]


def test_what_is_urgent_goes_first_and_takes_turns_too() -> None:
    turns: Turns[str] = Turns()
    for item in ("a0", "b0", "a1"):
        turns.add(item[0], item)
    for item in ("b1", "c0", "b2", "c1"):
        turns.add(item[0], item, urgent=True)
    assert turns.ahead("b", "b2") == 2 and turns.ahead("b", "b0") == 5 and len(turns) == 7
    turns.remove("c", "c1")
    turns.remove("a", "a0")
    assert taken(turns) == ["b1", "c0", "b2", "a1", "b0"]


def test_what_was_taken_too_early_comes_back_to_its_place() -> None:
    turns: Turns[str] = Turns()
    for item in ("a0", "a1", "b0"):
        turns.add(item[0], item)
    taken_early = turns.take() or ""
    turns.add("c", "c0", urgent=True)
    turns.add("a", taken_early, first=True)
    assert turns.ahead("a", "a0") == 1
    assert taken(turns) == ["c0", "a0", "b0", "a1"]


@pytest.mark.parametrize("seed", range(20))
def test_the_place_told_is_the_place_taken(seed: int) -> None:
    chance, turns = random.Random(seed), Turns[str]()
    items = [f"{chance.choice('abcd')}{number}" for number in range(chance.randrange(1, 30))]
    for item in items:
        turns.add(item[0], item, urgent=chance.random() < 0.3)
    for item in chance.sample(items, len(items) // 4):
        turns.remove(item[0], item)
        items.remove(item)
    for _ in range(chance.randrange(len(items) + 1)):
        items.remove(turns.take() or "")
    promised = sorted(items, key=lambda item: turns.ahead(item[0], item))
    assert [turns.ahead(item[0], item) for item in promised] == list(range(len(items)))
    assert taken(turns) == promised
