"""Who watches a run is handed in from outside; what is counted is one class and one row a counter."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.launch import execute
from engine.backends.emulator.state.events import NO_HOOKS
from engine.backends.emulator.watching.busiest_warp import BusiestWarpInstructions, BusiestWarpLoads
from engine.backends.emulator.watching.counters import (
    ALL_COUNTERS,
    Instructions,
    LineCounter,
    WarpSynchronisations,
    counts,
)
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
    assert hooks_of([Observer(), Suspicion()]) == NO_HOOKS
    fences = Fences()
    hooks = hooks_of([Observer(), fences])
    assert hooks.on_fence == (fences.on_fence,) and hooks.on_access == ()


def test_a_counter_that_is_handed_in_counts_by_line():
    fences = Fences()
    launched(TEXT, grid=3, block=64, observers=[fences], out=zeros(64))
    assert fences.totals() == {"fences": 6}
    assert fences.by_line("test.cu") == {3: {"fences": 6}}


def test_every_instruction_for_which_lanes_wait_is_a_warp_synchronisation():
    text = """extern "C" __global__ void f(int *out) {
        int t = threadIdx.x;
        __syncwarp();
        int some = __any_sync(~0u, t);
        int other = __shfl_xor_sync(~0u, t, 1);
        asm volatile("bar.warp.sync 0xffffffff;");
        __syncthreads();
        out[t] = some + other + __activemask();
    }"""
    counter = WarpSynchronisations()
    launched(text, grid=3, block=64, observers=[counter], out=zeros(64))
    assert counter.totals() == {"warp_syncs": 4 * 6, "shuffles": 6}


def test_who_watches_a_run_is_its_callers_choice():
    plan = Plan(
        Choice("f", 64, 64), (Buffer("out", "int32", 64, "zero"),),
        (Launch("f", Source("test.cu", TEXT, "int32"), (1, 1, 1), (64, 1, 1), ("out",)),), "out", 64, 0, 0, 1, 1,
    )  # fmt: skip
    usual, nobody, ours = (execute(plan, {}, observers=given) for given in (None, (), (Suspicion(), ALL_COUNTERS[0]())))
    assert usual.counts and set(usual.counts.counters) == set(IN_JSON) and not usual.findings
    assert nobody.counts is None
    assert ours.findings[0].kind == "suspicion"
    counted = {"warp_instructions", "thread_instructions", "active_lanes_per_instruction"}
    assert ours.counts and set(ours.counts.counters) == counted
    assert all(np.array_equal(run.output, usual.output) for run in (nobody, ours))


def test_every_counter_of_the_contract_is_counted_or_follows_from_what_is():
    counted = [name for kind in ALL_COUNTERS for name in kind.names]
    assert len(counted) == len(set(counted))
    for name in IN_JSON:
        row = COUNTERS[name]
        assert name in counted or ({*row.parts, *row.per} <= set(counted) and row.parts), name


def test_nothing_is_counted_twice():
    with pytest.raises(AssertionError, match="counted twice"):
        counts(type("Again", (LineCounter,), {"names": ("shuffles",)}))


@pytest.mark.parametrize(("loads", "lines"), [
    ("y[i] = x[i];", (1,)),
    ("y[i] = x[i] + x[i ^ 1];", (2,)),
    ("if (threadIdx.x < 32)\nfor (int k = 0; k < 3; ++k)\ny[i] += x[k];", (6,)),  # of both arrays, three times
    ("if (threadIdx.x < 32)\ny[i] = x[i];\nelse\ny[i] = x[i + 1];", (1, 1)),  # different warps
    ("for (int k = 0; k < threadIdx.x / 32; ++k)\ny[i] = x[i + k];\ny[i] = x[i];", (3, 1)),  # one warp
    ("if (blockIdx.x == 5)\ny[i] = x[i];", (1,)),
])  # fmt: skip
def test_the_busiest_warp_is_the_one_with_the_most_loads(loads, lines):
    text = f"""extern "C" __global__ void f(const volatile int *x, volatile int *y) {{
        int i = threadIdx.x;
        {loads}
    }}"""
    counter = BusiestWarpLoads()
    launched(text, grid=8, block=128, observers=[counter], x=zeros(256), y=zeros(256))
    most = max(lines) if "else" in loads else sum(lines)
    assert counter.totals() == {"busiest_warp_loads": most}
    assert tuple(row["busiest_warp_loads"] for row in counter.by_line("test.cu").values()) == lines


@pytest.mark.parametrize(("work", "shares"), [
    ("y[i] = i;", True),
    ("if (i < 128) for (int k = 0; k < 9; ++k) y[i] += k;", True),
    ("if (threadIdx.x / 32 == 1) for (int k = 0; k < 99; ++k) y[i] += k;", False),  # one warp of each block
    ("if (i == 0) for (int k = 0; k < 99; ++k) y[k] = k;", False),
])  # fmt: skip
def test_a_warp_that_works_for_the_others_has_many_more_instructions(work, shares):
    text = f"""extern "C" __global__ void f(volatile int *y) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {work}
    }}"""
    busiest, every = BusiestWarpInstructions(), Instructions()
    launched(text, grid=8, block=128, observers=[busiest, every], y=zeros(1024))
    most, average = busiest.totals()["busiest_warp_instructions"], every.totals()["warp_instructions"] / 32
    assert sum(row["busiest_warp_instructions"] for row in busiest.by_line("test.cu").values()) >= most
    assert (average <= most < 8 * average) if shares else most > 3 * average
