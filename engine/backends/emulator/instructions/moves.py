"""mov, cvta and isspacep: copies, packing and unpacking, addresses of variables."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Instruction,
    InvalidPtx,
    PtxError,
    Register,
    Special,
    Symbol,
    Vector,
)
from engine.backends.emulator.ptx.traits import Traits, typed_bits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, constant, reader, writer
from engine.backends.emulator.registers.values import UNSIGNED, restrict
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import LOCAL_WINDOW, SHARED_WINDOW


def check_move(item: Instruction) -> None:
    """Check the type of a mov, and the parts of a packed register."""
    bits = 1 if item.words[-1] == "pred" else typed_bits(item)
    if bits < 32 and isinstance(item.operands[1], Symbol):
        raise InvalidPtx(f"{item.opcode} cannot hold the address of a variable")
    vectors = [operand for operand in item.operands if isinstance(operand, Vector)]
    if not vectors:
        return
    count = len(vectors[0].items)
    if len(vectors) > 1 or count not in (2, 4) or bits // count < 8 or bits < 16:
        raise InvalidPtx(f"{item.opcode} cannot split its register into {count} parts")


def check_change(item: Instruction) -> None:
    """Check the address space and type of a cvta."""
    if typed_bits(item) < 32 or len(item.words) < 3 + (item.words[1] == "to"):
        raise InvalidPtx(f"{item.opcode} does not name the space of its address and u32 or u64")


@executes(Traits("mov", "ds", check=check_move))
def move(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of a mov of a register, a number, a special register, or a variable's address."""
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
    """Return the type of a special register, after checking that `mov.code` can read it."""
    if name not in SPECIAL_REGISTERS:
        raise PtxError(f"the register {name} is not emulated")
    made = SPECIAL_REGISTERS[name].code
    if WIDTHS[code] != WIDTHS[made]:
        raise InvalidPtx(f"{name} has {WIDTHS[made]} bits, but is read by mov.{code}")
    return made


def _pack(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of mov.b64 {a, b}, c or mov.b64 c, {a, b}: low part first."""
    target, source = item.operands
    widths, line, whole = machine.program.widths, item.line, WIDTHS[item.words[-1]]
    if isinstance(target, Vector):
        size = whole // len(target.items)
        get = reader(source, f"u{whole}", widths, line)
        puts = [writer(part, f"u{size}", widths, line) for part in target.items]
        narrow = UNSIGNED[size]

        def unpack(registers: Registers, mask: Mask) -> None:
            value = get(registers)
            for number, put in enumerate(puts):
                put(registers, (value >> value.dtype.type(number * size)).astype(narrow))

        return unpack
    assert isinstance(source, Vector)
    size = whole // len(source.items)
    gets = [reader(part, f"u{size}", widths, line) for part in source.items]
    put, wide = writer(target, f"u{whole}", widths, line), UNSIGNED[whole]

    def pack(registers: Registers, mask: Mask) -> None:
        made = gets[0](registers).astype(wide)
        for number, get in enumerate(gets[1:], 1):
            made = made | (get(registers).astype(wide) << wide.type(number * size))
        put(registers, made)

    return pack


@executes(Traits("cvta", "ds", check=check_change))
def change_space(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of cvta: only shared and local addresses have a distinct generic form."""
    words = item.words
    to = words[1] == "to"
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(item.space, 0)
    if not window:
        return move(machine, Instruction(f"mov.{words[-1]}", item.operands, None, item.line))
    widths, line, code = machine.program.widths, item.line, words[-1]
    source = item.operands[1]
    fixed = constant(machine.address_of(source, line), code) if isinstance(source, Symbol) else None
    get: Reader = reader(source, code, widths, line) if fixed is None else lambda registers: fixed
    put, shift = writer(item.operands[0], code, widths, line), constant(window, code)
    if to:
        return lambda registers, mask: put(registers, get(registers) - shift)
    return lambda registers, mask: put(registers, get(registers) + shift)


@executes(Traits("isspacep", "dv"))
def is_space(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that tests whether a generic address lies in a space."""
    get = reader(item.operands[1], "u64", machine.program.widths, item.line)
    put = writer(item.operands[0], "pred", machine.program.widths, item.line)
    number = {"shared": 1, "local": 2}.get(item.space)
    shift = np.uint64(36)
    if number is None:
        return lambda registers, mask: put(registers, (get(registers) >> shift) > np.uint64(2))
    return lambda registers, mask: put(registers, (get(registers) >> shift) == np.uint64(number))
