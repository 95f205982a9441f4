"""Groups of several warps meet in shared memory that the GPU keeps for itself."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.records import RunFailed

pytestmark = pytest.mark.sampled(quick=2)

BLOCK = 512
TEXT = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <int SIZE> __global__ void k(const int *in, int *out) {
    __shared__ cg::block_tile_memory<512> scratch;
    __shared__ int own[512];
    auto cta = cg::this_thread_block(scratch);
    auto tile = cg::tiled_partition<SIZE>(cta);
    int t = cta.thread_rank();
    own[t] = in[blockIdx.x * 512 + t];
    tile.sync();
    int v = own[t ^ (SIZE - 1)];
    for (int i = 0; i < 3; i++) v = cg::reduce(tile, v, cg::plus<int>()) % 1000 + tile.thread_rank();
    out[blockIdx.x * 512 + t] = v + 10 * tile.any(v > 500) + tile.shfl(v, 5);
}
"""


def expected(numbers: np.ndarray, size: int) -> np.ndarray:
    values = numbers.reshape(-1, size)[:, ::-1].astype(int)
    for _ in range(3):
        values = values.sum(1, keepdims=True) % 1000 + np.arange(size)
    return (values + 10 * (values > 500).any(1, keepdims=True) + values[:, 5:6]).ravel()


@pytest.mark.sampled(quick=2, thorough=2)
@pytest.mark.parametrize("schedule", [None, "independent:2", "waves:1"])
@pytest.mark.parametrize("size", [64, 512])
def test_a_group_of_several_warps_sums_votes_and_waits(size: int, schedule: str | None) -> None:
    numbers = np.random.default_rng(1).integers(0, 1000, 2 * BLOCK).astype(np.int32)
    run = engine.kernel(TEXT, f"k<{size}>").run(2, BLOCK, (numbers, np.zeros_like(numbers)), schedule=schedule)
    assert run.arrays["out"].tolist() == expected(numbers, size).tolist() and run.ok


def test_without_its_wait_the_group_s_own_array_races() -> None:
    text = TEXT.replace("    tile.sync();\n", "")
    run = engine.kernel(text, "k<64>").run(1, BLOCK, (np.zeros(BLOCK, np.int32), np.zeros(BLOCK, np.int32)))
    assert {found.kind for found in run.findings} & {"shared-race", "uninitialised-shared"}
    assert all("own" in found.message for found in run.findings)


def test_an_access_beyond_the_last_array_does_not_fall_into_the_gpu_s_memory() -> None:
    text = TEXT.replace("own[t ^ (SIZE - 1)]", "own[t + 1]")
    with pytest.raises(RunFailed, match="reads element 512 of the shared array `own`, which has 512 elements"):
        engine.kernel(text, "k<64>").run(1, BLOCK, (np.zeros(BLOCK, np.int32), np.zeros(BLOCK, np.int32)))
