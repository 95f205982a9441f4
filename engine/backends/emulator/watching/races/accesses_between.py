"""The reads of a memory by every lane, and stores of equal values, in launches whose threads may be ordered in part.

A shadow has the first and the last reader of each unit. Barriers of the block order a write after all readers or not
after one of these two. A __syncwarp() of some lanes, a flag or a barrier for some threads may order it after these two,
and not after a reader between them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.registers.values import starts_of
from engine.backends.emulator.watching.races.flags import Stamp
from engine.records import Array

_TIDY_AT = 32  # accesses
_MOST = 256
_MOST_UNITS = 1 << 23  # of all accesses together
_MOST_PAIRS = 1 << 20
_ORDERING = frozenset(("fence", "membar", "mbarrier", "release", "acquire", "acq_rel"))


def orders_in_part(program: Program) -> bool:
    """Return whether a program may order some threads of a block without the others: by a __syncwarp(), a flag, or a
    barrier that counts threads (a named one, or of cuda::barrier)."""
    items = [item for block in program.blocks for item in (*block.body, block.terminator) if item is not None]
    return any(_ORDERING & set(item.words) or _is_barrier_of_some(item) for item in items)


def _is_barrier_of_some(item: Instruction) -> bool:
    if item.words[0] not in ("bar", "barrier"):
        return False
    return "warp" in item.words or len(item.operands) - 2 * ("red" in item.words) > 1


@dataclass(frozen=True, eq=False)
class KeptAccess:
    """An access to the units `at` by one lane each. `kind`: as of `Shadow.write`; `store`: whether it is one of several
    stores of one value, else it is a read."""

    at: Array
    by: Stamp
    line: int
    kind: int
    store: bool

    @property
    def time(self) -> int:
        """Return when it was."""
        return self.by.time if isinstance(self.by.time, int) else int(self.by.time.max())

    def repeats(self, other: KeptAccess) -> bool:
        """Return whether the same lanes have accessed the same units."""
        return np.array_equal(self.at, other.at) and np.array_equal(self.by.lane, other.by.lane)

    def repeated(self, steps: Array) -> KeptAccess:
        """Return the same in several blocks, as in `Shadow.repeated`."""
        copies, by = steps.size, self.by
        at = (self.at[:, None] * copies + np.arange(copies)).ravel()
        epoch, time = (each if isinstance(each, int) else np.repeat(each, copies) for each in (by.epoch, by.time))
        return replace(self, at=at, by=Stamp((by.lane[:, None] + steps).ravel(), epoch, by.clock.repeat(copies), time))


class AccessesBetween:
    """The kept accesses to `units` units, in the order of their times."""

    def __init__(self, units: int) -> None:
        # the times of the last stores of another value, ordinary ones and any
        self._replaced: Array = np.zeros((2, units), np.int32)
        self._runs: Array = np.full(units, -1, np.int32)  # scratch
        self._kept: dict[Hashable, KeptAccess] = {}
        self._size = self._renamed = 0
        self._tidy_at = _TIDY_AT

    def keep(self, number: int, new: KeptAccess) -> None:
        """Keep an access of the instruction `number`, in the place of an earlier one by the same lanes to the same
        units."""
        key = number, int(new.at[0]), new.at.size
        before = self._kept.pop(key, None)
        if before is not None and not new.repeats(before):
            self._renamed += 1
            self._kept[self._renamed] = before
        elif before is not None:
            self._size -= before.at.size
        self._kept[key] = new
        self._size += new.at.size
        if len(self._kept) > self._tidy_at or self._size > _MOST_UNITS:
            self._tidy()

    def replace(self, at: Array, time: Array | int, ordinary: bool) -> None:
        """Record stores to some units, behind which kept accesses no longer matter: all, or only those that are not
        ordinary."""
        self._replaced[1, at] = time
        if ordinary:
            self._replaced[0, at] = time

    def clear(self) -> None:
        """Drop all accesses, as a barrier has released all blocks."""
        self._kept.clear()
        self._size = 0

    def of(self, at: Array) -> Iterator[tuple[KeptAccess, Array, Array]]:
        """Yield the kept accesses to any of these units, each with pairs: an entry of `at`, an entry of the access."""
        if not self._kept:
            return
        order = np.argsort(at, kind="stable")
        starts = starts_of(at[order])
        ends, units = np.append(starts[1:], at.size), at[order[starts]]
        self._runs[units] = np.arange(starts.size)
        for key, one in tuple(self._kept.items()):
            live = self._replaced[int(one.kind != 0)].take(one.at) <= one.time
            if not live.any():
                self._size -= self._kept.pop(key).at.size
                continue
            run = self._runs.take(one.at)
            theirs = ((run >= 0) & live).nonzero()[0]
            if theirs.size:
                mine, theirs = _pairs(starts[run[theirs]], ends[run[theirs]], theirs)
                yield one, order[mine], theirs
        self._runs[units] = -1

    def repeated(self, steps: Array) -> AccessesBetween:
        """Return the same for several blocks that did the same so far, as in `Shadow.repeated`."""
        made = AccessesBetween(0)
        made._replaced = np.repeat(self._replaced, steps.size, axis=1)
        made._runs = np.repeat(self._runs, steps.size)
        for number, one in enumerate(self._kept.values()):
            made.keep(-1 - number, one.repeated(steps))
        return made

    def grown(self, units: int) -> AccessesBetween:
        """Return the same memory with more units at its end."""
        made = AccessesBetween(units)
        made._replaced[:, : self._runs.size] = self._replaced
        made._kept, made._size, made._renamed = self._kept, self._size, self._renamed
        return made

    def _tidy(self) -> None:
        """Drop the accesses whose units have all been replaced since, and the oldest ones of too many."""
        kept = {
            key: one
            for key, one in self._kept.items()
            if (self._replaced[int(one.kind != 0)].take(one.at) <= one.time).any()
        }
        size = sum(one.at.size for one in kept.values())
        while len(kept) > _MOST or size > _MOST_UNITS:
            size -= kept.pop(next(iter(kept))).at.size
        self._kept, self._size, self._tidy_at = kept, size, min(_MOST, max(_TIDY_AT, 2 * len(kept)))


def _pairs(first: Array, last: Array, theirs: Array) -> tuple[Array, Array]:
    """Return each of the numbers from `first` to `last` beside its entry of `theirs`; only these two if there are
    many."""
    counts = last - first
    if counts.sum() > _MOST_PAIRS:
        return np.concatenate([first, last - 1]), np.concatenate([theirs, theirs])
    starts = np.cumsum(counts) - counts
    return np.repeat(first - starts, counts) + np.arange(counts.sum()), np.repeat(theirs, counts)
