"""Small numbers with which both sides of a line's comparisons are often equal: only there `<` and `<=` of computed
values differ.

tied_arguments(setup, made, own) -> {"x": x, "r": 1.25}
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.lab.arguments import array_names, arrays_and_numbers
from engine.lab.formula import function_of, name_of, parse, value_of
from engine.lab.formula_traits import array_divisors_in, factors_in, moved_in, names_in
from engine.lab.kernels import OwnKernel
from engine.lab.numpy_functions import COMPARING, MOVING, OF_PARTS
from engine.lab.setups import Formula, Launching, Setup
from engine.records import Array, NotRunnable

# The numbers are whole multiples of a step up to these.
_RANGES = ((2, 1.0), (1, 1.0), (4, 0.5), (8, 0.25), (4, 1.0), (16, 1.0), (64, 1.0), (512, 1.0))
_STEP, _MOST = 2.0**-6, 2.0**18  # floats hold all sums and products of such numbers, in any order
_FACTOR = 0.25  # of which a factor of the launch is a whole multiple
_SEARCHES = ("argmax", "argmin")
_EXACT = frozenset((
    "abs", "absolute", "fabs", "square", "sum", "cumsum", "max", "min", "diff", "maximum.reduce",
    "minimum.reduce", "maximum.accumulate", "minimum.accumulate", "where", "clip", "astype", *COMPARING, *MOVING,
    *OF_PARTS,
))  # fmt: skip
_SUMS = ("sum", "cumsum")
_ROOTS = ("sqrt", "hypot")  # equal to a number only where that is exact


def tied_arguments(setup: Setup, made: Launching, own: OwnKernel) -> dict[str, Any]:
    """Return random arrays and factors of the launch with other numbers, so that what a line compares is often equal;
    none if it compares nothing, or only what a kernel may round otherwise."""
    right = setup.right
    if not isinstance(right, Formula):
        return {}
    names = array_names(own.parameters, None)
    passed = dict(zip(names, made.arguments, strict=True))
    arrays, numbers = arrays_and_numbers(passed)
    filled = {name for name, words in zip(names, setup.arguments, strict=True) if words.endswith("=random")}
    filled &= names_in(right.line) - array_divisors_in(right.line, numbers)
    floats = {name for name, one in zip(names, own.parameters, strict=True) if one.kind == "f"}
    others = {name: _whole_factor(numbers[name]) for name in floats & factors_in(right.line) & {*numbers}}
    parts = _compared(right.line)
    chosen = sorted(name for name in filled & {*arrays} if arrays[name].dtype.kind in "iuf")
    best, most = dict[str, Any](), 0.0
    for size, step in _RANGES if parts and chosen else ():
        tried = {name: _small(arrays[name], size, step, place) for place, name in enumerate(chosen)} | others
        try:
            share = _share_of_ties(right.line, parts, {**arrays, **numbers, **tried})
        except NotRunnable:
            return {}
        if share > most:
            best, most = tried, share
    return best


def _compared(line: str) -> list[tuple[str, str | None]]:
    """Return what a line compares: two sides, or the numbers among which it looks for a place."""
    found = list[tuple[str, str | None]]()
    for node in ast.walk(parse(line)):
        match node:
            case ast.Compare(left=left, comparators=[right]):
                found.append((ast.unparse(left), ast.unparse(right)))
            case ast.Call(func=function, args=given):
                name, given = function_of(function, given)
                found += [(ast.unparse(given[0]), None)] if name in _SEARCHES and given and not moved_in(line) else []
    return found


def _share_of_ties(line: str, parts: list[tuple[str, str | None]], known: Mapping[str, Any]) -> float:
    """Return the sum of the shares of a line's comparisons: how many sides are equal, or are not if those are fewer; 0
    if a float may be rounded, or the line has no finite value."""
    arrays = {name: one for name, one in known.items() if isinstance(one, np.ndarray)}
    numbers = {name: one for name, one in known.items() if name not in arrays}
    if not np.isfinite(value_of(line, arrays, numbers).of).all():
        return 0.0
    total = 0.0
    for left, right in parts:
        if not all(_is_exact(part, arrays, numbers) for part in (left, right) if part):
            return 0.0
        one = value_of(left, arrays, numbers).of
        if right is None:
            total += 1 - np.unique(one).size / one.size
        else:
            share = float(np.mean(one == value_of(right, arrays, numbers).of))
            total += min(share, 1 - share)
    return total


def _is_exact(part: str, arrays: Mapping[str, Array], numbers: Mapping[str, float]) -> bool:
    """Return whether a kernel computes a part of a line without a rounding: of whole numbers, or of small multiples of
    a step, of which floats hold all sums and products."""
    for node in ast.walk(parse(part)):
        name, given = function_of(node.func, node.args) if isinstance(node, ast.Call) else ("", [])
        is_number = isinstance(node, ast.Name) and name_of(node) in {*arrays, *numbers}
        if not (name or is_number or isinstance(node, ast.BinOp)):
            continue
        made = value_of(ast.unparse(node), arrays, numbers).of
        if made.dtype.kind != "f" or name in _ROOTS:
            continue
        divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        if divides or (name and name not in _EXACT):
            return False
        largest = float(np.abs(made).max(initial=0))
        if name in _SUMS:
            terms = value_of(ast.unparse(given[0]), arrays, numbers).of
            largest = float(np.abs(terms).max(initial=0)) * terms.size / (made.size if name == "sum" else 1)
        if largest >= _MOST or np.any(made % _STEP):
            return False
    return True


def _whole_factor(number: float) -> float:
    """Return the nearest multiple of _FACTOR, but not 0, 1 and -1, which may hide a factor."""
    made = round(number / _FACTOR) * _FACTOR
    return made if made not in (0, 1, -1) else made + (_FACTOR if number >= 0 else -_FACTOR)


def _small(numbers: Array, size: int, step: float, place: int) -> Array:
    """Return random multiples of a step up to `size` of them, of both signs. `place`: of the array among several."""
    least = 0 if numbers.dtype.kind == "u" else -size
    made = np.random.default_rng([place, size]).integers(least, size, numbers.shape, endpoint=True)
    if numbers.size > 1 and made.flat[0] == made.flat[-1]:  # no pattern reads the same from both ends
        made.flat[-1] += 1 if made.flat[0] < size else -1
    return (made * step if numbers.dtype.kind == "f" else made).astype(numbers.dtype)
