"""Named references (sum, prefix sum, matrix product, ...) and the comparison of an array with one.

checked("saxpy", before, after, ("x", "y"), "y", (2.0,)) -> Check

Integers are compared after wrapping to the answer's type. Floats must lie within the rounding bound of the computation
in any order; they must be equal if nothing is rounded: values that are only moved or compared, and sums of multiples
of a power of two that the type can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isqrt, prod

import numpy as np

from engine.catalogue import checks
from engine.records import Array, Check, NotRunnable


@dataclass(frozen=True)
class Exact:
    """The right values, shape (count,), int64 or float64.

    For sums: the sums of the `squares` (same shape), the number of `additions` of each, and the `largest` partial sum
    in any order, in units of which all values are whole multiples; infinite without such a unit. `columns`: of a
    matrix.
    """

    values: Array
    squares: Array | None = None
    additions: int = 0
    largest: float = 0.0
    columns: int = 0


@dataclass(frozen=True)
class Reference:
    """A named computation. `meaning`: a sentence; `reads`: its names of the arrays that it reads, in order; `numbers`:
    its names of the numbers, with defaults; `counts`: the numbers that it reads are indices of the answer; `searches`:
    the answer is one of the numbers, the largest; `adds`: each element of the answer is one of the numbers, or a sum in
    which each stands once at most; `moves`: they are only moved; `wraps`: whole numbers of any size give the bits that
    a kernel's own type gives; `narrows`: its number may be smaller, as the kernel then reads less.

    `exact(arrays, numbers, room)`: computed from the arrays before the launch; `room`: the number of elements of the
    answer's array. NotRunnable: they do not fit together.
    """

    name: str
    title: str
    meaning: str
    reads: tuple[str, ...]
    numbers: tuple[tuple[str, float], ...]
    exact: Callable[[Sequence[Array], Sequence[float], int], Exact]
    counts: bool = False
    searches: bool = False
    adds: bool = False
    moves: bool = False
    wraps: bool = False
    narrows: bool = False


def check_against(
    name: str,
    before: Mapping[str, Array],
    after: Mapping[str, Array],
    reads: Sequence[str],
    out: str,
    numbers: Sequence[float] = (),
) -> Check:
    """Compare the first elements of `after[out]`, as many as the answer has, with the reference `name` of
    `before[reads]`.

    `numbers`: the reference's defaults if none are given. NotRunnable: no such reference or array, or arrays that do
    not fit it.
    """
    reference = reference_named(name)
    if len(reads) != len(reference.reads):
        wanted = ", ".join(reference.reads)
        raise NotRunnable(f"The reference {reference.title!r} reads {len(reference.reads)} of the arrays: {wanted}.")
    arrays = [_array(before, each) for each in reads]
    found = _array(after, out).ravel()
    given = [_whole(value) for value in (*numbers, *(value for _, value in reference.numbers[len(numbers) :]))]
    exact = reference.exact([_exact_type(each) for each in arrays], given, found.size)
    if exact.values.size > found.size:
        raise NotRunnable(f"`{out}` has room for {found.size:,} numbers, but the answer has {exact.values.size:,}.")
    if found.dtype.kind in "iu" and exact.values.dtype.kind == "f":
        raise NotRunnable(f"`{out}` holds whole numbers, but the answer has fractions: give it a floating-point type.")
    return _compared(found[: exact.values.size], exact, reference.meaning)


def reference_named(name: str) -> Reference:
    """Return the reference of that name; NotRunnable if there is none."""
    if name not in REFERENCES:
        raise NotRunnable(f"There is no reference {name!r}; there are {', '.join(REFERENCES)}.")
    return REFERENCES[name]


def _compared(found: Array, exact: Exact, meaning: str) -> Check:
    unit = float(np.finfo(found.dtype).eps) / 2 if found.dtype.kind == "f" else 0.0
    if exact.squares is None or exact.largest * unit <= 1:
        return checks.equal(found, exact.values.astype(found.dtype), meaning, exact.columns)
    return checks.rounded(found, exact.values, exact.squares, exact.additions, unit, meaning, exact.columns)


def _array(arrays: Mapping[str, Array], name: str) -> Array:
    if name not in arrays:
        raise NotRunnable(f"The kernel has no array `{name}`; it has {', '.join(arrays) or 'none'}.")
    if arrays[name].dtype.kind not in "biuf":
        raise NotRunnable(f"`{name}` is an array of {arrays[name].dtype}: a reference needs one of plain numbers.")
    if not arrays[name].size:
        raise NotRunnable(f"`{name}` has no elements.")
    return arrays[name]


def _exact_type(numbers: Array) -> Array:
    return numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64)


def _sum(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    return _added(lambda numbers: numbers.sum()[None], arrays[0].ravel(), arrays[0].size)


def _max(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    return Exact(arrays[0].max()[None])


def _prefix_sum(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    return _added(np.cumsum, arrays[0].ravel(), arrays[0].size)


def _exclusive_prefix_sum(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    numbers = np.concatenate([np.zeros(1, arrays[0].dtype), arrays[0].ravel()[:-1]])
    return _prefix_sum([numbers], (), 0)


def _matrix_product(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    a, b = (_matrix(each) for each in arrays)
    if a.shape[1] != b.shape[0]:
        raise NotRunnable(f"Matrices of {_sizes(a)} and {_sizes(b)} cannot be multiplied.")
    squares = np.square(a.astype(np.float64)) @ np.square(b.astype(np.float64))
    largest = _largest(np.abs(a) @ np.abs(b), a, b)
    return Exact((a @ b).ravel(), squares.ravel(), a.shape[1], largest, b.shape[1])


def _transpose(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    matrix = _matrix(arrays[0])
    return Exact(matrix.T.ravel(), columns=len(matrix))


def _histogram(arrays: Sequence[Array], _: Sequence[float], room: int) -> Exact:
    numbers = arrays[0].ravel()
    if numbers.dtype.kind == "f":
        raise NotRunnable("A histogram needs whole numbers: give its array an integer type.")
    return Exact(np.bincount(numbers[(numbers >= 0) & (numbers < room)], minlength=room))


def _copy(arrays: Sequence[Array], _: Sequence[float], __: int) -> Exact:
    return Exact(arrays[0].ravel())


def _saxpy(arrays: Sequence[Array], numbers: Sequence[float], _: int) -> Exact:
    x, y = (each.ravel() for each in arrays)
    if x.size != y.size:
        raise NotRunnable(f"The arrays have {x.size:,} and {y.size:,} elements: give them the same size.")
    return _added(lambda both: both.sum(axis=0), np.stack([numbers[0] * x, y]), 2)


def _stencil(arrays: Sequence[Array], numbers: Sequence[float], _: int) -> Exact:
    radius = min(max(0, int(numbers[0])), arrays[0].size)
    window = np.ones(2 * radius + 1, arrays[0].dtype)
    padded = np.pad(arrays[0].ravel(), window.size // 2)
    return _added(lambda numbers: np.convolve(numbers, window, "valid"), padded, window.size)


def _added(add: Callable[[Array], Array], numbers: Array, additions: int) -> Exact:
    """Return the exact values of sums of `numbers` by `add`."""
    return Exact(add(numbers), add(np.square(numbers.astype(np.float64))), additions,
                 _largest(add(np.abs(numbers)), numbers))  # fmt: skip


def _largest(sums: Array, *numbers: Array) -> float:
    """Return the largest of `sums` of absolute values, in units of which all `numbers` (or products of one of each)
    are whole multiples; infinite without such a unit."""
    units = [_unit(each) for each in numbers]
    return float(sums.max()) / prod(filter(None, units)) if all(units) else inf


def _unit(numbers: Array) -> float | None:
    """Return the largest of _UNITS of which all numbers are whole multiples; None if there is none."""
    return next((unit for unit in _UNITS if np.array_equal(numbers / unit, np.rint(numbers / unit))), None)


_UNITS = (1.0, 2.0**-2, 2.0**-4, 2.0**-8)


def _whole(number: float) -> float:
    """Convert an integral number to int, so integers times it stay integers."""
    return int(number) if float(number).is_integer() else number


def _matrix(numbers: Array) -> Array:
    """Return the array as a matrix: by its own two sizes, or square."""
    width = isqrt(numbers.size)
    if numbers.ndim == 2:
        return numbers
    if numbers.ndim == 1 and width * width == numbers.size:
        return numbers.reshape(width, width)
    raise NotRunnable(f"{numbers.size:,} elements are not a square matrix: give the array two sizes, such as 64,128.")


def _sizes(matrix: Array) -> str:
    return " x ".join(f"{size:,}" for size in matrix.shape)


REFERENCES: dict[str, Reference] = {
    one.name: one
    for one in (
        Reference("sum", "sum", "The first element is the sum of all numbers.", ("in",), (), _sum,
                  adds=True),
        Reference("max", "maximum", "The first element is the largest of all numbers.", ("in",), (), _max,
                  searches=True),
        Reference("prefix-sum", "prefix sum (inclusive)", "Element i is the sum of the numbers 0 to i.", ("in",), (),
                  _prefix_sum, adds=True),
        Reference("exclusive-prefix-sum", "prefix sum (exclusive)", "Element i is the sum of the numbers before i.",
                  ("in",), (), _exclusive_prefix_sum, adds=True),
        Reference("matrix-product", "matrix product", "A times B, row by row.", ("A", "B"), (), _matrix_product),
        Reference("transpose", "transpose", "Element (i, j) is element (j, i) of the matrix.", ("in",), (), _transpose,
                  moves=True),
        Reference("histogram", "histogram", "Element v is how often the number v occurs.", ("in",), (), _histogram,
                  counts=True),
        Reference("copy", "copy", "Every element is as it was.", ("in",), (), _copy, moves=True),
        Reference("saxpy", "saxpy", "Element i is a·x[i] + y[i], of the arrays as they were.", ("x", "y"),
                  (("a", 2.0),), _saxpy, wraps=True),
        Reference("stencil", "stencil (1D)", "Element i is the sum of the numbers up to `radius` places from i; beyond "
                  "the ends there are zeros.", ("in",), (("radius", 1.0),), _stencil, adds=True, narrows=True),
    )
}  # fmt: skip
