"""Any kernel on the GPU: the same call, the same arrays as on the emulator, and an honest time."""

from __future__ import annotations

import re

import numpy as np
import pytest

import engine
from engine.records import NotRunnable, RunFailed
from tests.backends.emulator.instructions.test_contraction import APART, DEEPER, FUSED, TYPES, N, text_of
from tests.backends.emulator.instructions.test_contraction import arguments as rounded_arguments
from tests.backends.emulator.test_multi_warp_groups import BLOCK, expected
from tests.backends.emulator.test_multi_warp_groups import TEXT as GROUPS
from tests.sentences import refused

pytestmark = pytest.mark.gpu

TEXT = """__constant__ float weights[4];
__device__ int launches;
struct Pair { float x; int n; };
__global__ void weigh(Pair by, const float *in, float *out, int n) {
    extern __shared__ float held[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    held[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n) out[i] = by.x * weights[i % 4] * held[threadIdx.x ^ 1] + by.n;
    if (i == 0) atomicAdd(&launches, 1);
}
"""
PAIR = np.dtype([("x", "f4"), ("n", "i4")])


def arguments(n: int = 1024):
    return np.array((2.0, 3), PAIR)[()], np.arange(n, dtype="f4"), np.zeros(n, "f4"), n


def test_the_gpu_and_the_emulator_agree():
    kernel = engine.kernel(TEXT)
    more = {"shared": 1024, "symbols": {"weights": np.arange(4, dtype="f4")}}
    here, there = (kernel.run(4, 256, arguments(), device=device, **more) for device in ("gpu", "emulator"))
    assert np.array_equal(here.arrays["out"], there.arrays["out"]) and here.arrays["out"].any()
    assert np.array_equal(here.symbols["weights"], there.symbols["weights"])
    assert here.symbols["launches"].view("i4").tolist() == [1] and here.counters == {} and here.ok


def test_cupy_arrays_come_back_as_cupy_arrays():
    import cupy

    pair, x, y, n = arguments()
    for device in ("gpu", "emulator"):
        run = engine.kernel(TEXT).run(4, 256, (pair, cupy.asarray(x), y, n), shared=1024, device=device)
        assert isinstance(run.arrays["in"], cupy.ndarray) and isinstance(run.arrays["out"], np.ndarray)
        assert np.array_equal(run.arrays["in"].get(), x)


@pytest.mark.parametrize("cache", ["cold-clean", "cold-dirty", "hot"])
def test_a_launch_is_timed_as_the_catalogue_s_kernels_are(cache):
    timing = engine.kernel(TEXT).time(4096, 256, arguments(1 << 20), shared=1024, cache=cache)
    assert len(timing.times_us) >= 15 and 0 < timing.low_us <= timing.time_us <= timing.high_us
    assert timing.clock == "event" and timing.floor_us is not None and timing.peers == {}


def test_a_block_beyond_the_launch_bounds_is_not_blamed_on_registers():
    text = "__global__ void __launch_bounds__(64) f(int *out) { out[threadIdx.x] = 1; }"
    with refused("launch.bounds", NotRunnable):
        engine.kernel(text).run(1, 72, (np.zeros(72, "i4"),), device="gpu")


def test_a_write_just_past_the_end_is_noticed():
    text = "__global__ void k(int *a, int n) { a[n] = 1; }"
    with pytest.raises(RunFailed, match=r"\bk wrote .*\bend of `a`"):
        engine.kernel(text).run(1, 1, (np.zeros(5, "i4"), 5), device="gpu")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("body", [*FUSED, *APART, *DEEPER])
def test_products_and_sums_round_as_on_the_emulator(body: str, kind: str) -> None:
    if kind == "half2" and re.search(r"if \(|__shared__|for \(.*- d \* a", body):
        pytest.skip("pairs have no comparison, and in the loop the assembler joins the other one of two products")
    own = engine.kernel(text_of(body, kind))
    here, there = (own.run(N // 256, 256, rounded_arguments(kind), device=device) for device in ("gpu", "emulator"))
    for name in ("o", "p"):
        assert here.arrays[name].tobytes() == there.arrays[name].tobytes()


@pytest.mark.parametrize("size", [64, 128, 256, 512])
def test_a_group_of_several_warps_sums_votes_and_waits(size: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 1000, 2 * BLOCK).astype(np.int32)
    own = engine.kernel(GROUPS, f"k<{size}>")
    made = own.run(2, BLOCK, (numbers, np.zeros_like(numbers)), device="gpu").arrays["out"]
    assert made.tolist() == expected(numbers, size).tolist()


def test_a_kernel_of_an_unnamed_namespace_runs_with_its_variables() -> None:
    text = "namespace { __device__ int n[2]; __global__ void k(int *a) { a[0] = n[1]++; } }\n"
    made = engine.kernel(text).run(1, 1, (np.zeros(1, "i4"),), symbols={"n": np.array([3, 4], "i4")}, device="gpu")
    assert made.arrays["a"].tolist() == [4] and made.symbols["n"].tolist() == [3, 5]
