"""What independent thread scheduling changed: the same kernels under lockstep and under independent lanes."""

import numpy as np
import pytest

from engine.catalogue import KERNELS, volta
from engine.plan import plan
from engine.records import Choice, Measurement, NotRunnable, RunFailed
from tests.made import measure

SCHEDULES = ["lockstep", *(f"independent:{seed}" for seed in range(4))]
WAITING = [kernel.name for kernel in volta.KERNELS if kernel.expect == "deadlock"]


def measured(kernel: str, n: int = 300, schedule: str | None = None, **how) -> Measurement:
    return measure(Choice(kernel, n, how.pop("block_size", 64), device="emulator", **how), schedule=schedule)


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", [kernel.name for kernel in volta.KERNELS if kernel.expect == "ok"])
def test_what_is_right_is_right_in_every_order_of_the_lanes_and_without_a_finding(name: str, schedule: str):
    for n in (1, 33, 300):
        found = measured(name, n, schedule)
        assert found.status == "ok", found.reason


@pytest.mark.thorough
def test_an_exchange_between_branches_is_luck_in_lockstep_and_wrong_without_it():
    lucky = measured("branch_exchange", 1024)
    assert lucky.status == "hazard" and lucky.check.result == lucky.check.expected
    assert {finding.kind for finding in lucky.findings} == {"warp-race"}
    assert "__syncwarp" in lucky.findings[0].message
    assert "wrong" in {measured("branch_exchange", 1024, schedule).status for schedule in SCHEDULES[1:]}


@pytest.mark.thorough
@pytest.mark.parametrize("split", [1, 4, 31])
def test_syncwarp_brings_the_lanes_together_wherever_they_split(split: int):
    for schedule in SCHEDULES:
        for name in ("branch_order", "branch_order_syncwarp", "branch_exchange_syncwarp"):
            assert measured(name, 100, schedule, parameter=split).status == "ok"


@pytest.mark.thorough
@pytest.mark.parametrize("name", WAITING)
def test_a_lock_that_needs_independent_lanes_never_ends_in_lockstep_and_says_why(name: str):
    with pytest.raises(RunFailed) as failed:
        measured(name, 32)
    assert failed.value.status == "deadlock"
    assert "its own warp" in str(failed.value) and "lockstep" in str(failed.value)
    waits = next(i for i, line in enumerate(KERNELS[name].text.splitlines(), 1) if "while (" in line)
    assert failed.value.line == waits


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("name", WAITING)
def test_a_lock_that_needs_independent_lanes_ends_with_them_and_loses_no_addition(name: str, dtype: str):
    for n, block_size in ((1, 32), (31, 32), (33, 1024), (1000, 128)):
        found = measured(name, n, "independent:1", dtype=dtype, block_size=block_size)
        assert found.status == "ok", found.reason


@pytest.mark.thorough
def test_a_lone_lane_never_waits():
    assert WAITING
    for name in WAITING:
        assert measured(name, 1).status == "ok"


@pytest.mark.thorough
def test_waiting_is_watched_only_as_long_as_it_is_short():
    assert WAITING
    for name in WAITING:
        with pytest.raises(NotRunnable, match="choose up to 4,096"):
            measured(name, 5000)
        plan(Choice(name, 5000, 64, device="gpu"))


@pytest.mark.thorough
@pytest.mark.parametrize("tile", [1, 2, 4, 8, 16, 32])
def test_a_tile_takes_one_shuffle_per_halving(tile: int):
    found = measured("groups_tile", 256, parameter=tile)
    assert found.status == "ok" and found.counters["shuffles"] == 256 // 32 * (tile.bit_length() - 1)


@pytest.mark.thorough
def test_a_group_of_the_lanes_that_are_together_needs_one_atomic_while_they_stay_together():
    assert measured("groups_coalesced", 256).counters["atomics"] == 256 // 32


def in_lockstep(lanes: int, split: int) -> np.ndarray:
    """The tickets when the first branch runs whole before the second: shape (lanes, 3)."""
    drawn = np.empty((lanes, 3), np.int64)
    drawn[:split, 0], drawn[:split, 1] = np.arange(split), split + np.arange(split)
    rest = np.arange(lanes - split)
    drawn[split:, 0], drawn[split:, 1] = 2 * split + rest, split + lanes + rest
    drawn[:, 2] = 2 * lanes + np.arange(lanes)
    return drawn


@pytest.mark.thorough
def test_tickets_out_of_order_twice_or_early_are_wrong():
    drawn = in_lockstep(32, 4)
    assert volta.tickets(drawn, True).ok and volta.tickets(np.vstack([drawn, in_lockstep(7, 4)]), True).ok
    apart = np.array([[0, 1, 2], [3, 4, 5]])  # one lane is through before the other begins: legal without __syncwarp
    assert volta.tickets(apart, False).ok and not volta.tickets(apart, True).ok
    twice, backwards = drawn.copy(), drawn.copy()
    twice[3, 0] = drawn[2, 0]
    backwards[5, :2] = drawn[5, 1::-1]
    for broken in (twice, backwards):
        assert not volta.tickets(broken, False).ok
    assert volta.tickets(backwards, False).result == 0
