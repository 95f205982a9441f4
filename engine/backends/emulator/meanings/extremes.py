"""Minimum and maximum of floats and integers."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.registry import FLOATS, INTEGERS, computes, halves, packed
from engine.backends.emulator.meanings.rounding import flushed, flushed_if
from engine.records import Array


def least(a: Array, b: Array) -> Array:
    """Return the minimum like fmin, which skips NaN; -0 is below +0, which NumPy leaves undefined."""
    smaller = np.fmin(a, b)
    bits = f"u{a.dtype.itemsize}"
    # Equal values with different bits are the two zeros; they differ in the sign bit.
    signs = (a.view(bits) ^ b.view(bits)) * (a == b)
    result: Array = (smaller.view(bits) | signs).view(a.dtype)
    return result


def greatest(a: Array, b: Array) -> Array:
    """Return the maximum like fmax, with +0 above -0."""
    larger = np.fmax(a, b)
    bits = f"u{a.dtype.itemsize}"
    signs = (a.view(bits) ^ b.view(bits)) * (a == b)
    result: Array = (larger.view(bits) & ~signs).view(a.dtype)
    return result


EXTREMES = {"min": least, "max": greatest}


@computes("{name}.{t}", "t t -> t", name=EXTREMES, t=FLOATS)
def extreme(a: Array, b: Array, *, name: str) -> Array:
    """The minimum or maximum; a number beats a NaN."""
    return EXTREMES[name](a, b)


@computes("{name}.ftz.f32", "f32 f32 -> f32", name=EXTREMES)
def extreme_flushed(a: Array, b: Array, *, name: str) -> Array:
    """As without `.ftz`, with denormals as zeros."""
    return EXTREMES[name](flushed(a), flushed(b))


@computes("{name}.ftz?.NaN.f32", "f32 f32 -> f32", name=EXTREMES)
def extreme_or_nan(a: Array, b: Array, *, name: str, ftz: bool) -> Array:
    """The minimum or maximum; a NaN beats a number."""
    a, b = flushed_if(ftz, a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), EXTREMES[name](a, b))


@computes("{name}.ftz?.NaN?.xorsign.abs.f32", "f32 f32 -> f32", name=EXTREMES)
def extreme_magnitude(a: Array, b: Array, *, name: str, ftz: bool, NaN: bool) -> Array:
    """The minimum or maximum of the magnitudes, with the sign of the product."""
    function = extreme_or_nan if NaN else extreme_magnitude_plain
    result = function(np.abs(a), np.abs(b), name=name, ftz=ftz)
    sign = (a.view(np.uint32) ^ b.view(np.uint32)) & np.uint32(0x80000000)
    return (result.view(np.uint32) & np.uint32(0x7FFFFFFF) | sign).view(np.float32)


def extreme_magnitude_plain(a: Array, b: Array, *, name: str, ftz: bool) -> Array:
    """Return the minimum or maximum, of flushed operands with `ftz`."""
    return EXTREMES[name](*flushed_if(ftz, a, b))


@computes("min.{t}", "t t -> t", t=INTEGERS)
def minimum(a: Array, b: Array) -> Array:
    """The minimum."""
    return np.minimum(a, b)


@computes("max.{t}", "t t -> t", t=INTEGERS)
def maximum(a: Array, b: Array) -> Array:
    """The maximum."""
    return np.maximum(a, b)


@computes("{name}.relu.{t}", "t t -> t", name=("min", "max"), t=("s32", "s16x2"))
@computes("{name}.{t}.relu", "t t -> t", name=("min", "max"), t=("s32", "s16x2"))  # the spelling in CUDA's headers
def clip_below(a: Array, b: Array, *, name: str, t: str) -> Array:
    """The minimum or maximum; negative results become zero."""
    function = np.minimum if name == "min" else np.maximum
    if t == "s32":
        return np.maximum(function(a, b), np.int32(0))
    (a_low, a_high), (b_low, b_high) = halves(a, signed=True), halves(b, signed=True)
    zero = np.int16(0)
    return packed(np.maximum(function(a_low, b_low), zero), np.maximum(function(a_high, b_high), zero))
