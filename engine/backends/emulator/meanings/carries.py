"""Extended precision: a condition code between instructions, of sums the carry, of differences the borrow."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.bit_patterns import unsigned
from engine.backends.emulator.meanings.integer import multiply_high
from engine.backends.emulator.meanings.registry import computes
from engine.records import Array

CARRYING = ("u32", "s32", "u64", "s64")


@computes("add.cc.{t}", "t t -> t carry", t=CARRYING)
def add_carrying(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and its carry."""
    total = a + b
    return total, (unsigned(total) < unsigned(a)).astype(np.uint32)


@computes("addc.{t}", "t t carry -> t", t=CARRYING)
def add_carried(a: Array, b: Array, carry: Array) -> Array:
    """a + b + carry."""
    result: Array = a + b + carry.astype(a.dtype)
    return result


@computes("addc.cc.{t}", "t t carry -> t carry", t=CARRYING)
def add_carried_carrying(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """a + b + carry, and the new carry."""
    part, first = add_carrying(a, b)
    total, second = add_carrying(part, carry.astype(a.dtype))
    return total, first | second


@computes("sub.cc.{t}", "t t -> t carry", t=CARRYING)
def subtract_borrowing(a: Array, b: Array) -> tuple[Array, Array]:
    """a - b and its borrow."""
    return a - b, (unsigned(a) < unsigned(b)).astype(np.uint32)


@computes("subc.{t}", "t t carry -> t", t=CARRYING)
def subtract_borrowed(a: Array, b: Array, borrow: Array) -> Array:
    """a - b - borrow."""
    result: Array = a - b - borrow.astype(a.dtype)
    return result


@computes("subc.cc.{t}", "t t carry -> t carry", t=CARRYING)
def subtract_borrowed_borrowing(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    """a - b - borrow, and the new borrow."""
    part, first = subtract_borrowing(a, b)
    rest, second = subtract_borrowing(part, borrow.astype(a.dtype))
    return rest, first | second


@computes("mad.{half}.cc.{t}", "t t t -> t carry", half=("lo", "hi"), t=CARRYING)
def multiply_add_carrying(a: Array, b: Array, c: Array, *, half: str) -> tuple[Array, Array]:
    """A half of a * b, plus c, and the sum's carry."""
    return add_carrying(_half_product(a, b, half), c)


@computes("madc.{half}.{t}", "t t t carry -> t", half=("lo", "hi"), t=CARRYING)
def multiply_add_carried(a: Array, b: Array, c: Array, carry: Array, *, half: str) -> Array:
    """A half of a * b, plus c, plus carry."""
    return add_carried(_half_product(a, b, half), c, carry)


@computes("madc.{half}.cc.{t}", "t t t carry -> t carry", half=("lo", "hi"), t=CARRYING)
def multiply_add_carried_carrying(a: Array, b: Array, c: Array, carry: Array, *, half: str) -> tuple[Array, Array]:
    """A half of a * b, plus c, plus carry, and the new carry."""
    return add_carried_carrying(_half_product(a, b, half), c, carry)


def _half_product(a: Array, b: Array, half: str) -> Array:
    """The lower or the upper half of a * b."""
    return a * b if half == "lo" else multiply_high(a, b)
