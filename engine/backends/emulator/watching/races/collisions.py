"""Lanes of one store that write different values to one place."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.records import Array


def collision(access: Access, columns: Array, info: ChunkInfo, shared: bool) -> tuple[int, int, int] | None:
    """(address, two lanes) where one of two values is lost; None where all lanes of a place write the same.

    `columns`: those of the mask that are looked at. Lanes count in the grid, in shared memory from the chunk's first
    block.
    """
    mask = access.mask
    shape = (mask.height, mask.width)
    first = 0 if shared else info.first
    places = np.broadcast_to(mask.rows_at()[:, None] + (mask.columns_at() + first) * info.rows, shape)[:, columns]
    address = np.broadcast_to(plain(access.address).astype(np.int64), shape)[:, columns]
    if shared:  # the same offset in another block is another place
        address = address + (np.arange(address.shape[1]) << 32)
    active = slice(None) if mask.dense is None else mask.dense[:, columns].ravel()
    address, place = address.ravel()[active], places.ravel()[active]
    order = np.argsort(address, kind="stable")
    same = np.flatnonzero(address[order[1:]] == address[order[:-1]])
    for value in access.values:
        values = np.broadcast_to(value, shape)[:, columns].ravel()[active][order]
        differ = same[values[same] != values[same + 1]]
        if differ.size:
            one, two = order[differ[0]], order[differ[0] + 1]
            at = int(address[one]) & ((1 << 32) - 1) if shared else int(address[one])
            return at, int(place[one]), int(place[two])
    return None
