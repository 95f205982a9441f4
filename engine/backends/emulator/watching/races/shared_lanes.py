"""The lanes of accesses to shared memory, in the blocks that are watched; what was seen before is remembered."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.watching.races.access_lanes import AccessLanes, in_sample, sample_of
from engine.records import Array

_REMEMBERED = 1000


class SharedLanes:
    """Those of a launch. `unit`: bytes that are watched as one; `sample`: the blocks of the chunk that are."""

    def __init__(self, unit: int) -> None:
        self.unit = unit
        self._first: dict[tuple[bytes, bytes, int, bytes], tuple[AccessLanes | None, int]] = {}
        self._known: dict[tuple[int, bytes, bytes, int, bytes], AccessLanes | None] = {}

    def start_chunk(self, info: ChunkInfo) -> None:
        """New blocks: the first one stands for all as long as they do the same."""
        self._info = info
        self.sample = np.zeros(1, np.int64)

    def part(self) -> bool:
        """From now on the blocks differ. False where one stands for itself, or several were watched already."""
        if self.sample.size > 1 or self._info.blocks == 1:
            return False
        self.sample = sample_of(self._info.blocks)
        return True

    def units(self, lanes: AccessLanes) -> Array:
        """The units of the shadow that lanes meet."""
        return lanes.address // self.unit * self.sample.size + lanes.block

    def of(self, access: Access) -> AccessLanes | None:
        """The lanes of an access in the blocks that are watched; None: they are in none of these."""
        lanes = in_sample(access, self.sample, self._info)
        return lanes.units(access.site.size, self.unit) if lanes else None

    def known(self, access: Access) -> AccessLanes | None:
        """The same where all blocks do the same: loops come back with the same addresses, or with all moved alike."""
        address = plain(access.address)
        start = int(address.flat[0]) // access.site.size * access.site.size
        key = (address - start).tobytes(), access.mask.row_key, access.site.size, self.sample.tobytes()
        exact = start, *key
        if exact not in self._known:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
                self._first.clear()
            if key not in self._first:
                self._first[key] = self.of(access), start
            lanes, before = self._first[key]
            self._known[exact] = lanes if lanes is None or start == before else lanes.moved(start - before)
        return self._known[exact]
