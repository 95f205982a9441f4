"""Threads that wait for each other by flags are ordered if a fence precedes the flag, and race otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races import causality
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute

pytestmark = pytest.mark.sampled(quick=2)

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

WARP = """extern "C" __global__ void f(const int *in, int *out) {
    __shared__ int s[64]; __shared__ volatile int ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t >= 32) {
        s[t] = in[t];
        EACH __syncwarp();
        if (t == 32) { SETTER ready = 1; }
    } else {
        WAIT
        out[t] = s[63 - t];
    }
}"""
FENCE = "__threadfence_block();"
WAITS = ("while (ready == 0); " + FENCE, "if (t == 5) { while (ready == 0); " + FENCE + " } __syncwarp();")


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
    assert "put a __threadfence() " in finding.message
    kinds, _ = found(LAST_BLOCK.replace("last =", "__threadfence(); last ="), 4, LOCKSTEP, sums=np.zeros(4, np.int32))
    assert kinds == []


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
@pytest.mark.parametrize("wait", WAITS, ids=["all wait", "one waits"])
@pytest.mark.parametrize(("each", "setter"), [("", FENCE), (FENCE, "")], ids=["one fences", "all fence"])
def test_one_lane_sets_the_flag_for_its_warp(each: str, setter: str, wait: str, schedule: Schedule) -> None:
    text = WARP.replace("EACH", each).replace("SETTER", setter).replace("WAIT", wait)
    kinds, made = found(text, 3, schedule)
    assert kinds == [] and made[:32].tolist() == list(range(63, 31, -1))
    lonely = text.replace("__syncwarp();", "", 1)
    assert ("shared-race", 12) in found(lonely, 3, schedule)[0]


@pytest.mark.parametrize("wait", WAITS, ids=["all wait", "one waits"])
def test_the_fence_that_the_flag_of_a_warp_lacks_is_named(wait: str) -> None:
    hazards = Hazards()
    text = WARP.replace("EACH", "").replace("SETTER", "").replace("WAIT", wait)
    arrays = {"in": np.arange(64, dtype=np.int32), "out": np.zeros(64, np.int32)}
    execute(text, grid=2, block=64, observers=[hazards], **arrays)
    (finding,) = [one for one in hazards.findings() if one.line == 12]
    assert finding.kind == "shared-race" and finding.other_line == 7
    assert "put a __threadfence_block() " in finding.message


HALVES = """extern "C" __global__ void f(const int *in, int *out) {
    __shared__ int s[64]; __shared__ volatile int ready[2];
    int t = threadIdx.x;
    if (t < 2) ready[t] = 0;
    __syncthreads();
    if (t >= 32) {
        s[t] = in[t];
        __syncwarp(t < 48 ? 0xffffu : 0xffff0000u);
        if (t % 16 == 0) { __threadfence_block(); ready[t / 16 - 2] = 1; }
    } else {
        while (ready[t / 16 FROM] == 0);
        __threadfence_block();
        out[t] = s[t + 32];
    }
}"""


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_a_flag_tells_only_of_the_lanes_that_its_setter_met(schedule: Schedule) -> None:
    assert found(HALVES.replace("FROM", ""), 1, schedule)[0] == []
    met_nobody = HALVES.replace("FROM", "").replace("t < 48 ? 0xffffu : 0xffff0000u", "1u << t % 32")
    assert ("shared-race", 13) in found(met_nobody, 1, schedule)[0]


VOLATILE = LAST_BLOCK.replace("int *sums", "volatile int *sums")


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_volatile_sums_need_the_fence_too(schedule: Schedule) -> None:
    hazards = Hazards()
    arrays = {"in": np.arange(64, dtype=np.int32), "out": np.zeros(2, np.int32), "sums": np.zeros(4, np.int32)}
    execute(VOLATILE, grid=4, block=64, observers=[hazards], schedule=schedule, **arrays)
    (finding,) = hazards.findings()
    assert (finding.kind, finding.line, finding.other_line) == ("global-race", 9, 4)
    assert "put a __threadfence() " in finding.message
    fenced = VOLATILE.replace("last =", "__threadfence(); last =")
    assert found(fenced, 4, schedule, sums=np.zeros(4, np.int32))[0] == []
    for_the_block = fenced.replace("__threadfence()", "__threadfence_block()")
    assert ("global-race", 9) in found(for_the_block, 4, schedule, sums=np.zeros(4, np.int32))[0]


LOOKBACK = """extern "C" __global__ void f(const int *in, int *out, volatile int *state, int *next) {
    __shared__ int tile;
    for (int turn = 0; turn < 2; turn++) {
        if (threadIdx.x == 0) {
            tile = atomicAdd(next, 1);
            state[tile] = (1 << 28) | in[tile];
            int sum = 0;
            for (int before = tile - 1; before >= 0; before--) {
                int seen;
                do seen = state[before]; while ((seen >> 28) == 0);
                sum += seen & 0xfffffff;
                if ((seen >> 28) == 2) break;
            }
            state[tile] = (2 << 28) | (sum + in[tile]);
            out[tile] = sum;
        }
        __syncthreads();
    }
}"""


def test_whoever_waits_for_a_word_that_holds_flag_and_number_needs_no_fence() -> None:
    more = {"state": np.zeros(64, np.int32), "next": np.zeros(1, np.int32)}
    kinds, made = found(LOOKBACK, 8, LOCKSTEP, **more)
    assert kinds == [] and made[:16].tolist() == (np.arange(16) * np.arange(-1, 15) // 2).tolist()


RELEASE = """#include <cuda/atomic>
extern "C" __global__ void f(const int *in, int *out) {
    __shared__ int s[64], came;
    cuda::atomic_ref<int, cuda::thread_scope_block> ready(came);
    int t = threadIdx.x;
    if (t == 0) came = 0;
    __syncthreads();
    if (t >= 32) {
        s[t] = in[t];
        ready.fetch_add(1, cuda::memory_order_ORDER);
    } else {
        while (ready.load(cuda::memory_order_acquire) < 32);
        out[t] = s[63 - t];
    }
}"""


@pytest.mark.sampled(quick=0, thorough=4)  # libcu++ takes three seconds to compile
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_a_release_in_shared_memory_is_its_own_fence(schedule: Schedule) -> None:
    for order in ("release", "acq_rel"):
        assert found(RELEASE.replace("ORDER", order), 1, schedule)[0] == []
    assert ("shared-race", 13) in found(RELEASE.replace("ORDER", "relaxed"), 1, schedule)[0]


TWO_BARRIERS = """#define OWN (unsigned)__cvta_generic_to_shared(&barrier[t / 32])
#define ON(text) asm volatile(text :: "r"(OWN) : "memory");
extern "C" __global__ void f(const int *in, int *out) {
    __shared__ unsigned long long barrier[2]; __shared__ int s[64];
    int t = threadIdx.x;
    if (t % 32 == 0) ON("mbarrier.init.shared.b64 [%0], 32;")
    __syncthreads();
    s[t] = in[t];
    ON("mbarrier.arrive.shared.b64 _, [%0];")
    ON("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }")
    out[t] = s[t ^ OTHER];
}"""


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_two_barriers_in_one_instruction_order_the_threads_of_each(schedule: Schedule) -> None:
    assert found(TWO_BARRIERS.replace("OTHER", "1"), 2, schedule)[0] == []
    assert found(TWO_BARRIERS.replace("OTHER", "32"), 2, schedule)[0] == [("shared-race", 11)]


STACK = """extern "C" __global__ void f(const int *in, int *out, int *value, int *next, int *head) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, old = *(volatile int *)head, seen;
    value[i] = in[i];
    do { next[i] = old; __threadfence(); seen = old; old = atomicCAS(head, seen, i + 1); } while (old != seen);
    int top = *(volatile int *)head;
    while (top) {
        FENCE
        seen = top;
        top = atomicCAS(head, seen, next[seen - 1]);
        if (top == seen) {
            out[i] = value[seen - 1];
            break;
        }
    }
}"""


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: f"{one.kind}{one.seed}")
def test_a_thread_that_takes_from_a_list_needs_a_fence(schedule: Schedule) -> None:
    more = {"value": np.zeros(128, np.int32), "next": np.zeros(128, np.int32), "head": np.zeros(1, np.int32)}
    kinds, made = found(STACK.replace("FENCE", "__threadfence();"), 2, schedule, **more)
    assert kinds == [] and sorted(made) == list(range(128))
    assert ("global-race", 9) in found(STACK.replace("FENCE", ""), 2, schedule, **more)[0]


RELAY = """#define READ(order, f) asm volatile("ld." order ".gpu.s32 %0, [%1];" : "=r"(told) : "l"(f) : "memory")
#define SET(f) asm volatile("st.release.gpu.s32 [%0], 1;" :: "l"(f) : "memory")
extern "C" __global__ void f(const int *in, int *out, int *g) {
    int b = blockIdx.x, middle = gridDim.x / 2, told = 0;
    if (threadIdx.x) return;
    if (b == 0) { g[0] = in[7]; SET(g + 1); }
    if (b == middle) { while (!told) READ("ORDER", g + 1); SET(g + 2); }
    if (b > middle) { while (!told) READ("acquire", g + 2); out[b] = g[0]; }
}"""


@pytest.mark.parametrize("grid", [3, 300, 3000])
def test_a_flag_passed_from_block_to_block_needs_an_acquire_in_each(grid: int) -> None:
    words = np.zeros(3, np.int32)
    for schedule in SCHEDULES if grid < 1000 else SCHEDULES[:1]:
        kinds, made = found(RELAY.replace("ORDER", "acquire"), grid, schedule, g=words)
        assert kinds == [] and made[:grid].tolist() == [7 * (b > grid // 2) for b in range(grid)]
        assert found(RELAY.replace("ORDER", "relaxed"), grid, schedule, g=words)[0] == [("global-race", 8)]


RELAY_OF_WARPS = """#define READ(order, f) asm volatile("ld." order ".gpu.s32 %0, [%1];" : "=r"(told) : "l"(f))
#define SET(order, f) asm volatile("st." order ".gpu.s32 [%0], 1;" :: "l"(f) : "memory")
extern "C" __global__ void f(const int *in, int *out, int *g) {
    int b = blockIdx.x, t = threadIdx.x, middle = gridDim.x / 2, told = 0;
    if (t % 32 || (t && b != middle)) return;
    if (b == 0) { g[0] = in[7]; SET("release", g + 1); }
    if (b == middle && t == 0) { while (!told) READ("acquire", g + 1); SET("release", g + 3); }
    if (b == middle && t == 32) { while (!told) READ("ORDER", g + 3); SET("release", g + 2); }
    if (b > middle) { while (!told) READ("acquire", g + 2); out[b] = g[0]; }
}"""


@pytest.mark.parametrize("grid", [3, 300, 500])
def test_a_flag_passed_from_warp_to_warp_needs_an_acquire_in_each(grid: int) -> None:
    words = np.zeros(4, np.int32)
    kinds, made = found(RELAY_OF_WARPS.replace("ORDER", "acquire"), grid, LOCKSTEP, g=words)
    assert kinds == [] and made[:grid].tolist() == [7 * (b > grid // 2) for b in range(grid)]
    assert found(RELAY_OF_WARPS.replace("ORDER", "relaxed"), grid, LOCKSTEP, g=words)[0] == [("global-race", 9)]


def test_a_launch_that_needs_too_many_clocks_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causality, "_MOST_CLOCKS", 600)
    for order in ("acquire", "relaxed"):
        assert found(RELAY.replace("ORDER", order), 300, LOCKSTEP, g=np.zeros(3, np.int32))[0] == []


def test_rows_in_use_survive_when_the_others_are_dropped() -> None:
    rows, first = causality.Rows(4), np.zeros(2, np.int64)
    made = rows.make(first, np.arange(2), np.array([[0], [1]]), np.array([[5], [6]]))
    both = rows.join(made[:1], made[1:])
    assert rows.join(both, made[1:]).tolist() == both.tolist()
    rows.collect([both])
    assert both.tolist() == [1] and rows.clocks(both.repeat(4), np.arange(4)).tolist() == [5, 6, 0, 0]
