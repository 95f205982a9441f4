"""What decides where a program goes: the registers and the memory from which branches, addresses and barriers follow.

A loop that adds to a sum never comes back with the same sum; but the sum does not decide whether the loop ends. When
everything that decides is as it was one turn before, and nobody else can change it, the loop never ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.backends.emulator.ptx.program import BasicBlock, Program, has_destination, registers_of
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import Address, Instruction, Operand, Special
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.state.pointers import arrays_met

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

_MEMORIES = ("global", "shared", "local")
_FIXED = ("param", "const")
_WRITING = ("st", "atom", "red", "cp")


@dataclass(frozen=True)
class Deciding:
    """`registers`: bit set. `spaces`: memories whose contents decide; `arrays`: base addresses of such device arrays.

    `timed`: a clock, or who else of the warp is there, decides as well.
    """

    registers: int
    spaces: frozenset[str]
    arrays: frozenset[int]
    timed: bool


def what_decides(machine: Machine, places: frozenset[int] | None = None) -> Deciding:
    """Found from the program's text: whatever may decide is taken to decide. `places`: inside these blocks only."""
    program = machine.program
    blocks = [block for block in program.blocks if places is None or block.index in places]
    needed = _always_needed(blocks)
    spaces = _close(blocks, needed, program.carry)
    items = [item for block in blocks for item in block.body]
    loads = [item for item in items if _is_load(item) and _makes(item, needed)]
    arrays = arrays_met(machine, [item for item in loads if _space(item) in ("global", "")]) if spaces else frozenset()
    if any(item.words[0] == "cp" for item in items) and "shared" in spaces:
        arrays = frozenset(array.base for array in machine.space.arrays())
    arrays |= {machine.workspace} if machine.workspace else set()
    timed = any(_unsteady(item) and _makes(item, needed) for item in items)
    return Deciding(sum(1 << index for index in needed), frozenset(spaces), arrays, timed)


def reads_to_leave(program: Program, places: frozenset[int]) -> bool:
    """True when the way out of a loop that runs through these blocks depends on memory that is read in it."""
    blocks = [program.blocks[place] for place in places]
    leaving = [block.terminator for block in blocks if block.terminator and not places.issuperset(block.successors)]
    needed = {item.guard.index for item in leaving if item.guard}
    return bool(_close(blocks, needed, program.carry))


def _always_needed(blocks: Sequence[BasicBlock]) -> set[int]:
    """Predicates of branches, operands of barriers, addresses (a wrong one ends the run), names of a warp's lanes."""
    needed: set[int] = set()
    for block in blocks:
        items = (*block.body, block.terminator) if block.terminator else block.body
        for item in items:
            wanted: list[Operand] = [operand for operand in item.operands if isinstance(operand, Address)]
            if item is block.terminator or item.words[0] == "cp":
                wanted = list(item.operands)
            elif traits_of(item.opcode).meets == "named":
                wanted.append(item.operands[-1])
            needed |= {index for operand in wanted for index in registers_of(operand)}
            if item.guard:
                needed.add(item.guard.index)
    return needed


def _close(blocks: Sequence[BasicBlock], needed: set[int], carry: int) -> set[str]:
    """Add to `needed` all that the needed registers come from; the memories that are read on the way."""
    spaces: set[str] = set()
    before = None
    while before != (len(needed), len(spaces)):
        before = (len(needed), len(spaces))
        for block in blocks:
            for item in reversed(block.body):
                _follow(item, needed, spaces, carry)
    return spaces


def _follow(item: Instruction, needed: set[int], spaces: set[str], carry: int) -> None:
    """What an instruction's result comes from is needed where the result is."""
    words = item.words
    if _makes(item, needed) or ("cc" in words and carry in needed):
        needed |= {index for operand in item.operands[1:] for index in registers_of(operand)}
        if traits_of(item.opcode).reads_carry:
            needed.add(carry)
        if _is_load(item):
            spaces |= {_space(item)} if _space(item) else set(_MEMORIES)
    if words[0] in _WRITING and (_space(item) in spaces or (spaces and not _space(item))):
        needed |= {index for operand in item.operands for index in registers_of(operand)}
        if words[0] == "cp":  # brings global memory to shared memory
            spaces.add("global")


def _makes(item: Instruction, needed: set[int]) -> bool:
    """True when the instruction writes a needed register."""
    return has_destination(item) and any(index in needed for index in registers_of(item.operands[0]))


def _is_load(item: Instruction) -> bool:
    return item.words[0] in ("ld", "ldu", "atom") and not any(word in _FIXED for word in item.words)


def _space(item: Instruction) -> str:
    """The memory that an instruction names; "" where only its address tells."""
    names = {word.split("::")[0] for word in item.words}
    return "shared" if item.words[0] == "cp" else next((space for space in _MEMORIES if space in names), "")


def _unsteady(item: Instruction) -> bool:
    """True for an instruction whose result differs from turn to turn for no reason in registers or memory."""
    named = [SPECIAL_REGISTERS.get(operand.name) for operand in item.operands if isinstance(operand, Special)]
    return traits_of(item.opcode).unsteady or any(row is not None and row.differs == "time" for row in named)
