"""Ordinary loads of shared memory from one base address, moved together: an equivalent order of a basic block.

    ld.shared.f32 %f1, [%r1];   fma ...;   ld.shared.f32 %f2, [%r1+4];   fma ...

Nothing between two loads of a group may change memory, order accesses, or use the loaded registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.backends.emulator.ptx.guarded_loads import guarded_loads
from engine.backends.emulator.ptx.guesses import guesses
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import WIDTHS, Address, Instruction, Register
from engine.backends.emulator.ptx.traits import COMPUTING, is_ordinary_load, reads, registers_of, traits_of, writes

_BETWEEN = frozenset(("mov", "setp", "ld.param"))  # heads of instructions that leave memory and order alone


@dataclass
class _Group:
    """Loads of one opcode and base, and the registers that instructions have read or written since the first one."""

    place: int
    loads: list[Instruction]
    used: set[int] = field(default_factory=set)


def grouped_loads(program: Program, body: Sequence[Instruction]) -> list[tuple[Instruction, ...]]:
    """Return a body in an equivalent order: single instructions, and groups of at least two loads."""
    made: list[list[Instruction]] = []
    open_groups: dict[tuple[str, int], _Group] = {}
    for item in body:
        read, written = set(reads(item, program.carry)), set(writes(item, program.carry))
        base = _base_of(program, item)
        if base is None and not _leaves_memory_alone(item):
            open_groups.clear()
        group = None if base is None else open_groups.get((item.opcode, base))
        if group is not None and not written & group.used:
            made[group.place].append(item)
        else:
            made.append([item])
            if base is not None:
                open_groups[item.opcode, base] = _Group(len(made) - 1, made[-1])
        for key in [key for key in open_groups if key[1] in written]:
            del open_groups[key]
        for each in open_groups.values():
            each.used |= read | written
    return [tuple(items) for items in made]


def _base_of(program: Program, item: Instruction) -> int | None:
    """Return the base register of a load that may join a group; None for every other instruction."""
    if not is_ordinary_load(item) or item.space != "shared" or item.guard:
        return None
    address, targets, wide = item.operands[1], tuple(registers_of(item.operands[0])), WIDTHS.get(item.words[-1])
    if not isinstance(address, Address) or not isinstance(address.base, Register):
        return None
    if len(targets) != item.count or any(program.widths[index] != wide for index in targets):
        return None
    return None if item in guarded_loads(program) or item in guesses(program) else address.base.index


def _leaves_memory_alone(item: Instruction) -> bool:
    traits = traits_of(item.opcode)
    if traits is COMPUTING or traits.head in _BETWEEN:
        return True
    return is_ordinary_load(item) and item.space in ("shared", "global")
