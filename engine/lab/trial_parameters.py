"""The parameters of a launch's trials: other factors, thresholds and places, with which a kernel that ignores one gives
a wrong answer.

vary_parameters(setup, made, own, trial, places_of) -> {"x": x, "a": 2.3125, ...}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from engine.lab.arguments import array_names, arrays_and_numbers, as_held, is_number
from engine.lab.formula import value_of
from engine.lab.formula_traits import (
    choices_by_sign_in,
    choices_in,
    divisors_in,
    every_name_in,
    factors_in,
    indices_in,
    names_in,
    places_in,
)
from engine.lab.kernels import OwnKernel
from engine.lab.references import reference_named
from engine.lab.setups import Formula, Launching, Right, Setup
from engine.records import Array, NotRunnable

_OF_WINDOW = 4  # times less than its weights, a place is no radius
_LESS = 8  # times less than a factor is larger, it is smaller
_OTHER_SIGNS = (-1, -8, -64, 8, 64, 512, 4096)  # times a factor
_FRACTION = 0.3125  # is added to a factor: 1 - p stays far from 0 for a usual p


def vary_parameters(setup: Setup, made: Launching, own: OwnKernel, trial: int, places_of: int) -> dict[str, Any]:
    """Return the arguments of a launch by name, of which the single numbers have other values in further trials.
    `places_of`: the trial of the places."""
    names = array_names(own.parameters, None)
    passed: dict[str, Any] = dict(zip(names, made.arguments, strict=True))
    floats = [name for name, parameter in zip(names, own.parameters, strict=True) if parameter.kind == "f"]
    match setup.right:
        case Right() as right:
            return passed | _of_reference(setup, right, passed, floats, trial)
        case Formula() as right:
            passed |= _finite(right, passed, _factors(setup, right, passed, floats, trial))
            passed = dict(zip(names, map(as_held, own.parameters, passed.values()), strict=True))
            indices = _typed(setup, passed) & indices_in(right.line)
            places = indices | (_parts_of_sides(setup, passed) & places_in(right.line))
            places -= {*floats}
            return passed | _other_places(right, passed, places, places_of, prod(made.grid) * prod(made.block))
    return passed


def other_numbers(setup: Setup, made: Launching, own: OwnKernel) -> dict[str, int]:
    """Return another number for each whole number that is written in the launch and named in the line, if the line has
    another value with it: a smaller one, as it may be the size of an array."""
    right, found = setup.right, dict[str, int]()
    if not isinstance(right, Formula):
        return found
    passed = vary_parameters(setup, made, own, 0, 0)
    arrays, numbers = arrays_and_numbers(passed)
    named = _typed(setup, passed) & every_name_in(right.line)
    whole = (name for name in named if isinstance(passed[name], int) and passed[name])
    for name in sorted(whole):
        other = _smaller_or_larger(passed[name], 1)[0] if abs(passed[name]) > 1 else 0
        try:
            before, after = (value_of(right.line, arrays, {**numbers, **each}).of for each in ({}, {name: other}))
        except NotRunnable:
            continue
        if not np.array_equal(before, after):
            found[name] = other
    return found


def numbers_of_other_signs(setup: Setup, made: Launching, own: OwnKernel) -> list[dict[str, float]]:
    """Return other factors of a line, each of which makes it choose what it never chooses with those of the launch, as
    the 0 of clip(a * x + b, 0, 255) with b = 10."""
    right, found = setup.right, list[dict[str, float]]()
    if not isinstance(right, Formula):
        return found
    names = array_names(own.parameters, None)
    passed = dict(
        zip(names, map(as_held, own.parameters, vary_parameters(setup, made, own, 0, 0).values()), strict=True)
    )
    arrays, numbers = arrays_and_numbers(passed)
    floats = {name for name, parameter in zip(names, own.parameters, strict=True) if parameter.kind == "f"}
    for difference in choices_by_sign_in(right.line):
        factors = (floats | _small(setup, passed)) & factors_in(right.line) & factors_in(difference)
        factors -= divisors_in(right.line) | choices_in(right.line)
        others = [{name: numbers[name] * times} for name in sorted(factors & {*numbers}) for times in _OTHER_SIGNS]
        try:
            usual = value_of(difference, arrays, numbers).of > 0
            shares = [_turned(right.line, difference, usual, arrays, {**numbers, **other}) for other in others]
        except NotRunnable:
            continue
        most = max(shares, default=0.0)
        if most and np.all(usual == usual.flat[0]):
            found.append(others[shares.index(most)])
    return found


def _turned(
    line: str, difference: str, usual: Array, arrays: Mapping[str, Array], numbers: Mapping[str, float]
) -> float:
    """Return how many of a difference's signs are not the `usual` ones; with several, the share of the rarer sign, and
    0 if the line has an infinite value."""
    turned = float(np.mean((value_of(difference, arrays, numbers).of > 0) != usual))
    finite = np.isfinite(value_of(line, arrays, numbers).of).all()
    return 0.0 if not finite else turned if usual.size == 1 else min(turned, 1 - turned)


def _of_reference(
    setup: Setup, right: Right, passed: Mapping[str, Any], floats: list[str], trial: int
) -> dict[str, float]:
    """Return other numbers for a reference's own ones."""
    reference = reference_named(right.reference)
    whole = _small(setup, passed) if reference.wraps else set()  # others are sizes
    # A factor that is cut to a whole number gives a wrong answer.
    more = dict.fromkeys(whole, trial) | dict.fromkeys(floats, trial / 2)
    if reference.narrows:
        more |= {name: -1 for name in _typed(setup, passed) if trial and passed[name] > 1}
    given = right.given[len(reference.reads) :]
    return {name: passed[name] + amount for name, amount in more.items() if name in given and is_number(passed[name])}


def _factors(
    setup: Setup, right: Formula, passed: Mapping[str, Any], floats: list[str], trial: int
) -> dict[str, float]:
    """Return other numbers for the factors and thresholds of a line."""
    small, divisors = _small(setup, passed), divisors_in(right.line)
    factors = {*floats, *((small | _larger(setup, passed)) & factors_in(right.line))} & names_in(right.line)
    bounds = (_typed(setup, passed) - small) & choices_in(right.line)
    smaller = {name: passed[name] - trial for name in bounds if passed[name] > trial}  # a size may be smaller
    now = {**passed, **smaller}
    return smaller | {
        name: _another(now[name], _FRACTION * trial if name in floats else trial, name in divisors)
        for name in factors
        if is_number(now[name])
    }


def _finite(right: Formula, passed: Mapping[str, Any], other: Mapping[str, float]) -> dict[str, float]:
    """Return other factors, which are smaller in place of larger if the line has no finite value else, as sqrt(1 - g)
    has none for g = 1.2."""
    arrays, numbers = arrays_and_numbers(passed)
    found = dict[str, float]()
    for name, value in other.items():
        less = passed[name] - (value - passed[name]) / _LESS
        tried = [value, less] if isinstance(value, float) and value > passed[name] > 0 else [value]
        finite = (each for each in tried if _is_finite(right.line, arrays, {**numbers, **found, name: each}))
        found[name] = next(finite, value)
    return found


def _is_finite(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float]) -> bool:
    try:
        return bool(np.isfinite(value_of(line, arrays, numbers).of).all())
    except NotRunnable:
        return True  # its sentence is that of the check


def _another(number: float, more: float, divides: bool) -> float:
    """Return another number of the same sign; not the negative of one that was the negative of `number`.

    `divides`: a divisor that is a power of two stays one, as a kernel may shift in place of dividing.
    """
    if divides and isinstance(number, int) and isinstance(more, int) and number > 1 and number & (number - 1) == 0:
        return number << more
    return number - 2 * more if number < 0 else number + more


def _other_places(
    right: Formula, passed: Mapping[str, Any], places: set[str], trial: int, threads: int
) -> dict[str, int]:
    """Return other numbers for `places`, where the line has a value that fits the answer. They are smaller if they can
    be, as an array may end behind them, and a power of two stays one."""
    changed = dict[str, int]()
    for name in sorted(places) if trial else ():
        for other in _smaller_or_larger(passed[name], trial):
            if _fits_with(right, {**passed, **changed}, {name: other}, threads):
                changed[name] = other
                break
    return changed


def _smaller_or_larger(place: int, trial: int) -> tuple[int, ...]:
    """Return other places on the same side of 0, and 0 beside 1."""
    size, sign = abs(place), -1 if place < 0 else 1
    power = size & (size - 1) == 0
    smaller = max(1, size >> trial if power else size - trial)
    return sign * smaller, sign * (max(1, size) << trial if power else size + trial), *[0] * (size == 1)


def _fits_with(right: Formula, passed: Mapping[str, Any], other: Mapping[str, int], threads: int) -> bool:
    """Return whether a line's value with another place fits its array and its threads; a larger place leaves its size
    as it was, and so does a smaller one if the launch passes that size as well."""
    arrays, numbers = arrays_and_numbers(passed)
    out = arrays.get(right.out)
    ((name, place),) = other.items()
    if out is None or place == numbers[name]:
        return False
    try:
        before, after = (value_of(right.line, arrays, {**numbers, **each}).of.size for each in ({}, other))
    except NotRunnable:
        return False
    if after == before:
        return True
    passes = before in (one for other_name, one in numbers.items() if other_name != name)
    return abs(place) < abs(numbers[name]) and not passes and 0 < after <= min(out.size, max(before, threads))


def _small(setup: Setup, passed: Mapping[str, Any], times: int = 2) -> set[str]:
    """Return the whole numbers that are written in the launch, and are too small to be a size of its arrays. `times`:
    how often they are less than any."""
    least = min(_sides(passed), default=0)
    return {name for name in _typed(setup, passed) if times * abs(passed[name]) < least}


def _larger(setup: Setup, passed: Mapping[str, Any]) -> set[str]:
    """Return the whole numbers that are written in the launch, and are larger than all of its arrays."""
    most = max((one.size for one in passed.values() if isinstance(one, np.ndarray)), default=0)
    return {name for name in _typed(setup, passed) if passed[name] > most}


def _parts_of_sides(setup: Setup, passed: Mapping[str, Any]) -> set[str]:
    """Return the whole numbers that are written in the launch, and are no size of its arrays, no part of one and no
    radius of weights."""
    sides = _sides(passed)
    few = _small(setup, passed, _OF_WINDOW)
    if len(sides) != 1:
        return few
    return few | {name for name in _small(setup, passed, 1) if passed[name] and next(iter(sides)) % passed[name]}


def _sides(passed: Mapping[str, Any]) -> set[int]:
    """Return the sizes of the arrays that are more than 1."""
    return {side for one in passed.values() if isinstance(one, np.ndarray) for side in one.shape if side > 1}


def _typed(setup: Setup, passed: Mapping[str, Any]) -> set[str]:
    """Return the whole numbers that are written in the launch."""
    return {name for name, words in zip(passed, setup.arguments, strict=True) if re.fullmatch(r"-?\d+", words)}
