"""Which registers an instruction reads and writes."""

from __future__ import annotations

from collections.abc import Iterator

from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import Address, Group, Instruction, Operand, Pair, Register, Special, Vector
from engine.backends.emulator.ptx.traits import traits_of


def registers_of(operand: Operand) -> Iterator[int]:
    """The registers that an operand names."""
    match operand:
        case Register(index):
            yield index
        case Address(Register(index)):
            yield index
        case Vector(items) | Group(items):
            for item in items:
                yield from registers_of(item)
        case Pair(first, second):
            yield from registers_of(first)
            yield from registers_of(second)


def has_destination(item: Instruction) -> bool:
    """True when the first operand is written."""
    written = bool(item.operands) and not isinstance(item.operands[0], Address)
    return written and traits_of(item.opcode).writes


def tells_time(item: Instruction) -> bool:
    """True when the instruction reads a clock."""
    named = [SPECIAL_REGISTERS.get(operand.name) for operand in item.operands if isinstance(operand, Special)]
    return any(row is not None and row.differs == "time" for row in named)


def reads(item: Instruction, carry: int) -> Iterator[int]:
    """The registers that an instruction reads. `carry`: the one that stands for the condition code."""
    for operand in item.operands[1 if has_destination(item) else 0 :]:
        yield from registers_of(operand)
    if item.guard:
        yield item.guard.index
    if traits_of(item.opcode).reads_carry:
        yield carry


def writes(item: Instruction, carry: int) -> Iterator[int]:
    """The registers that an instruction writes."""
    if has_destination(item):
        yield from registers_of(item.operands[0])
    if "cc" in item.words:
        yield carry


def uses_and_defs(items: tuple[Instruction, ...], carry: int) -> tuple[int, int]:
    """Bit sets of the registers that are read before they are written, and that are written."""
    uses = defs = 0
    for item in items:
        for index in reads(item, carry):
            if not defs >> index & 1:
                uses |= 1 << index
        for index in writes(item, carry):
            defs |= 1 << index
    return uses, defs
