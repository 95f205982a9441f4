"""float32 and float64 arithmetic. Denormals are kept unless the opcode says `.ftz`.

The `.approx` forms are the correctly rounded values (computed in float64): the GPU's own are allowed to be 1 to 2 units
in the last place off, or 2^-20.9 absolute for sin and cos.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from engine.backends.emulator.meanings.registry import FLOATS, ROUNDINGS, computes
from engine.backends.emulator.meanings.rounding import flushed, fused, narrowed, saturated, stepped, to_odd, two_sum
from engine.records import Array

DIRECTED = ("rz", "rm", "rp")
TINY, HUGE = 2.0**-900, 2.0**1000
UPPER_WORD = np.uint64(0xFFFFFFFF_00000000)


def finished(result: Array, ftz: bool, sat: bool) -> Array:
    """The modifiers that work on a result."""
    if ftz:
        result = flushed(result)
    return saturated(result) if sat else result


def _flush(ftz: bool, *operands: Array) -> tuple[Array, ...]:
    return tuple(flushed(a) for a in operands) if ftz else operands


@computes("add.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("add.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def add(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a + b."""
    a, b = _flush(ftz, a, b)
    return finished(a + b, ftz, sat)


@computes("sub.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("sub.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def subtract(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a - b."""
    a, b = _flush(ftz, a, b)
    return finished(a - b, ftz, sat)


@computes("mul.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("mul.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def multiply(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a * b."""
    a, b = _flush(ftz, a, b)
    return finished(a * b, ftz, sat)


@computes("add.f64", "f64 f64 -> f64")
@computes("add.rn.f64", "f64 f64 -> f64")
def add_double(a: Array, b: Array) -> Array:
    """a + b."""
    return a + b


@computes("sub.f64", "f64 f64 -> f64")
@computes("sub.rn.f64", "f64 f64 -> f64")
def subtract_double(a: Array, b: Array) -> Array:
    """a - b."""
    return a - b


@computes("mul.f64", "f64 f64 -> f64")
@computes("mul.rn.f64", "f64 f64 -> f64")
def multiply_double(a: Array, b: Array) -> Array:
    """a * b."""
    return a * b


@computes("fma.{rounding}.ftz?.sat?.f32", "f32 f32 f32 -> f32", rounding=ROUNDINGS)
@computes("mad.{rounding}.ftz?.sat?.f32", "f32 f32 f32 -> f32", rounding=ROUNDINGS)
def fuse(a: Array, b: Array, c: Array, *, rounding: str, ftz: bool, sat: bool) -> Array:
    """One rounding at the end, not two as in a * b + c."""
    if rounding == "rn" and not (ftz or sat):
        return fused(a, b, c)
    a, b, c = _flush(ftz, a, b, c)
    if rounding == "rn":
        return finished(fused(a, b, c), ftz, sat)
    product = a.astype(np.float64) * b  # exact
    return finished(_rounded_sum(product, c.astype(np.float64), rounding), ftz, sat)


@computes("fma.{rounding}.f64", "f64 f64 f64 -> f64", rounding=ROUNDINGS)
@computes("mad.{rounding}.f64", "f64 f64 f64 -> f64", rounding=ROUNDINGS)
def fuse_double(a: Array, b: Array, c: Array, *, rounding: str) -> Array:
    """a * b + c, rounded once."""
    nearest = fused(a, b, c)
    if rounding == "rn":
        return nearest
    # a * b + c is the sum of `total`, `lost` and `low`, exactly; what of it is not in `nearest` has the error's sign.
    product = a * b
    low = fused(a, b, -product)
    total, lost = two_sum(product, c)
    part, rest = two_sum(total - nearest, low)
    error = _exact_where_extreme(part + (rest + lost), product, nearest, lambda x, y, z, r: x * y + z - r, a, b, c)
    return _directed(nearest, error, rounding, product, c, np.isfinite(a) & np.isfinite(b) & np.isfinite(c))


# Directed roundings: the nearest result, then one step where its error says so.


@computes("{name}.{rounding}.ftz?.sat?.f32", "f32 f32 -> f32", name=("add", "sub"), rounding=DIRECTED)
def add_directed(a: Array, b: Array, *, name: str, rounding: str, ftz: bool, sat: bool) -> Array:
    """a + b or a - b."""
    a, b = _flush(ftz, a, b)
    b = -b if name == "sub" else b
    return finished(_rounded_sum(a.astype(np.float64), b.astype(np.float64), rounding), ftz, sat)


@computes("mul.{rounding}.ftz?.sat?.f32", "f32 f32 -> f32", rounding=DIRECTED)
def multiply_directed(a: Array, b: Array, *, rounding: str, ftz: bool, sat: bool) -> Array:
    """a * b, which float64 holds exactly."""
    a, b = _flush(ftz, a, b)
    return finished(narrowed(a.astype(np.float64) * b, "f32", rounding), ftz, sat)


def _rounded_sum(a: Array, b: Array, rounding: str) -> Array:
    """float64 a + b -> float32, rounded once."""
    total, lost = two_sum(a, b)
    return _signed_zero(narrowed(to_odd(total, lost), "f32", rounding), a, b, rounding)


def _signed_zero(result: Array, a: Array, b: Array, rounding: str) -> Array:
    """Rounding down, two terms that cancel give -0."""
    if rounding != "rm":
        return result
    cancelled = (a + b == 0) & ~((a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b)) & (result == 0)
    return np.where(cancelled, -np.abs(result), result)


def _directed(nearest: Array, error: Array, rounding: str, a: Array, b: Array, finite: Array) -> Array:
    """A float64 sum of a and b stepped by its error, also where `nearest` overflowed though all operands are finite."""
    return _signed_zero(_stepped_in_range(nearest, error, rounding, finite), a, b, rounding)


def _stepped_in_range(nearest: Array, error: Array, rounding: str, finite: Array) -> Array:
    overflow = np.isinf(nearest) & finite
    return stepped(nearest, np.where(overflow, -nearest, np.where(np.isfinite(nearest), error, 0.0)), rounding)


def _exact_where_extreme(
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


@computes("{name}.{rounding}.f64", "f64 f64 -> f64", name=("add", "sub"), rounding=DIRECTED)
def add_double_directed(a: Array, b: Array, *, name: str, rounding: str) -> Array:
    """a + b or a - b."""
    b = -b if name == "sub" else b
    total, lost = two_sum(a, b)
    return _directed(total, lost, rounding, a, b, np.isfinite(a) & np.isfinite(b))


@computes("mul.{rounding}.f64", "f64 f64 -> f64", rounding=DIRECTED)
def multiply_double_directed(a: Array, b: Array, *, rounding: str) -> Array:
    """a * b."""
    product = a * b
    error = _exact_where_extreme(fused(a, b, -product), product, product, lambda x, y, r: x * y - r, a, b)
    return _stepped_in_range(product, error, rounding, np.isfinite(a) & np.isfinite(b))


@computes("div.{rounding}.f64", "f64 f64 -> f64", rounding=ROUNDINGS)
def divide_double(a: Array, b: Array, *, rounding: str) -> Array:
    """a / b."""
    quotient = a / b
    if rounding == "rn":
        return quotient
    remainder = fused(-quotient, b, a)  # its sign by the divisor's is the error's
    error = np.where(np.signbit(b), -remainder, remainder)
    error = _exact_where_extreme(error, a, quotient, lambda x, y, r: x / y - r, a, b)
    return _stepped_in_range(quotient, error, rounding, np.isfinite(a) & np.isfinite(b) & (b != 0))


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
    error = _exact_where_extreme(fused(-root, root, a), a, root, lambda x, r: x - r * r, a)
    return _stepped_in_range(root, error, rounding, np.isfinite(a))


@computes("div.{rounding}.ftz?.f32", "f32 f32 -> f32", rounding=ROUNDINGS)
def divide(a: Array, b: Array, *, rounding: str, ftz: bool) -> Array:
    """a / b."""
    a, b = _flush(ftz, a, b)
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
    (a,) = _flush(ftz, a)
    result = np.sqrt(a) if rounding == "rn" else narrowed(np.sqrt(a.astype(np.float64)), "f32", rounding)
    return finished(result, ftz, False)


@computes("div.full.ftz?.f32", "f32 f32 -> f32")
def divide_full(a: Array, b: Array, *, ftz: bool) -> Array:
    """a / b, correctly rounded where the GPU may be two units off."""
    return divide(a, b, rounding="rn", ftz=ftz)


@computes("div.approx.ftz?.f32", "f32 f32 -> f32")
def divide_approximately(a: Array, b: Array, *, ftz: bool) -> Array:
    """A product with the reciprocal, which is zero for divisors above 2^126."""
    result = divide(a, b, rounding="rn", ftz=ftz)
    huge = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
    return np.where(huge & np.isfinite(a), np.copysign(np.float32(0), result), result) if huge.any() else result


APPROXIMATE: dict[str, Callable[[Array], Array]] = {
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
}


@computes("tanh.approx.f32", "f32 -> f32")
def hyperbolic_tangent(a: Array) -> Array:
    """Has no `.ftz`."""
    return np.tanh(a.astype(np.float64)).astype(np.float32)


@computes("{name}.approx.ftz?.f32", "f32 -> f32", name=APPROXIMATE)
def approximate(a: Array, *, name: str, ftz: bool) -> Array:
    """A function of the special function unit."""
    (a,) = _flush(ftz, a)
    return finished(APPROXIMATE[name](a.astype(np.float64)).astype(np.float32), ftz, False)


@computes("rsqrt.approx.f64", "f64 -> f64")
def reciprocal_root_double(a: Array) -> Array:
    """1 / the root of a."""
    return 1.0 / np.sqrt(a)


@computes("{name}.approx.ftz.f64", "f64 -> f64", name=("rcp", "rsqrt"))
def start_iteration(a: Array, *, name: str) -> Array:
    """A first value for Newton's method: the upper word of the result alone, denormals flushed."""
    magnitude = np.abs(a)
    a = np.where(magnitude < np.finfo(np.float64).tiny, np.copysign(0.0, a), a)
    result = APPROXIMATE[name](a)
    result = np.where(np.abs(result) < np.finfo(np.float64).tiny, np.copysign(0.0, result), result)
    upper: Array = (result.view(np.uint64) & UPPER_WORD).view(np.float64)
    return np.where(np.isnan(result), result, upper)


@computes("neg.{t}", "t -> t", t=FLOATS)
def negate(a: Array) -> Array:
    """The sign turned."""
    return np.negative(a)


@computes("abs.{t}", "t -> t", t=FLOATS)
def absolute(a: Array) -> Array:
    """The sign cleared."""
    return np.abs(a)


@computes("{name}.ftz.f32", "f32 -> f32", name=("neg", "abs"))
def change_sign_flushed(a: Array, *, name: str) -> Array:
    """The sign turned or cleared, denormals to zero."""
    return np.negative(flushed(a)) if name == "neg" else np.abs(flushed(a))


@computes("copysign.{t}", "t t -> t", t=FLOATS)
def copy_sign(a: Array, b: Array) -> Array:
    """The sign of the first operand on the second: NumPy has them the other way round."""
    return np.copysign(b, a)


def least(a: Array, b: Array) -> Array:
    """As fmin, which skips NaN; but -0 is below +0, which NumPy leaves open."""
    smaller = np.fmin(a, b)
    bits = f"u{a.dtype.itemsize}"
    # Equal values of different bits are the two zeros: their difference is the sign bit.
    signs = (a.view(bits) ^ b.view(bits)) * (a == b)
    result: Array = (smaller.view(bits) | signs).view(a.dtype)
    return result


def greatest(a: Array, b: Array) -> Array:
    """As fmax, with +0 above -0."""
    larger = np.fmax(a, b)
    bits = f"u{a.dtype.itemsize}"
    signs = (a.view(bits) ^ b.view(bits)) * (a == b)
    result: Array = (larger.view(bits) & ~signs).view(a.dtype)
    return result


EXTREMES = {"min": least, "max": greatest}


@computes("{name}.{t}", "t t -> t", name=EXTREMES, t=FLOATS)
def extreme(a: Array, b: Array, *, name: str) -> Array:
    """The smaller or larger one; a NaN loses."""
    return EXTREMES[name](a, b)


@computes("{name}.ftz.f32", "f32 f32 -> f32", name=EXTREMES)
def extreme_flushed(a: Array, b: Array, *, name: str) -> Array:
    """As without `.ftz`, of denormals as zeros."""
    return EXTREMES[name](flushed(a), flushed(b))


@computes("{name}.ftz?.NaN.f32", "f32 f32 -> f32", name=EXTREMES)
def extreme_or_nan(a: Array, b: Array, *, name: str, ftz: bool) -> Array:
    """With `.NaN` a NaN wins."""
    a, b = _flush(ftz, a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), EXTREMES[name](a, b))


@computes("{name}.ftz?.NaN?.xorsign.abs.f32", "f32 f32 -> f32", name=EXTREMES)
def extreme_magnitude(a: Array, b: Array, *, name: str, ftz: bool, NaN: bool) -> Array:
    """Of the magnitudes; the sign is that of the product."""
    function = extreme_or_nan if NaN else extreme_magnitude_plain
    result = function(np.abs(a), np.abs(b), name=name, ftz=ftz)
    sign = (a.view(np.uint32) ^ b.view(np.uint32)) & np.uint32(0x80000000)
    return (result.view(np.uint32) & np.uint32(0x7FFFFFFF) | sign).view(np.float32)


def extreme_magnitude_plain(a: Array, b: Array, *, name: str, ftz: bool) -> Array:
    """min or max of two operands, flushed if asked."""
    return EXTREMES[name](*_flush(ftz, a, b))
