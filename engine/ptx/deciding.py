"""What decides where a program goes: the registers and the memory from which branches, addresses and barriers follow.

A loop that adds to a sum never comes back with the same sum; but the sum does not decide whether the loop ends. When
everything that decides is as it was one turn before, and nobody else can change it, the loop never ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.ptx.program import SYNCHRONOUS, Program, has_destination, registers_of
from engine.ptx.syntax import Address, Instruction, Operand, Special
from engine.ptx.written import arrays_met

if TYPE_CHECKING:
    from engine.ptx.machine import Machine

_MEMORIES = ("global", "shared", "local")
_FIXED = ("param", "const")
_WRITING = ("st", "atom", "red", "cp")


@dataclass(frozen=True)
class Deciding:
    """`registers`: bit set. `spaces`: memories whose contents decide; `arrays`: base addresses of such device arrays.

    `reading`: blocks of the program that read such contents; `timed`: blocks that read a clock that decides.
    """

    registers: int
    spaces: frozenset[str]
    arrays: frozenset[int]
    reading: frozenset[int]
    timed: frozenset[int]


def what_decides(machine: Machine) -> Deciding:
    """Found from the program's text: whatever may decide is taken to decide."""
    program = machine.program
    needed = _always_needed(program)
    spaces: set[str] = set()
    before = None
    while before != (len(needed), len(spaces)):
        before = (len(needed), len(spaces))
        for block in program.blocks:
            for item in reversed(block.body):
                _follow(item, needed, spaces, program.carry)
    loads = [item for block in program.blocks for item in block.body if _is_load(item) and _makes(item, needed)]
    arrays = arrays_met(machine, [item for item in loads if _space(item) in ("global", "")])
    if any(item.words[0] == "cp" for block in program.blocks for item in block.body) and "shared" in spaces:
        arrays = frozenset(array.base for array in machine.space.arrays())
    arrays |= {machine.workspace} if machine.workspace else set()
    reading = {b.index for b in program.blocks for item in b.body if _is_load(item) and _makes(item, needed)}
    timed = {b.index for b in program.blocks for item in b.body if _reads_clock(item) and _makes(item, needed)}
    registers = sum(1 << index for index in needed)
    return Deciding(registers, frozenset(spaces), arrays, frozenset(reading), frozenset(timed))


def _always_needed(program: Program) -> set[int]:
    """Predicates of branches, operands of barriers, addresses (a wrong one ends the run), names of a warp's lanes."""
    needed: set[int] = set()
    for block in program.blocks:
        items = (*block.body, block.terminator) if block.terminator else block.body
        for item in items:
            wanted: list[Operand] = [operand for operand in item.operands if isinstance(operand, Address)]
            if item is block.terminator or item.words[0] == "cp":
                wanted = list(item.operands)
            elif item.opcode.startswith(SYNCHRONOUS):
                wanted.append(item.operands[-1])
            needed |= {index for operand in wanted for index in registers_of(operand)}
            if item.guard:
                needed.add(item.guard.index)
    return needed


def _follow(item: Instruction, needed: set[int], spaces: set[str], carry: int) -> None:
    """What an instruction's result comes from is needed where the result is."""
    words = item.words
    if _makes(item, needed) or ("cc" in words and carry in needed):
        needed |= {index for operand in item.operands[1:] for index in registers_of(operand)}
        if words[0] in ("addc", "subc", "madc"):
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


def _reads_clock(item: Instruction) -> bool:
    return any(isinstance(operand, Special) and operand.name.startswith(("%clock", "%globaltimer", "%pm"))
               for operand in item.operands)  # fmt: skip
