"""The dependence of loops: the registers and memory that decide their branches, addresses and barriers.

A loop that adds to a sum never returns to the same sum, but the sum does not decide whether the loop ends. If all
deciding state is the same as one iteration before, and no other lane can change it, the loop never ends.

The same analysis finds the lines with other counts on a GPU (`caveats_of`).
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
    """What a loop depends on. `registers`: bit set. `memories`: the address spaces it depends on. `loads`: the
    addresses of its loads from global memory. `timed`: it depends on a clock or on the active lanes. `polls`: it
    reads memory that other lanes may change; `waits`: its exit depends on memory."""

    registers: int
    memories: frozenset[str]
    loads: tuple[Address, ...]
    timed: bool
    polls: bool
    waits: bool

    def names(self, machine: Machine) -> set[str | int]:
        """Return the memories that decide: spaces by name, device arrays by their base address."""
        return {*self.memories, *arrays_met(machine, self.loads), machine.workspace}


@lru_cache(maxsize=256)
def loop_dependence(program: Program, places: frozenset[int]) -> LoopDependence:
    """Return the dependence of the loop through these blocks, from the program's text. It is conservative."""
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
    """The data flow of one instruction. `uses`, `defs`, `decides`: bit sets of the registers it reads, the registers it
    writes, and the registers that always matter. `source`, `target`: the memories it may read and write."""

    item: Instruction
    uses: int
    defs: int
    decides: int
    source: frozenset[str]
    target: frozenset[str]


def _close_over(flows: Sequence[_Flow], needed: int) -> tuple[int, frozenset[str]]:
    """Return `needed` with all registers it is computed from, and the memories read for them."""
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
    for item in block.items:
        uses, defs = uses_and_defs((item,), program.carry)
        traits, words = traits_of(item.opcode), {word.split("::")[0] for word in item.words}
        there = _ANY & words or _ANY  # without a space in the opcode, the address decides
        source = there if traits.memory in ("load", "atomic") else _NONE
        target = there if traits.memory in ("store", "atomic") else _NONE
        if traits.memory == "copy":
            source, target = frozenset({"global"}), frozenset({"shared"})
        elif words & {"param", "const"}:
            source = target = _NONE
        # Predicates, barrier operands, addresses (a bad one ends the run) and member masks of warps.
        whole = item is block.terminator or traits.memory == "copy"
        chosen = [operand for operand in item.operands if whole or isinstance(operand, Address)]
        chosen += [item.operands[-1]] if traits.converges == "named" else []
        chosen += [item.guard] if item.guard else []
        decides = _union(1 << index for operand in chosen for index in registers_of(operand))
        made.append(_Flow(item, uses, defs, decides, source, target))
    return tuple(made)


def _unsteady(item: Instruction) -> bool:
    """Return whether the result can change between iterations with unchanged registers and memory."""
    return traits_of(item.opcode).unsteady or tells_time(item)


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


_WAITS = (
    "Line {}: this loop repeats until other threads arrive or an atomic succeeds. The count depends on timing: on a "
    "GPU it differs, and changes from run to run."
)
_ALLOCATES = (
    "Line {}: on a GPU malloc and free run code of their own and place memory elsewhere, so the instructions of this "
    "line and the sectors of that memory differ."
)
_PRINTS = (
    "Line {}: on a GPU printf runs code of its own, so the instructions and the memory accesses of this line are more "
    "than shown here."
)
_HANDED_OUT = (
    "Line {}: an atomic hands out the places of this access. Which thread gets which place depends on timing, so a GPU "
    "may count other sectors."
)
_TEXTURES = "Line {}: a GPU counts reads of textures with counters of their own, which are not modelled here."
_UNSURE = (
    "Line {}: the assembler moves or combines a shared memory access in a way that the emulator cannot follow; the "
    "PTX is counted."
)
_LOOPED = (
    "Line {}: the assembler makes this atomic a loop that loads and compares until it succeeds. The emulator "
    "counts the turns of a warp alone; a GPU counts more where two warps meet at a word."
)


@lru_cache(maxsize=64)
def caveats_of(program: Program) -> tuple[Caveat, ...]:
    """Return the lines whose counts depend on timing, that call malloc or printf, or that have unclear machine code."""
    waiting = {
        block.line for block in program.blocks if polls(program, block) and _waits_on_memory(program, block.index)
    }
    heap = {item.line for item in program.instructions if item.opcode in ("call.malloc", "call.free")}
    prints = {item.line for item in program.instructions if item.opcode == "call.vprintf"}
    textures = {item.line for item in program.instructions if item.words[0] == "tex"}
    requests = program.requests
    said = (
        dict.fromkeys(_handed_out(program), _HANDED_OUT)
        | dict.fromkeys(textures, _TEXTURES)
        | dict.fromkeys(heap, _ALLOCATES)
        | dict.fromkeys(prints, _PRINTS)
        | dict.fromkeys(requests.unsure, _UNSURE)
        | dict.fromkeys(requests.looped, _LOOPED)
    )
    said |= dict.fromkeys(waiting, _WAITS)
    return tuple(Caveat(line, sentence.format(line)) for line, sentence in sorted(said.items()))


def _handed_out(program: Program) -> set[int]:
    """Return the lines that access global memory at addresses computed from the results of atomics."""
    flows = [flow for block in program.blocks for flow in _flows(program, block.index)]
    flows += [_Flow(item, *uses_and_defs((item,), program.carry), 0, _NONE, _NONE) for item in program.passed]
    found, before = _union(flow.defs for flow in flows if flow.item.words[0] == "atom"), 0
    while before != found:
        before = found
        found |= _union(flow.defs for flow in flows if flow.uses & found)
    return {
        flow.item.line for flow in flows
        if "global" in flow.source | flow.target
        and any(found >> index & 1 for address in addresses(flow.item) for index in registers_of(address))
    }  # fmt: skip


def _waits_on_memory(program: Program, end: int) -> bool:
    """Return whether the exit of the loop that block number `end` closes depends on memory."""
    start = program.blocks[end].successors[0]
    return loop_dependence(program, frozenset(range(start, end + 1))).waits
