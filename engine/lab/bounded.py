"""Numbers with the bound of their roundings.

Arrays are computed in float64 or int64. Each float carries a bound of the error that a kernel may make in the answer's
own type: one rounding for an operation, ten standard deviations for a sum in any order, a few units for a function such
as exp. A product, a quotient or a sum of differences is rounded as if it were multiplied out. Whole numbers round
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from engine.records import Array, NotRunnable

MOST_ELEMENTS = 1 << 26
MOST_PRODUCTS = 1 << 34  # of a matrix product
SUM = 10.0  # standard deviations
_IN_TURN = 1024  # so many numbers may be added one after the other, each rounded as the sum so far
_POWER = 16.0  # half units
OF_COMPLEX = (
    "Pass complex numbers as pairs, such as z = float32[n, 2]: z[:, 0] are the real parts, z[:, 1] the imaginary parts."
)


@dataclass(frozen=True)
class Value:
    """Numbers and, of the same shape, how far off a kernel's may be, in half units in the last place of one. `added`:
    the sizes of what is added, together; None: those of the numbers."""

    of: Array
    off: Array
    added: Array | None = None

    @property
    def terms(self) -> Array:
        """Return the sizes of the terms that a kernel rounds if it multiplies the numbers out, as (x - y) ** 2."""
        return np.abs(self.of) if self.added is None else self.added

    @property
    def exact(self) -> bool:
        """Return whether nothing is rounded."""
        return not np.any(self.off)


def exact(array: Array) -> Value:
    """Return numbers without an error. NotRunnable: they are not plain numbers."""
    if array.dtype.kind not in "biuf":
        hint = f" {OF_COMPLEX}" if array.dtype.kind == "c" else ""
        raise NotRunnable(f"An array of {array.dtype} has no place in a formula: it needs plain numbers.{hint}")
    values = array if array.dtype.kind == "b" else array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    return Value(values, np.zeros(values.shape))


def whole(one: Value) -> int:
    """Return one whole number. ValueError: it is none."""
    if one.of.ndim or one.of.dtype.kind not in "iub":
        raise ValueError("an axis, a size or a shift is a whole number")
    return int(one.of)


def wholes(one: Value) -> int | tuple[int, ...]:
    """Return one whole number, or several that are given as a tuple. ValueError: they are none."""
    return tuple(whole(indexed(one, place)) for place in range(one.of.size)) if one.of.ndim == 1 else whole(one)


def stacked(values: Sequence[Value]) -> Value:
    """Return values as one array."""
    room(sum(one.of.size for one in values))
    return Value(np.array([one.of for one in values]), np.array([one.off for one in values]))


def indexed(one: Value, index: Any) -> Value:
    """Return some of the numbers."""
    return Value(np.asarray(one.of[index]), np.asarray(one.off[index]), np.asarray(one.terms[index]))


# ---- arithmetic


def room(elements: int) -> None:
    """Raise NotRunnable if a formula has no room for so many elements."""
    if elements > MOST_ELEMENTS:
        raise NotRunnable(f"A formula's arrays have at most {MOST_ELEMENTS:,} elements.")


def fits(*values: Value) -> None:
    """Raise NotRunnable if the values have too many elements together."""
    room(prod(np.broadcast_shapes(*(one.of.shape for one in values))))


def rounded(made: Array, off: Array | float, half_units: float = 1.0, terms: Array | None = None) -> Value:
    """Return numbers that an operation has made, with its own rounding, or that of their terms, if they are floats."""
    made = np.asarray(made)
    if made.dtype.kind != "f":
        return Value(made, np.zeros(made.shape))
    size = np.abs(made) if terms is None else terms
    return Value(made, np.broadcast_to(off + half_units * size, made.shape), terms)


def plain(function: Callable[..., Any], *values: Value) -> Value:
    """Apply a function that chooses or compares numbers and rounds none."""
    fits(*values)
    made = np.asarray(function(*(one.of for one in values)))
    off = np.zeros(made.shape) if made.dtype.kind != "f" else np.broadcast_to(
        np.asarray(sum(one.off for one in values)), made.shape)  # fmt: skip
    return Value(made, off)


def add(one: Value, two: Value) -> Value:
    """Return the sum of each pair."""
    fits(one, two)
    return _of_terms(rounded(one.of + two.of, one.off + two.off), one, two)


def subtract(one: Value, two: Value) -> Value:
    """Return the difference of each pair."""
    fits(one, two)
    return _of_terms(rounded(one.of - two.of, one.off + two.off), one, two)


def _of_terms(made: Value, one: Value, two: Value) -> Value:
    return made if made.of.dtype.kind != "f" else Value(made.of, made.off, one.terms + two.terms)


def multiply(one: Value, two: Value) -> Value:
    """Return the product of each pair."""
    fits(one, two)
    carried = np.abs(one.of) * two.off + one.off * np.abs(two.of)
    return rounded(one.of * two.of, carried, 1.0, one.terms * two.terms)


def divide(one: Value, two: Value) -> Value:
    """Return the quotient of each pair."""
    fits(one, two)
    made = one.of / two.of
    size = np.abs(two.of)
    return rounded(made, (one.off + np.abs(made) * two.off) / size, 2.0, one.terms / size)


def floor_divide(one: Value, two: Value) -> Value:
    """Return the quotient of each pair, rounded down."""
    return plain(np.floor_divide, one, two)


def remainder(one: Value, two: Value) -> Value:
    """Return the remainder of each pair, with the sign of the divisor."""
    return plain(np.mod, one, two)


def power(one: Value, two: Value) -> Value:
    """Return the power of each pair."""
    fits(one, two)
    if one.of.dtype.kind != "f" and two.of.dtype.kind != "f" and np.any(two.of < 0):
        raise ValueError("a whole number has no negative powers")
    made = np.power(one.of, two.of)
    slope = np.abs(two.of * made / np.where(one.of == 0, 1, one.of)) * one.off
    few = two.of.ndim == 0 and two.of in (2, 3, 4)
    return rounded(made, slope + np.abs(made * np.log(np.abs(np.where(one.of == 0, 1, one.of)))) * two.off,
                    float(two.of) if few else _POWER, one.terms ** float(two.of) if few else None)  # fmt: skip


def in_turn(made: Array, count: Any) -> Any:
    """Return two standard deviations of the roundings of a sum of numbers of one sign, one after the other."""
    return np.sqrt(np.minimum(count, _IN_TURN)) / 2 * np.abs(made)


def matmul(one: Value, two: Value) -> Value:
    """Return the product of matrices or vectors, or of each pair of matrices of larger arrays."""
    if not one.of.ndim or not two.of.ndim:
        raise ValueError("@ multiplies matrices and vectors")
    each = prod(np.broadcast_shapes(one.of.shape[:-2], two.of.shape[:-2]))
    if each * prod(one.of.shape[-2:]) * (two.of.shape[-1] if two.of.ndim > 1 else 1) > MOST_PRODUCTS:
        raise NotRunnable("The matrix product of this formula takes too long: choose a smaller N.")
    made = one.of @ two.of
    if made.dtype.kind != "f":
        return rounded(made, 0.0)
    a, b = one.of.astype(np.float64), two.of.astype(np.float64)
    carried = np.abs(a) @ two.off + one.off @ np.abs(b)
    spread = SUM * np.sqrt(one.of.shape[-1]) * np.sqrt((a * a) @ (b * b))
    return rounded(made, carried + spread + in_turn(made, one.of.shape[-1]), SUM)
