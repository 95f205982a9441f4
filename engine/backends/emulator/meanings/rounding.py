"""Rounding once: fused multiply-add, directed rounding, flushing, saturation.

All functions use the error of an operation. `two_sum` returns the error of a float64 addition. A value rounded *to odd*
(an inexact one gets an odd last bit) can be rounded again to a narrower type without a double rounding. A directed
rounding is the nearest result, moved one step if its error requires it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from engine.records import Array

BLOCK = 8192  # elements per pass of fused(): the temporaries stay in the L1 and L2 caches
SPLITTER = 134217729.0  # 2^27 + 1: splits a float64 into two halves of 26 bits


def fused(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c, rounded once; float32 or float64 arrays with equally many axes and broadcastable shapes.

    NumPy has no fused multiply-add, but its complex product uses one: the real part of (a + ic)(b - i) is fma(a, b, c)
    if the processor has that instruction. `product_is_fused` tests this; otherwise error terms give the result.
    """
    if not product_is_fused():
        return _fused_by_error_terms(a, b, c)
    shape = a.shape if a.shape == b.shape == c.shape else np.broadcast(a, b, c).shape
    if math.prod(shape) <= BLOCK:
        x, y, product, x_real, x_imag, y_real, answer = buffers.of(a.dtype, shape)
        x_real[...], y_real[...], x_imag[...] = a, b, c
        np.multiply(x, y, out=product)  # not into x, for which NumPy uses an unfused product
        return answer.copy()
    out: Array = np.empty(shape, a.dtype)
    width = math.prod(out.shape[1:])
    height = max(1, BLOCK // max(width, 1))
    for start in range(0, out.shape[0], height):
        here = out[start : start + height]
        x, y, product, x_real, x_imag, y_real, answer = buffers.of(a.dtype, here.shape)
        for into, part in ((x_real, a), (y_real, b), (x_imag, c)):
            into[...] = part if len(part) == 1 else part[start : start + height]
        np.multiply(x, y, out=product)
        here[...] = answer
    return out


Turns = tuple[Array, Array, Array, list[tuple[Array, Array, Array, Array, Array]]]


class _Buffers(threading.local):
    """Reusable buffers for complex products: allocating new arrays would cost more than the arithmetic."""

    def __init__(self) -> None:
        self._made: dict[np.dtype[Any], list[Array]] = {}
        self._views: dict[tuple[np.dtype[Any], tuple[int, ...]], tuple[Array, ...]] = {}
        self._turns: dict[tuple[np.dtype[Any], tuple[int, ...]], Turns] = {}

    def of(self, kind: np.dtype[Any], shape: tuple[int, ...]) -> tuple[Array, ...]:
        """Return three complex arrays x, y, z of that shape with parts of the type `kind`, and the views x.real,
        x.imag, y.real and z.real. The imaginary part of y is always -1."""
        found = self._views.get((kind, shape))
        if found is None:
            size = math.prod(shape)
            made = self._made.get(kind)
            if made is None or made[0].size < size:
                made = [np.zeros(max(size, BLOCK), np.result_type(kind, np.complex64)) for _ in range(3)]
                made[1].imag = -1
                self._made[kind] = made
                self._views.clear()
                self._turns.clear()
            if len(self._views) > 1000:
                self._views.clear()
            x, y, z = (buffer[:size].reshape(shape) for buffer in made)
            found = self._views[kind, shape] = x, y, z, x.real, x.imag, y.real, z.real
        return found

    def in_turn(self, kind: np.dtype[Any], shape: tuple[int, ...]) -> Turns:
        """Return the views x.real, y.real and z.real of three complex arrays of a shape with three axes, and for each
        number of the first axis the views x, y, z, x.imag and z.real."""
        found = self._turns.get((kind, shape))
        if found is None:
            x, y, z, x_real, x_imag, y_real, z_real = self.of(kind, shape)
            if len(self._turns) > 100:
                self._turns.clear()
            found = self._turns[kind, shape] = x_real, y_real, z_real, list(zip(x, y, z, x_imag, z_real, strict=True))
        return found


buffers = _Buffers()


@lru_cache(maxsize=1)
def product_is_fused() -> bool:
    """Return whether NumPy's complex product leaves the first product unrounded, for every length of a
    vector's tail."""
    for kind, digits in ((np.float32, 24), (np.float64, 53)):
        step = 2.0 ** -(digits - 1)
        for size in (*range(1, 34), BLOCK):
            left = np.full(size, complex(1 + step, -1 - 2 * step), np.result_type(kind, np.complex64))
            right = np.full(size, complex(1 + step, -1), left.dtype)
            if not (np.multiply(left, right, out=np.empty_like(left)).real == step * step).all():
                return False
    return True


def _fused_by_error_terms(a: Array, b: Array, c: Array) -> Array:
    """Return the same with float64 additions and products only; exact except near the ends of float64's range."""
    if a.dtype == np.float32:
        product = a.astype(np.float64) * b  # 48 bits: exact
        return to_odd(*two_sum(product, c.astype(np.float64))).astype(np.float32)
    product, lost = _two_product(a, b)
    total, lost_here = two_sum(c, lost)
    high, low = two_sum(product, total)
    result = high + to_odd(*two_sum(lost_here, low))
    plain = a * b + c  # if an error term is infinite or NaN, so is the answer
    return np.where(np.isfinite(result), result, plain)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _upper_half(a: Array) -> Array:
    big = a * SPLITTER
    result: Array = big - (big - a)
    return result


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded a + b, and its error (exactly)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def to_odd(value: Array, error: Array) -> Array:
    """Return float64 `value` + `error` rounded to odd: an inexact even value moves one step toward the error."""
    bits = value.view(np.int64)
    # Adding one to the bit pattern moves away from zero; an error with the value's sign points there.
    towards = (bits ^ error.view(np.int64)) >> 63 | 1
    inexact = (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    result: Array = (bits + towards * inexact).view(np.float64)
    return result


def stepped(nearest: Array, error: Array, rounding: str) -> Array:
    """Move a nearest value to the directed one: `error` has the sign of (exact - nearest), 0 if exact."""
    kind = nearest.dtype.type
    if rounding == "rn":
        return nearest
    if rounding == "rz":
        beyond = (error != 0) & (np.signbit(error) != np.signbit(nearest)) & (nearest != 0)
        return np.where(beyond, np.nextafter(nearest, kind(0)), nearest)
    if rounding == "rm":
        return np.where(error < 0, np.nextafter(nearest, kind(-np.inf)), nearest)
    return np.where(error > 0, np.nextafter(nearest, kind(np.inf)), nearest)


def narrowed(value: Array, kind: str, rounding: str) -> Array:
    """Round float64 to "f16" or "f32"."""
    nearest = value.astype(f"f{int(kind[1:]) // 8}")
    if rounding == "rn":
        return nearest
    back = nearest.astype(np.float64)
    # Two infinities of one sign have no difference: no error.
    error = np.where(value == back, 0.0, value - back)
    return stepped(nearest, error, rounding)


def rounded_to_integer(a: Array, rounding: str) -> Array:
    """Return the neighbouring whole number, still as a float: rni to nearest even, rzi, rmi, rpi."""
    function = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding]
    result: Array = function(a)
    return result


def flushed(a: Array) -> Array:
    """Apply .ftz: a denormal float32 becomes a zero of its sign."""
    bits = a.view(np.uint32)
    keep = -((bits & np.uint32(0x7F800000)) != 0).view(np.int8)
    result: Array = (bits & (keep.astype(np.int32).view(np.uint32) | np.uint32(0x80000000))).view(np.float32)
    return result


def saturated(a: Array) -> Array:
    """Apply .sat: clamp to [0, 1]; NaN becomes +0. Adding zero turns -0 into +0."""
    kind = a.dtype.type
    result: Array = np.fmin(np.fmax(a, kind(0)), kind(1)) + kind(0)
    return result


TINY, HUGE = 2.0**-900, 2.0**1000


def with_modifiers(result: Array, ftz: bool, sat: bool) -> Array:
    """Apply the modifiers of a result."""
    if ftz:
        result = flushed(result)
    return saturated(result) if sat else result


def flushed_if(ftz: bool, *operands: Array) -> tuple[Array, ...]:
    """Return the operands, flushed with `ftz`."""
    return tuple(flushed(a) for a in operands) if ftz else operands


def signed_zero(result: Array, a: Array, b: Array, rounding: str) -> Array:
    """Return the result with the right sign of zero: rounding down, two terms that cancel give -0."""
    if rounding != "rm":
        return result
    cancelled = (a + b == 0) & ~((a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b)) & (result == 0)
    return np.where(cancelled, -np.abs(result), result)


def rounded_sum(a: Array, b: Array, rounding: str) -> Array:
    """Return the float64 a + b as float32, rounded once."""
    total, lost = two_sum(a, b)
    return signed_zero(narrowed(to_odd(total, lost), "f32", rounding), a, b, rounding)


def stepped_in_range(nearest: Array, error: Array, rounding: str, finite: Array) -> Array:
    """Move `nearest` by its error, even if it overflowed from finite operands."""
    overflow = np.isinf(nearest) & finite
    return stepped(nearest, np.where(overflow, -nearest, np.where(np.isfinite(nearest), error, 0.0)), rounding)


def directed_sum(nearest: Array, error: Array, rounding: str, a: Array, b: Array, finite: Array) -> Array:
    """Move a float64 sum of a and b by its error, even if `nearest` overflowed from finite operands."""
    return signed_zero(stepped_in_range(nearest, error, rounding, finite), a, b, rounding)


def exact_where_extreme(
    error: Array, product: Array, nearest: Array, exact: Callable[..., Fraction], *operands: Array
) -> Array:
    """Return the error's sign, by fractions in the lanes whose error terms of `product` would under- or overflow."""
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
