"""Blocks that wait for a flag are ordered behind it; a block between them that does not wait is found."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.backends.emulator.state.schedule import Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute, zeros

READERS = """__global__ void k(int *data, volatile int *flag, int *out) {
    int b = blockIdx.x, t = threadIdx.x;
    if (b == 3) {
        WRITE
        __syncthreads();
        __threadfence();
        if (t == 0) flag[0] = 1;
    } else if (b != ABSENT) {
        while (!flag[0]);
        __threadfence();
    }
    out[b * 64 + t] = data[PLACE];
}"""
FORMS = {"one word": ("if (t == 0) data[0] = 5;", "0"), "one word per thread": ("data[t] = 5;", "63 - t")}

SEQUENCE = """__device__ volatile unsigned seq; __device__ volatile int d[2];
extern "C" __global__ void f(int *out) {
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32) return;
    if (blockIdx.x == 0 && warp == 0) for (int i = 0; i < 4; i++) {
        OPEN
        d[0] = i; d[1] = -i;
        CLOSE
    }
    if (blockIdx.x) {
        unsigned s; int a, b;
        do { s = seq; FENCE READ __threadfence(); } while ((s & 1) || s != seq);
        out[2 * blockIdx.x + warp] = a + b;
    }
}"""
STORES = ("seq = 2 * i + 1; __threadfence();", "__threadfence(); seq = 2 * i + 2;")
ATOMICS = (
    "atomicAdd((unsigned *)&seq, 1u); __threadfence();",
    "__threadfence(); atomicAdd((unsigned *)&seq, 1u);",
)
IN_ORDER, BACKWARDS = "a = d[0]; b = d[1];", "b = d[1]; a = d[0];"


@pytest.mark.parametrize("schedule", [None, "independent:1", "independent:2"])
@pytest.mark.parametrize("absent", [0, 1, 2, None])
@pytest.mark.parametrize("form", FORMS)
def test_a_block_that_does_not_wait_races_with_the_writer(form: str, absent: int | None, schedule: str | None) -> None:
    write, place = FORMS[form]
    text = READERS.replace("WRITE", write).replace("PLACE", place)
    text = text.replace("ABSENT", "9" if absent is None else str(absent))
    arrays = np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(256, np.int32)
    run = engine.kernel(text).run(4, 64, arrays, schedule=schedule)
    assert {one.kind for one in run.findings} == (set() if absent is None else {"global-race"})


def of_a_sequence(writer: tuple[str, str], read: str, fence: str, seed: int) -> set[str]:
    """The kinds of findings of three blocks with a sequence lock."""
    text = SEQUENCE.replace("OPEN", writer[0]).replace("CLOSE", writer[1]).replace("READ", read).replace("FENCE", fence)
    hazards = Hazards()
    execute(text, 3, 64, observers=[hazards], schedule=Schedule("independent", seed=seed), out=zeros(6))
    return {finding.kind for finding in hazards.findings()}


@pytest.mark.parametrize("writer", [STORES, ATOMICS], ids=["stores", "atomics"])
@pytest.mark.parametrize("read", [IN_ORDER, BACKWARDS], ids=["in_order", "backwards"])
def test_a_reader_of_a_sequence_lock_may_read_torn_numbers_that_it_drops(writer: tuple[str, str], read: str) -> None:
    assert [of_a_sequence(writer, read, "__threadfence();", seed) for seed in range(4)] == [set()] * 4


def test_a_reader_of_a_sequence_lock_needs_a_fence_behind_the_sequence() -> None:
    assert {"global-race"} in [of_a_sequence(STORES, IN_ORDER, "", seed) for seed in range(4)]


LAST = """__device__ int came, part[8];
extern "C" __global__ void f(int *out) {
    __shared__ bool last;
    int t = threadIdx.x;
    if (t == 0) {
        part[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(&came, 1) == 7;
    }
    BARRIER
    if (last && t == 32) {
        out[0] = part[0] + part[7];
        came = 0;
    }
}"""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_barrier_tells_all_of_a_block_what_one_has_read(seed: int) -> None:
    """Another warp of the last block may clear the counter."""
    found = []
    for barrier in ("__syncthreads();", "if (t < 32) __syncwarp();"):
        hazards, schedule = Hazards(), Schedule("independent", seed=seed)
        text = LAST.replace("BARRIER", barrier)
        execute(text, 8, 64, observers=[hazards], schedule=schedule, out=zeros(1))
        found.append({finding.kind for finding in hazards.findings()})
    assert not found[0] and found[1]
