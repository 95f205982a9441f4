"""What a loop depends on: the registers and the memory from which its branches, addresses and barriers follow.

A loop that adds to a sum never comes back with the same sum; but the sum does not decide whether the loop ends. When
everything that it depends on is as it was one turn before, and nobody else can change it, the loop never ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from engine.backends.emulator.ptx.program import Program, reads, registers_of, writes
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import Address, Instruction, Special
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.pointers import arrays_met

_MEMORIES = ("global", "shared", "local")


@dataclass(frozen=True)
class Dependence:
    """`registers`: bit set. `memories`: the spaces whose contents decide. `loads`: instructions that bring what decides
    from device arrays; `copies`: so may cp.async, from any. `timed`: a clock, or who else is there, decides as well."""

    registers: int
    memories: frozenset[str]
    loads: tuple[Instruction, ...]
    copies: bool
    timed: bool

    def names(self, machine: Machine) -> set[str | int]:
        """The memories that decide: spaces by name, device arrays by their base address."""
        arrays = arrays_met(machine, self.loads)
        if self.copies:
            arrays = frozenset(array.base for array in machine.space.arrays())
        return {*self.memories, *arrays, machine.workspace}


@dataclass(frozen=True)
class _Flow:
    """What one instruction moves. `uses`, `defs`: bit sets of registers; `decides`: those that decide wherever it runs:
    predicates, operands of barriers, addresses (a wrong one ends the run), names of a warp's lanes. `source`, `target`:
    the memories that it may read and write."""

    item: Instruction
    uses: int
    defs: int
    decides: int
    source: frozenset[str]
    target: frozenset[str]


@lru_cache(maxsize=256)
def dependence(program: Program, places: frozenset[int]) -> Dependence:
    """Of the loop that runs through these blocks. Told from the text: whatever may decide is taken to decide."""
    flows = _flows(program, places)
    needed, memories = _closed(flows, _union(flow.decides for flow in flows))
    makers = [flow for flow in flows if flow.defs & needed]
    loads = tuple(flow.item for flow in makers if "global" in flow.source)
    copies = "shared" in memories and any(traits_of(flow.item.opcode).memory == "copy" for flow in flows)
    return Dependence(needed, frozenset(memories), loads, copies, any(_unsteady(flow.item) for flow in makers))


def reads_to_leave(program: Program, places: frozenset[int]) -> bool:
    """True when the way out of a loop that runs through these blocks depends on memory that is read in it."""
    blocks = [program.blocks[place] for place in places]
    leaving = [block.terminator for block in blocks if block.terminator and not places.issuperset(block.successors)]
    return bool(_closed(_flows(program, places), _union(1 << item.guard.index for item in leaving if item.guard))[1])


def _closed(flows: list[_Flow], needed: int) -> tuple[int, set[str]]:
    """`needed`, and all registers that these come from; the memories that are read on the way."""
    memories: set[str] = set()
    before = None
    while before != (needed, len(memories)):
        before = (needed, len(memories))
        for flow in reversed(flows):
            if flow.defs & needed or flow.target & memories:
                needed |= flow.uses
                memories |= flow.source
    return needed, memories


def _flows(program: Program, places: frozenset[int]) -> list[_Flow]:
    return [flow for place in sorted(places) for flow in _flows_of(program, place)]


@lru_cache(maxsize=4096)
def _flows_of(program: Program, place: int) -> tuple[_Flow, ...]:
    block = program.blocks[place]
    items = (*block.body, block.terminator) if block.terminator else block.body
    return tuple(
        _Flow(
            item, _set(reads(item, program.carry)), _set(writes(item, program.carry)),
            _set(_always(item, item is block.terminator)), *_memories(item),
        )
        for item in items
    )  # fmt: skip


def _always(item: Instruction, ends: bool) -> Iterator[int]:
    traits = traits_of(item.opcode)
    every = ends or traits.memory == "copy"
    for operand in item.operands:
        named = traits.meets == "named" and operand is item.operands[-1]
        if every or named or isinstance(operand, Address):
            yield from registers_of(operand)
    if item.guard:
        yield item.guard.index


def _memories(item: Instruction) -> tuple[frozenset[str], frozenset[str]]:
    """What it reads and what it writes; where it does not name a space, all of them."""
    kind, none = traits_of(item.opcode).memory, frozenset[str]()
    words = {word.split("::")[0] for word in item.words}
    if kind == "copy":
        return frozenset({"global"}), frozenset({"shared"})
    if not kind or words & {"param", "const"}:
        return none, none
    there = frozenset(words.intersection(_MEMORIES) or _MEMORIES)
    return (none if kind == "store" else there), (none if kind == "load" else there)


def _unsteady(item: Instruction) -> bool:
    """True for an instruction whose result differs from turn to turn for no reason in registers or memory."""
    named = [SPECIAL_REGISTERS.get(operand.name) for operand in item.operands if isinstance(operand, Special)]
    return traits_of(item.opcode).unsteady or any(row is not None and row.differs == "time" for row in named)


def _set(members: Iterable[int]) -> int:
    return _union(1 << index for index in members)


def _union(sets: Iterable[int]) -> int:
    made = 0
    for one in sets:
        made |= one
    return made
