"""Comparisons, and the selections that they feed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.meanings.registry import BITS, DTYPES, INTEGERS, SIGNED, UNSIGNED, bit_mask, computes
from engine.backends.emulator.meanings.rounding import flushed
from engine.records import Array

ORDERED: dict[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
# "Lower, same, higher": other names for unsigned comparisons.
LOWER: dict[str, Callable[..., Array]] = {
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
# Also true if an operand is NaN, as the negation of the opposite comparison.
UNORDERED: dict[str, Callable[..., Array]] = {
    "equ": np.not_equal, "neu": np.equal, "ltu": np.greater_equal, "leu": np.greater, "gtu": np.less_equal,
    "geu": np.less,
}  # fmt: skip
JOINS: dict[str, Callable[..., Array]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
FLOAT_TESTS = (*ORDERED, *UNORDERED, "num", "nan")


def compare(a: Array, b: Array, test: str) -> Array:
    """Return one comparison by its PTX name. Without a `u`, comparisons with NaN are false, even `ne`,
    unlike NumPy's."""
    if test == "ne" and a.dtype.kind == "f":
        return np.less(a, b) | np.greater(a, b)
    if test == "equ":
        return np.equal(a, b) | unordered(a, b)
    if test == "neu":
        return np.not_equal(a, b)
    if test in UNORDERED:
        return ~UNORDERED[test](a, b)
    if test == "nan":
        return unordered(a, b)
    if test == "num":
        return ~unordered(a, b)
    return (ORDERED.get(test) or LOWER[test])(a, b)


def unordered(a: Array, b: Array) -> Array:
    """Return whether an operand is NaN."""
    return np.isnan(a) | np.isnan(b)


@computes("setp.{test}.{t}", "t t -> pred", test=("eq", "ne"), t=BITS)
@computes("setp.{test}.{t}", "t t -> pred", test=ORDERED, t=SIGNED)
@computes("setp.{test}.{t}", "t t -> pred", test=(*ORDERED, *LOWER), t=UNSIGNED)
@computes("setp.{test}.{t}", "t t -> pred", test=FLOAT_TESTS, t=("f32", "f64"))
def set_predicate(a: Array, b: Array, *, test: str) -> Array:
    """a `test` b."""
    return compare(a, b, test)


@computes("setp.{test}.ftz.f32", "f32 f32 -> pred", test=FLOAT_TESTS)
def set_predicate_flushed(a: Array, b: Array, *, test: str) -> Array:
    """a `test` b with denormals as zeros."""
    return compare(flushed(a), flushed(b), test)


@computes("setp.{test}.{join}.{t}", "t t pred -> pred", test=("eq", "ne"), join=JOINS, t=BITS)
@computes("setp.{test}.{join}.{t}", "t t pred -> pred", test=ORDERED, join=JOINS, t=SIGNED)
@computes("setp.{test}.{join}.{t}", "t t pred -> pred", test=(*ORDERED, *LOWER), join=JOINS, t=UNSIGNED)
@computes("setp.{test}.{join}.{t}", "t t pred -> pred", test=FLOAT_TESTS, join=JOINS, t=("f32", "f64"))
def set_joined_predicate(a: Array, b: Array, other: Array, *, test: str, join: str) -> Array:
    """(a `test` b) `join` other."""
    return JOINS[join](compare(a, b, test), other)


@computes("setp.{test}.{join}.ftz.f32", "f32 f32 pred -> pred", test=FLOAT_TESTS, join=JOINS)
def set_joined_predicate_flushed(a: Array, b: Array, other: Array, *, test: str, join: str) -> Array:
    """(a `test` b) `join` other with denormals as zeros."""
    return JOINS[join](compare(flushed(a), flushed(b), test), other)


@computes("set.{test}.{d}.{t}", "t t -> d", test=("eq", "ne"), d=("u32", "s32", "f32"), t=BITS)
@computes("set.{test}.{d}.{t}", "t t -> d", test=ORDERED, d=("u32", "s32", "f32"), t=SIGNED)
@computes("set.{test}.{d}.{t}", "t t -> d", test=(*ORDERED, *LOWER), d=("u32", "s32", "f32"), t=UNSIGNED)
@computes("set.{test}.{d}.{t}", "t t -> d", test=FLOAT_TESTS, d=("u32", "s32", "f32"), t=("f32", "f64"))
def set_value(a: Array, b: Array, *, test: str, d: str) -> Array:
    """a `test` b as a value: true is all ones as an integer and 1.0 as a float."""
    return truth(compare(a, b, test), d)


@computes("set.{test}.{join}.{d}.{t}", "t t pred -> d", test=ORDERED, join=JOINS, d=("u32", "s32", "f32"), t=INTEGERS)
@computes(
    "set.{test}.{join}.{d}.{t}",
    "t t pred -> d",
    test=FLOAT_TESTS,
    join=JOINS,
    d=("u32", "s32", "f32"),
    t=("f32", "f64"),
)
def set_joined_value(a: Array, b: Array, other: Array, *, test: str, join: str, d: str) -> Array:
    """(a `test` b) `join` other as a value."""
    return truth(JOINS[join](compare(a, b, test), other), d)


@computes("set.{test}.ftz.{d}.f32", "f32 f32 -> d", test=FLOAT_TESTS, d=("u32", "s32", "f32"))
def set_value_flushed(a: Array, b: Array, *, test: str, d: str) -> Array:
    """a `test` b as a value, with denormals as zeros."""
    return truth(compare(flushed(a), flushed(b), test), d)


def truth(condition: Array, code: str) -> Array:
    """Return a condition as a value of a PTX type."""
    kind = DTYPES[code]
    result: Array = condition.astype(kind) if kind.kind == "f" else bit_mask(condition, kind).view(kind)
    return result


_FEW = 1024


def select(a: Array, b: Array, condition: Array) -> Array:
    """Return a where the condition holds, else b, for unsigned a and b; np.where is quicker for few elements only."""
    if condition.size < _FEW and a.size < _FEW and b.size < _FEW:
        return np.where(condition, a, b)
    result: Array = b ^ ((a ^ b) & bit_mask(condition, a.dtype))
    return result


@computes("selp.{t}", "bits:t bits:t pred -> bits:t", t=(*BITS, *INTEGERS, "f32", "f64"))
def select_by_predicate(a: Array, b: Array, condition: Array) -> Array:
    """a where the predicate holds, else b."""
    return select(a, b, condition)


@computes("slct.{t}.s32", "bits:t bits:t s32 -> bits:t", t=(*BITS, *INTEGERS, "f32", "f64"))
@computes("slct.{t}.f32", "bits:t bits:t f32 -> bits:t", t=(*BITS, *INTEGERS, "f32", "f64"))
def select_by_sign(a: Array, b: Array, sign: Array) -> Array:
    """a if the sign is not negative, else b; -0 counts as not negative, NaN as negative."""
    return select(a, b, sign >= 0)


@computes("slct.ftz.{t}.f32", "bits:t bits:t f32 -> bits:t", t=(*BITS, *INTEGERS, "f32", "f64"))
def select_by_flushed_sign(a: Array, b: Array, sign: Array) -> Array:
    """As without `.ftz`, but a negative denormal counts as -0."""
    return select(a, b, flushed(sign) >= 0)


@computes(
    "testp.{what}.{t}", "t -> pred", t=("f32", "f64"),
    what=("finite", "infinite", "number", "notanumber", "normal", "subnormal"),
)  # fmt: skip
def test_property(a: Array, *, what: str) -> Array:
    """Return whether a is of this kind. Zero is a normal number, as on the GPU."""
    tiny = np.finfo(a.dtype).tiny
    tests: dict[str, Callable[[], Array]] = {
        "finite": lambda: np.isfinite(a),
        "infinite": lambda: np.isinf(a),
        "number": lambda: ~np.isnan(a),
        "notanumber": lambda: np.isnan(a),
        "normal": lambda: np.isfinite(a) & ((np.abs(a) >= tiny) | (a == 0)),
        "subnormal": lambda: (a != 0) & (np.abs(a) < tiny),
    }
    return tests[what]()
