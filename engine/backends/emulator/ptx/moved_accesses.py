"""Accesses that the assembler moved across a branch: other lanes make them than in the PTX."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.backends.emulator.ptx.block_order import reached_blocks
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import reads, traits_of, writes
from engine.compile.assembly import SharedAccess
from engine.compile.control_flow import PREDICATED, deciding_branches


class Deciders:
    """The branches that decide whether a block of a program is executed, to compare with those of machine code.

    A branch is recognised by the PTX lines that it and its predicate come from. A branch of a loop may be missing in
    the machine code, because the assembler unrolls loops.
    """

    def __init__(self, program: Program) -> None:
        blocks = program.blocks
        self._ways = [block.successors for block in blocks]
        ends = (block.terminator for block in blocks)
        barriers = [end is not None and traits_of(end.opcode).control == "barrier" for end in ends]
        self._to_barriers = [() if ends_here else after for after, ends_here in zip(self._ways, barriers, strict=True)]
        self._deciding = deciding_branches(self._ways)
        self._origins = dict(_origins(program))
        self._every = frozenset({PREDICATED}).union(*(origin.all_lines for origin in self._origins.values()))
        self._loops = {branch for branch in self._origins if min(blocks[branch].successors) <= branch}

    def follows(self, start: int, index: int) -> bool:
        """Return whether block `index` can come behind block `start` without a barrier between them, and only once."""
        if index == start:
            return True
        again = (reached_blocks(self._ways, after, start) for after in self._ways[index] if after != start)
        return bool(reached_blocks(self._to_barriers, start) >> index & 1) and not any(
            one >> index & 1 for one in again
        )

    def fit(self, index: int, conditions: frozenset[int]) -> bool:
        """Return whether machine code with these `conditions` may be executed by the lanes of block `index`."""
        if not conditions <= self._every:  # a branch that the assembler made itself
            return True
        origins = self._origins
        own = [branch for branch in origins if self._deciding[index] >> branch & 1]
        known = frozenset[int]().union(*(origins[branch].all_lines for branch in own))
        foreign = (origins[branch].lines - known for branch in origins if branch not in own)
        return not any(conditions & lines for lines in foreign) and (
            PREDICATED in conditions
            or all(conditions & origins[branch].all_lines for branch in own if branch not in self._loops)
        )


def moved_accesses(program: Program, accesses: Sequence[SharedAccess], deciders: Deciders) -> frozenset[SharedAccess]:
    """Return the accesses that depend on other branches in the machine code than in the PTX."""
    at: dict[int, list[int]] = defaultdict(list)
    for block in program.blocks:
        for item in block.body:
            at[item.place].append(block.index)
    return frozenset(
        access for access in accesses if access.conditions is not None and at[access.place]
        if not any(deciders.fit(index, access.conditions) for index in at[access.place])
    )  # fmt: skip


@dataclass(frozen=True)
class _Origin:
    """A conditional branch: the PTX lines of it and its predicate; in `all_lines` also those of the compared values."""

    lines: frozenset[int]
    all_lines: frozenset[int]


def _origins(program: Program) -> Iterator[tuple[int, _Origin]]:
    """Yield each conditional branch by its block."""
    makers: dict[int, list[Instruction]] = defaultdict(list)
    for item in program.instructions:
        for index in writes(item, program.carry):
            makers[index].append(item)
    for block in program.blocks:
        last = block.terminator
        if last is None or len(set(block.successors)) < 2:
            continue
        lines, compared = {last.place}, set[int]()
        ahead, seen = list(reads(last, program.carry)), set[int]()
        while ahead:
            index = ahead.pop()
            if index in seen:
                continue
            seen.add(index)
            if program.widths[index] == 1:
                lines |= {item.place for item in makers[index]}
                ahead += [each for item in makers[index] for each in reads(item, program.carry)]
            elif len(makers[index]) == 1:
                compared.add(makers[index][0].place)
        yield block.index, _Origin(frozenset(lines - {0}), frozenset((lines | compared) - {0}))
