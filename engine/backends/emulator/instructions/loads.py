"""ld, st and kernel arguments; fences, cache hints, and the results of barriers with a vote."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from engine.backends.emulator.instructions.arithmetic import comparison
from engine.backends.emulator.instructions.memory_port import Port, address_reader, site_of
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.guarded_loads import Condition, Guard, guarded_loads
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Instruction,
    InvalidPtx,
    Register,
    Symbol,
    Vector,
)
from engine.backends.emulator.ptx.traits import Traits, describe, typed_bits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, constant, reader, writer
from engine.backends.emulator.registers.values import UNSIGNED, restrict
from engine.backends.emulator.state.machine import Machine
from engine.records import Array


def check_access(item: Instruction) -> None:
    """Check an access's type and its number of registers."""
    typed_bits(item)
    data = item.operands[1 if item.words[0] == "st" else 0]
    given = len(data.items) if isinstance(data, Vector) else 1
    if given != item.count:
        noun = "number" if item.count == 1 else "numbers"
        raise InvalidPtx(f"{item.opcode} moves {item.count} {noun}, not {given}")


describe(
    Traits("st.param", "av", check=check_access, writes=False),  # inlining turns it into a mov
    Traits("st.async", writes=False),
    Traits("st.bulk", writes=False),
)


@executes(Traits("ld.param", "da", check=check_access))
def load_parameter(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that loads a kernel argument, or part of a structure at a computed address."""
    address, code = item.operands[1], item.words[-1]
    if not isinstance(address, Address) or not isinstance(address.base, Symbol):
        return load(machine, item)
    targets = item.operands[0].items if isinstance(item.operands[0], Vector) else (item.operands[0],)
    size, kind = WIDTHS[code] // 8, f"u{WIDTHS[code]}"
    at = address.base.offset + address.offset
    raw = machine.argument(address.base.name)
    fixed = []
    for number, target in enumerate(targets):
        number_at = at + number * size
        bits = int.from_bytes(raw[number_at : number_at + size], "little")
        fixed.append((writer(target, code, machine.program.widths, item.line), constant(bits, kind)))

    def step(registers: Registers, mask: Mask) -> None:
        for put, value in fixed:
            put(registers, value)

    return step


@executes(*(Traits(head, "da?v", check=check_access, memory="load") for head in ("ld", "ldu")))
def load(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of an ld of one register or several."""
    get, offset = address_reader(machine, item.operands[1], item.line)
    return load_through(machine, item, get, Port(machine, site_of(machine, item), offset, item.operands[1]))


def load_through(machine: Machine, item: Instruction, get: Reader, port: Port) -> Executor:
    """Return the executor of an ld that accesses memory through a port. `get`: reads its base address."""
    target, code = item.operands[0], item.words[-1]
    targets = target.items if isinstance(target, Vector) else (target,)
    puts = [writer(part, code, machine.program.widths, item.line) for part in targets]
    guard = guarded_loads(machine.program).get(item)
    takers = _takers_reader(machine, guard, item.line) if guard is not None and machine.hooks.on_access else None
    if len(puts) == 1 and takers is None:
        (put,) = puts
        return lambda registers, mask: put(registers, port.load(get(registers), mask)[0])

    def step(registers: Registers, mask: Mask) -> None:
        if takers is not None:
            port.takers = takers(registers, mask)
        for put, value in zip(puts, port.load(get(registers), mask), strict=True):
            put(registers, value)

    return step


def _takers_reader(machine: Machine, guard: Guard, line: int) -> Callable[[Registers, Mask], Array | None]:
    """Return a reader of the lanes that use a loaded value; None if all do."""
    uses = [[_condition_reader(machine, each, line) for each in use] for use in guard]

    def takers(registers: Registers, mask: Mask) -> Array | None:
        found = reduce(np.logical_or, (reduce(np.logical_and, (get(registers, mask) for get in use)) for use in uses))
        return None if found.all() else found

    return takers


def _condition_reader(machine: Machine, condition: Condition, line: int) -> Callable[[Registers, Mask], Array]:
    """Return a reader of the lanes for which a condition holds, of the shape of its predicate."""
    get = reader(Register(condition.index, not condition.holds), "pred", machine.program.widths, line)
    made = comparison(machine, condition.made) if condition.made else None

    def holds(registers: Registers, mask: Mask) -> Array:
        if made is not None:
            registers = list(registers)  # the predicate is set ahead of its place
            made(registers, mask)
        found: Array = get(registers)
        return found

    return holds


@executes(Traits("st", "av?v", check=check_access, writes=False, memory="store"))
def store(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of an st of one register or several."""
    address, source = item.operands[:2]
    site = site_of(machine, item)
    get, offset = address_reader(machine, address, item.line)
    port = Port(machine, site, offset, address)
    sources = source.items if isinstance(source, Vector) else (source,)
    kind, code, widths = f"u{8 * site.part}", item.words[-1], machine.program.widths
    gets = [reader(part, kind if isinstance(part, Register) else code, widths, item.line) for part in sources]
    unsigned = UNSIGNED[8 * site.part]

    def step(registers: Registers, mask: Mask) -> None:
        values = [read(registers) for read in gets]
        port.store(get(registers), mask, [v if v.dtype is unsigned else v.view(unsigned) for v in values])

    return step


@executes(Traits("membar", writes=False), Traits("fence", writes=False))
def fence(machine: Machine, item: Instruction) -> Executor | None:
    """Return the executor that reports a fence; accesses take effect at once here."""

    def step(registers: Registers, mask: Mask) -> None:
        for hook in machine.hooks.on_fence:
            hook(item.line, item.opcode, mask)

    return step if machine.hooks.on_fence else None


@executes(Traits("bar_result", issued=False))
def barrier_result(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that gives the result of the preceding `barrier.red`."""
    kind = item.opcode.split(".red.")[1].split(".")[0]
    put = writer(item.operands[0], "u32" if kind == "popc" else "pred", machine.program.widths, item.line)
    everyone, count = np.uint32(1 << 30), np.uint32((1 << 30) - 1)

    def step(registers: Registers, mask: Mask) -> None:
        results = restrict(machine.resident.votes.results, mask.row_index, mask.column_index)
        if kind == "and":
            put(registers, results >= everyone)
        else:
            put(registers, (results & count) > np.uint32(0) if kind == "or" else results & count)

    return step


_HEADS = ("prefetch", "prefetchu", "nanosleep", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg")


@executes(*(Traits(head, writes=False) for head in _HEADS))
def skip_hint(machine: Machine, item: Instruction) -> Executor | None:
    """Return None: a hint changes neither an answer nor a count."""
    return None


@executes(Traits("createpolicy"))
def make_policy(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that makes a policy of the L2, which is a hint: any number is one."""
    put = writer(item.operands[0], "u64", machine.program.widths, item.line)
    none = constant(0, "u64")
    return lambda registers, mask: put(registers, none)
