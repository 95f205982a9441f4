"""How long a run will take is what the last ones tell, and the wait that is told is what those before it will take."""

from __future__ import annotations

from math import inf

import pytest

from engine.service.durations import USUAL_S, Durations, wait_s
from engine.service.job import Job


def job(key: str, kind: str, operations: int, deadline: float = 60.0) -> Job:
    return Job("measure", key=key, kind=kind, operations=operations, deadline=deadline)


def test_what_ran_before_takes_as_long_again_and_its_kind_by_its_operations() -> None:
    known = Durations()
    assert not known and known.expected(job("a", "sum", 1000)) is None
    known.add(job("a", "sum", 1000), 2.0)
    known.add(job("b", "product", 1000), 0.5)
    assert known and known.expected(job("a", "sum", 1000)) == 2.0
    assert known.expected(job("c", "sum", 3000)) == 6.0
    assert known.expected(job("c", "sum", 10)) == 0.5  # nothing has taken less
    assert known.expected(job("c", "sum", 100_000)) == 60.0  # its deadline
    assert known.at_best(job("a", "sum", 1000)) == 2.0
    assert known.at_best(job("d", "unknown", 2000)) == 0.5 + 1.0  # as the quickest do
    assert known.expected(job("d", "unknown", 2000)) == 1.25  # as all do, of which none does more than another
    assert known.at_best(Job("check", deadline=60.0)) == 0.5
    known.add(job("a", "sum", 1000), 3.0)
    assert known.expected(job("a", "sum", 1000)) == 3.0


def test_an_unknown_kind_takes_what_its_operations_take_others() -> None:
    known = Durations()
    for operations, seconds in ((1000, 1.0), (2000, 1.5), (3000, 2.0)):
        known.add(job(str(operations), str(operations), operations), seconds)
    assert known.expected(job("d", "unknown", 5000)) == pytest.approx(3.0)
    assert known.expected(job("d", "unknown", 1)) == 1.0  # nothing has taken less


@pytest.mark.parametrize(
    ("ahead", "left", "wait"),
    [
        ([], {inf: [0.0]}, 0.0),  # an idle worker takes it at once
        ([], {inf: [7.0]}, 7.0),
        ([10.0, 10.0], {inf: [6.0]}, 26.0),
        ([10.0, 3.0], {inf: [6.0, 0.0]}, 9.0),  # the first goes to the idle one, the second to who is free in 6 s
        ([10.0] * 4, {inf: [0.0, 0.0]}, 20.0),
        ([10.0], {}, None),
        ([10.0, 10.0], {inf: [6.0], 2.0: [0.0]}, 0.0),  # for short runs, as it is one
        ([1.0, 10.0], {inf: [6.0], 2.0: [0.5]}, 1.5),
        ([10.0], {2.0: [0.0]}, 0.0),
        ([10.0], {0.5: [0.0]}, None),
    ],
)
def test_the_runs_before_it_share_the_workers(
    ahead: list[float], left: dict[float, list[float]], wait: float | None
) -> None:
    assert wait_s([(seconds, seconds) for seconds in ahead], 1.0, left) == wait


def test_a_small_run_of_an_unknown_kind_is_not_taken_for_long_because_all_others_were() -> None:
    known = Durations()
    known.add(Job("run", deadline=60.0, kind="matmul", operations=10**9), 30.0)
    assert known.at_best(Job("run", deadline=60.0, kind="sum", operations=4096)) == pytest.approx(USUAL_S, rel=1e-3)


def test_an_unknown_kind_takes_as_long_as_others_of_its_function() -> None:
    known = Durations()
    known.add(Job("run", deadline=60.0, kind="sum"), 8.0)
    known.add(Job("draw", deadline=60.0, kind="sum"), 0.25)
    assert known.expected(Job("draw", deadline=60.0, kind="scan")) == 0.25
    assert known.expected(Job("check", deadline=60.0, kind="scan")) == 4.125  # of which nothing has run
