"""Integer arithmetic, carries, and dot products of packed bytes. NumPy wraps as PTX does; comments name exceptions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.meanings.registry import (
    DTYPES,
    INTEGERS,
    SIGNED,
    bit_mask,
    computes,
    halves,
    packed,
    unsigned,
    widened,
)
from engine.records import Array

NARROW = ("u16", "s16", "u32", "s32")
PAIRS = ("u16x2", "s16x2")


@computes("add.{t}", "t t -> t", t=INTEGERS)
def add(a: Array, b: Array) -> Array:
    """a + b, wrapped."""
    return a + b


@computes("sub.{t}", "t t -> t", t=INTEGERS)
def subtract(a: Array, b: Array) -> Array:
    """a - b, wrapped."""
    return a - b


@computes("{name}.sat.s32", "s32 s32 -> s32", name=("add", "sub"))
def add_saturating(a: Array, b: Array, *, name: str) -> Array:
    """The sum or difference, clamped to 32 bits."""
    exact = a.astype(np.int64) + b if name == "add" else a.astype(np.int64) - b
    return np.clip(exact, -(2**31), 2**31 - 1).astype(np.int32)


@computes("{name}.{t}", "t t -> t", name=("add", "min", "max"), t=PAIRS)
def combine_pairs(a: Array, b: Array, *, name: str, t: str) -> Array:
    """Both 16-bit halves separately."""
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[name]
    (a_low, a_high), (b_low, b_high) = halves(a, t == "s16x2"), halves(b, t == "s16x2")
    return packed(function(a_low, b_low), function(a_high, b_high))


@computes("mul.lo.{t}", "t t -> t", t=INTEGERS)
def multiply(a: Array, b: Array) -> Array:
    """The lower half of the product."""
    return a * b


@computes("mul.wide.{t}", "t t -> wide:t", t=NARROW)
def multiply_wide(a: Array, b: Array) -> Array:
    """The whole product, in twice the bits."""
    return widened(a) * widened(b)


@computes("mul.hi.{t}", "t t -> t", t=INTEGERS)
def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the product, which NumPy lacks."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        return (widened(a) * widened(b) >> bits).astype(a.dtype)
    low_a, high_a = unsigned(a) & np.uint64(0xFFFFFFFF), unsigned(a) >> np.uint64(32)
    low_b, high_b = unsigned(b) & np.uint64(0xFFFFFFFF), unsigned(b) >> np.uint64(32)
    cross = high_a * low_b + (low_a * low_b >> np.uint64(32))
    other = low_a * high_b + (cross & np.uint64(0xFFFFFFFF))
    high: Array = high_a * high_b + (cross >> np.uint64(32)) + (other >> np.uint64(32))
    if a.dtype.kind == "u":
        return high
    # A negative factor was read as itself plus 2^64.
    signed: Array = high.view(np.int64) - ((a >> 63) & b) - ((b >> 63) & a)
    return signed


@computes("mad.lo.{t}", "t t t -> t", t=INTEGERS)
def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """The lower half of a * b, plus c."""
    return a * b + c


@computes("mad.hi.{t}", "t t t -> t", t=INTEGERS)
def multiply_add_high(a: Array, b: Array, c: Array) -> Array:
    """The upper half of a * b, plus c, wrapped."""
    result: Array = multiply_high(a, b) + c
    return result


@computes("mad.hi.sat.s32", "s32 s32 s32 -> s32")
def multiply_add_high_saturating(a: Array, b: Array, c: Array) -> Array:
    """The upper half of a * b, plus c, clamped to 32 bits."""
    return add_saturating(multiply_high(a, b), c, name="add")


@computes("mad.wide.{t}", "t t wide:t -> wide:t", t=NARROW)
def multiply_add_wide(a: Array, b: Array, c: Array) -> Array:
    """The whole product a * b, plus c."""
    return widened(a) * widened(b) + c


@computes("mul24.{half}.{t}", "t t -> t", half=("lo", "hi"), t=("u32", "s32"))
def multiply_24(a: Array, b: Array, *, half: str) -> Array:
    """The low 24 bits of each operand; `lo` and `hi` are bits 0..31 and 16..47 of the 48-bit product."""
    eight = a.dtype.type(8)
    product = widened(a << eight >> eight) * widened(b << eight >> eight)
    return (product if half == "lo" else product >> 16).astype(a.dtype)


@computes("mad24.{half}.{t}", "t t t -> t", half=("lo", "hi"), t=("u32", "s32"))
def multiply_add_24(a: Array, b: Array, c: Array, *, half: str) -> Array:
    """As mul24, plus c."""
    result: Array = multiply_24(a, b, half=half) + c
    return result


@computes("mad24.hi.sat.s32", "s32 s32 s32 -> s32")
def multiply_add_24_saturating(a: Array, b: Array, c: Array) -> Array:
    """As mul24.hi, plus c, clamped to 32 bits."""
    return add_saturating(multiply_24(a, b, half="hi"), c, name="add")


@computes("sad.{t}", "t t t -> t", t=INTEGERS)
def add_absolute_difference(a: Array, b: Array, c: Array) -> Array:
    """|a - b| + c."""
    return np.maximum(a, b) - np.minimum(a, b) + c


def _magnitude(a: Array) -> Array:
    """Return |a| as unsigned, because |INT_MIN| has no signed form."""
    return unsigned(np.abs(a)) if a.dtype.kind == "i" else a


@computes("div.{t}", "t t -> t", t=INTEGERS)
def divide(a: Array, b: Array) -> Array:
    """a / b, truncated toward zero, where NumPy rounds down; a division by zero gives all ones on the GPU."""
    quotient = _magnitude(a) // _magnitude(b)
    if a.dtype.kind == "i":
        sign = unsigned((a ^ b) >> a.dtype.type(a.dtype.itemsize * 8 - 1))
        quotient = (quotient ^ sign) - sign
    return (quotient | bit_mask(b == 0, a.dtype)).view(a.dtype)


@computes("rem.{t}", "t t -> t", t=INTEGERS)
def remainder(a: Array, b: Array) -> Array:
    """The remainder with the sign of the dividend, where NumPy has the divisor's; by zero the GPU gives all ones."""
    divisor = _magnitude(b)
    rest = _magnitude(a)
    # NumPy divides fast by a common divisor, but computes its remainder slowly.
    rest = rest - rest // divisor * divisor
    if a.dtype.kind == "i":
        sign = unsigned(a >> a.dtype.type(a.dtype.itemsize * 8 - 1))
        rest = (rest ^ sign) - sign
    result: Array = (rest | bit_mask(b == 0, a.dtype)).view(a.dtype)
    return result


@computes("abs.{t}", "t -> t", t=SIGNED)
def absolute(a: Array) -> Array:
    """|a|; the most negative number stays."""
    return np.abs(a)


@computes("neg.{t}", "t -> t", t=SIGNED)
def negate(a: Array) -> Array:
    """-a; the most negative number stays."""
    return np.negative(a)


CARRYING = ("u32", "s32", "u64", "s64")


@computes("add.cc.{t}", "t t -> t carry", t=CARRYING)
def add_carrying(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and its carry."""
    total = a + b
    return total, (unsigned(total) < unsigned(a)).astype(np.uint32)


@computes("addc.{t}", "t t carry -> t", t=CARRYING)
def add_carried(a: Array, b: Array, carry: Array) -> Array:
    """a + b + carry."""
    result: Array = a + b + carry.astype(a.dtype)
    return result


@computes("addc.cc.{t}", "t t carry -> t carry", t=CARRYING)
def add_carried_carrying(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """a + b + carry, and the new carry."""
    part, first = add_carrying(a, b)
    total, second = add_carrying(part, carry.astype(a.dtype))
    return total, first | second


@computes("sub.cc.{t}", "t t -> t carry", t=CARRYING)
def subtract_borrowing(a: Array, b: Array) -> tuple[Array, Array]:
    """a - b, computed as a + ~b + 1, and the carry of that: 1 if nothing was borrowed."""
    return a - b, (unsigned(a) >= unsigned(b)).astype(np.uint32)


@computes("subc.{t}", "t t carry -> t", t=CARRYING)
def subtract_borrowed(a: Array, b: Array, carry: Array) -> Array:
    """a + ~b + carry."""
    return add_carried(a, ~b, carry)


@computes("subc.cc.{t}", "t t carry -> t carry", t=CARRYING)
def subtract_borrowed_borrowing(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """a + ~b + carry, and the new carry."""
    return add_carried_carrying(a, ~b, carry)


@computes("mad.{half}.cc.{t}", "t t t -> t carry", half=("lo", "hi"), t=CARRYING)
def multiply_add_carrying(a: Array, b: Array, c: Array, *, half: str) -> tuple[Array, Array]:
    """One half of a * b, plus c, and the sum's carry."""
    return add_carrying(_half_product(a, b, half), c)


@computes("madc.{half}.{t}", "t t t carry -> t", half=("lo", "hi"), t=CARRYING)
def multiply_add_carried(a: Array, b: Array, c: Array, carry: Array, *, half: str) -> Array:
    """One half of a * b, plus c, plus carry."""
    return add_carried(_half_product(a, b, half), c, carry)


@computes("madc.{half}.cc.{t}", "t t t carry -> t carry", half=("lo", "hi"), t=CARRYING)
def multiply_add_carried_carrying(a: Array, b: Array, c: Array, carry: Array, *, half: str) -> tuple[Array, Array]:
    """One half of a * b, plus c, plus carry, and the new carry."""
    return add_carried_carrying(_half_product(a, b, half), c, carry)


def _half_product(a: Array, b: Array, half: str) -> Array:
    """Return the lower or the upper half of a * b."""
    return a * b if half == "lo" else multiply_high(a, b)


def _lane(a: Array, bits: int, index: int) -> Array:
    """Return the index-th group of `bits` bits, extended by the array's own signedness."""
    kind = a.dtype.type
    result: Array = a << kind(32 - bits * (index + 1)) >> kind(32 - bits)
    return result


def _dot(a: Array, b: Array, c: Array, bits: tuple[int, int], first_b: int) -> Array:
    """Return c + the sum of products of the groups of a and b; unsigned only if both are."""
    total = c
    for index in range(32 // bits[0]):
        total = total + _lane(a, bits[0], index).astype(c.dtype) * _lane(b, bits[1], first_b + index).astype(c.dtype)
    return total


@computes("dp4a.u32.u32", "u32 u32 u32 -> u32")
@computes("dp4a.s32.s32", "s32 s32 s32 -> s32")
@computes("dp4a.u32.s32", "u32 s32 s32 -> s32")
@computes("dp4a.s32.u32", "s32 u32 s32 -> s32")
def dot_bytes(a: Array, b: Array, c: Array) -> Array:
    """c + the sum of the products of four bytes."""
    return _dot(a, b, c, (8, 8), 0)


@computes("dp2a.{half}.u32.u32", "u32 u32 u32 -> u32", half=("lo", "hi"))
@computes("dp2a.{half}.s32.s32", "s32 s32 s32 -> s32", half=("lo", "hi"))
@computes("dp2a.{half}.u32.s32", "u32 s32 s32 -> s32", half=("lo", "hi"))
@computes("dp2a.{half}.s32.u32", "s32 u32 s32 -> s32", half=("lo", "hi"))
def dot_halves(a: Array, b: Array, c: Array, *, half: str) -> Array:
    """c + two 16-bit groups of a times two bytes of b, the low two or the high two."""
    return _dot(a, b, c, (16, 8), 0 if half == "lo" else 2)


_VIDEO: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": np.add, "vsub": np.subtract, "vabsdiff": lambda a, b: np.abs(a - b), "vmin": np.minimum, "vmax": np.maximum,
}  # fmt: skip
_WORDS = ("u32", "s32")


def _bounded(wide: Array, bits: int, signed: bool) -> Array:
    """Return the values, each at most and at least what so many bits hold."""
    lowest = -(1 << bits - 1) if signed else 0
    return np.clip(wide, lowest, lowest + (1 << bits) - 1)


@computes("{op}.{into}.{t}.{t}.sat?", "t t -> into", op=_VIDEO, into=_WORDS, t=_WORDS)
def video(a: Array, b: Array, *, op: str, into: str, t: str, sat: bool) -> Array:
    """A video instruction: a and b in more bits than both have, then the low 32 bits or, with `.sat`, the nearest
    value. On Hopper the assembler of CUDA 13.0 forgets `.sat` in vadd.u32.u32.u32, against the manual."""
    wide = _VIDEO[op](a.astype(np.int64), b.astype(np.int64))
    sat = sat and (op, into, t) != ("vadd", "u32", "u32")
    result: Array = (_bounded(wide, 32, into == "s32") if sat else wide).astype(DTYPES[into])
    return result


@computes("{op}.{t}.{t}.{t}.{second}", "t t t -> t", op=_VIDEO, t=_WORDS, second=("add", "min", "max"))
def video_and_second(a: Array, b: Array, c: Array, *, op: str, t: str, second: str) -> Array:
    """A video instruction, and its result combined with c. As on Hopper: the sum or the difference of a and b keeps 32
    bits, and min and max of u32 compare it, extended by its highest bit, with c as unsigned numbers."""
    wide = _VIDEO[op](a.astype(np.int64), b.astype(np.int64))
    if op in ("vadd", "vsub"):
        wide = wide.astype(np.int32).astype(np.int64)
    kind = np.uint64 if t == "u32" else np.int64
    return _VIDEO[f"v{second}"](wide.astype(kind), c.astype(kind)).astype(DTYPES[t])


@computes(
    "{op}.{t}.{t}.{t}.{how?}", "t t u32 -> u32", t=_WORDS, how=("add", "sat"),
    op=[f"{one}{lanes}" for one in _VIDEO for lanes in (2, 4)],
)  # fmt: skip
def video_lanes(a: Array, b: Array, c: Array, *, op: str, t: str, how: str) -> Array:
    """A video instruction on two halves or four bytes, packed, or with `.add` summed and added to c."""
    lanes, signed = int(op[-1]), t == "s32"
    bits, total = 32 // lanes, c.astype(np.int64) if how == "add" else np.zeros_like(c, np.int64)
    for index in range(lanes):
        wide = _VIDEO[op[:-1]](*(_lane(each, bits, index).astype(np.int64) for each in (a, b)))
        if how == "add":
            total = total + wide
        else:
            low = (_bounded(wide, bits, signed) if how == "sat" else wide) & ((1 << bits) - 1)
            total = total | low << bits * index
    return total.astype(np.uint32)
