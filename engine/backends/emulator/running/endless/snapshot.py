"""A group of lanes at one moment, to be compared with what it is when it comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.parts import expanded
from engine.backends.emulator.registers.values import UNSIGNED, Part, Value, plain, restrict
from engine.backends.emulator.running.endless.dependence import Deciding
from engine.backends.emulator.running.groups import Key
from engine.records import Array


@dataclass
class Stand:
    """A group at one moment: its registers, and those of all others. `places`: the blocks that have run since;
    `deciding`: what decides in them, once the group is back."""

    key: Key
    mask: Mask
    values: dict[int, Value]
    others: list[Other]
    places: set[int] = field(default_factory=set)
    deciding: Deciding | None = None


@dataclass(frozen=True)
class Other:
    """Lanes that do not run: another group, at a barrier, or parked. `label`: which of these, and where."""

    label: tuple[Any, ...]
    lanes: Mask
    values: dict[int, Value]


def all_equal(was: Other, now: Other, deciding: Deciding) -> bool:
    """True when the registers that decide are the same; both are at one place."""
    chosen = [index for index in was.values if deciding.registers >> index & 1]
    return all(equal(was.values[index], now.values[index], was.lanes, now.lanes) for index in chosen)


def equal(old: Value, new: Value, before: Mask, now: Mask) -> bool:
    """True when a register holds the same for all lanes of a mask; `before` and `now` hold the same lanes."""
    if old is new:
        return True
    alike = before.rows is now.rows and before.columns is now.columns  # the same lanes may stand in other rectangles
    one, other = _inside(old, before if alike else now), _inside(new, now)
    if one.dtype.itemsize != other.dtype.itemsize:
        return False
    kind = UNSIGNED[1] if one.dtype == np.bool_ else UNSIGNED[8 * one.dtype.itemsize]
    same = np.ascontiguousarray(one).view(kind) == np.ascontiguousarray(other).view(kind)
    return bool(same.all() if now.dense is None else (same | ~now.dense).all())


def _inside(value: Value, mask: Mask) -> Array:
    """A whole register in the rows and columns of a mask."""
    if value.__class__ is Part:
        if value.mask is mask:
            return plain(value.value)
        value = expanded(value)
    return plain(restrict(value, mask.row_index, mask.column_index))
