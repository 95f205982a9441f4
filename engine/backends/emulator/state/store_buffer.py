"""Volatile, relaxed and release stores that have not reached memory yet, so other threads still read the old value.

CUDA lets the later loads of a thread overtake such a store up to the next fence, barrier or atomic. Under the schedule
"independent" the emulator does so, too: a lock that needs a fence between a store and a load fails here as on a GPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.registers.masks import Mask
from engine.records import Array

_MOST_STEPS = 48  # basic blocks of a chunk that run before the stores arrive
_NOWHERE = -(1 << 40)
_APART = 1 << 32  # between the addresses of two blocks


@dataclass(frozen=True)
class _Held:
    """A store of `size` bytes by some lanes. `address`: of each lane of the chunk, far below 0 for the others."""

    write: Callable[[], None]
    space: str
    address: Array
    size: int


class StoreBuffer:
    """The stores of a chunk of `shape` lanes, in their order. `seed`: decides when they arrive."""

    def __init__(self, shape: tuple[int, int], seed: int) -> None:
        self._shape, self._random = shape, random.Random(seed)
        self._held: list[_Held] = []
        self._left = 0

    def hold(self, write: Callable[[], None], space: str, address: Array, size: int, mask: Mask) -> None:
        """Delay a store; `write` will perform it."""
        if not self._held:
            self._left = self._random.randrange(_MOST_STEPS)
        self._held.append(_Held(write, space, self._spread(address, mask), size))

    def drain(self) -> None:
        """Let all stores arrive."""
        held, self._held = self._held, []
        for each in held:
            each.write()

    def drain_for(self, space: str, address: Array, size: int, mask: Mask) -> None:
        """Let all stores arrive if a lane accesses a place to which it has stored itself."""
        held = [each for each in self._held if each.space == space]
        if held:
            at = self._spread(address, mask)
            inside = at >= 0
            if any((inside & (at < each.address + each.size) & (each.address < at + size)).any() for each in held):
                self.drain()

    def covers(self, space: str, address: Array, column: Array | None) -> Array:
        """Return whether a store that has not arrived writes the byte at each address, bool. `column`: the block of
        each address, for memory that every block has of its own; None for global memory."""
        found = np.zeros(address.shape, bool)
        for each in self._held:
            rows, columns = np.nonzero(each.address >= 0)
            if each.space != space or not rows.size:
                continue
            start, at = each.address[rows, columns], address
            if column is not None:  # one line of numbers for all blocks
                start, at = start + columns * _APART, address + column * _APART
            start = np.sort(start)
            behind = at - start[np.searchsorted(start, at, "right") - 1]
            found |= (behind >= 0) & (behind < each.size)
        return found

    def step(self, block: BasicBlock, soon: bool) -> None:
        """Let the stores arrive if their time has come, or `soon`; a group is about to run `block`."""
        if self._held and (soon or self.is_due(block)):
            self.drain()

    def is_due(self, block: BasicBlock) -> bool:
        """Return whether the stores arrive before `block` runs."""
        self._left -= 1
        return self._left < 0

    def _spread(self, address: Array, mask: Mask) -> Array:
        made = np.full(self._shape, _NOWHERE, np.int64)
        at = np.broadcast_to(address.astype(np.int64), (mask.height, mask.width))
        made[mask.place()] = at if mask.dense is None else np.where(mask.dense, at, _NOWHERE)
        return made
