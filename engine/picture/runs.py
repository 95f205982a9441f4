"""Long lists of whole numbers, written short: places that lanes touch mostly lie evenly spaced."""

from __future__ import annotations

from collections.abc import Sequence


def in_runs(numbers: Sequence[int]) -> tuple[int, ...]:
    """Runs of evenly spaced numbers, three entries each: how many, the first, the distance. 4 6 8 1: 3 4 2, 1 1 0."""
    made: list[int] = []
    at = 0
    while at < len(numbers):
        first, end = numbers[at], at + 1
        step = numbers[end] - first if end < len(numbers) else 0
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        if end - at == 2 and len(numbers) > end:  # two numbers are spaced evenly by chance: the next run may want one
            end, step = at + 1, 0
        made += (end - at, first, step)
        at = end
    return tuple(made)
