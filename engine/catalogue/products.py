"""Parts of all matrix products: pieces and ring of Hopper's tensor cores, and the check against float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.catalogue import checks, data
from engine.records import Array, Check, NotRunnable, Plan

WHOLE_CHECK_MAX = 512  # up to this width every element is checked; above, SAMPLED_ROWS whole rows
SAMPLED_ROWS = 32

Reference = tuple[Array, Array, Array]  # the checked rows, their products, the size of each product's rounding walk


def reference(left: Array, right: Array, n: int) -> Reference:
    """Return the checked rows of P, in float64, for M and N that repeat the periods `left` and `right`.

    The bound is that of sums: an element is a chain of n roundings over the products m_ik n_kj; the returned size is
    that of the walk before the factor u.
    """
    rows = np.arange(n) if n <= WHOLE_CHECK_MAX else np.unique(np.linspace(0, n - 1, SAMPLED_ROWS).astype(int))
    m, n_columns = (data.repeated(period, n * n).reshape(n, n) for period in (left, right))
    m_rows, columns = m[rows].astype(np.float64), n_columns.astype(np.float64)
    products = m_rows @ columns
    size = np.sqrt(np.square(m_rows) @ np.square(columns)) + np.abs(products)
    return rows, products, size


def check(plan: Plan, output: Array, expected_rows: Reference, unit_roundoff: float) -> Check:
    """Check the product against float64, element by element.

    The bound of an element is ten standard deviations of its n roundings, as for reductions.
    """
    n = plan.choice.n
    rows, expected, size = expected_rows
    found = output.reshape(n, n)[rows].astype(np.float64)
    which = "every element" if len(rows) == n else f"{len(rows)} rows of {n:,}, first and last among them"
    bound = 10 * unit_roundoff * np.sqrt(plan.additions) * size
    made = checks.within(found.ravel(), expected.ravel(), bound.ravel(), f"Checked: {which}.", n)
    return made if len(rows) == n else sampled(made, rows, n)


def sampled(made: Check, rows: Array, n: int) -> Check:
    """Return the check of some `rows` of an n x n matrix with its indices in the whole matrix."""
    if made.at is None:
        return replace(made, count=n * n)
    row = made.at // n
    moved = int(rows[row] - row) * n
    if made.begin // n != row:  # the table would show the end of another row
        made = replace(made, first=None, off=(), begin=0)
    else:
        made = replace(made, off=tuple(place + moved for place in made.off), begin=made.begin + moved)
    return replace(made, at=int(rows[row]) * n + (made.at or 0) % n, count=n * n)


MULTIPLE = 256  # of which the width is one: no kernel tests at a border
WIDE = (128, 256)  # rows and columns of P for each block
STAGES, RING_DEPTH = 4, 64  # phases in flight or in use, and of k in each
FETCHING = 128  # threads of a warpgroup that only fetches, beside those that multiply


def shared_bytes(rows: int, columns: int, stages: int = STAGES) -> int:
    """Return the shared memory of a ring of 16-bit tiles for pieces of `rows` x `columns`, and of its barriers."""
    return stages * 2 * RING_DEPTH * (rows + columns) + 1024


def check_width(n: int, pieces: str) -> None:
    """Raise NotRunnable for a width that the pieces of P do not divide; `pieces`: words that name them and their
    size."""
    if n % MULTIPLE:
        nearest = max(1, round(n / MULTIPLE)) * MULTIPLE
        raise NotRunnable(
            f"N = {n:,} is not a multiple of {MULTIPLE}: {pieces}, and there are no tests at the border; choose "
            f"{nearest:,}."
        )
