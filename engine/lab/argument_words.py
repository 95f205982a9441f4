"""An argument of a launch as words of a command line: "2.5", "2^20", "float32[4096]=range", "weights.npy"."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np

from engine.lab.arguments import Argument
from engine.records import Array, NotRunnable
from engine.words import whole_number

FORMS = "a number, TYPE[SIZES] or TYPE[SIZES]=FILL (zeros, ones, range, random or a number), or a file NAME.npy"
ARRAY = re.compile(r"(\w+)\[([^\]]+)\](?:=(.+))?")
_MOST_BYTES = 1 << 30


def argument_of(words: str) -> Argument:
    """The number or array that is meant. NotRunnable where none is."""
    found = ARRAY.fullmatch(words)
    if found:
        return _array(words, found[1], found[2], found[3] or "zeros")
    if words.endswith(".npy"):
        return _saved(Path(words))
    try:
        return _number(words)
    except ValueError:
        raise NotRunnable(f"{words!r} is no argument: {FORMS}.") from None


def _number(words: str) -> int | float:
    try:
        return whole_number(words)
    except ValueError:
        return int(words) if re.fullmatch(r"-?\d+", words) else float(words)


def _array(words: str, kind: str, sizes: str, fill: str) -> Array:
    try:
        dtype = np.dtype(kind)
        shape = tuple(whole_number(size) for size in sizes.split(","))
    except (TypeError, ValueError):
        raise NotRunnable(f"{words!r} is no array: {FORMS}.") from None
    if dtype.hasobject or min(shape) < 0 or prod(shape) * dtype.itemsize > _MOST_BYTES:
        raise NotRunnable(f"{words!r} is no array of at most {_MOST_BYTES >> 30} GB of numbers.")
    return _filled(words, shape, dtype, fill)


def _filled(words: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], fill: str) -> Array:
    count = prod(shape)
    if fill == "range":
        return np.arange(count).astype(dtype).reshape(shape)
    if fill == "random":  # the same ones every time
        make = np.random.default_rng(0)
        numbers = make.random(count) if dtype.kind in "fc" else make.integers(0, 2 if dtype.kind == "b" else 100, count)
        return numbers.astype(dtype).reshape(shape)
    try:
        value = {"zeros": 0, "ones": 1}.get(fill)
        return np.full(shape, _number(fill) if value is None else value, dtype)
    except (ValueError, OverflowError):
        raise NotRunnable(f"{words!r} cannot be filled with {fill}: {FORMS}.") from None


def _saved(path: Path) -> Array:
    try:
        loaded: Array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise NotRunnable(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise NotRunnable(f"{path} is no array that NumPy can read: {error}.") from None
    return loaded
