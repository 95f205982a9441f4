"""All meanings of PTX instructions: `operation("mad.lo.s32")` -> Operation.

Missing are instructions that need more than their operands: mov, ld, st, atom, red, bar, bra, shfl, vote and others.
`compute` may overflow and divide by zero; the caller wraps the run once in `np.errstate(all="ignore")`.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from engine.backends.emulator.meanings import bits, compare, convert, extremes, floating, half, integer
from engine.backends.emulator.meanings.registry import DTYPES, OPERATIONS, Operation

# Importing a module registers its opcodes.
MEANINGS: tuple[ModuleType, ...] = (bits, compare, convert, extremes, floating, half, integer)

__all__ = ["DTYPES", "MEANINGS", "OPERATIONS", "Operation", "UnknownInstruction", "operation"]


class UnknownInstruction(Exception):
    """The emulator has no meaning for this opcode. `str(error)` is one sentence."""

    def __init__(self, opcode: str) -> None:
        super().__init__(f"The emulator does not know the PTX instruction {opcode}.")
        self.opcode = opcode


@cache
def operation(opcode: str) -> Operation:
    """Return the meaning of a full PTX opcode ("setp.ge.and.u32"). UnknownInstruction if there is none."""
    found = OPERATIONS.get(opcode)
    if found is None:
        raise UnknownInstruction(opcode)
    return found
