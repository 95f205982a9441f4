"""Many fused multiply-adds of few lanes each, in few calls of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.meanings.rounding import buffers, fused, product_is_fused
from engine.records import Array

_AT_ONCE = 1 << 14  # elements: the temporaries stay in the second cache


def fused_each(a: Sequence[Array], b: Sequence[Array], c: Sequence[Array]) -> list[Array]:
    """`fused(a[k], b[k], c[k])` for every k: the same bits. Arrays of two axes."""
    shape = c[0].shape
    together = _AT_ONCE // max(c[0].size, 1)
    shapes = {each.shape for each in (*a, *b)}
    alike = all(each.shape == shape for each in c) and shapes <= {shape, (1, 1), (1, shape[1]), (shape[0], 1)}
    if together < 2 or not alike or not product_is_fused():
        return [fused(*each) for each in zip(a, b, c, strict=True)]
    made: list[Array] = []
    for start in range(0, len(c), together):
        here = slice(start, start + together)
        made += _fused_alike(a[here], b[here], c[here], shapes == {shape})
    return made


def _fused_alike(a: Sequence[Array], b: Sequence[Array], c: Sequence[Array], whole: bool) -> list[Array]:
    """All c have one shape; so have all a and b (`whole`), or they broadcast to it."""
    height, width = c[0].shape
    rows = [slice(start, start + height) for start in range(0, height * len(c), height)]
    x, y, product, x_real, x_imag, y_real, answer = buffers.of(c[0].dtype, (height * len(c), width))
    np.concatenate(c, out=x_imag)
    for into, parts in ((x_real, a), (y_real, b)):
        if whole:
            np.concatenate(parts, out=into)
        else:
            for place, part in zip(rows, parts, strict=True):
                into[place] = part
    np.multiply(x, y, out=product)
    made = answer.copy()
    return [made[place] for place in rows]
