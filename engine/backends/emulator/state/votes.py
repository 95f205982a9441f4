"""The votes of `barrier.red`: cast where threads arrive, counted when they are let go, read by the next instruction."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.records import Array


class Votes:
    """The votes of some blocks. `results`: uint32 that broadcasts to (rows, blocks), what each thread was told last:
    how many of its block said yes, and in bit 30 whether all did."""

    def __init__(self, rows: int, blocks: int) -> None:
        self._shape = (rows, blocks)
        self._yes: Array | None = None
        self.results: Array = np.zeros((1, blocks), np.uint32)

    def cast(self, mask: Mask, yes: Array) -> None:
        """The predicates of the lanes of `mask`, in its rows and columns or broadcast."""
        if self._yes is None:
            self._yes = np.zeros(self._shape, bool)
        self._yes[np.ix_(mask.rows, mask.columns)] = yes

    def count(self, released: Mask) -> None:
        """Tell each thread that goes on.

        All groups of a block are counted together, however late each of them came. Each thread keeps its own result,
        because another barrier of the block may count before this thread reads it.
        """
        if self._yes is None:
            return
        lanes = released.full_dense()
        yes = (self._yes & lanes).sum(axis=0)
        counted = yes | ((yes == lanes.sum(axis=0)).astype(np.int64) << 30)
        self.results = np.where(lanes, counted, self.results).astype(np.uint32)
