"""Arithmetic of PTX on plain Python numbers: every float result is computed exactly and rounded once.

An integer register value is its unsigned bit pattern; a float is a Python float that its type can hold.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

BITS = {f"{kind}{bits}": bits for kind in "busf" for bits in (8, 16, 32, 64)} | {"pred": 1}
_FLOATS = {"f16": ("<e", "<H", 11, -24), "f32": ("<f", "<I", 24, -149), "f64": ("<d", "<Q", 53, -1074)}


def decode(bits: int, code: str) -> int | float:
    """Return the bit pattern as a value of the type."""
    width = BITS[code]
    bits &= (1 << width) - 1
    if code[0] == "f":
        form, whole, *_ = _FLOATS[code]
        return float(struct.unpack(form, struct.pack(whole, bits))[0])
    return bits - (1 << width) if code[0] == "s" and bits >> (width - 1) else bits


def encode(value: int | float, code: str) -> int:
    """Return the value's bit pattern; integers wrap."""
    if code[0] != "f":
        return int(value) & ((1 << BITS[code]) - 1)
    form, whole, *_ = _FLOATS[code]
    if value != value:
        return {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000}[code]
    return int(struct.unpack(whole, struct.pack(form, value))[0])


def rounded(exact: Fraction, code: str, mode: str = "rn") -> float:
    """Return the nearest number of the float type; "rz", "rm", "rp" round towards zero, down, up."""
    if not exact:
        return 0.0
    *_, digits, lowest = _FLOATS[code]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent - digits + 1, lowest)
    whole = whole_number(exact / Fraction(2) ** unit, mode)
    try:
        result = math.ldexp(whole, unit)
        struct.pack(_FLOATS[code][0], result)
    except OverflowError:
        top = decode({"f16": 0x7BFF, "f32": 0x7F7FFFFF, "f64": 0x7FEFFFFFFFFFFFFF}[code], code)
        towards_zero = mode == "rz" or mode == ("rm" if exact > 0 else "rp")
        result = math.copysign(top if towards_zero else math.inf, 1 if exact > 0 else -1)
    return result if result else math.copysign(0.0, 1 if exact > 0 else -1)


def whole_number(exact: Fraction, mode: str) -> int:
    """Return a neighbouring integer: the nearest (ties to even), towards zero, down or up; "rni" and the like mean the
    same."""
    functions: dict[str, Callable[[Fraction], int]] = {
        "rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil,
    }  # fmt: skip
    return functions[mode[:2]](exact)


def combine(name: str, code: str, mode: str, *values: float) -> float:
    """Return add, sub, mul, div, fma, sqrt or rcp of float values, rounded once."""
    if name == "sqrt":
        return _square_root(values[0], code, mode)
    if name == "rcp":
        return combine("div", code, mode, 1.0, values[0])
    special = _in_floats(name, *values)
    if not all(map(math.isfinite, values)) or (name == "div" and values[1] == 0):
        return special
    a, b, *c = map(Fraction, values)
    exact = {"add": a + b, "sub": a - b, "mul": a * b, "fma": a * b + (c[0] if c else 0)}.get(name)
    if exact is None:
        exact = a / b
    if exact:
        return rounded(exact, code, mode)
    signed = (
        (values[0] * values[1], values[2]) if name == "fma" else (values[0], values[1] if name == "add" else -values[1])
    )
    if name in ("add", "sub", "fma") and mode == "rm" and math.copysign(1, signed[0]) != math.copysign(1, signed[1]):
        return -0.0
    return math.copysign(0.0, special) if special == 0 else 0.0


def _in_floats(name: str, a: float, b: float, c: float = 0.0) -> float:
    """Return the same in doubles: right for infinities, NaN and the sign of zero."""
    try:
        match name:
            case "add":
                return a + b
            case "sub":
                return a - b
            case "mul":
                return a * b
            case "div":
                return a / b
        # A finite product cannot change an infinite c, though it may overflow in doubles.
        return c if math.isinf(c) and math.isfinite(a) and math.isfinite(b) else a * b + c
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))


def _square_root(value: float, code: str, mode: str) -> float:
    if value < 0 or value != value:
        return math.nan
    if value == 0 or math.isinf(value):
        return value
    exact = Fraction(value)
    shift = 2 * (120 + max(0, exact.denominator.bit_length()))
    root = math.isqrt((exact.numerator << shift) // exact.denominator)
    sticky = root * root * exact.denominator != exact.numerator << shift
    return rounded(Fraction(2 * root + sticky, 1 << (shift // 2 + 1)), code, mode)


def compare(name: str, a: int | float, b: int | float) -> bool:
    """Return a comparison of setp. With a NaN operand, unordered forms are true and the others false."""
    unordered = a != a or b != b
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if name in ("lo", "ls", "hi", "hs"):
        name = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[name]
    if unordered:
        return len(name) == 3
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[name[:2]]


def to_integer(value: float, code: str, mode: str, wide: bool) -> int:
    """Convert to an integer like cvt, saturated. NaN is 0, or the top bit alone if a 64-bit type is involved
    (`wide`)."""
    bits = BITS[code]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if code[0] == "s" else (0, (1 << bits) - 1)
    if value != value:
        return 1 << (bits - 1) if wide else 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(whole_number(Fraction(value), mode), low), high)


def divided(a: int, b: int, code: str) -> tuple[int, int]:
    """Return (quotient, remainder), rounded towards zero as in C. By zero: all ones for both, as on the H200."""
    if b == 0:
        return -1, -1
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def distance(a: float, b: float, code: str) -> int:
    """Return the distance of two floats in numbers of the type; NaN and NaN are equal."""
    if a != a or b != b:
        return 0 if a != a and b != b else 1 << 64
    width = BITS[code]

    def line(value: float) -> int:
        bits = encode(value, code)
        return bits if not bits >> (width - 1) else (1 << (width - 1)) - bits

    return abs(line(a) - line(b))
