"""How many elements of an array a kernel uses, if its text says so: 25 of a mask that two loops of 5 steps read as
mask[5 * i + j]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import isqrt, prod

from engine.lab.expressions import evaluate
from engine.lab.signatures import body_of, indices_of, numbers_in
from engine.records import NotRunnable

_MOST = 4096  # elements
_LOOP = re.compile(r"\bfor\s*\(\s*(?:[\w ]+\s)?(\w+)\s*=\s*([^;,]{1,40});\s*\1\s*(<=?)\s*([^;]{1,40});")
_DEFINED = re.compile(
    r"^[ \t]*#define[ \t]+(\w+)[ \t]+(.{1,60})$|\bconst(?:expr)?\s+\w+\s+(\w+)\s*=\s*([^;]{1,60});", re.MULTILINE
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def few_elements(text: str, kernel: str, array: str, known: Mapping[str, int]) -> tuple[int, ...]:
    """Return the sizes of an array whose elements a kernel names only by constants and the variables of loops with
    constant ends: two if it is a square of two loops; () if nothing says them. `known`: parameters that are
    constant."""
    body, numbers = body_of(text, kernel), _constants(text, known)
    indices = indices_of(body, array)
    if not indices or len(indices) != len(re.findall(rf"(?<![\w.]){array}\b", body)):
        return ()  # the kernel hands the array on
    ranges = _loops(body, numbers)
    used = {name for one in indices for name in _NAME.findall(one)} - {*numbers}
    if not used or not used <= {*ranges} or prod(len(ranges[name]) for name in used) > _MOST:
        return ()
    names = sorted(used)
    try:
        places = [
            evaluate(one, {**numbers, **dict(zip(names, each, strict=True))})
            for one in indices
            for each in product(*(ranges[name] for name in names))
        ]
    except NotRunnable:
        return ()
    count = max(places, default=0) + 1
    side = isqrt(count)
    return (side, side) if len(names) > 1 and side > 1 and side * side == count else (count,)


def _loops(body: str, numbers: Mapping[str, int]) -> dict[str, range]:
    """Return the variables of the loops with constant ends, each with all its numbers."""
    found, others = dict[str, range](), set[str]()
    for name, start, compare, end in _LOOP.findall(body):
        try:
            one = range(evaluate(start, numbers), evaluate(end, numbers) + (compare == "<="))
        except NotRunnable:
            others.add(name)
            continue
        before = found.get(name, one)
        found[name] = range(min(one.start, before.start), max(one.stop, before.stop))
    return {name: one for name, one in found.items() if name not in others}


def _constants(text: str, known: Mapping[str, int]) -> dict[str, int]:
    """Return the whole numbers that macros and constants of a text stand for."""
    found = {name: int(digits) for name, digits in numbers_in(text).items() if digits.isdecimal()} | {**known}
    for macro, words, constant, value in _DEFINED.findall(text):
        try:
            found[macro or constant] = evaluate(words or value, found)
        except NotRunnable:
            continue
    return found
