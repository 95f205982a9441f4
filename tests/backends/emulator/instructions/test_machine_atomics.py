"""Atomics: lanes at one address take turns, on global and on shared memory, whether the old value is read or not."""

import numpy as np
import pytest

from tests.backends.emulator.small_kernels import execute, zeros


def test_atomics_that_return_see_each_other():
    text = """extern "C" __global__ void f(int *counter, int *place, unsigned *wrap) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        place[i] = atomicAdd(counter + i % 3, 1) * 3 + i % 3;
        atomicInc(wrap, 6);
    }"""
    made = execute(text, grid=5, block=70, counter=zeros(3), place=zeros(350), wrap=zeros(1, "uint32"))
    np.testing.assert_array_equal(made["counter"], [117, 117, 116])
    np.testing.assert_array_equal(
        np.sort(made["place"]), np.sort([k * 3 + r for r in range(3) for k in range(117 - (r == 2))])
    )
    assert made["wrap"][0] == 350 % 7


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("call, combine", [
    ("atomicAdd(a, v)", np.add.reduce), ("atomicMin(a, v)", np.minimum.reduce), ("atomicMax(a, v)", np.maximum.reduce),
    ("atomicAnd(a, v)", np.bitwise_and.reduce), ("atomicOr(a, v)", np.bitwise_or.reduce),
    ("atomicXor(a, v)", np.bitwise_xor.reduce), ("atomicSub(a, v)", lambda v: 2 * v[0] - v.sum()),
])  # fmt: skip
@pytest.mark.parametrize("spread", [1, 5])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics(call, combine, spread, space):
    where = "out" if space == "global" else "s"
    text = f"""extern "C" __global__ void f(const int *in, int *out) {{
        __shared__ int s[8];
        if (threadIdx.x < {spread}) s[threadIdx.x] = out[threadIdx.x];
        __syncthreads();
        int i = threadIdx.x, v = in[i], *a = {where} + i % {spread};
        if (v != 17) {call};
        __syncthreads();
        if ({int(space == "shared")} && threadIdx.x < {spread}) out[threadIdx.x] = s[threadIdx.x];
    }}"""
    values = np.random.default_rng(3).integers(-1000, 1000, 96).astype(np.int32)
    values[7] = 17
    start = np.array([5, -9, 123, 77, 1023], np.int32)[:spread]
    out = execute(text, block=96, **{"in": values}, out=start)["out"]
    assert len(out) == spread > 0
    for place in range(spread):
        chain = np.r_[start[place], [v for i, v in enumerate(values) if i % spread == place and v != 17]]
        assert out[place] == combine(chain.astype(np.int32))


def test_exchange_and_compare_and_swap():
    text = """extern "C" __global__ void f(int *word, int *seen, int *lock) {
        seen[threadIdx.x] = atomicExch(word, threadIdx.x + 1);
        int won = atomicCAS(lock, 0, threadIdx.x + 100);
        if (won == 0) lock[1] = threadIdx.x;
    }"""
    made = execute(text, block=64, word=zeros(1), seen=zeros(64), lock=zeros(2))
    assert sorted(made["seen"].tolist() + made["word"].tolist()) == list(range(65))
    assert made["lock"][0] == made["lock"][1] + 100


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_add_of_floats_by_compare_and_swap(dtype):
    word = {"float32": "unsigned int", "float64": "unsigned long long"}[dtype]
    text = f"""extern "C" __global__ void f(const T *in, T *out) {{
        {word} *a = ({word} *)out, old = *a, assumed;
        do {{
            assumed = old;
            T sum = *(T *)&assumed + in[threadIdx.x];
            old = atomicCAS(a, assumed, *({word} *)&sum);
        }} while (assumed != old);
    }}"""
    values = np.arange(64).astype(dtype) / 4
    assert execute(text, block=64, dtype=dtype, **{"in": values}, out=np.zeros(1, dtype))["out"][0] == values.sum()


@pytest.mark.parametrize(("kind", "dtype"), [("int", "int32"), ("unsigned long long", "uint32")])
def test_an_atomic_whose_address_may_be_in_local_memory(kind, dtype):
    """Each thread has its own array there; odd threads mean the one in shared memory."""
    text = f"""extern "C" __global__ void f({kind} *out, int k) {{
        __shared__ {kind} s[4];
        {kind} mine[4] = {{}};
        int t = threadIdx.x;
        if (t < 4) s[t] = 0;
        __syncthreads();
        {kind} *to = t % 2 ? s : mine;
        {kind} before = 0;
        for (int i = 0; i < 3; i++) before = atomicAdd(to + (t + k) % 4, ({kind})(t + 1));
        __syncthreads();
        out[blockIdx.x * 40 + t] = t % 2 ? to[(t + k) % 4] : mine[(t + k) % 4] * 1000 + before;
    }}"""
    size = 2 if "long" in kind else 1
    made = execute(text, grid=3, block=40, dtype="", out=zeros(120 * size, dtype), k=1)["out"]
    found = made.view(np.uint64 if size == 2 else np.int32).reshape(3, 40)
    t = np.arange(40)
    shared = [3 * sum(u + 1 for u in t if u % 2 and (u + 1) % 4 == place) for place in range(4)]
    expected = [shared[(u + 1) % 4] if u % 2 else 3 * (u + 1) * 1000 + 2 * (u + 1) for u in t]
    np.testing.assert_array_equal(found, [expected] * 3)
