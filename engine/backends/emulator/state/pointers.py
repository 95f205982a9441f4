"""Which arrays a program may write, derived from its text, and the granularity at which they are checked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import WIDTHS, Address, Instruction, Operand, Special, Symbol
from engine.backends.emulator.ptx.traits import has_destination, registers_of, traits_of
from engine.backends.emulator.state.machine import Machine

HEAP = "the heap"  # the origin of a pointer from malloc
_WORKSPACE = "grid workspace"  # the origin of the address of grid.sync()'s counter


def written_arrays(machine: Machine) -> frozenset[int]:
    """Return the base addresses of the device arrays that a store or an atomic of the program may access.

    A pointer comes from a kernel argument or a variable and can be followed through arithmetic. A store through a
    pointer loaded from memory may access any array.
    """
    items = [item for block in machine.program.blocks for item in block.body]
    writing = [item for item in items if traits_of(item.opcode).memory in ("store", "atomic")]
    return arrays_met(machine, [addresses(item)[0] for item in writing if item.space not in ("shared", "local")])


def writes_one_of(machine: Machine, item: Instruction, names: set[str | int]) -> bool:
    """Return whether an instruction may write one of these memories: spaces by name, device arrays by their base."""
    if traits_of(item.opcode).memory not in ("store", "atomic"):
        return False
    if item.space in ("shared", "local"):
        return item.space in names
    generic = not item.space and "shared" in names
    return generic or not names.isdisjoint(arrays_met(machine, addresses(item)[:1]))


def addresses(item: Instruction) -> list[Address]:
    """Return the addresses among an instruction's operands, the written one first."""
    return [operand for operand in item.operands if isinstance(operand, Address)]


def arrays_met(machine: Machine, places: Iterable[Address]) -> frozenset[int]:
    """Return the base addresses of the device arrays that these addresses of global memory may refer to."""
    origins = _origins(machine.program)
    names: set[str] = set()
    anything = False
    for address in places:
        found = _names_of(address, origins)
        names |= found
        anything = anything or not found
    bases: set[int] = set()
    for name in names:
        if name in machine.symbols:
            bases.add(machine.symbols[name])
        elif name == HEAP:
            bases |= {array.base for array in machine.space.arrays() if array.sparse}
        elif name in machine.arguments:
            raw = machine.arguments[name]
            words = (int.from_bytes(raw[at : at + 8], "little") for at in range(0, len(raw) - 7, 8))
            bases |= {array.base for array in map(machine.space.at, words) if array is not None}
    if anything:
        bases |= {array.base for array in machine.space.arrays()}
    return frozenset(bases - {machine.workspace})


def is_of_grid_barrier(program: Program, places: Iterable[Address]) -> bool:
    """Return whether there are such addresses, all in the workspace of grid.sync()."""
    found = [_names_of(address, _origins(program)) for address in places]
    return bool(found) and all(names == {_WORKSPACE} for names in found)


def _names_of(operand: Operand, origins: dict[int, set[str]]) -> set[str]:
    """Return the parameters and variables that an operand is computed from."""
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return {operand.base.name}
    return {name for index in registers_of(operand) for name in origins.get(index, set())}


@lru_cache(maxsize=64)
def _origins(program: Program) -> dict[int, set[str]]:
    """Map each register to the parameters and variables that its value may come from, other than through memory."""
    origins: dict[int, set[str]] = {}
    items = [item for item in program.instructions if has_destination(item)]
    changed = True
    while changed:
        changed = False
        for item in items:
            sources: set[str] = set()
            if traits_of(item.opcode).memory == "load":
                continue
            for operand in item.operands[1:]:
                if isinstance(operand, Symbol):
                    sources.add(operand.name)
                elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
                    sources.add(operand.base.name)
                elif isinstance(operand, Special) and "envreg" in operand.name:
                    sources.add(_WORKSPACE)
                if item.opcode == "call.malloc":
                    sources.add(HEAP)
                for index in registers_of(operand):
                    sources |= origins.get(index, set())
            for index in registers_of(item.operands[0]):
                known = origins.setdefault(index, set())
                if not sources <= known:
                    known |= sources
                    changed = True
    return origins


@lru_cache(maxsize=64)
def only_stored(program: Program) -> frozenset[str]:
    """Return the parameters to whose arrays the program stores, and which nothing can read: no load, atomic or call
    gets an address from them, and they are not kept in memory."""
    origins, stored, read = _origins(program), set[str](), set[str]()
    ends = (block.terminator for block in program.blocks if block.terminator)
    for item in (*program.instructions, *ends):
        traits = traits_of(item.opcode)
        if traits.memory == "store":
            stored |= _names_of(addresses(item)[0], origins)
            used = {
                name for value in item.operands if not isinstance(value, Address) for name in _names_of(value, origins)
            }
        elif traits.memory or traits.control == "call" or traits.head.startswith("call"):
            used = {name for operand in item.operands for name in _names_of(operand, origins)}
            if traits.memory and not used and item.space not in ("shared", "local", "const", "param"):
                return frozenset()  # through a pointer from memory, it may read any array
        else:
            continue
        read |= used
    return frozenset({param.name for param in program.params} & stored - read)


@lru_cache(maxsize=64)
def spaces_of_shared(program: Program) -> tuple[str, ...]:
    """Return the spaces of accesses that may reach shared memory: with a generic address too, if the program makes one
    of a shared array."""
    items = (item for block in program.blocks for item in block.body)
    generic = any(item.words[:2] == ("cvta", "shared") or item.words[:1] == ("mapa",) for item in items)
    return ("shared", "") if generic else ("shared",)


@lru_cache(maxsize=64)
def smallest_part(program: Program, spaces: tuple[str, ...]) -> int:
    """Return the bytes of the smallest access to these spaces, at most 4: the granularity of their race checks."""
    items = [item for block in program.blocks for item in block.body if item.space in spaces]
    items = [item for item in items if item.space or traits_of(item.opcode).memory]
    return min([4, *(WIDTHS.get(item.words[-1], 32) // 8 for item in items)])
