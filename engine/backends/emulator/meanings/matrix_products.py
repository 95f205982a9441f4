"""The matrix products of the tensor cores: D = A B + C of small matrices, rounded as on an H200.

NVIDIA does not document the rounding. Studies with test vectors (Fasi et al., PeerJ CS 7:e330, 2021; Xie et al., arXiv
2511.10909, 2025; Khattak and Mikaitis, arXiv 2512.07004, 2025) agree for Hopper: products are exact; the products of
one step and the number added to them are truncated toward zero to 25 binary places below their largest exponent; the
sum of these is exact, and is truncated to float or rounded to half. A step takes 32 bytes of a row of A.
`tests/gpu/test_gpu_tensor_cores.py` makes the bitwise comparison with an H200, which is still to be done.

Matrices are arrays (rows, columns, N) of N products side by side.
"""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.half import NAN, from_bfloat
from engine.backends.emulator.meanings.rounding import fused
from engine.records import Array

PLACES = 25  # binary places below the largest exponent of a sum
_STEP = {"f16": 16, "bf16": 16, "tf32": 8}  # products added at once
_LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126}  # the exponent of denormals
_ZERO = np.int16(-10_000)  # the exponent of zero, which is never the largest
_SLICE = 32  # matrices whose temporaries stay in the cache
_INFINITY = 2.0**128
_TF32 = np.uint32(0xFFFFE000)  # the bits of a float in tf32


def product(a: Array, b: Array, c: Array, kinds: tuple[str, str, str, str], saturate: bool = False) -> Array:
    """Return A (m, k, N) times B (k, n, N) plus C (m, n, N), as (m, n, N).

    `kinds`: the PTX types of D, A, B and C; numbers are stored as in `DTYPES`, C and D in their own type. `saturate`:
    clamp sums to int32.
    """
    made, kind = kinds[0], kinds[1]
    if made == "s32":
        return _integers(a, b, c, saturate)
    if made == "f64":
        for step in range(a.shape[1]):
            left, right = np.broadcast_to(a[:, step, None], c.shape), np.broadcast_to(b[None, step], c.shape)
            c = fused(left, right, c)
        return c
    left, right, total = _as_float64(a, kind), _as_float64(b, kind), _as_float64(c, kinds[3])
    result = np.empty(c.shape, np.float16 if made == "f16" else np.float32)
    for start in range(0, c.shape[2], _SLICE):
        here = slice(start, start + _SLICE)
        part, code = total[..., here], kinds[3]
        for step in range(0, a.shape[1], _STEP[kind]):
            rows, columns = left[:, step : step + _STEP[kind], here], right[step : step + _STEP[kind], :, here]
            rounded = _step(rows, columns, part, kind, code, made)
            part, code = rounded.astype(np.float64), made
        result[..., here] = rounded
    return result


def _integers(a: Array, b: Array, c: Array, saturate: bool) -> Array:
    total = c.astype(np.int64)
    for step in range(a.shape[1]):
        total += a[:, step, None].astype(np.int64) * b[None, step]
    if saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return total.astype(np.int32)


def _as_float64(value: Array, kind: str) -> Array:
    """Return numbers of a type as float64."""
    if kind == "bf16":
        return from_bfloat(value).astype(np.float64)
    if kind == "tf32":
        return (value & _TF32).view(np.float32).astype(np.float64)
    return value.astype(np.float64)


def _exponents(value: Array, kind: str) -> Array:
    """Return the exponents, int16; for denormals that of the smallest normal number."""
    found = np.frexp(value)[1] - 1
    return np.where(value == 0, _ZERO, np.maximum(found, _LEAST[kind])).astype(np.int16)


def _step(a: Array, b: Array, c: Array, kind: str, code: str, made: str) -> Array:
    """Return one step of the sums, rounded to the type `made`. All float64; `kind`: the type of A and B,
    `code`: of C."""
    exponents = _exponents(a, kind)[:, :, None] + _exponents(b, kind)[None]  # m, k, n, N
    largest = np.maximum(_exponents(c, code), np.int16(_LEAST["f32"]))
    np.maximum(largest, exponents.max(axis=1), out=largest)
    scale = np.ldexp(1.0, PLACES - largest.astype(np.int32))
    terms = a[:, :, None] * b[None]
    terms *= scale[:, None]
    total: Array = (np.trunc(terms, out=terms).sum(axis=1) + np.trunc(c * scale)) / scale
    return _to_half(total) if made == "f16" else _cut(total)


def _to_half(value: Array) -> Array:
    """Round to nearest; a NaN becomes the GPU's."""
    return np.where(np.isnan(value), NAN.view(np.float16), value.astype(np.float16))


def _cut(value: Array) -> Array:
    """Truncate float64 to float32; values of 2^128 or more become infinite."""
    near = value.astype(np.float32)
    beyond = (np.abs(near) > np.abs(value)) & (np.abs(value) < _INFINITY)
    made = np.where(beyond, np.nextafter(near, np.float32(0)), near)
    return np.where(np.isnan(value), np.uint32(0x7FFFFFFF).view(np.float32), made)
