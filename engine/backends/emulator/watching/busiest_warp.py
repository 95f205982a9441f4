"""Count what the busiest warp does: if one warp works for the others, they wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.state.events import Access, ChunkInfo, Loads
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.counters import LineCounter, counts, warps_of
from engine.records import Array

_MASKS = 1 << 10  # that wait to be counted, and cannot be freed before


class BusiestWarp(LineCounter):
    """The most that one warp does in a launch: at a line, and at all lines together."""

    def __init__(self) -> None:
        super().__init__()
        self._most = 0
        self._done: dict[tuple[int, int], tuple[Mask, list[int]]] = {}  # by the place and the mask
        self._of_warps: dict[int, Array] = {}  # place -> int64[T / 32, B] of this chunk

    def lines_at(self, place: int) -> Iterable[tuple[int, int]]:
        """Return the lines of a place, and how often each counts."""
        return ((place, 1),)

    def on_chunk(self, info: ChunkInfo) -> None:
        """Find the busiest warp of the last chunk: the next chunk has other blocks."""
        self.settle()

    def come_to(self, place: int, mask: Mask) -> None:
        """Count a place for a mask; `settle` finds its warps, as a loop has few masks."""
        key = place, id(mask)
        found = self._done.get(key)
        if found is None:
            if len(self._done) > _MASKS:
                self._add_up()
            found = self._done[key] = (mask, [0])
        found[1][0] += 1

    def settle(self) -> None:
        """Find the busiest warp of the chunk."""
        self._add_up()
        by_line: dict[int, Array] = {}
        for place, of_warps in self._of_warps.items():
            for line, amount in self.lines_at(place):
                by_line[line] = by_line.get(line, 0) + of_warps * amount
        for line, of_warps in by_line.items():
            row = self.row(line)
            row[0] = max(row[0], int(of_warps.max()))
        if by_line:
            self._most = max(self._most, int(np.sum(list(by_line.values()), axis=0).max()))
        self._of_warps = {}

    def totals(self) -> dict[str, float]:
        """Return the most at all lines together."""
        self.settle()
        return {self.names[0]: self._most}

    def _add_up(self) -> None:
        for (place, _), (mask, times) in self._done.items():
            added = warps_of(mask) * times[0]
            before = self._of_warps.get(place)
            self._of_warps[place] = added if before is None else before + added
        self._done = {}


@counts
class BusiestWarpLoads(BusiestWarp):
    """The loads from global memory of the warp that makes the most."""

    names = ("busiest_warp_loads",)

    def on_access(self, access: Access) -> None:
        """Count a load from global memory."""
        if access.site.op == "ld" and access.space == "global" and not {"const", "param"} & access.site.words:
            self.come_to(access.site.line, access.mask)

    def on_loads(self, loads: Loads) -> None:
        """Count none: these are loads from shared memory."""


@counts
class BusiestWarpInstructions(BusiestWarp):
    """The instructions of the warp that gets the most."""

    names = ("busiest_warp_instructions",)

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, BasicBlock] = {}

    def on_launch(self, machine: Machine) -> None:
        """Forget the basic blocks of the last launch."""
        super().on_launch(machine)
        self._blocks = {}

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Count a basic block for its mask."""
        self._blocks[block.index] = block
        self.come_to(block.index, mask)

    def lines_at(self, place: int) -> Iterable[tuple[int, int]]:
        """Return the lines of a basic block's instructions."""
        return Counter(item.line for item in self._blocks[place].issued).items()
