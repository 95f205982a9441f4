"""Loads and stores: from the addresses of lanes to elements of arrays, with every address checked.

Only active lanes are checked: by the bounds of an outer sum, otherwise in one pass over the lanes. Single lanes are
looked at only if that fails: to name the faulty lane, or, under a dense mask or with pointers to several arrays, to
access the arrays one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engine.backends.emulator.ptx.dataflow import branch_registers, computed_registers, operand_varies
from engine.backends.emulator.ptx.guesses import guesses
from engine.backends.emulator.ptx.shared_arrays import shared_array_of
from engine.backends.emulator.ptx.spared_loads import spared_loads
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Immediate,
    Instruction,
    Operand,
    PtxError,
    Register,
    Sink,
    operand_text,
)
from engine.backends.emulator.ptx.traits import writes
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, constant, raw_reader
from engine.backends.emulator.registers.values import UNSIGNED, OuterSum, Value, plain
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.heap import HEAP_BYTES, Heap, heap_in
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import (
    LOCAL_WINDOW,
    RANGE_BITS,
    SHARED_WINDOW,
    UNWRITTEN_PARTS,
    DeviceArray,
    Words,
    lane_indices,
)
from engine.compile.names import readable
from engine.records import Array, RunFailed

_UNWRITTEN_AS = {1: (0xF5, 0xFF), 2: (0xFFF5,)}  # the content before any store, in elements of 1 or 2 bytes
_LOCAL_ARRAYS = "the memory of its local arrays", "holds"
_VERBS = {"ld": "reads", "st": "writes", "atom": "updates", "red": "updates"}


def out_of_bounds(
    machine: Machine, site: Site, address: Array, lanes: Array, mask: Mask, array: DeviceArray | None
) -> RunFailed:
    """Return the failure of a lane outside its array in device memory; None: its address is in no array."""
    row, column = first_lane(lanes)
    at, verb = int(address[row, column]), _VERBS[site.op]
    if array is None:
        what = f"{verb} at address {hex(at % (1 << 64))}, where there is no array"
        heap = heap_in(machine.space)
        if heap is not None and heap.refused and not at >> RANGE_BITS:
            what += f": line {heap.refused} got a null pointer, because the heap of {HEAP_BYTES:,} bytes is full"
    elif isinstance(array, Heap):
        fault = array.fault_at(at)
        return machine.lane_failure(
            "out-of-bounds", site.line, mask, row, column, f"{verb} {fault.what}", fault.finding
        )
    else:
        size = machine.element_bytes_of(array)
        count = array.size // size
        what = f"{verb} {_place(at - array.base, site, size)} of `{readable(array.name)}`, which has {_elements(count)}"
    return machine.lane_failure("out-of-bounds", site.line, mask, row, column, what, "out-of-bounds")


def _place(start: int, site: Site, size: int) -> str:
    """Return the elements of `size` bytes that an access at byte `start` of an array reaches, in words."""
    first, last = start // size, (start + site.size - 1) // size
    return f"element {first}" if first == last else f"elements {first} to {last}"


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def misaligned_access(machine: Machine, site: Site, lanes: Array, mask: Mask) -> RunFailed:
    """Return the failure of a lane whose address is not a multiple of the access size."""
    row, column = first_lane(lanes)
    size = site.size
    what = f"{_VERBS[site.op]} {size} bytes at an address that is not a multiple of {size} (misaligned)"
    return machine.lane_failure("crashed", site.line, mask, row, column, what, "misaligned")


def out_of_block_memory(
    machine: Machine, site: Site, address: Array, lanes: Array, mask: Mask, words: Words, space: str, array: str | None
) -> RunFailed:
    """Return the failure of a lane outside the shared or local memory `words`, or misaligned in it. `array`: the shared
    array that it may access, if that is known."""
    row, column = first_lane(lanes)
    place = int(address[row, column])
    low, high = machine.shared_bounds(array) if array else (0, words.size)
    if low <= place <= high - site.size:
        return misaligned_access(machine, site, lanes, mask)
    places = machine.places(space)
    held = machine.shared_size if space == "shared" else words.size
    below = [(low, array)] if array else [(start, name) for name, start in places.items() if start <= max(place, 0)]
    verb = _VERBS[site.op]
    if not below:
        what = f"{verb} {space} memory at byte {place}, but the block has {held} bytes"
    else:
        start, name = max(below)
        own = machine.only_local_array() if space == "local" else None
        part = machine.element_bytes(own or name) or site.part
        end = high if array else min([one for one in places.values() if one > start], default=held)
        count = (end - start) // part
        called, holds = f"the {space} array `{readable(name)}`", "has"
        if space == "local":
            called, holds = (f"its local array `{own}`", "has") if own else _LOCAL_ARRAYS
        what = f"{verb} {_place(place - start, site, part)} of {called}, which {holds} {_elements(count)}"
        if count == 0 and any(one.external and one.name == name for one in machine.program.shared):
            what += ": the launch sets the size of an extern array, and this launch sets none"
    return machine.lane_failure("out-of-bounds", site.line, mask, row, column, what, "out-of-bounds")


def first_lane(lanes: Array) -> tuple[int, int]:
    """Return the first set lane, by block and then by thread."""
    column = int(lanes.any(axis=0).argmax())
    return int(lanes[:, column].argmax()), column


_ALWAYS_READ = frozenset(("exch", "cas"))  # the GPU has no form of them without a result
# With this constant operand the GPU's assembler makes a counting instruction (not for add.s32).
_TALLIES: dict[tuple[str, ...], int] = {("add", "u32"): 1, ("inc", "u32"): 0xFFFFFFFF}
_LATE = frozenset(("volatile", "relaxed", "release"))  # later loads may overtake these stores
_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"))


def address_reader(machine: Machine, address: Operand, line: int) -> tuple[Reader, int]:
    """Return a reader of the base register (or a constant base), and the byte offset to add."""
    if not isinstance(address, Address):
        raise PtxError(f"this address is not emulated: {operand_text(address)}", line)
    if isinstance(address.base, Register):
        width = machine.program.widths[address.base.index]
        return raw_reader(address.base, f"u{width}", machine.program.widths, line), address.offset
    start = machine.address_of(address.base, line) if address.base else 0
    fixed = constant(start + address.offset, "s64")
    return (lambda registers: fixed), 0


def site_of(machine: Machine, item: Instruction) -> Site:
    """Return the site of a memory instruction."""
    words = item.words
    op = "ld" if words[0] == "ldu" else words[0]
    unread = op == "atom" and isinstance(item.operands[0], Sink)
    if words[-1] not in WIDTHS:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    kind = "red" if unread and not _ALWAYS_READ & set(words) else op
    space = "global" if item.space in ("const", "param") else item.space
    weak = not _STRONG & set(words)
    tallies = kind == "red" and space == "shared" and _TALLIES.get(words[-2:], -1) == _last_number(item)
    uniform_address = uniform_value = False
    if words[0] in ("atom", "red"):
        address, *values = item.operands[1 if words[0] == "atom" else 0 :]
        uniform_address = not operand_varies(address, machine.varying)
        uniform_value = not any(operand_varies(value, machine.varying) for value in values)
    written = sum({1 << index for index in writes(item, -1)})
    decides = (not weak or kind == "atom") and bool(branch_registers(machine.program) & written)
    local = op == "ld" and space in ("local", "") and machine.local_size > 0
    computed = local and bool(computed_registers(machine.program) & written)
    return Site(
        machine.next_site(), item.line, item.opcode, kind, space, WIDTHS[words[-1]] // 8, item.count, weak, tallies,
        uniform_address, uniform_value, decides, machine.program.requests.by_place.get(item.place),
        item in guesses(machine.program), computed, spared_loads(machine.program).get(item, ()),
        machine.program.requests.unrolled.get(item.place),
    )  # fmt: skip


def _last_number(item: Instruction) -> int | None:
    """Return the last operand as an unsigned word if it is a constant."""
    last = item.operands[-1]
    return int(last.value) & 0xFFFFFFFF if isinstance(last, Immediate) else None


def as_signed(value: Value) -> Value:
    """Return an address register as int64; an outer sum stays one."""
    if value.__class__ is OuterSum:
        return value
    return value.view(np.int64) if value.dtype.itemsize == 8 else value.astype(np.int64)


def plain_address(raw: Value) -> Array:
    """Return an address as an int64 array."""
    return as_signed(plain(raw))  # type: ignore[no-any-return]


_OF_BLOCKS = ("shared", "local")
_LAST_SHARED = (1 << 32) - 1
_REMEMBERED = 1000  # address patterns of one instruction


@dataclass(frozen=True)
class ArrayPiece:
    """Lanes that access one array: `lanes` selects them from (height, width); `index` counts parts, one per lane."""

    array: DeviceArray
    lanes: Array
    index: Array


@dataclass(eq=False)
class _CheckedOffsets:
    """Offsets checked for the lanes of a mask, the words of each part there, and the load as observers see it."""

    at: Array
    mask: Mask
    words: tuple[Array, ...] | None = None
    access: Access | None = None


class Port:
    """The access of one memory instruction to memory."""

    def __init__(self, machine: Machine, site: Site, offset: int, address: Operand | None = None) -> None:
        """`address`: that of the instruction, if the array that it leads into matters."""
        self.machine, self.site, self.offset = machine, site, offset
        self._array = None if address is None else shared_array_of(machine.program, address)
        self._bounds = machine.shared_bounds(self._array) if self._array else None
        self.shift = site.part.bit_length() - 1
        self._releases = "release" in site.words
        self._delayed = site.op == "st" and bool(site.words & _LATE) and not site.arrives_later
        self._last: tuple[Value, Mask, Array] | None = None
        self._places: dict[tuple[bytes, int], _CheckedOffsets] = {}
        self._place: _CheckedOffsets | None = None
        self._wraps = False  # whether addresses of shared memory have had more than 32 bits
        self.takers: Array | None = None  # the lanes that use what the next load yields, as in `Access`

    # ---- address spaces

    def space_of(self, raw: Value, mask: Mask) -> tuple[str, Value]:
        """Return the named space, or the space of the generic addresses, and the address in it."""
        if self.site.space:
            return self.site.space, raw
        number = first_active(raw, mask) >> RANGE_BITS
        if number == SHARED_WINDOW >> RANGE_BITS:
            return "shared", plain_address(raw) - SHARED_WINDOW
        if number == LOCAL_WINDOW >> RANGE_BITS:
            return "local", plain_address(raw) - LOCAL_WINDOW
        return "global", raw

    def mixed(self, raw: Value, mask: Mask) -> list[Mask]:
        """Split the lanes of a generic access by space; empty if all lanes use one space."""
        if self.site.space:
            return []
        window = np.broadcast_to(plain_address(raw) >> RANGE_BITS, (mask.height, mask.width))
        active = np.ones(window.shape, bool) if mask.dense is None else mask.dense
        shared, local = window == SHARED_WINDOW >> RANGE_BITS, window == LOCAL_WINDOW >> RANGE_BITS
        parties = [lanes for lanes in (shared & active, local & active, ~(shared | local) & active) if lanes.any()]
        return [Mask(mask.rows, mask.columns, lanes) for lanes in parties] if len(parties) > 1 else []

    def access(self, space: str, raw: Value, mask: Mask, array: DeviceArray | None, values: Sequence[Array]) -> Access:
        """Return the access by the lanes of `mask` as observers see it."""
        address = raw.plus(self.offset) if raw.__class__ is OuterSum else raw + self.offset
        return Access(self.site, space, address, mask, array, tuple(values))

    def observe(self, space: str, raw: Value, mask: Mask, array: DeviceArray | None, values: Sequence[Array]) -> None:
        """Report an access to the observers."""
        if self.machine.hooks.on_access:
            self.report(self.access(space, raw, mask, array, values))

    def report(self, access: Access) -> None:
        """Report an access to the observers."""
        if self.takers is not None:
            access = replace(access, takers=self.takers)
        for hook in self.machine.hooks.on_access:
            hook(access)

    def report_at(self, space: str, raw: Value, at: Array, mask: Mask, values: Sequence[Array]) -> None:
        """Report an access to shared or local memory at the most recent offsets `at`."""
        if raw.__class__ is OuterSum or mask.dense is not None:  # offsets of idle lanes may have been replaced
            self.observe(space, as_signed(raw), mask, None, values)
        elif self.machine.hooks.on_access:
            place = self._place
            if values or place is None:
                self.report(Access(self.site, space, at, mask, None, tuple(values), place))
                return
            if place.access is None:
                place.access = Access(self.site, space, at, mask, None, (), place)
            self.report(place.access)

    # ---- global memory

    def locate(self, raw: Value, mask: Mask) -> tuple[DeviceArray, Array] | None:
        """Return (array, index of the first part) if all lanes, including idle ones, lie in one array; else None."""
        size, offset = self.site.size, self.offset
        if raw.__class__ is OuterSum:
            constant = raw.constant + offset
            array = self.machine.space.at(raw.low + offset)
            if array is None or (raw.rows.bits | raw.columns.bits | constant) & (size - 1):
                return None
            start = constant - array.base
            if raw.low + offset < array.base or raw.high + offset + size > array.base + array.size:
                return None
            index = raw.rows.shifted(self.shift) + (raw.columns.shifted(self.shift) + (start >> self.shift))
            return None if array.sparse and array.absent(index << self.shift, size).any() else (array, index)
        array = self.machine.space.at(int(raw.item(0)) + offset)
        if array is None:
            return None
        relative = raw - (array.base - offset)
        bits, last = int(np.bitwise_or.reduce(relative, axis=None)), array.size - size
        if bits & (size - 1):
            return None
        if not 0 <= bits <= last and (
            last < 0 or int(relative.view(np.uint64).max()) > last
        ):  # no number is above bits
            return None
        return None if array.sparse and array.absent(relative, size).any() else (array, relative >> self.shift)

    def pieces(self, raw: Value, mask: Mask, sizes: Array | None = None) -> list[ArrayPiece]:
        """Return the active lanes by array; end the run at a bad address. `sizes`: bytes per lane (height, width), if
        they differ from the instruction's."""
        address = np.broadcast_to(plain_address(raw) + self.offset, (mask.height, mask.width))
        active = np.ones(address.shape, bool) if mask.dense is None else mask.dense
        numbers = address >> RANGE_BITS
        pieces = []
        for number in np.unique(numbers[active]):
            lanes = active & (numbers == number)
            array = self.machine.space.at(int(number) << RANGE_BITS)
            if array is None:
                raise out_of_bounds(self.machine, self.site, address, lanes, mask, None)
            relative = address[lanes] - array.base
            beyond = (relative < 0) | (relative > array.size - (self.site.size if sizes is None else sizes[lanes]))
            if array.sparse:
                beyond |= array.absent(relative, self.site.size if sizes is None else sizes[lanes])
            askew = (relative & (self.site.size - 1)) != 0
            if (askew & (relative >= 0) & (relative < array.size)).any():
                raise misaligned_access(self.machine, self.site, lanes & ((address & (self.site.size - 1)) != 0), mask)
            if beyond.any():
                lanes[lanes] = beyond
                raise out_of_bounds(self.machine, self.site, address, lanes, mask, array)
            pieces.append(ArrayPiece(array, lanes, relative >> self.shift))
        return pieces

    # ---- shared and local memory

    def offsets(self, key: Value, raw: Value, mask: Mask, words: Words, space: str) -> Array:
        """Return checked byte offsets, int64, in the shape of the address; offsets of idle lanes may be replaced by a
        valid one.

        `key` is the register's own value, so an unchanged register in a loop is not checked again. Equal numbers are
        not checked again either and return the same array, so observers recognise it.
        """
        last = self._last
        if last is not None and last[0] is key and last[1] is mask:
            return last[2]
        base = plain_address(raw)
        if base.shape[1] > 1 or mask.dense is not None:
            self._place, at = None, self._inside(base + self.offset, mask, words, space)
        else:
            content = base.tobytes(), id(mask)
            self._place = self._places.get(content)
            if self._place is None:
                if len(self._places) > _REMEMBERED:
                    self._places.clear()
                at = self._inside(base + self.offset, mask, words, space)
                self._place = self._places[content] = _CheckedOffsets(at, mask)
            at = self._place.at
        self._last = (key, mask, at)
        return at

    def as_checked(self, raw: Value, at: Array) -> Value:
        """Return the address of an access to shared memory as a GPU sees it, with `at` from `offsets`."""
        return at - self.offset if self._wraps else raw

    def _words_at(self, at: Array, shift: int) -> tuple[Array, ...]:
        """Return the words of each part at the most recent offsets `at`, which have one column."""
        place = self._place
        if place is not None and place.words is not None:
            return place.words
        made = tuple((at[:, 0] >> shift) + number for number in range(self.site.count))
        if place is not None:
            place.words = made
        return made

    def _inside(self, at: Array, mask: Mask, words: Words, space: str) -> Array:
        """Check the offsets and return them."""
        size = self.site.size
        start, end = self._bounds if self._bounds and space == "shared" else (0, words.size)
        inside = at - start if start else at
        bits = int(np.bitwise_or.reduce(inside, axis=None))  # no offset is above it
        last = end - start - size
        if 0 <= bits <= last and not (bits | start) & (size - 1):
            return at
        wrong = (inside.view(np.uint64) > max(last, -1) % (1 << 64)) | ((at & (size - 1)) != 0)
        if last < 0:
            wrong = np.ones(at.shape, bool)
        if wrong.any() and self.site.space == "shared" and int(at.max()) > _LAST_SHARED:
            self._wraps = True  # such as p[~x]: PTX cuts an address to the 32 bits of shared memory
            narrow = at & _LAST_SHARED
            wrong = ((narrow < start) | (narrow > end - size)) | ((at & (size - 1)) != 0)
            at = np.where(wrong, at, narrow)
        if wrong.any():
            active = np.ones((mask.height, mask.width), bool) if mask.dense is None else mask.dense
            faulty = active & wrong
            if faulty.any():
                array = self._array if space == "shared" else None
                raise out_of_block_memory(
                    self.machine, self.site, np.broadcast_to(at, faulty.shape), faulty, mask, words, space, array
                )
            at = np.where(wrong, 0, at)
        return at

    # ---- stores that arrive later

    def _overtake(self, space: str, address: Value, mask: Mask) -> None:
        """Let delayed stores arrive if this access depends on them: a lane's own store comes before its later
        accesses to the same place."""
        stores = self.machine.resident.stores
        if stores is not None:
            stores.drain_for(space, plain_address(address) + self.offset, self.site.size, mask)

    def _write(self, write: Callable[[], None], space: str, address: Value, mask: Mask) -> None:
        """Perform a store now, or delay it."""
        stores = self.machine.resident.stores
        if stores is not None and self._delayed:
            stores.hold(write, space, plain_address(address) + self.offset, self.site.size, mask, self._releases)
        else:
            write()

    def known_inside(self, at: Array, words: Words) -> bool:
        """Return whether all of these offsets in shared memory, int64, are aligned and inside the array."""
        start, end = self._bounds or (0, words.size)
        inside, size = at - start, self.site.size
        bits = int(np.bitwise_or.reduce(inside, axis=None))
        return bits >= 0 and not (bits | start) & (size - 1) and int(inside.max()) <= end - start - size

    # ---- whole accesses

    def load(self, raw: Value, mask: Mask) -> list[Array]:
        """Return the loaded parts, unsigned, each broadcastable to (height, width)."""
        key, space = raw, self.site.space
        if space not in _OF_BLOCKS:
            parties = self.mixed(raw, mask)
            if parties:
                return self._load_mixed(raw, parties)
            space, raw = self.space_of(as_signed(raw), mask)
        part, count = self.site.part, self.site.count
        if space == "global":
            found = self.locate(raw, mask)
            pieces = [] if found else self.pieces(raw, mask)  # checks come before the report
            self._overtake(space, raw, mask)
            self.observe(space, raw, mask, found[0] if found else None, ())
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
        raw = self.as_checked(raw, at)
        self._overtake(space, raw, mask)
        self.report_at(space, raw, at, mask, ())
        if space == "shared" and at.shape[1] == 1 and part == words.unit:
            return [words.rows(index, mask) for index in self._words_at(at, words.shift)]
        if space == "local" and at.size == 1 and part == words.unit:
            start, place = int(at.item()) >> words.shift, mask.place()
            loaded = [words.words[start + number][place].copy() for number in range(count)]
        else:
            rows, columns = lane_indices(mask)
            where = (rows, columns) if space == "local" else (columns,)
            loaded = [words.load(at + number * part, part, where) for number in range(count)]
        if space == "local" and self.site.computed and self.machine.hooks.on_unwritten:
            part, values, unwritten = self.site.part, loaded, UNWRITTEN_PARTS.get(self.site.part)
            if unwritten is None and words.marks is not None and np.isin(values[0], _UNWRITTEN_AS[part]).any():
                rows, columns = lane_indices(mask)
                values = [words.marks.load(at + number * part, part, (rows, columns)) for number in range(count)]
                unwritten = 0
            if unwritten is not None:
                self._report_unwritten(values, mask, unwritten)
        return loaded

    def _report_unwritten(self, values: Sequence[Array], mask: Mask, unwritten: int) -> None:
        """Report a lane that has loaded nothing but local memory as it was before any store."""
        if not (values[0] == unwritten).any():
            return
        lanes = np.logical_and.reduce(
            [np.broadcast_to(each == unwritten, (mask.height, mask.width)) for each in values]
        )
        lanes = lanes if mask.dense is None else lanes & mask.dense
        if lanes.any():
            row, column = first_lane(lanes)
            for hook in self.machine.hooks.on_unwritten:
                hook(self.site, int(mask.rows_at()[row]), int(mask.columns_at()[column]))

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
        """Store the parts, unsigned, each broadcastable to (height, width); if lanes collide, the last one wins."""
        parties = self.mixed(raw, mask)
        for party in parties:
            self.store(raw, party, values)
        if parties:
            return
        key = raw
        space, raw = self.space_of(as_signed(raw), mask)
        if space == "global":
            found = self.locate(raw, mask) if mask.dense is None else None
            pieces = [] if found else self.pieces(raw, mask)
            self.observe(space, raw, mask, found[0] if found else None, values)
            for array in [found[0]] if found else [piece.array for piece in pieces]:
                if array.constant:
                    raise PtxError(f"the constant `{array.name}` cannot be written", self.site.line)
            self._overtake(space, raw, mask)
            self._write(partial(self._put, found, pieces, mask, values), space, raw, mask)
            return
        words = self.machine.words(space)
        at = self.offsets(key, raw, mask, words, space)
        raw = self.as_checked(raw, at)
        self.report_at(space, raw, at, mask, values)
        self._overtake(space, raw, mask)
        self._write(partial(self._put_in_block, words, at, mask, values), space, raw, mask)

    def _put(
        self, found: tuple[DeviceArray, Array] | None, pieces: Sequence[ArrayPiece], mask: Mask, values: Sequence[Array]
    ) -> None:
        """Write values to the elements `found`, or to several `pieces`."""
        part = self.site.part
        for number, value in enumerate(values):
            if found:
                array, index = found
                array.put(part, index + number if number else index, value, (mask.height, mask.width))
            for piece in pieces:
                spread = np.broadcast_to(value, (mask.height, mask.width))
                piece.array.view(part)[piece.index + number] = spread[piece.lanes]

    def _put_in_block(self, words: Words, at: Array, mask: Mask, values: Sequence[Array]) -> None:
        """Write values to shared or local memory at checked offsets."""
        part, space = self.site.part, "local" if words.words.ndim == 3 else "shared"
        if words.marks is not None:
            self._put_in_block(words.marks, at, mask, [np.full((1, 1), -1).astype(UNSIGNED[8 * part])] * len(values))
        if mask.dense is None and space == "shared" and at.shape[1] == 1 and part == words.unit:
            for number, value in enumerate(values):
                words.put_rows((at[:, 0] >> words.shift) + number, mask, value)
            return
        if mask.dense is None and space == "local" and at.size == 1 and part == words.unit:
            start, place = int(at.item()) >> words.shift, mask.place()
            for number, value in enumerate(values):
                words.words[start + number][place] = value
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
    """Return the address of the first active lane."""
    address = np.broadcast_to(plain_address(raw), (mask.height, mask.width))
    return int(address.item(0) if mask.dense is None else address[first_lane(mask.dense)])
