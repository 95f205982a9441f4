"""The wait that is told is what the last runs took, over all workers."""

from __future__ import annotations

import pytest

from engine.service.waits import RECENT, Waits


@pytest.mark.parametrize(
    ("ahead", "busy", "wait"),
    [
        (0, [0.0], 0.0),  # an idle worker takes it at once
        (0, [3.0], 7.0),
        (0, [12.0], 0.0),  # which takes longer than is usual: it may end at any moment
        (2, [4.0], 26.0),
        (2, [4.0, 0.0], 10.0),  # the first goes to the idle one, the second to the one that is free in 6 s
        (3, [0.0, 0.0], 10.0),
        (4, [0.0, 0.0], 20.0),
    ],
)
def test_the_runs_before_it_share_the_workers(ahead: int, busy: list[float], wait: float) -> None:
    waits = Waits()
    for seconds in (5.0, 15.0):
        waits.add(seconds)
    assert waits.expected(ahead, busy) == wait


def test_nothing_is_told_before_anything_has_run_and_what_is_long_ago_is_forgotten() -> None:
    waits = Waits()
    assert waits.expected(3, [1.0]) is None
    waits.add(1000.0)
    for _ in range(RECENT):
        waits.add(2.0)
    assert waits.expected(3, [0.0]) == 6.0
