"""Barriers that threads name: bar.sync and bar.arrive with a count, and those in shared memory, by hand or libcu++."""

from __future__ import annotations

import re

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching import results
from engine.records import Array, RunFailed
from tests.backends.emulator.small_kernels import execute
from tests.cases import case
from tests.sentences import refused, says, sentence

INDEPENDENT = Schedule("independent", seed=1)
NUMBERS = np.random.default_rng(0).integers(0, 1000, 64 * 6).astype(np.int32)
SUMS = NUMBERS.reshape(6, 64).sum(axis=0)[::-1]


def watched(text: str, block: int, count: int, schedule: Schedule = LOCKSTEP, grid: int = 3) -> tuple[Array, list[str]]:
    """What a kernel f(a, out, n) gives out for six rows of 64 numbers, and the messages of the findings."""
    watching = results.usual_observers()
    out = execute(text, block=block, grid=grid, dtype="", observers=watching, schedule=schedule,
                  a=NUMBERS, out=np.zeros(count, np.int32), n=6)["out"]  # fmt: skip
    return out, [finding.message for finding in results.findings(watching)]


# ---- barriers by their number: two warps produce, two consume

NAMED = """extern "C" __global__ void f(const int *a, int *out, int n) {
    __shared__ int s[2][64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int i = 0; i < n; i++) {
            asm volatile("bar.sync %0, 128;" :: "r"(2 + i % 2) : "memory");    // empty
            s[i % 2][t] = a[64 * i + t];
            asm volatile("bar.arrive %0, 128;" :: "r"(4 + i % 2) : "memory");  // full
        }
    } else {
        int sum = 0;
        for (int i = 0; i < 2; i++) asm volatile("bar.arrive %0, 128;" :: "r"(2 + i) : "memory");
        for (int i = 0; i < n; i++) {
            WAIT
            sum += s[i % 2][127 - t];
            if (i + 2 < n) asm volatile("bar.arrive %0, 128;" :: "r"(2 + i % 2) : "memory");
        }
        out[t - 64] = sum;
    }
}"""
FULL = 'asm volatile("bar.sync %0, 128;" :: "r"(4 + i % 2) : "memory");'


@pytest.mark.parametrize("schedule", [LOCKSTEP, INDEPENDENT], ids=lambda schedule: schedule.kind)
def test_who_arrives_goes_on_and_who_waits_meets_those_who_arrived(schedule: Schedule) -> None:
    out, messages = watched(NAMED.replace("WAIT", FULL), 128, 64, schedule)
    np.testing.assert_array_equal(out, SUMS)
    assert not messages


def test_who_does_not_wait_for_those_who_arrive_races_with_them() -> None:
    _, messages = watched(NAMED.replace("WAIT", ""), 128, 64)
    assert len(messages) == 1 and sentence("race.named-barrier", messages[0])


def test_two_counts_for_one_barrier_end_the_run() -> None:
    wrong = FULL.replace("128", "96")
    with refused("emulator.barrier-of-two-counts", RunFailed):
        watched(NAMED.replace("WAIT", wrong), 128, 64)


# ---- barriers in shared memory

MBARRIER = """static __device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(bar)) : "memory");
}
static __device__ void wait(unsigned long long *bar, int parity) {
    asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L;}"
                 :: "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void f(const int *a, int *out, int n) {
    __shared__ __align__(16) int s[2][64];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x, sum = 0;
    if (t < 2) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], FULL;" :: "r"(at(&full[t])));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at(&empty[t])));
    }
    SYNC
    for (int i = 0; i < n; i++) {
        int k = i % 2, parity = i / 2 % 2;
        if (t < 64) {
            FREE
            PRODUCE
        } else {
            READY
            sum += s[k][127 - t];
            arrive(&empty[k]);
        }
    }
    if (t >= 64) out[t - 64] = sum;
}"""
STORE = "s[k][t] = a[64 * i + t]; arrive(&full[k]);"
COPY = """asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(&s[k][t])), "l"(a + 64 * i + t));
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(&full[k])) : "memory");"""
BULK = """if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(at(&full[k])) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                         :: "r"(at(s[k])), "l"(a + 64 * i), "r"(at(&full[k])) : "memory");
            }"""


def mbarrier(produce: str = STORE, **parts: str) -> str:
    text = MBARRIER
    usual = {"PRODUCE": produce, "FULL": "1" if produce == BULK else "64", "SYNC": "__syncthreads();",
             "FREE": "if (i >= 2) wait(&empty[k], parity ^ 1);", "READY": "wait(&full[k], parity);"}  # fmt: skip
    for name, value in (usual | parts).items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    ("produce", "schedule"),
    [
        case(STORE, LOCKSTEP, quick=True, id="store"), case(COPY, LOCKSTEP, quick=True, id="copy"),
        case(BULK, LOCKSTEP, quick=True, id="bulk copy"), case(STORE, INDEPENDENT, quick=False, id="store, apart"),
        case(COPY, INDEPENDENT, quick=False, id="copy, apart"), case(BULK, INDEPENDENT, quick=False, id="bulk, apart"),
    ],
)  # fmt: skip
def test_producers_and_consumers_meet_at_barriers_in_shared_memory(produce: str, schedule: Schedule) -> None:
    out, messages = watched(mbarrier(produce), 128, 64, schedule)
    np.testing.assert_array_equal(out, SUMS)
    assert not messages


def test_nobody_counts_how_often_a_loop_waits_and_a_bulk_copy_is_no_load_of_a_warp() -> None:
    watching = results.usual_observers()
    execute(mbarrier(BULK), block=128, dtype="", observers=watching, a=NUMBERS, out=np.zeros(64, "i4"), n=6)
    totals = results.totals(watching)
    assert totals["global_load_requests"] == 0
    assert totals["shared_load_requests"] == 6 * 2 and totals["shared_store_requests"] == 0


PLANTED = {
    "nobody waits until it is full": (
        mbarrier(READY=""), r"Line 25: .* reads `s\[0\]`, which thread 0 of block 0 wrote at line 22; there is no"),
    "nobody waits until it is empty": (
        mbarrier(FREE=""), r"Line 22: thread 0 .* writes `s\[0\]`, which thread 127 of block 0 read at line 25; there"),
    "no barrier behind the first phases' start": (
        mbarrier(SYNC=""), r"Line 3: .* updates `full\[0\]`, which thread 0 .* wrote at line 14; there is no __sync"),
    "the copy is not waited for": (
        mbarrier(COPY, READY=""), r"Line 26: .* reads `s\[0\]` while the asynchronous copy that thread 0 .* line 22"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_missing_wait_is_found(name: str) -> None:
    text, message = PLANTED[name]
    _, messages = watched(text, 128, 64, grid=1)
    assert any(re.match(message, each) for each in messages), messages


ONCE = (
    MBARRIER[: MBARRIER.index("extern")]
    + """extern "C" __global__ void f(const int *a, int *out, int n) {
    __shared__ __align__(16) int s[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x, done = 0;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], COUNT;" :: "r"(at(&bar)));
    __syncthreads();
    PRODUCE
    WAIT
    out[t] = done ? s[63 - t] : -1;
}"""
)
TRY = """asm volatile("{.reg .pred p; mbarrier.WHICH.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(at(&bar)) : "memory");"""
ONE_COPY = BULK.replace("full[k]", "bar").replace("s[k]", "s").replace("64 * i", "0")


def once(wait: str, produce: str = "s[t] = a[t]; arrive(&bar);", count: int = 64) -> str:
    return ONCE.replace("WAIT", wait).replace("PRODUCE", produce).replace("COUNT", str(count))


@pytest.mark.parametrize("which", ["test_wait", "try_wait"])
def test_a_wait_that_is_not_repeated_returns_at_once(which: str) -> None:
    tried = TRY.replace("WHICH", which)
    assert -1 in watched(once(tried), 64, 64, INDEPENDENT, grid=1)[0]
    _, messages = watched(once(tried + "done = 1;"), 64, 64, INDEPENDENT, grid=1)
    assert says("race.advice.barrier", *messages)
    for schedule in (LOCKSTEP, INDEPENDENT):
        out, messages = watched(once(tried + "done = 1;", ONE_COPY, 1), 64, 64, schedule, grid=1)
        assert out.sum() != NUMBERS[:64].sum() and messages


@pytest.mark.parametrize(
    "repeat", ["while (!done) {TRY}", "TRY if (!done) while (!done) {TRY}", "TRY wait(&bar, 0); done = 1;"]
)
def test_a_wait_that_another_may_follow_waits(repeat: str) -> None:
    tried = TRY.replace("WHICH", "try_wait")
    for schedule in (LOCKSTEP, INDEPENDENT):
        for produce, count in (("s[t] = a[t]; arrive(&bar);", 64), (ONE_COPY, 1)):
            out, messages = watched(once(repeat.replace("TRY", tried), produce, count), 64, 64, schedule, grid=1)
            np.testing.assert_array_equal(out, NUMBERS[63::-1])
            assert not messages


ARRIVE = "arrive(&bar);"
EXPECT = 'asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;" :: "r"(at(&bar)) : "memory");'
HALVES = """for (int k = 0; k < 64; k += 32)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                     :: "r"(at(s + k)), "l"(a + k), "r"(at(&bar)) : "memory");"""


@pytest.mark.parametrize("schedule", [LOCKSTEP, INDEPENDENT], ids=lambda schedule: schedule.kind)
@pytest.mark.parametrize(
    ("copies", "right"),
    [
        (EXPECT + HALVES + ARRIVE, True),
        (HALVES + EXPECT + ARRIVE, True),
        (ARRIVE + EXPECT + HALVES, False),
        (EXPECT.replace("256", "128") + HALVES + ARRIVE, False),
    ],
    ids=["expected", "expected late", "expected in the next phase", "half expected"],
)
def test_bytes_beyond_what_a_phase_expects_arrive_after_it(copies: str, right: bool, schedule: Schedule) -> None:
    out, messages = watched(once("wait(&bar, 0); done = 1;", f"if (t == 0) {{ {copies} }}", 1), 64, 64, schedule, 1)
    assert (out == NUMBERS[63::-1]).all() == right
    assert bool(messages) != right and all("asynchronous copy" in each for each in messages)


ENDING = {
    "one arrival too few": (mbarrier(FULL="65"), "waits for a barrier phase that never ends: 64 of 65 arrivals "),
    "bytes that nobody copies": (
        mbarrier(BULK).replace("_, [%0], 256", "_, [%0], 512"), "never ends: 256 of the expected bytes"),
    "nobody initialised it": (
        mbarrier().replace("if (t < 2)", "if (t < 0)"), "executes mbarrier.* on a barrier that is not init"),
    "a bulk copy to a place outside": (
        mbarrier(BULK).replace("at(s[k])", "at(s[k + 9])"), "thread 0 of block 0 writes elements .* of the shared"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDING)
def test_a_barrier_that_cannot_be_met_ends_the_run(name: str) -> None:
    text, sentence = ENDING[name]
    with pytest.raises(RunFailed, match=sentence):
        watched(text, 128, 64)


# ---- the same as libcu++ has it, for two generations

ONE_BARRIER = """#include <cuda/barrier>
#include <cooperative_groups.h>
extern "C" __global__ void f(const int *a, int *out, int n) {
    __shared__ __align__(16) int s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&bar, blockDim.x);
    block.sync();
    for (int i = 0; i < n; i++) {
        FETCH
        WAIT
        sum += s[63 - t];
        bar.arrive_and_wait();
    }
    out[t] = sum;
}"""
PIPELINE = """#include <cuda/pipeline>
#include <cooperative_groups.h>
extern "C" __global__ void f(const int *a, int *out, int n) {
    __shared__ int s[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i <= n; i++) {
        if (i < n) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[i % 2], a + 64 * i, sizeof(int) * 64, pipe);
            pipe.producer_commit();
        }
        if (i == 0) continue;
        WAIT
        sum += s[(i - 1) % 2][63 - t];
        pipe.consumer_release();
    }
    out[t] = sum;
}"""
FETCHES = {
    "a thread its element": "cuda::memcpy_async(&s[t], &a[64 * i + t], sizeof(int), bar);",
    "a block all": "cuda::memcpy_async(block, s, a + 64 * i, sizeof(int) * 64, bar);",
    "a block aligned bytes": "cuda::memcpy_async(block, s, a + 64 * i, cuda::aligned_size_t<16>(256), bar);",
}


@pytest.mark.sampled(thorough=8)
@pytest.mark.parametrize(
    "architecture",
    [case("compute_90", quick=False), case("compute_80", quick=False, thorough=False)],
    indirect=True,
)
@pytest.mark.parametrize(
    ("text", "wait"),
    [(ONE_BARRIER.replace("FETCH", fetch), "bar.arrive_and_wait();") for fetch in FETCHES.values()]
    + [(PIPELINE, "pipe.consumer_wait();")],
    ids=[*FETCHES, "a pipeline of two stages"],
)
def test_libcuxx_waits_for_copies(text: str, wait: str, architecture: str) -> None:
    out, messages = watched(text.replace("WAIT", wait), 64, 64)
    np.testing.assert_array_equal(out, SUMS)
    assert not messages
    if architecture == "compute_90" and text != PIPELINE:
        return
    _, messages = watched(text.replace("WAIT", ""), 64, 64)
    assert any("asynchronous copy" in message and "still in flight" in message for message in messages), messages
