"""What a rung's words lead one to expect is what the recorded runs show, where its ladder opens."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from engine.catalogue import KERNELS, LADDERS, TOPICS, Ladder, Rung
from engine.history.history import recorded_for
from engine.history.tables import comparable
from engine.lectures.judge import kept, unkept
from engine.plan import settle
from engine.records import Choice, Measurement
from tests.made import measured

PLAIN = 1.15  # a difference between rungs of the same work that their words must not pass over
PAIRS = [
    pytest.param(ladder, before, now, id=f"{name}-{now.kernel}")
    for name, ladder in LADDERS.items()
    if not name.startswith("all-")
    for before, now in pairwise(ladder.rungs)
]


def opened(ladder: Ladder, rung: Rung) -> Measurement | None:
    """The recorded run of a rung where the ladder opens; None where it was not timed."""
    choice = Choice(rung.kernel, ladder.n, ladder.block_size, dtype=ladder.dtype, device="gpu", combine=rung.combine)
    found = recorded_for(settle(choice))
    return found if found is not None and found.time_us is not None else None


@pytest.mark.parametrize(("ladder", "before", "now"), PAIRS)
def test_the_recorded_runs_keep_what_the_words_promise(ladder: Ladder, before: Rung, now: Rung) -> None:
    old, new = opened(ladder, before), opened(ladder, now)
    assert kept(now, old, new, TOPICS[ladder.topic].metric) is not False, unkept(now, old, new, "time_us")
    if old is None or new is None or not comparable(KERNELS[before.kernel], KERNELS[now.kernel]):
        return
    factor = old.time_us / new.time_us
    assert now.promise or 1 / PLAIN < factor < PLAIN, f"{factor:.2f} times as fast, and its words do not say so"


def run(time_us: float, bandwidth: float = 1.0) -> Measurement:
    return measured(Choice("copy_offset", 64, 32, device="gpu"), time_us=time_us, bandwidth_gb_s=bandwidth)


@pytest.mark.parametrize(
    ("promise", "before", "now", "outcome"),
    [("faster", 10, 9, True), ("faster", 10, 9.9, False), ("slower", 9, 10, True), ("slower", 10, 10, False),
     ("same", 10, 10.5, True), ("same", 10, 12, False), ("", 10, 12, None)],
)  # fmt: skip
def test_a_promise_is_kept_or_not(promise: str, before: float, now: float, outcome: bool | None) -> None:
    rung = replace(LADDERS["harris"].rungs[1], promise=promise)
    assert kept(rung, run(before), run(now), "bandwidth_gb_s") is outcome
    assert bool(unkept(rung, run(before), run(now), "bandwidth_gb_s")) == (outcome is False)


def test_more_is_said_of_the_rate_whatever_the_time() -> None:
    rung = replace(LADDERS["harris"].rungs[1], promise="more")
    assert kept(rung, run(5, 100.0), run(10, 800.0), "bandwidth_gb_s")
    assert not kept(rung, run(5, 100.0), run(1, 100.0), "bandwidth_gb_s")


def test_times_of_two_machines_keep_and_break_nothing() -> None:
    rung = replace(LADDERS["harris"].rungs[1], promise="faster")
    other = replace(run(20), device={"kind": "gpu", "name": "Another"})
    assert kept(rung, run(10), other, "bandwidth_gb_s") is None and kept(rung, None, other, "bandwidth_gb_s") is None


@pytest.mark.parametrize(
    "name", [name for name, kernel in KERNELS.items() if kernel.needs and kernel.needs.least >= 32]
)  # fmt: skip
def test_conditions_name_the_least_block(name: str) -> None:
    kernel = KERNELS[name]
    assert kernel.expect == "wrong" or f"from {kernel.needs.least} " in kernel.header["Conditions"]
