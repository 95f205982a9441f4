"""float32 and float64: sums, products, signs. Denormals are kept unless the opcode says `.ftz`."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.directed import (
    directed,
    exact_where_extreme,
    finished,
    flushed_if,
    rounded_sum,
    stepped_in_range,
)
from engine.backends.emulator.meanings.registry import FLOATS, ROUNDINGS, computes
from engine.backends.emulator.meanings.rounding import flushed, fused, narrowed, two_sum
from engine.records import Array

DIRECTED = ("rz", "rm", "rp")


@computes("add.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("add.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def add(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a + b."""
    a, b = flushed_if(ftz, a, b)
    return finished(a + b, ftz, sat)


@computes("sub.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("sub.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def subtract(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a - b."""
    a, b = flushed_if(ftz, a, b)
    return finished(a - b, ftz, sat)


@computes("mul.ftz?.sat?.f32", "f32 f32 -> f32")
@computes("mul.rn.ftz?.sat?.f32", "f32 f32 -> f32")
def multiply(a: Array, b: Array, *, ftz: bool, sat: bool) -> Array:
    """a * b."""
    a, b = flushed_if(ftz, a, b)
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
    a, b, c = flushed_if(ftz, a, b, c)
    if rounding == "rn":
        return finished(fused(a, b, c), ftz, sat)
    product = a.astype(np.float64) * b  # exact
    return finished(rounded_sum(product, c.astype(np.float64), rounding), ftz, sat)


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
    error = exact_where_extreme(part + (rest + lost), product, nearest, lambda x, y, z, r: x * y + z - r, a, b, c)
    return directed(nearest, error, rounding, product, c, np.isfinite(a) & np.isfinite(b) & np.isfinite(c))


@computes("{name}.{rounding}.ftz?.sat?.f32", "f32 f32 -> f32", name=("add", "sub"), rounding=DIRECTED)
def add_directed(a: Array, b: Array, *, name: str, rounding: str, ftz: bool, sat: bool) -> Array:
    """a + b or a - b."""
    a, b = flushed_if(ftz, a, b)
    b = -b if name == "sub" else b
    return finished(rounded_sum(a.astype(np.float64), b.astype(np.float64), rounding), ftz, sat)


@computes("mul.{rounding}.ftz?.sat?.f32", "f32 f32 -> f32", rounding=DIRECTED)
def multiply_directed(a: Array, b: Array, *, rounding: str, ftz: bool, sat: bool) -> Array:
    """a * b, which float64 holds exactly."""
    a, b = flushed_if(ftz, a, b)
    return finished(narrowed(a.astype(np.float64) * b, "f32", rounding), ftz, sat)


@computes("{name}.{rounding}.f64", "f64 f64 -> f64", name=("add", "sub"), rounding=DIRECTED)
def add_double_directed(a: Array, b: Array, *, name: str, rounding: str) -> Array:
    """a + b or a - b."""
    b = -b if name == "sub" else b
    total, lost = two_sum(a, b)
    return directed(total, lost, rounding, a, b, np.isfinite(a) & np.isfinite(b))


@computes("mul.{rounding}.f64", "f64 f64 -> f64", rounding=DIRECTED)
def multiply_double_directed(a: Array, b: Array, *, rounding: str) -> Array:
    """a * b."""
    product = a * b
    error = exact_where_extreme(fused(a, b, -product), product, product, lambda x, y, r: x * y - r, a, b)
    return stepped_in_range(product, error, rounding, np.isfinite(a) & np.isfinite(b))


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
