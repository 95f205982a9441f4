"""The shadow of a memory: for each unit its last writer, its readers since, and the asynchronous copies to it.

Two readers are stored per unit: the unordered ones with the smallest and the largest thread number. A reader ordered
after both replaces them. Two are enough where all threads meet at barriers: an access unordered with a dropped reader
is unordered with a stored one. Where some meet, `between` has the readers between.

An asynchronous copy may write at any time between its start and the end of its thread's wait. No thread may use its
destination meanwhile, including its own: a read sees old or new content, and the last writer is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.watching.races.accesses_between import AccessesBetween, KeptAccess
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.flags import Stamp
from engine.records import Array

_PAGE = 64  # units per page
_LAST_WRITE = ("writer", "write_epoch", "write_clock", "write_time", "write_line")


@dataclass(frozen=True)
class StartedCopies:
    """Copies to some units: the lane that started each, -1 for none, and its line."""

    lane: Array
    line: Array


class CopiesInFlight:
    """The copies in flight to the `units` units of a shadow."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._started: StartedCopies | None = None
        self._pages: int | None = 0

    @property
    def used(self) -> bool:
        """Return whether any copy was started."""
        return self._started is not None

    def repeated(self, steps: Array) -> CopiesInFlight:
        """Return the same for several blocks that did the same so far, as in `Shadow.repeated`."""
        made = CopiesInFlight(self._units * steps.size)
        if self._started is not None:
            lane, line = self._started.lane[: self._units, None], self._started.line[: self._units]
            in_flight = np.flatnonzero(np.repeat(lane >= 0, steps.size))
            made.start(in_flight, (lane + steps).reshape(-1)[in_flight], np.repeat(line, steps.size)[in_flight])
        return made

    def start(self, at: Array, lanes: Array, line: Array | int) -> None:
        """Record that lanes start copies to the units `at`."""
        if self._started is None:
            whole = -(-self._units // _PAGE) * _PAGE
            self._started = StartedCopies(np.full(whole, -1, np.int64), np.zeros(whole, np.int32))
        self._started.lane[at], self._started.line[at] = lanes, line
        self._pages = None

    def arrive(self, at: Array) -> None:
        """Record that the copies to these units have arrived."""
        if self._started is not None:
            self._started.lane[at] = -1
            self._pages = None

    def started(self, at: Array) -> StartedCopies | None:
        """Return the copies in flight to some units, None if there are none."""
        if self._started is None:
            return None
        lane = self._started.lane.take(at)
        return StartedCopies(lane, self._started.line.take(at)) if (lane >= 0).any() else None

    def in_flight_at(self, at: Array, pages: int) -> bool:
        """Return whether a copy is in flight to any of the units `at`, which lie in these pages."""
        if self._started is None:
            return False
        if self._pages is None:
            used = (self._started.lane >= 0).reshape(-1, _PAGE).any(axis=1)
            self._pages = int.from_bytes(np.packbits(used, bitorder="little").tobytes(), "little")
        return bool(self._pages & pages) and self.started(at) is not None

    def unawaited(self) -> list[tuple[int, int, int]]:
        """Return for each line with unawaited copies: (the line, the first unit, the lane)."""
        if self._started is None:
            return []
        units = np.flatnonzero(self._started.lane >= 0)
        lines, first = np.unique(self._started.line[units], return_index=True)
        return [(line, unit, int(self._started.lane[unit]))
                for line, unit in zip(lines.tolist(), units[first].tolist(), strict=True)]  # fmt: skip


def pages_of(at: Array) -> int:
    """Return the pages between the first and the last of some units, as bits."""
    return (1 << int(at.max()) // _PAGE + 1) - (1 << int(at.min()) // _PAGE)


class Shadow:
    """The shadow of `units` units. `in_part`: threads may be ordered in part."""

    def __init__(self, units: int, in_part: bool = False) -> None:
        self.units = units
        self.writer = np.full(units, -1, np.int64)
        self.write_epoch = np.full(units, -1, np.int32)  # never: before every epoch
        self.write_clock, self.write_time = np.zeros(units, np.int32), np.zeros(units, np.int32)
        self.write_line, self.write_kind = np.zeros(units, np.int32), np.zeros(units, np.int8)
        self.newest_write = self.newest_time = -1  # the last epoch and time of a write to any unit
        self._readers: tuple[Array, ...] | None = None
        self.copies = CopiesInFlight(units)
        self.covered: Shadow | None = None  # ordinary stores that atomics or flags have replaced since
        self.hidden: Shadow | None = None  # the first of several unordered stores of one value, which are no race
        self.narrow = False  # whether any access had the scope of a block
        # The last fence in front of the flag in each unit, and in front of the one before it: int32[2, units].
        self.fences: Array | None = None
        self.between = AccessesBetween(units) if in_part else None

    def repeated(self, steps: Array) -> Shadow:
        """Return the same memory for several blocks that did the same so far.

        Unit u of block k is then at u * blocks + k, and the lanes of block k are those of the first one plus
        `steps[k]`.
        """
        made, copies = Shadow(0), steps.size
        made.units, made.narrow = self.units * copies, self.narrow
        made.newest_write, made.newest_time = self.newest_write, self.newest_time
        for name in ("write_epoch", "write_clock", "write_time", "write_line", "write_kind"):
            setattr(made, name, np.repeat(getattr(self, name), copies))
        made.writer = _moved(self.writer, steps)
        if self._readers is not None:
            low, high, *others = self._readers
            made._readers = (_moved(low, steps), _moved(high, steps), *(np.repeat(field, copies) for field in others))
        made.copies = self.copies.repeated(steps)
        made.covered = self.covered.repeated(steps) if self.covered else None
        made.hidden = self.hidden.repeated(steps) if self.hidden else None
        made.fences = None if self.fences is None else np.repeat(self.fences, copies, axis=1)
        made.between = self.between.repeated(steps) if self.between else None
        return made

    def refined(self, parts: int) -> Shadow:
        """Return the same memory in units of which `parts` make up one of these."""
        return self.repeated(np.zeros(parts, np.int64))

    def grown(self, units: int) -> Shadow:
        """Return the same memory with more units at its end."""
        made = Shadow(units)
        made.newest_write, made.newest_time = self.newest_write, self.newest_time
        made.narrow = self.narrow
        made.covered = self.covered.grown(units) if self.covered else None
        made.fences = None if self.fences is None else np.pad(self.fences, ((0, 0), (0, units - self.units)))
        made.between = self.between.grown(units) if self.between else None
        for name in ("writer", "write_epoch", "write_clock", "write_time", "write_line", "write_kind"):
            getattr(made, name)[: self.units] = getattr(self, name)
        if self._readers is not None:
            for new, old in zip(made._fields(), self._readers, strict=True):
                new[: self.units] = old
        return made

    def used(self, start: int, end: int) -> Array:
        """Return the units between two that were written or read."""
        found = self.writer[start:end] >= 0
        if self._readers is not None:
            found |= self._readers[1][start:end] >= 0
        made: Array = start + np.flatnonzero(found)
        return made

    def forget(self, at: Array) -> None:
        """Forget the accesses to some units."""
        self.writer[at] = self.write_epoch[at] = -1
        self.write_kind[at] = 0
        if self._readers is not None:
            self._readers[0][at] = self._readers[1][at] = -1
        if self.covered is not None:
            self.covered.writer[at] = -1

    def newest_fence(self, at: Array, late: Array) -> int:
        """Return the last fence in front of the flags in some units, 0 if there is none. `late`: the units whose last
        flag has not arrived, bool: who reads them sees the flag before it."""
        if self.fences is None:
            return 0
        now, before = self.fences[0].take(at), self.fences[1].take(at)
        return int(np.where(late, before, now).max(initial=0))

    def cover(self, at: Array, epoch: Array | int | None) -> None:
        """Keep the ordinary stores to some units, which an atomic or flag is about to replace. `epoch`: those before
        this barrier of the only block are ordered; None: there are other blocks."""
        kept = (self.write_kind.take(at) == 0) & (self.writer.take(at) >= 0)
        if epoch is not None:
            kept &= self.write_epoch.take(at) >= epoch
        if kept.any():
            at = at[kept]
            if self.covered is None:
                self.covered = Shadow(self.units)
            for name in _LAST_WRITE:
                getattr(self.covered, name)[at] = getattr(self, name)[at]

    def hide(self, at: Array, low: Stamp, line: int, equal: Array, still: Array) -> None:
        """Keep the first of several stores of one value, which a store by lanes from `low` on is about to replace.

        `equal`: the units whose last writer is unordered with that store; `still`: those where the kept one is.
        """
        if self.hidden is None:
            self.hidden = Shadow(self.units)
        new, last, was = ~still[::-1], self.last_write(at), self.write_line.take(at)
        first = at[::-1][new]  # where a unit occurs twice, its first entry counts
        before = (last.lane, last.epoch, last.clock, last.time, was)
        present = (low.lane, low.epoch, low.clock, low.time, line)
        for name, old, now in zip(_LAST_WRITE, before, present, strict=True):
            getattr(self.hidden, name)[first] = np.where(equal, old, now)[::-1][new]

    def last_write(self, at: Array) -> Stamp:
        """Return the last writers of some units."""
        fields = (self.writer, self.write_epoch, self.write_clock, self.write_time)
        return Stamp(*(field.take(at) for field in fields))

    def write(
        self, at: Array, by: Stamp, line: int, kind: int, fence: int = 0, repeats: Array | None = None
    ) -> None:  # fmt: skip
        """Record new last writers. `kind`: 0 for an ordinary store, 1 for a flag, -1 for a volatile store that is none,
        2 for an atomic; 4 more with the scope of a block. `fence`: the time of the last fence in front of a flag.
        `repeats`: the units whose value stays as an unordered store has set it, bool."""
        epoch = by.epoch if isinstance(by.epoch, int) else int(by.epoch.max(initial=-1))
        self.newest_write = max(self.newest_write, epoch)
        self.newest_time = by.time if isinstance(by.time, int) else int(by.time.max(initial=-1))
        continued: Array | bool = kind & 3 == 2  # an atomic continues the release of the value that it updates
        if kind > 0 and not continued and self.fences is not None:  # and so does the next flag of the same lane
            continued = (self.writer.take(at) == by.lane) & (self.write_kind.take(at) & 3 == 1)
        self.writer[at], self.write_epoch[at] = by.lane, by.epoch
        self.write_clock[at], self.write_time[at] = by.clock, by.time
        self.write_line[at], self.write_kind[at] = line, kind
        self.narrow |= kind > 2
        if fence and self.fences is None:
            self.fences = np.zeros((2, self.units), np.int32)
        if self.fences is not None:
            before = self.fences[0].take(at)
            self.fences[0, at] = np.where(continued, np.maximum(before, fence), fence)
            self.fences[1, at] = before
        if kind == 0 and self.covered is not None:
            self.covered.writer[at] = -1
        if self._readers is not None:  # an atomic does not hide ordinary reads
            gone = at if kind == 0 else at[self._readers[-1].take(at) != 0]
            self._readers[0][gone] = self._readers[1][gone] = -1
        if self.between is not None:
            self.between.replace(at if repeats is None else at[~repeats], by.time, kind == 0)

    def keep(self, number: int, at: Array, by: Stamp, line: int, kind: int, store: bool = False) -> None:
        """Keep a read by the instruction `number`, or a `store` that is one of several of one value, if threads may be
        ordered in part."""
        if self.between is not None and at.size and kind <= 0:
            self.between.keep(number, KeptAccess(at, by, line, kind, store))

    def keep_last(self, number: int, at: Array) -> None:
        """Keep the last stores to some units, which the instruction `number` is about to replace by the same values."""
        if self.between is None:
            return
        at = np.unique(at[self.writer.take(at) >= 0])
        lines, kinds = self.write_line.take(at), self.write_kind.take(at)
        for line, kind in {*zip(lines.tolist(), kinds.tolist(), strict=True)}:
            these = at[(lines == line) & (kinds == kind)]
            self.keep(-1 - number, these, self.last_write(these), line, kind, True)

    # ---- readers: smallest lane, largest lane; epoch, clock, time and line of each; kind

    def _fields(self) -> tuple[Array, ...]:
        if self._readers is None:
            lanes = (np.full(self.units, -1, np.int64) for _ in range(2))
            self._readers = (*lanes, *(np.zeros(self.units, np.int32) for _ in range(9)))
        return self._readers

    @property
    def read_at_all(self) -> bool:
        """Return whether any unit was read."""
        return self._readers is not None

    def is_plainly_read(self, at: Array) -> bool:
        """Return whether any of these units has an ordinary reader."""
        fields = self._readers
        return fields is not None and bool(((fields[-1].take(at) == 0) & (fields[1].take(at) >= 0)).any())

    def readers(self, at: Array) -> tuple[tuple[Stamp, Array], tuple[Stamp, Array], Array]:
        """Return ((smallest reader of some units, its lines), (the largest one, its lines), their kinds)."""
        low, high, *each, kind = (field.take(at) for field in self._fields())
        return (Stamp(low, *each[:3]), each[3]), (Stamp(high, *each[4:7]), each[7]), kind

    def read(
        self,
        at: Array,
        low: Stamp,
        high: Stamp,
        line: Array | int,
        kind: int,
        clocks: Clocks,
        unique: bool,
        one_block: bool,
    ) -> None:
        """Record that lanes `low` to `high` read the units; `unique`: no unit occurs twice."""
        fields = self._fields()
        (was_low, _), (was_high, _), _ = self.readers(at)
        kept = clocks.unordered(was_low, low, None, one_block)
        if not np.array_equal(was_low.lane, was_high.lane):
            kept |= clocks.unordered(was_high, low, None, one_block)
        forgets = unique and not kept.any()
        if forgets:
            fields[0][at], fields[1][at] = low.lane, high.lane
        elif unique:
            fields[0][at] = np.where(kept, np.minimum(was_low.lane, low.lane), low.lane)
            fields[1][at] = np.where(kept, np.maximum(was_high.lane, high.lane), high.lane)
        else:
            fresh = at[~kept]
            fields[0][fresh], fields[1][fresh] = np.iinfo(np.int64).max, -1
            np.minimum.at(fields[0], at, low.lane)
            np.maximum.at(fields[1], at, high.lane)
        # A stored reader keeps the time of its read: publications of that lane since then count.
        for lanes, own, now in ((fields[0], fields[2:6], low), (fields[1], fields[6:10], high)):
            new = slice(None) if forgets else lanes[at] == now.lane
            for field, value in zip(own, (now.epoch, now.clock, now.time, line), strict=True):
                field[at[new]] = value if isinstance(value, int) else value[new]
        if kind == 0 or not kept.any():
            fields[-1][at] = kind
        else:
            fields[-1][at[~kept]] = kind


def _moved(lanes: Array, steps: Array) -> Array:
    return np.where(lanes[:, None] < 0, -1, lanes[:, None] + steps[None, :]).reshape(-1)
