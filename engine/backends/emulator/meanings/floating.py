"""float32 and float64 arithmetic: sums, products, quotients, roots, signs, and the `.approx` forms.

Denormals are kept unless the opcode has `.ftz`. The `.approx` forms return the correctly rounded value (computed in
float64); the GPU's may be 1 to 2 units in the last place off, or 2^-20.9 absolute for sin and cos.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.meanings.registry import FLOATS, ROUNDINGS, computes
from engine.backends.emulator.meanings.rounding import (
    directed_sum,
    exact_where_extreme,
    flushed,
    flushed_if,
    fused,
    narrowed,
    rounded_sum,
    stepped_in_range,
    two_sum,
    with_modifiers,
)
from engine.records import Array

DIRECTED = ("rz", "rm", "rp")


@computes("add.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("add.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def add(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a + b."""
    a, b = flushed_if(ftz, a, b)
    return with_modifiers(a + b, ftz, sat)


@computes("sub.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("sub.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def subtract(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a - b."""
    a, b = flushed_if(ftz, a, b)
    return with_modifiers(a - b, ftz, sat)


@computes("mul.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("mul.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def multiply(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a * b."""
    a, b = flushed_if(ftz, a, b)
    return with_modifiers(a * b, ftz, sat)


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
    """a * b + c, rounded once at the end."""
    if rounding == "rn" and not (ftz or sat):
        return fused(a, b, c)
    a, b, c = flushed_if(ftz, a, b, c)
    if rounding == "rn":
        return with_modifiers(fused(a, b, c), ftz, sat)
    product = a.astype(np.float64) * b  # exact
    return with_modifiers(rounded_sum(product, c.astype(np.float64), rounding), ftz, sat)


@computes("fma.{rounding}.f64", "f64 f64 f64 -> f64", rounding=ROUNDINGS)
@computes("mad.{rounding}.f64", "f64 f64 f64 -> f64", rounding=ROUNDINGS)
def fuse_double(a: Array, b: Array, c: Array, *, rounding: str) -> Array:
    """a * b + c, rounded once."""
    nearest = fused(a, b, c)
    if rounding == "rn":
        return nearest
    # a * b + c is exactly the sum of `total`, `lost` and `low`; its difference from `nearest` has the error's sign.
    product = a * b
    low = fused(a, b, -product)
    total, lost = two_sum(product, c)
    part, rest = two_sum(total - nearest, low)
    error = exact_where_extreme(part + (rest + lost), product, nearest, lambda x, y, z, r: x * y + z - r, a, b, c)
    return directed_sum(nearest, error, rounding, product, c, np.isfinite(a) & np.isfinite(b) & np.isfinite(c))


@computes("{name}.{rounding}.ftz?.sat?.f32", "f32 f32 -> f32", name=("add", "sub"), rounding=DIRECTED)
def add_directed(a: Array, b: Array, *, name: str, rounding: str, ftz: bool, sat: bool) -> Array:
    """a + b or a - b."""
    a, b = flushed_if(ftz, a, b)
    b = -b if name == "sub" else b
    return with_modifiers(rounded_sum(a.astype(np.float64), b.astype(np.float64), rounding), ftz, sat)


@computes("mul.{rounding}.ftz?.sat?.f32", "f32 f32 -> f32", rounding=DIRECTED)
def multiply_directed(a: Array, b: Array, *, rounding: str, ftz: bool, sat: bool) -> Array:
    """a * b, which float64 holds exactly."""
    a, b = flushed_if(ftz, a, b)
    return with_modifiers(narrowed(a.astype(np.float64) * b, "f32", rounding), ftz, sat)


@computes("{name}.{rounding}.f64", "f64 f64 -> f64", name=("add", "sub"), rounding=DIRECTED)
def add_double_directed(a: Array, b: Array, *, name: str, rounding: str) -> Array:
    """a + b or a - b."""
    b = -b if name == "sub" else b
    total, lost = two_sum(a, b)
    return directed_sum(total, lost, rounding, a, b, np.isfinite(a) & np.isfinite(b))


@computes("mul.{rounding}.f64", "f64 f64 -> f64", rounding=DIRECTED)
def multiply_double_directed(a: Array, b: Array, *, rounding: str) -> Array:
    """a * b."""
    product = a * b
    error = exact_where_extreme(fused(a, b, -product), product, product, lambda x, y, r: x * y - r, a, b)
    return stepped_in_range(product, error, rounding, np.isfinite(a) & np.isfinite(b))


@computes("neg.{t}", "t -> t", t=FLOATS)
def negate(a: Array) -> Array:
    """The negated value."""
    return np.negative(a)


@computes("abs.{t}", "t -> t", t=FLOATS)
def absolute(a: Array) -> Array:
    """The absolute value."""
    return np.abs(a)


@computes("{name}.ftz.f32", "f32 -> f32", name=("neg", "abs"))
def change_sign_flushed(a: Array, *, name: str) -> Array:
    """The negated or absolute value; denormals become zero."""
    return np.negative(flushed(a)) if name == "neg" else np.abs(flushed(a))


@computes("copysign.{t}", "t t -> t", t=FLOATS)
def copy_sign(a: Array, b: Array) -> Array:
    """b with the sign of a; NumPy has the operands in the other order."""
    return np.copysign(b, a)


@computes("div.{rounding}.f64", "f64 f64 -> f64", rounding=ROUNDINGS)
def divide_double(a: Array, b: Array, *, rounding: str) -> Array:
    """a / b."""
    quotient = a / b
    if rounding == "rn":
        return quotient
    remainder = fused(-quotient, b, a)  # its sign, times the divisor's, is the error's
    error = np.where(np.signbit(b), -remainder, remainder)
    error = exact_where_extreme(error, a, quotient, lambda x, y, r: x / y - r, a, b)
    return stepped_in_range(quotient, error, rounding, np.isfinite(a) & np.isfinite(b) & (b != 0))


@computes("rcp.{rounding}.f64", "f64 -> f64", rounding=ROUNDINGS)
def reciprocal_double(a: Array, *, rounding: str) -> Array:
    """1 / a."""
    return divide_double(np.ones_like(a), a, rounding=rounding)


@computes("sqrt.{rounding}.f64", "f64 -> f64", rounding=ROUNDINGS)
def square_root_double(a: Array, *, rounding: str) -> Array:
    """The square root."""
    root = np.sqrt(a)
    if rounding == "rn":
        return root
    error = exact_where_extreme(fused(-root, root, a), a, root, lambda x, r: x - r * r, a)
    return stepped_in_range(root, error, rounding, np.isfinite(a))


@computes("div.{rounding}.ftz?.f32", "f32 f32 -> f32", rounding=ROUNDINGS)
def divide(a: Array, b: Array, *, rounding: str, ftz: bool) -> Array:
    """a / b."""
    a, b = flushed_if(ftz, a, b)
    # An inexact float64 quotient or root is never a float32 itself, so rounding it again is safe.
    result = a / b if rounding == "rn" else narrowed(a.astype(np.float64) / b, "f32", rounding)
    return with_modifiers(result, ftz, False)


@computes("rcp.{rounding}.ftz?.f32", "f32 -> f32", rounding=ROUNDINGS)
def reciprocal(a: Array, *, rounding: str, ftz: bool) -> Array:
    """1 / a."""
    return divide(np.ones_like(a), a, rounding=rounding, ftz=ftz)


@computes("sqrt.{rounding}.ftz?.f32", "f32 -> f32", rounding=ROUNDINGS)
def square_root(a: Array, *, rounding: str, ftz: bool) -> Array:
    """The square root."""
    (a,) = flushed_if(ftz, a)
    result = np.sqrt(a) if rounding == "rn" else narrowed(np.sqrt(a.astype(np.float64)), "f32", rounding)
    return with_modifiers(result, ftz, False)


@computes("div.full.ftz?.f32", "f32 f32 -> f32")
def divide_full(a: Array, b: Array, *, ftz: bool) -> Array:
    """a / b, correctly rounded; the GPU's may be two units off."""
    return divide(a, b, rounding="rn", ftz=ftz)


UPPER_WORD = np.uint64(0xFFFFFFFF_00000000)
APPROXIMATE: dict[str, Callable[[Array], Array]] = {
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
}


@computes("div.approx.ftz?.f32", "f32 f32 -> f32")
def divide_approximately(a: Array, b: Array, *, ftz: bool) -> Array:
    """A product with the reciprocal, which is zero for divisors above 2^126."""
    result = divide(a, b, rounding="rn", ftz=ftz)
    huge = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
    return np.where(huge & np.isfinite(a), np.copysign(np.float32(0), result), result) if huge.any() else result


@computes("tanh.approx.f32", "f32 -> f32")
def hyperbolic_tangent(a: Array) -> Array:
    """The hyperbolic tangent; it has no `.ftz`."""
    return np.tanh(a.astype(np.float64)).astype(np.float32)


@computes("{name}.approx.ftz?.f32", "f32 -> f32", name=APPROXIMATE)
def approximate(a: Array, *, name: str, ftz: bool) -> Array:
    """A function of the special function unit."""
    (a,) = flushed_if(ftz, a)
    return with_modifiers(APPROXIMATE[name](a.astype(np.float64)).astype(np.float32), ftz, False)


@computes("rsqrt.approx.f64", "f64 -> f64")
def reciprocal_root_double(a: Array) -> Array:
    """The reciprocal square root, with one rounding: two miss the unit in the last place that CUDA states."""
    return (1 / np.sqrt(a.astype(np.longdouble))).astype(np.float64)


@computes("{name}.approx.ftz.f64", "f64 -> f64", name=("rcp", "rsqrt"))
def start_iteration(a: Array, *, name: str) -> Array:
    """The first value of Newton's method: only the upper word of the result, denormals flushed."""
    magnitude = np.abs(a)
    a = np.where(magnitude < np.finfo(np.float64).tiny, np.copysign(0.0, a), a)
    result = APPROXIMATE[name](a)
    result = np.where(np.abs(result) < np.finfo(np.float64).tiny, np.copysign(0.0, result), result)
    upper: Array = (result.view(np.uint64) & UPPER_WORD).view(np.float64)
    return np.where(np.isnan(result), result, upper)
