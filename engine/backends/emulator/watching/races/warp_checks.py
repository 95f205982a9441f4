"""Check warp-wide instructions: wrong member masks, incomplete warps, shuffles that read from inactive lanes.

Tree reductions read beyond the lanes they need and never use the result, so reading an undefined value is no mistake;
storing a value computed from it is one. For a choice between two values (selp) the taken one is not known here, and the
kernel gets the benefit of the doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Address, Instruction, Pair
from engine.backends.emulator.ptx.traits import reads, registers_of, traits_of, writes
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.races.findings import Findings
from engine.records import Array

_EVERYONE = (1 << WARP) - 1  # the mask of a whole warp


class WarpMembers:
    """Checks the lanes that reach the warp-wide instructions and barriers of a launch."""

    def __init__(self, machine: Machine, findings: Findings) -> None:
        self._machine, self._findings = machine, findings

    def check(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Check a warp-wide instruction; `members`: the lanes that each lane names."""
        if traits_of(opcode).converges == "warp":
            self._not_whole(line, opcode, mask)
        elif members.size > 1 or int(members.flat[0]) != _EVERYONE:
            self._unnamed(line, opcode, mask, members)

    def incomplete(self, line: int, opcode: str, mask: Mask) -> None:
        """Report an instruction about to run although lanes it names will never arrive."""
        if traits_of(opcode).converges == "named":
            self._report(line, opcode, mask, 0, 0, "names lanes that never reach it")

    def at_barrier(self, line: int, mask: Mask, alive: Mask) -> None:
        """Report warps that reach a block barrier incompletely; `alive`: the lanes that have not ended."""
        here, living = mask.full_dense(), alive.full_dense()
        warps = (here.shape[0] // WARP, WARP, here.shape[1])
        some = here.reshape(warps).any(axis=1)
        lacking = (living & ~here).reshape(warps).any(axis=1) & some
        if not lacking.any():
            return
        warp, column = (int(i[0]) for i in np.nonzero(lacking))
        absent = np.flatnonzero((living & ~here)[warp * WARP : warp * WARP + WARP, column])
        block = self._machine.lane_name(0, column).split(" of ")[1]
        message = (
            f"line {line}: lanes of warp {warp} of {block} reach __syncthreads() while {in_words(absent)} of the same "
            f"warp {'is' if absent.size == 1 else 'are'} elsewhere; all threads of a block must reach the same "
            "__syncthreads()."
        )
        self._findings.report("divergent-barrier", line, None, message)

    def _not_whole(self, line: int, opcode: str, mask: Mask) -> None:
        lanes = mask.row_lanes()
        warps = lanes.reshape(-1, WARP, lanes.shape[1])
        lacking = warps.any(axis=1) & ~warps.all(axis=1)
        if lacking.any():
            warp, column = (int(at[0]) for at in np.nonzero(lacking))
            absent = in_words(np.flatnonzero(~warps[warp, :, column]))
            block = self._machine.lane_name(0, int(mask.columns_at()[column])).split(" of ")[1]
            message = (
                f"line {line}: warp {warp} of {block} executes {traits_of(opcode).called} without its {absent}; all "
                f"{WARP} lanes of a warp must execute it together, else the result is undefined."
            )
            self._findings.report("divergent-barrier", line, None, message)

    def _unnamed(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        itself = members >> (mask.rows_at() % WARP).astype(np.uint32)[:, None] & np.uint32(1)
        lacking = np.broadcast_to(itself == 0, (mask.height, mask.width))
        lacking = lacking if mask.dense is None else lacking & mask.dense
        if lacking.any():
            column = int(lacking.any(axis=0).argmax())
            self._report(line, opcode, mask, int(lacking[:, column].argmax()), column, "does not name itself")

    def _report(self, line: int, opcode: str, mask: Mask, row: int, column: int, flaw: str) -> None:
        lane = self._machine.lane_name(int(mask.rows_at()[row]), int(mask.columns_at()[column]))
        what = traits_of(opcode).called or "a warp-wide function"
        clause = f"{lane} executes {what} with a mask that {flaw}"
        message = f"line {line}: {clause}; on a GPU the result is undefined."
        self._findings.report("divergent-barrier", line, None, message)


def in_words(numbers: Array, noun: str = "lane") -> str:
    """Format ascending numbers as "lane 3", "lanes 0 to 15" or "lanes 1, 3, 5, 7 …"."""
    if numbers.size == 1:
        return f"{noun} {numbers[0]}"
    if numbers[-1] - numbers[0] + 1 == numbers.size:
        return f"{noun}s {numbers[0]} to {numbers[-1]}"
    shown = ", ".join(str(number) for number in numbers[:4])
    return f"{noun}s {shown}{' …' if numbers.size > 4 else ''}"


@dataclass(frozen=True)
class Taint:
    """The lanes with an undefined value, bool[T, B]; the .cu line of the shuffle, and an inactive lane that it read."""

    lanes: Array
    line: int
    missed: int


@dataclass(frozen=True)
class StoredValue:
    """The store of an undefined value: its line, and the thread and column in the chunk."""

    line: int
    row: int
    column: int
    taint: Taint


class UndefinedValues:
    """The registers with undefined values, in a chunk of T by B lanes."""

    def __init__(self, program: Program, rows: int, blocks: int) -> None:
        self._carry, self._shape = program.carry, (rows, blocks)
        self._taints: dict[int, Taint] = {}
        self._bits = 0
        self._pending: BasicBlock | None = None

    def enter(self, block: BasicBlock, mask: Mask) -> list[StoredValue]:
        """Follow values through a basic block before it runs. A shuffle at its start is handled when it runs."""
        self._pending = None
        if block.body and traits_of(block.body[0].opcode).head == "shfl.sync":
            self._pending = block
            return []
        return self._follow(block.body, mask) if self._bits & (block.live_in | block.defs) else []

    def shuffle(self, line: int, mask: Mask, source: Array, nobody: Array | None) -> list[StoredValue]:
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
        missed, columns = -1, mask.columns
        if nobody is not None and some:
            made[:, columns] = nobody
            _, _, missed = first_reader(nobody, source)
        for index in self._taints.keys() & set(registers_of(value)):
            before = self._taints[index]
            held = before.lanes[:, columns]
            made[:, columns] |= np.take_along_axis(held, np.broadcast_to(source, held.shape), axis=0)
            if missed < 0:
                line, missed = before.line, before.missed
        for index in registers_of(target.first if isinstance(target, Pair) else target):
            self._set(index, mask, Taint(made, line, missed))
        return self._follow(block.body[1:], mask)

    def _follow(self, items: tuple[Instruction, ...], mask: Mask) -> list[StoredValue]:
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

    def _stored(self, item: Instruction, mask: Mask) -> list[StoredValue]:
        values = [operand for operand in item.operands if not isinstance(operand, Address)]
        values = values[1:] if item.words[0] == "atom" else values
        found = []
        for index in {index for operand in values for index in registers_of(operand)} & self._taints.keys():
            taint = self._taints[index]
            held = taint.lanes[mask.place()] & (True if mask.dense is None else mask.dense)
            if held.any():
                row, column = (int(at[0]) for at in np.nonzero(held))
                found.append(StoredValue(item.line, int(mask.rows_at()[row]), int(mask.columns_at()[column]), taint))
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


class ShuffleCheck:
    """The shuffles of a chunk, with results in `findings`."""

    def __init__(self, machine: Machine, findings: Findings, info: ChunkInfo) -> None:
        self._machine, self._findings = machine, findings
        self._undefined = UndefinedValues(machine.program, info.rows, info.blocks)

    def enter(self, block: BasicBlock, mask: Mask) -> None:
        """Follow values through a basic block."""
        self._report_stores(self._undefined.enter(block, mask))

    def shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """Check a shuffle; `source`: the row that each row reads."""
        found = inactive_sources(mask, source)
        if found is None:
            self._report_stores(self._undefined.shuffle(line, mask, source, None))
            return
        nobody, whole_warps = found
        self._report_stores(self._undefined.shuffle(line, mask, source, nobody & ~whole_warps))
        if whole_warps.any():
            row, column, read = first_reader(whole_warps, source)
            lane = self._machine.lane_name(row, int(mask.columns_at()[column]))
            message = (
                f"line {line}: all lanes of the warp of {lane} that execute this shuffle read from lanes that do not "
                f"execute it, here from lane {read}; such a value is undefined."
            )
            self._findings.report("warp-race", line, None, message)

    def _report_stores(self, found: list[StoredValue]) -> None:
        for one in found:
            lane, shuffle = self._machine.lane_name(one.row, one.column), one.taint.line
            message = (
                f"line {one.line}: {lane} stores a value computed from the shuffle at line {shuffle}, which read lane "
                f"{one.taint.missed}; that lane did not execute the shuffle, so the value is undefined."
            )
            self._findings.report("warp-race", one.line, shuffle, message)


def inactive_sources(mask: Mask, source: Array) -> tuple[Array, Array] | None:
    """Return (lanes that read from an inactive lane; those in whose warp all lanes do), bool[T, 1 or C]; None if none
    does.

    `source`: the row that each row reads, (T, 1) or (T, columns of the mask). The register of an inactive lane is
    undefined, but tree reductions read beyond the lanes they need and never use the result. So a shuffle alone is a
    mistake only if no lane of a warp reads from an active lane.
    """
    active = mask.row_lanes()
    if active.all():
        return None
    shape = (active.shape[0], max(active.shape[1], source.shape[1]))
    active, source = np.broadcast_to(active, shape), np.broadcast_to(source, shape)
    nobody = active & ~np.take_along_axis(active, source, axis=0)
    if not nobody.any():
        return None
    by_warp = (-1, WARP, shape[1])
    partly = (active & ~nobody).reshape(by_warp).any(axis=1)
    return nobody, nobody & ~np.repeat(partly, WARP, axis=0)
