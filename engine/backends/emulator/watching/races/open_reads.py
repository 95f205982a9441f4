"""Reads of shared memory whose recording is deferred until a write follows before the next barrier.

After a barrier earlier readers no longer matter. So a read that cannot race with any write since the last barrier is
only noted here. The next event that depends on the order moves it into the shadow; a barrier drops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.watching.races.access_lanes import AccessLanes
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.flags import Stamp
from engine.backends.emulator.watching.races.shadow import Shadow, pages_of
from engine.records import Array

_REMEMBERED = 4096


@dataclass(frozen=True)
class KnownRead:
    """A load that has been checked once, and the units `at` of a shadow that it reads, all of them written before."""

    access: Access
    shadow: Shadow
    at: Array
    lanes: AccessLanes

    @cached_property
    def pages(self) -> int:
        """Return the pages of these units."""
        return pages_of(self.at)


class OpenReads:
    """The open reads of a chunk since its last barrier. `written_soon`: loads of the launch that a write followed
    before the barrier; these are not deferred again."""

    def __init__(self, clocks: Clocks, written_soon: set[int]) -> None:
        self._clocks, self._written_soon = clocks, written_soon
        self._known: dict[object, KnownRead] = {}
        self._open: list[tuple[KnownRead, int]] = []
        self._units: Array | None = None  # bool: the units that the first `_marked` open reads touch
        self._marked = 0
        self._epoch: int | None = None  # current epoch; -1: reads must be checked; None: unknown

    def defer(self, access: Access, shadow: Shadow) -> bool:
        """Defer an ordinary load if possible, and return whether that is all to do."""
        known = self._known.get(access.place)
        if known is None or known.shadow is not shadow or not self.possible() or self._written(known):
            return False
        if shadow.copies.used and shadow.copies.in_flight_at(known.at, known.pages):
            return False
        self._open.append((known, self._clocks.tick()))
        return True

    def possible(self) -> bool:
        """Return whether no read can race with writes before the last barrier."""
        if self._epoch is None:
            self._epoch = int(self._clocks.epoch.item()) if self._clocks.simple else -1
        return self._epoch >= 0

    def _written(self, known: KnownRead) -> bool:
        """Return whether any of the units was written since the last barrier."""
        shadow = known.shadow
        if self._epoch is None or shadow.newest_write < self._epoch:
            return self._epoch is None
        return bool(shadow.write_epoch.take(known.at).max() >= self._epoch)

    def touches(self, at: Array) -> bool:
        """Return whether an open read touches one of these units; other writes leave open reads deferred."""
        if not self._open:
            return False
        if self._units is None:
            self._units, self._marked = np.zeros(self._open[0][0].shadow.units, bool), 0
        for known, _ in self._open[self._marked :]:
            self._units[known.at] = True
        self._marked = len(self._open)
        return bool(self._units.take(at).any())

    def release(self, mask: Mask) -> None:
        """Drop or record open reads, as a barrier releases lanes."""
        if mask.column_index is None:
            self._open.clear()
            self._units = None
        self.settle()

    def learn(self, access: Access, shadow: Shadow, at: Array, lanes: AccessLanes) -> None:
        """Allow deferring a load with a known place that reads the units `at`, if all of them have been written."""
        if (shadow.writer.take(at) >= 0).all():
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            self._known[access.place] = KnownRead(access, shadow, at, lanes)

    def settle(self) -> None:
        """Record the open reads in the shadow, before another event."""
        noted, epoch, clocks = self._open, self._epoch, self._clocks
        self._open, self._epoch, self._units = [], None, None
        if epoch is None:
            return
        for known, time in noted:
            self._written_soon.add(known.access.site.number)
            lanes = known.lanes
            high = Stamp(lanes.high, epoch, clocks.clock_of(lanes.high, 0), time)
            low = high if lanes.low is lanes.high else Stamp(lanes.low, epoch, clocks.clock_of(lanes.low, 0), time)
            known.shadow.read(known.at, low, high, known.access.site.line, 0, clocks, lanes.unique, True)
