"""The checks that topics share: an array against its reference, numbers in any order, and a rule that must hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.catalogue import data
from engine.catalogue.plans import wrapped
from engine.records import Array, Check

FIRST = 32  # elements of a reference that a check hands on


def equal(found: Array, expected: Array, note: str) -> Check:
    """Check that every element is equal, bit for bit of its value; shown is the one that misses by most."""
    if np.array_equal(found, expected):  # as nearly always: the first tell as much as all, which may be very many
        found, expected = found[:FIRST], expected[:FIRST]
    return within(found, expected, np.zeros(1), note)


def within(found: Array, expected: Array, bound: Array, note: str) -> Check:
    """Every element within its bound (broadcastable); shown is the one that misses by most, measured by its bound."""
    whole = np.issubdtype(found.dtype, np.integer)
    kind = np.int64 if whole else np.float64
    got, wanted = found.astype(kind), expected.astype(kind)
    error = np.abs(got - wanted).astype(np.float64)
    bounds = np.broadcast_to(bound, error.shape)
    with np.errstate(over="ignore"):  # where nothing may miss, any miss is infinitely too large
        misses = np.where(np.isfinite(error), error / np.maximum(bounds, np.finfo(np.float64).tiny), np.inf)
    at = int(np.argmax(misses))
    number = int if whole else float
    return Check(
        ok=bool(misses[at] <= 1),
        result=number(got[at]),
        expected=number(wanted[at]),
        error=float(error[at]),
        error_bound=float(bounds[at]),
        note=f"{note} Shown: element {at:,}, which is farthest off.",
        first=tuple(wanted.ravel()[:FIRST].tolist()),
        off=tuple(np.flatnonzero(misses.ravel()[:FIRST] > 1).tolist()),
    )


def sums(found: Array, numbers: Array, squares: Array, exact: Array, additions: int, note: str) -> Check:
    """Sums against `exact` ones (int64, or float64 without rounding): ints equal after wrapping, floats within ten
    standard deviations of a chain of `additions` roundings over numbers whose squares add up to `squares`."""
    if np.issubdtype(numbers.dtype, np.integer):
        return equal(found, wrapped(exact), f"{note} 32-bit sums wrap on overflow, here as on the GPU.")
    return rounded(found, exact, squares, additions, data.unit_roundoff(numbers.dtype.name), note)


def rounded(found: Array, exact: Array, squares: Array, additions: int, unit: float, note: str) -> Check:
    """Floats within ten standard deviations of a chain of `additions` roundings of `unit` each, over numbers whose
    squares add up to `squares`."""
    bound = 10 * unit * np.sqrt(additions) * (np.sqrt(squares) + np.abs(exact))
    return within(found, exact, bound, f"{note} Bound: 10 standard deviations of {additions:,} roundings in a row.")


def same_numbers(found: Array, expected: Array, note: str) -> Check:
    """Check for the same numbers, each as often, in any order; compared after sorting."""
    return in_any_order(equal(np.sort(found), np.sort(expected), note))


def in_any_order(checked: Check) -> Check:
    """Return the check of sorted elements: which of them comes first says nothing about the answer as it stands."""
    return replace(checked, first=None, off=())


def rule(broken: int, count: int, note: str) -> Check:
    """`count` cases of which `broken` do not follow the rule; result and expected are the numbers that do."""
    return Check(broken == 0, count - broken, count, broken, 0, note)


def exact_type(numbers: Array) -> Array:
    """Return the numbers in the type whose sums are exact: int64, or float64 (all data are multiples of 2^-31)."""
    return numbers.astype(np.int64 if np.issubdtype(numbers.dtype, np.integer) else np.float64)
