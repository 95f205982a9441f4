"""Translate basic blocks into executable code when they are first reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from engine.backends.emulator.instructions.convergence import members_reader, members_register
from engine.backends.emulator.instructions.dispatch import executors_of
from engine.backends.emulator.instructions.mbarriers import PhaseGate, phase_gate_of
from engine.backends.emulator.ptx.guarded_loads import guarding_registers
from engine.backends.emulator.ptx.program import BasicBlock, flag_access, polls, swaps
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, Register
from engine.backends.emulator.ptx.traits import traits_of, uses_and_defs
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, numbers_of, reader
from engine.backends.emulator.state.machine import Machine


@dataclass(frozen=True)
class Code:
    """An executable basic block."""

    block: BasicBlock
    steps: tuple[Callable[[Registers, Mask], None], ...]
    lines: tuple[int, ...]  # of the steps
    kind: str  # "fall", "jump", "branch", "barrier", "call", "return", "exit", "trap", "switch"
    decide: Reader | None  # the predicate of a branch, the index of a switch, the vote at a barrier, or the results
    numbers: tuple[Reader, ...]  # of a barrier: its number and thread count
    used: tuple[int, ...]
    kept: tuple[int, ...]  # registers written here and read later
    dropped: tuple[int, ...]  # registers written here and not read later
    issued: int  # instructions, for the clock
    members: Reader | None  # of a block that starts with a warp-synchronous instruction
    members_of: int
    gate: PhaseGate | None  # of a block that starts with a waiting instruction
    counted: bool  # False for the jump around a guarded instruction
    polls: bool  # a loop that ends here reads memory that other lanes may change
    swaps: bool  # a loop that ends here repeats a compare-and-swap

    @cached_property
    def flag(self) -> str:
        """Return its `flag_access`: only threads that take turns need it."""
        return flag_access(self.block.body)

    @property
    def syncs(self) -> bool:
        """Return whether it starts with a __syncwarp()."""
        return bool(self.block.body) and traits_of(self.block.body[0].opcode).head == "bar.warp.sync"

    def line_of(self, step: object) -> int:
        """Return the .cu line of the instruction that a step executes, or of the block's end."""
        return self.lines[self.steps.index(step)] if step in self.steps else self.block.line


class Codes:
    """The executable blocks of one launch, created on demand."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._made: list[Code | None] = [None] * len(machine.program.blocks)

    def at(self, place: int) -> Code:
        """Return the block at a place. PtxError for an unsupported instruction."""
        place %= len(self._made)
        found = self._made[place]
        if found is None:
            found = self._made[place] = _compile_block(self._machine, self._machine.program.blocks[place])
        return found


def _compile_block(machine: Machine, block: BasicBlock) -> Code:
    item, kind, decide, counted = block.terminator, "fall", None, True
    numbers: tuple[Reader, ...] = ()
    widths = machine.program.widths
    if item is not None:
        traits = traits_of(item.opcode)
        if traits.control == "branch":
            kind, counted = ("branch" if item.guard else "jump"), traits.issued
            decide = reader(item.guard, "pred", widths, item.line) if item.guard else None
        elif traits.control == "switch":
            kind, decide = "switch", reader(item.operands[0], "u32", widths, item.line)
        elif traits.control == "return":
            kind, decide = "return", _read_several([each.index for each in item.operands if isinstance(each, Register)])
        elif traits.control == "barrier":
            kind, numbers = "barrier", _numbers(item, widths)
            last = item.operands[-1] if item.operands else None
            if ".red." in item.opcode and last is not None:
                decide = reader(last, "pred", widths, item.line)
        else:
            kind = traits.control
    members, members_of = None, -1
    if block.body and traits_of(block.body[0].opcode).converges:
        members, members_of = members_reader(machine, block.body[0]), members_register(block.body[0])
    gate = phase_gate_of(machine, block.body[0]) if block.body else None
    made = executors_of(machine, block)
    written, live = block.defs, block.live_out
    if item is not None and kind in ("call", "barrier"):  # arguments and a barrier's number are read after the block
        written = uses_and_defs(block.body, machine.program.carry)[1]
        live |= uses_and_defs((item,), machine.program.carry)[0]
    used = block.uses | guarding_registers(machine.program, block)
    steps, lines = tuple(step for step, _ in made), tuple(line for _, line in made)
    return Code(
        block, steps, lines, kind, decide, numbers, numbers_of(used),
        numbers_of(written & live), numbers_of(written & ~live),
        len(block.issued), members, members_of, gate, counted,
        polls(machine.program, block), swaps(machine.program, block),
    )  # fmt: skip


def _read_several(indices: list[int]) -> Reader:
    """Return a reader of several registers' raw values."""
    return lambda registers: [registers[index] for index in indices]


def _numbers(item: Instruction, widths: tuple[int, ...]) -> tuple[Reader, ...]:
    """Return readers of a barrier's numeric operands."""
    return tuple(
        reader(operand, "u32", widths, item.line)
        for operand in item.operands
        if isinstance(operand, Immediate) or (isinstance(operand, Register) and widths[operand.index] == 32)
    )
