"""Loops that wait for a value in memory: others get a chance to write it, and a wait that nobody can end is reported.

The group with the smallest program counter would otherwise run for ever. In lockstep the other lanes of the same warp
get no chance: they wait where the paths meet again, as on the GPUs that run so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.ptx.groups import Key
from engine.ptx.masks import WARP, Mask, any_per_warp
from engine.ptx.program import Block

if TYPE_CHECKING:
    from engine.ptx.chunk import Chunk

_PATIENCE = 64  # turns after which others get a chance
_HOPELESS = 300  # chances without any other lane that could run
_DETOUR = 32  # basic blocks that others may run before the loop is tried again


class Spinning:
    """Watches the polling loops of one chunk."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._place = -1
        self._mask: Mask | None = None
        self._turns = self._hopeless = self._left = 0
        self._free: frozenset[Key] = frozenset()

    def close(self) -> None:
        """The chunk is over."""
        del self._chunk

    def detour(self) -> Key | None:
        """The group that runs in place of the one with the smallest program counter, while a loop is suspended."""
        if not self._left:
            return None
        self._left -= 1
        others = [key for key in self._chunk.groups if key[0] != self._place and self._may_run(key)]
        return min(others) if others else None

    def turn(self, block: Block, mask: Mask) -> None:
        """A polling loop goes round again with all the lanes of its group."""
        place = block.successors[0]
        if place != self._place or (mask is not self._mask and not self._same(mask)):
            self._turns = self._hopeless = 0
        self._place, self._mask = place, mask
        self._turns += 1
        if self._turns < _PATIENCE:
            return
        self._turns = 0
        chunk = self._chunk
        released = chunk.barriers.release_any(chunk.alive)
        chunk._go_on(released)
        if released or any(key[0] != place and self._may_run(key) for key in chunk.groups):
            self._left = _DETOUR
            return
        self._hopeless += 1
        if self._hopeless > _HOPELESS:
            raise chunk.machine.failure("deadlock", self._clause(mask), block.line, "step-limit")

    def _same(self, mask: Mask) -> bool:
        return self._mask is not None and self._chunk.masks.same(self._mask, mask)

    def _may_run(self, key: Key) -> bool:
        if self._chunk.crews is not None or self._mask is None:
            return True
        lanes, spinning = self._chunk.groups.mask(key).full_dense(), self._mask.full_dense()
        busy = np.repeat(any_per_warp(spinning), WARP, axis=0)
        return not (lanes & busy).any()

    def _clause(self, mask: Mask) -> str:
        chunk = self._chunk
        machine = chunk.machine
        name = machine.lane_name(int(mask.rows_at()[0]), int(mask.columns_at()[0]))
        if len(chunk.groups) > 1 and chunk.crews is None:
            return (f"{name} waits in a loop for another thread of its own warp, which cannot go on while the warp "
                    "runs in lockstep")  # fmt: skip
        if not machine.cooperative and machine.first + machine.chunk_blocks < machine.blocks:
            return (f"{name} waits in a loop for a value that no running thread writes, and a block that has not "
                    "started cannot write it either")  # fmt: skip
        return f"{name} waits in a loop for a value that no running thread writes"
