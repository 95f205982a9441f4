"""The bits of integers: read as another type, taken apart, put together."""

from __future__ import annotations

import numpy as np

from engine.records import Array


def unsigned(a: Array) -> Array:
    """The same bits as unsigned integers."""
    return a.view(f"u{a.dtype.itemsize}")


def widened(a: Array) -> Array:
    """The same values in twice the bits."""
    return a.astype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")


def bit_mask(condition: Array, dtype: str | np.dtype[np.generic]) -> Array:
    """All ones where `condition` holds: the select mask. (Negating bytes first is one cheap pass; sign extends it.)"""
    dtype = np.dtype(dtype)
    return np.negative(condition.view(np.int8)).astype(f"i{dtype.itemsize}").view(f"u{dtype.itemsize}")


def halves(a: Array, signed: bool) -> tuple[Array, Array]:
    """The low and the high 16 bits of each word."""
    low, high = a.astype(np.uint16), (a >> np.uint32(16)).astype(np.uint16)
    return (low.view(np.int16), high.view(np.int16)) if signed else (low, high)


def packed(low: Array, high: Array) -> Array:
    """Two arrays of 16 bits each as one of words."""
    return unsigned(low).astype(np.uint32) | unsigned(high).astype(np.uint32) << np.uint32(16)
