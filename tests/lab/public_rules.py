"""What a kernel that somebody else wrote may have computed: rules of NumPy's, tried one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CLOSE = 2e-4  # of a floating-point number's value
LEAST = 16  # elements that a rule is of: fewer fit by chance

_OF_ONE: dict[str, Callable[[Array], Array]] = {
    "{}": lambda a: a,
    "double({})": lambda a: 2 * a,
    "plus1({})": lambda a: a + 1,
    "square({})": lambda a: a * a,
    "sqrt({})": lambda a: np.sqrt(np.abs(a)),
    "reverse({})": lambda a: a[::-1],
    "1.5*{}": lambda a: 1.5 * a,
    "prefix sum({})": np.cumsum,
    "exclusive prefix sum({})": lambda a: np.cumsum(a) - a,
    "sum({})": lambda a: a.sum()[None],
    "min({})": lambda a: a.min()[None],
    "max({})": lambda a: a.max()[None],
}
_OF_TWO: dict[str, Callable[[Array, Array], Array]] = {
    "{}+{}": lambda a, b: a + b,
    "{}-{}": lambda a, b: a - b,
    "{}*{}": lambda a, b: a * b,
    "1.5*{}+{}": lambda a, b: 1.5 * a + b,
    "dot({},{})": lambda a, b: (a * b).sum()[None],
}
_BY_BLOCK: dict[str, Callable[[Array], Array]] = {
    "sums of blocks({})": lambda a: a.sum(1),
    "block max({})": lambda a: a.max(1),
    "block min({})": lambda a: a.min(1),
}
_OF_MATRIX: dict[str, Callable[[Array], Array]] = {
    "transpose({})": lambda a: a.T,
    "row sums({})": lambda a: a.sum(1),
    "column sums({})": lambda a: a.sum(0),
}


def fitting(before: Mapping[str, Array], after: Mapping[str, Array], sizes: Sequence[int], block: int) -> str | None:
    """The first rule whose every element agrees, "y = double(x)". The array held something else before.

    `sizes`: the whole numbers that may be a length or a width; `block`: the threads of one."""
    for out, found in after.items():
        changed = np.flatnonzero(before[out] != found)
        if not changed.size or found.dtype.kind not in "biuf":
            continue
        for words, values in _rules(before, sizes, block):
            values = values.ravel()
            if changed[-1] < values.size <= found.size and values.any():
                was = before[out][: values.size]
                if _same(found[: values.size], values, was):
                    return f"{out} = {words}"
                if _same(found[: values.size], was + values, was):
                    return f"{out} += {words}"
    return None


def _same(found: Array, values: Array, before: Array) -> bool:
    if found.dtype.kind != "f":
        return bool((found == values.astype(found.dtype)).all()) and bool((before != found).any())
    close = np.abs(found - values) <= CLOSE * np.maximum(np.abs(values), 1e-6)
    return bool(close.all()) and bool((np.abs(before - values) > CLOSE * np.abs(values)).any())


def _rules(before: Mapping[str, Array], sizes: Sequence[int], block: int) -> Iterator[tuple[str, Array]]:
    plain = {name: array for name, array in before.items() if array.dtype.kind in "biuf"}
    exact = {name: a.astype(np.float64 if a.dtype.kind == "f" else np.int64) for name, a in plain.items()}
    for n in (size for size in dict.fromkeys(sizes) if size >= LEAST):
        for name, array in exact.items():
            for words, rule in _OF_ONE.items():
                yield words.format(name), rule(array[:n])
            for size in (block, 2 * block):
                if n % size == 0 and n >= size:
                    for words, rule in _BY_BLOCK.items():
                        yield words.format(name), rule(array[:n].reshape(-1, size))
            if plain[name].dtype.kind != "f":
                yield f"histogram 256({name})", np.bincount(array[:n] & 255, minlength=256)
        for one, other in permutations(exact, 2):
            for words, rule_of_two in _OF_TWO.items():
                yield words.format(one, other), rule_of_two(exact[one][:n], exact[other][:n])
    for rows, columns in product(dict.fromkeys(sizes), repeat=2):
        for name, array in exact.items():
            if min(rows, columns) >= 4 and rows * columns <= array.size:
                for words, rule in _OF_MATRIX.items():
                    yield words.format(name), rule(array[: rows * columns].reshape(rows, columns))
        if rows == columns:
            for one, other in permutations(exact, 2):
                if rows >= 4 and rows * rows <= min(exact[one].size, exact[other].size):
                    a, b = (exact[name][: rows * rows].reshape(rows, rows) for name in (one, other))
                    yield f"{one}@{other}", a @ b
