"""Instruction -> step: a closure `step(registers, mask)` that executes it for the lanes of a mask.

The registers are in the mask's own rows and columns (`machine` sees to that), so arithmetic never looks at the mask.
This module does data movement (mov, ld, st, cvta) and everything that `ops` computes; `atomics` and `collectives` do
the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from engine.backends.emulator.instructions.arithmetic import computed, two_predicates
from engine.backends.emulator.instructions.async_copy import copy_step
from engine.backends.emulator.instructions.atomics import atomic_step
from engine.backends.emulator.instructions.memory_port import Port
from engine.backends.emulator.instructions.runtime_calls import builtin_step
from engine.backends.emulator.instructions.warp_wide import collective_step
from engine.backends.emulator.meanings.table import UnknownInstruction
from engine.backends.emulator.ptx.program import BasicBlock, registers_of
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Immediate,
    Instruction,
    InvalidPtx,
    Operand,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    shown,
)
from engine.backends.emulator.ptx.uniform import operand_varies
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, constant, raw_reader, reader, writer
from engine.backends.emulator.registers.values import restrict
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.memory import LOCAL_WINDOW, SHARED_WINDOW

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

Step = Callable[[Registers, Mask], None]
_NOTHING = ("prefetch", "prefetchu", "nanosleep", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg")
_SPACES = ("global", "shared", "local", "const", "param")
_WIDE = ("%clock64", "%globaltimer", "%current_graph_exec")  # 64 bits; the other special registers have 32
_ALWAYS_READ = frozenset(("exch", "cas"))  # the GPU has no form of them without a result
# What the GPU's assembler makes an instruction that counts, if the operand is this constant (not of add.s32).
_TALLIES: dict[tuple[str, ...], int] = {("add", "u32"): 1, ("inc", "u32"): 0xFFFFFFFF}
_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"))


def steps_of(machine: Machine, block: BasicBlock) -> list[Step]:
    """The steps of a block's body."""
    made = []
    for number, item in enumerate(block.body):
        try:
            step = _step(machine, block, number, item)
        except UnknownInstruction:
            raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line, item.place) from None
        except PtxError as error:
            raise error.at(item.line, item.place) from None
        if step is not None:
            made.append(step)
    return made


def _step(machine: Machine, block: BasicBlock, number: int, item: Instruction) -> Step | None:
    head = item.opcode.split(".", 1)[0]
    match head:
        case "mov":
            return _move(machine, item)
        case "ld" | "ldu":
            return _load_parameter(machine, item) if item.opcode.startswith("ld.param") else _load(machine, item)
        case "st":
            return _store(machine, item)
        case "atom" | "red":
            return atomic_step(machine, item, site_of(machine, item, head, _dead(block, number, item)))
        case "cvta":
            return _change_space(machine, item)
        case "isspacep":
            return _is_space(machine, item)
        case "membar" | "fence":
            return _fence(machine, item)
        case "call":
            return builtin_step(machine, item)
        case "bar_result":
            return _barrier_result(machine, item)
        case "cp":
            return copy_step(machine, item)
        case "setp" if isinstance(item.operands[0], Pair):
            return two_predicates(machine, item, item.operands[0])
    step = collective_step(machine, item)
    if step is not None or head in _NOTHING:
        return step
    return computed(machine, item)


def _dead(block: BasicBlock, number: int, item: Instruction) -> bool:
    """True when nobody reads the instruction's result: the compiler then makes an `atom` a `red`."""
    if isinstance(item.operands[0], Sink):
        return True
    if not isinstance(item.operands[0], Register):
        return False
    index = item.operands[0].index
    after = (*block.body[number + 1 :], *((block.terminator,) if block.terminator else ()))
    for later in after:
        used = {i for operand in later.operands for i in registers_of(operand)}
        if index in used or (later.guard and later.guard.index == index):
            return False
    return not block.live_out >> index & 1


def site_of(machine: Machine, item: Instruction, op: str, dead: bool = False) -> Site:
    """The memory instruction as observers know it."""
    words = item.words
    space = next((name for name in _SPACES if any(word.split("::")[0] == name for word in words[1:])), "")
    vector = next((int(word[1:]) for word in words if word in ("v2", "v4", "v8")), 1)
    if words[-1] not in WIDTHS:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    kind = "red" if op == "atom" and dead and not _ALWAYS_READ & set(words) else op
    space = "global" if space == "const" else space
    weak = not _STRONG & set(words)
    tallies = kind == "red" and space == "shared" and _TALLIES.get(words[-2:]) == _last_number(item)
    one_word = one_value = False
    if words[0] in ("atom", "red"):
        address, *values = item.operands[1 if words[0] == "atom" else 0 :]
        one_word = not operand_varies(address, machine.varying)
        one_value = not any(operand_varies(value, machine.varying) for value in values)
    return Site(
        machine.next_site(), item.line, item.opcode, kind, space, WIDTHS[words[-1]] // 8, vector, weak, tallies,
        one_word, one_value,
    )  # fmt: skip


def _last_number(item: Instruction) -> int | None:
    """The last operand as an unsigned word, where it is a constant."""
    last = item.operands[-1]
    return int(last.value) & 0xFFFFFFFF if isinstance(last, Immediate) else None


# ---- moving


def _move(machine: Machine, item: Instruction) -> Step:
    target, source = item.operands
    widths, line = machine.program.widths, item.line
    code = item.words[-1]
    if isinstance(source, Special):
        name, put = source.name, writer(target, _special_code(source.name, code), widths, line)

        def special(registers: Registers, mask: Mask) -> None:
            put(registers, restrict(machine.special(name), mask.row_index, mask.column_index))

        return special
    if isinstance(source, Symbol):
        fixed = constant(machine.address_of(source, line), "u64" if WIDTHS[code] == 64 else "u32")
        put = writer(target, code, widths, line)
        return lambda registers, mask: put(registers, fixed)
    if isinstance(source, Vector) or isinstance(target, Vector):
        return _pack(machine, item)
    if isinstance(source, Register) and isinstance(target, Register) and widths[source.index] == widths[target.index]:
        here, there = source.index, target.index
        if not source.negated:

            def copy(registers: Registers, mask: Mask) -> None:
                registers[there] = registers[here]

            return copy
    get, put = reader(source, code, widths, line), writer(target, code, widths, line)
    return lambda registers, mask: put(registers, get(registers))


def _special_code(name: str, code: str) -> str:
    """The type of a special register, once `mov.code` may read it."""
    made = "u64" if name in _WIDE else "pred" if name == "%is_explicit_cluster" else "u32"
    if WIDTHS[code] != WIDTHS[made]:
        raise InvalidPtx(f"{name} has {WIDTHS[made]} bits, but is read by mov.{code}")
    return made


def _pack(machine: Machine, item: Instruction) -> Step:
    """mov.b64 {a, b}, c and mov.b64 c, {a, b}: low part first."""
    target, source = item.operands
    widths, line, whole = machine.program.widths, item.line, WIDTHS[item.words[-1]]
    if isinstance(target, Vector):
        size = whole // len(target.items)
        get = reader(source, f"u{whole}", widths, line)
        puts = [writer(part, f"u{size}", widths, line) for part in target.items]
        narrow = DT[size]

        def unpack(registers: Registers, mask: Mask) -> None:
            value = get(registers)
            for number, put in enumerate(puts):
                put(registers, (value >> value.dtype.type(number * size)).astype(narrow))

        return unpack
    assert isinstance(source, Vector)
    size = whole // len(source.items)
    gets = [reader(part, f"u{size}", widths, line) for part in source.items]
    put, wide = writer(target, f"u{whole}", widths, line), DT[whole]

    def pack(registers: Registers, mask: Mask) -> None:
        made = gets[0](registers).astype(wide)
        for number, get in enumerate(gets[1:], 1):
            made = made | (get(registers).astype(wide) << wide.type(number * size))
        put(registers, made)

    return pack


DT = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)}


def _change_space(machine: Machine, item: Instruction) -> Step:
    """cvta: only shared and local addresses have a generic form of their own."""
    words = item.words
    to = words[1] == "to"
    space = words[2 if to else 1].split("::")[0]
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    if not window:
        return _move(machine, Instruction(f"mov.{words[-1]}", item.operands, None, item.line))
    widths, line, code = machine.program.widths, item.line, words[-1]
    source = item.operands[1]
    fixed = constant(machine.address_of(source, line), code) if isinstance(source, Symbol) else None
    get: Reader = reader(source, code, widths, line) if fixed is None else lambda registers: fixed
    put, shift = writer(item.operands[0], code, widths, line), constant(window, code)
    if to:
        return lambda registers, mask: put(registers, get(registers) - shift)
    return lambda registers, mask: put(registers, get(registers) + shift)


def _is_space(machine: Machine, item: Instruction) -> Step:
    space = item.words[1].split("::")[0]
    get = reader(item.operands[1], "u64", machine.program.widths, item.line)
    put = writer(item.operands[0], "pred", machine.program.widths, item.line)
    number = {"shared": 1, "local": 2}.get(space)
    shift = np.uint64(36)
    if number is None:
        return lambda registers, mask: put(registers, (get(registers) >> shift) > np.uint64(2))
    return lambda registers, mask: put(registers, (get(registers) >> shift) == np.uint64(number))


def _fence(machine: Machine, item: Instruction) -> Step | None:
    def step(registers: Registers, mask: Mask) -> None:
        for hook in machine.on_fence:
            hook(item.line, mask)

    return step if machine.on_fence else None


def _barrier_result(machine: Machine, item: Instruction) -> Step:
    """The result of a `barrier.red`."""
    kind = item.opcode.split(".red.")[1].split(".")[0]
    put = writer(item.operands[0], "u32" if kind == "popc" else "pred", machine.program.widths, item.line)
    everyone, count = np.uint32(1 << 30), np.uint32((1 << 30) - 1)

    def step(registers: Registers, mask: Mask) -> None:
        results = restrict(machine.chunk.barriers.results, mask.row_index, mask.column_index)
        if kind == "and":
            put(registers, results >= everyone)
        else:
            put(registers, (results & count) > np.uint32(0) if kind == "or" else results & count)

    return step


# ---- memory


def address_reader(machine: Machine, address: Operand, line: int) -> tuple[Reader, int]:
    """A reader of the base register (or a constant base), and the byte offset to add."""
    if not isinstance(address, Address):
        raise PtxError(f"this address is not emulated: {shown(address)}", line)
    if isinstance(address.base, Register):
        width = machine.program.widths[address.base.index]
        return raw_reader(address.base, f"u{width}", machine.program.widths, line), address.offset
    start = machine.address_of(address.base, line) if address.base else 0
    fixed = constant(start + address.offset, "s64")
    return (lambda registers: fixed), 0


def _load_parameter(machine: Machine, item: Instruction) -> Step:
    """A kernel argument: the same for all lanes."""
    address, code = item.operands[1], item.words[-1]
    if not isinstance(address, Address) or not isinstance(address.base, Symbol):
        raise PtxError("a kernel argument at a computed address is not emulated", item.line)
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


def _load(machine: Machine, item: Instruction) -> Step:
    target, address = item.operands[:2]
    site, code = site_of(machine, item, "ld"), item.words[-1]
    get, offset = address_reader(machine, address, item.line)
    port = Port(machine, site, offset)
    targets = target.items if isinstance(target, Vector) else (target,)
    puts = [writer(part, code, machine.program.widths, item.line) for part in targets]
    if len(puts) == 1:
        (put,) = puts
        return lambda registers, mask: put(registers, port.load(get(registers), mask)[0])

    def step(registers: Registers, mask: Mask) -> None:
        for put, value in zip(puts, port.load(get(registers), mask), strict=True):
            put(registers, value)

    return step


def _store(machine: Machine, item: Instruction) -> Step:
    address, source = item.operands[:2]
    site = site_of(machine, item, "st")
    get, offset = address_reader(machine, address, item.line)
    port = Port(machine, site, offset)
    sources = source.items if isinstance(source, Vector) else (source,)
    kind, code, widths = f"u{8 * site.part}", item.words[-1], machine.program.widths
    gets = [reader(part, kind if isinstance(part, Register) else code, widths, item.line) for part in sources]
    unsigned = DT[8 * site.part]

    def step(registers: Registers, mask: Mask) -> None:
        values = [read(registers) for read in gets]
        port.store(get(registers), mask, [v if v.dtype is unsigned else v.view(unsigned) for v in values])

    return step
