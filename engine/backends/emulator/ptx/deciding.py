"""Which registers decide where a program goes on, told from its text alone: who reads a flag branches by it."""

from __future__ import annotations

from functools import lru_cache

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.register_use import reads, uses_and_defs


@lru_cache(maxsize=64)
def deciding(program: Program) -> int:
    """Bit set of the registers from which the condition of a branch follows, other than through memory."""
    ends = [block.terminator for block in program.blocks if block.terminator]
    needed = sum({1 << index for item in ends for index in reads(item, program.carry)})
    flows = [uses_and_defs((item,), program.carry) for item in program.instructions]
    before = -1
    while before != needed:
        before = needed
        for uses, defs in reversed(flows):
            if defs & needed:
                needed |= uses
    return needed
