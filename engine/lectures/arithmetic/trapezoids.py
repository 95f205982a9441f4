"""Cooper's rule for few trapezoids, for the picture: the areas, the sum, its error beside the h^2 law, and the race.

`partitions` trapezoids have `partitions` + 1 points, which is the N of the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.catalogue import trapezoid
from engine.records import Array, Measurement, Settled

# The values of the slider: every small number, then some up to the lecture's.
PARTITIONS: tuple[int, ...] = (*range(1, 65), 128, 256, 512, 1024, 4096, 16384, 65535)
DEFAULT = 15  # 16 points: two blocks of the lecture's 8
LECTURE_BLOCK = 8
INTEGRAL_TEXT = "-0.347022118633863243825"  # more digits than a double holds
# The lecture's picture of the race: 16 numbers on a multiprocessor that runs 8 threads at a time.
LECTURE_NUMBERS = (10, 1, 8, -1, 0, -2, 3, 5, -2, -3, 2, 7, 0, 11, 0, 2)


@dataclass(frozen=True)
class Trapezoids:
    """`x`, `values`: the points, shape (partitions + 1,). `total`: the sum of the signed areas.

    `error`: total minus integral. `law`: the error by h^2/12 (f'(b) - f'(a)).
    """

    partitions: int
    x: Array
    values: Array
    total: float
    error: float
    law: float


def trapezoids(partitions: int) -> Trapezoids:
    """Return the rule with so many trapezoids, at least one."""
    x, values = trapezoid.points(partitions + 1)
    total = trapezoid.trapezoid_sum(partitions + 1)
    return Trapezoids(partitions, x, values, total, total - trapezoid.INTEGRAL, law(partitions))


def law(partitions: int) -> float:
    """Return the first term of the error: h^2/12 (f'(b) - f'(a)), signed. The next one is of the order h^4."""
    h = (trapezoid.B - trapezoid.A) / partitions
    (slope_a, _), (slope_b, _) = trapezoid.derivatives(trapezoid.A), trapezoid.derivatives(trapezoid.B)
    return h * h / 12 * (slope_b - slope_a)


def polygons(x: Array, values: Array) -> tuple[list[list[tuple[float, float]]], list[list[tuple[float, float]]]]:
    """Return the trapezoids as polygons, above the axis and below it; one that crosses the axis is cut in two."""
    above: list[list[tuple[float, float]]] = []
    below: list[list[tuple[float, float]]] = []
    for x0, x1, y0, y1 in zip(x[:-1].tolist(), x[1:].tolist(), values[:-1].tolist(), values[1:].tolist(), strict=True):
        if y0 * y1 < 0:
            zero = x0 + (x1 - x0) * y0 / (y0 - y1)
            left, right = [(x0, 0.0), (x0, y0), (zero, 0.0)], [(zero, 0.0), (x1, y1), (x1, 0.0)]
            (above if y0 > 0 else below).append(left)
            (above if y1 > 0 else below).append(right)
        else:
            (above if y0 + y1 > 0 else below).append([(x0, 0.0), (x0, y0), (x1, y1), (x1, 0.0)])
    return above, below


def blocks(points: int, block_size: int) -> list[range]:
    """Return the points that each block of threads evaluates, in the order of the blocks."""
    return [range(first, min(first + block_size, points)) for first in range(0, points, block_size)]


def terms(points: int) -> Array:
    """Return the numbers that the kernels add: h f(x) at each point, half of it at the two ends; shape (points,)."""
    _, values = trapezoid.points(points)
    made: Array = values * (trapezoid.B - trapezoid.A) / (points - 1)
    made[[0, -1]] /= 2
    return made


def raced(numbers: Sequence[float], block_size: int) -> float:
    """Return what a reduction across blocks leaves in place 0 if each block runs only after the previous one has ended.

    The first block adds its own numbers correctly. Then its first thread goes on, and adds the first number of a block
    that has not begun: at twice, four times, ... the distance.
    """
    total = float(sum(numbers[:block_size]))
    jump = block_size
    while jump < len(numbers):
        total += float(numbers[jump])
        jump *= 2
    return total


def errors_of(choice: Settled, measurement: Measurement | None) -> Mapping[str, float] | None:
    """Return the two errors of a run: "truncation" is the distance from the integral, "rounding" that from the exact
    trapezoid sum for its N. None without an answer."""
    if measurement is None or measurement.check is None or choice.n < 2:
        return None
    result = float(measurement.check.result)
    return {
        "truncation": abs(result - trapezoid.INTEGRAL),
        "rounding": abs(result - trapezoid.trapezoid_sum(choice.n)),
    }


def truncations(sizes: Sequence[int]) -> list[tuple[int, float]]:
    """Return (N, distance of the exact trapezoid sum from the integral), computed."""
    return [(n, abs(trapezoid.trapezoid_sum(n) - trapezoid.INTEGRAL)) for n in sizes]


def laws(sizes: Sequence[int]) -> list[tuple[int, float]]:
    """Return (N, the error by the h^2 law)."""
    return [(n, abs(law(n - 1))) for n in sizes]


def curve() -> tuple[list[float], list[float]]:
    """Return f as a line to draw: values of x, and f there."""
    x, values = trapezoid.points(241)
    return x.tolist(), values.tolist()
