"""Lanes and memory at one moment, to be compared with what they are when a group comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.registers.parts import expanded
from engine.backends.emulator.registers.values import UNSIGNED, Part, Value, plain, restrict
from engine.backends.emulator.running.groups import Key
from engine.backends.emulator.running.lanes import Label, Lanes
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.pointers import written_arrays
from engine.records import Array

_MOST_BYTES = 1 << 28  # that are copied; whoever has more to write to is taken to change something


@dataclass(frozen=True)
class Snapshot:
    """A group, all registers (values are never changed in place) by the number of their frame, and where the other
    lanes stand. `places`: those that have run since."""

    key: Key
    mask: Mask
    registers: Mapping[int, Registers]
    others: Sequence[tuple[Label, int, Mask]]
    places: set[int]


def take(lanes: Lanes, key: Key, mask: Mask) -> Snapshot:
    """Of the group `mask`, which is about to run at `key`, and of all others."""
    registers = {frame.number: list(frame.registers) for frame in lanes.frames}
    return Snapshot(key, mask, registers, list(lanes.standing()), {key[0]})


class Contents:
    """What the memories that a program may write held at one moment, of those with these names."""

    def __init__(self, machine: Machine, names: set[str | int]) -> None:
        live: dict[str | int, Array] = {name: words.flat for name, words in machine.resident.memories.items()}
        written = written_arrays(machine) | {machine.workspace}
        live |= {one.base: one.data.view(np.uint64) for one in machine.space.arrays() if one.base in written}
        live = {name: data for name, data in live.items() if name in names}
        self._beyond = sum(data.nbytes for data in live.values()) > _MOST_BYTES
        self._pairs = [] if self._beyond else [(name, data, data.copy()) for name, data in live.items()]

    def renew(self) -> None:
        """What they hold now."""
        for _, now, then in self._pairs:
            np.copyto(then, now)

    def changed(self, names: set[str | int]) -> bool:
        """True when one of these memories may differ from what it was."""
        return self._beyond or any(name in names and (now != then).any() for name, now, then in self._pairs)


def differing(chosen: Sequence[int], was: Registers, now: Registers, before: Mask, after: Mask) -> tuple[int, ...]:
    """The first of these registers that differs, for lanes that stood as `before` and stand as `after`; or none."""
    return next(((index,) for index in chosen if not _equal(was[index], now[index], before, after)), ())


def _equal(old: Value, new: Value, before: Mask, now: Mask) -> bool:
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
