"""Follow undefined values through registers: those of shuffles that read from inactive lanes, and those of variables
that a thread has not set.

Tree reductions read beyond the lanes they need and never use the result, so reading an undefined value is no mistake;
to store a value computed from it, to decide by it about a store, to use it in an address or a vote is one. For a choice
between two values (selp) the taken one is not known here, and the kernel gets the benefit of the doubt. Whether it was
a variable without a value is seen at the start of the next basic block.

A variable without a value may be copied, as a tile's elements beyond the border are; arithmetic with it is a mistake as
soon as the result is stored or decides a branch, and so is setting bits in it. The compiler may compute ahead of a
condition and select afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.ptx.dataflow import MOVING, decides_about_memory
from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Address, Instruction, Operand, Pair, Register
from engine.backends.emulator.ptx.traits import reads, registers_of, traits_of, writes
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import Registers, fetch, numbers_of
from engine.backends.emulator.registers.values import UNSIGNED, plain
from engine.backends.emulator.state.memory import UNWRITTEN_PARTS
from engine.records import Array

# Instructions that copy a value, or put its parts together.
_COPYING = MOVING | {"and", "or", "xor", "not", "shl", "shr", "cvt", "lop3"}


# Instructions whose result for all lanes depends on a value of each.
_OF_ALL_LANES = {
    "vote.sync": "votes with a value computed from",
    "match.any.sync": "compares a value computed from",
    "match.all.sync": "compares a value computed from",
    "redux.sync": "adds or compares a value computed from",
}


@dataclass(frozen=True)
class Taint:
    """The lanes with an undefined value, bool[T, B]; the .cu line of the shuffle, and an inactive lane that it read.

    Line 0: a variable without a value. `computed`: arithmetic has read it. `part`: it is only a part of the variable,
    shifted or masked, which `or` puts together with others.
    """

    lanes: Array
    line: int = 0
    missed: int = -1
    computed: bool = False
    part: bool = False

    @property
    def of_shuffle(self) -> bool:
        """Return whether it comes from a shuffle."""
        return self.line > 0

    @property
    def counts(self) -> bool:
        """Return whether to store it is a mistake."""
        return self.computed or self.of_shuffle


@dataclass(frozen=True)
class UndefinedUse:
    """What a thread does with an undefined value: its line, and the thread and column in the chunk."""

    line: int
    row: int
    column: int
    taint: Taint
    verb: str


class UndefinedValues:
    """The registers with undefined values, in a chunk of T by B lanes."""

    def __init__(self, program: Program, rows: int, blocks: int) -> None:
        self._program, self._carry, self._widths, self._shape = program, program.carry, program.widths, (rows, blocks)
        unset = Taint(np.ones(self._shape, bool))
        self._taints: dict[int, Taint] = dict.fromkeys(numbers_of(program.unset), unset)
        self._bits = program.unset
        self._pending: BasicBlock | None = None
        self._doubts: dict[int, Array] = {}  # the lanes whose choice may have taken a variable without a value

    def enter(self, block: BasicBlock, mask: Mask, registers: Registers) -> list[UndefinedUse]:
        """Follow values through a basic block before it runs. A shuffle at its start is handled when it runs."""
        self._pending = None
        for index in self._doubts.keys() & set(numbers_of(block.live_in)) if self._doubts else ():
            self._resolve(index, mask, registers)
        if block.body and traits_of(block.body[0].opcode).head == "shfl.sync":
            self._pending = block
            return []
        return self._through(block, block.body, mask) if self._bits & (block.live_in | block.defs) else []

    def shuffle(self, line: int, mask: Mask, source: Array, nobody: Array | None) -> list[UndefinedUse]:
        """Follow values through the shuffle at the start of a block.

        `source`: the row that each row reads, (T, 1) or (T, columns of the mask); `nobody`: the lanes with an inactive
        source, bool (T, 1) or (T, columns).
        """
        block, self._pending = self._pending, None
        some = nobody is not None and nobody.any()
        if block is None or not (self._bits or some):
            return []
        target, value = block.body[0].operands[:2]
        made = np.zeros(self._shape, bool)
        missed, columns, computed = -1, mask.columns, False
        if nobody is not None and some:
            made[:, columns] = nobody
            _, _, missed = first_reader(nobody, source)
        for index in self._taints.keys() & set(registers_of(value)):
            before = self._taints[index]
            held = before.lanes[:, columns]
            made[:, columns] |= np.take_along_axis(held, np.broadcast_to(source, held.shape), axis=0)
            if missed < 0:
                line, missed, computed = before.line, before.missed, before.computed
        for index in registers_of(target.first if isinstance(target, Pair) else target):
            self._set(index, mask, Taint(made, line, missed, computed))
        return self._through(block, block.body[1:], mask)

    def _resolve(self, index: int, mask: Mask, registers: Registers) -> None:
        """Find which lanes have chosen a variable without a value: they hold its pattern."""
        local, doubt = registers.copy(), self._doubts[index]
        fetch((index,), registers, local, mask)
        value = plain(local[index])
        held = value.view(UNSIGNED[8 * value.itemsize]) == UNWRITTEN_PARTS[value.itemsize]
        lanes = np.zeros(self._shape, bool)
        lanes[mask.place()] = held
        lanes &= doubt & mask.full_dense()
        self._doubts[index] = doubt & ~mask.full_dense()
        if not self._doubts[index].any():
            del self._doubts[index]
        if lanes.any():
            before = self._taints.get(index)
            self._taints[index] = Taint(lanes) if before is None else replace(before, lanes=before.lanes | lanes)
            self._bits |= 1 << index

    def _through(self, block: BasicBlock, items: tuple[Instruction, ...], mask: Mask) -> list[UndefinedUse]:
        """Follow values through instructions of a block, and its branch."""
        found, end = self._follow(items, mask), block.terminator
        if end is not None and end.guard is not None:
            uses = self._used((end.guard.index,), end.line, mask, "decides by")
            found += [
                use for use in uses if not use.taint.of_shuffle or decides_about_memory(self._program, block.index)
            ]
        return found

    def _follow(self, items: tuple[Instruction, ...], mask: Mask) -> list[UndefinedUse]:
        found = []
        for item in items:
            traits = traits_of(item.opcode)
            if traits.memory in ("store", "atomic") and item.space != "local":
                found += self._stored(item, mask)
            if traits.memory:
                at = {index for each in item.operands if isinstance(each, Address) for index in registers_of(each)}
                found += self._used(at, item.line, mask, "uses an address computed from", copied=True)
            if traits.head in _OF_ALL_LANES:
                found += self._used(registers_of(item.operands[1]), item.line, mask, _OF_ALL_LANES[traits.head], True)
            taint = None if traits.memory or traits.head in _OF_ALL_LANES else self._result(item)
            doubt = self._doubtful(item) if taint is None and item.words[0] in ("selp", "mov") else None
            for index in writes(item, self._carry):
                self._set(index, mask, taint)
                self._doubt(index, mask, doubt)
        return found

    def _doubtful(self, item: Instruction) -> Array | None:
        """Return the lanes that may get a copy of a variable without a value."""
        found = None
        for index in {index for operand in item.operands[1:3] for index in registers_of(operand)}:
            taint, lanes = self._taints.get(index), self._doubts.get(index)
            if lanes is None and taint is not None and not taint.counts and not taint.part:
                lanes = taint.lanes
            if lanes is not None:
                found = lanes if found is None else found | lanes
        return found

    def _doubt(self, index: int, mask: Mask, lanes: Array | None) -> None:
        """Note the lanes of `mask` that may have got a copy of a variable without a value in a register."""
        before = self._doubts.get(index)
        if self._widths[index] // 8 not in UNWRITTEN_PARTS or (lanes is None and before is None):
            return
        here = mask.full_dense()
        after = (False if before is None else before & ~here) | (False if lanes is None else lanes & here)
        if np.any(after):
            self._doubts[index] = np.asarray(after)
        elif before is not None:
            del self._doubts[index]

    def _result(self, item: Instruction) -> Taint | None:
        """Return the taint of an instruction's result; None: it is defined, or may be."""
        if item.words[0] == "selp":
            return self._chosen(*item.operands[1:4])
        sources = [self._taints[i] for i in reads(item, self._carry) if i in self._taints]
        if item.words[0] == "wgmma":  # its first product may replace the sums
            sources = [taint for taint in sources if taint.of_shuffle]
        elif item.words[-1] == "pred" and item.words[0] in ("and", "or"):  # one operand alone may decide
            inputs = [operand for operand in item.operands[1:] if isinstance(operand, Register)]
            sources = sources if len(sources) == len(inputs) else []
        if not sources:
            return None
        first = next((taint for taint in sources if taint.counts), sources[0])
        sets_bits = item.words[0] in ("or", "xor") and item.words[-1] != "pred"
        computed = (
            first.computed or item.words[0] not in _COPYING or (sets_bits and not all(one.part for one in sources))
        )
        part = first.part or item.words[0] not in ("mov", "or", "xor")
        lanes = np.logical_or.reduce([taint.lanes for taint in sources])
        return replace(first, lanes=lanes, computed=computed, part=part)

    def _chosen(self, one: Operand, two: Operand, condition: Operand) -> Taint | None:
        """Return the taint of a choice: of its condition, or of both values."""
        first, second, by = (self._taint_of(each) for each in (one, two, condition))
        if by is not None:
            return by
        if first is None or second is None:
            return None
        return replace(first, lanes=first.lanes & second.lanes, computed=first.computed or second.computed)

    def _taint_of(self, operand: Operand) -> Taint | None:
        """Return the taint of an operand."""
        taints = (self._taints.get(index) for index in registers_of(operand))
        return next((taint for taint in taints if taint is not None), None)

    def _stored(self, item: Instruction, mask: Mask) -> list[UndefinedUse]:
        values = [operand for operand in item.operands if not isinstance(operand, Address)]
        values = values[1:] if item.words[0] == "atom" else values
        registers = {index for operand in values for index in registers_of(operand)}
        return self._used(registers, item.line, mask, "stores a value computed from")

    def _used(
        self, registers: Iterable[int], line: int, mask: Mask, verb: str, copied: bool = False
    ) -> list[UndefinedUse]:
        """Return the uses of those of the registers whose undefined values count. `copied`: copies count, too."""
        found = []
        for index in registers:
            taint = self._taints.get(index)
            if taint is None or not (taint.counts or copied):
                continue
            held = taint.lanes[mask.place()] & (True if mask.dense is None else mask.dense)
            if held.any():
                row, column = (int(at[0]) for at in np.nonzero(held))
                found.append(UndefinedUse(line, int(mask.rows_at()[row]), int(mask.columns_at()[column]), taint, verb))
        return found

    def _set(self, index: int, mask: Mask, taint: Taint | None) -> None:
        """Give the lanes of `mask` a new value in a register. `taint`: set if it is undefined, possibly for other lanes
        too."""
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


def first_reader(lanes: Array, source: Array) -> tuple[int, int, int]:
    """Return (row, column, lane of the warp that it reads) of the first of these lanes, by column and then by row."""
    column = int(lanes.any(axis=0).argmax())
    row = int(lanes[:, column].argmax())
    return row, column, int(source[row, column if source.shape[1] > 1 else 0]) % WARP
