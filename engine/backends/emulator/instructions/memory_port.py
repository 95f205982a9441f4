"""Loads and stores: from addresses of lanes to elements of arrays, with every address checked.

An address is checked for the active lanes only, by its bounds where it is an outer sum, by one pass over the lanes
otherwise. Only when that fails are single lanes looked at: to name the one that went wrong, or, under a dense mask or
with pointers to several arrays, to move the lanes one array at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.instructions.access_faults import first_lane, misaligned, outside, outside_block
from engine.backends.emulator.instructions.addresses import plain_address, signed
from engine.backends.emulator.ptx.syntax import PtxError
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import UNSIGNED, OuterSum, Value
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import (
    LOCAL_WINDOW,
    RANGE_BITS,
    SHARED_WINDOW,
    DeviceArray,
    Words,
    lane_indices,
)
from engine.records import Array

_OF_BLOCKS = ("shared", "local")
_REMEMBERED = 1000  # addresses of one instruction


@dataclass(frozen=True)
class Piece:
    """Lanes that meet one array: `lanes` selects them out of (height, width), `index` counts parts, one per lane."""

    array: DeviceArray
    lanes: Array
    index: Array


@dataclass(eq=False)
class _Place:
    """Offsets that were checked for the lanes of a mask, and the load from there, as observers know it."""

    at: Array
    mask: Mask
    access: Access | None = None


class Port:
    """One memory instruction's way to memory."""

    def __init__(self, machine: Machine, site: Site, offset: int) -> None:
        self.machine, self.site, self.offset = machine, site, offset
        self.shift = site.part.bit_length() - 1
        self._last: tuple[Value, Mask, Array] | None = None
        self._places: dict[tuple[bytes, int], _Place] = {}
        self._place: _Place | None = None

    # ---- which space

    def space_of(self, raw: Value, mask: Mask) -> tuple[str, Value]:
        """The space that the instruction names, or that its generic addresses lie in, and the address there."""
        if self.site.space:
            return self.site.space, raw
        number = first_active(raw, mask) >> RANGE_BITS
        if number == SHARED_WINDOW >> RANGE_BITS:
            return "shared", plain_address(raw) - SHARED_WINDOW
        if number == LOCAL_WINDOW >> RANGE_BITS:
            return "local", plain_address(raw) - LOCAL_WINDOW
        return "global", raw

    def mixed(self, raw: Value, mask: Mask) -> list[Mask]:
        """The lanes of a generic access by space, where they do not all mean the same one; else nothing."""
        if self.site.space:
            return []
        window = np.broadcast_to(plain_address(raw) >> RANGE_BITS, (mask.height, mask.width))
        active = np.ones(window.shape, bool) if mask.dense is None else mask.dense
        shared, local = window == SHARED_WINDOW >> RANGE_BITS, window == LOCAL_WINDOW >> RANGE_BITS
        parties = [lanes for lanes in (shared & active, local & active, ~(shared | local) & active) if lanes.any()]
        return [Mask(mask.rows, mask.columns, lanes) for lanes in parties] if len(parties) > 1 else []

    def access(self, space: str, raw: Value, mask: Mask, array: DeviceArray | None, values: Sequence[Array]) -> Access:
        """What the lanes of `mask` do, as observers see it."""
        address = raw.plus(self.offset) if raw.__class__ is OuterSum else raw + self.offset
        return Access(self.site, space, address, mask, array, tuple(values))

    def note(self, space: str, raw: Value, mask: Mask, array: DeviceArray | None, values: Sequence[Array]) -> None:
        """Tell the observers."""
        if self.machine.hooks.on_access:
            self.tell(self.access(space, raw, mask, array, values))

    def tell(self, access: Access) -> None:
        """Tell them of an access."""
        for hook in self.machine.hooks.on_access:
            hook(access)

    def note_at(self, space: str, raw: Value, at: Array, mask: Mask, values: Sequence[Array]) -> None:
        """Tell the observers of an access to shared or local memory, whose offsets were given last: `at`."""
        if raw.__class__ is OuterSum or mask.dense is not None:  # offsets of idle lanes may have been moved
            self.note(space, signed(raw), mask, None, values)
        elif self.machine.hooks.on_access:
            place = self._place
            if values or place is None:
                self.tell(Access(self.site, space, at, mask, None, tuple(values), place))
                return
            if place.access is None:
                place.access = Access(self.site, space, at, mask, None, (), place)
            self.tell(place.access)

    # ---- global memory

    def locate(self, raw: Value, mask: Mask) -> tuple[DeviceArray, Array] | None:
        """(array, index of the first part) where all lanes, idle ones included, lie in one array; else None."""
        size, offset = self.site.size, self.offset
        if raw.__class__ is OuterSum:
            constant = raw.constant + offset
            array = self.machine.space.at(raw.low + offset)
            if array is None or (raw.rows.bits | raw.columns.bits | constant) & (size - 1):
                return None
            start = constant - array.base
            if raw.low + offset < array.base or raw.high + offset + size > array.base + array.size:
                return None
            return array, raw.rows.shifted(self.shift) + (raw.columns.shifted(self.shift) + (start >> self.shift))
        array = self.machine.space.at(int(raw.item(0)) + offset)
        if array is None:
            return None
        relative = raw - (array.base - offset)
        if int(relative.view(np.uint64).max()) > array.size - size or array.size < size:
            return None
        if size > 1 and int(np.bitwise_or.reduce(relative, axis=None)) & (size - 1):
            return None
        return array, relative >> self.shift

    def pieces(self, raw: Value, mask: Mask, sizes: Array | None = None) -> list[Piece]:
        """The active lanes by array; ends the run where an address is bad. `sizes`: bytes of each lane of (height,
        width), where these are not all the instruction's."""
        address = np.broadcast_to(plain_address(raw) + self.offset, (mask.height, mask.width))
        active = np.ones(address.shape, bool) if mask.dense is None else mask.dense
        numbers = address >> RANGE_BITS
        pieces = []
        for number in np.unique(numbers[active]):
            lanes = active & (numbers == number)
            array = self.machine.space.at(int(number) << RANGE_BITS)
            if array is None:
                raise outside(self.machine, self.site, address, lanes, mask, None)
            relative = address[lanes] - array.base
            beyond = (relative < 0) | (relative > array.size - (self.site.size if sizes is None else sizes[lanes]))
            if beyond.any():
                lanes[lanes] = beyond
                raise outside(self.machine, self.site, address, lanes, mask, array)
            if (relative & (self.site.size - 1)).any():
                raise misaligned(self.machine, self.site, lanes & ((address & (self.site.size - 1)) != 0), mask)
            pieces.append(Piece(array, lanes, relative >> self.shift))
        return pieces

    # ---- shared and local memory

    def offsets(self, key: Value, raw: Value, mask: Mask, words: Words, space: str) -> Array:
        """Checked byte offsets, int64, shaped as the address; idle lanes of a dense mask may be moved to a good one.

        `key` is the register's own value: a loop that comes back with the same one is not checked again. Nor is one
        that comes back with the same numbers, and it gets the same array, so that observers know it again.
        """
        last = self._last
        if last is not None and last[0] is key and last[1] is mask:
            return last[2]
        at = plain_address(raw)
        if self.offset:
            at = at + self.offset
        if at.shape[1] > 1 or mask.dense is not None:
            self._place, at = None, self._inside(at, mask, words, space)
        else:
            content = at.tobytes(), id(mask)
            self._place = self._places.get(content)
            if self._place is None:
                if len(self._places) > _REMEMBERED:
                    self._places.clear()
                self._place = self._places[content] = _Place(self._inside(at, mask, words, space), mask)
            at = self._place.at
        self._last = (key, mask, at)
        return at

    def _inside(self, at: Array, mask: Mask, words: Words, space: str) -> Array:
        """The offsets, once they are checked."""
        size = self.site.size
        wrong = (at.view(np.uint64) > max(words.size - size, -1) % (1 << 64)) | ((at & (size - 1)) != 0)
        if words.size < size:
            wrong = np.ones(at.shape, bool)
        if wrong.any():
            active = np.ones((mask.height, mask.width), bool) if mask.dense is None else mask.dense
            faulty = active & wrong
            if faulty.any():
                raise outside_block(
                    self.machine, self.site, np.broadcast_to(at, faulty.shape), faulty, mask, words, space
                )
            at = np.where(wrong, 0, at)
        return at

    # ---- whole accesses

    def load(self, raw: Value, mask: Mask) -> list[Array]:
        """The loaded parts, unsigned, each broadcastable to (height, width)."""
        key, space = raw, self.site.space
        if space not in _OF_BLOCKS:
            parties = self.mixed(raw, mask)
            if parties:
                return self._load_mixed(raw, parties)
            space, raw = self.space_of(signed(raw), mask)
        part, count = self.site.part, self.site.count
        if space == "global":
            found = self.locate(raw, mask)
            pieces = [] if found else self.pieces(raw, mask)  # checked before anybody is told of the addresses
            self.note(space, raw, mask, found[0] if found else None, ())
            if found:
                array, index = found
                view = array.view(part)
                return [view.take(index + number if number else index) for number in range(count)]
            parts = [np.zeros((mask.height, mask.width), UNSIGNED[8 * part]) for _ in range(count)]
            for piece in pieces:
                view = piece.array.view(part)
                for number, made in enumerate(parts):
                    made[piece.lanes] = view[piece.index + number]
            return parts
        words = self.machine.words(space)
        at = self.offsets(key, raw, mask, words, space)
        self.note_at(space, raw, at, mask, ())
        if space == "shared" and at.shape[1] == 1 and part == words.unit:
            return [words.rows((at[:, 0] >> words.shift) + number, mask) for number in range(count)]
        rows, columns = lane_indices(mask)
        where = (rows, columns) if space == "local" else (columns,)
        return [words.load(at + number * part, part, where) for number in range(count)]

    def _load_mixed(self, raw: Value, parties: Sequence[Mask]) -> list[Array]:
        first = parties[0]
        made = [np.zeros((first.height, first.width), UNSIGNED[8 * self.site.part]) for _ in range(self.site.count)]
        for lanes in parties:
            chosen = lanes.dense
            assert chosen is not None
            for whole, part in zip(made, self.load(raw, lanes), strict=True):
                whole[chosen] = np.broadcast_to(part, whole.shape)[chosen]
        return made

    def store(self, raw: Value, mask: Mask, values: Sequence[Array]) -> None:
        """Store the parts, unsigned, each broadcastable to (height, width); colliding lanes: the last one stays."""
        parties = self.mixed(raw, mask)
        for party in parties:
            self.store(raw, party, values)
        if parties:
            return
        key = raw
        space, raw = self.space_of(signed(raw), mask)
        part = self.site.part
        if space == "global":
            found = self.locate(raw, mask) if mask.dense is None else None
            pieces = [] if found else self.pieces(raw, mask)
            self.note(space, raw, mask, found[0] if found else None, values)
            for array in [found[0]] if found else [piece.array for piece in pieces]:
                if array.constant:
                    raise PtxError(f"the constant `{array.name}` cannot be written", self.site.line)
            for number, value in enumerate(values):
                if found:
                    array, index = found
                    array.put(part, index + number if number else index, value, (mask.height, mask.width))
                for piece in pieces:
                    spread = np.broadcast_to(value, (mask.height, mask.width))
                    piece.array.view(part)[piece.index + number] = spread[piece.lanes]
            return
        words = self.machine.words(space)
        at = self.offsets(key, raw, mask, words, space)
        self.note_at(space, raw, at, mask, values)
        if mask.dense is None and space == "shared" and at.shape[1] == 1 and part == words.unit:
            for number, value in enumerate(values):
                words.put_rows((at[:, 0] >> words.shift) + number, mask, value)
            return
        rows, columns = lane_indices(mask)
        shape = (mask.height, mask.width)
        for number, value in enumerate(values):
            where = (rows, columns) if space == "local" else (columns,)
            places, spread = np.broadcast_to(at + number * part, shape), np.broadcast_to(value, shape)
            if mask.dense is None:
                words.store(places, part, where, spread)
            else:
                lanes = mask.dense
                chosen = tuple(np.broadcast_to(index, shape)[lanes] for index in where)
                words.store(places[lanes], part, chosen, spread[lanes])


def first_active(raw: Value, mask: Mask) -> int:
    """The address of the first active lane."""
    address = np.broadcast_to(plain_address(raw), (mask.height, mask.width))
    return int(address.item(0) if mask.dense is None else address[first_lane(mask.dense)])
