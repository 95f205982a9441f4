"""The input numbers of kernels: random, never zero, the same on every machine, with an exact sum at any n.

The data are one period of 1,048,573 numbers (a prime, so no power-of-two stride meets the same number twice in a row)
repeated to n. A GPU thus gets its data without a copy of n numbers from the host, and the reference sum of 2^30 numbers
costs as much as that of one period. Every float is a whole multiple of 2^-31: its sum is exact in integers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.records import Array, Choice, dtype_of

PERIOD = 1_048_573
ULP_UNIT = 2.0**-31
MOST_TURNED = 2**17  # numbers
WIDENING = 20_000_003  # odd, so 32-bit sums stay different, and 99 times it is an int32
NOTE = "Random numbers, never zero: int32 from -99 to 99, floats between -1 and 1."  # what `period` gives
# What `for_sums` gives.
SUMS_NOTE = f"{NOTE} When a file is checked with blocks in waves, int32 are {WIDENING:,} times as large."


@lru_cache(maxsize=16)
def period(dtype: str, seed: int, wide: bool = False) -> Array:
    """Return one period, shape (PERIOD,): int32 in -99..99 without 0; floats in -1..1 without 0, multiples of 2^-31.

    `wide`: of int32, which then are WIDENING times as large.
    """
    bits = np.random.default_rng(seed).integers(1, 2**31, PERIOD)
    signs = np.random.default_rng(seed + 1).choice((-1, 1), PERIOD)
    if dtype == "int32":
        numbers = (signs * (1 + bits % 99) * (WIDENING if wide else 1)).astype(dtype_of(dtype))
    else:
        numbers = (signs * bits * ULP_UNIT).astype(dtype_of(dtype))
    numbers.flags.writeable = False
    return numbers


def for_sums(choice: Choice, seed: int) -> Array:
    """Return the period whose numbers are added up. A file of one's own gets ints from the whole range with blocks in
    waves: sums in a narrower type, or in floats, are wrong answers."""
    return period(choice.dtype, seed, wide=True) if is_wide(choice) else period(choice.dtype, seed)


def is_wide(choice: Choice) -> bool:
    """Return whether `for_sums` multiplies the numbers by WIDENING."""
    own = choice.source is not None  # the kernels of the catalogue show what an order changes, with the same numbers
    return own and choice.dtype == "int32" and str(choice.schedule).startswith("waves")


@lru_cache(maxsize=4)
def with_a_nan(dtype: str, seed: int, count: int) -> Array:
    """Return the first `count` floats of the period, with a NaN in their middle: it is not equal to itself, so a loop
    that repeats a swap until two numbers are equal never ends."""
    numbers = period(dtype, seed)[:count].copy()
    numbers[count // 2] = np.nan
    numbers.flags.writeable = False
    return numbers


@lru_cache(maxsize=4)
def negative(dtype: str, seed: int) -> Array:
    """Return the period with the sign of every number made negative."""
    numbers: Array = -np.abs(period(dtype, seed))
    numbers.flags.writeable = False
    return numbers


def for_search(numbers: Array, count: int, schedule: str | None, sign: int) -> Array:
    """Return a period for a search of the largest (`sign` 1) or the smallest (-1) of `count` numbers, which all have
    the other sign.

    If few numbers are searched in another order than lockstep, that number stands at a place of the seed
    ("independent") or last ("waves"): a kernel that leaves out its place gives a wrong answer. Under "independent" all
    numbers are large, and with an even seed `extremes`: a start from a guess gives a wrong answer. With the seeds 3, 9,
    ... it is zero: a kernel that takes zero for no number gives a wrong answer. In "waves" it alone
    has the other sign: a kernel that drops signs gives a wrong answer. Recordings have no schedule.
    """
    if count > MOST_TURNED or schedule in (None, "lockstep"):
        return numbers
    kind, _, seed = str(schedule).partition(":")
    early, drawn = kind == "independent", int(seed or 1)
    place = turned_place(count, drawn) if early else count - 1  # rarely the first: many begin with it
    if early and drawn % 2 == 0:
        return extremes(count, numbers.dtype, place if drawn % 6 else None, sign)
    start = int(np.argmax(sign * numbers[place : PERIOD - count + place]))
    found: Array = numbers[start : start + count]
    if early:
        found = found * numbers.dtype.type(_most_times(found))
        if drawn % 6 == 3:
            found[place] = 0
    else:
        found = found.copy()
        found[-1] *= -1
    return found


def turned_place(count: int, trial: int) -> int:
    """Return the place of `count` at which a number stands out in a trial: elsewhere in each of seven."""
    return count * trial // 7 % count


def extremes(count: int, dtype: np.dtype[np.generic], place: int | None, sign: int) -> Array:
    """Return the smallest number of the type (the largest if `sign` is -1) `count` times, but at `place` the next one.

    A search that starts from any other number gives a wrong answer, and so does one that leaves out the place.
    """
    if dtype.kind == "f":
        limit = -sign * float(np.finfo(str(dtype)).max)
        following = np.nextafter(np.full(1, limit, dtype), 0)[0]
    else:
        info = np.iinfo(str(dtype))
        limit = info.min if sign > 0 else info.max
        following = limit + sign
    made = np.full(count, limit, dtype)
    if place is not None:
        made[place] = following
    return made


def _most_times(numbers: Array) -> float:
    """Return by what the numbers can be multiplied exactly without overflow; floats between -1 and 1. Ints by an odd
    number: a search in floats then gives a wrong answer."""
    if numbers.dtype.kind == "f":
        return 2.0**100
    return (2**31 - 1) // int(np.abs(numbers.astype(np.int64)).max()) - 1 | 1


def repeated(numbers: Array, count: int) -> Array:
    """Return the period repeated to `count` elements, as a fresh array of shape (count,)."""
    return np.tile(numbers, -(-count // len(numbers)))[:count] if count > len(numbers) else numbers[:count].copy()


def exact_sum(dtype: str, seed: int, count: int, start: int = 0, wide: bool = False) -> int | float:
    """Return the sum of `count` numbers from `start` on: exact (float), or wrapped to 32 bits as on the hardware
    (int32). `wide`: of numbers that are WIDENING times as large."""
    units = _units(dtype, seed, start + count) - _units(dtype, seed, start)
    units *= WIDENING if wide else 1
    return (units + 2**31) % 2**32 - 2**31 if dtype == "int32" else units * ULP_UNIT


@lru_cache(maxsize=256)
def _units(dtype: str, seed: int, count: int) -> int:
    """Return the sum of the first `count` numbers; floats in units of 2^-31."""
    whole, rest = divmod(count, PERIOD)
    numbers = period(dtype, seed)
    units = (numbers if dtype == "int32" else np.rint(numbers.astype(np.float64) / ULP_UNIT)).astype(np.int64)
    return whole * int(units.sum()) + int(units[:rest].sum())


@lru_cache(maxsize=256)
def sum_of_squares(dtype: str, seed: int, count: int) -> float:
    """Return the sum of the squares of `count` numbers: the size of a random walk of roundings."""
    whole, rest = divmod(count, PERIOD)
    squares = np.square(period(dtype, seed).astype(np.float64))
    return float(whole * squares.sum() + squares[:rest].sum())


def unit_roundoff(dtype: str) -> float:
    """Return half the distance from 1 to the next number: 2^-24 in float32, 2^-53 in float64."""
    return float(np.finfo(dtype_of(dtype)).eps) / 2
