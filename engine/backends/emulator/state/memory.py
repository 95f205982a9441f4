"""Device memory: one address range per array; and the words of shared and local memory of a chunk.

Every array starts in the middle of its own 2**36 bytes of address space. So an address one element before the array, or
a gigabyte behind it, can still be attributed to that array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.backends.emulator.ptx.syntax import Variable
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import UNSIGNED
from engine.records import Array, Texture

RANGE_BITS = 36
SHARED_WINDOW = 1 << RANGE_BITS
LOCAL_WINDOW = 2 << RANGE_BITS
_CODE_WINDOW = 3 << RANGE_BITS
_TEXTURE_WINDOW = 4 << RANGE_BITS
_CODE_BYTES = 16  # distance between two functions
_FIRST_RANGE = 16
_MIDDLE = 1 << (RANGE_BITS - 1)


class DeviceArray:
    """An array in device memory. `data` is its bytes (padded to 16); `element` the bytes of one element.

    `sparse`: some bytes below `size` cannot be accessed (see `absent`).
    """

    sparse = False

    def __init__(self, name: str, data: Array, size: int, element: int, number: int, constant: bool = False) -> None:
        self.name, self.data, self.size, self.element, self.constant = name, data, size, element, constant
        self.base = (number << RANGE_BITS) + _MIDDLE
        self._views: dict[int, Array] = {}

    def view(self, size: int) -> Array:
        """Return the array as unsigned words of `size` bytes, without an incomplete last word."""
        found = self._views.get(size)
        if found is None:
            found = self._views[size] = self.data[: self.size // size * size].view(UNSIGNED[8 * size])
        return found

    def absent(self, relative: Array, size: Array | int) -> Array:
        """Return whether accesses of `size` bytes at these bytes of a sparse array are outside it."""
        return (relative < 0) | (relative > self.size - size)

    def put(self, size: int, index: Array, value: Array, shape: tuple[int, int]) -> None:
        """Store words of `size` bytes from all lanes of `shape`; if lanes collide, the last lane wins."""
        view = self.view(size)
        if index.size == 1:
            view[int(index.item(0))] = np.broadcast_to(value, shape)[-1, -1]
        elif index.shape == shape or value.size == 1 or index.shape == np.broadcast_shapes(index.shape, value.shape):
            view[index] = value
        else:
            view[np.broadcast_to(index, shape)] = np.broadcast_to(value, shape)


class AddressSpace:
    """All arrays of a run, by address."""

    def __init__(self) -> None:
        self._arrays: dict[int, DeviceArray] = {}
        self.textures: dict[int, Texture] = {}  # by their handles

    def bind(self, texture: Texture) -> int:
        """Add a texture, and return its handle."""
        handle = _TEXTURE_WINDOW + len(self.textures)
        self.textures[handle] = texture
        return handle

    def add(self, name: str, data: Array, element: int, constant: bool = False) -> DeviceArray:
        """Copy the bytes of `data` to a new address."""
        raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        kept = np.zeros(-(-max(raw.size, 1) // 16) * 16, np.uint8)
        kept[: raw.size] = raw
        return self.place(DeviceArray(name, kept, raw.size, element, self.next_number(), constant))

    def next_number(self) -> int:
        """Return the number of the next array's address range."""
        return _FIRST_RANGE + len(self._arrays)

    def place(self, made: DeviceArray) -> DeviceArray:
        """Add an array that was made with the next number."""
        self._arrays[self.next_number()] = made
        return made

    def arrays(self) -> list[DeviceArray]:
        """Return all arrays, in the order of their addresses."""
        return list(self._arrays.values())

    def at(self, address: int) -> DeviceArray | None:
        """Return the array whose range contains the address, inside the array or not."""
        return self._arrays.get(address >> RANGE_BITS)


def lay_out(variables: Sequence[Variable], dynamic: int) -> tuple[dict[str, int], int]:
    """Return the byte offset of every shared or local variable, and the total size. External arrays share the end."""
    places, top = {}, 0
    for variable in variables:
        if not variable.external:
            top = -(-top // variable.alignment) * variable.alignment
            places[variable.name] = top
            top += variable.size
    external = [variable for variable in variables if variable.external]
    if external:
        alignment = max(16, *(variable.alignment for variable in external))
        top = -(-top // alignment) * alignment
        places.update({variable.name: top for variable in external})
        top += dynamic
    return places, top


def code_addresses(functions: Sequence[str]) -> dict[str, int]:
    """Return the addresses of the functions of a module, for function pointers; they cannot be read."""
    return {name: _CODE_WINDOW + number * _CODE_BYTES for number, name in enumerate(functions, 1)}


# What local memory holds before a thread writes it: no number as a float, a half or a double, and no index of an array.
UNWRITTEN = 0xFFF5FFF5
UNWRITTEN_PARTS = {4: UNWRITTEN, 8: UNWRITTEN << 32 | UNWRITTEN}  # by the bytes of a part; narrower ones can be data


class Words:
    """Shared memory of a chunk as words[count, B], or local memory as words[count, T, B], of `unit` (4 or 8) bytes.

    The words of all blocks at one address are adjacent, so an address that is the same in every block moves a whole
    row. Narrower elements are extracted from words, and wider ones combined from two words. `marks`: memory of the same
    size, of ones where something was stored; None if nobody asks.
    """

    def __init__(self, size: int, unit: int, lanes: tuple[int, ...], start: int = 0) -> None:
        """`start`: the content of each 4 bytes."""
        self.size, self.unit = size, unit
        self.shift = unit.bit_length() - 1
        self.words = np.zeros((-(-max(size, 1) // unit), *lanes), UNSIGNED[8 * unit])
        if start:
            self.words.view(np.uint32)[...] = start
        self.flat = self.words.reshape(-1)
        self.marks: Words | None = None

    def rows(self, index: Array, mask: Mask) -> Array:
        """Return for each thread of a mask the word at its index, in the mask's columns."""
        if mask.column_index is None:
            return self.words.take(index, axis=0)
        if isinstance(mask.column_index, slice):
            return self.words[:, mask.column_index].take(index, axis=0)
        return self.words[index[:, None], mask.column_index[None, :]]  # type: ignore[no-any-return]

    def put_rows(self, index: Array, mask: Mask, value: Array) -> None:
        """Store one word for each thread of a mask, in the mask's columns."""
        if index.size == 1:  # all threads store to one word: the last one wins
            value = value[-1:]
        columns = slice(None) if mask.column_index is None else mask.column_index
        if isinstance(columns, slice):
            self.words[:, columns][index] = value
        else:
            self.words[index[:, None], columns[None, :]] = value

    def load(self, at: Array, part: int, where: tuple[Any, ...]) -> Array:
        """Return elements of `part` bytes at byte addresses `at`, an int64 array that broadcasts with the lane indices
        `where` (rows and columns for local memory, columns for shared memory)."""
        if part == self.unit:
            return self.words[(at >> self.shift, *where)]  # type: ignore[no-any-return]
        if part < self.unit:
            inner = self.words.view(UNSIGNED[8 * part]).reshape(*self.words.shape, -1)
            position = (at & (self.unit - 1)) // part
            return inner[(at >> self.shift, *where, position)]  # type: ignore[no-any-return]
        low = self.words[(at >> self.shift, *where)].astype(np.uint64)
        high = self.words[((at >> self.shift) + 1, *where)].astype(np.uint64)
        return low | (high << np.uint64(32))  # type: ignore[no-any-return]

    def store(self, at: Array, part: int, where: tuple[Any, ...], value: Array) -> None:
        """Store elements of `part` bytes; if lanes collide, the last one wins."""
        if part == self.unit:
            self.words[(at >> self.shift, *where)] = value
        elif part < self.unit:
            inner = self.words.view(UNSIGNED[8 * part]).reshape(*self.words.shape, -1)
            inner[(at >> self.shift, *where, (at & (self.unit - 1)) // part)] = value
        else:
            self.words[(at >> self.shift, *where)] = value.astype(np.uint32)
            self.words[((at >> self.shift) + 1, *where)] = (value >> np.uint64(32)).astype(np.uint32)


def lane_indices(mask: Mask) -> tuple[Array, Array]:
    """Return the row numbers (height, 1) and column numbers (1, width) of a mask's rectangle."""
    return mask.rows_at()[:, None], mask.columns_at()[None, :]
