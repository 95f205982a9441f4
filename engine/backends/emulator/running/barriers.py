"""Block barriers of a chunk: lanes wait until all that the barrier wants have come, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.registers.masks import Mask, Masks
from engine.backends.emulator.state.votes import Votes


@dataclass(frozen=True)
class Waiting:
    """A group at a barrier: the block where it goes on, and how many threads the barrier wants (None: all living).

    `stays`: False for lanes that only announce that they were there (bar.arrive) and have gone on.
    """

    mask: Mask
    place: int
    count: int | None
    line: int
    stays: bool = True


class Barriers:
    """The waiting groups by barrier number. `votes`: counted where a barrier lets threads go."""

    def __init__(self, masks: Masks, votes: Votes) -> None:
        self._masks, self._votes = masks, votes
        self._waiting: dict[int, list[Waiting]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def entries(self) -> list[Waiting]:
        """All that wait."""
        return [entry for entries in self._waiting.values() for entry in entries if entry.stays]

    def contradicted(self, number: int, entry: Waiting) -> Waiting | None:
        """A group that has come to barrier `number` of the same blocks and gave another count."""
        others = [other for other in self._waiting.get(number, ()) if None not in (other.count, entry.count)]
        both = (each for each in others if (each.mask.columns & entry.mask.columns).any())
        return next((other for other in both if other.count != entry.count), None)

    def arrive(self, number: int, entry: Waiting, alive: Mask) -> list[Waiting]:
        """A group comes to barrier `number`; the groups that it lets go."""
        if entry.count is None and number not in self._waiting and self._masks.same(entry.mask, alive):
            self._votes.count(entry.mask)
            return [entry]
        self._waiting.setdefault(number, []).append(entry)
        return self.release(number, alive)

    def release_any(self, alive: Mask | None) -> list[Waiting]:
        """The groups of all barriers that can go on."""
        return [entry for number in list(self._waiting) for entry in self.release(number, alive)]

    def release(self, number: int, alive: Mask | None) -> list[Waiting]:
        """The groups, or their lanes in complete blocks, that barrier `number` lets go."""
        entries = self._waiting.get(number)
        if not entries:
            return []
        arrived = entries[0].mask
        for entry in entries[1:]:
            arrived = self._masks.union(arrived, entry.mask)
        count = entries[0].count
        if count is None and alive is not None and self._masks.same(arrived, alive):
            del self._waiting[number]
            self._votes.count(arrived)
            return [entry for entry in entries if entry.stays]
        lanes = arrived.full_dense()
        if count is None:
            living = alive.full_dense() if alive is not None else np.zeros(self._masks.shape, bool)
            ready = (lanes == living).all(axis=0) & lanes.any(axis=0)
        else:
            ready = lanes.sum(axis=0) >= count
        if not ready.any():
            return []
        columns = self._masks.rectangle(self._masks.all_rows, ready)
        gone, left = [], []
        for entry in entries:
            inside, outside = self._masks.common(entry.mask, columns), self._masks.minus(entry.mask, columns)
            gone += [replace(entry, mask=inside)] if inside and entry.stays else []
            left += [replace(entry, mask=outside)] if outside else []
        if left:
            self._waiting[number] = left
        else:
            del self._waiting[number]
        released = self._masks.common(arrived, columns)
        if released is not None:
            self._votes.count(released)
        return gone
