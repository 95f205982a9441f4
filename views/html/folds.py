"""Which lines of a long source are folded on a slide, so that what is left can be read from the back row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil

ROWS = 21  # of a slide, in type that is large enough; what needs more scrolls
COLUMNS = 64  # of a slide, in the same type; a longer line goes on below
SHORTEST = 3  # lines: folding fewer saves nothing


def rows_of(lines: Collection[str]) -> int:
    """How many rows of a slide the lines take."""
    return sum(max(1, ceil(len(line) / COLUMNS)) for line in lines)


def unfolded(lines: Sequence[str], start: int, marked: Collection[int]) -> set[int]:
    """The numbers (1-based) of the lines to show, of those below the first `start`.

    All of them if they fit; else without the bodies of helper functions in which nothing is marked; and if that is
    still too long, those near a marked one and the heads of the kernels. With nothing marked, the kernels are shown.
    """
    every = set(range(start + 1, len(lines) + 1))
    if _fit(lines, every):
        return every
    helpers = _helpers(lines, start)
    shown = every - {number for body in helpers for number in body if not set(body) & set(marked)}
    if _fit(lines, shown) or not marked:
        return shown
    kept = {number for number in every if "__global__" in lines[number - 1]}
    for context in (12, 9, 7, 5, 4, 3, 2, 1):
        near = kept | {number + by for number in marked for by in range(-context, context + 1)}
        shown &= near
        for run in runs(sorted(every - shown)):
            shown |= set(run) if len(run) < SHORTEST else set()
        if _fit(lines, shown):
            break
    return shown


def _fit(lines: Sequence[str], numbers: Collection[int]) -> bool:
    return rows_of([lines[number - 1] for number in numbers]) <= ROWS


def _helpers(lines: Sequence[str], start: int) -> list[range]:
    """The bodies of the functions that the kernel calls, their closing braces included."""
    found, opened = [], None
    for number, line in enumerate(lines[start:], start + 1):
        if line.startswith(("__device__", "static __device__")) and not line.rstrip().endswith(";"):
            opened = number + 1
        elif line.startswith("}") and opened is not None:
            if number - opened >= SHORTEST:
                found.append(range(opened, number + 1))
            opened = None
    return found


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Neighbouring numbers together."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found
