"""All meanings of PTX instructions: `operation("mad.lo.s32")` -> Operation.

Missing are instructions that need more than their operands: mov, ld, st, atom, red, bar, bra, shfl, vote and others.
`compute` may overflow and divide by zero; the caller wraps the run once in `np.errstate(all="ignore")`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType

import numpy as np

from engine.backends.emulator.meanings import bits, compare, convert, extremes, floating, half, integer
from engine.backends.emulator.meanings.compare import LOWER, ORDERED
from engine.backends.emulator.meanings.contracted import CONTRACTED
from engine.backends.emulator.meanings.registry import BITS, DTYPES, INTEGERS, OPERATIONS, Operation

# Importing a module registers its opcodes.
MEANINGS: tuple[ModuleType, ...] = (bits, compare, convert, extremes, floating, half, integer)

# Opcodes that are one NumPy function, which is then called itself.
_REALS = ("f32", "f64", "rn.f32", "rn.f64")
_ALONE: dict[str, np.ufunc] = {
    **{f"{name}.{t}": made for name, made in (("add", np.add), ("sub", np.subtract)) for t in (*INTEGERS, *_REALS)},
    **{f"{name}.{t}": made for name, made in (("min", np.minimum), ("max", np.maximum)) for t in INTEGERS},
    **{f"mul.{t}": np.multiply for t in (*(f"lo.{t}" for t in INTEGERS), *_REALS)},
    **{f"{name}.{t}": made for t in ("pred", *BITS) for name, made in (
        ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor))},
    **{f"setp.{name}.{t}": made for name, made in {**ORDERED, **LOWER}.items() for t in (*BITS, *INTEGERS, "f32", "f64")
       if isinstance(made, np.ufunc) and (name, t[0]) != ("ne", "f")},
}  # fmt: skip
OPERATIONS.update(
    (opcode, replace(OPERATIONS[opcode], compute=made)) for opcode, made in _ALONE.items() if opcode in OPERATIONS
)

__all__ = ["DTYPES", "MEANINGS", "OPERATIONS", "Operation", "UnknownInstruction", "meaning", "operation"]


class UnknownInstruction(Exception):
    """The emulator has no meaning for this opcode. `str(error)` is one sentence."""

    def __init__(self, opcode: str) -> None:
        super().__init__(f"The emulator does not know the PTX instruction {opcode}.")
        self.opcode = opcode


def meaning(opcode: str) -> Operation | None:
    """Return the meaning of a full PTX opcode ("setp.ge.and.u32") or of a contracted one; None if there is none."""
    return OPERATIONS.get(opcode) or CONTRACTED.get(opcode)


@cache
def operation(opcode: str) -> Operation:
    """Return the meaning of an opcode. UnknownInstruction if there is none."""
    found = meaning(opcode)
    if found is None:
        raise UnknownInstruction(opcode)
    return found
