"""Register the functions that make executors, with one decorator:

@executes(Traits("isspacep", "dv"))
def is_space(machine, item): ...

An executor is a closure `execute(registers, mask)` that runs one instruction for the lanes of a mask. The registers
have the mask's own rows and columns (set up by `running`), so arithmetic never looks at the mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.state.machine import Machine

Executor = Callable[[Registers, Mask], None]
Maker = Callable[[Machine, Instruction], Executor | None]  # None: nothing to execute

Made = TypeVar("Made", bound=Maker)

MAKERS: dict[str, Maker] = {}  # by the head of the opcode's row


def executes(*rows: Traits) -> Callable[[Made], Made]:
    """Register the rows of some opcodes, and the function that makes their executors."""

    def register(make: Made) -> Made:
        describe(*rows)
        MAKERS.update({row.head: make for row in rows})
        return make

    return register
