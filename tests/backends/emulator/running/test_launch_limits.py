"""Launches that no GPU accepts are refused in one sentence, and the largest that it accepts are not."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import NotRunnable, RunFailed
from tests.backends.emulator.small_kernels import execute, zeros
from tests.sentences import refused

COUNT = 'extern "C" __global__ void f(int *out) { if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = gridDim.x; }'
MEET = """#include <cooperative_groups.h>
extern "C" __global__ void f(int *out) {
    __shared__ volatile int s[SHARED]; s[threadIdx.x] = 0;
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = gridDim.x + s[threadIdx.x];
}"""


@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        ({"block": (1025, 1, 1)}, "launch.block-x"),
        ({"block": (32, 33, 1)}, "launch.block-threads"),
        ({"block": (1, 1, 65)}, "launch.block-z"),
        ({"grid": (2**31, 1, 1)}, "launch.grid-x"),
        ({"grid": (1, 65_536, 1)}, "launch.grid-y"),
        ({"grid": (1, 1, 65_536)}, "launch.grid-z"),
        ({"grid": (0, 1, 1)}, "launch.grid-0"),
    ],
)
def test_a_launch_beyond_the_limits_is_refused(sizes: dict[str, Any], key: str) -> None:
    with refused(key, NotRunnable):
        execute(COUNT, **sizes, out=zeros(1))


@pytest.mark.parametrize("sizes", [{"block": (32, 32, 1)}, {"block": (1, 16, 64)}, {"grid": (1, 65_535, 1)}])
def test_the_largest_launches_run(sizes: dict[str, Any]) -> None:
    assert execute(COUNT, **sizes, out=zeros(1))["out"][0] == 1


@pytest.mark.parametrize(("block", "shared", "fits"), [(256, 256, 8 * 132), (256, 12_000, 4 * 132)])
def test_a_cooperative_grid_must_fit_on_the_gpu(block: int, shared: int, fits: int) -> None:
    sizes: dict[str, Any] = {"block": block, "defines": (("SHARED", shared),), "cooperative": True}
    assert execute(MEET, grid=fits, **sizes, out=zeros(1))["out"][0] == fits
    with pytest.raises(NotRunnable, match=rf"{fits:,}\b.*\b{block}\b.*{fits + 1:,}\b"):
        execute(MEET, grid=fits + 1, **sizes, out=zeros(1))


BOUND = COUNT.replace("void f", "void __launch_bounds__(64, 2) f")


def test_a_block_beyond_the_launch_bounds_is_refused() -> None:
    for block in (64, (8, 4, 2)):
        assert execute(BOUND, block=block, out=zeros(1))["out"][0] == 1
    with refused("launch.bounds", NotRunnable):
        execute(BOUND, block=(8, 9, 1), out=zeros(1))


def test_more_constant_memory_than_a_gpu_has_is_refused() -> None:
    text = "__constant__ int a[SIZE]; __constant__ int b[2];" + COUNT.replace("gridDim.x", "a[out[0]] + b[1]")
    assert execute(text, defines=(("SIZE", 16_382),), out=zeros(1))["out"][0] == 0
    with refused("launch.constant-memory", RunFailed):
        execute(text, defines=(("SIZE", 16_383),), out=zeros(1))
