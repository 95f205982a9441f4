"""Threads that wait for each other by flags: in order where a fence stands before the flag, a race where none does."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute

SCHEDULES = (LOCKSTEP, Schedule("independent", seed=1), Schedule("independent", seed=2))
FLAG = """extern "C" __global__ void f(const int *in, int *out) {
    __shared__ int value; __shared__ volatile int ready;
    int t = threadIdx.x, i = t + blockIdx.x * blockDim.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t == 32) {
        value = in[i];
        __threadfence_block();
        ready = 1;
    }
    if (t < 32) {
        while (ready == 0);
        __threadfence_block();
        out[i] = value;
    }
}"""
GRID_BARRIER = """__device__ unsigned came; __device__ volatile unsigned all_came;
extern "C" __global__ void f(const int *in, int *out, volatile int *all) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    all[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&came, 1) == gridDim.x - 1) all_came = 1;
        while (all_came == 0);
        __threadfence();
    }
    __syncthreads();
    out[i] = all[(i + 65) % (gridDim.x * blockDim.x)];
}"""
TAIL = """extern "C" __global__ void f(const int *in, int *out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    __threadfence_block();
    if (t < 16) {
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        out[t] = s[t];
    }
}"""

LAST_BLOCK = """extern "C" __global__ void f(const int *in, int *out, int *sums) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = in[blockIdx.x];
        last = atomicAdd(out, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0)
        for (int block = 0; block < gridDim.x; block++) out[1] += sums[block];
}"""


def found(text: str, grid: int, schedule: Schedule, **more: np.ndarray) -> tuple[list[tuple[str, int]], np.ndarray]:
    """(kinds and lines of the findings, what was written)."""
    hazards, count = Hazards(), 64 * grid
    arrays = {"in": np.arange(count, dtype=np.int32), "out": np.zeros(count, np.int32), **more}
    made = execute(text, grid=grid, block=64, observers=[hazards], schedule=schedule, **arrays)["out"]
    return [(finding.kind, finding.line) for finding in hazards.findings()], made


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_a_volatile_flag_behind_a_fence_is_an_order(schedule: Schedule) -> None:
    kinds, made = found(FLAG, 3, schedule)
    assert kinds == [] and made[:32].tolist() == [32] * 32


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_a_flag_without_its_fence_is_a_race(schedule: Schedule) -> None:
    kinds, _ = found(FLAG.replace("__threadfence_block();", "", 1), 3, schedule)
    assert ("shared-race", 14) in kinds


def test_a_fence_does_not_make_the_sums_of_a_warp_flags() -> None:
    kinds, _ = found(TAIL, 1, LOCKSTEP)
    assert ("warp-race", 9) in kinds


@pytest.mark.parametrize("grid", [2, 16, 132 * 32])
def test_a_grid_barrier_by_hand_ends_where_all_blocks_are_there(grid: int) -> None:
    kinds, made = found(GRID_BARRIER, grid, LOCKSTEP, all=np.zeros(64 * grid, np.int32))
    assert kinds == [] and made.tolist() == np.roll(np.arange(64 * grid), -65).tolist()


def test_the_last_block_is_told_of_the_fence_that_it_lacks() -> None:
    hazards = Hazards()
    arrays = {"in": np.arange(64, dtype=np.int32), "out": np.zeros(2, np.int32), "sums": np.zeros(4, np.int32)}
    execute(LAST_BLOCK, grid=4, block=64, observers=[hazards], **arrays)
    (finding,) = hazards.findings()
    assert (finding.kind, finding.line, finding.other_line) == ("global-race", 9, 4)
    assert finding.message.endswith("put a __threadfence() behind line 4, before it.")
    kinds, _ = found(LAST_BLOCK.replace("last =", "__threadfence(); last ="), 4, LOCKSTEP, sums=np.zeros(4, np.int32))
    assert kinds == []
