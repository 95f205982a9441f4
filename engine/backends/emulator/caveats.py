"""Where counts cannot be a GPU's, told from the program: the one place that knows, for all pages that show counts."""

from __future__ import annotations

from functools import lru_cache

from engine.backends.emulator.ptx.program import Program, polls
from engine.backends.emulator.running.endless.dependence import dependence
from engine.records import Caveat

_WAITS = (
    "Line {}: this loop repeats until other threads have come, or until an atomic succeeds. How often is a matter of "
    "time: a GPU counts other numbers here, and in each run others."
)
_UNSURE = (
    "Line {}: the assembler moves or shares an access of shared memory in a way that the emulator does not follow; it "
    "is counted as the PTX says."
)


@lru_cache(maxsize=64)
def caveats_of(program: Program) -> tuple[Caveat, ...]:
    """Lines that wait for others, as every grid.sync() does, and lines of which the machine code is not understood."""
    waiting = {block.line for block in program.blocks if polls(program, block) and _waits(program, block.index)}
    said = dict.fromkeys(waiting, _WAITS) | dict.fromkeys(program.requests.unsure - waiting, _UNSURE)
    return tuple(Caveat(line, sentence.format(line)) for line, sentence in sorted(said.items()))


def _waits(program: Program, end: int) -> bool:
    """Whether the way out of the loop that block number `end` closes depends on memory."""
    start = program.blocks[end].successors[0]
    return dependence(program, frozenset(range(start, end + 1))).waits
