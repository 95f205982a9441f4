"""Asynchronous copies under way to shared memory.

A copy may write at any time between its start and the end of its thread's wait for it. Nobody may use its place
meanwhile, its own thread included: what is read there is the old content or the new one, and who writes last is open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.records import Array

_PAGE = 64  # units that are looked at together


@dataclass(frozen=True)
class Started:
    """Copies to some units: of each the lane that started it, or -1 where none is under way, and at which line."""

    lane: Array
    line: Array


class CopiesUnderWay:
    """Those to the `units` units of a shadow."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._started: Started | None = None
        self._pages: int | None = 0

    @property
    def used(self) -> bool:
        """False while nobody has started any."""
        return self._started is not None

    def repeated(self, steps: Array) -> CopiesUnderWay:
        """The same for several blocks that did the same so far, as `Shadow.repeated` has it."""
        made = CopiesUnderWay(self._units * steps.size)
        if self._started is not None:
            lane, line = self._started.lane[: self._units, None], self._started.line[: self._units]
            under_way = np.flatnonzero(np.repeat(lane >= 0, steps.size))
            made.start(under_way, (lane + steps).reshape(-1)[under_way], np.repeat(line, steps.size)[under_way])
        return made

    def start(self, at: Array, lanes: Array, line: Array | int) -> None:
        """Lanes start copies to the units `at`."""
        if self._started is None:
            whole = -(-self._units // _PAGE) * _PAGE
            self._started = Started(np.full(whole, -1, np.int64), np.zeros(whole, np.int32))
        self._started.lane[at], self._started.line[at] = lanes, line
        self._pages = None

    def arrive(self, at: Array) -> None:
        """The copies to these units have been waited for."""
        if self._started is not None:
            self._started.lane[at] = -1
            self._pages = None

    def started(self, at: Array) -> Started | None:
        """The copies under way to some units; None: to none of them."""
        if self._started is None:
            return None
        lane = self._started.lane.take(at)
        return Started(lane, self._started.line.take(at)) if (lane >= 0).any() else None

    def meet(self, at: Array, pages: int) -> bool:
        """Whether a copy is under way to any of the units `at`, which lie in these pages."""
        if self._started is None:
            return False
        if self._pages is None:
            used = (self._started.lane >= 0).reshape(-1, _PAGE).any(axis=1)
            self._pages = int.from_bytes(np.packbits(used, bitorder="little").tobytes(), "little")
        return bool(self._pages & pages) and self.started(at) is not None

    def left(self) -> list[tuple[int, int, int]]:
        """Of each line with copies that nobody has waited for: (the line, the first unit, the lane)."""
        if self._started is None:
            return []
        units = np.flatnonzero(self._started.lane >= 0)
        lines, first = np.unique(self._started.line[units], return_index=True)
        return [(line, unit, int(self._started.lane[unit]))
                for line, unit in zip(lines.tolist(), units[first].tolist(), strict=True)]  # fmt: skip


def pages_of(at: Array) -> int:
    """The pages between the first and the last of some units, as bits."""
    return (1 << int(at.max()) // _PAGE + 1) - (1 << int(at.min()) // _PAGE)
