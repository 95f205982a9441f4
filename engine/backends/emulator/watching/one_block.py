"""The base class of observers of one block: its threads among those of a mask, and its arrays in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import Value, plain
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.observer import Observer
from engine.records import Array


class TraceDone(BaseException):
    """Raised when the observed block has ended. It is no Exception, so no handler mistakes it for a failure."""


class BlockObserver(Observer):
    """Observes `block` of the launch number `launch` (from 0). `_column`: of the block in its chunk, else -1."""

    def __init__(self, block: int, launch: int = 0) -> None:
        self.block, self.launch = block, launch
        self._column = -1

    def on_launch(self, machine: Machine) -> None:
        """Keep the machine of the launch."""
        self._machine = machine

    def on_chunk(self, info: ChunkInfo) -> None:
        """Find the block's column in the chunk."""
        here = info.launch == self.launch and info.first <= self.block < info.first + info.blocks
        self._column = self.block - info.first if here else -1

    def _rows(self, mask: Mask) -> Array | None:
        """Return the block's lanes in `mask`, bool[T]; None if there are none."""
        if not mask.columns[self._column]:
            return None
        if mask.dense is None:
            return mask.rows
        rows = np.zeros(mask.rows.size, bool)
        rows[mask.rows] = mask.dense[:, self._place(mask)]
        return rows if rows.any() else None

    def _place(self, mask: Mask) -> int:
        """Return the block's column within the mask's own columns."""
        return int(np.count_nonzero(mask.columns[: self._column]))

    def _threads(self, value: Value, mask: Mask) -> Array:
        """Convert a value in the mask's rows and columns to one entry per thread of the block."""
        part = np.broadcast_to(plain(value), (mask.height, mask.width))[:, self._place(mask)]
        full = np.zeros(mask.rows.size, part.dtype)
        full[mask.rows] = part
        return full


def shared_arrays(machine: Machine) -> Iterator[tuple[str, int, int]]:
    """Yield (name in the PTX, offset, size in bytes) of each array in shared memory, in the order of offsets."""
    places = sorted((at, name) for name, at in machine.places("shared").items())
    for (at, name), (end, _) in zip(places, [*places[1:], (machine.shared_size, "")], strict=False):
        yield name, at, end - at
