"""Fused multiply-adds that do not wait for each other, executed as one: products of tiles consist of them.

Of 64 multiply-adds of 256 lanes each the calls of NumPy cost more than the arithmetic. Those of a basic block are put
off until somebody asks for what one of them makes; so they gather between the loads that the compiler puts among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.backends.emulator.instructions.registry import Executor
from engine.backends.emulator.meanings.fused_batches import fused_each
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.register_use import reads, writes
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction, Register
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.state.machine import Machine

_FUSED = ("fma.rn.f32", "fma.rn.f64")
_OPERANDS = 4


def gathered(program: Program, body: Sequence[Instruction]) -> list[tuple[Instruction, ...]]:
    """A basic block's instructions in an order of the same meaning: one by one, or multiply-adds that are a batch."""
    if not any(item.opcode in _FUSED for item in body):
        return [(item,) for item in body]
    made: list[tuple[Instruction, ...]] = []
    batch: list[Instruction] = []
    sources: set[int] = set()
    targets: set[int] = set()
    for item in body:
        read, written = set(reads(item, program.carry)), set(writes(item, program.carry))
        joins = _joins(program, item) and (not batch or item.opcode == batch[0].opcode)
        # What a batch reads it reads before it writes, so that its own members may write what others of it read.
        if batch and (read & targets or (not joins and (item.opcode in _FUSED or written & (sources | targets)))):
            made.append(tuple(batch))
            batch, sources, targets = [], set(), set()
        if joins:
            batch.append(item)
            sources, targets = sources | read, targets | written
        else:
            made.append((item,))
    return [*made, tuple(batch)] if batch else made


def _joins(program: Program, item: Instruction) -> bool:
    """Whether the multiply-add is an ordinary one; what is wrong with another is told when it is made executable."""
    if item.opcode not in _FUSED or len(item.operands) != _OPERANDS:
        return False
    target = item.operands[0]
    return isinstance(target, Register) and program.widths[target.index] == WIDTHS[item.words[-1]]


def executed_together(machine: Machine, items: Sequence[Instruction]) -> Executor:
    """The executor of a batch."""
    code, widths = items[0].words[-1], machine.program.widths
    operands = dict.fromkeys(operand for item in items for operand in item.operands[1:])
    numbers = {operand: number for number, operand in enumerate(operands)}
    readers = [reader(operand, code, widths, items[0].line) for operand in operands]
    columns = [[numbers[item.operands[at]] for item in items] for at in range(1, _OPERANDS)]
    targets = [item.operands[0].index for item in items if isinstance(item.operands[0], Register)]

    def step(registers: Registers, mask: Mask) -> None:
        values = [read(registers) for read in readers]
        a, b, c = ([values[number] for number in column] for column in columns)
        for target, value in zip(targets, fused_each(a, b, c), strict=True):
            registers[target] = value

    return step
