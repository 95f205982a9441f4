"""Small kernels in the style of the lectures, run on the emulator: answers and failures."""

import gc

import numpy as np
import pytest

from engine.backends.emulator.state.machine import Machine, Options
from engine.backends.emulator.state.memory import AddressSpace
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching import results
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute, zeros
from tests.sentences import refused, sentence


def test_threads_know_where_they_are_in_three_dimensions():
    text = """extern "C" __global__ void f(int *out) {
        int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        int size = blockDim.x * blockDim.y * blockDim.z;
        out[block * size + thread] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x
            + 10000 * blockIdx.y + 100000 * blockIdx.z;
    }"""
    out = execute(text, grid=(2, 3, 2), block=(3, 4, 5), out=zeros(12 * 60))["out"]
    number = np.arange(12 * 60)
    block, thread = number // 60, number % 60
    expected = thread % 3 + 10 * (thread // 3 % 4) + 100 * (thread // 12)
    expected += 1000 * (block % 2) + 10000 * (block // 2 % 3) + 100000 * (block // 6)
    np.testing.assert_array_equal(out, expected)


def test_the_callers_arrays_are_never_changed():
    mine = np.arange(32, dtype=np.int32)
    execute('extern "C" __global__ void f(int *a) { a[threadIdx.x] = -1; }', a=mine)
    np.testing.assert_array_equal(mine, np.arange(32))


@pytest.mark.parametrize("block", [1, 31, 32, 33, 100, 1024])
def test_block_sizes_that_are_no_multiple_of_a_warp(block):
    text = """extern "C" __global__ void f(const int *in, int *out) {
        __shared__ int s[1024];
        s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
        __syncthreads();
        out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
    }"""
    values = np.arange(3 * block, dtype=np.int32)
    out = execute(text, grid=3, block=block, **{"in": values}, out=zeros(3 * block))["out"]
    np.testing.assert_array_equal(out.reshape(3, block), values.reshape(3, block)[:, ::-1])


@pytest.mark.parametrize(
    "body, key",
    [
        ("out[i] = in[i + 1];", "address.reads-past-the-end"),
        ("out[i] = in[i - 1];", "address.reads-before-the-start"),
        ("if (i > 40) out[2 * i] = 1;", "address.writes-past-the-end"),
        ("int k = in[i] & 1; if (k) out[k * 100 + i] = 1;", "address.depends-on-data"),
        ("atomicAdd(out + 64 + in[i], 1);", "address.updates-past-the-end"),
        ("s[threadIdx.x + 1] = 1; out[i] = s[0];", "address.shared"),
        ("out[i] = *(int *)(long long)(i * 4);", "address.null"),
    ],
)
def test_an_address_outside_every_array_is_named(body, key):
    text = f"""extern "C" __global__ void f(const int *in, int *out) {{
        __shared__ int s[32];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {body}
    }}"""
    with pytest.raises(RunFailed) as failure:
        execute(text, grid=2, **{"in": np.arange(64, dtype=np.int32)}, out=zeros(64))
    assert failure.value.status == "out-of-bounds"
    assert failure.value.line == 4
    assert sentence(key, str(failure.value))


def test_a_misaligned_address_is_named():
    text = """extern "C" __global__ void f(int *out) { *(int2 *)(out + threadIdx.x) = make_int2(1, 2); }"""
    with pytest.raises(RunFailed, match=r"line 1: thread 1 of block 0 .*\b8 bytes"):
        execute(text, out=zeros(64))


def test_an_address_that_is_misaligned_near_the_end_is_called_misaligned():
    text = """extern "C" __global__ void f(int *out) { *(int *)((char *)(out + 63) + 1) = 42; }"""
    with pytest.raises(RunFailed, match=r"writes 4 bytes at .* not a multiple of 4"):
        execute(text, out=zeros(64))


@pytest.mark.parametrize("where", ["float *s = out;", "__shared__ __align__(16) float s[62];"])
def test_a_wide_access_past_the_end_names_all_its_elements(where: str):
    text = f"""extern "C" __global__ void f(float *out) {{ {where}
        ((float4 *)s)[threadIdx.x / 2] = make_float4(0, 0, 0, threadIdx.x);
        __syncthreads(); out[threadIdx.x / 2] += s[threadIdx.x / 3]; }}"""
    with pytest.raises(RunFailed, match=r"thread 30 of block 0 writes elements 60 to 63 of .*, which has 62 elements"):
        execute(text, out=np.zeros(62, np.float32))


def test_idle_lanes_may_hold_any_address():
    text = """extern "C" __global__ void f(const int *in, int *out, int n) {
        int i = in[threadIdx.x];
        if (i < n) out[i] = in[i] + 1;
    }"""
    values = np.where(np.arange(32) % 3 == 0, np.arange(32), 1 << 30).astype(np.int32)
    out = execute(text, **{"in": values}, out=zeros(32), n=32)["out"]
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 3 == 0, np.arange(32) + 1, 0))


def test_an_endless_loop_ends_in_a_sentence():
    text = """extern "C" __global__ void f(int *out) {
        int i = 0;
        while (out[0] == 0)
            i++;
        out[1] = i;
    }"""
    with pytest.raises(RunFailed, match=r"line [34]: this loop never ends") as failure:
        execute(text, out=zeros(2), options=Options(step_limit=2000))
    assert failure.value.status == "timeout"


def test_the_deadline_ends_a_run():
    text = 'extern "C" __global__ void f(volatile int *out) { for (;;) out[0]++; }'
    with pytest.raises(RunFailed, match="stopped after 0 s") as failure:
        execute(text, out=zeros(2), options=Options(seconds=0.0))
    assert failure.value.status == "timeout"


def test_the_deadline_ends_a_run_of_many_short_chunks():
    text = 'extern "C" __global__ void f(int *out) { if (blockIdx.x == 1) out[0] = 1; }'
    for schedule in (LOCKSTEP, Schedule("waves", blocks_per_wave=1)):
        with refused("machine.late-between-chunks", RunFailed) as failure:
            execute(text, 9, schedule=schedule, out=zeros(2), options=Options(lanes=32, seconds=0.0))
        assert failure.value.status == "timeout"
    assert execute(text, 1, out=zeros(2), options=Options(seconds=0.0))["out"][0] == 0  # one short chunk is not cut off


def test_an_unknown_instruction_is_named():
    text = """extern "C" __global__ void f(int *out) {
        out[0] = 1;
        asm volatile("tcgen05.fence;");
    }"""
    with pytest.raises(RunFailed) as failure:
        execute(text, out=zeros(2))
    assert failure.value.status == "crashed" and failure.value.line == 3
    assert sentence("emulator.not-emulated", str(failure.value))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_vectors_and_types(dtype):
    pair = {"int32": "int2", "float32": "float2", "float64": "double2"}[dtype]
    text = f"""extern "C" __global__ void f(const T *in, T *out) {{
        __shared__ {pair} s[32];
        s[threadIdx.x] = (({pair} *)in)[threadIdx.x];
        __syncthreads();
        {pair} v = s[31 - threadIdx.x];
        out[2 * threadIdx.x] = v.x - v.y;
        out[2 * threadIdx.x + 1] = v.x * v.y;
    }}"""
    values = np.random.default_rng(1).integers(-50, 50, 64).astype(dtype)
    out = execute(text, dtype=dtype, **{"in": values}, out=np.zeros(64, dtype))["out"].reshape(32, 2)
    x, y = values[::2][::-1], values[1::2][::-1]
    np.testing.assert_array_equal(out, np.stack([x - y, x * y], 1))


def test_bytes_and_halves_in_shared_memory():
    text = """extern "C" __global__ void f(const int *in, int *out) {
        __shared__ unsigned char c[64];
        __shared__ short h[64];
        __shared__ bool all;
        int i = threadIdx.x;
        c[i] = in[i]; h[63 - i] = in[i];
        if (i == 5) all = in[5] > 0;
        __syncthreads();
        out[i] = c[63 - i] + 1000 * h[i] + (all ? 1000000000 : 0);
    }"""
    values = np.random.default_rng(1).integers(-120, 120, 64).astype(np.int32)
    out = execute(text, block=64, **{"in": values}, out=zeros(64))["out"]
    expected = values[::-1].astype(np.uint8).astype(np.int64) + 1000 * values[::-1] + 1000000000 * int(values[5] > 0)
    np.testing.assert_array_equal(out, expected)


def test_local_arrays_and_loops_of_their_own_length():
    text = """extern "C" __global__ void f(const int *in, int *out) {
        int digits[16], n = 0, v = in[threadIdx.x];
        do { digits[n++] = v % 10; v /= 10; } while (v);
        int back = 0;
        for (int k = 0; k < n; k++) back = back * 10 + digits[k];
        out[threadIdx.x] = back;
    }"""
    values = np.random.default_rng(5).integers(0, 10**6, 64).astype(np.int32)
    out = execute(text, block=64, **{"in": values}, out=zeros(64))["out"]
    np.testing.assert_array_equal(out, [int(str(v)[::-1]) for v in values])


def test_switch_and_functions():
    text = """__device__ __noinline__ int twice(int x) { return 2 * x; }
    __device__ __noinline__ int odd(int x) { return x & 1 ? twice(x) + 1 : -x; }
    extern "C" __global__ void f(const int *in, int *out) {
        int v = in[threadIdx.x];
        switch (v) {
            case 0: v = odd(7); break;
            case 1: v *= 7; break;
            case 2: v = odd(v); break;
            case 3: v = twice(v); break;
            case 4: v ^= 255; break;
            case 5: v = -1; break;
            case 6: v = odd(twice(3) + 1); break;
            default: v = odd(v);
        }
        out[threadIdx.x] = v;
    }"""
    values = np.arange(64, dtype=np.int32) % 9
    table = [15, 7, -2, 6, 251, -1, 15, 15, -8]
    out = execute(text, block=64, **{"in": values}, out=zeros(64))["out"]
    np.testing.assert_array_equal(out, [table[v] for v in values])


def test_printf_and_assert():
    text = """extern "C" __global__ void f(int *out) {
        if (threadIdx.x < 2) printf("thread %d of %s: %5.2f %u %lld %c%%\\n", threadIdx.x, "two", 1.5 * threadIdx.x,
                                    4000000000u, -5000000000LL, 'x');
        if (out[0]) assert(threadIdx.x != 3);
    }"""
    printed = execute(text, out=zeros(4))["printed"]
    assert printed == [
        "thread 0 of two:  0.00 4000000000 -5000000000 x%\n", "thread 1 of two:  1.50 4000000000 -5000000000 x%\n",
    ]  # fmt: skip
    with pytest.raises(RunFailed, match=r"thread 3 of block 0 fails the assertion threadIdx.x != 3"):
        execute(text, out=np.ones(4, np.int32))


def test_module_variables_keep_their_values_between_blocks():
    text = """__device__ int total = 40;
    __constant__ int weights[4] = {1, 10, 100, 1000};
    extern "C" __global__ void f(int *out) {
        atomicAdd(&total, 1);
        __syncthreads();
        if (blockIdx.x == 1) out[threadIdx.x] = total + weights[threadIdx.x & 3];
    }"""
    out = execute(text, grid=2, out=zeros(32), options=Options(lanes=32))["out"]
    np.testing.assert_array_equal(out, 104 + 10 ** (np.arange(32) % 4))


def test_more_shared_memory_than_a_block_can_have_is_refused():
    text = """extern "C" __global__ void f(int *out) {
        __shared__ int s[20000];
        s[threadIdx.x * 600] = out[0];
        __syncthreads();
        out[threadIdx.x] = s[out[1]];
    }"""
    with refused("emulator.shared-too-large", RunFailed):
        execute(text, out=zeros(32))


def test_a_run_leaves_no_memory_behind():
    text = 'extern "C" __global__ void f(int *out) { out[threadIdx.x] = threadIdx.x % 3 ? 1 : 2; }'
    execute(text, out=zeros(32), observers=results.usual_observers())
    gc.collect()
    gc.disable()
    try:
        execute(text, out=zeros(32), observers=results.usual_observers())
        assert not [each for each in gc.get_objects() if isinstance(each, Machine | AddressSpace)]
    finally:
        gc.enable()
