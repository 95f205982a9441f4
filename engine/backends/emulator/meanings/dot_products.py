"""Groups of 8 and 16 bits inside a word: their products added up, and their differences."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.registry import computes
from engine.records import Array


def _lane(a: Array, bits: int, index: int) -> Array:
    """The index-th group of `bits` bits, extended by the array's own signedness."""
    kind = a.dtype.type
    result: Array = a << kind(32 - bits * (index + 1)) >> kind(32 - bits)
    return result


def _dot(a: Array, b: Array, c: Array, bits: tuple[int, int], first_b: int) -> Array:
    """c + the sum of products of the groups of a with as many groups of b; unsigned only if both are."""
    total = c
    for index in range(32 // bits[0]):
        total = total + _lane(a, bits[0], index).astype(c.dtype) * _lane(b, bits[1], first_b + index).astype(c.dtype)
    return total


@computes("dp4a.u32.u32", "u32 u32 u32 -> u32")
@computes("dp4a.s32.s32", "s32 s32 s32 -> s32")
@computes("dp4a.u32.s32", "u32 s32 s32 -> s32")
@computes("dp4a.s32.u32", "s32 u32 s32 -> s32")
def dot_bytes(a: Array, b: Array, c: Array) -> Array:
    """c + the sum of the products of four bytes."""
    return _dot(a, b, c, (8, 8), 0)


@computes("dp2a.{half}.u32.u32", "u32 u32 u32 -> u32", half=("lo", "hi"))
@computes("dp2a.{half}.s32.s32", "s32 s32 s32 -> s32", half=("lo", "hi"))
@computes("dp2a.{half}.u32.s32", "u32 s32 s32 -> s32", half=("lo", "hi"))
@computes("dp2a.{half}.s32.u32", "s32 u32 s32 -> s32", half=("lo", "hi"))
def dot_halves(a: Array, b: Array, c: Array, *, half: str) -> Array:
    """Two 16-bit groups of a times two bytes of b: its low two or its high two."""
    return _dot(a, b, c, (16, 8), 0 if half == "lo" else 2)


@computes("vabsdiff4.{t}.{t}.{t}.add?", "t t u32 -> u32", t=("u32", "s32"))
def absolute_differences(a: Array, b: Array, c: Array, *, add: bool) -> Array:
    """Byte by byte |a - b|, packed, or with `.add` summed and added to c."""
    total = c if add else np.zeros_like(c)
    for index in range(4):
        difference = np.abs(_lane(a, 8, index).astype(np.int32) - _lane(b, 8, index).astype(np.int32)).astype(np.uint32)
        total = total + (difference if add else difference << np.uint32(8 * index))
    return total
