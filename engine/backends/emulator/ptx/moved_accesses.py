"""Accesses that the assembler moved across a branch: other lanes make them than in the PTX."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import reads, writes
from engine.compile.assembly import SharedAccess
from engine.compile.control_flow import PREDICATED, deciding_branches


def moved_lines(program: Program, accesses: Sequence[SharedAccess]) -> frozenset[int]:
    """Return the .cu lines whose access depends on other branches in the machine code than in the PTX.

    A branch is recognised by the PTX lines that it and its predicate come from. A branch of a loop may be missing in
    the machine code, because the assembler unrolls loops.
    """
    blocks = program.blocks
    deciding = deciding_branches([block.successors for block in blocks])
    origins = dict(_origins(program))
    every = frozenset({PREDICATED}).union(*(origin.all_lines for origin in origins.values()))
    loops = {branch for branch in origins if min(blocks[branch].successors) <= branch}
    at: dict[int, list[tuple[int, Instruction]]] = defaultdict(list)
    for block in blocks:
        for item in block.body:
            at[item.place].append((block.index, item))

    def fits(index: int, conditions: frozenset[int]) -> bool:
        if not conditions <= every:  # a branch that the assembler made itself
            return True
        own = [branch for branch in origins if deciding[index] >> branch & 1]
        known = frozenset[int]().union(*(origins[branch].all_lines for branch in own))
        foreign = (origins[branch].lines - known for branch in origins if branch not in own)
        return not any(conditions & lines for lines in foreign) and (
            PREDICATED in conditions
            or all(conditions & origins[branch].all_lines for branch in own if branch not in loops)
        )

    return frozenset(
        item.line for access in accesses if access.conditions is not None and at[access.place]
        if not any(fits(index, access.conditions) for index, _ in at[access.place])
        for _, item in at[access.place]
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
