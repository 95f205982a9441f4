"""The arrays of single trials: numbers with which one kind of wrong kernel gives a wrong answer.

A trial is a number. Each order of execution has one of its own, so that a number that decides is elsewhere in each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.catalogue.data import extremes, turned_place
from engine.lab.odd_one import place_of
from engine.records import Array

ORDERS = ("independent:1", "waves:1")  # beside the one that was asked for
# For searches: in each order the number searched for stands elsewhere, as a kernel may leave out any element.
SEARCHED = (*ORDERS, *(f"independent:{seed}" for seed in range(2, 7)))
LARGE = 1 + ORDERS.index("waves:1")  # the trial in which numbers are large
# The trials in which the largest or the smallest number is the last one, or the last one decides.
ENDS = (len(SEARCHED) + 1, len(SEARCHED) + 2)
TIES = 4  # the trial in which few numbers differ, and those by little
FOR_MINIMA = (5, 6)  # the trials in which all numbers but one are the largest of their type
_EXACT = 2.0**53  # up to which a double has all whole numbers
_ENDS_OF_TYPE = 19  # every so many numbers of the whole range are the smallest and the largest one


def halved_numbers(numbers: Array, times: int) -> Array:
    """Return the numbers, divided by 2 so many times."""
    made: Array = numbers / 2**times if numbers.dtype.kind == "f" else numbers >> times
    return made.astype(numbers.dtype)


def beside(numbers: Array, added: float) -> Array:
    """Return numbers whose squares are about as large as what a line adds, if that is small: it shows only there."""
    size = float(np.abs(numbers).max())
    made: Array = numbers * numbers.dtype.type(min(1.0, 2.0 ** np.rint(np.log2(np.sqrt(added) / size))))
    return made if size else numbers


def with_powers(numbers: Array, trial: int, shift: float) -> Array:
    """Return numbers of which exp() is 0, or infinite for one in each row, unless the largest is subtracted."""
    made, count = numbers.astype(np.float64), numbers.shape[-1]
    if trial == LARGE:
        made += shift
    else:
        made[..., count - 1 if trial in ENDS else turned_place(count, trial)] -= shift
    return made.astype(numbers.dtype)


def with_bounds(numbers: Array, bounds: Sequence[float], beside: Sequence[float], own: int) -> Array:
    """Return numbers of which some are equal to these bounds, one more and one less, and the next ones of their type to
    those of `beside`, as far as their type has them."""
    made = numbers.copy()
    values = np.array([bound + more for bound in bounds for more in (0, 1, -1)], np.float64)
    fit = [value for value in values if abs(value) < _EXACT and (value >= 0 or made.dtype.kind != "u")]
    with np.errstate(invalid="ignore", over="ignore"):
        fit = [value for value in fit if value.astype(made.dtype) == value]
    if made.dtype.kind == "f":
        kind, least = made.dtype.type, np.finfo(made.dtype).tiny  # instructions may flush smaller numbers
        near = np.array(beside).astype(kind)
        following = (np.nextafter(near, kind(np.inf)), np.nextafter(near, kind(-np.inf)))
        fit += [np.copysign(max(abs(value), least), value) for value in np.concatenate(following)]
    for place, value in enumerate(fit, 1):
        made.flat[place :: 2 + len(fit) + own] = value
    last = made.flat[-(made.size // 4) :] if fit else made[:0]
    if last.size:  # there they are neighbours, each of each other
        made.flat[-last.size :] = np.random.default_rng([last.size, own]).permutation(last)
    return made


def for_moves(numbers: Array, trial: int, place: int) -> Array:
    """Return numbers for a line that only moves and compares them. `place`: of the array among several."""
    if numbers.dtype.kind not in "iuf":
        return numbers
    make = np.random.default_rng([place, trial])
    if trial == LARGE:
        return of_whole_range(numbers, make)
    if trial == TIES:
        few = make.integers(0, 4, numbers.shape)
        return (few / 4 if numbers.dtype.kind == "f" else few).astype(numbers.dtype)
    return extremes_like(numbers, trial, -1 if trial in FOR_MINIMA else 1)


def with_second(numbers: Array, least: bool) -> Array:
    """Return numbers of which the second one is the least or the largest: a search that begins one too far misses
    it."""
    made, at = numbers.copy(), int(numbers.argmin() if least else numbers.argmax())
    made.flat[[1, at]] = made.flat[[at, 1]]
    return made


def with_extreme(numbers: Array, trial: int, odd: int | None) -> Array:
    """Return numbers of which the largest, in even trials the smallest, is at an end or at a border; if it is at an
    end, the smallest or the largest is at the other one."""
    made, place = numbers.copy(), place_of(numbers.size, trial) if odd is None else min(odd, numbers.size - 1)
    other = {0: numbers.size - 1, numbers.size - 1: 0}.get(place)
    for to, largest in ((other, not trial % 2), (place, bool(trial % 2))):
        at = int(made.argmax() if largest else made.argmin())
        if to is not None:
            made.flat[[to, at]] = made.flat[[at, to]]
    return made


def with_middle(numbers: Array, trial: int, odd: int | None) -> Array:
    """Return numbers of which the median is at an end or at a border."""
    made, place = numbers.copy(), place_of(numbers.size, trial) if odd is None else min(odd, numbers.size - 1)
    at = int(np.argsort(made, axis=None)[made.size // 2])
    made.flat[[place, at]] = made.flat[[at, place]]
    return made


def falling(numbers: Array) -> Array:
    """Return the numbers in falling order: a sort needs all of its steps for them."""
    made: Array = np.sort(numbers, axis=None)[::-1].reshape(numbers.shape)
    return made


def of_whole_range(numbers: Array, make: np.random.Generator) -> Array:
    """Return random numbers, with all bits of their type in use: integers from its whole range, floats of very
    different sizes."""
    if numbers.dtype.kind == "f":
        most = 6 if numbers.dtype.itemsize == 2 else 60
        sizes = np.ldexp(make.uniform(-1, 1, numbers.shape), make.integers(-most, most, numbers.shape))
        return sizes.astype(numbers.dtype)
    info = np.iinfo(str(numbers.dtype))
    return make.integers(info.min, info.max, numbers.shape, numbers.dtype, endpoint=True)


def with_ends_of_type(numbers: Array) -> Array:
    """Return numbers of which some are the smallest and the largest ones of their type."""
    made, info = numbers.copy(), np.iinfo(str(numbers.dtype))
    made.flat[_ENDS_OF_TYPE::_ENDS_OF_TYPE] = info.max
    made.flat[_ENDS_OF_TYPE + 1 :: _ENDS_OF_TYPE] = info.min
    return made


def extremes_like(numbers: Array, trial: int, sign: int) -> Array:
    """Return `extremes` in the shape of `numbers`: the other number stands elsewhere in each trial, in the last two
    nowhere."""
    place = turned_place(numbers.size, trial) if trial < len(SEARCHED) - (sign < 0) else None
    return extremes(numbers.size, numbers.dtype, place, sign).reshape(numbers.shape)


def large(numbers: Array) -> Array:
    """Return integers of 32 or 64 bits as many times as large as their sum allows in as many bits: sums in a narrower
    type, or in floats, are wrong answers."""
    if numbers.dtype.kind not in "iu" or numbers.itemsize < 4:
        return numbers
    return _times(numbers, int(np.abs(numbers.astype(np.int64)).sum()), 8 * numbers.itemsize)


def largest(numbers: Array) -> Array:
    """Return integers as many times as large as 32 bits allow, at least half of them positive, so that they do not
    cancel: a product or a sum in a type as narrow is a wrong answer."""
    if numbers.itemsize != 4:
        return numbers
    made = _times(numbers, int(np.abs(numbers.astype(np.int64)).max()))
    made.flat[::2] = np.abs(made.flat[::2])
    return made


def _times(numbers: Array, most: int, bits: int = 32) -> Array:
    """Return integers as many times as large as leaves `most` in so many bits."""
    made: Array = numbers * numbers.dtype.type(max(1, (2 ** (bits - 1) - 1) // max(1, most)))
    return made


def is_wider(out: Array, read: Array) -> bool:
    """Return whether the answer is made of wider integers than those that are read."""
    return out.dtype.kind in "iu" and read.dtype.kind in "iu" and out.itemsize > read.itemsize


def keep_bits(out: Array, read: Array) -> bool:
    """Return whether the answer has the low bits of what a kernel computes in the 32 or 64 bits of what it reads, or
    fractions of it."""
    return (
        out.dtype.kind == "f"
        or are_ints(out, read)
        or (read.itemsize == 8 and all(each.dtype.kind in "iu" for each in (out, read)))
    )


def is_narrow(out: Array, read: Array) -> bool:
    """Return whether fractions or longs are made of whole numbers that are narrower than an int: it holds all."""
    wide = out.itemsize > (2 if out.dtype.kind == "f" else 4)
    return wide and read.dtype.kind in "iu" and read.itemsize < 4


def are_ints(out: Array, read: Array) -> bool:
    """Return whether a kernel computes the answer, and what it reads, as integers of 32 bits."""
    return all(each.dtype.kind in "iu" and each.itemsize in (2, 4) for each in (out, read))


def are_words(out: Array, read: Array) -> bool:
    """Return whether the answer and what is read are integers of 32 bits."""
    return all(each.dtype.kind in "iu" and each.itemsize == 4 for each in (out, read))
