"""What a loop depends on: the registers and the memory that decide its branches, addresses and barriers.

A loop that adds to a sum never returns to the same sum, but the sum does not decide whether the loop ends. If all state
that decides is the same as one iteration before, and no other lane can change it, the loop never ends.

The same analysis finds the lines whose counts differ on a GPU (`caveats_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

from engine.backends.emulator.ptx.program import Program, polls
from engine.backends.emulator.ptx.syntax import Address, Instruction
from engine.backends.emulator.ptx.traits import registers_of, tells_time, traits_of, uses_and_defs
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.pointers import addresses, arrays_met
from engine.records import Caveat

_NONE: frozenset[str] = frozenset()
_ANY = frozenset({"global", "shared", "local"})


@dataclass(frozen=True)
class LoopDependence:
    """`registers`: bit set. `memories`: the spaces whose contents decide. `loads`: the addresses of global memory
    that they are read from. `timed`: a clock, or who else is there, decides as well. `polls`: it reads memory that
    others may change meanwhile; `waits`: the way out depends on memory."""

    registers: int
    memories: frozenset[str]
    loads: tuple[Address, ...]
    timed: bool
    polls: bool
    waits: bool

    def names(self, machine: Machine) -> set[str | int]:
        """The memories that decide: spaces by name, device arrays by their base address."""
        return {*self.memories, *arrays_met(machine, self.loads), machine.workspace}


@lru_cache(maxsize=256)
def loop_dependence(program: Program, places: frozenset[int]) -> LoopDependence:
    """Of the loop that runs through these blocks. Told from the text: whatever may decide is taken to decide."""
    flows = [flow for place in sorted(places) for flow in _flows(program, place)]
    flows += [_Flow(item, *uses_and_defs((item,), program.carry), 0, _NONE, _NONE) for item in program.passed]
    needed, memories = _close_over(flows, _union(flow.decides for flow in flows))
    makers = [flow for flow in flows if flow.defs & needed]
    copies = [flow for flow in flows if (flow.target - flow.source) & memories]
    ends = [program.blocks[place] for place in places if not places.issuperset(program.blocks[place].successors)]
    guards = [block.terminator.guard for block in ends if block.terminator and block.terminator.guard]
    return LoopDependence(
        needed,
        memories,
        tuple(addresses(flow.item)[-1] for flow in (*makers, *copies) if "global" in flow.source),
        any(_unsteady(flow.item) for flow in makers),
        any(polls(program, program.blocks[place]) for place in places),
        bool(_close_over(flows, _union(1 << guard.index for guard in guards))[1]),
    )


@dataclass(frozen=True)
class _Flow:
    """What one instruction moves. `uses`, `defs`, `decides`: bit sets of the registers that it reads, that it writes,
    and that decide wherever it runs. `source`, `target`: the memories that it may read and write."""

    item: Instruction
    uses: int
    defs: int
    decides: int
    source: frozenset[str]
    target: frozenset[str]


def _close_over(flows: Sequence[_Flow], needed: int) -> tuple[int, frozenset[str]]:
    """`needed`, and all registers that these come from; the memories that are read on the way."""
    memories, before = _NONE, None
    while before != (needed, memories):
        before = (needed, memories)
        for flow in reversed(flows):
            if flow.defs & needed or flow.target & memories:
                needed |= flow.uses
                memories |= flow.source
    return needed, memories


@lru_cache(maxsize=4096)
def _flows(program: Program, place: int) -> tuple[_Flow, ...]:
    made, block = [], program.blocks[place]
    for item in (*block.body, block.terminator) if block.terminator else block.body:
        uses, defs = uses_and_defs((item,), program.carry)
        traits, words = traits_of(item.opcode), {word.split("::")[0] for word in item.words}
        there = _ANY & words or _ANY  # which it is only its address tells where the opcode does not
        source = there if traits.memory in ("load", "atomic") else _NONE
        target = there if traits.memory in ("store", "atomic") else _NONE
        if traits.memory == "copy":
            source, target = frozenset({"global"}), frozenset({"shared"})
        elif words & {"param", "const"}:
            source = target = _NONE
        # Predicates, operands of barriers, addresses (a wrong one ends the run), the names of a warp's lanes.
        whole = item is block.terminator or traits.memory == "copy"
        chosen = [operand for operand in item.operands if whole or isinstance(operand, Address)]
        chosen += [item.operands[-1]] if traits.meets == "named" else []
        chosen += [item.guard] if item.guard else []
        decides = _union(1 << index for operand in chosen for index in registers_of(operand))
        made.append(_Flow(item, uses, defs, decides, source, target))
    return tuple(made)


def _unsteady(item: Instruction) -> bool:
    """True for an instruction whose result differs from turn to turn for no reason in registers or memory."""
    return traits_of(item.opcode).unsteady or tells_time(item)


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


_WAITS = (
    "Line {}: this loop repeats until other threads have come, or until an atomic succeeds. How often is a matter of "
    "time: a GPU counts other numbers here, and in each run others."
)
_UNSURE = (
    "Line {}: the assembler moves or shares an access of shared memory in a way that the emulator does not follow; it "
    "is counted as the PTX says."
)


@lru_cache(maxsize=64)
def caveats_of(program: Program) -> tuple[Caveat, ...]:
    """Lines that wait for others, as every grid.sync() does, and lines of which the machine code is not understood."""
    waiting = {
        block.line for block in program.blocks if polls(program, block) and _waits_on_memory(program, block.index)
    }
    said = dict.fromkeys(waiting, _WAITS) | dict.fromkeys(program.requests.unsure - waiting, _UNSURE)
    return tuple(Caveat(line, sentence.format(line)) for line, sentence in sorted(said.items()))


def _waits_on_memory(program: Program, end: int) -> bool:
    """Whether the way out of the loop that block number `end` closes depends on memory."""
    start = program.blocks[end].successors[0]
    return loop_dependence(program, frozenset(range(start, end + 1))).waits
