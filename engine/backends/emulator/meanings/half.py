"""Half precision: float16 and bfloat16, one value or two packed in a word.

Results are computed in float32 or float64, exactly or rounded to odd, and rounded once to the half at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from engine.backends.emulator.meanings.compare import FLOAT_TESTS, JOINS, compare, truth
from engine.backends.emulator.meanings.extremes import EXTREMES
from engine.backends.emulator.meanings.registry import computes, packed
from engine.backends.emulator.meanings.rounding import saturated, to_odd, two_sum
from engine.records import Array

HALVES = ("f16", "bf16", "f16x2", "bf16x2")
SINGLE = ("f16", "bf16")
DOUBLE = ("f16x2", "bf16x2")
NAN = np.uint16(0x7FFF)  # the GPU's NaN


def from_bfloat(a: Array) -> Array:
    """Convert bfloat16 bits to float32: they are its upper half."""
    result: Array = (a.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return result


def to_bfloat(value: Array, rounding: str = "rn") -> Array:
    """Convert float32 or float64 to bfloat16 bits, rounded once ("rn" or "rz")."""
    single = value.astype(np.float32)
    bits = single.view(np.uint32)
    if value.dtype == np.float64:
        # Rounding to odd shows the second rounding on which side the value lay.
        error = value - single.astype(np.float64)
        outward = np.signbit(error) == np.signbit(single)
        inexact = (error != 0) & ~np.isnan(error) & (bits & np.uint32(1) == 0)
        bits = bits + np.where(outward, np.uint32(1), np.uint32(0xFFFFFFFF)) * inexact.astype(np.uint32)
    if rounding == "rn":
        bits = bits + (np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)))
    return np.where(np.isnan(single), NAN, (bits >> np.uint32(16)).astype(np.uint16))


def directed_bfloat(value: Array, rounding: str) -> Array:
    """Convert float64, exact or rounded to odd, to bfloat16 bits towards zero, minus or plus infinity."""
    bits = to_bfloat(value, "rz")
    if rounding == "rz":
        return bits
    outward = (from_bfloat(bits).astype(np.float64) != value) & (np.signbit(value) == (rounding == "rm"))
    result: Array = bits + (outward & ~np.isnan(value)).astype(np.uint16)
    return result


def unpack_halves(a: Array, t: str) -> list[Array]:
    """Return the values in an operand, low half first, as float32, exactly."""
    parts = [a] if t in SINGLE else [a.astype(np.uint16), (a >> np.uint32(16)).astype(np.uint16)]
    if t.startswith("b"):
        return [from_bfloat(part) for part in parts]
    return [part.view(np.float16).astype(np.float32) for part in parts]


def pack_halves(parts: list[Array], t: str) -> Array:
    """Pack float32 or float64 values into an operand of type t, each rounded once."""
    if t.startswith("b"):
        made = [to_bfloat(part) for part in parts]
        return made[0] if t in SINGLE else packed(*made)
    halves = [part.astype(np.float16) for part in parts]
    return halves[0] if t in SINGLE else packed(halves[0].view(np.uint16), halves[1].view(np.uint16))


def flushed(part: Array) -> Array:
    """Apply .ftz to values of a float16: below 2^-14 they become zeros of the same sign."""
    return np.where(np.abs(part) < 2.0**-14, np.copysign(part.dtype.type(0), part), part)


def rectified(part: Array) -> Array:
    """Apply .relu: negative values become +0; NaN stays."""
    result: Array = np.maximum(part, part.dtype.type(0)) + part.dtype.type(0)
    return result


def _each(
    function: Callable[..., Array], t: str, operands: tuple[Array, ...], ftz: bool = False, sat: bool = False,
    relu: bool = False,
) -> Array:  # fmt: skip
    """Apply a function to each half, with the modifiers."""
    results = []
    for values in zip(*(unpack_halves(a, t) for a in operands), strict=True):
        result = function(*(flushed(value) for value in values)) if ftz else function(*values)
        if ftz:
            # Round first: a value that rounds up to a normal half is not flushed.
            result = flushed(result.astype(np.float16).astype(np.float32))
        if sat:
            result = saturated(result)
        if relu:
            result = rectified(result)
        results.append(result)
    return pack_halves(results, t)


def _product(a: Array, b: Array) -> Array:
    """Return the product, exactly: 22 bits, in float64 to include bfloat16's smallest products."""
    return a.astype(np.float64) * b


def _fused(a: Array, b: Array, c: Array) -> Array:
    total, lost = two_sum(_product(a, b), c.astype(np.float64))
    return to_odd(total, lost)


# A float32 sum of halves, rounded again to half, equals the sum rounded once: float32 has over twice the digits.
ARITHMETIC: dict[str, Callable[..., Array]] = {"add": np.add, "sub": np.subtract, "mul": _product}


@computes("{name}.ftz?.sat?.{t}", "t t -> t", name=ARITHMETIC, t=("f16", "f16x2"))
@computes("{name}.rn.ftz?.sat?.{t}", "t t -> t", name=ARITHMETIC, t=("f16", "f16x2"))
def calculate(a: Array, b: Array, *, name: str, t: str, ftz: bool, sat: bool) -> Array:
    """A sum, difference or product."""
    return _each(ARITHMETIC[name], t, (a, b), ftz, sat)


@computes("{name}.{t}", "t t -> t", name=ARITHMETIC, t=("bf16", "bf16x2"))
@computes("{name}.rn.{t}", "t t -> t", name=ARITHMETIC, t=("bf16", "bf16x2"))
def calculate_bfloat(a: Array, b: Array, *, name: str, t: str) -> Array:
    """A sum, difference or product."""
    return _each(ARITHMETIC[name], t, (a, b))


@computes("fma.rn.ftz?.sat?.{t}", "t t t -> t", t=("f16", "f16x2"))
def fuse(a: Array, b: Array, c: Array, *, t: str, ftz: bool, sat: bool) -> Array:
    """a * b + c, rounded once."""
    return _each(_fused, t, (a, b, c), ftz, sat)


@computes("fma.rn.ftz?.relu.{t}", "t t t -> t", t=("f16", "f16x2"))
def fuse_positive(a: Array, b: Array, c: Array, *, t: str, ftz: bool) -> Array:
    """a * b + c, rounded once; negative results become +0."""
    return _each(_fused, t, (a, b, c), ftz, relu=True)


@computes("fma.rn.relu?.{t}", "t t t -> t", t=("bf16", "bf16x2"))
def fuse_bfloat(a: Array, b: Array, c: Array, *, t: str, relu: bool) -> Array:
    """a * b + c, rounded once."""
    return _each(_fused, t, (a, b, c), relu=relu)


def _signs(a: Array, t: str) -> tuple[Array, Array]:
    """Return the bits of an operand, and the mask of its sign bits."""
    bits = a.view(f"u{a.dtype.itemsize}")
    return bits, bits.dtype.type(0x8000 if t in SINGLE else 0x80008000)


@computes("neg.{t}", "t -> t", t=HALVES)
def negate(a: Array, *, t: str) -> Array:
    """The negated value."""
    bits, signs = _signs(a, t)
    return (bits ^ signs).view(a.dtype)


@computes("abs.{t}", "t -> t", t=HALVES)
def absolute(a: Array, *, t: str) -> Array:
    """The absolute value."""
    bits, signs = _signs(a, t)
    return (bits & ~signs).view(a.dtype)


@computes("{name}.ftz.{t}", "t -> t", name=("neg", "abs"), t=("f16", "f16x2"))
def change_sign_flushed(a: Array, *, name: str, t: str) -> Array:
    """The negated or absolute value; denormals become zero."""
    return _each(np.negative if name == "neg" else np.abs, t, (a,), ftz=True)


@computes("{name}.{t}", "t t -> t", name=EXTREMES, t=HALVES)
def extreme(a: Array, b: Array, *, name: str, t: str) -> Array:
    """The minimum or maximum; a number beats a NaN."""
    return _each(EXTREMES[name], t, (a, b))


@computes("{name}.ftz.{t}", "t t -> t", name=EXTREMES, t=("f16", "f16x2"))
def extreme_flushed(a: Array, b: Array, *, name: str, t: str) -> Array:
    """As without `.ftz`, with denormals as zeros."""
    return _each(EXTREMES[name], t, (a, b), ftz=True)


@computes("{name}.ftz?.NaN.{t}", "t t -> t", name=EXTREMES, t=("f16", "f16x2"))
def extreme_or_nan(a: Array, b: Array, *, name: str, t: str, ftz: bool) -> Array:
    """The minimum or maximum; a NaN beats a number."""
    return _each(partial(_extreme_or_nan, name), t, (a, b), ftz)


@computes("{name}.NaN.{t}", "t t -> t", name=EXTREMES, t=("bf16", "bf16x2"))
def extreme_bfloat_or_nan(a: Array, b: Array, *, name: str, t: str) -> Array:
    """The minimum or maximum; a NaN beats a number."""
    return extreme_or_nan(a, b, name=name, t=t, ftz=False)


def _extreme_or_nan(name: str, x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), EXTREMES[name](x, y))


@computes("{name}.ftz?.NaN?.xorsign.abs.{t}", "t t -> t", name=EXTREMES, t=("f16", "f16x2"))
def extreme_magnitude(a: Array, b: Array, *, name: str, t: str, NaN: bool, ftz: bool) -> Array:
    """The minimum or maximum of the magnitudes, with the sign of the product; a NaN has no sign, as on the H200."""
    chosen = partial(_extreme_or_nan, name) if NaN else EXTREMES[name]

    def function(x: Array, y: Array) -> Array:
        size = chosen(np.abs(x), np.abs(y))
        return np.where(np.isnan(size) | (np.signbit(x) == np.signbit(y)), size, -size)

    return _each(function, t, (a, b), ftz)


@computes("{name}.NaN?.xorsign.abs.{t}", "t t -> t", name=EXTREMES, t=("bf16", "bf16x2"))
def extreme_bfloat_magnitude(a: Array, b: Array, *, name: str, t: str, NaN: bool) -> Array:
    """The minimum or maximum of the magnitudes, with the sign of the product; a NaN has no sign, as on the H200."""
    return extreme_magnitude(a, b, name=name, t=t, NaN=NaN, ftz=False)


@computes("setp.{test}.{t}", "t t -> pred", test=FLOAT_TESTS, t=SINGLE)
def set_predicate(a: Array, b: Array, *, test: str, t: str) -> Array:
    """a `test` b."""
    return compare(unpack_halves(a, t)[0], unpack_halves(b, t)[0], test)


@computes("setp.{test}.{join}.{t}", "t t pred -> pred", test=FLOAT_TESTS, join=JOINS, t=SINGLE)
def set_joined_predicate(a: Array, b: Array, other: Array, *, test: str, join: str, t: str) -> Array:
    """(a `test` b) `join` other."""
    return JOINS[join](set_predicate(a, b, test=test, t=t), other)


@computes("setp.{test}.{t}", "t t -> pred pred", test=FLOAT_TESTS, t=DOUBLE)
def set_predicates(a: Array, b: Array, *, test: str, t: str) -> tuple[Array, Array]:
    """One predicate per half, the low one first."""
    low, high = (compare(x, y, test) for x, y in zip(unpack_halves(a, t), unpack_halves(b, t), strict=True))
    return low, high


@computes("setp.{test}.{join}.{t}", "t t pred -> pred pred", test=FLOAT_TESTS, join=JOINS, t=DOUBLE)
def set_joined_predicates(a: Array, b: Array, other: Array, *, test: str, join: str, t: str) -> tuple[Array, Array]:
    """As setp without a join, joined with `other`."""
    low, high = set_predicates(a, b, test=test, t=t)
    return JOINS[join](low, other), JOINS[join](high, other)


@computes("set.{test}.{d}.{t}", "t t -> d", test=FLOAT_TESTS, d=("u16", "s16", "u32", "s32", "f16"), t=("f16",))
@computes("set.{test}.{d}.{t}", "t t -> d", test=FLOAT_TESTS, d=("u16", "s16", "u32", "s32"), t=("bf16",))
def set_value(a: Array, b: Array, *, test: str, d: str, t: str) -> Array:
    """a `test` b as a value."""
    return truth(set_predicate(a, b, test=test, t=t), d)


@computes("set.{test}.bf16.bf16", "bf16 bf16 -> bf16", test=FLOAT_TESTS)
def set_bfloat(a: Array, b: Array, *, test: str) -> Array:
    """1.0 if a `test` b, else 0.0."""
    return to_bfloat(set_predicate(a, b, test=test, t="bf16").astype(np.float32))


@computes("set.{test}.{t}.{t}", "t t -> t", test=FLOAT_TESTS, t=DOUBLE)
def set_values(a: Array, b: Array, *, test: str, t: str) -> Array:
    """1.0 or 0.0 for each half."""
    return pack_halves([part.astype(np.float32) for part in set_predicates(a, b, test=test, t=t)], t)


@computes("set.{test}.{d}.{t}", "t t -> d", test=FLOAT_TESTS, d=("u32", "s32"), t=DOUBLE)
def set_masks(a: Array, b: Array, *, test: str, d: str, t: str) -> Array:
    """All ones or zeros for each half."""
    low, high = (truth(part, "u16") for part in set_predicates(a, b, test=test, t=t))
    return packed(low, high).view(np.int32 if d == "s32" else np.uint32)


@computes("{name}.approx.{t}", "t -> t", name=("ex2",), t=("f16", "f16x2"))
@computes("{name}.approx.{t}", "t -> t", name=("tanh",), t=HALVES)
@computes("{name}.approx.ftz.{t}", "t -> t", name=("ex2",), t=("bf16", "bf16x2"))
def approximate(a: Array, *, name: str, t: str) -> Array:
    """The correctly rounded value; the GPU's may be about one unit in the last place off."""
    function = np.exp2 if name == "ex2" else np.tanh
    return _each(lambda value: function(value.astype(np.float64)), t, (a,))
