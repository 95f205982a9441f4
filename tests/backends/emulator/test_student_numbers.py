# ruff: noqa: E501  (a program in few lines reads better than one in many)
"""Arithmetic as students write it, on the emulator; Python and NumPy say what comes out.

Every program is compiled for three generations of GPUs. One warp; rows of 32 numbers, one a thread.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.backends.emulator.student_rows import T, rows

pytestmark = pytest.mark.usefixtures("architecture")


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
    assert len(wanted) == len(made) and all(len(values) == len(T) for values in wanted)
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
