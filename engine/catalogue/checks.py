"""The checks that topics share: an array against its reference, numbers in any order, and a rule that must hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.catalogue import data
from engine.catalogue.plans import wrapped
from engine.records import Array, Check

FIRST = 32  # elements of a reference that a check hands on
BEFORE = 4  # of them stand before the first wrong one


def equal(found: Array, expected: Array, note: str, columns: int = 0) -> Check:
    """Check that every element is equal; `columns`: of a matrix."""
    if np.array_equal(found, expected):  # the usual case: the first ones say as much as all, which may be very many
        found, expected = found[:FIRST], expected[:FIRST]
    return within(found, expected, np.zeros(1), note, columns)


def within(found: Array, expected: Array, bound: Array, note: str, columns: int = 0) -> Check:
    """Check that every element is within its bound (broadcastable); `columns`: of a matrix.

    The check shows the first wrong element; for a right array, the one with the largest error relative to its bound.
    """
    whole = np.issubdtype(found.dtype, np.integer)
    kind = np.int64 if whole else np.float64
    got, wanted = found.astype(kind), expected.astype(kind)
    with np.errstate(invalid="ignore"):  # the difference of two infinities, which may be the same
        error = np.where(got == wanted, 0, np.abs(got - wanted)).astype(np.float64)
    bounds = np.broadcast_to(bound, error.shape)
    with np.errstate(over="ignore", invalid="ignore"):  # with a bound of 0 any error is infinitely too large
        misses = np.where(np.isfinite(error), error / np.maximum(bounds, np.finfo(np.float64).tiny), np.inf)
    off = np.flatnonzero(~(misses <= 1))  # a bound that is no number holds nothing
    at = int(off[0]) if off.size else int(np.argmax(misses))
    number = int if whole else float
    shown = Check(
        ok=not off.size,
        result=number(got[at]),
        expected=number(wanted[at]),
        error=float(error[at]),
        error_bound=float(bounds[at]),
        note=f"{note} Shown: element {at:,}, {'the first wrong one' if off.size else 'which is farthest off'}.",
    )
    return around(shown, wanted, off, columns)


def around(shown: Check, wanted: Array, off: Array, columns: int = 0) -> Check:
    """Return the check with the elements of the reference around the first wrong one. `off`: the indices of the wrong
    ones, in order."""
    begin = max(0, min(int(off[0]) - BEFORE, wanted.size - FIRST)) if off.size and off[0] >= FIRST // 4 else 0
    near = off[: 2 * FIRST]
    return replace(
        shown,
        first=tuple(wanted.ravel()[begin : begin + FIRST].tolist()),
        off=tuple(near[near < begin + FIRST].tolist()),
        begin=begin,
        count=int(wanted.size) if wanted.size > 1 else None,
        wrong=int(off.size),
        at=int(off[0]) if off.size and wanted.size > 1 else None,
        columns=columns,
    )


def sums(found: Array, numbers: Array, squares: Array, exact: Array, additions: int, note: str) -> Check:
    """Check sums against `exact` ones (int64, or float64 without rounding): ints equal after wrapping, floats within
    ten standard deviations of a chain of `additions` roundings, for numbers whose squares add up to `squares`."""
    if np.issubdtype(numbers.dtype, np.integer):
        return equal(found, wrapped(exact), f"{note} 32-bit sums wrap on overflow, here as on the GPU.")
    return rounded(found, exact, squares, additions, data.unit_roundoff(numbers.dtype.name), note)


def rounded(
    found: Array, exact: Array, squares: Array, additions: int, unit: float, note: str, columns: int = 0
) -> Check:
    """Check floats within ten standard deviations of a chain of `additions` roundings of `unit` each, for numbers whose
    squares add up to `squares`."""
    bound = 10 * unit * np.sqrt(additions) * (np.sqrt(squares) + np.abs(exact))
    note = f"{note} Bound: 10 standard deviations of {additions:,} roundings in a row."
    return within(found, exact, bound, note, columns)


def same_numbers(found: Array, expected: Array, note: str) -> Check:
    """Check for the same numbers with the same counts, in any order; both are sorted first."""
    return in_any_order(equal(np.sort(found), np.sort(expected), note))


def in_any_order(checked: Check) -> Check:
    """Return the check of sorted elements, without the place of an error, which sorting has changed."""
    return replace(checked, first=None, off=(), begin=0, at=None)


def rule(broken: int, count: int, note: str) -> Check:
    """Return the check of `count` cases of which `broken` break the rule; result and expected are the numbers of cases
    that follow it."""
    return Check(broken == 0, count - broken, count, broken, 0, note)


def exact_type(numbers: Array) -> Array:
    """Return the numbers in the type whose sums are exact: int64, or float64 (all data are multiples of 2^-31)."""
    return numbers.astype(np.int64 if np.issubdtype(numbers.dtype, np.integer) else np.float64)
