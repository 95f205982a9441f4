"""What was emulated before stands for the same run: it would come out the same in every number, count and sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.backends.measure import measure
from engine.catalogue import LADDERS, Ladder, Rung
from engine.records import Measurement
from engine.service.warm_up import run_of
from tests.cases import case

QUICK = {"crovella-order", "heidelberg-volta"}
RUNGS = [
    case(ladder, rung, quick=ladder.name in QUICK and rung is ladder.rungs[0], thorough=False,
         id=f"{ladder.name}-{rung.kernel}")
    for ladder in LADDERS.values() for rung in ladder.rungs
]  # fmt: skip


def without_its_moment(measurement: Measurement) -> Measurement:
    return replace(measurement, environment={**measurement.environment, "utc": None})


@pytest.mark.parametrize(("ladder", "rung"), RUNGS)
def test_a_second_run_is_the_first_again(ladder: Ladder, rung: Rung) -> None:
    choice = run_of(ladder, rung)
    first, second = (without_its_moment(measure(choice)) for _ in range(2))
    if first.cpu is None:  # of a CPU the time is told, which is another one each time
        assert repr(first) == repr(second)
