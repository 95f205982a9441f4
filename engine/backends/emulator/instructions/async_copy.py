"""Asynchronous copies from global to shared memory: cp.async with its groups, and cp.async.bulk.

A copy may happen at any time until its thread has waited for it. The emulator delays it as long as it can: until the
wait, or until a thread tests the barrier that the copy reports to. A kernel that forgets to wait thus computes with the
old content. Each thread has its own groups, so groups are counted per lane.

The global read of cp.async is counted where the copy starts; its shared write is no store in the GPU's counters. A bulk
copy is made by the copy engine, so no warp loads or stores. For the race checks, the thread that started a copy
performs it, on the line of the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from engine.backends.emulator.instructions.mbarriers import BarrierAddress, lanes_of
from engine.backends.emulator.instructions.memory_port import (
    ArrayPiece,
    Port,
    address_reader,
    as_signed,
    first_lane,
    plain_address,
)
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.program import NO_REQUEST
from engine.backends.emulator.ptx.syntax import Address, Instruction, Operand, PtxError, Register
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, reader
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.resident import BarrierStates, count_arrivals
from engine.records import Array

_WORD = 4  # bytes
_LOWEST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint32)  # masks of 0 to 4 bytes

describe(Traits("cp", writes=False))  # the bulk copies, which have other rules


@executes(Traits("cp.async.commit_group", writes=False))
def commit_group(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that closes the open group."""
    return lambda registers, mask: machine.resident.copies.close(mask)


@executes(Traits("cp.async.wait_all", writes=False))
def wait_all(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that completes all copies."""
    return lambda registers, mask: machine.resident.copies.wait(mask, None)


@executes(Traits("cp.async.wait_group", "v", writes=False))
def wait_group(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that completes all copies except those of the newest groups."""
    newest = reader(item.operands[0], "s64", machine.program.widths, item.line)
    return lambda registers, mask: machine.resident.copies.wait(mask, int(newest(registers).flat[0]))


@executes(*(Traits(head, "aav?vv", writes=False, memory="copy") for head in ("cp.async.ca", "cp.async.cg")))
def copy(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of cp.async [to], [from], size {, source size}: bytes beyond the source size become zero."""
    widths, line = machine.program.widths, item.line
    to, source, size, *rest = item.operands
    if not isinstance(to, Address) or not isinstance(source, Address):
        raise PtxError(f"this form of {item.opcode} is not emulated", line)
    parts = int(reader(size, "u32", widths, line)(_NO_REGISTERS).flat[0]) // _WORD
    read = Site(machine.next_site(), line, item.opcode, "ld", "global", _WORD, parts, True)
    write = replace(read, number=machine.next_site(), op="st", space="shared", request=NO_REQUEST)
    get_to, to_offset = address_reader(machine, to, line)
    get_from, from_offset = address_reader(machine, source, line)
    port, origin = Port(machine, write, to_offset, to), _Source(Port(machine, read, from_offset))
    if "L2::cache_hint" in item.words:
        rest.pop()
    get_sizes = _source_sizes(rest[0], _WORD * parts, widths, line) if rest else None

    def step(registers: Registers, mask: Mask) -> None:
        values = origin.read(get_from(registers), mask, get_sizes(registers) if get_sizes else None)
        address = get_to(registers)
        _start_copy(port, address, mask, values)
        machine.resident.copies.issue(lambda lanes: port.store(address, lanes, values), mask)

    return step


def _start_copy(port: Port, address: Value, mask: Mask, values: Sequence[Array]) -> None:
    """Check the destination of a copy that starts, and report it to the observers."""
    port.offsets(address, address, mask, port.machine.words("shared"), "shared")
    for hook in port.machine.hooks.on_copy:
        hook(port.access("shared", as_signed(address), mask, None, values))


def _source_sizes(operand: Operand, size: int, widths: tuple[int, ...], line: int) -> Reader:
    """Return a reader of the bytes that each lane reads: the operand, or all or none if it is the ignore-source
    predicate."""
    if not (isinstance(operand, Register) and widths[operand.index] == 1):
        return reader(operand, "u32", widths, line)
    ignored = reader(operand, "pred", widths, line)
    return lambda registers: np.where(ignored(registers), 0, size)


class _Source:
    """The source of a copy, which may have fewer bytes than the destination; the rest are zeros."""

    def __init__(self, port: Port) -> None:
        self._port, self._size = port, port.site.size

    def read(self, raw: Value, mask: Mask, sizes: Array | None) -> list[Array]:
        """Return the words to write. `sizes`: the bytes that each lane reads; a lane that reads none may have any
        address."""
        if sizes is None or int(sizes.min()) == int(sizes.max()) == self._size:
            return self._port.load(raw, mask)
        reading = np.broadcast_to(sizes > 0, (mask.height, mask.width))
        if mask.dense is not None:
            reading = reading & mask.dense
        if not reading.any():
            return [np.zeros((1, 1), np.uint32)] * self._port.site.count
        lanes = Mask(mask.rows, mask.columns, reading)
        if (reading & (sizes != self._size)).any():
            return self._read_parts(as_signed(raw), lanes, reading * sizes.astype(np.int64))
        return [np.where(reading, word, np.uint32(0)) for word in self._port.load(raw, lanes)]

    def _read_parts(self, raw: Value, mask: Mask, sizes: Array) -> list[Array]:
        port = self._port
        if (sizes > self._size).any():
            self._refuse(mask, sizes)
        pieces = port.pieces(raw, mask, sizes)
        port.report(replace(port.access("global", raw, mask, None, ()), sizes=sizes))
        words = [np.zeros(sizes.shape, np.uint32) for _ in range(port.site.count)]
        for number, word in enumerate(words):
            kept = _LOWEST_BYTES[np.clip(sizes - _WORD * number, 0, _WORD)]
            for piece in pieces:
                padded = piece.array.data.view(np.uint32)
                word[piece.lanes] = padded[piece.index + number] & kept[piece.lanes]
        return words

    def _refuse(self, mask: Mask, sizes: Array) -> NoReturn:
        row, column = first_lane(sizes > self._size)
        what = f"copies {self._size} bytes, but gives {sizes[row, column]} bytes as the size of the source"
        raise self._port.machine.lane_failure("crashed", self._port.site.line, mask, row, column, what)


_NO_REGISTERS: Any = ()


_UNIT = 16  # bytes: a bulk copy consists of such units


@executes(Traits("cp.async.mbarrier.arrive", "a", writes=False, memory="atomic"))
def arrive_with_copies(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that lets a lane arrive once its copies are complete. Without noinc the phase expects one
    arrival more."""
    place = BarrierAddress(machine, item, "red", "release")
    more = 0 if "noinc" in item.words else 1

    def step(registers: Registers, mask: Mask) -> None:
        keys = place.keys(registers, mask)
        lanes = lanes_of(keys, mask)
        copies = machine.resident.copies.in_flight()

        def expect(state: BarrierStates, which: Array, _: object) -> None:
            np.add.at(state.pending, which, more)

        def arrive(some: Mask) -> None:
            machine.resident.copies.finish(copies, some)
            arriving = lanes_of(keys, some)
            place.report_keys(keys, some)
            ones = np.ones(arriving.keys.size, np.int64)
            place.change(arriving, some, lambda state, which, _: count_arrivals(state, which, ones))

        place.change(lanes, mask, expect)
        machine.resident.phases.send(arrive, mask, keys)

    return step


@executes(Traits("cp.async.bulk.shared", "aava", writes=False, memory="copy"))
def copy_in_bulk(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of cp.async.bulk [to], [from], bytes, [barrier]; completion reduces the barrier's missing
    bytes."""
    to, source, size, barrier = item.operands
    line, words = item.line, {word.split("::")[0] for word in item.words}
    if "global" not in words or "mbarrier" not in words or "tensor" in words or "multicast" in words:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", line)
    get_bytes = reader(size, "u32", machine.program.widths, line)
    get_to, to_offset = address_reader(machine, to, line)
    get_from, from_offset = address_reader(machine, source, line)
    read = Site(machine.next_site(), line, item.opcode, "ld", "global", 4, _UNIT // 4, True, request=NO_REQUEST)
    write = Site(machine.next_site(), line, item.opcode, "st", "shared", 4, _UNIT // 4, True, request=NO_REQUEST)
    move = _CopyEngine(Port(machine, read, from_offset), Port(machine, write, to_offset))
    place = BarrierAddress(machine, Instruction(item.opcode, (barrier,), None, line, item.place), "red", "release")

    def step(registers: Registers, mask: Mask) -> None:
        shape = (mask.height, mask.width)
        keys = place.keys(registers, mask)
        counts = np.broadcast_to(get_bytes(registers), shape).astype(np.int64)
        start, end = (np.broadcast_to(plain_address(as_signed(get(registers))), shape) for get in (get_from, get_to))
        if (counts % _UNIT).any():
            raise PtxError(f"{item.opcode} copies a number of bytes that is not a multiple of {_UNIT}", line)

        for count, lanes in _by_count(counts, mask):
            move.start_copy(end, count, lanes)

        def arrive(some: Mask) -> None:
            for count, lanes in _by_count(counts, some):
                move(start, end, count, lanes)
            place.report_keys(keys, some)
            arriving = lanes_of(keys, some)
            amounts = arriving.of(counts, shape)
            place.change(arriving, some, lambda state, which, _: np.subtract.at(state.missing, which, amounts))

        machine.resident.phases.send(arrive, mask, keys)

    return step


def _by_count(counts: Array, mask: Mask) -> Iterator[tuple[int, Mask]]:
    """Yield (bytes, lanes) for each number of bytes that lanes of a mask copy."""
    active = np.ones(counts.shape, bool) if mask.dense is None else mask.dense
    for count in np.unique(counts[active & (counts > 0)]).tolist():
        yield count, Mask(mask.rows, mask.columns, active & (counts == count))


class _CopyEngine:
    """Copies the same number of bytes for each lane of a mask, after checking all addresses."""

    def __init__(self, port_from: Port, port_to: Port) -> None:
        self._from, self._to = port_from, port_to

    def start_copy(self, end: Array, count: int, mask: Mask) -> None:
        """Check the destination of a copy that starts, and report it to the observers."""
        for first in (end, end + (count - _UNIT)):
            self._to.offsets(first, first, mask, self._to.machine.words("shared"), "shared")
        for hook in self._to.machine.hooks.on_copy:
            site = replace(self._to.site, count=count // 4)
            hook(Access(site, "shared", end + self._to.offset, mask, None, ()))

    def __call__(self, start: Array, end: Array, count: int, mask: Mask) -> None:
        """Copy from `start` to `end`: int64 (height, width), the addresses of each lane."""
        machine = self._from.machine
        words = machine.words("shared")
        self._from.pieces(start + (count - _UNIT), mask)
        pieces = self._from.pieces(start, mask)
        places = self._to.offsets(end, end, mask, words, "shared")
        columns = np.broadcast_to(mask.columns_at()[None, :], end.shape)
        steps = np.arange(count // 4)
        for piece in pieces:
            self._report_access(self._from, "global", start, count, mask, piece)
            values = piece.array.view(4)[piece.index[:, None] + steps]
            self._report_access(self._to, "shared", end, count, mask, piece, values)
            words.store(places[piece.lanes][:, None] + 4 * steps, 4, (columns[piece.lanes][:, None],), values)

    def _report_access(
        self,
        port: Port,
        space: str,
        address: Array,
        count: int,
        mask: Mask,
        piece: ArrayPiece,
        values: Array | None = None,
    ) -> None:
        """Report one access of `count` bytes to the observers."""
        parts = []
        for number in range(count // 4 if values is not None else 0):
            part = np.zeros(address.shape, np.uint32)
            part[piece.lanes] = values[:, number] if values is not None else 0
            parts.append(part)
        site = replace(port.site, count=count // 4)
        lanes = Mask(mask.rows, mask.columns, piece.lanes)
        for hook in port.machine.hooks.on_access:
            array = piece.array if space == "global" else None
            hook(Access(site, space, address + port.offset, lanes, array, tuple(parts)))
