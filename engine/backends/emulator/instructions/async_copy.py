"""Asynchronous copies from global to shared memory: cp.async, its groups, and the wait for them.

A copy may happen at any time until its thread has waited for it. Here it happens as late as it can, in the wait: a
kernel that forgets to wait computes with what was there before. Each thread has groups of its own, so groups are
counted lane by lane. The global read is counted where the copy is issued. The shared write is no store to the GPU's
counters; whoever looks for races hears when the copy starts and when it arrives, on the line of the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from engine.backends.emulator.instructions.access_faults import first_lane
from engine.backends.emulator.instructions.addresses import address_reader, signed
from engine.backends.emulator.instructions.memory_port import Port
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.requests import NO_REQUEST
from engine.backends.emulator.ptx.syntax import Address, Instruction, Operand, PtxError, Register
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, reader
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_WORD = 4  # bytes
_LOWEST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint32)  # masks of none to all

describe(Traits("cp", writes=False))  # the bulk copies, which have other rules


@executes(Traits("cp.async.commit_group", writes=False))
def commit_group(machine: Machine, item: Instruction) -> Executor:
    """The next copy belongs to a new group."""
    return lambda registers, mask: machine.resident.copies.close(mask)


@executes(Traits("cp.async.wait_all", writes=False))
def wait_all(machine: Machine, item: Instruction) -> Executor:
    """All copies arrive."""
    return lambda registers, mask: machine.resident.copies.wait(mask, None)


@executes(Traits("cp.async.wait_group", "v", writes=False))
def wait_group(machine: Machine, item: Instruction) -> Executor:
    """All copies arrive but those of the newest groups."""
    newest = reader(item.operands[0], "s64", machine.program.widths, item.line)
    return lambda registers, mask: machine.resident.copies.wait(mask, int(newest(registers).flat[0]))


@executes(*(Traits(head, "aav?vv", writes=False, memory="copy") for head in ("cp.async.ca", "cp.async.cg")))
def copy(machine: Machine, item: Instruction) -> Executor:
    """cp.async [to], [from], size {, size of the source}: bytes beyond the source's size become zero."""
    widths, line = machine.program.widths, item.line
    to, source, size, *rest = item.operands
    if not isinstance(to, Address) or not isinstance(source, Address):
        raise PtxError(f"this form of {item.opcode} is not emulated", line)
    parts = int(reader(size, "u32", widths, line)(_NO_REGISTERS).flat[0]) // _WORD
    read = Site(machine.next_site(), line, item.opcode, "ld", "global", _WORD, parts, True)
    write = replace(read, number=machine.next_site(), op="st", space="shared", request=NO_REQUEST)
    get_to, to_offset = address_reader(machine, to, line)
    get_from, from_offset = address_reader(machine, source, line)
    port, origin = Port(machine, write, to_offset), _Source(Port(machine, read, from_offset))
    if "L2::cache_hint" in item.words:
        rest.pop()
    get_sizes = _source_sizes(rest[0], _WORD * parts, widths, line) if rest else None

    def step(registers: Registers, mask: Mask) -> None:
        values = origin.read(get_from(registers), mask, get_sizes(registers) if get_sizes else None)
        address = get_to(registers)
        _set_out(port, address, mask, values)
        machine.resident.copies.issue(lambda lanes: port.store(address, lanes, values), mask)

    return step


def _set_out(port: Port, address: Value, mask: Mask, values: Sequence[Array]) -> None:
    """A copy starts, to where it may go; the observers hear of it."""
    port.offsets(address, address, mask, port.machine.words("shared"), "shared")
    for hook in port.machine.hooks.on_copy:
        hook(port.access("shared", signed(address), mask, None, values))


def _source_sizes(operand: Operand, size: int, widths: tuple[int, ...], line: int) -> Reader:
    """The bytes that each lane reads: as the operand says, or all or none where it is the predicate that ignores the
    source."""
    if not (isinstance(operand, Register) and widths[operand.index] == 1):
        return reader(operand, "u32", widths, line)
    ignored = reader(operand, "pred", widths, line)
    return lambda registers: np.where(ignored(registers), 0, size)


class _Source:
    """Where a copy reads, perhaps less than it writes: the other bytes are zeros."""

    def __init__(self, port: Port) -> None:
        self._port, self._size = port, port.site.size

    def read(self, raw: Value, mask: Mask, sizes: Array | None) -> list[Array]:
        """The words to be written. `sizes`: the bytes that each lane reads; whoever reads none may point anywhere."""
        if sizes is None or int(sizes.min()) == int(sizes.max()) == self._size:
            return self._port.load(raw, mask)
        reading = np.broadcast_to(sizes > 0, (mask.height, mask.width))
        if mask.dense is not None:
            reading = reading & mask.dense
        if not reading.any():
            return [np.zeros((1, 1), np.uint32)] * self._port.site.count
        lanes = Mask(mask.rows, mask.columns, reading)
        if (reading & (sizes != self._size)).any():
            return self._read_parts(signed(raw), lanes, reading * sizes.astype(np.int64))
        return [np.where(reading, word, np.uint32(0)) for word in self._port.load(raw, lanes)]

    def _read_parts(self, raw: Value, mask: Mask, sizes: Array) -> list[Array]:
        port = self._port
        if (sizes > self._size).any():
            self._refuse(mask, sizes)
        pieces = port.pieces(raw, mask, sizes)
        port.tell(replace(port.access("global", raw, mask, None, ()), sizes=sizes))
        words = [np.zeros(sizes.shape, np.uint32) for _ in range(port.site.count)]
        for number, word in enumerate(words):
            kept = _LOWEST_BYTES[np.clip(sizes - _WORD * number, 0, _WORD)]
            for piece in pieces:
                padded = piece.array.data.view(np.uint32)
                word[piece.lanes] = padded[piece.index + number] & kept[piece.lanes]
        return words

    def _refuse(self, mask: Mask, sizes: Array) -> NoReturn:
        row, column = first_lane(sizes > self._size)
        what = f"copies {self._size} bytes and says that {sizes[row, column]} of them come from global memory"
        raise self._port.machine.lane_failure("crashed", self._port.site.line, mask, row, column, what)


_NO_REGISTERS: Any = ()
