"""The observer of costs, on kernels whose costs one can count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.launch import Device, launch_with
from engine.backends.emulator.watching import results
from engine.lab.arguments import convert_arguments, place_arguments
from engine.lab.kernels import kernel
from engine.model.costs import LaunchCosts
from engine.model.observer import CostObserver
from engine.records import Launch

COPY = """
extern "C" __global__ void copy(const float *in, float *out, int stride)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    out[i] = in[i];
}
"""
TWICE = """
extern "C" __global__ void twice(const float *in, float *out)
{
    const volatile float *again = in;
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += in[threadIdx.x + 0 * k] * (k + 1);
    out[threadIdx.x] = sum + again[threadIdx.x];
}
"""
CHAIN = """
extern "C" __global__ void chain(const int *next, int *out, int n)
{
    int at = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < n; ++i) at = next[at];
    out[threadIdx.x] = at;
}
"""
BARRIERS = """
extern "C" __global__ void barriers(int *out, int n)
{
    __shared__ int s[256];
    s[threadIdx.x] = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        __syncthreads();
        int v = s[threadIdx.x ^ 1];
        __syncthreads();
        s[threadIdx.x] = v;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
"""
ATOMICS = """
extern "C" __global__ void atomics(unsigned *at, float *sum)
{
    atomicAdd(at + threadIdx.x % 2, threadIdx.x);
    atomicAdd(sum, 1.0f + threadIdx.x);
}
"""
WAITS = """
extern "C" __global__ void waits(volatile int *flag, int *out)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) { __threadfence(); *flag = 1; }
    while (*flag == 0) {}
    out[blockIdx.x] = 1;
}
"""


def costs(text: str, grid: int, block: int, *args: object) -> LaunchCosts:
    own = kernel(text)
    handed = convert_arguments(own.name, own.parameters, args, [each.name for each in own.parameters], lambda _: ())
    step = Launch(own.symbol, own.source, (grid, 1, 1), (block, 1, 1), ())
    there, watching, usual = Device(), CostObserver(), results.all_counters()
    bytes_of, _ = place_arguments(there, handed)
    launch_with(there, step, bytes_of, (watching, *usual))
    (found,) = watching.costs()
    for name, value in results.details(usual).items():
        assert found.memory.get(name, value) == value, name
    return found


def floats(count: int) -> np.ndarray:
    return np.ones(count, np.float32)


@pytest.mark.parametrize(("stride", "sectors", "lines"), [(1, 4, 1), (8, 32, 8), (32, 32, 32)])
def test_lines_and_sectors_of_strided_requests(stride: int, sectors: int, lines: int) -> None:
    found = costs(COPY, 4, 64, floats(256 * stride), floats(256 * stride), stride)
    assert found.memory["global_load_requests"] == 8
    assert found.memory["global_load_sectors"] == found.memory["l2_load_sectors"] == 8 * sectors
    assert found.memory["new_load_sectors"] == 8 * sectors
    assert found.memory["load_lines"] == found.memory["store_lines"] == 8 * lines
    assert found.memory["load_bytes"] == found.memory["store_bytes"] == 8 * 128
    assert (found.path["dram_load"], found.path["load_lines"]) == (1, lines)


def test_a_sector_is_read_from_dram_once_and_then_from_the_cache() -> None:
    found = costs(COPY, 2, 32, floats(64), floats(64), 0)
    assert found.memory["new_load_sectors"] == 1 and found.memory["l2_load_sectors"] == 2
    again = costs(TWICE, 1, 32, floats(32), floats(32))
    assert again.memory["global_load_sectors"] == 8 and again.memory["new_load_sectors"] == 4
    assert again.memory["l2_load_sectors"] == 8  # the volatile load passes the L1 cache


@pytest.mark.parametrize("steps", [3, 40])
def test_the_path_of_a_chain_has_a_load_for_each_step(steps: int) -> None:
    found = costs(CHAIN, 1, 32, np.roll(np.arange(32, dtype=np.int32), -1), np.zeros(32, np.int32), steps)
    loads = sum(found.path.get(name, 0) for name in ("dram_load", "far_load", "near_load"))
    assert loads == pytest.approx(steps) and found.path["near_load"] == pytest.approx(steps - 1, abs=0.2)
    assert found.in_flight == 4 and not found.spins


def test_the_path_has_every_barrier() -> None:
    found = costs(BARRIERS, 2, 256, np.zeros(256, np.int32), 5)
    assert found.path["barrier"] == 10 and found.memory["barriers"] == 2 * 8 * 10


def test_the_address_and_the_region_with_most_atomics() -> None:
    found = costs(ATOMICS, 3, 64, np.zeros(2, np.uint32), np.zeros(1, np.float32))
    # A warp's 32 integers take 16 turns at two words of one sector, its floats 32 at one word.
    assert found.memory["float_atomics"] == found.memory["most_in_one_region"] == 6 * 32
    assert found.memory["atomic_operations"] == 6 * (16 + 32)


def test_a_loop_that_waits_for_other_threads_is_known() -> None:
    assert costs(WAITS, 2, 32, np.zeros(1, np.int32), np.zeros(2, np.int32)).spins
