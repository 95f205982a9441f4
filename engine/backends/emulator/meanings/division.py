"""Quotients, reciprocals and roots of float32 and float64, correctly rounded."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.directed import (
    exact_where_extreme,
    finished,
    flushed_if,
    stepped_in_range,
)
from engine.backends.emulator.meanings.registry import ROUNDINGS, computes
from engine.backends.emulator.meanings.rounding import fused, narrowed
from engine.records import Array


@computes("div.{rounding}.f64", "f64 f64 -> f64", rounding=ROUNDINGS)
def divide_double(a: Array, b: Array, *, rounding: str) -> Array:
    """a / b."""
    quotient = a / b
    if rounding == "rn":
        return quotient
    remainder = fused(-quotient, b, a)  # its sign by the divisor's is the error's
    error = np.where(np.signbit(b), -remainder, remainder)
    error = exact_where_extreme(error, a, quotient, lambda x, y, r: x / y - r, a, b)
    return stepped_in_range(quotient, error, rounding, np.isfinite(a) & np.isfinite(b) & (b != 0))


@computes("rcp.{rounding}.f64", "f64 -> f64", rounding=ROUNDINGS)
def reciprocal_double(a: Array, *, rounding: str) -> Array:
    """1 / a."""
    return divide_double(np.ones_like(a), a, rounding=rounding)


@computes("sqrt.{rounding}.f64", "f64 -> f64", rounding=ROUNDINGS)
def square_root_double(a: Array, *, rounding: str) -> Array:
    """The root of a."""
    root = np.sqrt(a)
    if rounding == "rn":
        return root
    error = exact_where_extreme(fused(-root, root, a), a, root, lambda x, r: x - r * r, a)
    return stepped_in_range(root, error, rounding, np.isfinite(a))


@computes("div.{rounding}.ftz?.f32", "f32 f32 -> f32", rounding=ROUNDINGS)
def divide(a: Array, b: Array, *, rounding: str, ftz: bool) -> Array:
    """a / b."""
    a, b = flushed_if(ftz, a, b)
    # A float64 quotient or root that is inexact is never a float32 itself: rounding it again is safe.
    result = a / b if rounding == "rn" else narrowed(a.astype(np.float64) / b, "f32", rounding)
    return finished(result, ftz, False)


@computes("rcp.{rounding}.ftz?.f32", "f32 -> f32", rounding=ROUNDINGS)
def reciprocal(a: Array, *, rounding: str, ftz: bool) -> Array:
    """1 / a."""
    return divide(np.ones_like(a), a, rounding=rounding, ftz=ftz)


@computes("sqrt.{rounding}.ftz?.f32", "f32 -> f32", rounding=ROUNDINGS)
def square_root(a: Array, *, rounding: str, ftz: bool) -> Array:
    """The root of a."""
    (a,) = flushed_if(ftz, a)
    result = np.sqrt(a) if rounding == "rn" else narrowed(np.sqrt(a.astype(np.float64)), "f32", rounding)
    return finished(result, ftz, False)


@computes("div.full.ftz?.f32", "f32 f32 -> f32")
def divide_full(a: Array, b: Array, *, ftz: bool) -> Array:
    """a / b, correctly rounded where the GPU may be two units off."""
    return divide(a, b, rounding="rn", ftz=ftz)
