"""cvt from and to numbers of 8 bits, two in a register: e4m3 (no infinity) and e5m2 (the upper half of a float16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.meanings.bit_patterns import packed
from engine.backends.emulator.meanings.convert import positive
from engine.backends.emulator.meanings.half import NAN, opened
from engine.backends.emulator.meanings.registry import computes
from engine.records import Array


@dataclass(frozen=True)
class Format:
    """`digits` of the fraction, the exponent's `bias`, the bits of the `largest` number."""

    digits: int
    bias: int
    largest: int


FORMATS = {"e4m3x2": Format(3, 7, 0x7E), "e5m2x2": Format(2, 15, 0x7B)}
_NAN = 0x7F


def to_fp8(value: Array, kind: str) -> Array:
    """float32 -> bits of 8, uint16: to nearest, ties to even; what is too large becomes the largest number."""
    form = FORMATS[kind]
    size = np.abs(value.astype(np.float64))
    exponent = np.where(size > 0, np.maximum(np.frexp(size)[1] - 1, 1 - form.bias), 1 - form.bias)
    # Counted in units of the last place, the leading digit of a normal number adds one to the exponent by itself.
    units = np.rint(np.ldexp(size, form.digits - exponent))
    bits = (exponent + form.bias - 1) * 2.0**form.digits + units
    bits = np.where(np.isnan(value), _NAN, np.where(np.isinf(size), form.largest, np.minimum(bits, form.largest)))
    sign = np.where(np.signbit(value) & ~np.isnan(value), np.uint16(0x80), np.uint16(0))
    made: Array = bits.astype(np.uint16) | sign
    return made


def from_fp8(bits: Array, kind: str) -> Array:
    """Bits of 8, uint16 -> the value as float32, exactly."""
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
    """The first operand becomes the upper half."""
    return _packed(a, b, d, relu)


@computes("cvt.rn.satfinite.relu?.{d}.f16x2", "f16x2 -> d", d=FORMATS)
def narrow_halves_to_fp8(a: Array, *, d: str, relu: bool) -> Array:
    """Half by half."""
    low, high = opened(a, "f16x2")
    return _packed(high, low, d, relu)


@computes("cvt.rn.relu?.f16x2.{t}", "t -> f16x2", t=FORMATS)
def widen_fp8(a: Array, *, t: str, relu: bool) -> Array:
    """The same values; a NaN is the GPU's."""
    values = [from_fp8(bits, t) for bits in (a & np.uint16(0xFF), a >> np.uint16(8))]
    halves = [(positive(value) if relu else value).astype(np.float16).view(np.uint16) for value in values]
    low, high = (np.where(np.isnan(value), NAN, half) for value, half in zip(values, halves, strict=True))
    return packed(low, high)
