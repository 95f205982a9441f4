"""What matrix products share: pieces and ring of Hopper's tensor cores, and the check against float64."""

from __future__ import annotations

import numpy as np

from engine.catalogue import checks, data
from engine.records import Array, Check, NotRunnable, Plan

WHOLE_CHECK_MAX = 512  # up to this width every element is checked; above, SAMPLED_ROWS whole rows
SAMPLED_ROWS = 32

Reference = tuple[Array, Array, Array]  # the checked rows, their products, the size of each one's rounding walk


def reference(left: Array, right: Array, n: int) -> Reference:
    """Return the checked rows of P, in float64, for M and N that repeat the periods `left` and `right`.

    The same bound as for sums: an element is a chain of n roundings over the products m_ik n_kj; their size is that of
    the walk before the factor u.
    """
    rows = np.arange(n) if n <= WHOLE_CHECK_MAX else np.unique(np.linspace(0, n - 1, SAMPLED_ROWS).astype(int))
    m, n_columns = (data.repeated(period, n * n).reshape(n, n) for period in (left, right))
    m_rows, columns = m[rows].astype(np.float64), n_columns.astype(np.float64)
    products = m_rows @ columns
    size = np.sqrt(np.square(m_rows) @ np.square(columns)) + np.abs(products)
    return rows, products, size


def check(plan: Plan, output: Array, expected_rows: Reference, unit_roundoff: float) -> Check:
    """Check the product against float64, element by element; result and expected are the element that misses by most.

    The bound of an element is ten standard deviations of its n roundings, as for reductions.
    """
    n = plan.choice.n
    rows, expected, size = expected_rows
    found = output.reshape(n, n)[rows].astype(np.float64)
    error = np.abs(found - expected)
    bound = 10 * unit_roundoff * np.sqrt(plan.additions) * size
    misses = np.where(np.isfinite(found), error / np.maximum(bound, np.finfo(np.float64).tiny), np.inf)
    at = np.unravel_index(int(np.argmax(misses)), misses.shape)
    which = "every element" if len(rows) == n else f"{len(rows)} rows of {n:,}, first and last among them"
    return Check(
        ok=bool(misses[at] <= 1),
        result=float(found[at]),
        expected=float(expected[at]),
        error=float(error[at]),
        error_bound=float(bound[at]),
        note=f"Checked: {which}. Shown: row {rows[at[0]]}, column {at[1]}, which is farthest off.",
        # The first row is always among the checked ones, and all rows are where that is shorter.
        first=tuple(expected.ravel()[: checks.FIRST].tolist()),
        off=tuple(np.flatnonzero(misses.ravel()[: checks.FIRST] > 1).tolist()),
    )


MULTIPLE = 256  # of which the width is one: no kernel tests at a border
WIDE = (128, 256)  # rows and columns of P for each block
STAGES, RING_DEPTH = 4, 64  # phases on their way or in use, and of k in each
FETCHING = 128  # threads of a warpgroup that only fetches, beside those that multiply


def shared_bytes(rows: int, columns: int, stages: int = STAGES) -> int:
    """Return the shared memory of a ring of 16-bit tiles for pieces of `rows` x `columns`, and of its barriers."""
    return stages * 2 * RING_DEPTH * (rows + columns) + 1024


def check_width(n: int, pieces: str) -> None:
    """NotRunnable for a width that the pieces of P do not divide; `pieces`: whose they are and how large."""
    if n % MULTIPLE:
        nearest = max(1, round(n / MULTIPLE)) * MULTIPLE
        raise NotRunnable(
            f"N = {n:,} is no multiple of {MULTIPLE}: {pieces}, and nothing is tested at a border; choose {nearest:,}."
        )
