# ruff: noqa: E501  (a program in few lines reads better than one in many)
"""What students write, compiled for three generations of GPUs and run on the emulator; NumPy says what comes out.

One warp unless a test says otherwise. Every kernel writes what it computes as rows of 32 numbers, one a thread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest

from engine.compile import EMULATED_ARCHITECTURE
from engine.ptx import launch
from engine.records import Array, RunFailed
from tests.ptx.small_kernels import execute

T = np.arange(32)
HEAD = "#define PUT(row, value) out[(row) * 32 + t] = (value)\n"


@pytest.fixture(
    params=[
        pytest.param("compute_75", marks=pytest.mark.thorough),
        pytest.param("compute_80", marks=pytest.mark.thorough),
        EMULATED_ARCHITECTURE,
    ],
    autouse=True,
)
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Compile for an older GPU; what was compiled for another one is forgotten."""
    other = request.param != EMULATED_ARCHITECTURE
    monkeypatch.setattr(launch, "EMULATED_ARCHITECTURE", request.param)
    for cache in (launch._module, launch.load) if other else ():
        cache.cache_clear()
    yield request.param
    for cache in (launch._module, launch.load) if other else ():
        cache.cache_clear()


def rows(body: str, count: int, kind: str = "unsigned int", before: str = "", **options: Any) -> Array:
    """`count` rows of 32 numbers that the body of a kernel PUTs."""
    dtype = {"unsigned int": "uint32", "int": "int32", "float": "float32", "double": "float64"}[kind]
    text = f'{HEAD}{before}\nextern "C" __global__ void f({kind} *out) {{ int t = threadIdx.x;\n{body}\n}}'
    return execute(text, out=np.zeros(count * 32, dtype), **options)["out"].reshape(count, 32)


def bits_of(lanes: Array) -> int:
    """Lanes that are set -> the word of a ballot."""
    return int(sum(1 << int(lane) for lane in np.flatnonzero(lanes)))


def in_groups(keys: Sequence[int] | Array) -> list[int]:
    """For every lane, the lanes that hold the same key."""
    return [bits_of(np.asarray(keys) == key) for key in keys]


# ---- warps


def test_votes_and_matches() -> None:
    made = rows(
        """PUT(0, __ballot_sync(~0u, t % 3 == 0)); PUT(1, __any_sync(~0u, t == 31)); PUT(2, __all_sync(~0u, t < 31));
        PUT(3, __match_any_sync(~0u, t / 5)); PUT(4, __match_any_sync(~0u, (double)(t & 1)));
        int same; PUT(5, __match_all_sync(~0u, 7, &same)); PUT(6, same);
        PUT(7, __match_all_sync(~0u, (unsigned long long)(t == 9) << 40, &same)); PUT(8, same);
        if (t % 4 == 1) PUT(9, __activemask()); else PUT(9, __ballot_sync(~0x22222222u, t & 1));""",
        10,
    )
    assert set(made[0]) == {bits_of(T % 3 == 0)} and set(made[1]) == {1} and set(made[2]) == {0}
    assert made[3].tolist() == in_groups(T // 5) and made[4].tolist() == in_groups(T & 1)
    assert set(made[5]) == {0xFFFFFFFF} and set(made[6]) == {1} and not made[7:9].any()
    assert made[9].tolist() == [0x22222222 if t % 4 == 1 else bits_of((T & 1 == 1) & (T % 4 != 1)) for t in T]


def test_parties_of_a_warp_vote_and_match_among_themselves() -> None:
    made = rows(
        """unsigned party = __match_any_sync(~0u, t % 3); PUT(0, party); PUT(1, __ballot_sync(party, t & 1));
        PUT(2, __all_sync(party, t % 3 == 1)); PUT(3, __any_sync(party, t == 5)); PUT(4, __match_any_sync(party, t & 1));
        int same; __match_all_sync(party, t % 3, &same); PUT(5, same); PUT(6, __shfl_sync(party, t, __ffs(party) - 1));
        #if __CUDA_ARCH__ >= 800
        PUT(7, __reduce_add_sync(party, t)); PUT(8, __reduce_max_sync(party, t));
        #endif""",
        9,
    )
    third = T % 3
    mine = [third == own for own in third]
    assert made[0].tolist() == [bits_of(lanes) for lanes in mine]
    assert made[1].tolist() == [bits_of(lanes & (T & 1 == 1)) for lanes in mine]
    assert made[2].tolist() == (third == 1).tolist() and made[3].tolist() == (third == 2).tolist()
    assert made[4].tolist() == in_groups(third * 2 + (T & 1)) and set(made[5]) == {1}
    assert made[6].tolist() == third.tolist()
    if made[7].any():  # begins with compute_80
        assert made[7].tolist() == [T[lanes].sum() for lanes in mine]
        assert made[8].tolist() == [T[lanes].max() for lanes in mine]


def test_shuffles_of_all_forms_and_types() -> None:
    made = rows(
        """PUT(0, __shfl_sync(~0u, 3 * t, t ^ 5)); PUT(1, __shfl_sync(~0u, t, t + 3, 8)); PUT(2, __shfl_up_sync(~0u, t, 3));
        PUT(3, __shfl_up_sync(~0u, t, 1, 4)); PUT(4, __shfl_down_sync(~0u, t, 5)); PUT(5, __shfl_down_sync(~0u, t, 5, 16));
        PUT(6, __shfl_xor_sync(~0u, t, 9)); PUT(7, __shfl_xor_sync(~0u, t, 4, 8)); PUT(8, __shfl_sync(~0u, 1.5 * t, 3));
        PUT(9, __shfl_down_sync(~0u, (long long)t << 35, 1) >> 35); PUT(10, __shfl_xor_sync(~0u, t * 0.25f, 1) * 4);""",
        11,
        "int",
    )
    segment = T // 8 * 8
    wanted = [
        3 * (T ^ 5), segment + (T + 3) % 8, np.where(T < 3, T, T - 3), np.where(T % 4 < 1, T, T - 1),
        np.where(T > 26, T, T + 5), np.where(T % 16 > 10, T, T + 5), T ^ 9, T ^ 4, np.full(32, 4),
        np.where(T > 30, T, T + 1), T ^ 1,
    ]  # fmt: skip
    for number, row in enumerate(wanted):
        np.testing.assert_array_equal(made[number], row, f"row {number}")


def test_reductions_of_a_warp(architecture: str) -> None:
    if architecture == "compute_75":
        pytest.skip("begins with compute_80")
    made = rows(
        """PUT(0, __reduce_add_sync(~0u, t)); PUT(1, __reduce_min_sync(~0u, 5 - t)); PUT(2, __reduce_max_sync(~0u, (unsigned)-t));
        PUT(3, __reduce_and_sync(~0u, t | 8)); PUT(4, __reduce_or_sync(~0u, t)); PUT(5, __reduce_xor_sync(~0u, t * 7));""",
        6,
        "int",
    )
    exclusive = reduce(int.__xor__, (7 * T).tolist())
    assert [set(row.tolist()) for row in made] == [{496}, {-26}, {-1}, {8}, {31}, {exclusive}]


@pytest.mark.thorough
def test_cooperative_groups() -> None:
    made = rows(
        """namespace cg = cooperative_groups;
        auto block = cg::this_thread_block(); auto warp = cg::tiled_partition<32>(block);
        auto eight = cg::tiled_partition<8>(block);
        PUT(0, cg::reduce(warp, t, cg::plus<int>())); PUT(1, cg::reduce(eight, t, cg::greater<int>()));
        PUT(2, cg::inclusive_scan(eight, t)); PUT(3, cg::exclusive_scan(warp, t, cg::plus<int>()));
        if (t % 3 == 0) { auto some = cg::coalesced_threads(); PUT(4, some.size() * 100 + some.thread_rank()); }
        PUT(5, eight.shfl_down(t, 1)); PUT(6, eight.meta_group_rank()); PUT(7, warp.ballot(t & 1));
        auto label = cg::labeled_partition(warp, t % 5); PUT(8, cg::reduce(label, t, cg::plus<int>()));
        block.sync(); PUT(9, block.thread_rank() + block.size());""",
        10,
        "int",
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cooperative_groups/scan.h>",
    )
    eights = T.reshape(4, 8)
    wanted = [
        np.full(32, 496), np.repeat(eights.max(axis=1), 8), eights.cumsum(axis=1).ravel(), T.cumsum() - T,
        np.where(T % 3 == 0, 1100 + T // 3, 0), np.where(T % 8 == 7, T, T + 1), T // 8,
        np.full(32, np.uint32(0xAAAAAAAA).view(np.int32)), [T[t % 5 == T % 5].sum() for t in T], T + 32,
    ]  # fmt: skip
    for number, row in enumerate(wanted):
        np.testing.assert_array_equal(made[number], row, f"row {number}")


# ---- atomics


def test_atomics_of_every_kind() -> None:
    made = rows(
        """int *a = (int *)out; unsigned long long *u = (unsigned long long *)(out + 32);
        atomicAdd(a, t); atomicSub(a + 1, t); atomicMin(a + 2, -t); atomicMax(a + 3, t); atomicInc(out + 4, 20u);
        atomicDec(out + 5, 7u); atomicAnd(out + 6, 0u); atomicOr(out + 7, 1u << t); atomicXor(out + 8, t * 3u);
        atomicExch(out + 9, 5u); atomicCAS(out + 10, 0u, 77u); atomicAdd((float *)(out + 11), 0.5f);
        atomicAdd_block(out + 12, 2u); atomicAdd_system(out + 13, 3u); PUT(3, atomicAdd(out + 14, 1u));
        atomicAdd(u, 1ull << 33); atomicMin(u + 1, (unsigned long long)t); atomicMax(u + 2, (unsigned long long)t << 33);
        atomicMax((long long *)u + 3, (long long)(5 - t)); atomicOr(u + 4, 1ull << (t + 10)); atomicCAS(u + 5, 0ull, 7ull);
        atomicExch(u + 6, 9ull); atomicAdd((double *)(u + 7), 0.25); atomicXor(u + 8, 1ull << 40);""",
        4,
    )
    words = made[0]
    assert words[:2].view(np.int32).tolist() == [496, -496] and words[2:4].view(np.int32).tolist() == [-31, 31]
    inc = reduce(lambda now, _: 0 if now >= 20 else now + 1, range(32), 0)
    dec = reduce(lambda now, _: 7 if now == 0 or now > 7 else now - 1, range(32), 0)
    assert words[4:11].tolist() == [inc, dec, 0, 0xFFFFFFFF, reduce(int.__xor__, (3 * T).tolist()), 5, 77]
    assert words[11:12].view(np.float32)[0] == 16 and words[12:15].tolist() == [64, 96, 32]
    wide = made[1].view(np.uint64)
    assert wide[:9].tolist() == [
        1 << 38, 0, 31 << 33, 5, sum(1 << (t + 10) for t in range(32)), 7, 9, np.float64(8).view(np.uint64), 0
    ]  # fmt: skip
    assert sorted(made[3].tolist()) == list(range(32))


def test_atomics_on_shared_words_of_both_widths() -> None:
    made = rows(
        """__shared__ unsigned long long wide[4]; __shared__ unsigned narrow[2]; __shared__ double sum; __shared__ float part;
        if (t < 4) wide[t] = t; if (t < 2) narrow[t] = 0; if (t == 0) sum = part = 0; __syncthreads();
        unsigned long long old = atomicAdd(&wide[t & 3], (unsigned long long)t << 33); atomicAdd(&narrow[t & 1], 3u);
        if (t % 2) atomicMax(&wide[1], 5ull); atomicAdd(&sum, 1.5); atomicAdd(&part, 2.f); __syncthreads();
        if (t < 4) { PUT(0, wide[t] >> 33); PUT(1, (unsigned)wide[t]); } if (t < 2) PUT(2, narrow[t]);
        PUT(3, sum + part); PUT(4, old >> 33);""",
        5,
    )
    sums = [T[lane == T % 4].sum() for lane in range(4)]
    assert made[0, :4].tolist() == sums and made[1, :4].tolist() == [0, 1, 2, 3]
    assert made[2, :2].tolist() == [48, 48] and set(made[3]) == {48 + 64}
    assert made[4].tolist() == [T[(t % 4 == T % 4) & (t > T)].sum() for t in T]


def test_atomic_sums_of_half_precision() -> None:
    made = rows(
        """__half *h = (__half *)out; __half2 *pair = (__half2 *)(out + 4); __nv_bfloat16 *b = (__nv_bfloat16 *)(out + 8);
        __nv_bfloat162 *two = (__nv_bfloat162 *)(out + 12); __shared__ __half s[2]; if (t < 2) s[t] = 0; __syncthreads();
        atomicAdd(&h[t & 3], __float2half(1.5f)); atomicAdd(pair, __floats2half2_rn(1.f, -2.f));
        atomicAdd(&b[t & 3], __float2bfloat16(0.5f)); atomicAdd(two, __floats2bfloat162_rn(1.f, 4.f));
        __half old = atomicAdd(&s[t & 1], __float2half(1.f)); PUT(1, (unsigned)__half2float(old));""",
        2,
        before="#include <cuda_fp16.h>\n#include <cuda_bf16.h>",
    )
    halves = made[0].view(np.float16)
    assert halves[:4].tolist() == [12] * 4 and halves[8:10].tolist() == [32, -64]
    brains = (made[0].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert brains[16:20].tolist() == [4] * 4 and brains[24:26].tolist() == [32, 128]
    assert made[1].tolist() == (T // 2).tolist()


def test_loops_around_compare_and_swap() -> None:
    made = rows(
        """unsigned long long *p = (unsigned long long *)out, old = *p, seen;
        do { seen = old; old = atomicCAS(p, seen, __double_as_longlong(fmax(t * 1.5, __longlong_as_double(seen)))); }
        while (seen != old);
        int *q = (int *)(out + 2), before = *q, now;
        do { now = before; before = atomicCAS(q, now, __float_as_int(__int_as_float(now) + 1.f)); } while (now != before);
        unsigned short *s = (unsigned short *)(out + 3), mine = *s, last;
        do { last = mine; mine = atomicCAS(s, last, (unsigned short)(last + t)); } while (last != mine);""",
        1,
    )
    assert made[0, :2].view(np.float64)[0] == 46.5 and made[0, 2:3].view(np.float32)[0] == 32 and made[0, 3] == 496


# ---- numbers


def test_bits() -> None:
    made = rows(
        """unsigned x = (t + 1) * 0x9E3779B9u; PUT(0, __popc(x)); PUT(1, __brev(x)); PUT(2, __ffs(x)); PUT(3, __clz(x));
        PUT(4, __funnelshift_l(x, ~x, t)); PUT(5, __funnelshift_r(x, ~x, t)); PUT(6, __byte_perm(x, ~x, 0x0246));
        PUT(7, __dp4a((int)x, (int)~x, 7)); PUT(8, __dp4a(x, ~x, 7u)); PUT(9, __popcll((unsigned long long)x * x));
        PUT(10, __clzll(x)); PUT(11, __ffsll((long long)x << 20)); PUT(12, __brevll(x) >> 32); PUT(13, __umulhi(x, x));
        PUT(14, __mulhi((int)x, 3)); PUT(15, __usad(t, 9u, 2u)); PUT(16, __vadd2(x, x)); PUT(17, __vabsdiffu4(x, ~x));
        PUT(18, __byte_perm(x, 7, t)); PUT(19, __mul24(t, -3)); PUT(20, __hadd(t, 3)); PUT(21, __rhadd(t, 2));""",
        22,
    )
    number = [(int(t) + 1) * 0x9E3779B9 % 2**32 for t in T]
    turned = [~x % 2**32 for x in number]

    def signed(x: int, bits: int = 32) -> int:
        return x - (1 << bits) if x >> (bits - 1) else x

    def octets(x: int) -> list[int]:
        return list(x.to_bytes(4, "little"))

    def dot(x: int, y: int, sign: bool) -> int:
        pairs = zip(octets(x), octets(y), strict=True)
        return sum((signed(a, 8) * signed(b, 8)) if sign else a * b for a, b in pairs) + 7

    def chosen(x: int, y: int, select: int) -> int:
        both = octets(x) + octets(y)
        return int.from_bytes(bytes(both[select >> 4 * place & 7] for place in range(4)), "little")

    def flipped(x: int) -> int:
        return int(f"{x:032b}"[::-1], 2)

    cases = list(zip(T.tolist(), number, turned, strict=True))
    wanted = [
        [x.bit_count() for x in number], [flipped(x) for x in number], [(x & -x).bit_length() for x in number],
        [32 - x.bit_length() for x in number], [(n << 32 | x) << t >> 32 for t, x, n in cases],
        [(n << 32 | x) >> t for t, x, n in cases], [chosen(x, n, 0x0246) for _, x, n in cases],
        [dot(x, n, True) for _, x, n in cases], [dot(x, n, False) for _, x, n in cases],
        [(x * x).bit_count() for x in number], [64 - x.bit_length() for x in number],
        [(x << 20 & -(x << 20)).bit_length() for x in number], [flipped(x) for x in number],
        [x * x >> 32 for x in number], [signed(x) * 3 >> 32 for x in number], [abs(t - 9) + 2 for t in T.tolist()],
        [(2 * x & 0xFFFF) | ((x >> 16) * 2 & 0xFFFF) << 16 for x in number],
        [sum(abs(a - b) << 8 * k for k, (a, b) in enumerate(zip(octets(x), octets(n), strict=True))) for _, x, n in cases],
        [chosen(x, 7, t) if not t & 8 else None for t, x, _ in cases], [-3 * t for t in T.tolist()],
        [(t + 3) // 2 for t in T.tolist()], [(t + 3) // 2 for t in T.tolist()],
    ]  # fmt: skip
    for row, values in enumerate(wanted):
        for lane, value in enumerate(values):
            assert value is None or made[row, lane] == value % 2**32, (row, lane)


FUNCTIONS: dict[str, Any] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "exp": math.exp, "exp2": math.exp2, "expm1": math.expm1,
    "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p, "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x), "cbrt": math.cbrt, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh,
    "asinh": math.asinh, "asin": math.asin, "acos": math.acos, "atan": math.atan, "erf": math.erf, "erfc": math.erfc,
    "tgamma": math.gamma, "lgamma": math.lgamma, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
    "rint": round, "fabs": abs,
}  # fmt: skip
OF_TWO: dict[str, Any] = {
    "pow": math.pow, "fmod": math.fmod, "remainder": math.remainder, "atan2": math.atan2, "hypot": math.hypot,
    "fmax": max, "fmin": min, "copysign": math.copysign,
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["float", "double"])
def test_mathematical_functions(kind: str) -> None:
    suffix = "f" if kind == "float" else ""
    body = f"{kind} x = (t + 1) / ({kind})33, y = ({kind})0.3 + t * ({kind})0.11;\n"
    body += "".join(f"PUT({row}, {name}{suffix}(x));\n" for row, name in enumerate(FUNCTIONS))
    first = len(FUNCTIONS)
    body += "".join(f"PUT({first + row}, {name}{suffix}(x, y));\n" for row, name in enumerate(OF_TWO))
    last = first + len(OF_TWO)
    body += f"{kind} s, c; sincos{suffix}(x, &s, &c); PUT({last}, s * c + fma{suffix}(x, y, x));"
    made = rows(body, last + 1, kind)
    dtype = made.dtype.type
    x = ((T + 1) / dtype(33)).astype(dtype)
    y = (dtype(0.3) + (T * dtype(0.11)).astype(dtype)).astype(dtype)
    close = {"rtol": 3e-6, "atol": 1e-6} if kind == "float" else {"rtol": 1e-13, "atol": 1e-14}
    for row, (name, function) in enumerate(FUNCTIONS.items()):
        np.testing.assert_allclose(made[row], [function(float(one)) for one in x], err_msg=name, **close)
    for row, (name, function) in enumerate(OF_TWO.items(), first):
        pairs = zip(x, y, strict=True)
        np.testing.assert_allclose(made[row], [function(float(a), float(b)) for a, b in pairs], err_msg=name, **close)
    wide = x.astype(float)
    np.testing.assert_allclose(made[last], np.sin(wide) * np.cos(wide) + wide * y + wide, **close)


def test_fast_and_rounded_arithmetic() -> None:
    made = rows(
        """float x = t * 0.3f + 0.1f; PUT(0, __sinf(x)); PUT(1, __expf(x)); PUT(2, __logf(x)); PUT(3, __powf(x, 1.5f));
        PUT(4, __fdividef(x, 3.f)); PUT(5, __saturatef(x)); PUT(6, __fadd_ru(x, 1e-9f)); PUT(7, __float2int_rd(-x));
        PUT(8, __fsqrt_rn(x)); PUT(9, __frcp_rn(x)); PUT(10, __int2float_rz(16777217 + t)); PUT(11, __double2float_rd(0.1));""",
        12,
        "float",
    )
    x = (T.astype(np.float32) * np.float32(0.3) + np.float32(0.1)).astype(float)
    x = np.float32(x)
    for row, function in enumerate((np.sin, np.exp, np.log, lambda v: v**1.5, lambda v: v / 3)):
        np.testing.assert_allclose(made[row], function(x.astype(float)), rtol=3e-4, atol=3e-6)
    np.testing.assert_allclose(made[5], np.minimum(x, 1), rtol=1e-6)
    assert (made[6] > x - 1e-6).all() and (np.abs(made[7] - np.floor(-x.astype(float))) <= 1).all()
    np.testing.assert_allclose(made[8], np.sqrt(x), rtol=2e-7)
    np.testing.assert_allclose(made[9], 1 / x.astype(float), rtol=2e-7)
    assert made[10].tolist() == [float((16777217 + int(t)) & ~1) for t in T] and made[11, 0] < 0.1


def test_half_and_bfloat16_arithmetic(architecture: str) -> None:
    made = rows(
        """__half2 a = __floats2half2_rn(t * 0.5f, 1.f), b = __float2half2_rn(3.f);
        __half2 c = __hadd2(__hfma2(a, b, a), __hmul2(a, b)); PUT(0, __low2float(c)); PUT(1, __high2float(c));
        PUT(2, __half2float(__hmax(__low2half(c), __high2half(c)))); PUT(3, __hlt(__low2half(a), __high2half(b)));
        PUT(4, __half2float(hsqrt(__low2half(b)))); PUT(5, __half2float(__int2half_rn(2049 + t)));
        PUT(6, __half2int_rn(__float2half(t + 0.5f))); PUT(7, __half2float(__hdiv(__low2half(a), __low2half(b))));
        #if __CUDA_ARCH__ >= 800
        __nv_bfloat162 p = __floats2bfloat162_rn(t * 0.5f, 1.f), q = __float2bfloat162_rn(3.f), r = __hfma2(p, q, p);
        PUT(8, __low2float(r)); PUT(9, __high2float(r)); PUT(10, __bfloat162float(__float2bfloat16(t / 3.f)));
        #endif""",
        11,
        "float",
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>",
    )
    low = (T * 0.5).astype(np.float16)
    three, one = np.float16(3), np.float16(1)
    both = ((low * 4).astype(np.float16) + (low * three)).astype(np.float16)
    wanted = [
        both, np.full(32, 7), np.maximum(both, np.float16(7)), low < 3, np.full(32, np.sqrt(three)),
        (2049 + T).astype(np.float16), np.round(T + 0.5), (low / three * one).astype(np.float16), T * 2.0, np.full(32, 4),
    ]  # fmt: skip
    if architecture == "compute_75":  # which has no bfloat16
        del wanted[8:]
    for row, values in enumerate(wanted):
        np.testing.assert_array_equal(made[row], np.asarray(values, np.float32), f"row {row}")
    if architecture == "compute_75":
        return
    third = (T.astype(np.float32) / np.float32(3)).view(np.uint32)
    nearest = (third + 0x7FFF + (third >> 16 & 1)) >> 16 << 16
    np.testing.assert_array_equal(made[10].view(np.uint32), nearest)


def test_divisions_of_whole_numbers_also_by_zero() -> None:
    made = rows(
        """int zero = out[0], small = t % 5 - 2; long long big = (long long)t << 40;
        PUT(0, t / (zero + (t & 1))); PUT(1, (t + 1) % (zero + (t & 1))); PUT(2, (t - 16) / (small ? small : 3));
        PUT(3, (t - 16) % (small ? small : 3)); PUT(4, (big / 1000003) & 0x7fffffff); PUT(5, big % 1000003);
        PUT(6, (unsigned)(t - 16) / 7u); PUT(7, (unsigned)((unsigned long long)t / (unsigned long long)zero));""",
        8,
        "int",
    )
    odd = T % 2 == 1
    assert made[0].tolist() == np.where(odd, T, -1).tolist() and made[1].tolist() == np.where(odd, 0, -1).tolist()
    divisor = [int(t) % 5 - 2 or 3 for t in T]
    quotient = [math.trunc((int(t) - 16) / d) for t, d in zip(T, divisor, strict=True)]
    assert made[2].tolist() == quotient
    assert made[3].tolist() == [int(t) - 16 - q * d for t, q, d in zip(T, quotient, divisor, strict=True)]
    assert made[4].tolist() == [(int(t) << 40) // 1000003 & 0x7FFFFFFF for t in T]
    assert made[5].tolist() == [(int(t) << 40) % 1000003 for t in T]
    assert made[6].tolist() == [(int(t) - 16) % 2**32 // 7 for t in T] and set(made[7]) == {-1}


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
    "recursion": ("out[0] = fib(t);", "fib calls itself; recursion is not emulated"),
    "a function pointer": ("int (*p)(int) = t & 1 ? one : two; out[t] = p(t);", "a call through a function pointer"),
    "a function without a body": ("out[t] = nowhere(t);", "the function nowhere is declared but not defined"),
    "malloc": ("int *p = (int *)malloc(4); *p = t; out[t] = *p;", "a call of malloc is not emulated"),
    "a texture": ("out[t] = tex1Dfetch<int>((cudaTextureObject_t)7, t);", "a texture or a surface is not emulated"),
    "dynamic shared memory": (
        "extern __shared__ int own[]; own[t] = t; out[t] = own[31 - t];", "this launch gives none"
    ),
    "too few operands": ('asm volatile("add.s32 %0, %0;" : "+r"(out[t]));', "add.s32 takes 2 operands and is given 1"),
    "a vote as before Volta": ("out[t] = __ballot(t & 1);", "write the function whose name ends in _sync"),
    "a lost label": ('asm volatile("bra nowhere;");', "bra goes to the label nowhere, which does not exist"),
    "an instruction that does not exist": ('asm volatile("foo.s32 %0, %0;" : "+r"(out[t]));', "not emulated: foo.s32"),
    "assert": ("assert(t < 3); out[t] = 1;", "thread 3 of block 0 fails the assertion t < 3"),
    "trap": ("if (t == 7) __trap(); out[t] = 1;", "the kernel stops itself here (trap)"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_told_in_one_sentence_with_its_line(what: str) -> None:
    body, clause = REFUSED[what]
    text = f"""__device__ __noinline__ int one(int a) {{ return a + 1; }}
__device__ __noinline__ int two(int a) {{ return a * 2; }}
__device__ __noinline__ int fib(int n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }}
__device__ int nowhere(int);
extern "C" __global__ void f(int *out) {{
  int t = threadIdx.x;
  {body}
}}"""
    with pytest.raises(RunFailed) as caught:
        execute(text, out=np.zeros(64, np.int32))
    line = 3 if what == "recursion" else 7
    assert clause in str(caught.value) and f"test.cu, line {line}: " in str(caught.value)
    assert re.fullmatch(r"[^\n]*[^.?!][.?!]", str(caught.value)) and caught.value.__cause__ is None
