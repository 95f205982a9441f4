"""Registers of a group that is not the whole chunk: taken out in its rows and columns, and put back.

What a group computes goes back into a whole register only if lanes of other groups will still read that register;
otherwise it is kept as a `Part`, which costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.registers.values import OuterSum, Part, Value, plain, restrict, select
from engine.records import Array


def fetch(used: tuple[int, ...], whole: Registers, local: Registers, mask: Mask) -> None:
    """local[i] = the register's value in the rows and columns of the mask."""
    rows, columns = mask.row_index, mask.column_index
    for index in used:
        value = whole[index]
        if value.__class__ is Part:
            if value.mask is mask:
                local[index] = value.value
                continue
            value = whole[index] = expanded(value)
        local[index] = restrict(value, rows, columns)


def put_back(kept: tuple[int, ...], whole: Registers, local: Registers, mask: Mask, others: int) -> None:
    """The registers `kept` of the mask's lanes are valid from now on; `others`: bit set of those that others read."""
    for index in kept:
        value = local[index]
        if others >> index & 1:
            whole[index] = merged(whole[index], value, mask)
        else:
            whole[index] = value if _fits_whole(value, mask) else Part(value, mask)


def _fits_whole(value: Value, mask: Mask) -> bool:
    """True when a value in the mask's rows and columns reads the same in the whole chunk's."""
    if value.__class__ is OuterSum:
        rows, columns = value.rows.values.shape[0], value.columns.values.shape[1]
    else:
        rows, columns = value.shape
    return (rows == 1 or mask.row_index is None) and (columns == 1 or mask.column_index is None)


def expanded(part: Part) -> Array:
    """A partial value in whole rows and columns; lanes outside its mask hold anything."""
    value, mask = plain(part.value), part.mask
    rows = mask.rows.size if value.shape[0] > 1 else 1
    columns = mask.columns.size if value.shape[1] > 1 else 1
    made = np.zeros((rows, columns), value.dtype)
    made[_at(mask, rows, columns)] = value
    return made


def merged(old: Value, new: Value, mask: Mask) -> Array:
    """`new` for the lanes of `mask`, `old` for the others."""
    before = expanded(old) if old.__class__ is Part else plain(old)
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
    made[_at(mask, rows, columns)] = after
    return made


def _at(mask: Mask, rows: int, columns: int) -> Any:
    """The index of the mask's rectangle in an array of that size (1: the side is not spread out)."""
    over_rows = slice(None) if rows == 1 or mask.row_index is None else mask.row_index
    over_columns = slice(None) if columns == 1 or mask.column_index is None else mask.column_index
    if isinstance(over_rows, slice) or isinstance(over_columns, slice):
        return over_rows, over_columns
    return over_rows[:, None], over_columns[None, :]
