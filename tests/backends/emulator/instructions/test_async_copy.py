"""Asynchronous copies on the emulator: they arrive with the wait, group by group, and not before."""

import numpy as np
import pytest

from engine.backends.emulator.watching.memory_counters import MemoryRequests
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute, zeros

HEAD = """#include <cuda_pipeline.h>
extern "C" __global__ void f(const int *in, int *out) {
    __shared__ __align__(16) int s[2][128];
    int t = threadIdx.x;
    s[0][t] = s[1][t] = -1;
    __syncthreads();
    %s
}"""
IN = np.arange(1, 1025, dtype=np.int32)


def after(body: str, block: int = 64, grid: int = 1, observers=()) -> np.ndarray:
    return execute(HEAD % body, block=block, grid=grid, observers=observers, **{"in": IN, "out": zeros(1024)})["out"]


def test_a_copy_arrives_with_the_wait_and_not_before():
    out = after("""
        __pipeline_memcpy_async(&s[0][t], &in[t], 4);
        __pipeline_commit();
        out[t] = s[0][t];
        __pipeline_wait_prior(0);
        out[64 + t] = s[0][t];""")
    assert (out[:64] == -1).all()
    np.testing.assert_array_equal(out[64:128], IN[:64])


def test_the_newest_groups_may_still_be_under_way():
    out = after("""
        __pipeline_memcpy_async(&s[0][t], &in[t], 4);
        __pipeline_commit();
        __pipeline_memcpy_async(&s[1][t], &in[64 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        out[t] = s[0][t];
        out[64 + t] = s[1][t];
        __pipeline_wait_prior(0);
        out[128 + t] = s[1][t];""")
    np.testing.assert_array_equal(out[:64], IN[:64])
    assert (out[64:128] == -1).all()
    np.testing.assert_array_equal(out[128:192], IN[64:128])


def test_groups_are_counted_thread_by_thread():
    """Odd threads close one group more: a wait for all but one leaves the copy of the even ones under way."""
    out = after("""
        __pipeline_memcpy_async(&s[0][t], &in[t], 4);
        __pipeline_commit();
        if (t % 2) __pipeline_commit();
        __pipeline_wait_prior(1);
        out[t] = s[0][t];""")
    np.testing.assert_array_equal(out[1:64:2], IN[1:64:2])
    assert (out[0:64:2] == -1).all()


def test_sixteen_bytes_zero_fill_and_a_ragged_block_in_many_blocks():
    out = after("""
        int i = 64 * blockIdx.x + 4 * t;
        if (t < 16) __pipeline_memcpy_async(&s[0][4 * t], &in[i], 16, t == 15 ? 8 : 0);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        for (int k = t; k < 64; k += blockDim.x) out[64 * blockIdx.x + k] = s[0][k];""", block=20, grid=5)  # fmt: skip
    expected = IN[: 5 * 64].reshape(5, 64).copy()
    expected[:, 62:] = 0
    np.testing.assert_array_equal(out[: 5 * 64].reshape(5, 64), expected)


def test_a_source_outside_its_array_is_found_unless_nothing_is_read_from_it():
    body = "__pipeline_memcpy_async(&s[0][t], &in[t + 10000], 4, %s); __pipeline_commit(); __pipeline_wait_prior(0);"
    after(body % "4")
    with pytest.raises(RunFailed, match="reads element 10000 of `in`"):
        after(body % "0")


def test_a_copy_outside_shared_memory_is_found_when_it_starts():
    with pytest.raises(RunFailed, match="line 7: thread 3 of block 0 writes element 259 of the shared array `s`"):
        after("__pipeline_memcpy_async(&s[0][t + (t >= 3 ? 256 : 0)], &in[t], 4);", observers=[Hazards()])


PART = """asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(&s[0][4 * t])), "l"(&in[FROM]), "r"(SIZE));
    asm volatile("cp.async.wait_all;");"""
OUT = "__syncthreads(); for (int k = t; k < 128; k += 32) out[k] = s[0][k];"


def part_of_each(start: str, size: str, values: np.ndarray, observers=()) -> np.ndarray:
    text = (HEAD % (PART + OUT)).replace("FROM", start).replace("SIZE", size)
    return execute(text, block=32, observers=observers, **{"in": values, "out": zeros(1024)})["out"]


def test_a_lane_reads_only_the_bytes_of_its_source_and_writes_all():
    """Sizes of 16, 11, 6 and 1 bytes in turn: one request with the sectors of what is read; the rest is zeros."""
    requests = MemoryRequests()
    out = part_of_each("4 * t", "16 - 5 * (t % 4)", IN, observers=[requests])
    data = IN[:128].view(np.uint8).reshape(32, 16).copy()
    data[np.arange(16) >= (16 - 5 * (np.arange(32) % 4))[:, None]] = 0
    np.testing.assert_array_equal(out[:128], data.view(np.int32).ravel())
    counted = requests.totals()
    assert (counted["global_load_requests"], counted["global_load_sectors"]) == (1, 16)


def test_the_end_of_an_array_may_lie_inside_the_sixteen_bytes_of_a_copy():
    """The array has 1,022 elements; the last lane's copy starts at element 1,020."""
    out = part_of_each("4 * t + 896", "t == 31 ? 8 : 16", IN[:1022])
    np.testing.assert_array_equal(out[:128], np.r_[IN[896:1022], 0, 0])
    with pytest.raises(RunFailed, match="thread 31 of block 0 reads element 1020 of `in`, which has 1022 elements"):
        part_of_each("4 * t + 896", "t == 31 ? 9 : 16", IN[:1022])


def test_bytes_that_a_copy_does_not_read_cannot_race():
    body = "if (t == 0) __pipeline_memcpy_async(&s[0][0], &out[0], 16, %d); if (t == 40) out[3] = 1;"
    found = {}
    for rest in (0, 4):
        hazards = Hazards()
        after(body % rest + "__pipeline_commit(); __pipeline_wait_prior(0);", observers=[hazards])
        found[rest] = [finding.kind for finding in hazards.findings()]
    assert found == {0: ["global-race"], 4: []}


def test_a_predicate_can_ignore_the_source():
    out = after("""
        unsigned to = __cvta_generic_to_shared(&s[0][t]);
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }"
                     :: "r"(to), "l"(t % 2 ? in + 5000 : in + t), "r"(t % 2));
        asm volatile("cp.async.wait_all;");
        out[t] = s[0][t];""")
    np.testing.assert_array_equal(out[:64], np.where(np.arange(64) % 2, 0, IN[:64]))


def test_a_copy_cannot_read_more_than_it_writes():
    with pytest.raises(RunFailed, match="thread 2 of block 0 copies 16 bytes, but gives 20"):
        part_of_each("0", "t == 2 ? 20 : 16", IN)


def test_reading_another_threads_copy_without_a_barrier_is_a_race():
    body = """
        __pipeline_memcpy_async(&s[0][t], &in[t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        %s
        out[t] = s[0][63 - t];"""
    careless, careful = Hazards(), Hazards()
    after(body % "", observers=(careless,))
    after(body % "__syncthreads();", observers=(careful,))
    assert [finding.kind for finding in careless.findings()] and not careful.findings()
