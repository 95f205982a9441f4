"""What the arithmetic of floats shares: its modifiers, and the directed roundings.

A directed rounding is the nearest result, then one step where its error says so.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from engine.backends.emulator.meanings.rounding import flushed, narrowed, saturated, stepped, to_odd, two_sum
from engine.records import Array

TINY, HUGE = 2.0**-900, 2.0**1000


def finished(result: Array, ftz: bool, sat: bool) -> Array:
    """The modifiers that work on a result."""
    if ftz:
        result = flushed(result)
    return saturated(result) if sat else result


def flushed_if(ftz: bool, *operands: Array) -> tuple[Array, ...]:
    """The operands, denormals to zero if asked."""
    return tuple(flushed(a) for a in operands) if ftz else operands


def signed_zero(result: Array, a: Array, b: Array, rounding: str) -> Array:
    """Rounding down, two terms that cancel give -0."""
    if rounding != "rm":
        return result
    cancelled = (a + b == 0) & ~((a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b)) & (result == 0)
    return np.where(cancelled, -np.abs(result), result)


def rounded_sum(a: Array, b: Array, rounding: str) -> Array:
    """float64 a + b -> float32, rounded once."""
    total, lost = two_sum(a, b)
    return signed_zero(narrowed(to_odd(total, lost), "f32", rounding), a, b, rounding)


def stepped_in_range(nearest: Array, error: Array, rounding: str, finite: Array) -> Array:
    """`nearest` stepped by its error, also where it overflowed though all operands are finite."""
    overflow = np.isinf(nearest) & finite
    return stepped(nearest, np.where(overflow, -nearest, np.where(np.isfinite(nearest), error, 0.0)), rounding)


def directed(nearest: Array, error: Array, rounding: str, a: Array, b: Array, finite: Array) -> Array:
    """A float64 sum of a and b stepped by its error, also where `nearest` overflowed though all operands are finite."""
    return signed_zero(stepped_in_range(nearest, error, rounding, finite), a, b, rounding)


def exact_where_extreme(
    error: Array, product: Array, nearest: Array, exact: Callable[..., Fraction], *operands: Array
) -> Array:
    """The error's sign by fractions, lane by lane, where error terms of `product` would under- or overflow."""
    size = np.abs(product)
    extreme = ((size < TINY) | (size > HUGE)) & np.isfinite(nearest)
    for operand in operands:
        extreme = extreme & np.isfinite(operand)
    extreme &= (operands[0] != 0) & (operands[-1] != 0 if len(operands) == 2 else True)
    if not extreme.any():
        return error
    error, *values = (np.array(part) for part in np.broadcast_arrays(error, *operands, nearest))
    for lane in zip(*np.nonzero(np.broadcast_to(extreme, error.shape)), strict=True):
        difference = exact(*(Fraction(float(part[lane])) for part in values))
        error[lane] = (difference > 0) - (difference < 0)
    return error
