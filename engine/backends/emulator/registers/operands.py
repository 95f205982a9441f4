"""Read operands and write results: closures over the list of register values, for all lanes or for one group.

A register keeps the type it was produced in. A reader gives the same bits as another type, or the low bits if PTX reads
a wide register as a narrower type. A writer extends a result that is narrower than its register.

A group's result is merged into the whole register only if lanes of other groups will still read that register;
otherwise it is stored as a `Part`, which costs nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.backends.emulator.meanings.table import DTYPES
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Immediate,
    InvalidPtx,
    Operand,
    PtxError,
    Register,
    Sink,
    operand_text,
)
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import UNSIGNED, OuterSum, Part, Value, plain, restrict, select
from engine.records import Array

Registers = list[Value]
Reader = Callable[[Registers], Any]
Writer = Callable[[Registers, Array], None]
_ndarray = np.ndarray


def constant(number: int | float, code: str) -> Array:
    """Return one number as a read-only (1, 1) array of the type `code`; integers wrap."""
    kind = DTYPES[code]
    if kind.kind in "iu":
        bits = 8 * kind.itemsize
        made = np.array([[int(number) % (1 << bits)]], UNSIGNED[bits]).view(kind)
    else:
        made = np.array([[number]], kind)
    made.flags.writeable = False
    return made


def immediate(operand: Immediate, code: str) -> Array:
    """Return a literal as the type `code`."""
    if operand.bits and code[0] in "fb" and code[1:].isdigit() and int(code[1:]) == operand.bits:
        return constant(operand.value, f"u{operand.bits}").view(DTYPES[code])
    if operand.bits and DTYPES[code].kind != "f":
        raise InvalidPtx(f"a floating constant is given for the type {code}")
    if operand.bits:
        form = "<f" if operand.bits == 32 else "<d"
        raw = operand.value.to_bytes(operand.bits // 8, "little", signed=operand.value < 0)
        return constant(struct.unpack(form, raw)[0], code)
    return constant(operand.value, code)


def reader(operand: Operand, code: str, widths: tuple[int, ...], line: int) -> Reader:
    """Return a function from the registers to the operand's array of the type `code`."""
    if isinstance(operand, Immediate):
        fixed = immediate(operand, code)
        return lambda registers: fixed
    if not isinstance(operand, Register):
        raise PtxError(f"this operand is not emulated: {operand_text(operand)}", line)
    index, kind, width = operand.index, DTYPES[code], widths[operand.index]
    if code == "pred":
        if width != 1:
            raise InvalidPtx("a predicate is read from a register of another type", line)
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
    """Return a reader that keeps outer sums and the type that the register holds."""
    if isinstance(operand, Register) and code != "pred" and widths[operand.index] == WIDTHS[code]:
        index = operand.index
        return lambda registers: registers[index]
    return reader(operand, code, widths, line)


def writer(operand: Operand, code: str, widths: tuple[int, ...], line: int) -> Writer:
    """Return a function that stores a result of the type `code` in the operand's register."""
    if isinstance(operand, Sink):
        return lambda registers, value: None
    if not isinstance(operand, Register):
        raise PtxError(f"this destination is not emulated: {operand_text(operand)}", line)
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
    """Return the registers in a bit set."""
    found = []
    while members:
        lowest = members & -members
        found.append(lowest.bit_length() - 1)
        members ^= lowest
    return tuple(found)


def fetch(used: tuple[int, ...], whole: Registers, local: Registers, mask: Mask) -> None:
    """Copy registers to `local`, in the rows and columns of the mask."""
    rows, columns = mask.row_index, mask.column_index
    for index in used:
        value = whole[index]
        if value.__class__ is Part:
            if value.mask is mask:
                local[index] = value.value
                continue
            value = whole[index] = expand_part(value)
        local[index] = restrict(value, rows, columns)


def put_back(kept: tuple[int, ...], whole: Registers, local: Registers, mask: Mask, others: int) -> None:
    """Store the registers `kept` of the mask's lanes; `others`: bit set of the registers that other groups read."""
    for index in kept:
        value = local[index]
        if others >> index & 1:
            whole[index] = merge_values(whole[index], value, mask)
        else:
            whole[index] = value if _fits_whole(value, mask) else Part(value, mask)


def _fits_whole(value: Value, mask: Mask) -> bool:
    """Return whether a value in the mask's rows and columns has the same form for the whole chunk."""
    if value.__class__ is OuterSum:
        rows, columns = value.rows.values.shape[0], value.columns.values.shape[1]
    else:
        rows, columns = value.shape
    return (rows == 1 or mask.row_index is None) and (columns == 1 or mask.column_index is None)


def expand_part(part: Part) -> Array:
    """Return a partial value in whole rows and columns; lanes outside its mask are undefined."""
    value, mask = plain(part.value), part.mask
    rows = mask.rows.size if value.shape[0] > 1 else 1
    columns = mask.columns.size if value.shape[1] > 1 else 1
    made = np.zeros((rows, columns), value.dtype)
    made[_rectangle_in(mask, rows, columns)] = value
    return made


def merge_values(old: Value, new: Value, mask: Mask) -> Array:
    """Return `new` for the lanes of `mask`, `old` for the others."""
    before = expand_part(old) if old.__class__ is Part else plain(old)
    after = plain(new)
    if before.dtype is not after.dtype:
        before = before.view(after.dtype)
    if mask.dense is not None:
        inside = restrict(before, mask.row_index, mask.column_index)
        after = select(mask.words(after.dtype.itemsize), after, inside)
        if mask.row_index is None and mask.column_index is None:
            return after
        rows, columns = mask.rows.size, mask.columns.size
    else:
        rows = 1 if before.shape[0] == after.shape[0] == 1 and mask.row_index is None else mask.rows.size
        columns = 1 if before.shape[1] == after.shape[1] == 1 and mask.column_index is None else mask.columns.size
    made = np.empty((rows, columns), after.dtype)
    made[...] = before
    made[_rectangle_in(mask, rows, columns)] = after
    return made


def _rectangle_in(mask: Mask, rows: int, columns: int) -> Any:
    """Return the index of the mask's rectangle in an array of that size (a side of 1 is not expanded)."""
    over_rows = slice(None) if rows == 1 or mask.row_index is None else mask.row_index
    over_columns = slice(None) if columns == 1 or mask.column_index is None else mask.column_index
    if isinstance(over_rows, slice) or isinstance(over_columns, slice):
        return over_rows, over_columns
    return over_rows[:, None], over_columns[None, :]
