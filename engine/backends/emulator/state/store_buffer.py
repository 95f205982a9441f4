"""Volatile, relaxed and release stores that have not reached memory yet, so other threads still read the old value.

CUDA lets the later loads and stores of a thread overtake such a store up to its next fence, barrier or atomic; only a
release store stays behind the earlier ones. Under the schedule "independent" the emulator does so, too: a lock that
needs a fence between a store and a load, or between two stores, fails here as on a GPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.registers.masks import Mask
from engine.records import Array

_MOST_STEPS = (6, 120)  # basic blocks of a chunk that run before a store arrives: at most one of these numbers
_NOWHERE = -(1 << 40)
_APART = 1 << 32  # between the addresses of two blocks


@dataclass(frozen=True, eq=False)
class _Held:
    """A store of `size` bytes by some lanes. `address`: of each lane of the chunk, far below 0 for the others.
    `release`: no earlier store of its lanes may arrive later. `due`: the step at which it arrives."""

    write: Callable[[], None]
    space: str
    address: Array
    size: int
    release: bool
    due: int

    def meets(self, address: Array, size: int) -> bool:
        """Return whether a lane accesses a byte that it stores here."""
        return bool(((address >= 0) & (address < self.address + self.size) & (self.address < address + size)).any())

    def stays_behind(self, earlier: _Held) -> bool:
        """Return whether it may not overtake an earlier store."""
        if self.release:
            return bool(((self.address >= 0) & (earlier.address >= 0)).any())
        return self.space == earlier.space and self.meets(earlier.address, earlier.size)


class StoreBuffer:
    """The stores of a chunk of `shape` lanes, in their order. `seed`: decides when they arrive."""

    def __init__(self, shape: tuple[int, int], seed: int) -> None:
        self._shape, self._random = shape, random.Random(seed)
        self._held: list[_Held] = []
        self._steps = 0

    def hold(self, write: Callable[[], None], space: str, address: Array, size: int, mask: Mask, release: bool) -> None:
        """Delay a store; `write` will perform it."""
        due = self._steps + self._random.randrange(self._random.choice(_MOST_STEPS))
        self._held.append(_Held(write, space, self._spread(address, mask), size, release, due))

    def drain(self) -> None:
        """Let all stores arrive."""
        self._arrive(self._held)

    def drain_lanes(self, mask: Mask) -> None:
        """Let all stores of some lanes arrive."""
        if self._held:
            lanes = mask.full_dense()
            self._arrive([each for each in self._held if ((each.address >= 0) & lanes).any()])

    def drain_for(self, space: str, address: Array, size: int, mask: Mask) -> None:
        """Let the stores arrive that lanes have made to a place which they access now."""
        held = [each for each in self._held if each.space == space]
        if held:
            at = self._spread(address, mask)
            self._arrive([each for each in held if each.meets(at, size)])

    def _arrive(self, chosen: Sequence[_Held]) -> None:
        """Let these stores arrive, and in front of each the earlier ones that it may not overtake."""
        arriving: list[_Held] = []
        for each in reversed(self._held):
            if each in chosen or any(later.stays_behind(each) for later in arriving):
                arriving.insert(0, each)
        self._held = [each for each in self._held if each not in arriving]
        for each in arriving:
            each.write()

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
        """Let the stores arrive whose time has come, or all if `soon`; a group is about to run `block`."""
        self._steps += 1
        if self._held:
            self._arrive(self._held if soon else self.due(self._held, block))

    def due(self, held: Sequence[_Held], block: BasicBlock) -> Sequence[_Held]:
        """Return the stores that arrive before `block` runs."""
        return [each for each in held if each.due <= self._steps]

    def _spread(self, address: Array, mask: Mask) -> Array:
        made = np.full(self._shape, _NOWHERE, np.int64)
        at = np.broadcast_to(address.astype(np.int64), (mask.height, mask.width))
        made[mask.place()] = at if mask.dense is None else np.where(mask.dense, at, _NOWHERE)
        return made
