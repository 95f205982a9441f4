"""Every planted bug is found and called by its name; the correct kernels beside them stay silent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import RunFailed
from tests.backends.emulator.planted import Planted, planted
from tests.backends.emulator.small_kernels import execute

BUGS = planted()


def found(bug: Planted, schedule: Schedule = LOCKSTEP) -> set[str]:
    """The kinds of findings, and the status and finding that a run ended with."""
    hazards = Hazards()
    arrays: dict[str, Any] = {"in": np.arange(bug.n, dtype=np.int32) * 7 + 3, "out": np.zeros(bug.n, np.int32)}
    ended: set[str | None] = set()
    try:
        execute(
            bug.text, grid=bug.grid, block=bug.block, name=bug.name, observers=[hazards], schedule=schedule,
            options=Options(step_limit=20_000), **arrays, n=bug.n,
        )  # fmt: skip
    except RunFailed as failure:
        ended = {failure.finding or failure.status}
        if failure.status == "deadlock":
            ended = {"deadlock"}
    return {finding.kind for finding in hazards.findings()} | {kind for kind in ended if kind}


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.name) for bug in BUGS if not bug.correct])
def test_a_planted_bug_is_found(bug: Planted) -> None:
    kinds = found(bug)
    assert bug.expect[0] in kinds
    assert kinds <= set(bug.expect)


@pytest.mark.thorough
@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.name) for bug in BUGS if bug.correct])
def test_a_correct_kernel_is_silent(bug: Planted) -> None:
    assert found(bug) == set()


@pytest.mark.thorough
def test_a_lock_between_the_lanes_of_a_warp_ends_where_lanes_are_independent() -> None:
    (lock,) = (bug for bug in BUGS if bug.name == "spin_lock_in_a_warp")
    assert "deadlock" not in found(lock, Schedule("independent", seed=1))


@pytest.mark.thorough
def test_there_are_enough_of_both_kinds() -> None:
    assert sum(not bug.correct for bug in BUGS) >= 30
    assert sum(bug.correct for bug in BUGS) >= 10
