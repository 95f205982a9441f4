"""Reads of the sums of wgmma before a wait_group has waited for them, found in the program's text.

Each register in flight has an age: the groups closed since its product was issued. A wait for all but n groups ends the
flight of registers of an age above n. A move passes the flight on, because the assembler removes it.
"""

from __future__ import annotations

from functools import lru_cache

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Immediate, Instruction
from engine.backends.emulator.ptx.traits import reads, registers_of, writes

_OLDEST = 8  # ages from here on are alike: a wait names at most 7 groups
_Flight = dict[int, int]  # register -> age


@lru_cache(maxsize=64)
def early_read(program: Program) -> Instruction | None:
    """Return an instruction that may read a sum in flight, None if there is none."""
    entries: dict[int, _Flight] = {0: {}}
    ahead = [0]
    while ahead:
        block = program.blocks[ahead.pop()]
        flight = dict(entries[block.index])
        found = _follow(block, flight, program.carry)
        if found is not None:
            return found
        for place in block.successors:
            known = entries.get(place)
            merged = dict(flight)
            for index, age in (known or {}).items():
                merged[index] = min(age, merged.get(index, age))
            if known is None or merged != known:
                entries[place] = merged
                ahead.append(place)
    return None


def _follow(block: BasicBlock, flight: _Flight, carry: int) -> Instruction | None:
    """Follow the flight through a block, in place, up to the first early read."""
    for item in (*block.body, block.terminator) if block.terminator else block.body:
        name = item.words[1] if item.words[0] == "wgmma" else item.words[0]
        if name == "mma_async":
            if any(index in flight for operand in item.operands[1:] for index in registers_of(operand)):
                return item
            flight.update(dict.fromkeys(registers_of(item.operands[0]), 0))
        elif name == "commit_group":
            flight.update({index: min(age + 1, _OLDEST) for index, age in flight.items()})
        elif name == "wait_group" and isinstance(item.operands[0], Immediate):
            for index in [index for index, age in flight.items() if age > item.operands[0].value]:
                del flight[index]
        else:
            ages = [flight[index] for index in reads(item, carry) if index in flight]
            if ages and name != "mov":
                return item
            for index in writes(item, carry):
                flight.pop(index, None)
                if ages:
                    flight[index] = min(ages)
    return None
