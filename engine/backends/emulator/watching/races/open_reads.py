"""Reads of shared memory whose recording is deferred until a write follows before the next barrier.

After a barrier earlier readers no longer matter. So a read that cannot race with any write since the last barrier is
only noted here. The next event that depends on the order moves all noted reads into the shadow at once; a barrier drops
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.watching.races.access_lanes import AccessLanes
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.flags import Stamp
from engine.backends.emulator.watching.races.shadow import Shadow, pages_of
from engine.records import Array

_MOST_REMEMBERED = 1 << 21  # units of cached loads
_FEW = 4  # reads that are not worth deferring


@dataclass(eq=False)
class KnownRead:
    """A load, or several, that has been checked once, and the units `at` of a shadow that it reads, all of them written
    before.

    `lines`: of each unit, or of all. `checked`: the time at which all writes to the units were found to be ordered
    before it.
    """

    sites: tuple[Site, ...]
    lines: Array | int
    shadow: Shadow
    at: Array
    lanes: AccessLanes
    checked: int = -1

    @cached_property
    def pages(self) -> int:
        """Return the pages of these units."""
        return pages_of(self.at)


class OpenReads:
    """The open reads of a chunk since its last barrier. `written_soon`: loads of the launch that a write followed
    at once; these are not deferred again."""

    def __init__(self, clocks: Clocks, written_soon: set[int]) -> None:
        self._clocks, self._written_soon = clocks, written_soon
        self._known: dict[object, KnownRead] = {}
        self._remembered = 0
        self._open: dict[KnownRead, int] = {}  # with the time of the last such read, in the order of times
        self._units: Array | None = None  # bool: the units that the marked open reads touch
        self._unmarked: list[KnownRead] = []
        self._epoch: int | None = None  # current epoch; -1: reads must be checked; None: unknown

    def defer(self, place: object, shadow: Shadow) -> bool:
        """Defer an ordinary load, or several, if possible, and return whether that is all to do. `place`: the same
        object for the same addresses."""
        known = self._known.get(place)
        if known is None or known.shadow is not shadow or not self.possible() or not self._ordered(known):
            return False
        if shadow.copies.used and shadow.copies.in_flight_at(known.at, known.pages):
            return False
        if self._open.pop(known, None) is None:
            self._unmarked.append(known)
        self._open[known] = self._clocks.tick()
        return True

    def possible(self) -> bool:
        """Return whether barriers and convergence alone give the order."""
        if self._epoch is None:
            self._epoch = int(self._clocks.epoch.item()) if self._clocks.simple else -1
        return self._epoch >= 0

    def _ordered(self, known: KnownRead) -> bool:
        """Return whether all writes to the units are ordered before the read; what is ordered once stays so."""
        shadow, lanes, clocks = known.shadow, known.lanes, self._clocks
        if shadow.newest_time <= known.checked:
            return True
        assert self._epoch is not None
        if shadow.newest_write >= self._epoch and int(shadow.write_epoch.take(known.at).max()) >= self._epoch:
            if shadow.covered is not None:
                return False
            for lane in (lanes.high,) if lanes.low is lanes.high else (lanes.low, lanes.high):
                if (shadow.writer.take(known.at) == lane).all():
                    continue
                if clocks.unordered(shadow.last_write(known.at), clocks.stamp(lane, True), None, True).any():
                    return False
        known.checked = clocks.now
        return True

    def touches(self, at: Array) -> bool:
        """Return whether an open read touches one of these units; other accesses leave open reads deferred."""
        if not self._open:
            return False
        if self._units is None:
            self._units = np.zeros(next(iter(self._open)).shadow.units, bool)
        for known in self._unmarked:
            self._units[known.at] = True
        self._unmarked.clear()
        return bool(self._units.take(at).any())

    def release(self, mask: Mask) -> None:
        """Drop or record open reads, as a barrier releases lanes."""
        if mask.blocks.all():
            self._open.clear()
        self.settle()

    def learn(
        self, place: object, sites: tuple[Site, ...], shadow: Shadow, at: Array, lanes: AccessLanes
    ) -> None:  # fmt: skip
        """Allow deferring loads with a known place that read the units `at`, if all of them have been written."""
        if (shadow.writer.take(at) >= 0).all():
            self._remembered += at.size
            if self._remembered > _MOST_REMEMBERED:
                self._known.clear()
                self._remembered = at.size
            lines: Array | int = sites[0].line
            if len(sites) > 1:  # each reads as many units
                lines = np.repeat(np.array([site.line for site in sites], np.int32), at.size // len(sites))
            self._known[place] = KnownRead(sites, lines, shadow, at, lanes)

    def settle(self) -> None:
        """Record the open reads in the shadow, before another event."""
        noted, epoch = self._open, self._epoch
        self._open, self._epoch, self._units = {}, None, None
        self._unmarked.clear()
        if not noted or epoch is None:
            return
        for known, time in noted.items():
            if known.shadow.between is not None:
                self._keep(known, time, epoch)
        if sum(len(known.sites) for known in noted) < _FEW:
            self._written_soon.update(site.number for known in noted for site in known.sites)
            for known, time in noted.items():
                lanes = known.lanes
                stamps = (lanes.low, time), (lanes.high, time)
                self._record(known.shadow, known.at, *stamps, known.lines, epoch, lanes.unique)
        else:
            self._record_together(noted, epoch)

    def _keep(self, known: KnownRead, time: int, epoch: int) -> None:
        """Keep the reads of every lane, each load by itself."""
        high = known.lanes.high
        clock, count = self._clocks.clock_of(high, 0), known.at.size // len(known.sites)
        for number, site in enumerate(known.sites):
            here = slice(number * count, (number + 1) * count)
            by = Stamp(high[here], epoch, clock[here], time)
            known.shadow.keep(site.number, known.at[here], by, site.line, 0)

    def _record_together(self, noted: dict[KnownRead, int], epoch: int) -> None:
        """Record several reads, each unit with its first and last lane and the line of its last read."""
        reads = list(noted)
        shadow, sizes = reads[0].shadow, [known.at.size for known in reads]
        at = np.concatenate([known.at for known in reads])
        times = np.repeat(np.fromiter(noted.values(), np.int32, len(reads)), sizes)
        lines = np.zeros(shadow.units, np.int32)
        lines[at] = np.concatenate([np.broadcast_to(np.int32(known.lines), known.at.shape) for known in reads])
        ends = []
        for extreme, start, side in ((np.minimum, np.iinfo(np.int64).max, "low"), (np.maximum, -1, "high")):
            lanes = np.concatenate([getattr(known.lanes, side) for known in reads])
            found, when = np.full(shadow.units, start), np.zeros(shadow.units, np.int32)
            extreme.at(found, at, lanes)
            own = np.flatnonzero(lanes == found.take(at))
            when[at[own]] = times[own]
            ends.append((found, when))
        units = np.flatnonzero(ends[1][0] >= 0)
        low, high = ((lane.take(units), when.take(units)) for lane, when in ends)
        self._record(shadow, units, low, high, lines.take(units), epoch, True)

    def _record(
        self, shadow: Shadow, at: Array, low: tuple[Array, Array | int], high: tuple[Array, Array | int],
        line: Array | int, epoch: int, unique: bool,
    ) -> None:  # fmt: skip
        """Record reads by lanes, given with their times."""
        one, two = (Stamp(lane, epoch, self._clocks.clock_of(lane, 0), time) for lane, time in (low, high))
        shadow.read(at, one, two, line, 0, self._clocks, unique, True)
