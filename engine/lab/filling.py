"""The numbers that arrays of a launch are filled with: zeros, ones, a range, random numbers, or indices.

Random numbers are the same in every program run, and other ones for each argument of a launch and each trial. Floats
are multiples of a quarter, and so small that their sums and products are exact.
"""

from __future__ import annotations

from math import prod

import numpy as np

from engine.records import Array

FILLS = ("zeros", "ones", "range", "random", "indices")
QUARTER = 0.25  # the unit of floats, so a conversion to int shows
_WHOLE, _SHORT = 997, {"u": 253}  # sizes of whole numbers, and of unsigned ones of 8 bits
_FLOATS, _FEWEST, _FEW = 497, 5, 16  # in units: products of 256 x 256 matrices stay exact
_EXACT = {2: 2**11, 4: 2**24, 8: 2**53}  # whole numbers that a float of so many bytes holds exactly
_MOST_INDICES = 100
_SAME = 7  # every seventh number, where neighbours are equal
_IMAGINARY = 1000  # is added to the place for the other half of complex numbers


def filled(shape: tuple[int, ...], dtype: np.dtype[np.generic], fill: str, place: int = 0, trial: int = 0) -> Array:
    """Return a new array with one of FILLS; `place`: which argument of the launch it is."""
    count = prod(shape)
    match fill:
        case "range":
            made: Array = np.arange(count).astype(dtype)
        case "random":
            made = random_numbers(count, dtype, place, trial)
        case "indices":  # of an array that is as long
            most = max(1, min(count, _MOST_INDICES))
            made = np.random.default_rng([place, trial]).integers(0, most, count).astype(dtype)
        case _:
            made = np.full(count, {"zeros": 0, "ones": 1}[fill], dtype)
    return made.reshape(shape)


def random_numbers(count: int, dtype: np.dtype[np.generic], place: int, trial: int) -> Array:
    """Return `count` numbers: in even trials of both signs, in odd ones all negative (if the type has a sign) and far
    from 0. The largest is the last one in trial 0 and the first one in trial 1; in later trials it stands in between.

    No two neighbours are equal, but in every third trial some are.
    """
    make = np.random.default_rng([place, trial])
    if dtype.kind == "b" or not count:
        return make.integers(0, 2, count).astype(dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        real, imaginary = (random_numbers(count, part, place + more, trial) for more in (0, _IMAGINARY))
        return (real + 1j * imaginary).astype(dtype)
    most, signed, even = _most(count, dtype), dtype.kind != "u", trial % 2 == 0
    far = most // 2 if signed and not even and most > _FEW else 0  # from 0
    most -= far
    numbers = 2 + make.integers(1, most, count).cumsum() % most  # never the one before: less than `most` is added
    lowest, largest = 1, most + 2
    if signed:
        numbers = numbers * make.choice((-1, 1), count) if even else -far - numbers
        lowest, largest = -far - most - 2, largest if even else -far - 1
    if trial % 3 == 2:
        numbers[_SAME::_SAME] = numbers[_SAME - 1 : -1 : _SAME]
    at = (count - 1, 0)[trial] if trial < 2 else count * trial // 7 % count
    numbers[[count - 1 - at, at]] = lowest, largest  # a single number is the largest
    return (numbers * QUARTER if dtype.kind == "f" else numbers).astype(dtype)


def _most(count: int, dtype: np.dtype[np.generic]) -> int:
    """Return how many sizes there are. Of floats so few that no order of adding all of them rounds."""
    if dtype.kind != "f":
        return _WHOLE if dtype.itemsize > 1 else _SHORT.get(dtype.kind, 97)
    return min(_FLOATS, max(_FEWEST, _EXACT.get(dtype.itemsize, 2**53) // count))
