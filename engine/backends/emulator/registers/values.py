"""The values of registers while a chunk of blocks runs.

T threads (rows, a multiple of 32) by B blocks (columns) run together. A register is an array of shape {1, T} x {1, B},
as small as its dependences allow: `threadIdx.x` is (T, 1), `blockIdx.x` is (1, B), a kernel argument (1, 1), and
NumPy's broadcasting keeps shapes small. Two further forms save more:

* `OuterSum`: rows[T, 1] + columns[1, B] + constant, not added up. Almost every index is one, so T + B numbers instead
  of T * B decide whether it is below n, inside a buffer, or aligned.
* `Part`: a value for the lanes of one mask only, in that mask's own rows and columns.

Values are never changed in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.records import Array

UNSIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)} | {1: np.dtype("?")}


class Axis:
    """One side of an outer sum: int64 values along rows or columns, with their bounds and the union of their bits."""

    __slots__ = ("_scaled", "_shifted", "_taken", "bits", "high", "low", "values")

    def __init__(self, values: Array) -> None:
        self.values = values
        self.low, self.high = int(values.min()), int(values.max())
        self.bits = int(np.bitwise_or.reduce(values, axis=None))
        self._shifted: dict[int, Array] = {}
        self._scaled: dict[int, Axis] = {}
        self._taken: dict[int, tuple[Any, Axis]] = {}

    def shifted(self, bits: int) -> Array:
        """Return values >> bits, cached: every iteration of a loop turns an address into an index in the same way."""
        found = self._shifted.get(bits)
        if found is None:
            found = self._shifted[bits] = self.values >> bits
        return found

    def scaled(self, factor: int) -> Axis:
        """Return values * factor, cached."""
        if factor == 1 or self.low == self.high == 0:
            return self
        found = self._scaled.get(factor)
        if found is None:
            found = self._scaled[factor] = Axis(self.values * factor)
        return found

    def take(self, index: Any, axis: int) -> Axis:
        """Return the values at `index` (a slice or an index array), cached by the index object."""
        found = self._taken.get(id(index))
        if found is None:
            part = self.values[index] if axis == 0 else self.values[:, index]
            found = self._taken[id(index)] = (index, Axis(part))
        return found[1]


ZERO = Axis(np.zeros((1, 1), np.int64))


def axes_sum(a: Axis, b: Axis) -> Axis:
    """Return a + b along one side."""
    if a is ZERO:
        return b
    return a if b is ZERO else Axis(a.values + b.values)


class OuterSum:
    """An integer register as rows + columns + constant, modulo 2**width.

    `low`, `high` bound the exact sum over the lanes, which may not fit the register.
    """

    __slots__ = ("_array", "columns", "constant", "high", "low", "rows", "width")

    def __init__(self, rows: Axis, columns: Axis, constant: int, width: int) -> None:
        self.rows, self.columns, self.constant, self.width = rows, columns, constant, width
        self.low = rows.low + columns.low + constant
        self.high = rows.high + columns.high + constant
        self._array: Array | None = None

    def array(self) -> Array:
        """Return the register's bits as one unsigned array."""
        if self._array is None:
            total = self.rows.values + (self.columns.values + self.constant)
            if self.width == 64:
                self._array = total.view(np.uint64)
            else:
                self._array = total.astype(UNSIGNED[self.width])
        return self._array

    def plus(self, constant: int) -> OuterSum:
        """Return the sum plus a constant."""
        return OuterSum(self.rows, self.columns, self.constant + constant, self.width) if constant else self


class Part:
    """A value for the lanes of `mask` only, in the rows and columns of that mask."""

    __slots__ = ("mask", "value")

    def __init__(self, value: Array | OuterSum, mask: Any) -> None:
        self.value, self.mask = value, mask


Value = Any  # ndarray, OuterSum or Part; a union type would require narrowing in every instruction


def plain(value: Value) -> Array:
    """Return the value as an array."""
    made: Array = value if value.__class__ is np.ndarray else value.array()
    return made


def spread(value: Array, shape: tuple[int, ...]) -> Array:
    """Return np.broadcast_to, without its cost if the shape is right."""
    return value if value.shape == shape else np.broadcast_to(value, shape)


def restrict(value: Value, rows: Any, columns: Any) -> Value:
    """Return a whole-chunk value at some rows and columns (slices, index arrays, or None for all)."""
    if value.__class__ is OuterSum:
        over_rows = value.rows if rows is None or value.rows.values.size == 1 else value.rows.take(rows, 0)
        over_columns = value.columns
        if columns is not None and over_columns.values.size > 1:
            over_columns = over_columns.take(columns, 1)
        return OuterSum(over_rows, over_columns, value.constant, value.width)
    if rows is not None and value.shape[0] > 1:
        value = value[rows]
    if columns is not None and value.shape[1] > 1:
        value = value[:, columns]
    return value


def starts_of(ranked: Array) -> Array:
    """Return where each run of equal numbers starts."""
    new = np.ones(ranked.size, bool)
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    made: Array = new.nonzero()[0]
    return made


def select(words: Array, new: Array, old: Array) -> Array:
    """Return `new` where `words` is all ones and `old` where it is zero, bit by bit: much cheaper than np.where.

    All three have one item size; the result has the type of `new`.
    """
    if new.dtype == np.bool_:
        return (words & new) | (~words & old)
    kind = UNSIGNED[new.dtype.itemsize * 8]
    a, b = new.view(kind), old.view(kind)
    made: Array = (((a ^ b) & words) ^ b).view(new.dtype)
    return made
