"""Member masks of warp-wide functions: a calling lane must name itself."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Finding
from tests.backends.emulator.small_kernels import execute

HEAD = 'extern "C" __global__ void f(const int *in, int *out) {\n int t = threadIdx.x, v = in[t];\n'
LACKING = {
    "a shuffle": ("v += __shfl_down_sync(0x0000fffe, v, 1);", "thread 0 of block 0 executes a shuffle"),
    "a vote": ("if (t >= 40) v = __ballot_sync(0xfffffe00, v > 3);", "thread 40 of block 0 executes a vote"),
    "a wait": ("__syncwarp(0xff);", "thread 8 of block 0 executes __syncwarp"),
    "a mask from data": ("v = __any_sync(1u << (in[t] & 31), v);", "thread 1 of block 0 executes a vote"),
}
NAMED = (
    "v += __shfl_down_sync(0xffffffff, v, 16);",
    "if (t % 2) v = __ballot_sync(0xaaaaaaaa, v > 3);",
    "unsigned all = __ballot_sync(-1, v % 3); if (v % 3) v += __shfl_sync(all, v, __ffs(all) - 1);",
    "v = __reduce_add_sync(__match_any_sync(-1, t / 4), v);",
    "v = __reduce_add_sync(__activemask(), v); __syncwarp(1u << (t & 31));",
)


def found(body: str, schedule: Schedule) -> tuple[Finding, ...]:
    """The findings in two blocks of two warps; `in` holds even numbers from 0 on."""
    hazards = Hazards()
    arrays = {"in": 2 * np.arange(128, dtype=np.int32), "out": np.zeros(128, np.int32)}
    execute(HEAD + body + "\n out[t + 64 * blockIdx.x] = v;\n}", grid=2, block=64, observers=[hazards],
            schedule=schedule, **arrays)  # fmt: skip
    return hazards.findings()


@pytest.mark.parametrize("name", sorted(LACKING))
def test_a_mask_that_lacks_its_caller_is_found(name: str) -> None:
    body, said = LACKING[name]
    findings = [one for one in found(body, LOCKSTEP) if "does not name itself" in one.message]
    assert [(one.kind, one.line) for one in findings] == [("divergent-barrier", 3)]
    assert said in findings[0].message


@pytest.mark.parametrize("schedule", [LOCKSTEP, Schedule("independent", seed=1)], ids=lambda one: one.kind)
@pytest.mark.parametrize("body", NAMED)
def test_a_mask_that_names_its_caller_is_not_accused(body: str, schedule: Schedule) -> None:
    assert found(body, schedule) == ()
