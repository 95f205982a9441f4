# ruff: noqa: E501  (a program in few lines reads better than one in many)
"""What students write of memory and of the language, and what is refused, on the emulator.

Every program is compiled for three generations of GPUs. One warp unless a test says otherwise; rows of 32 numbers, one a
thread.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute
from tests.backends.emulator.student_rows import T, rows

pytestmark = pytest.mark.usefixtures("architecture")


# ---- memory


def test_vectors_structs_and_bytes() -> None:
    text = """struct Pair { char name[5]; int value; };
extern "C" __global__ void f(const float *in, int *out) {
  int t = threadIdx.x;
  float4 four = reinterpret_cast<const float4 *>(in)[t & 7];
  int2 two = reinterpret_cast<const int2 *>(in)[t & 15];
  uchar4 bytes = reinterpret_cast<const uchar4 *>(in)[t];
  out[t] = four.x + four.y * 2 + four.z * 4 + four.w * 8;
  out[32 + t] = two.y;
  out[64 + t] = bytes.z + (bytes.w << 8);
  Pair a, b;
  for (int k = 0; k < 5; k++) a.name[k] = k + t;
  a.value = t;
  memcpy(&b, &a, sizeof a);
  out[96 + t] = b.name[t % 5] + b.value;
  ((short *)(out + 128))[t] = -t;
}"""
    values = np.arange(32, dtype=np.float32)
    out = execute(text, **{"in": values}, out=np.zeros(160, np.int32))["out"]
    fours = values.reshape(8, 4) @ [1, 2, 4, 8]
    assert out[:32].tolist() == fours[T & 7].tolist()
    assert out[32:64].tolist() == values.view(np.int32)[2 * (T & 15) + 1].tolist()
    assert out[64:96].tolist() == (values.view(np.uint32) >> 16).tolist()
    assert out[96:128].tolist() == (T % 5 + 2 * T).tolist()
    assert out[128:144].view(np.int16).tolist() == (-T).tolist()


def test_shared_arrays_of_two_dimensions_volatile_and_bool() -> None:
    made = rows(
        """__shared__ float tile[8][9]; __shared__ volatile int last[64]; __shared__ bool flags[64];
        int x = t & 7, y = t >> 3; tile[y][x] = t; last[t] = 2 * t; flags[t] = t % 3 == 0; __syncthreads();
        out[t] = tile[x][y]; out[64 + t] = last[63 - t] + flags[(t + 1) & 63]; __threadfence_block(); __threadfence();""",
        4,
        "int",
        block=64,
    ).reshape(2, 64)
    t = np.arange(64)
    assert made[0].tolist() == ((t & 7) * 8 + (t >> 3)).tolist()
    assert made[1].tolist() == (2 * (63 - t) + ((t + 1) % 64 % 3 == 0)).tolist()


def test_pointers_that_lead_each_thread_to_another_memory() -> None:
    made = rows(
        """__shared__ int s[32]; __shared__ int count; int own[4] = {100, 200, 300, 400 + out[0]}; s[t] = 2 * t; count = 0;
        __syncthreads(); int *p = t % 3 == 0 ? &s[t] : t % 3 == 1 ? &own[t & 3] : out + 64 + t; out[64 + t] = 7 * t;
        int before = *p; *p = before + 1; PUT(0, before + *p); atomicAdd(t & 1 ? &count : out + 100, 1); __syncthreads();
        PUT(1, count + s[t] + warpSize);""",
        4,
        "int",
    )
    first = np.where(T % 3 == 0, 2 * T, np.where(T % 3 == 1, 100 * ((T & 3) + 1), 7 * T))
    assert made[0].tolist() == (2 * first + 1).tolist() and made[3, 4] == 16
    assert made[1].tolist() == (16 + 2 * T + (T % 3 == 0) + 32).tolist()


def test_arrays_of_a_thread_that_are_indexed_by_a_variable() -> None:
    made = rows(
        """int a[16]; for (int k = 0; k < 16; k++) a[(k * 7 + t) & 15] = k * t;
        int sum = 0; for (int k = 0; k < 16; k++) sum += a[(k + t) & 15] * k; PUT(0, sum);""",
        1,
        "int",
    )
    wanted = []
    for t in range(32):
        a = [0] * 16
        for k in range(16):
            a[(k * 7 + t) & 15] = k * t
        wanted.append(sum(a[(k + t) & 15] * k for k in range(16)))
    assert made[0].tolist() == wanted


# ---- the language


def test_constants_templates_lambdas_structures_and_switch() -> None:
    made = rows(
        """PUT(0, table[t & 7] + scale.x + twice(t)); PUT(1, sum<4>(t)); PUT(2, apply([=](int a) { return a * t; }, 3));
        PUT(3, moved(Point{t, 2, 3.f}).a); int r;
        switch (t % 9) { case 0: r = 5; break; case 1: r = 2 * t; break; case 2: r = t - 7; case 3: r = 99; break;
          case 4: r = 1; break; case 5: r = t * t; break; case 6: r = -1; break; case 7: r = 8; break; default: r = 0; }
        PUT(4, r); int k = t; again: k = 3 * k + 1; if (k < 1000) goto again; PUT(5, k);
        PUT(6, t ? grid[1][t % 3] : 0); atomicAdd(&total, t); __syncthreads(); PUT(7, total);""",
        8,
        "int",
        """__constant__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8}; struct Point { int a, b; float c; };
        __constant__ Point scale_of = {5, 1, 2.f}; struct Scale { int x; }; __constant__ Scale scale = {5};
        __device__ int factor = 2; __device__ int total; __device__ float grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
        __device__ __noinline__ int twice(int a) { return a * factor; }
        __device__ __noinline__ Point moved(Point p) { p.a += p.b; return p; }
        template <int N> __device__ int sum(int a) { int s = 0; for (int i = 0; i < N; i++) s += a * i; return s; }
        template <class F> __device__ int apply(F f, int a) { return f(a); }""",
    )

    def switched(t: int) -> int:
        return {0: 5, 1: 2 * t, 2: 99, 3: 99, 4: 1, 5: t * t, 6: -1, 7: 8}.get(t % 9, 0)

    def grown(k: int) -> int:
        k = 3 * k + 1
        return k if k >= 1000 else grown(k)

    wanted = [
        (T & 7) + 1 + 5 + 2 * T, 6 * T, 3 * T, T + 2, [switched(int(t)) for t in T], [grown(int(t)) for t in T],
        np.where(T == 0, 0, T % 3 + 4), np.full(32, 496),
    ]  # fmt: skip
    for row, values in enumerate(wanted):
        np.testing.assert_array_equal(made[row], values, f"row {row}")


def test_assembly_of_ones_own() -> None:
    made = rows(
        """unsigned r; asm("{ .reg .pred p; setp.eq.u32 p, %1, 3; @p bra L1; add.u32 %0, %1, 1; bra L2;"
        "L1: mov.u32 %0, 77; L2: }" : "=r"(r) : "r"(t)); PUT(0, r);
        unsigned q; asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(q) : "r"(r), "r"(t), "r"(5)); PUT(1, q);
        unsigned lane; asm volatile("mov.u32 %0, %laneid;" : "=r"(lane)); PUT(2, lane); unsigned n = t;
        for (int k = 0; k < 3; k++)
          asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 1; @p bra L1; add.u32 %0, %0, 10; L1: }" : "+r"(n) : "r"(k));
        PUT(3, n);""",
        4,
    )
    first = np.where(T == 3, 77, T + 1)
    assert made[0].tolist() == first.tolist() and made[1].tolist() == (first ^ T ^ 5).tolist()
    assert made[2].tolist() == T.tolist() and made[3].tolist() == (T + 20).tolist()


def test_votes_of_a_block_and_the_clock() -> None:
    made = rows(
        """out[t] = __syncthreads_count(t & 1); out[64 + t] = __syncthreads_and(t < 64) + 2 * __syncthreads_or(t == 3);
        long long start = clock64(); __nanosleep(100); unsigned now = clock(); unsigned long long time;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)); out[128 + t] = clock64() >= start && clock() >= now;""",
        6,
        block=64,
    )
    assert set(made[:2].ravel()) == {32} and set(made[2:4].ravel()) == {3} and set(made[4:].ravel()) == {1}


def test_a_clock_advances_with_every_instruction() -> None:
    made = rows(
        """long long start = clock64(); out[t] = 3; long long one = clock64();
        for (volatile int k = 0; k < 100; k++); long long two = clock64();
        out[32 + t] = one - start; out[64 + t] = two - one; out[96 + t] = -(clock64() - clock64());""",
        4,
        "int",
    )
    assert made[1].min() >= 2 and made[1].max() < 12 and set(made[3]) == {1}  # a look itself counts, too
    assert len(set(made[2])) == 1 and 300 < made[2][0] < 2000


def test_printf_knows_every_conversion() -> None:
    text = r"""extern "C" __global__ void f(int *out) { int t = threadIdx.x; if (t < 2)
  printf("%d %i %u %x %X %o %c %s %f %.2f %e %g %5d|%-5d|%05d %+d %% %lld %llu %hd %ld %zu %a %*d\n", t - 1, t, t, 255, 255,
         8, 'a' + t, "str", 1.5f, 2.25, 1e10, 1e-5, t, t, t, t, 1ll << 40, 1ull << 63, (short)-3, -5L, sizeof(int), 1.5, 6,
         42);
}"""
    printed = execute(text, out=np.zeros(1, np.int32))["printed"]
    assert printed == [
        f"{t - 1} {t} {t} ff FF 10 {'ab'[t]} str 1.500000 2.25 1.000000e+10 1e-05 {t:5d}|{t:<5d}|{t:05d} +{t} % "
        f"{1 << 40} {1 << 63} -3 -5 4 0x1.8p+0     42\n"
        for t in range(2)
    ]


@pytest.mark.thorough
def test_a_grid_that_waits_for_all_of_its_blocks() -> None:
    text = """#include <cooperative_groups.h>
extern "C" __global__ void f(int *a, int *out) {
  auto grid = cooperative_groups::this_grid(); int i = grid.thread_rank();
  a[i] = i * i; grid.sync(); out[i] = a[grid.size() - 1 - i];
}"""
    zeros = np.zeros(4 * 64, np.int32)
    out = execute(text, grid=4, block=64, cooperative=True, a=zeros, out=zeros)["out"]
    assert out.tolist() == [(255 - i) ** 2 for i in range(256)]


# ---- what is refused, or ends the run


REFUSED = {
    "recursion without an end": ("out[0] = fib(t + 2);", "thread 0 of block 0 calls `fib` while 1,024 calls are open"),
    "a pointer to no function": (
        "out[t] = table[t % 3](t);", "thread 2 of block 0 calls through a pointer that is null",
    ),
    "a pointer to another function": (
        "auto p = t < 9 ? (int (*)(int, int))one : three; out[t] = p(t, t);",
        "thread 0 of block 0 calls through a pointer to no function with these parameters and results",
    ),
    "a function without a body": ("out[t] = nowhere(t);", "the function nowhere is declared but not defined"),
    "a surface": ("out[t] = surf1Dread<int>((cudaSurfaceObject_t)7, 4 * t);", "a surface, a gather from a texture or a map for the copy engine is not emulated"),
    "no texture": ("out[t] = tex1Dfetch<int>((cudaTextureObject_t)7, t);", "thread 0 of block 0 reads a texture with the handle 0x7"),
    "a layered texture": ("out[t] = tex2DLayered<int>((cudaTextureObject_t)7, t, t, 1);", "this form of texture is not emulated: tex.a2d"),
    "dynamic shared memory": (
        "extern __shared__ int own[]; own[t] = t; out[t] = own[31 - t];", "this launch sets none"
    ),
    "too few operands": ('asm volatile("add.s32 %0, %0;" : "+r"(out[t]));', "add.s32 takes 2 operands but gets 1"),
    "a vote as before Volta": ("out[t] = __ballot(t & 1);", "ends in _sync"),
    "a lost label": ('asm volatile("bra nowhere;");', "bra goes to the label nowhere, which does not exist"),
    "an instruction that does not exist": ('asm volatile("foo.s32 %0, %0;" : "+r"(out[t]));', "not emulated: foo.s32"),
    "assert": ("assert(t < 3); out[t] = 1;", "thread 3 of block 0 fails the assertion t < 3"),
    "trap": ("if (t == 7) __trap(); out[t] = 1;", "the kernel stops itself here (trap)"),
}  # fmt: skip


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_told_in_one_sentence_with_its_line(what: str) -> None:
    body, clause = REFUSED[what]
    text = f"""__device__ __noinline__ int one(int a) {{ return a + 1; }}
__device__ __noinline__ int two(int a) {{ return a * 2; }}
__device__ __noinline__ int fib(int n) {{ return n < 2 ? n : fib(n + 1) + fib(n + 2); }}
__device__ __noinline__ int three(int a, int b) {{ return a * b; }} __device__ int (*table[3])(int) = {{one, two}};
__device__ int nowhere(int);
extern "C" __global__ void f(int *out) {{
  int t = threadIdx.x;
  {body}
}}"""
    with pytest.raises(RunFailed) as caught:
        execute(text, out=np.zeros(64, np.int32))
    line = 3 if what == "recursion without an end" else 8
    assert clause in str(caught.value) and f"test.cu, line {line}: " in str(caught.value)
    assert re.fullmatch(r"[^\n]*[^.?!][.?!]", str(caught.value)) and caught.value.__cause__ is None
