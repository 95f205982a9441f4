"""Count the activity of warps per .cu line: instructions, branches, barriers, warp synchronisations, shuffles.

All counts but `thread_instructions` are of warps, and of the PTX, which the GPU's compiler may shorten. A counter is a
registered class:

@counts
class Shuffles(LineCounter):
    names = ("shuffles",)

def on_warp_sync(self, line, opcode, mask, members):
    self.count(line, "shuffles", mask.warps)

The row of a counter in `engine.records.counters` has its title and meaning; that module also has the derived counters.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.observer import Observer
from engine.records import Array


class LineCounter(Observer):
    """Counts over all launches of a run. `names`: the counters. The total is the sum over lines, or the maximum for the
    names in `highest`."""

    names: ClassVar[tuple[str, ...]] = ()
    highest: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.at = {name: at for at, name in enumerate(self.names)}
        self._lines: dict[tuple[str, int], list[int]] = {}
        self._rows: dict[int, list[int]] = {}  # of the launch's file
        self._file = ""

    def on_launch(self, machine: Machine) -> None:
        """Attribute the following lines to this launch's file."""
        self.settle()
        self._file, self._rows = machine.file_name, {}

    def row(self, line: int) -> list[int]:
        """Return the counts of a line of the launch's file; a name's position in it is `at[name]`."""
        row = self._rows.get(line)
        if row is None:
            row = self._rows[line] = self._lines.setdefault((self._file, line), [0] * len(self.names))
        return row

    def count(self, line: int, name: str, amount: int) -> None:
        """Add an amount to a counter of a line."""
        self.row(line)[self.at[name]] += amount

    def settle(self) -> None:
        """Count deferred events; called when a launch has ended."""

    def totals(self) -> dict[str, float]:
        """Return the totals over all lines and files."""
        self.settle()
        columns = zip(*self._lines.values(), strict=True) if self._lines else [(0,)] * len(self.names)
        return {
            name: max(column) if name in self.highest else sum(column)
            for name, column in zip(self.names, columns, strict=True)
        }

    def by_line(self, file_name: str) -> dict[int, dict[str, float]]:
        """Return the counts per line of a file, in the order of lines."""
        self.settle()
        return {
            line: dict(zip(self.names, row, strict=True))
            for (name, line), row in sorted(self._lines.items())
            if name == file_name and line
        }


ALL_COUNTERS: list[type[LineCounter]] = []  # the counters of an ordinary run
Kind = TypeVar("Kind", bound=type[LineCounter])


def counts(kind: Kind) -> Kind:
    """Register a class for every ordinary run. Asserts that no counter is registered twice."""
    known = {name for other in ALL_COUNTERS for name in other.names}
    assert not known & set(kind.names), f"{kind.names} are counted twice"
    ALL_COUNTERS.append(kind)
    return kind


@counts
class Instructions(LineCounter):
    """Issued instructions: every instruction of a basic block is issued as often as the block."""

    names = ("warp_instructions", "thread_instructions")

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, tuple[BasicBlock, list[int]]] = {}

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Count the warps and lanes of a block; `settle` attributes them to lines."""
        found = self._blocks.get(block.index)
        if found is None:
            found = self._blocks[block.index] = (block, [0, 0])
        issued = found[1]
        issued[0] += mask.warps
        issued[1] += mask.lanes

    def settle(self) -> None:
        """Attribute the executions of every basic block to the lines of its instructions."""
        for block, issued in self._blocks.values():
            for item in block.issued:
                for name, amount in zip(self.names, issued, strict=True):
                    self.count(item.line, name, amount)
        self._blocks = {}


@counts
class Branches(LineCounter):
    """Conditional branches, and the divergent ones: warps that went both ways."""

    names = ("branches", "divergent_branches")

    def __init__(self) -> None:
        super().__init__()
        self._pairs: dict[tuple[int, int], tuple[int, int, Mask, Mask]] = {}

    def on_chunk(self, info: ChunkInfo) -> None:
        """Forget the masks of the last chunk."""
        self._pairs.clear()

    def on_branch(self, block: BasicBlock, taken: Mask | None, other: Mask | None) -> None:
        """Count a branch for the warps with a lane on either side."""
        warps, divergent = self._split_of(taken, other)
        self.count(block.line, "branches", warps)
        self.count(block.line, "divergent_branches", divergent)

    def _split_of(self, taken: Mask | None, other: Mask | None) -> tuple[int, int]:
        if taken is None or other is None:
            only = taken or other
            return (only.warps if only else 0), 0
        key = (id(taken), id(other))
        found = self._pairs.get(key)
        if found is None:
            flat = taken.dense is None and other.dense is None
            if flat and taken.rows is other.rows:  # whole blocks went one way or the other
                issued, both = taken.warps + other.warps, 0
            else:
                alike = flat and taken.columns is other.columns  # all blocks went the same ways
                a, b = (mask.warp_bits if alike else warps_of(mask) for mask in (taken, other))
                times = taken.width if alike else 1
                issued, both = int(np.count_nonzero(a | b)) * times, int(np.count_nonzero(a & b)) * times
            found = self._pairs[key] = (issued, both, taken, other)
        return found[0], found[1]


@counts
class BarrierArrivals(LineCounter):
    """Arrivals of warps at a barrier of their block."""

    names = ("barriers",)

    def on_barrier(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Count the arriving warps."""
        self.count(block.line, "barriers", mask.warps)


@counts
class WarpSynchronisations(LineCounter):
    """Instructions for which the lanes of a warp converge, and the shuffles among them."""

    names = ("warp_syncs", "shuffles")

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Count a warp-wide instruction."""
        self.count(line, "warp_syncs", mask.warps)
        if traits_of(opcode).head == "shfl.sync":
            self.count(line, "shuffles", mask.warps)


def warps_of(mask: Mask) -> Array:
    """Return the warps with an active lane, bool[T / 32, B]."""
    return mask.warp_bits if mask.dense is not None else mask.warp_bits & mask.columns
