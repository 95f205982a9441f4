"""Shuffles that read lanes which are not there, and trees that do so without harm."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Finding
from tests.backends.emulator.small_kernels import execute

HEAD = 'extern "C" __global__ void f(const int *in, int *out) {\n int t = threadIdx.x, v = in[t];\n'
SCHEDULES = [LOCKSTEP, Schedule("independent", seed=1)]
UNDEFINED = {
    "of the other half": ("if (t % 32 < 16) v = __shfl_xor_sync(0xffff, v, 16);", "here from lane 16"),
    "of a lane that has ended": ("if (t == 63) return; v = __shfl_sync(0xffffffff, v, 31);", "thread 32 of block "),
    "of lanes elsewhere": ("if (t < 8) v += __shfl_down_sync(0xff, v, 16);", "here from lane 16"),
    "of one block only": (
        "if (t < 8 + 24 * blockIdx.x) v += __shfl_down_sync(blockIdx.x ? -1u : 0xffu, v, 16);", "thread 0 of block 0",
    ),
}  # fmt: skip
DEFINED = (
    "v += __shfl_down_sync(0xffffffff, v, 16);",
    "if (t < 8) for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d); if (t) return;",
    "if (t < 20) { for (int d = 16; d; d /= 2) { int w = __shfl_down_sync(0xfffff, v, d); if (t + d < 20) v += w; } }",
    "if (t < 8) for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d, 8);",
    "if (t % 32 < 20) v = __shfl_up_sync(0xfffff, v, 1);",
    "if (t % 2) v = __shfl_sync(0xaaaaaaaa, v, 5);",
    "if (t == 3) v = __shfl_sync(8, v, 3);",
    "v = __shfl_xor_sync(0xffffffff, v, 4, 8);",
    """if (t < 8) for (int d = 4, at = t; d; d /= 2) {
 int w = __shfl_down_sync(0xff, v, d), b = __shfl_down_sync(0xff, at, d);
 if (w > v) { v = w; at = b; } if (d == 1 && t == 0) out[at & 7] = 1; } v = 0; if (t) return;""",
    """if (t < 20) { int w = __shfl_down_sync(0xfffff, v, 1);
 if (t == 19 || w != v) out[t + 64 * blockIdx.x] = 1; } return;""",
    "if (t < 20) { int w = __shfl_down_sync(0xfffff, v, 1); v = t < 19 ? in[w & 31] : 0; }",
    "if (t < 20) { int w = __shfl_down_sync(0xfffff, v, 1); v = __any_sync(0xfffff, t < 19 && w > v); }",
    "if (t < 20) { int w = __shfl_down_sync(0xfffff, v, 1); if (t < 19 && w > v) v = w; }",
)


def found(body: str, schedule: Schedule) -> tuple[Finding, ...]:
    """The findings in two blocks of two warps."""
    hazards = Hazards()
    arrays = {"in": np.arange(128, dtype=np.int32), "out": np.zeros(128, np.int32)}
    execute(HEAD + body + "\n out[t + 64 * blockIdx.x] = v;\n}", grid=2, block=64, observers=[hazards],
            schedule=schedule, **arrays)  # fmt: skip
    return hazards.findings()


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.kind)
@pytest.mark.parametrize("name", sorted(UNDEFINED))
def test_a_value_of_nobody_is_found(name: str, schedule: Schedule) -> None:
    body, said = UNDEFINED[name]
    (finding,) = [one for one in found(body, schedule) if one.kind == "warp-race"]  # its mask may be a finding, too
    assert finding.line == 3 and said in finding.message


STORED = {
    "a tree that is too high": "if (t < 20) for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xfffff, v, d);",
    "a tree whose every lane stores": "if (t < 8) for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d);",
    "a neighbour beyond the last": "if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1); v = w * 3 + 1; }",
    "by an atomic": "if (t < 5) { v = __shfl_down_sync(0x1f, v, 1); atomicAdd(out, v); } v = 0;",
    "in shared memory": "__shared__ int s[5]; if (t < 5) { s[t] = v + __shfl_down_sync(0x1f, v, 1); v = s[0]; }",
    "of one block only": "if (t < 8 + 24 * blockIdx.x) v += __shfl_down_sync(blockIdx.x ? ~0u : 0xffu, v, 1);",
    "a branch around a store": "if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1); if (w != v) out[0] = 1; } v = 0;",
    "a loop of atomics": """if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1) & 3;
 for (int k = 0; k < w; k++) atomicAdd(out, 1); } v = 0;""",
    "the place of a load": "if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1); v = in[w & 31]; }",
    "the place of a store": "if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1); out[w & 31] = 1; } v = 0;",
    "a vote": "if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1); v = __any_sync(0x1f, w > 7); }",
    "a choice": "if (t < 5) { int w = __shfl_down_sync(0x1f, v, 1); v = w > 7 ? 3 : 2; }",
}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.kind)
@pytest.mark.parametrize("name", sorted(STORED))
def test_what_was_made_of_a_value_of_nobody_must_not_be_stored(name: str, schedule: Schedule) -> None:
    (finding,) = [one for one in found(STORED[name], schedule) if one.kind == "warp-race"]
    assert finding.other_line == 3 and finding.line in (3, 4)


def test_the_lane_that_was_missed_and_the_one_that_stores_are_named() -> None:
    only_the_first = STORED["a tree that is too high"] + " if (t) return;"
    (finding,) = found(only_the_first, LOCKSTEP)
    assert (finding.line, finding.other_line) == (4, 3)
    assert "thread 0 of block 0 stores" in finding.message and "read lane " in finding.message


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.kind)
@pytest.mark.parametrize("body", DEFINED)
def test_what_a_tree_reads_beyond_its_lanes_is_no_finding(body: str, schedule: Schedule) -> None:
    assert found(body, schedule) == ()
