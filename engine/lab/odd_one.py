"""Numbers that are equal but for one, which decides a line such as (x > 3).any() or (x == y).all()."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations, zip_longest

import numpy as np

from engine.catalogue.data import turned_place
from engine.lab.formula import value_of
from engine.lab.formula_traits import compares_plainly
from engine.records import Array, NotRunnable

_MOST_PAIRS = 90  # that are looked at
_FAR, _NEAR = 1 << 16, 1 << 8  # from a number to another one with the same low bits; squares of near ones are ints

ALIKE = (2, 4)  # the trials without an odd number
_LAST, _FIRST = 7, 6  # the trials from which on it is the last one, and in which it is the first one

# The number that is everywhere, the odd one, the array in which it is, and the number in the other arrays.
Pair = tuple[float, float, str, float]


def numbers_that_decide(
    line: str, arrays: Mapping[str, Array], names: Sequence[str], numbers: Mapping[str, float], near: Sequence[float],
    trial: int, place: int | None = None, below: float | None = None,
) -> dict[str, Array]:  # fmt: skip
    """Return the arrays `names` of a line's `arrays`, full of one number; in most trials one element of one array is
    another number, and the line has another value. Empty if no two numbers do that.

    `numbers`: the other parameters. `near`: what the line or the kernel compares numbers with. `place`: of the odd
    number; None: that of the trial. `below`: what the numbers are less than if they are indices.
    """
    pairs = _deciding(line, arrays, names, numbers, near, trial, place, below)
    if not pairs:
        return {}
    one, odd, name, other = pairs[(trial // 2 - 1) % len(pairs)]  # the first such trial is the second one
    if (
        trial == ALIKE[-1]
        and one == other
        and len({_value(line, arrays, names, each, numbers) for each in (one, odd)}) == 1
    ):
        one = other = odd  # such as argmax(x > 3), which has one value if none is larger, and if all are
    made = _filled(arrays, names, other) | _filled(arrays, [name], one)
    return made if trial in ALIKE else _with_odd(made, name, odd, trial, place)


def _value(
    line: str, arrays: Mapping[str, Array], names: Sequence[str], one: float, numbers: Mapping[str, float]
) -> bytes:
    """Return the value of a line of one number everywhere."""
    return value_of(line, {**arrays, **_filled(arrays, names, one)}, numbers).of.tobytes()


def _deciding(
    line: str, arrays: Mapping[str, Array], names: Sequence[str], numbers: Mapping[str, float], near: Sequence[float],
    trial: int, place: int | None, below: float | None,
) -> list[Pair]:  # fmt: skip
    """Return the pairs that decide: two numbers with the same low bits, then those from one value of the line, in turn
    with those from another. If none does, the other arrays hold the odd number, as for (a & b).any()."""
    found = defaultdict[bytes, list[Pair]](list)
    alike, others = _candidates([arrays[name] for name in names], near, _FAR if compares_plainly(line) else _NEAR)
    if below is not None:
        others, alike = [value for value in others if 0 <= value < below], []
    pairs = [*alike, *permutations(others, 2)][:_MOST_PAIRS]
    # The two pairs with the same low bits are of one array.
    alone = [(one, odd, names[max(0, number - 1) % len(names)], one) for number, (one, odd) in enumerate(pairs)]
    among = [(one, odd, name, odd) for one, odd in pairs[len(alike) :] for name in names] if len(names) > 1 else []
    for number, (one, odd, name, other) in enumerate([*alone, *among[:_MOST_PAIRS]]):
        if number == len(alone) and found:
            break
        made = _filled(arrays, names, other) | _filled(arrays, [name], one)
        try:
            before, after = (
                value_of(line, {**arrays, **each}, numbers).of
                for each in (made, _with_odd(made, name, odd, trial, place))
            )
        except NotRunnable:
            return []
        if not np.array_equal(before, after):
            found[b"" if number < len(alike) else before.tobytes()].append((one, odd, name, other))
    first = found.pop(b"", [])[:1]
    return [*first, *(pair for turn in zip_longest(*found.values()) for pair in turn if pair is not None)]


def _candidates(
    arrays: Sequence[Array], near: Sequence[float], far: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return numbers that all arrays can hold: pairs with the same low bits; those that are compared with and their
    neighbours, and some others."""
    whole = all(array.dtype.kind in "iu" for array in arrays)
    wide = min(array.itemsize for array in arrays) > 2
    step, more = (1, far if wide else 64) if whole else (0.125, 0.125)
    values = [*(each for number in near for each in _around(number, step, arrays)), 0, -1, 1, 3]
    others = [value for value in dict.fromkeys(values) if all(_holds(array, value) for array in arrays)]
    alike: list[tuple[float, float]] = [(7, 7 + more), (0, more)]
    return [pair for pair in alike if all(_holds(array, pair[1]) for array in arrays)], others


def _around(number: float, step: float, arrays: Sequence[Array]) -> list[float]:
    """Return a number and its neighbours, without itself if it has to be rounded: a kernel compares with what it is
    rounded to."""
    kinds = [array.dtype.type for array in arrays if array.dtype.kind == "f"]
    values = [number, number + step, number - step]
    for kind in kinds:
        values = [float(kind(value)) for value in values]
    return values if values[0] == number else values[1:]


def _holds(array: Array, value: float) -> bool:
    if array.dtype.kind == "f":
        return bool(np.isfinite(array.dtype.type(value)))
    if array.dtype.kind == "b":
        return value in (0, 1)
    info = np.iinfo(str(array.dtype))
    return value == int(value) and info.min <= value <= info.max


def _filled(arrays: Mapping[str, Array], names: Sequence[str], one: float) -> dict[str, Array]:
    return {name: np.full(arrays[name].shape, one).astype(arrays[name].dtype) for name in names}


def _with_odd(made: Mapping[str, Array], name: str, odd: float, trial: int, place: int | None) -> dict[str, Array]:
    changed = made[name].copy()
    changed.flat[place_of(changed.size, trial) if place is None else min(place, changed.size - 1)] = odd
    return {**made, name: changed}


def place_of(count: int, trial: int) -> int:
    """Return the place of a number that stands out: at an end, or beside the border of two blocks, warps or tiles."""
    if trial == _FIRST or trial >= _LAST:
        return 0 if trial == _FIRST else count - 1
    border = 1 << (max(1, turned_place(count, trial)).bit_length() - 1)
    return max(0, min(count - 1, border) - trial % 4 // 2)  # on either side
