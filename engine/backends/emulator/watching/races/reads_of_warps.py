"""The last read of each unit of shared memory by each warp.

Where barriers are for some threads of a block only, the first and the last reader do not stand for those between: the
warps of both may arrive, and one between them does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching.races.flags import Stamp
from engine.records import Array


def has_barriers_in_part(program: Program) -> bool:
    """Return whether a program has barriers that count threads: named ones, or those of cuda::barrier."""
    items = [item for block in program.blocks for item in (*block.body, block.terminator) if item is not None]
    named = any(item.words[0] in ("bar", "barrier") and _counts(item.words, len(item.operands)) for item in items)
    return named or any(item.words[0] == "mbarrier" for item in items)


def _counts(words: tuple[str, ...], operands: int) -> bool:
    return "warp" not in words and operands - 2 * ("red" in words) > 1


class ReadsOfWarps:
    """The last reads of `units` units by `warps` warps of `rows` lanes together."""

    def __init__(self, units: int, rows: int) -> None:
        self._rows = rows
        shape = (-(-rows // WARP), units)
        self._lane = np.full(shape, -1, np.int64)
        self._epoch, self._clock, self._time, self._line = (np.zeros(shape, np.int32) for _ in range(4))

    def record(self, at: Array, by: Stamp, line: Array | int) -> None:
        """Record that lanes, which count in the grid or the chunk, read the units `at`."""
        warp = by.lane % self._rows // WARP
        self._lane[warp, at], self._epoch[warp, at] = by.lane, by.epoch
        self._clock[warp, at], self._time[warp, at], self._line[warp, at] = by.clock, by.time, line

    def forget(self, at: Array) -> None:
        """Forget the reads of some units."""
        self._lane[:, at] = -1

    def of(self, at: Array) -> Iterator[tuple[Stamp, Array]]:
        """Yield for each warp that has read any of these units when it did, lane -1 for never, and at which lines."""
        for warp in np.flatnonzero((self._lane[:, at] >= 0).any(axis=1)):
            fields = (field[warp].take(at) for field in (self._lane, self._epoch, self._clock, self._time))
            yield Stamp(*fields), self._line[warp].take(at)

    def repeated(self, steps: Array) -> ReadsOfWarps:
        """Return the same for several blocks that did the same so far, as in `Shadow.repeated`."""
        made = ReadsOfWarps(0, self._rows)
        moved = self._lane[:, :, None] + steps
        made._lane = np.where(self._lane[:, :, None] < 0, -1, moved).reshape(len(self._lane), -1)
        for name in ("_epoch", "_clock", "_time", "_line"):
            setattr(made, name, np.repeat(getattr(self, name), steps.size, axis=1))
        return made
