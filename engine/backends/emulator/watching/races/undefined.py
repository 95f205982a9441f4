"""Where the undefined values go that a shuffle reads from lanes which are not there: are they stored?

Trees read beyond the lanes that they need and never use what comes of it, so that to read one is no mistake; to store
what was made of it is one. Of a choice between two values (selp) it is not known here which was taken: it is given the
benefit of the doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.register_use import reads, registers_of, writes
from engine.backends.emulator.ptx.syntax import Address, Instruction, Pair
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.records import Array


@dataclass(frozen=True)
class Taint:
    """The lanes that hold an undefined value, bool[T, B]; the .cu line of the shuffle, and a lane that it missed."""

    lanes: Array
    line: int
    missed: int


@dataclass(frozen=True)
class Stored:
    """An undefined value is stored: at which line, by which thread and column of the chunk."""

    line: int
    row: int
    column: int
    taint: Taint


class UndefinedValues:
    """The registers of a chunk of T by B lanes that hold undefined values."""

    def __init__(self, program: Program, rows: int, blocks: int) -> None:
        self._carry, self._shape = program.carry, (rows, blocks)
        self._taints: dict[int, Taint] = {}
        self._bits = 0
        self._pending: BasicBlock | None = None

    def enter(self, block: BasicBlock, mask: Mask) -> list[Stored]:
        """Lanes are about to execute a basic block. A shuffle at its start is followed up when it happens."""
        self._pending = None
        if block.body and traits_of(block.body[0].opcode).head == "shfl.sync":
            self._pending = block
            return []
        return self._follow(block.body, mask) if self._bits & (block.live_in | block.defs) else []

    def shuffle(self, line: int, mask: Mask, source: Array, nobody: Array | None) -> list[Stored]:
        """The shuffle that starts the block happens. `source`: the row that each row reads, (T, 1) or (T, columns of
        the mask); `nobody`: bool (T, 1) or (T, columns), the lanes whose source is not there."""
        block, self._pending = self._pending, None
        some = nobody is not None and nobody.any()
        if block is None or not (self._bits or some):
            return []
        target, value = block.body[0].operands[:2]
        made = np.zeros(self._shape, bool)
        missed, columns = -1, mask.columns
        if nobody is not None and some:
            made[:, columns] = nobody
            _, _, missed = first_lane(nobody, source)
        for index in self._taints.keys() & set(registers_of(value)):
            before = self._taints[index]
            held = before.lanes[:, columns]
            made[:, columns] |= np.take_along_axis(held, np.broadcast_to(source, held.shape), axis=0)
            if missed < 0:
                line, missed = before.line, before.missed
        for index in registers_of(target.first if isinstance(target, Pair) else target):
            self._set(index, mask, Taint(made, line, missed))
        return self._follow(block.body[1:], mask)

    def _follow(self, items: tuple[Instruction, ...], mask: Mask) -> list[Stored]:
        found = []
        for item in items:
            memory = traits_of(item.opcode).memory
            if memory in ("store", "atomic") and item.space != "local":
                found += self._stored(item, mask)
            sources = [] if memory else [self._taints[i] for i in reads(item, self._carry) if i in self._taints]
            if item.words[0] == "selp":
                sources = []
            lanes = np.logical_or.reduce([taint.lanes for taint in sources]) if sources else None
            for index in writes(item, self._carry):
                self._set(index, mask, None if lanes is None else replace(sources[0], lanes=lanes))
        return found

    def _stored(self, item: Instruction, mask: Mask) -> list[Stored]:
        values = [operand for operand in item.operands if not isinstance(operand, Address)]
        values = values[1:] if item.words[0] == "atom" else values
        found = []
        for index in {index for operand in values for index in registers_of(operand)} & self._taints.keys():
            taint = self._taints[index]
            held = taint.lanes[mask.place()] & (True if mask.dense is None else mask.dense)
            if held.any():
                row, column = (int(at[0]) for at in np.nonzero(held))
                found.append(Stored(item.line, int(mask.rows_at()[row]), int(mask.columns_at()[column]), taint))
        return found

    def _set(self, index: int, mask: Mask, taint: Taint | None) -> None:
        """The lanes of `mask` get a new value in a register. `taint`: where it is undefined, perhaps for others too."""
        before = self._taints.get(index)
        known = taint or before
        if known is None:
            return
        lanes = np.zeros(self._shape, bool) if before is None else before.lanes.copy()
        place = mask.place()
        new = np.zeros((mask.height, mask.width), bool) if taint is None else taint.lanes[place]
        lanes[place] = new if mask.dense is None else np.where(mask.dense, new, lanes[place])
        if lanes.any():
            self._taints[index] = replace(known, lanes=lanes)
            self._bits |= 1 << index
        elif before is not None:
            del self._taints[index]
            self._bits &= ~(1 << index)


def first_lane(lanes: Array, source: Array) -> tuple[int, int, int]:
    """(row, column, lane of the warp that it reads) of the first of these lanes, by column and then by row."""
    column = int(lanes.any(axis=0).argmax())
    row = int(lanes[:, column].argmax())
    return row, column, int(source[row, column if source.shape[1] > 1 else 0]) % WARP
