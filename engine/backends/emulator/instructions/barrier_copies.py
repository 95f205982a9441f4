"""Copies that a barrier in shared memory waits for: cp.async.mbarrier.arrive, and cp.async.bulk of so many bytes.

They arrive as late as they can: when somebody asks whether the barrier's phase has ended. A bulk copy is made by the
copy engine, so that no warp loads or stores anything; to the search for races the thread that asked for it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.backends.emulator.instructions.addresses import address_reader, plain_address, signed
from engine.backends.emulator.instructions.mbarriers import Place, lanes_of
from engine.backends.emulator.instructions.memory_port import Piece, Port
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.requests import NO_REQUEST
from engine.backends.emulator.ptx.syntax import Instruction, PtxError
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.phases import State, arrived
from engine.records import Array

_UNIT = 16  # bytes: what a bulk copy is made of


@executes(Traits("cp.async.mbarrier.arrive", "a", writes=False, memory="atomic"))
def arrive_with_copies(machine: Machine, item: Instruction) -> Executor:
    """A lane arrives once its copies so far have. Without noinc the phase wants that arrival as one more."""
    place = Place(machine, item, "red", "release")
    more = 0 if "noinc" in item.words else 1

    def step(registers: Registers, mask: Mask) -> None:
        keys = place.keys(registers, mask)
        lanes = lanes_of(keys, mask)
        copies = machine.resident.copies.under_way()

        def expect(state: State, which: Array, _: object) -> None:
            np.add.at(state.pending, which, more)

        def arrive(some: Mask) -> None:
            machine.resident.copies.finish(copies, some)
            arriving = lanes_of(keys, some)
            place.tell(keys, some)
            ones = np.ones(arriving.keys.size, np.int64)
            place.change(arriving, some, lambda state, which, _: arrived(state, which, ones))

        place.change(lanes, mask, expect)
        machine.resident.phases.send(arrive, mask, keys)

    return step


@executes(Traits("cp.async.bulk.shared", "aava", writes=False, memory="copy"))
def copy_in_bulk(machine: Machine, item: Instruction) -> Executor:
    """cp.async.bulk [to], [from], bytes, [barrier]: the barrier's phase then wants so many bytes less."""
    to, source, size, barrier = item.operands
    line, words = item.line, {word.split("::")[0] for word in item.words}
    if "global" not in words or "mbarrier" not in words or "tensor" in words or "multicast" in words:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", line)
    get_bytes = reader(size, "u32", machine.program.widths, line)
    get_to, to_offset = address_reader(machine, to, line)
    get_from, from_offset = address_reader(machine, source, line)
    read = Site(machine.next_site(), line, item.opcode, "ld", "global", 4, _UNIT // 4, True, request=NO_REQUEST)
    write = Site(machine.next_site(), line, item.opcode, "st", "shared", 4, _UNIT // 4, True, request=NO_REQUEST)
    move = _Engine(Port(machine, read, from_offset), Port(machine, write, to_offset))
    place = Place(machine, Instruction(item.opcode, (barrier,), None, line, item.place), "red", "release")

    def step(registers: Registers, mask: Mask) -> None:
        shape = (mask.height, mask.width)
        keys = place.keys(registers, mask)
        counts = np.broadcast_to(get_bytes(registers), shape).astype(np.int64)
        start, end = (np.broadcast_to(plain_address(signed(get(registers))), shape) for get in (get_from, get_to))
        if (counts % _UNIT).any():
            raise PtxError(f"{item.opcode} copies a number of bytes that is no multiple of {_UNIT}", line)

        for count, lanes in _by_count(counts, mask):
            move.set_out(end, count, lanes)

        def arrive(some: Mask) -> None:
            for count, lanes in _by_count(counts, some):
                move(start, end, count, lanes)
            place.tell(keys, some)
            arriving = lanes_of(keys, some)
            amounts = arriving.of(counts, shape)
            place.change(arriving, some, lambda state, which, _: np.subtract.at(state.missing, which, amounts))

        machine.resident.phases.send(arrive, mask, keys)

    return step


def _by_count(counts: Array, mask: Mask) -> Iterator[tuple[int, Mask]]:
    """The lanes of a mask that copy as many bytes as each other: (bytes, these lanes)."""
    active = np.ones(counts.shape, bool) if mask.dense is None else mask.dense
    for count in np.unique(counts[active & (counts > 0)]).tolist():
        yield count, Mask(mask.rows, mask.columns, active & (counts == count))


class _Engine:
    """Copies as many bytes for each lane of a mask, once their ends are known to lie where they may."""

    def __init__(self, port_from: Port, port_to: Port) -> None:
        self._from, self._to = port_from, port_to

    def set_out(self, end: Array, count: int, mask: Mask) -> None:
        """A copy starts, to where it may go; the observers hear of it."""
        for first in (end, end + (count - _UNIT)):
            self._to.offsets(first, first, mask, self._to.machine.words("shared"), "shared")
        for hook in self._to.machine.hooks.on_copy:
            site = replace(self._to.site, count=count // 4)
            hook(Access(site, "shared", end + self._to.offset, mask, None, ()))

    def __call__(self, start: Array, end: Array, count: int, mask: Mask) -> None:
        """`start`, `end`: int64 (height, width), where each lane reads and writes from."""
        machine = self._from.machine
        words = machine.words("shared")
        self._from.pieces(start + (count - _UNIT), mask)
        pieces = self._from.pieces(start, mask)
        places = self._to.offsets(end, end, mask, words, "shared")
        columns = np.broadcast_to(mask.columns_at()[None, :], end.shape)
        steps = np.arange(count // 4)
        for piece in pieces:
            self._tell(self._from, "global", start, count, mask, piece)
            values = piece.array.view(4)[piece.index[:, None] + steps]
            self._tell(self._to, "shared", end, count, mask, piece, values)
            words.store(places[piece.lanes][:, None] + 4 * steps, 4, (columns[piece.lanes][:, None],), values)

    def _tell(
        self, port: Port, space: str, address: Array, count: int, mask: Mask, piece: Piece, values: Array | None = None
    ) -> None:
        """The observers hear of one access of so many bytes."""
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
