"""Who watches a run is handed in from outside; what is counted is one class and one row a counter."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.launch import execute
from engine.backends.emulator.state.events import NOBODY
from engine.backends.emulator.watching.line_counter import EVERY, LineCounter, counts
from engine.backends.emulator.watching.observer import Observer, hooks_of
from engine.records import Buffer, Choice, Finding, Launch, Plan, Source
from engine.records.counters import COUNTERS, IN_JSON
from tests.backends.emulator.small_kernels import execute as launched
from tests.backends.emulator.small_kernels import zeros

TEXT = """extern "C" __global__ void f(int *out) {
    out[threadIdx.x] = 1;
    __threadfence();
    out[threadIdx.x] += 1;
}"""


class Fences(LineCounter):
    names = ("fences",)

    def on_fence(self, line, opcode, mask):
        self.count(line, "fences", mask.warps)


class Suspicion(Observer):
    def findings(self):
        return (Finding("suspicion", 2, None, "Something is wrong."),)


def test_what_an_observer_does_not_override_costs_nothing():
    assert hooks_of([Observer(), Suspicion()]) == NOBODY
    fences = Fences()
    hooks = hooks_of([Observer(), fences])
    assert hooks.on_fence == (fences.on_fence,) and hooks.on_access == ()


def test_a_counter_that_is_handed_in_counts_by_line():
    fences = Fences()
    launched(TEXT, grid=3, block=64, observers=[fences], out=zeros(64))
    assert fences.totals() == {"fences": 6}
    assert fences.by_line("test.cu") == {3: {"fences": 6}}


def test_who_watches_a_run_is_its_callers_choice():
    plan = Plan(
        Choice("f", 64, 64), (Buffer("out", "int32", 64, "zero"),),
        (Launch("f", Source("test.cu", TEXT, "int32"), (1, 1, 1), (64, 1, 1), ("out",)),), "out", 64, 0, 0, 1, 1,
    )  # fmt: skip
    usual, nobody, ours = (execute(plan, {}, observers=given) for given in (None, (), (Suspicion(), EVERY[0]())))
    assert usual.counts and set(usual.counts.counters) == set(IN_JSON) and not usual.findings
    assert nobody.counts is None
    assert ours.findings[0].kind == "suspicion"
    counted = {"warp_instructions", "thread_instructions", "active_lanes_per_instruction"}
    assert ours.counts and set(ours.counts.counters) == counted
    assert all(np.array_equal(run.output, usual.output) for run in (nobody, ours))


def test_every_counter_of_the_contract_is_counted_or_follows_from_what_is():
    counted = [name for kind in EVERY for name in kind.names]
    assert len(counted) == len(set(counted))
    for name in IN_JSON:
        row = COUNTERS[name]
        assert name in counted or ({*row.parts, *row.per} <= set(counted) and row.parts), name


def test_nothing_is_counted_twice():
    with pytest.raises(AssertionError, match="counted twice"):
        counts(type("Again", (LineCounter,), {"names": ("shuffles",)}))
