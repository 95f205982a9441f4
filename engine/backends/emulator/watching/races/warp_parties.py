"""Who of a warp has met whom, where parts of the warp meet by themselves: `__syncwarp(mask)` with part of the lanes.

While the whole warp meets every time, one number per lane tells the order. Lanes that meet in parts know of each
other's doings only up to their last meeting, so what each lane knows of each other one is kept.
"""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask, lane_words
from engine.records import Array


def met_in(active: Array, members: Array, mask: Mask, living: Array) -> list[Array] | None:
    """The parties that meet, each bool[warps, 32, C] of lanes; None where whole warps do.

    `active`: bool[T, C], the lanes that come; `members`: the member masks in the rows and columns of `mask`; `living`:
    bool[T], the threads that exist.
    """
    met = active.reshape(-1, WARP, active.shape[1])
    named = np.zeros(active.shape, np.uint32)
    if active.shape[1] == 1 and members.shape[1] == 1:
        named[mask.rows] = members
    else:
        named[np.ix_(mask.rows, mask.columns if active.shape[1] > 1 else np.ones(1, bool))] = members
    named = np.where(met, named.reshape(met.shape), np.uint32(0))
    comers = lane_words(met)
    whole = lane_words(living.reshape(-1, WARP, 1))
    if not ((comers != 0) & (comers != whole)).any() and not (met & ((named & comers) != comers)).any():
        return None
    return [met & (named == party) for party in np.unique(named[met])]


class Parties:
    """known[w, i, j, c]: lane i of warp w comes after what lane j did while j's clock was below this number.

    The last axis: one for all blocks as long as they are alike, then the blocks of a sample.
    """

    def __init__(self, clock: Array) -> None:
        own = clock.reshape(-1, WARP, clock.shape[1])
        self.known = np.minimum(own[:, :, None], own[:, None, :])

    @property
    def width(self) -> int:
        """1 while all blocks are alike, else the blocks of the sample."""
        return int(self.known.shape[3])

    def repeated(self, count: int) -> None:
        """From one for all blocks to one for each of `count` blocks."""
        self.known = np.repeat(self.known, count, axis=3)

    def meet(self, parties: list[Array], clock: Array) -> None:
        """The lanes of each party learn what any of them knows, and of each other all up to now (their new `clock`)."""
        own = clock.reshape(-1, WARP, clock.shape[1])
        for party in parties:
            heard = np.where(party[:, :, None], self.known, -1).max(axis=1, keepdims=True)
            heard = np.maximum(heard, np.where(party, own, -1)[:, None])
            self.known = np.where(party[:, :, None], heard, self.known)

    def limit(self, row: Array, other: Array, position: Array | int) -> Array:
        """Up to which clock of lanes `other` (0..31) the lanes in these rows know."""
        found: Array = self.known[row // WARP, row % WARP, other, position]
        return found
