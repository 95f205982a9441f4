"""Basic blocks made executable, when they are first reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.backends.emulator.instructions.dispatch import steps_of
from engine.backends.emulator.instructions.warp_wide import members_reader, members_register
from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, reader

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine


@dataclass(frozen=True)
class Code:
    """A basic block made executable."""

    block: BasicBlock
    steps: tuple[Callable[[Registers, Mask], None], ...]
    kind: str  # "fall", "jump", "branch", "barrier", "exit", "trap", "switch"
    decide: Reader | None  # the predicate of a branch, the index of a switch
    used: tuple[int, ...]
    kept: tuple[int, ...]  # registers written here and read later
    dropped: tuple[int, ...]  # registers written here and not read later
    members: Reader | None  # of a block that starts with a warp-synchronous instruction
    members_of: int
    counted: bool  # False for the jump around a guarded instruction
    polls: bool  # a loop that ends here reads memory that others may change


def compile_block(machine: Machine, place: int) -> Code:
    """Make a block executable and remember it."""
    block = machine.program.blocks[place]
    item, kind, decide, counted = block.terminator, "fall", None, True
    widths = machine.program.widths
    if item is not None:
        traits = traits_of(item.opcode)
        if traits.control == "branch":
            kind, counted = ("branch" if item.guard else "jump"), traits.issued
            decide = reader(item.guard, "pred", widths, item.line) if item.guard else None
        elif traits.control == "switch":
            kind, decide = "switch", reader(item.operands[0], "u32", widths, item.line)
        elif traits.control == "barrier":
            kind = "barrier"
            last = item.operands[-1] if item.operands else None
            if ".red." in item.opcode and last is not None:
                decide = reader(last, "pred", widths, item.line)
        else:
            kind = traits.control
    members, members_of = None, -1
    if block.body and traits_of(block.body[0].opcode).meets:
        members, members_of = members_reader(machine, block.body[0]), members_register(block.body[0])
    code = machine.code[place] = Code(
        block, tuple(steps_of(machine, block)), kind, decide, _bits(block.uses), _bits(block.defs & block.live_out),
        _bits(block.defs & ~block.live_out), members, members_of, counted, _polls(machine, block),
    )  # fmt: skip
    return code


def _polls(machine: Machine, block: BasicBlock) -> bool:
    """True when the block closes a loop in which memory is read that other lanes may change."""
    if not block.successors or block.successors[0] > block.index:
        return False
    loop = machine.program.blocks[block.successors[0] : block.index + 1]
    return any(
        item.words[0] == "atom" or (item.words[0] == "ld" and {"volatile", "acquire", "relaxed"} & set(item.words))
        for each in loop
        for item in each.body
    )


def _bits(members: int) -> tuple[int, ...]:
    return tuple(index for index in range(members.bit_length()) if members >> index & 1)
