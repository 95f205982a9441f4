"""The special function unit: `.approx` forms.

They are the correctly rounded values (computed in float64): the GPU's own are allowed to be 1 to 2 units in the last
place off, or 2^-20.9 absolute for sin and cos.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.meanings.directed import (
    finished,
    flushed_if,
)
from engine.backends.emulator.meanings.division import divide
from engine.backends.emulator.meanings.registry import computes
from engine.records import Array

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
    """Has no `.ftz`."""
    return np.tanh(a.astype(np.float64)).astype(np.float32)


@computes("{name}.approx.ftz?.f32", "f32 -> f32", name=APPROXIMATE)
def approximate(a: Array, *, name: str, ftz: bool) -> Array:
    """A function of the special function unit."""
    (a,) = flushed_if(ftz, a)
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
