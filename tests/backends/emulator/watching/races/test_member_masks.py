"""Member masks of warp-wide functions: a lane names itself, and lanes that give the same mask or have ended."""

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
    "v += __shfl_xor_sync(0xffffu << (t & 16), v, 1); v += __shfl_xor_sync(blockIdx.x ? ~0u : 3u << (t & 30), v, 1);",
    "if (t % 32 < 24) { v += __shfl_xor_sync(0xffu << (t & 24), v, 1); __syncwarp(0xffu << (t & 24)); }",
)
UNEQUAL = {
    "a vote": "v = __ballot_sync(t % 32 < 16 ? -1 : 0xffff0000u, v > 3);",
    "a shuffle": "v = __shfl_sync(t % 2 ? -1 : 0x55555555u, v, t & 31);",
    "a wait": "__syncwarp(t % 32 == 7 ? 1u << 7 : -1);",
    "a sum of a part": "if (t >= 40) v = __reduce_add_sync(t < 50 ? 0xffffff00u : 0xfffc0000u, v);",
    "one block only": "v = __any_sync(blockIdx.x && t % 32 == 31 ? 1u << 31 : ~0u, v > 3);",
}


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


@pytest.mark.parametrize("name", UNEQUAL)
def test_lanes_that_name_each_other_give_the_same_mask(name: str) -> None:
    findings = [one for one in found(UNEQUAL[name], LOCKSTEP) if one.kind == "divergent-barrier"]
    assert [one.line for one in findings] == [3]
    assert "which gives another mask" in findings[0].message
    if name == "one block only":
        assert " of block 1 executes" in findings[0].message


ENDED = {
    "a vote": "if (t >= 40) return; v = __ballot_sync(-1, v > 3);",
    "a wait": """__shared__ int s[64]; if (t % 32 >= 20) return; s[t] = v; __syncwarp();
 if (t % 32 < 19) v = s[t + 1];""",
    "a shuffle from a living lane": "__shared__ int s[64]; s[t] = 1; if (t == 63) return; v = __shfl_sync(-1, v, 0);",
    "a match and a sum": "if (v > 70) return; v = __popc(__match_any_sync(-1, v / 4)) + __reduce_add_sync(-1, 1u);",
    "lanes end one after the other": "for (int k = 0; k < 9; k++) { if (t == k) return; v += __any_sync(-1, v > k); }",
    "lanes that store before they end": "if (t == 9) { out[t] = 5; return; } v = __ballot_sync(-1, v > 3); v *= 2;",
    "at the end of the kernel": "if (t < 40) { v = __ballot_sync(-1, v > 3); out[t + 64 * blockIdx.x] = v; } return;",
}
ABSENT = {
    "they go on": "if (t % 32 < 16) v = __ballot_sync(-1, v > 3);",
    "they go on behind a loop": "for (int k = 0; k <= t % 4; k++) v += __any_sync(-1, v > k);",
    "they go on, and others have ended": "if (t % 32 > 20) return; if (t % 32 < 16) v = __ballot_sync(-1, v > 3);",
    "they go on and store nothing": "if (t % 32 < 16) v += __shfl_down_sync(-1, v, 8);\n if (t % 32) return;",
    "they wait elsewhere": "if (t % 32 < 16) v = __ballot_sync(-1, v > 3); else v = __any_sync(-1, v > 3);",
    "they wait for the block": "if (t % 32 < 16) v = __ballot_sync(-1, v > 3);\n __syncthreads();",
}


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ENDED)
def test_lanes_that_have_ended_may_be_named(name: str, seed: int) -> None:
    assert found(ENDED[name], Schedule("independent", seed=seed) if seed else LOCKSTEP) == ()


@pytest.mark.parametrize("name", ABSENT)
def test_lanes_that_live_and_never_arrive_must_not_be_named(name: str) -> None:
    findings = [one.message for one in found(ABSENT[name], LOCKSTEP) if one.kind == "divergent-barrier"]
    assert any("names lanes" in one and "never reach" in one for one in findings)


def test_a_block_that_waits_for_another_one_does_not_keep_its_lanes_from_going_on() -> None:
    body = """__shared__ int s[64]; if (blockIdx.x == 1) { while (!((volatile int *)out)[0]); return; }
 if (t % 32 == 31) return; s[t] = v; __syncwarp();
 if (t == 0) ((volatile int *)out)[0] = 1;
 if (t >= 0) return;"""
    assert found(body, LOCKSTEP) == ()
