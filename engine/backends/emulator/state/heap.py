"""The heap that `malloc` and `free` of a kernel share: 8 MB, as CUDA gives it, kept from launch to launch.

Each allocation is followed by a gap as large as itself (16 to 1,024 bytes), and freed memory rests until the heap has
grown to a megabyte: an access beside an allocation or after its end is then found instead of hitting another one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np

from engine.backends.emulator.state.memory import AddressSpace, DeviceArray
from engine.records import Array

HEAP_BYTES = 8 << 20  # CUDA's default of cudaLimitMallocHeapSize
_GRAIN = 16  # bytes: the alignment, and what each allocation costs in addition to its own bytes
_WIDEST_GAP = 1024
_RESTING = 1 << 20  # bytes of the heap before freed memory is used again
_ROOM = 4 * HEAP_BYTES  # with the gaps
_LEAST = 1 << 16  # bytes by which the heap grows at first
_UNDEFINED = 0xA5
_START, _SIZE, _LINE, _FREED = range(4)


class HeapFault(NamedTuple):
    """A wrong use of the heap. `what`: the memory in words; `finding`: the kind."""

    what: str
    finding: str


class Heap(DeviceArray):
    """The heap. `size`: the bytes in use so far, rounded up; `written`: the bytes that hold a value; `refused`: the
    line of the last `malloc` that returned a null pointer."""

    sparse = True

    def __init__(self, number: int) -> None:
        super().__init__("the heap", np.zeros(_ROOM, np.uint8), 0, 4, number)
        self.written = np.zeros(_ROOM, bool)
        self.refused = 0
        self._held = np.zeros(_ROOM // _GRAIN, np.uint8)  # allocated bytes of each grain
        self._number = np.zeros(_ROOM // _GRAIN, np.int32)  # the allocation that starts at each grain, 0: none
        # For each allocation: its first byte, its bytes, the lines of its malloc and of its free (0: none).
        self._table = np.zeros((4, 1024), np.int64)
        self._count, self._used, self._top = 1, 0, _GRAIN
        self._freed: defaultdict[int, deque[int]] = defaultdict(deque)  # the starts of freed pieces, by their bytes
        self._joined: list[tuple[int, int]] = []  # (start, bytes) of freed pieces that were neighbours

    def absent(self, relative: Array, size: Array | int) -> Array:
        """Return whether an aligned access of `size` bytes leaves the allocations, for each of these bytes."""
        held = self._held[np.clip(relative // _GRAIN, 0, self._held.size - 1)]
        beyond: Array = (relative < 0) | (relative % _GRAIN + size > held)
        return beyond

    # ---- malloc

    def allocate(self, sizes: Array, line: int) -> Array:
        """Return the addresses of new allocations of `sizes` bytes (uint64), in this order; 0 if one does not fit."""
        whole, spans = _extents(np.minimum(sizes, _ROOM).astype(np.int64))
        taken = self._within_limit(whole)
        starts = np.full(sizes.size, -1, np.int64)
        for span in np.unique(spans[taken]).tolist():
            lanes = np.flatnonzero(taken & (spans == span))
            pieces = self._pieces(span, lanes.size)
            starts[lanes[: len(pieces)]] = pieces
        taken = starts >= 0
        if not taken.all():
            self.refused = line
        if self._top > self.size:
            self.size = min(max(1 << (self._top - 1).bit_length(), _LEAST), _ROOM)
            self._views.clear()
        self._begin(starts[taken], sizes[taken].astype(np.int64), whole[taken], line)
        return np.where(taken, starts + self.base, 0).astype(np.uint64)

    def _within_limit(self, whole: Array) -> Array:
        """Return which allocations the limit of the heap allows, one after the other."""
        costs, left = whole + _GRAIN, HEAP_BYTES - self._used
        if int(costs.sum()) <= left:
            return np.ones(whole.size, bool)
        allowed = []
        for cost in costs.tolist():
            allowed.append(cost <= left)
            left -= cost if cost <= left else 0
        return np.array(allowed, bool)

    def _pieces(self, span: int, count: int) -> list[int]:
        """Return the starts of up to `count` free pieces of `span` bytes."""
        freed, made = self._freed[span], list[int]()
        if self._top + span * count > _RESTING:
            made = [freed.popleft() for _ in range(min(count, len(freed)))]
        fresh = min(count - len(made), (_ROOM - self._top) // span)
        made += range(self._top, self._top + fresh * span, span)
        self._top += fresh * span
        if len(made) < count:
            self._join_freed()
            for number, (start, size) in enumerate(self._joined):
                more = min(count - len(made), size // span)
                made += range(start, start + more * span, span)
                self._joined[number] = start + more * span, size - more * span
        return made

    def _join_freed(self) -> None:
        """Join freed pieces that are neighbours, so that they hold larger allocations."""
        every = [(start, span) for span, starts in self._freed.items() for start in starts] + self._joined
        self._freed.clear()
        self._joined = []
        for start, size in sorted(every):
            if self._joined and sum(self._joined[-1]) == start:
                self._joined[-1] = self._joined[-1][0], self._joined[-1][1] + size
            else:
                self._joined.append((start, size))

    def _begin(self, starts: Array, sizes: Array, whole: Array, line: int) -> None:
        """Open allocations, with undefined contents."""
        self._used += int(whole.sum()) + _GRAIN * whole.size
        grains = _grains(starts, whole)
        self._held[grains] = _GRAIN
        self._held[(starts + whole) // _GRAIN - 1] = sizes - whole + _GRAIN
        self.data.reshape(-1, _GRAIN)[grains] = _UNDEFINED
        self.written.reshape(-1, _GRAIN)[grains] = False
        numbers = self._number[starts // _GRAIN]
        new = numbers == 0
        numbers[new] = np.arange(self._count, self._count + np.count_nonzero(new))
        self._count += int(np.count_nonzero(new))
        while self._count > self._table.shape[1]:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)], axis=1)
        self._number[starts // _GRAIN] = numbers
        self._table[:, numbers] = starts, sizes, np.full(starts.size, line), np.zeros(starts.size)

    # ---- free

    def release(self, addresses: Array, line: int) -> tuple[Array, int | None]:
        """End the allocations at these addresses, and return their bytes; and the first of the addresses that cannot
        be freed, None if all were."""
        at = addresses.astype(np.int64) - self.base
        inside = (at >= 0) & (at < self._top) & (at % _GRAIN == 0)
        numbers = np.where(inside, self._number[np.where(inside, at // _GRAIN, 0)], 0)
        _, first = np.unique(numbers, return_index=True)
        repeated = np.ones(numbers.size, bool)
        repeated[first] = False
        wrong = repeated | (numbers == 0) | (self._table[_FREED, numbers] != 0)
        good = numbers[~wrong]
        starts, sizes = self._table[_START, good], self._table[_SIZE, good]
        whole, spans = _extents(sizes)
        self._table[_FREED, good] = line
        self._held[_grains(starts, whole)] = 0
        self._used -= int(whole.sum()) + _GRAIN * whole.size
        for span in np.unique(spans).tolist():
            self._freed[span].extend(starts[spans == span].tolist())
        return sizes, int(np.flatnonzero(wrong)[0]) if wrong.any() else None

    # ---- words for messages

    def place(self, address: int) -> str:
        """Return "byte 16 of the 16 bytes that line 4 allocated" for the allocation next to an address."""
        start, size, line, _ = self._nearest(address)
        count = "1 byte" if size == 1 else f"{size:,} bytes"
        return f"byte {address - self.base - start:,} of the {count} that line {line} allocated"

    def fault_at(self, address: int) -> HeapFault:
        """Return what lies at an address outside all allocations."""
        freed = self._nearest(address)[_FREED]
        if freed:
            return HeapFault(f"{self.place(address)} and line {freed} freed", "use-after-free")
        return HeapFault(self.place(address), "out-of-bounds")

    def wrong_to_free(self, address: int) -> HeapFault:
        """Return why an address cannot be freed."""
        at = address - self.base
        if not 0 <= at < self._top:
            return HeapFault("a pointer that did not come from malloc or new", "bad-free")
        start, _, _, freed = self._nearest(address)
        if start == at:
            return HeapFault(f"memory that line {freed} has freed already", "use-after-free")
        return HeapFault(f"{self.place(address)}: only the pointer that malloc returned can be freed", "bad-free")

    def _nearest(self, address: int) -> tuple[int, int, int, int]:
        """Return the row of the allocation that is next to an address, or was; a live one if both are as near."""
        at, (start, size, _, freed) = address - self.base, self._table[:, 1 : self._count]
        distance = np.maximum(np.maximum(start - at, at - start - size + 1), 0)
        number = 1 + int(np.lexsort((freed != 0, distance))[0])
        start, size, line, freed = self._table[:, number].tolist()
        return start, size, line, freed


def _extents(sizes: Array) -> tuple[Array, Array]:
    """Return the bytes that allocations take, in whole grains, without and with the gap behind each."""
    whole = np.maximum(-(-sizes // _GRAIN) * _GRAIN, _GRAIN)
    return whole, whole + np.minimum(whole, _WIDEST_GAP)


def _grains(starts: Array, whole: Array) -> Array:
    """Return the numbers of all grains of some allocations."""
    counts = whole // _GRAIN
    first = np.repeat(starts // _GRAIN - np.cumsum(counts) + counts, counts)
    return first + np.arange(first.size)


def heap_in(space: AddressSpace) -> Heap | None:
    """Return the heap of a run, None if no kernel has used it."""
    return next((array for array in space.arrays() if isinstance(array, Heap)), None)


def open_heap(space: AddressSpace) -> Heap:
    """Return the heap of a run; the first call makes it."""
    found = heap_in(space)
    if found is None:
        found = Heap(space.next_number())
        space.place(found)
    return found
