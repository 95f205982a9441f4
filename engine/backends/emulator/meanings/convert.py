"""cvt: conversions between integers, floats, halves, and 8-bit floats (e4m3 without infinity, e5m2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.meanings.half import NAN, directed_bfloat, from_bfloat, to_bfloat, unpack_halves
from engine.backends.emulator.meanings.registry import DTYPES, ROUNDINGS, bit_mask, computes, packed, unsigned
from engine.backends.emulator.meanings.rounding import (
    flushed,
    narrowed,
    rounded_to_integer,
    saturated,
    stepped,
    to_odd,
    two_sum,
)
from engine.records import Array

WHOLE = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
TO_INTEGER = ("rni", "rzi", "rmi", "rpi")


@computes("cvt.sat?.{d}.{t}", "t -> d", d=WHOLE, t=WHOLE)
def convert_integer(a: Array, *, d: str, sat: bool) -> Array:
    """The low bits, or with `.sat` the nearest value that fits."""
    if not sat:
        return a.astype(DTYPES[d])
    own, target = np.iinfo(a.dtype), np.iinfo(DTYPES[d])
    low, high = max(own.min, target.min), min(own.max, target.max)
    result: Array = np.minimum(np.maximum(a, a.dtype.type(low)), a.dtype.type(high)).astype(DTYPES[d])
    return result


@computes("cvt.{rounding}.{d}.{t}", "t -> d", rounding=TO_INTEGER, d=WHOLE, t=("f16", "f32", "f64"))
@computes("cvt.{rounding}.sat.{d}.{t}", "t -> d", rounding=TO_INTEGER, d=WHOLE, t=("f16", "f32", "f64"))
def convert_to_integer(a: Array, *, rounding: str, d: str) -> Array:
    """The rounded integer, always saturated. NaN gives 0, or the top bit alone with a double or a 64-bit integer.

    In NumPy all of these are undefined.
    """
    whole = rounded_to_integer(a, rounding).astype(np.float64, copy=False)
    target = np.iinfo(DTYPES[d])
    # 2^63 - 1 and 2^64 - 1 are no float64: the limit is the next lower one; values above are corrected below.
    top = float(target.max) if target.bits < 64 else np.nextafter(float(target.max), 0.0)
    if whole.size and whole.min() >= target.min and whole.max() <= top:  # also false if there is a NaN
        return whole.astype(DTYPES[d])
    result = np.fmin(np.fmax(whole, float(target.min)), top).astype(DTYPES[d])
    if target.bits == 64:
        result[whole > top] = target.max
    nan = np.isnan(whole)
    if nan.any():
        lone = a.dtype.itemsize == 8 or target.bits == 64
        result[nan] = (
            np.array(1 << (target.bits - 1) if lone else 0, np.uint64).astype(f"u{target.bits // 8}").view(result.dtype)
        )
    return result


@computes("cvt.{rounding}.ftz.sat?.{d}.f32", "f32 -> d", rounding=TO_INTEGER, d=WHOLE)
def convert_flushed_to_integer(a: Array, *, rounding: str, d: str) -> Array:
    """As without `.ftz`, with denormals as zeros."""
    return convert_to_integer(flushed(a), rounding=rounding, d=d)


@computes("cvt.{rounding}.sat?.{d}.{t}", "t -> d", rounding=ROUNDINGS, d=("f16", "f32", "f64"), t=WHOLE)
def convert_from_integer(a: Array, *, rounding: str, d: str, sat: bool) -> Array:
    """The nearest value, or the next one in the rounding's direction."""
    if a.dtype.itemsize < 8:
        value = a.astype(np.float64)  # exact
        result = value if d == "f64" else narrowed(value, d, rounding)
    elif rounding == "rn" and d != "f16":
        result = a.astype(DTYPES[d])
    else:
        # Both halves are exact floats; their sum is rounded once, using the addition's error.
        total, error = two_sum((a >> 32).astype(np.float64) * 2.0**32, (a & 0xFFFFFFFF).astype(np.float64))
        result = stepped(total, error, rounding) if d == "f64" else narrowed(to_odd(total, error), d, rounding)
    return saturated(result) if sat else result


@computes("cvt.sat?.{d}.{t}", "t -> d", d=("f32", "f64"), t=("f16",))
@computes("cvt.sat?.{d}.{t}", "t -> d", d=("f64",), t=("f32",))
def widen(a: Array, *, d: str, sat: bool) -> Array:
    """The same value."""
    result = a.astype(DTYPES[d])
    return saturated(result) if sat else result


@computes("cvt.ftz.sat?.{d}.f32", "f32 -> d", d=("f32", "f64"))
def widen_flushed(a: Array, *, d: str, sat: bool) -> Array:
    """The same value; denormals become zero."""
    return widen(flushed(a), d=d, sat=sat)


@computes("cvt.ftz.sat?.f32.f16", "f16 -> f32")
def widen_half_flushed(a: Array, *, sat: bool) -> Array:
    """The same value: no half is a denormal float32, so nothing is flushed."""
    return widen(a, d="f32", sat=sat)


@computes("cvt.sat.f16.f16", "f16 -> f16")
@computes("cvt.sat.f32.f32", "f32 -> f32")
@computes("cvt.sat.f64.f64", "f64 -> f64")
def saturate(a: Array) -> Array:
    """The value clamped to [0, 1]."""
    return saturated(a)


@computes("cvt.{rounding}.sat?.{t}.{t}", "t -> t", rounding=TO_INTEGER, t=("f16", "f32", "f64"))
def round_to_whole(a: Array, *, rounding: str, sat: bool) -> Array:
    """The rounded value, still a float."""
    whole = rounded_to_integer(a, rounding)
    return saturated(whole) if sat else whole


@computes("cvt.{rounding}.ftz.sat?.f32.f32", "f32 -> f32", rounding=TO_INTEGER)
def round_to_whole_flushed(a: Array, *, rounding: str, sat: bool) -> Array:
    """The rounded value; denormals become zero."""
    return round_to_whole(flushed(a), rounding=rounding, sat=sat)


@computes("cvt.{rounding}.ftz?.sat?.{d}.{t}", "t -> d", rounding=ROUNDINGS, d=("f32",), t=("f64",))
@computes("cvt.{rounding}.ftz?.sat?.{d}.{t}", "t -> d", rounding=ROUNDINGS, d=("f16",), t=("f32",))
def narrow(a: Array, *, rounding: str, ftz: bool, sat: bool, d: str) -> Array:
    """The value rounded to a narrower type; `.ftz` flushes a float32 result, but no denormal operand."""
    result = a.astype(DTYPES[d]) if rounding == "rn" else narrowed(a.astype(np.float64), d, rounding)
    if ftz and d == "f32":
        result = flushed(result)
    return saturated(result) if sat else result


@computes("cvt.{rounding}.sat?.f16.f64", "f64 -> f16", rounding=ROUNDINGS)
def narrow_double_to_half(a: Array, *, rounding: str, sat: bool) -> Array:
    """The value rounded once, without an intermediate float32."""
    return narrow(a, rounding=rounding, ftz=False, sat=sat, d="f16")


@computes("cvt.{rounding}.f16x2.f32", "f32 f32 -> f16x2", rounding=("rn", "rz"))
def narrow_pair(a: Array, b: Array, *, rounding: str) -> Array:
    """Two rounded values; the first operand becomes the upper half."""
    high, low = (narrowed(part.astype(np.float64), "f16", rounding) for part in (a, b))
    return packed(unsigned(low), unsigned(high))


@computes("cvt.{rounding}.relu.f16x2.f32", "f32 f32 -> f16x2", rounding=("rn", "rz"))
def narrow_pair_positive(a: Array, b: Array, *, rounding: str) -> Array:
    """As without `.relu`, with negative values as +0."""
    return narrow_pair(positive(a), positive(b), rounding=rounding)


@computes("cvt.{rounding}.relu.f16.f32", "f32 -> f16", rounding=("rn", "rz"))
def narrow_positive(a: Array, *, rounding: str) -> Array:
    """As without `.relu`, with negative values as +0."""
    return narrowed(positive(a).astype(np.float64), "f16", rounding)


@computes("cvt.{rounding}.relu?.bf16.f32", "f32 -> bf16", rounding=("rn", "rz"))
def narrow_to_bfloat(a: Array, *, rounding: str, relu: bool) -> Array:
    """The rounded upper half of a float32."""
    return to_bfloat(positive(a) if relu else a, rounding)


@computes("cvt.{rounding}.relu?.bf16x2.f32", "f32 f32 -> bf16x2", rounding=("rn", "rz"))
def narrow_to_bfloat_pair(a: Array, b: Array, *, rounding: str, relu: bool) -> Array:
    """Two rounded values; the first operand becomes the upper half."""
    high, low = (to_bfloat(positive(part) if relu else part, rounding) for part in (a, b))
    return packed(low, high)


def positive(a: Array) -> Array:
    """Apply .relu: negative values become +0; NaN stays."""
    result: Array = np.maximum(a, a.dtype.type(0)) + a.dtype.type(0)
    return result


@computes("cvt.rn.{d}.{t}", "t -> bf16", d=("bf16",), t=("f16", "f64", *WHOLE))
def round_to_bfloat(a: Array) -> Array:
    """The value rounded once, even from 64 bits."""
    if a.dtype.itemsize < 8 or a.dtype.kind == "f":
        return to_bfloat(a.astype(np.float64))
    return to_bfloat(to_odd(*two_sum((a >> 32).astype(np.float64) * 2.0**32, (a & 0xFFFFFFFF).astype(np.float64))))


@computes("cvt.{rounding}.bf16.{t}", "t -> bf16", rounding=("rz", "rm", "rp"), t=WHOLE)
@computes("cvt.{rounding}.bf16.{t}", "t -> bf16", rounding=("rm", "rp"), t=("f32",))
def round_to_bfloat_directed(a: Array, *, rounding: str) -> Array:
    """The value rounded once, even from 64 bits, in one direction."""
    if a.dtype.itemsize < 8:
        return directed_bfloat(a.astype(np.float64), rounding)
    upper, lower = (a >> 32).astype(np.float64) * 2.0**32, (a & 0xFFFFFFFF).astype(np.float64)
    return directed_bfloat(to_odd(*two_sum(upper, lower)), rounding)


@computes("cvt.f32.bf16", "bf16 -> f32")
def widen_bfloat(a: Array) -> Array:
    """The same value."""
    return from_bfloat(a)


@computes("cvt.f64.bf16", "bf16 -> f64")
def widen_bfloat_to_double(a: Array) -> Array:
    """The same value."""
    return from_bfloat(a).astype(np.float64)


@computes("cvt.rn.f16.bf16", "bf16 -> f16")
def convert_bfloat_to_half(a: Array) -> Array:
    """The value rounded to nearest even."""
    return from_bfloat(a).astype(np.float16)


@computes("cvt.{rounding}.{d}.bf16", "bf16 -> d", rounding=TO_INTEGER, d=WHOLE)
def convert_bfloat_to_integer(a: Array, *, rounding: str, d: str) -> Array:
    """As from float32."""
    return convert_to_integer(from_bfloat(a), rounding=rounding, d=d)


@computes("cvt.{rounding}.bf16.bf16", "bf16 -> bf16", rounding=TO_INTEGER)
def round_bfloat_to_whole(a: Array, *, rounding: str) -> Array:
    """The rounded value, still a bfloat16."""
    return to_bfloat(rounded_to_integer(from_bfloat(a), rounding))


@computes("cvt.rna.tf32.f32", "f32 -> b32")
def round_to_tensor_float(a: Array) -> Array:
    """The value rounded to 10 fraction bits, ties away from zero: half a unit is added to the bits, and the rest cut
    off.

    Nothing is added to infinity and NaN; the rest of a NaN's bits is also cut off.
    """
    half = np.uint32(0x1000) & bit_mask(np.isfinite(a), "u4")
    return (a.view(np.uint32) + half) & np.uint32(0xFFFFE000)


@computes("cvt.rna.satfinite.tf32.f32", "f32 -> b32")
def round_to_finite_tensor_float(a: Array) -> Array:
    """As without `.satfinite`, with the number below in place of infinity; a NaN, too, loses one unit, as on the
    H200."""
    bits = round_to_tensor_float(a)
    result: Array = bits - np.uint32(0x2000) * ((bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000))
    return result


@computes("cvt.{rounding}.relu?.tf32.f32", "f32 -> b32", rounding=("rn", "rz"))
def round_to_even_tensor_float(a: Array, *, rounding: str, relu: bool) -> Array:
    """The value rounded to 10 fraction bits, to even or towards zero. A NaN has all its bits set, as on the H200."""
    bits = (positive(a) if relu else a).view(np.uint32)
    half = np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)) if rounding == "rn" else np.uint32(0)
    made = (bits + half * np.isfinite(a)) & np.uint32(0xFFFFE000)
    return np.where(np.isnan(a), np.uint32(0x7FFFE000), made)


@dataclass(frozen=True)
class Format:
    """`digits` of the fraction, the exponent's `bias`, and the bits of the `largest` number."""

    digits: int
    bias: int
    largest: int


FORMATS = {"e4m3x2": Format(3, 7, 0x7E), "e5m2x2": Format(2, 15, 0x7B)}
_NAN = 0x7F


def to_fp8(value: Array, kind: str) -> Array:
    """Convert float32 to 8 bits, uint16: to nearest, ties to even; too large values become the largest number."""
    form = FORMATS[kind]
    size = np.abs(value.astype(np.float64))
    exponent = np.where(size > 0, np.maximum(np.frexp(size)[1] - 1, 1 - form.bias), 1 - form.bias)
    # In units of the last place, the leading digit of a normal number adds one to the exponent by itself.
    units = np.rint(np.ldexp(size, form.digits - exponent))
    bits = (exponent + form.bias - 1) * 2.0**form.digits + units
    bits = np.where(np.isnan(value), _NAN, np.where(np.isinf(size), form.largest, np.minimum(bits, form.largest)))
    sign = np.where(np.signbit(value) & ~np.isnan(value), np.uint16(0x80), np.uint16(0))
    made: Array = bits.astype(np.uint16) | sign
    return made


def from_fp8(bits: Array, kind: str) -> Array:
    """Convert 8 bits, uint16, to float32, exactly."""
    form = FORMATS[kind]
    size = (bits & np.uint16(0x7F)).astype(np.int32)
    exponent, fraction = size >> form.digits, size & ((1 << form.digits) - 1)
    whole = fraction + np.where(exponent > 0, 1 << form.digits, 0)
    value = np.ldexp(whole.astype(np.float32), np.maximum(exponent, 1) - form.bias - form.digits)
    infinite = (size == form.largest + 1) & (kind == "e5m2x2")
    value = np.where(size > form.largest, np.where(infinite, np.float32(np.inf), np.float32(np.nan)), value)
    made: Array = np.where(bits & np.uint16(0x80) != 0, -value, value)
    return made


def _packed(high: Array, low: Array, kind: str, relu: bool) -> Array:
    parts = [to_fp8(positive(part) if relu else part, kind) for part in (high, low)]
    made: Array = parts[0] << np.uint16(8) | parts[1]
    return made


@computes("cvt.rn.satfinite.relu?.{d}.f32", "f32 f32 -> d", d=FORMATS)
def narrow_to_fp8(a: Array, b: Array, *, d: str, relu: bool) -> Array:
    """Two values of 8 bits; the first operand becomes the upper half."""
    return _packed(a, b, d, relu)


@computes("cvt.rn.satfinite.relu?.{d}.f16x2", "f16x2 -> d", d=FORMATS)
def narrow_halves_to_fp8(a: Array, *, d: str, relu: bool) -> Array:
    """Both halves as values of 8 bits."""
    low, high = unpack_halves(a, "f16x2")
    return _packed(high, low, d, relu)


@computes("cvt.rn.relu?.f16x2.{t}", "t -> f16x2", t=FORMATS)
def widen_fp8(a: Array, *, t: str, relu: bool) -> Array:
    """The same values; a NaN becomes the GPU's NaN."""
    values = [from_fp8(bits, t) for bits in (a & np.uint16(0xFF), a >> np.uint16(8))]
    halves = [(positive(value) if relu else value).astype(np.float16).view(np.uint16) for value in values]
    low, high = (np.where(np.isnan(value), NAN, half) for value, half in zip(values, halves, strict=True))
    return packed(low, high)
