"""Threads that wait for a flag go on as soon as it lets them: a flag that is set too early is found in few orders."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.trial_arrays import SEARCHED

pytestmark = pytest.mark.sampled(quick=2)

ONCE = """__device__ volatile int state;
__device__ int table;
__global__ void k(const int *in, int *out) {
    if (threadIdx.x) return;
    if (atomicCAS((int *)&state, 0, 1) == 0) {
        table = in[3];
        __threadfence();
        state = 2;
    } else while (state WAITS) ;
    __threadfence();
    out[blockIdx.x] = table;
}"""
QUEUE = """__device__ volatile int head, tail;
__device__ int slot[4];
__global__ void k(const int *in, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) for (int i = 0; i < 12; i++) {
        while (head - tail >= 4) ;
        __threadfence();
        slot[i % 4] = in[i];
        __threadfence();
        head = i + 1;
    }
    if (blockIdx.x == 1) for (int i = 0; i < 12; i++) {
        while (head WAITS) ;
        __threadfence();
        out[i] = slot[i % 4];
        __threadfence();
        tail = i + 1;
    }
}"""
READERS = """__device__ int writers, readers, data[2];
__global__ void k(const int *in, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x % 3 == 0) {
        while (atomicCAS(&writers, 0, 1) != 0) ;
        __threadfence();
        while (atomicAdd(&readers, 0) != 0) ;
        __threadfence();
        data[0] += 1, data[1] += 1;
        __threadfence();
        atomicExch(&writers, 0);
    } else {
        WAITS
        __threadfence();
        out[blockIdx.x] = data[0] - data[1];
        __threadfence();
        atomicSub(&readers, 1);
    }
}"""
ENTER = (
    "for (;;) { atomicAdd(&readers, 1); __threadfence(); if (!atomicAdd(&writers, 0)) break; atomicSub(&readers, 1); }"
)
ENTER_TOO_LATE = "while (atomicAdd(&writers, 0)) ; atomicAdd(&readers, 1);"
SUMS = """__device__ volatile int flag[8];
__device__ int own[8], upto[8];
__global__ void k(const int *in, int *out) {
    int b = blockIdx.x, sum = in[b];
    if (threadIdx.x) return;
    own[b] = sum;
    __threadfence();
    flag[b] = 1;
    for (int p = b - 1; p >= 0; p--) {
        int seen;
        while ((seen = flag[p]) WAITS) ;
        __threadfence();
        if (seen == 2) { sum += upto[p]; break; }
        sum += own[p];
    }
    upto[b] = out[b] = sum;
    __threadfence();
    flag[b] = 2;
}"""
LOCK = """__device__ int held[9], tail, sum;
__global__ void k(const int *in, int *out) {
    if (threadIdx.x) return;
    int own = blockIdx.x + 1;
    WAITS
    __threadfence();
    while (atomicAdd(&held[before], 0)) ;
    __threadfence();
    sum += in[blockIdx.x];
    __threadfence();
    atomicExch(&held[own], 0);
}"""
ANNOUNCED = "atomicExch(&held[own], 1); __threadfence(); int before = atomicExch(&tail, own);"
ANNOUNCED_TOO_LATE = "int before = atomicExch(&tail, own); __threadfence(); atomicExch(&held[own], 1);"
RING = """__global__ void k(const int *in, int *out) {
    __shared__ volatile int head, tail;
    __shared__ int slot[8];
    if (threadIdx.x == 0) head = tail = 0;
    __syncthreads();
    if (threadIdx.x == 0) for (int i = 0; i < 24; i++) {
        while (head - tail WAITS) ;
        __threadfence_block();
        slot[i % 8] = in[i % 16];
        __threadfence_block();
        head = i + 1;
    }
    if (threadIdx.x == 32) for (int i = 0; i < 24; i++) {
        while (head <= i) ;
        __threadfence_block();
        out[i % 16] = slot[i % 8];
        __threadfence_block();
        tail = i + 1;
    }
}"""
POINTER = """struct Pair { int a, b; };
__device__ Pair pool[8];
__device__ Pair *volatile current;
__global__ void k(const int *in, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) for (int i = 0; i < 8; i++) {
        Pair *made = pool + i % WAITS;
        made->a = in[i], made->b = -in[i];
        __threadfence();
        current = made;
    } else {
        Pair *seen = current;
        __threadfence();
        out[blockIdx.x] = seen ? seen->a + seen->b : 0;
    }
}"""
CASES = {  # text, right, wrong
    "initialised once": (ONCE, "!= 2", "== 0"),
    "a queue": (QUEUE, "<= i", "< i"),
    "readers and writers": (READERS, ENTER, ENTER_TOO_LATE),
    "a look-back": (SUMS, "== 0", "> 2"),
}
RARE_CASES = {  # one thread stands between two accesses while others go on
    "a lock with a queue": (LOCK, 6, 32, "global-race", ANNOUNCED, ANNOUNCED_TOO_LATE),
    "a ring that is written one slot too far": (RING, 1, 64, "shared-race", ">= 8", ">= 9"),
    "a published pair that is written again": (POINTER, 4, 32, "global-race", "8", "2"),
}


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_flag_that_lets_threads_go_on_too_early_is_found(name: str, wrong: bool) -> None:
    text, *waits = CASES[name]
    kernel, found = engine.kernel(text.replace("WAITS", waits[wrong])), set()
    for schedule in [None, *(f"independent:{seed}" for seed in (1, 2, 3))]:
        run = kernel.run(6, 32, (np.arange(1, 17, dtype=np.int32), np.zeros(16, np.int32)), schedule=schedule)
        found |= {one.kind for one in run.findings}
    assert found == ({"global-race"} if wrong else set())


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("name", RARE_CASES)
def test_what_few_orders_show_is_found_in_those_of_the_lab(name: str, wrong: bool) -> None:
    text, grid, block, kind, *waits = RARE_CASES[name]
    kernel, found = engine.kernel(text.replace("WAITS", waits[wrong])), set()
    for schedule in (None, *SEARCHED):
        if schedule != "waves:1":
            arrays = np.arange(1, 17, dtype=np.int32), np.zeros(16, np.int32)
            found |= {one.kind for one in kernel.run(grid, block, arrays, schedule=schedule).findings}
    assert found == ({kind} if wrong else set())


BARRIERS = """__device__ int turn;
__global__ void k(const int *in, int *out) {
    __shared__ int s[96];
    int t = threadIdx.x;
    for (int i = 0; i < 4; i++) {
        s[t] = in[t] + i;
        asm volatile("bar.sync 1, 96;" ::: "memory");
        out[96 * blockIdx.x + t] += s[95 - t];
        asm volatile("bar.sync 1, 96;" ::: "memory");
        if (t == 0) { while (atomicAdd(&turn, 0) < blockIdx.x) ; atomicAdd(&turn, 1); }
    }
}"""


def test_a_named_barrier_of_one_block_ends_no_phase_of_another() -> None:
    for seed in range(4):
        arrays = np.arange(96, dtype=np.int32), np.zeros(96 * 12, np.int32)
        run = engine.kernel(BARRIERS).run(12, 96, arrays, schedule=f"independent:{seed}")
        assert run.findings == ()


TWO_WORDS = """__device__ int first, second;
__device__ volatile int done;
__global__ void k(const int *in, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 1) {
        first = in[1];
        __threadfence();
        done = 1;
        second = in[2];
        __threadfence();
        done = 2;
    } else {
        int seen;
        while (!(seen = done)) ;
        __threadfence();
        out[0] = first + second;
        out[1] = seen;
    }
}"""


def test_a_flag_announces_what_was_written_before_the_value_that_is_read() -> None:
    """A later value of the same flag may be on its way to memory."""
    for seed in range(1, 9):
        arrays = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
        run = engine.kernel(TWO_WORDS).run(2, 32, arrays, schedule=f"independent:{seed}")
        if run.arrays["out"][1] == 1:
            assert [one.line for one in run.findings] == [16], seed


SEQUENCE = """__device__ volatile unsigned sequence;
__global__ void k(volatile int *pair, int *torn, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) for (int i = 1; i <= n; i++) {
        sequence = 2 * i - 1;
        __threadfence();
        pair[0] = i, pair[1] = -i;
        FENCE
        sequence = 2 * i;
    } else for (int k = 0; k < n; k++) {
        unsigned before; int sum;
        do {
            while ((before = sequence) & 1) ;
            __threadfence();
            sum = pair[0] + pair[1];
            __threadfence();
        } while (sequence != before);
        if (sum) atomicAdd(torn, 1);
    }
}"""


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("fence", ["__threadfence();", ""])
def test_a_sequence_lock_whose_writer_has_no_last_fence_gives_torn_numbers(fence: str) -> None:
    """Nothing in it races: a store that overtakes another one shows the mistake."""
    kernel, torn = engine.kernel(SEQUENCE.replace("FENCE", fence)), 0
    for schedule in SEARCHED:
        arrays = np.zeros(2, np.int32), np.zeros(1, np.int32)
        run = kernel.run(3, 32, (*arrays, 8), schedule=schedule)
        assert run.ok
        torn += int(run.arrays["torn"][0])
    assert (torn > 0) == (not fence)
