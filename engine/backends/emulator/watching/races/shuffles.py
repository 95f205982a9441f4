"""What a shuffle reads from lanes that do not take part."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask
from engine.records import Array


def undefined(mask: Mask, source: Array) -> tuple[int, int, int] | None:
    """(row, column of the mask, lane that it reads) of the first lane of a warp that reads only undefined values.

    `source`: the row that each row reads, (T, 1) or (T, columns of the mask). None where there is no such warp. The
    register of a lane that is not there is undefined; but trees read beyond the lanes that they need and never use what
    comes of it, so that a warp counts only if none of its lanes reads from one that takes part.
    """
    active = mask.row_lanes()
    if active.all():
        return None
    shape = (active.shape[0], max(active.shape[1], source.shape[1]))
    active, source = np.broadcast_to(active, shape), np.broadcast_to(source, shape)
    defined = active & np.take_along_axis(active, source, axis=0)
    by_warp = (-1, WARP, shape[1])
    accused = active.reshape(by_warp).any(axis=1) & ~defined.reshape(by_warp).any(axis=1)
    if not accused.any():
        return None
    warp, column = (int(index[0]) for index in np.nonzero(accused))
    row = warp * WARP + int(active[warp * WARP : (warp + 1) * WARP, column].argmax())
    return row, column, int(source[row, column]) % WARP
