"""Lanes, warps and blocks that wait for each other: at barriers, at a grid's, for a word; and those that never meet."""

import numpy as np
import pytest

from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching import results
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import GRID_SYNC, execute, zeros
from tests.sentences import refused


def test_a_barrier_that_half_the_lanes_leave_by_exit_goes_on():
    text = """extern "C" __global__ void f(int *out) {
        if (threadIdx.x >= 16) return;
        __syncthreads();
        out[threadIdx.x] = 7;
    }"""
    assert execute(text, out=zeros(32))["out"].sum() == 16 * 7


def test_each_half_of_a_block_waits_at_the_barrier_whose_number_it_holds_in_a_register():
    # The first warps of both halves come together, 64 threads: of each barrier they are only half.
    text = """extern "C" __global__ void f(int *out) {
        __shared__ int s[128];
        int t = threadIdx.x, half = t / 64, first = t % 64 < 32;
        if (first) {
            asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
            out[t] = s[t + 32];
        } else {
            for (int i = 0; i <= half; ++i) s[t] = t + i;
            asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
            out[t] = -1;
        }
    }"""
    out = execute(text, block=128, out=zeros(128))["out"].reshape(4, 32)
    lane = np.arange(32)
    np.testing.assert_array_equal(out, [lane + 32, lane * 0 - 1, lane + 97, lane * 0 - 1])


def test_a_barrier_that_can_never_be_met_is_a_deadlock():
    text = """extern "C" __global__ void f(int *out) {
        if (threadIdx.x < 32)
            asm volatile("bar.sync 1, 64;" ::: "memory");
        else
            asm volatile("bar.sync 2, 64;" ::: "memory");
        out[threadIdx.x] = 7;
    }"""
    with refused("emulator.barriers-apart", RunFailed):
        execute(text, block=64, out=zeros(64))


IN_REGISTERS = """extern "C" __global__ void f(int *out, int number, int count) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(count) : "memory");
    out[t] = s[63 - t];
}"""


@pytest.mark.parametrize(
    ("number", "count", "key"), [(20, 64, "barrier.number"), (-1, 64, "barrier.number"), (2, 48, "barrier.count")]
)
def test_a_number_or_count_in_a_register_is_checked_too(number, count, key):
    with refused(key, RunFailed):
        execute(IN_REGISTERS, block=64, out=zeros(64), number=number, count=count)


def test_a_number_and_a_count_may_be_in_registers():
    out = execute(IN_REGISTERS, block=64, out=zeros(64), number=15, count=64)["out"]
    np.testing.assert_array_equal(out, np.arange(64)[::-1])


def test_each_warp_may_bring_a_count_of_its_own():
    text = IN_REGISTERS.replace('"r"(number), "r"(count)', '"r"(t / 64), "r"(t < 64 ? 64 : 32)').replace(
        "63 - t", "t ^ 1"
    )
    out = execute(text.replace("s[64]", "s[96]"), block=96, out=zeros(96), number=0, count=0)["out"]
    np.testing.assert_array_equal(out, np.arange(96) ^ 1)


ONE_BY_ONE = """extern "C" __global__ void f(int *out) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 7;
}"""


@pytest.mark.parametrize("schedule", [LOCKSTEP, Schedule("independent", seed=1)])
def test_a_barrier_releases_no_more_threads_than_it_counts(schedule):
    with pytest.raises(RunFailed, match=r"waits at .* line 2 .* never come there"):
        execute(ONE_BY_ONE, block=96, out=zeros(96), schedule=schedule)
    assert execute(ONE_BY_ONE, block=128, out=zeros(128), schedule=schedule)["out"].sum() == 7 * 128


def test_the_last_block_sees_all_others():
    text = """extern "C" __global__ void f(const int *in, int *part, int *out, unsigned *ticket) {
        __shared__ bool last;
        if (threadIdx.x == 0) {
            part[blockIdx.x] = in[blockIdx.x];
            __threadfence();
            last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (!last) return;
        int sum = 0;
        for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += ((volatile int *)part)[i];
        sum = __reduce_add_sync(~0u, sum);
        if (threadIdx.x == 0) out[0] = sum;
    }"""
    values = np.arange(77, dtype=np.int32)
    for lanes in (32, 320, 1 << 17):
        made = execute(text, grid=77, **{"in": values}, part=zeros(77), out=zeros(1), ticket=zeros(1, "uint32"),
                       options=Options(lanes=lanes))  # fmt: skip
        assert (made["out"][0], made["ticket"][0]) == (values.sum(), 0)


def test_grid_sync():
    size = 5 * 64
    out = execute(GRID_SYNC, grid=5, block=64, cooperative=True, a=zeros(size), out=zeros(size))["out"]
    np.testing.assert_array_equal(out, 3 * ((np.arange(size) + 33) % size))


def test_grid_sync_needs_a_cooperative_launch():
    with pytest.raises(RunFailed, match="cooperative launch"):
        execute(GRID_SYNC, grid=5, block=64, a=zeros(320), out=zeros(320))


def test_blocks_may_wait_for_each_other_within_what_runs_together():
    text = """extern "C" __global__ void f(volatile int *flag, int *out) {
        if (blockIdx.x == 0) {
            while (flag[0] == 0) ;
            out[threadIdx.x] = flag[1];
        } else if (threadIdx.x == 0) {
            flag[1] = 42;
            __threadfence();
            flag[0] = 1;
        }
    }"""
    made = execute(text, grid=3, flag=zeros(2), out=zeros(32))
    assert (made["out"] == 42).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_relay_of_waiting_threads_is_no_deadlock(seed):
    text = """__device__ int read(int *p) {
        int v;
        asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p));
        return v;
    }
    __device__ void set(int *p) { asm volatile("st.release.gpu.s32 [%0], 1;" :: "l"(p) : "memory"); }
    extern "C" __global__ void f(int *flag, int *out) {
        int t = threadIdx.x;
        __shared__ int mine;
        if (t == 0) mine = 0;
        __syncthreads();
        if (blockIdx.x == 0) { if (t == 0) set(flag); }
        else if (t == 0) { while (!read(flag)) ; set(&mine); }
        else if (t == 32) { while (!read(&mine)) ; out[0] = 7; }
    }"""
    made = execute(text, grid=2, block=64, cooperative=True, schedule=Schedule("independent", seed), flag=zeros(1),
                   out=zeros(1))  # fmt: skip
    assert made["out"][0] == 7


# The warp's other lanes wait behind the loop, but none of them writes the flag.
WAITS_FOR_A_LATER_BLOCK = {
    "a flag": "if (blockIdx.x == 0) while (flag[0] == 0) ;\n else flag[0] = 1;",
    "a flag for one lane": "if (blockIdx.x == 0) { if (t == 0) while (!flag[0]) ;\n out[t] = 1; } else flag[0] = 1;",
    "a barrier of the grid": "if (t == 0) { __threadfence(); atomicAdd((int *)flag, 1); while (flag[0] < 3); }\n"
    "__syncthreads();\n flag[1] = 3;",
}


@pytest.mark.parametrize("name", WAITS_FOR_A_LATER_BLOCK)
def test_a_wait_for_a_block_that_has_not_started_is_a_deadlock(name):
    text = 'extern "C" __global__ void f(volatile int *flag, int *out) { int t = threadIdx.x;\n'
    with pytest.raises(RunFailed, match=r"line 2: thread 0 of block 0 .* no running thread .* from 1 on") as failure:
        execute(f"{text}{WAITS_FOR_A_LATER_BLOCK[name]}\n}}", grid=3, flag=zeros(2), out=zeros(32),
                options=Options(lanes=32))  # fmt: skip
    assert failure.value.status == "deadlock"


def test_barriers_that_count():
    text = """extern "C" __global__ void f(const int *in, int *out) {
        int v = in[blockIdx.x * blockDim.x + threadIdx.x];
        int *mine = out + 3 * blockIdx.x;
        int many = __syncthreads_count(v > 0), each = __syncthreads_and(v > 0), some = __syncthreads_or(v > 5);
        if (threadIdx.x == 0) { mine[0] = many; mine[1] = each; mine[2] = some; }
    }"""
    values = np.ones((3, 64), np.int32)
    values[1, 5] = 0
    values[2, 7] = 6
    out = execute(text, grid=3, block=64, **{"in": values.ravel()}, out=zeros(9))["out"].reshape(3, 3)
    np.testing.assert_array_equal(out != 0, [[1, 1, 0], [1, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(out[:, 0], [64, 63, 64])


SWAPS = """extern "C" __global__ void f(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, old = *out, assumed;
    do { assumed = old; old = atomicCAS(out, assumed, assumed + in[i]); } while (assumed != old);
}"""


def test_the_lanes_of_a_crowded_swap_take_turns_by_blocks() -> None:
    counters = results.all_counters()
    values = np.arange(512, dtype=np.int32)
    made = execute(SWAPS, 8, 64, observers=counters, **{"in": values, "out": zeros(1)})
    assert made["out"][0] == values.sum()
    assert results.details(counters)["global_atom_requests"] < 3072  # all together: 4,096


LOCKS = """extern "C" __global__ void f(int *locks, int *out) {
    int *lock = &locks[(blockIdx.x * blockDim.x + threadIdx.x) / 32];
    while (atomicCAS(lock, 0, 1) != 0) {}
    *out += 1;
    atomicExch(lock, 0);
}"""


def test_many_lanes_that_wait_for_locks_of_their_own_warps_never_go_on() -> None:
    with pytest.raises(RunFailed) as failed:
        execute(LOCKS, 8, 64, locks=zeros(16), out=zeros(1), options=Options(seconds=20))
    assert failed.value.status == "deadlock"
