"""The innermost loops of a program, and which of their turns the assembler puts in front of a loop that it unrolls.

accesses_in_loops(program) -> the loop around each load and store

turn_ahead(program, loop) -> the lanes whose first turn is in front
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.backends.emulator.ptx.block_order import predecessors, reached_blocks
from engine.backends.emulator.ptx.program import Ahead, BasicBlock, Program, UnrolledLoop
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, Register
from engine.backends.emulator.ptx.traits import writes

_ALL_ONES = {"u32": (-1, 0xFFFFFFFF), "u64": (-1, 0xFFFFFFFFFFFFFFFF)}  # by type: -1 as the PTX may write it


def accesses_in_loops(program: Program) -> Iterator[tuple[int, UnrolledLoop]]:
    """Yield the PTX line of each load and store in an innermost loop, with the loop."""
    sources = predecessors([block.successors for block in program.blocks])
    ends = [(start, block.index) for block in program.blocks for start in block.successors if start <= block.index]
    for start, end in ends:
        inside = 1 << start | (reached_blocks(sources, end, start) if end != start else 0)
        if any(other != (start, end) and inside >> other[1] & 1 for other in ends):
            continue  # a loop around others, or with several ends
        for block in program.blocks:
            if inside >> block.index & 1:
                yield from ((item.place, UnrolledLoop(start, end)) for item in loads_and_stores(block))


def loads_and_stores(block: BasicBlock) -> list[Instruction]:
    """Return the loads and stores of shared and global memory in a block."""
    return [item for item in block.body if item.space in ("shared", "global") and item.words[0] in ("ld", "st")]


def turn_ahead(program: Program, loop: UnrolledLoop) -> Ahead:
    """Return the lanes whose first turn is in front of the pieces, if the machine code has such a turn at all.

    The pieces are for as long as `counter < bound` (or `>`, if it falls) holds before a turn. `counter <= bound`, which
    the PTX tests behind a turn, does the same but for a single turn; a counter that starts from -1 as an unsigned
    number is below no bound. Of other tests the assembler's does not fail.
    """
    last = program.blocks[loop.last]
    test = next((item for item in reversed(last.body) if item.words[0] == "setp"), None)
    if test is None or not isinstance(test.operands[1], Register):
        return "none"
    counter, comparison, kind = test.operands[1].index, test.words[1], test.words[2]
    inside = range(loop.first, loop.last + 1)
    defined = [
        (block.index in inside, item)
        for block in program.blocks
        for item in block.body
        if counter in writes(item, program.carry)
    ]
    if comparison in ("le", "ge") and any(here and _value(item, "add") in (1, -1) for here, item in defined):
        return "those of one turn"
    starts = [_value(item, "mov") for here, item in defined if not here]
    if comparison == "lt" and len(starts) == 1 and starts[0] in _ALL_ONES.get(kind, ()):
        return "all"
    return "none"


def _value(item: Instruction, word: str) -> int | None:
    """Return the number that a `mov` sets or an `add` adds."""
    number = item.operands[-1]
    return number.value if item.words[0] == word and isinstance(number, Immediate) else None
