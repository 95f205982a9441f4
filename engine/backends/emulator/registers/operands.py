"""How an instruction reads its operands and writes its results: closures over the list of register values.

A register keeps the type that it was produced in; a reader gives the same bits as another type, or, where PTX lets a
wide register be read as a narrower type, its low bits. A writer extends what is narrower than its register.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.backends.emulator.meanings.table import DTYPES
from engine.backends.emulator.ptx.syntax import WIDTHS, Immediate, InvalidPtx, Operand, PtxError, Register, Sink, shown
from engine.backends.emulator.registers.values import UNSIGNED, Value, plain
from engine.records import Array

Registers = list[Value]
Reader = Callable[[Registers], Any]
Writer = Callable[[Registers, Array], None]
_ndarray = np.ndarray


def constant(number: int | float, code: str) -> Array:
    """One number as a read-only (1, 1) array of the type `code`; integers wrap."""
    kind = DTYPES[code]
    if kind.kind in "iu":
        bits = 8 * kind.itemsize
        made = np.array([[int(number) % (1 << bits)]], UNSIGNED[bits]).view(kind)
    else:
        made = np.array([[number]], kind)
    made.flags.writeable = False
    return made


def immediate(operand: Immediate, code: str) -> Array:
    """A literal as the type `code`."""
    if operand.bits and code[0] in "fb" and code[1:].isdigit() and int(code[1:]) == operand.bits:
        return constant(operand.value, f"u{operand.bits}").view(DTYPES[code])
    if operand.bits and DTYPES[code].kind != "f":
        raise InvalidPtx(f"a floating constant stands where the type {code} is wanted")
    if operand.bits:
        form = "<f" if operand.bits == 32 else "<d"
        raw = operand.value.to_bytes(operand.bits // 8, "little", signed=operand.value < 0)
        return constant(struct.unpack(form, raw)[0], code)
    return constant(operand.value, code)


def reader(operand: Operand, code: str, widths: tuple[int, ...], line: int) -> Reader:
    """A function from the registers to the operand's array of the type `code`."""
    if isinstance(operand, Immediate):
        fixed = immediate(operand, code)
        return lambda registers: fixed
    if not isinstance(operand, Register):
        raise PtxError(f"this operand is not emulated: {shown(operand)}", line)
    index, kind, width = operand.index, DTYPES[code], widths[operand.index]
    if code == "pred":
        if width != 1:
            raise InvalidPtx("a predicate is read from a register that is none", line)
        if operand.negated:
            return lambda registers: ~registers[index]
        return lambda registers: registers[index]
    wanted = 8 * kind.itemsize
    if width < wanted:
        raise InvalidPtx(f"a register of {width} bits is read as {wanted} bits", line)
    if width > wanted:
        narrow = UNSIGNED[wanted]
        return lambda registers: _unsigned(registers[index], width).astype(narrow).view(kind)

    def read(registers: Registers) -> Array:
        value = registers[index]
        if value.__class__ is not _ndarray:
            value = value.array()
        return value if value.dtype is kind else value.view(kind)  # type: ignore[no-any-return]

    return read


def _unsigned(value: Value, width: int) -> Array:
    return plain(value).view(UNSIGNED[width])


def raw_reader(operand: Operand, code: str, widths: tuple[int, ...], line: int) -> Reader:
    """As `reader`, but an outer sum stays one and the type is whatever the register holds."""
    if isinstance(operand, Register) and code != "pred" and widths[operand.index] == WIDTHS[code]:
        index = operand.index
        return lambda registers: registers[index]
    return reader(operand, code, widths, line)


def writer(operand: Operand, code: str, widths: tuple[int, ...], line: int) -> Writer:
    """A function that puts a result of the type `code` into the operand's register."""
    if isinstance(operand, Sink):
        return lambda registers, value: None
    if not isinstance(operand, Register):
        raise PtxError(f"this destination is not emulated: {shown(operand)}", line)
    index, width, made = operand.index, widths[operand.index], WIDTHS[code]
    if (code == "pred") != (width == 1) or made > max(width, 1):
        raise InvalidPtx(f"a result of the type {code} does not fit its register of {width} bits", line)
    if made == width:

        def write(registers: Registers, value: Array) -> None:
            registers[index] = value

        return write
    narrow, wide = (f"{'i' if code[0] == 's' else 'u'}{bits // 8}" for bits in (made, width))
    narrow_kind, wide_kind = np.dtype(narrow), np.dtype(wide)

    def widen(registers: Registers, value: Array) -> None:
        registers[index] = value.view(narrow_kind).astype(wide_kind).view(UNSIGNED[width])

    return widen


def numbers_of(members: int) -> tuple[int, ...]:
    """The registers in a bit set."""
    found = []
    while members:
        lowest = members & -members
        found.append(lowest.bit_length() - 1)
        members ^= lowest
    return tuple(found)
