"""Threads that are ordered in part: an access that nothing orders is found, also between two that are ordered."""

from __future__ import annotations

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.sampled(quick=2)

NAMED = """__global__ void k(int *out) {
    __shared__ int s;
    int t = threadIdx.x, w = t / 32;
    if (t == 0) s = 1;
    __syncthreads();
    if (w < 3) out[t] = s;
    if (w < 3 && w != ABSENT) asm volatile("bar.arrive 1, COUNT;" ::: "memory");
    if (w == 3) asm volatile("bar.sync 1, COUNT;" ::: "memory");
    if (t == 96) s = 2;
}"""
PHASES = """__device__ unsigned to(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void k(int *out) {
    __shared__ unsigned long long empty;
    __shared__ int s;
    int t = threadIdx.x, w = t / 32;
    if (t == 0) { s = 1; asm volatile("mbarrier.init.shared.b64 [%0], COUNT - 32;" :: "r"(to(&empty)) : "memory"); }
    __syncthreads();
    if (w < 3) out[t] = s;
    if (w < 3 && w != ABSENT) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(to(&empty)) : "memory");
    if (w == 3)
        asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
                     :: "r"(to(&empty)) : "memory");
    if (t == 96) s = 2;
}"""


@pytest.mark.parametrize("schedule", [None, "independent:1", "waves:1"])
@pytest.mark.parametrize("absent", [0, 1, 2, None])
@pytest.mark.parametrize("text", [NAMED, PHASES], ids=["a named barrier", "an mbarrier"])
def test_a_reader_that_does_not_arrive_races_with_the_next_writer(
    text: str, absent: int | None, schedule: str | None
) -> None:
    count = 128 if absent is None else 96
    text = text.replace("COUNT - 32", str(count - 32)).replace("COUNT", str(count))
    text = text.replace("ABSENT", "9" if absent is None else str(absent))
    run = engine.kernel(text).run(2, 128, (np.zeros(128, np.int32),), schedule=schedule)
    found = {one.kind for one in run.findings if one.kind != "global-race"}
    assert found == (set() if absent is None else {"shared-race"})


LANES = """__global__ void k(int *x, int *out) {
    __shared__ int s[2];
    int t = threadIdx.x;
    if (t == 0) s[0] = s[1] = 1;
    __syncwarp();
    BEFORE
    if (t < 4 && t != ABSENT) __syncwarp(MASK);
    AFTER
    __syncthreads();
    out[t] = s[0] + x[0];
}"""
LANE_STEPS = {
    "a read by some lanes": ("if (t < 3) out[t] = s[0];", "if (t == 3) s[0] = 2;", "warp-race"),
    "reads one after the other": (
        'for (int i = 2; i >= 0; i--) { asm volatile("" ::: "memory"); if (t == i) out[t] = s[0]; }',
        "if (t == 3) s[0] = 2;", "warp-race",
    ),
    "a read of device memory": ("if (t < 3) out[t] = x[0];", "if (t == 3) x[0] = 2;", "global-race"),
    "equal stores": ("if (t < 3) s[0] = 2;", "if (t == 3) s[0] = 3;", "warp-race"),
    "equal stores to device memory": ("if (t < 3) x[0] = 2;", "if (t == 3) x[0] = 3;", "global-race"),
    "a read by all, a write in front of it": ("if (t == 3) s[0] = 2;", "if (t < 3) out[t] = s[0];", "warp-race"),
    "the same in device memory": ("if (t == 3) x[0] = 2;", "if (t < 3) out[t] = x[0];", "global-race"),
    "a later reader in their place": ("if (t < 3) out[t] = s[0];", "if (t == 3) { out[3] = s[0]; s[0] = 2; }",
                                      "warp-race"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", [None, "independent:1"])
@pytest.mark.parametrize("absent", [1, None])
@pytest.mark.parametrize("name", LANE_STEPS)
def test_a_lane_between_two_that_meet_the_third_one(name: str, absent: int | None, schedule: str | None) -> None:
    before, after, kind = LANE_STEPS[name]
    text = LANES.replace("BEFORE", before).replace("AFTER", after).replace("ABSENT", str(absent or 9))
    text = text.replace("MASK", "0xf" if absent is None else "0xd")
    arrays = np.zeros(32, np.int32), np.zeros(32, np.int32)
    run = engine.kernel(text).run(1, 32, arrays, schedule=schedule)
    assert [one.kind for one in run.findings] == ([] if absent is None else [kind])


FLAGS = """__global__ void k(int *x, int *out, int *flag) {
    int b = WHO;
    if (threadIdx.x % 32) return;
    if (b < 3) {
        STEP
        if (b != ABSENT) { __threadfence(); atomicAdd(flag, 1); }
    } else {
        while (atomicAdd(flag, 0) < COUNT) ;
        __threadfence();
        x[0] = 7;
    }
}"""


@pytest.mark.parametrize("schedule", [None, "independent:1"])
@pytest.mark.parametrize("absent", [1, None])
@pytest.mark.parametrize("step", ["out[b] = x[0];", "x[0] = 5;"], ids=["readers", "equal stores"])
@pytest.mark.parametrize(("who", "grid", "block"), [("blockIdx.x", 4, 32), ("threadIdx.x / 32", 1, 128)])
def test_a_thread_that_sets_no_flag_between_two_that_do(
    who: str, grid: int, block: int, step: str, absent: int | None, schedule: str | None
) -> None:
    text = FLAGS.replace("WHO", who).replace("STEP", step).replace("ABSENT", str(absent or 9))
    text = text.replace("COUNT", "3" if absent is None else "2")
    arrays = [np.zeros(4, np.int32) for _ in range(3)]
    run = engine.kernel(text).run(grid, block, tuple(arrays), schedule=schedule, cooperative=True)
    assert [one.kind for one in run.findings] == ([] if absent is None else ["global-race"])


def test_many_turns_of_a_loop_keep_few_accesses() -> None:
    text = """__global__ void k(int *out, int n) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = s[t + 32] = t;
        __syncwarp(0xffff << t / 16 * 16);
        for (int i = 0; i < n; i++) {
            int v = s[(t + i) % 16 + t / 16 * 16];
            __syncwarp(0xffff << t / 16 * 16);
            s[t] = v + 1;
            __syncwarp(0xffff << t / 16 * 16);
        }
        out[t] = s[t];
    }"""
    assert engine.kernel(text).run(1, 32, (np.zeros(32, np.int32), 500)).findings == ()
