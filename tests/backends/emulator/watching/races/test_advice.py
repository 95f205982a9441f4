"""A finding between two lanes of a warp advises a __syncwarp() only if other warps do not run the access."""

from __future__ import annotations

import numpy as np
import pytest

from engine.lab.kernels import kernel
from tests.sentences import says, sentence

pytestmark = pytest.mark.sampled(quick=2)

TREE = """__global__ void f(int *out) {
    __shared__ int words[128];
    int t = threadIdx.x;
    words[t] = t;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) words[t] += words[t + stride];
        BARRIER
    }
    if (t < 32) for (int stride = 16; stride > LAST; stride /= 2) if (t < stride) words[t] += words[t + stride];
    if (t == 0) out[0] = words[0];
}"""


@pytest.mark.parametrize(("block", "last", "barrier", "kind", "key"), [
    (32, 99, "", "warp-race", "race.warp-of-any-block"), (128, 99, "", "shared-race", "race.no-barrier"),
    (128, 0, "__syncthreads();", "warp-race", "race.last-warp-alone")])  # fmt: skip
def test_the_advice_holds_at_other_block_sizes(block: int, last: int, barrier: str, kind: str, key: str) -> None:
    text = TREE.replace("LAST", str(last)).replace("BARRIER", barrier)
    first = next(one for one in kernel(text).run(1, block, [np.zeros(1, "i4")]).findings)
    assert first.kind == kind and sentence(key, first.message)


def test_a_race_of_lanes_beside_one_of_warps_is_left_out() -> None:
    text = TREE.replace("LAST", "99").replace("BARRIER", "")
    found = kernel(text).run(1, 128, [np.zeros(1, "i4")]).findings
    assert {one.kind for one in found if (one.line, one.other_line) == (7, 7)} == {"shared-race"}


PARTS = """__global__ void f(int *part, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[i] = i;
    int sum = 0;
    if (i == 0) for (int k = 0; k < blockDim.x * gridDim.x; k++) sum += part[k];
    if (i == 0) out[0] = sum;
}"""
LOCKED = """__global__ void f(int *lock, int *out) {
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            out[0] += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}"""


@pytest.mark.parametrize(("grid", "block", "words"), [
    (2, 64, "in any order"), (1, 64, "a __syncthreads() between them."),
    (1, 32, "__syncthreads()")])  # fmt: skip
def test_a_race_names_the_two_threads_that_are_farthest_apart(grid: int, block: int, words: str) -> None:
    run = kernel(PARTS).run(grid, block, [np.zeros(grid * block, "i4"), np.zeros(1, "i4")])
    assert words in run.findings[0].message and ("of block 1" in run.findings[0].message) == (grid > 1)
    assert not any("a __syncwarp() between" in one.message for one in run.findings)


def test_a_lock_without_its_first_fence_is_told_of_the_fence_though_lanes_race_too() -> None:
    run = kernel(LOCKED).run(2, 32, [np.zeros(1, "i4"), np.zeros(1, "i4")], schedule="independent:1")
    (advice,) = (one.message.partition("; ")[2] for one in run.findings if "reads" in one.message)
    assert sentence("race.advice.fence-after-read", advice)


IN_SHARED_MEMORY = """__global__ void f(int *out) {
    __shared__ int lock[1], sum;
    if (threadIdx.x == 0) lock[0] = sum = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            TAKEN
            sum += 1;
            LEFT
            atomicExch(lock, 0);
            done = true;
        }
    __syncthreads();
    out[threadIdx.x] = sum;
}"""
IN_DEVICE_MEMORY = """__device__ int lock[1], sum;
__global__ void f(int *out) {
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            TAKEN
            sum += 1;
            LEFT
            atomicExch(lock, 0);
            done = true;
        }
}"""


@pytest.mark.sampled(quick=8, thorough=4)
@pytest.mark.parametrize("schedule", [None, "independent:1"])
@pytest.mark.parametrize("grid", [1, 2])
@pytest.mark.parametrize("block", [32, 96])
@pytest.mark.parametrize(
    ("text", "fence"),
    [(IN_SHARED_MEMORY, "__threadfence_block();"), (IN_DEVICE_MEMORY, "__threadfence();")],
    ids=["in shared memory", "in device memory"],
)
def test_a_lock_that_lacks_a_fence_is_told_of_the_fence(
    text: str, fence: str, block: int, grid: int, schedule: str | None
) -> None:
    def advices(taken: str, left: str) -> list[str]:
        run = kernel(text.replace("TAKEN", taken).replace("LEFT", left)).run(
            grid, block, [np.zeros(256, "i4")], schedule=schedule
        )
        return [one.message.partition("; ")[2] for one in run.findings if "reads" in one.message]

    assert advices(fence, fence) == []
    (advice,) = advices("", fence)
    assert fence[:-1] in advice
    assert sentence("race.advice.fence-after-read", advice.replace(fence[:-1], "__threadfence()"))
    for taken in (fence, ""):
        (advice,) = advices(taken, "")
        assert says("race.advice.fence-after-write", advice) and fence[:-1] in advice


def test_a_missing_barrier_beside_a_counter_is_told_of_the_barrier() -> None:
    text = """__global__ void f(int *out) {
        __shared__ int words[64], next;
        int t = threadIdx.x;
        if (t == 0) next = 0;
        __syncthreads();
        words[t] = t;
        if (atomicAdd(&next, 1) < 60) out[t] = words[63 - t];
    }"""
    found = kernel(text).run(1, 64, [np.zeros(64, "i4")]).findings
    (advice,) = (one.message.partition("; ")[2] for one in found)
    assert sentence("race.advice.barrier", advice)


RING = """__global__ void f(const int *in, int *out, int n) {
    __shared__ int place;
    __shared__ volatile int filled, emptied;
    if (threadIdx.x == 0) filled = emptied = 0;
    __syncthreads();
    for (int i = 0; i < n; i++) {
        if (threadIdx.x == 0) {
            while (filled != emptied);
            SEEN
            place = in[i];
            __threadfence_block();
            filled = i + 1;
        } else if (threadIdx.x == 32) {
            while (filled == i);
            __threadfence_block();
            out[i] = place;
            READ
            emptied = i + 1;
        }
    }
}"""
FENCE = "__threadfence_block();"


@pytest.mark.parametrize(
    ("seen", "read", "key"),
    [
        (FENCE, FENCE, None),
        ("", FENCE, "race.free-place-not-awaited"),
        (FENCE, "", "race.free-place-too-early"),
    ],
)
def test_a_place_that_is_used_again_needs_the_fences_of_its_flag(seen: str, read: str, key: str | None) -> None:
    text = RING.replace("SEEN", seen).replace("READ", read)
    found = kernel(text).run(1, 64, [np.arange(8, dtype="i4"), np.zeros(8, "i4"), 8]).findings
    assert len(found) == (key is not None) and all(sentence(str(key), one.message) for one in found)


QUEUED = """__global__ void f(int *tail, volatile int *next, volatile int *held, int *sum) {
    int i = blockIdx.x + 1;
    for (int lap = 0; lap < 3; lap++) {
        next[i] = 0;
        held[i] = 1;
        __threadfence();
        int before = atomicExch(tail, i);
        if (before) {
            next[before] = i;
            while (held[i]) ;
        }
        TAKEN
        sum[0] += 1;
        GIVEN
        if (next[i] == 0) {
            if (atomicCAS(tail, i, 0) == i) continue;
            while (next[i] == 0) ;
        }
        held[next[i]] = 0;
    }
}"""  # the fence of the next lap tells of the sum, too, but not to the thread that has the lock now


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(("taken", "given", "place"), [
    ("__threadfence();", "__threadfence();", None), ("", "__threadfence();", "after that read"),
    ("__threadfence();", "", "after line 13")])  # fmt: skip
@pytest.mark.parametrize("schedule", [None, "waves:1"])
def test_a_queued_lock_is_told_of_the_fence_that_is_missing(
    taken: str, given: str, place: str | None, schedule: str | None
) -> None:
    text = QUEUED.replace("TAKEN", taken).replace("GIVEN", given)
    words = [np.zeros(count, "i4") for count in (1, 8, 8, 1)]
    told = [one.message for one in kernel(text).run(6, 1, words, schedule=schedule).findings]
    assert bool(told) == (place is not None) and all(f"put a __threadfence() {place}" in one for one in told)
