"""Copies of whole boxes of a matrix by the copy engine (TMA): cp.async.bulk.tensor, from global to shared memory.

A box arrives like any bulk copy: as late as possible, when a thread tests the barrier that counts its bytes. Elements
outside the matrix arrive as zeros and count as bytes. The map is the handle that `state.tensor_maps` describes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.backends.emulator.instructions.mbarriers import BarrierAddress, lanes_of
from engine.backends.emulator.instructions.memory_port import Port, address_reader, as_signed, plain_address
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.program import NO_REQUEST
from engine.backends.emulator.ptx.syntax import Address, Instruction, InvalidPtx, PtxError
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.state.pointers import written_arrays
from engine.backends.emulator.state.tensor_maps import MapRecord, decode_record, swizzled
from engine.compile.nvrtc import TENSOR_MAP_BYTES
from engine.records import Array

_WORD, _ELEMENT = 4, 2  # bytes
_ALIGNMENT = 128  # bytes, of a box in shared memory
_TAKEN = frozenset(("cp", "async", "bulk", "tensor", "2d", "shared", "global", "tile", "mbarrier"))


def _check_copy(item: Instruction) -> None:
    """Raise PtxError for another form of the copy, InvalidPtx if the coordinates are not two."""
    if {word.split("::")[0] for word in item.words} - _TAKEN or "shared::cluster" not in item.words[5:6]:
        raise PtxError(f"this instruction is not emulated: {item.opcode}")
    place = item.operands[1]
    if isinstance(place, Address) and len(place.coordinates) != 2:
        raise InvalidPtx(f"{item.opcode} takes 2 coordinates but gets {len(place.coordinates)}")


@executes(Traits("cp.async.bulk.tensor.2d.shared", "ama", check=_check_copy, writes=False, memory="copy"))
def copy_box(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of cp.async.bulk.tensor.2d [to], [map, {column, row}], [barrier]."""
    to, source, barrier = item.operands
    assert isinstance(source, Address)  # checked by its form
    line = item.line
    get_to, to_offset = address_reader(machine, to, line)
    get_map, map_offset = address_reader(machine, source, line)
    get_column, get_row = (reader(each, "s32", machine.program.widths, line) for each in source.coordinates)
    engine = _BoxCopies(machine, item, to_offset)
    place = BarrierAddress(machine, Instruction(item.opcode, (barrier,), None, line, item.place), "red", "release")

    def step(registers: Registers, mask: Mask) -> None:
        shape = (mask.height, mask.width)
        keys = place.keys(registers, mask)
        maps = np.broadcast_to(plain_address(as_signed(get_map(registers))) + map_offset, shape)
        end = np.broadcast_to(plain_address(as_signed(get_to(registers))), shape)
        column, row = (np.broadcast_to(get(registers), shape).astype(np.int64) for get in (get_column, get_row))
        active = np.ones(shape, bool) if mask.dense is None else mask.dense
        parts = [
            (engine.record_at(address), active & (maps == address)) for address in np.unique(maps[active]).tolist()
        ]
        for record, lanes in parts:
            engine.start(record, end, Mask(mask.rows, mask.columns, lanes))

        def arrive(some: Mask) -> None:
            chosen = np.ones(shape, bool) if some.dense is None else some.dense
            arriving = lanes_of(keys, some)
            sizes = np.zeros(shape, np.int64)
            for record, lanes in parts:
                there = lanes & chosen
                sizes[there] = record.box_bytes
                if there.any():
                    engine.copy(record, end, column, row, Mask(mask.rows, mask.columns, there))
            place.report_keys(keys, some)
            amounts = arriving.of(sizes, shape)
            place.change(arriving, some, lambda state, which, _: np.subtract.at(state.missing, which, amounts))

        machine.resident.phases.send(arrive, mask, keys)

    return step


class _BoxCopies:
    """The copies of one instruction; each lane of a mask copies one box."""

    def __init__(self, machine: Machine, item: Instruction, offset: int) -> None:
        self._machine, self._item = machine, item
        site = Site(machine.next_site(), item.line, item.opcode, "st", "shared", _WORD, 4, True, request=NO_REQUEST)
        self._to = Port(machine, site, offset)
        self._read = replace(site, number=machine.next_site(), op="ld", space="global")
        self._written = written_arrays(machine) if machine.hooks.on_access else frozenset()

    def record_at(self, address: int) -> MapRecord:
        """Return the map at an address. PtxError if there is none."""
        array = self._machine.space.at(address)
        start = address - array.base if array is not None else -1
        if array is not None and 0 <= start <= array.size - TENSOR_MAP_BYTES and start % 8 == 0:
            found = decode_record(array.data[start : start + TENSOR_MAP_BYTES].tobytes())
            if found is not None:
                return found
        raise PtxError("there is no tensor map at the address that this copy is given", self._item.line)

    def start(self, record: MapRecord, end: Array, mask: Mask) -> None:
        """Check the destination of boxes, and report to the observers that their copies start."""
        words = self._machine.words("shared")
        for first in (end, end + (record.box_bytes - self._to.site.size)):
            self._to.offsets(first, first, mask, words, "shared")
        wrong = (end + self._to.offset) % _ALIGNMENT != 0
        lanes = wrong if mask.dense is None else wrong & mask.dense
        if lanes.any():
            row, column = (int(each[0]) for each in np.nonzero(lanes))
            what = f"copies a box to an address that is not a multiple of {_ALIGNMENT} (misaligned)"
            raise self._machine.lane_failure("crashed", self._item.line, mask, row, column, what, "misaligned")
        for hook in self._machine.hooks.on_copy:
            hook(self._access(record, end, mask))

    def copy(self, record: MapRecord, end: Array, column: Array, row: Array, mask: Mask) -> None:
        """Copy the boxes at these columns and rows of the matrix. All int64 (height, width)."""
        lanes = mask.dense
        assert lanes is not None  # made above
        array = self._machine.space.at(record.address)
        assert array is not None  # the launch made the map of an array
        x = column[lanes][:, None, None] + np.arange(record.columns)
        y = row[lanes][:, None, None] + np.arange(record.rows)[:, None]
        inside = (x >= 0) & (x < record.width) & (y >= 0) & (y < record.height)
        start = (record.address - array.base) // _ELEMENT
        index = np.where(inside, start + y * (record.row_bytes // _ELEMENT) + x, start)
        values = np.where(inside, array.view(_ELEMENT)[index], np.uint16(0)).reshape(len(index), -1).view(np.uint32)
        if array.base in self._written:
            self._report_reads(record, array, column, row, mask)
        for hook in self._machine.hooks.on_access:
            hook(self._access(record, end, mask))
        at = end[lanes][:, None] + self._to.offset + _WORD * np.arange(values.shape[1])
        columns = np.broadcast_to(mask.columns_at(), end.shape)[lanes]
        self._machine.words("shared").store(swizzled(at, record.swizzle), _WORD, (columns[:, None],), values)

    def _access(self, record: MapRecord, end: Array, mask: Mask) -> Access:
        """Return the write of boxes as observers see it."""
        site = replace(self._to.site, count=record.box_bytes // _WORD)
        return Access(site, "shared", end + self._to.offset, mask, None, ())

    def _report_reads(self, record: MapRecord, array: DeviceArray, column: Array, row: Array, mask: Mask) -> None:
        """Report the read of each row of the boxes: the kernel may write this matrix."""
        first, last = np.clip(column, 0, record.width), np.clip(column + record.columns, 0, record.width)
        for down in range(record.rows):
            inside = (row + down >= 0) & (row + down < record.height) & (last > first)
            lanes = inside if mask.dense is None else inside & mask.dense
            if not lanes.any():
                continue
            address = record.address + (row + down) * record.row_bytes + first * _ELEMENT
            site = replace(self._read, part=_ELEMENT, count=record.columns)
            sizes = (last - first) * _ELEMENT
            for hook in self._machine.hooks.on_access:
                hook(Access(site, "global", address, Mask(mask.rows, mask.columns, lanes), array, (), sizes=sizes))
