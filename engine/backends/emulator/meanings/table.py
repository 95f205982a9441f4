"""What every PTX instruction computes: `operation("mad.lo.s32")` -> Operation. The meanings stand beside it.

Not here, because they need more than their operands: mov, ld, st, atom, red, bar, bra, shfl, vote and the like.
`compute` may overflow and divide by zero; the caller wraps the run once in `np.errstate(all="ignore")`.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from engine.backends.emulator.meanings import bits, compare, convert, extremes, floating, half, integer
from engine.backends.emulator.meanings.registry import DTYPES, OPERATIONS, Operation

# To import one registers what its opcodes compute.
MEANINGS: tuple[ModuleType, ...] = (bits, compare, convert, extremes, floating, half, integer)

__all__ = ["DTYPES", "MEANINGS", "OPERATIONS", "Operation", "UnknownInstruction", "operation"]


class UnknownInstruction(Exception):
    """The emulator has no meaning for this opcode. `str(error)` is one sentence."""

    def __init__(self, opcode: str) -> None:
        super().__init__(f"The emulator does not know the PTX instruction {opcode}.")
        self.opcode = opcode


@cache
def operation(opcode: str) -> Operation:
    """The meaning of a full dotted PTX opcode ("setp.ge.and.u32"). UnknownInstruction where there is none."""
    found = OPERATIONS.get(opcode)
    if found is None:
        raise UnknownInstruction(opcode)
    return found
