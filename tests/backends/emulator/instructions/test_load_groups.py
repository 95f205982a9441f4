"""Loads of shared memory that are executed together: which ones, and that nothing else changes."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from engine.backends.emulator.launch import execute
from engine.backends.emulator.ptx.load_groups import grouped_loads
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import link
from engine.backends.emulator.state.machine import Options
from engine.records import Run
from tests.benchmark.benchmark_emulator import planned
from tests.benchmark.few_lanes import FEW_LANES, StudentKernel
from tests.benchmark.student_kernels import STUDENT_KERNELS

pytestmark = pytest.mark.sampled(quick=2)

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 p)
{
.reg .f32 %f<16>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;
.shared .align 4 .b8 s[256];
"""
FIRST, SECOND = "ld.shared.f32 %f1, [%r1]", "ld.shared.f32 %f2, [%r1+4]"
# What stands between two loads: whether they are executed together.
BETWEEN = {
    "nothing": ("", True),
    "arithmetic on the first": ("add.f32 %f3, %f1, %f1", True),
    "arithmetic with an old value of the second": ("add.f32 %f3, %f2, %f2", False),
    "a write to the second": ("mov.f32 %f2, %f3", False),
    "a new address": ("add.u32 %r1, %r1, 4", False),
    "a load of global memory": ("ld.global.f32 %f3, [%rd1]", True),
    "a volatile load": ("ld.volatile.shared.f32 %f3, [%r2]", False),
    "a load of another base": ("ld.shared.f32 %f3, [%r2]", True),
    "a store": ("st.shared.f32 [%r2], %f3", False),
    "a store to global memory": ("st.global.f32 [%rd1], %f3", False),
    "an atomic": ("atom.shared.add.u32 %r3, [%r2], 1", False),
    "a fence": ("membar.cta", False),
    "a shuffle": ("shfl.sync.idx.b32 %r3, %r4, 0, 31, -1", False),
}


@pytest.mark.parametrize("what", BETWEEN)
def test_which_loads_are_executed_together(what: str) -> None:
    between, together = BETWEEN[what]
    program = link(parse(HEAD + ";\n".join(filter(None, (FIRST, between, SECOND))) + ";\nret;\n}", "probe.cu"), "f")
    groups = [items for block in program.blocks for items in grouped_loads(program, block.body)]
    sizes = {len(items) for items in groups if items[0].opcode == "ld.shared.f32"}
    assert (2 in sizes) == together
    assert sorted(item.place for items in groups for item in items) == sorted(
        item.place for block in program.blocks for item in block.body
    )


def _small(kernel: StudentKernel) -> StudentKernel:
    """Return a kernel with as many blocks as may be executed together."""
    threads = int(np.prod(kernel.block))
    return replace(kernel, grid=(min(kernel.grid[0], max(1, 2048 // threads)), 1, 1))


@pytest.mark.sampled(quick=6, thorough=12)
@pytest.mark.parametrize("kernel", (*FEW_LANES, *STUDENT_KERNELS), ids=lambda kernel: kernel.name)
def test_groups_change_no_answer_count_or_finding(kernel: StudentKernel) -> None:
    plan, inputs = planned(_small(kernel))

    def facts(run: Run) -> tuple[object, ...]:
        return run.output.tobytes(), asdict(run.counts), run.findings

    together, apart = (facts(execute(plan, inputs, options=Options(groups=each))) for each in (True, False))
    assert together == apart
