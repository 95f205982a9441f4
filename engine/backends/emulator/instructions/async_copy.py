"""Asynchronous copies from global to shared memory: cp.async, its groups, and the wait for them.

A copy may happen at any time until its thread has waited for it. Here it happens as late as it can, in the wait: a
kernel that forgets to wait computes with what was there before. Each thread has groups of its own, so groups are
counted lane by lane. The global read is counted where the copy is issued, the shared write where it arrives, both on
the line of the copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.backends.emulator.instructions.addresses import address_reader
from engine.backends.emulator.instructions.memory_port import Port
from engine.backends.emulator.instructions.registry import Step, executes
from engine.backends.emulator.ptx.syntax import Address, Instruction, PtxError
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.state.events import Site
from engine.records import Array

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

_EVERYTHING = np.iinfo(np.int64).max


@dataclass
class _Copy:
    """A copy under way: what goes where, and for each lane of (height, width) its group, or -1 for an idle lane."""

    port: Port
    address: Value
    values: list[Array]
    mask: Mask
    group: Array


class Copies:
    """What one machine has under way in the running chunk; `groups` counts the closed groups of each lane."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._chunk: object = None
        self._under_way: list[_Copy] = []
        self._groups = np.zeros((0, 0), np.int64)

    def _current(self) -> None:
        """A new chunk starts with nothing under way; what nobody waited for never arrives."""
        if self._chunk is not self.machine.chunk:
            self._chunk = self.machine.chunk
            self._under_way = []
            self._groups = np.zeros((self.machine.rows, self.machine.chunk_blocks), np.int64)

    def _lanes(self, mask: Mask) -> tuple[Any, Array]:
        place = np.ix_(mask.rows_at(), mask.columns_at())
        active = np.ones((mask.height, mask.width), bool) if mask.dense is None else mask.dense
        return place, active

    def issue(self, port: Port, address: Value, values: list[Array], mask: Mask) -> None:
        """Put a copy into each lane's open group."""
        self._current()
        place, active = self._lanes(mask)
        self._under_way.append(_Copy(port, address, values, mask, np.where(active, self._groups[place], -1)))

    def close(self, mask: Mask) -> None:
        """commit_group: the next copy belongs to a new group."""
        self._current()
        place, active = self._lanes(mask)
        self._groups[place] += active

    def wait(self, mask: Mask, newest: int | None) -> None:
        """Let all copies arrive but those of the `newest` closed groups (None: all, those of open groups included)."""
        self._current()
        place, active = self._lanes(mask)
        limit = np.full(self._groups.shape, -1, np.int64)
        limit[place] = np.where(active, _EVERYTHING if newest is None else self._groups[place] - newest, -1)
        for copy in self._under_way:
            here = limit[np.ix_(copy.mask.rows_at(), copy.mask.columns_at())]
            arriving = (copy.group >= 0) & (copy.group < here)
            if arriving.any():
                whole = arriving.all()
                lanes = copy.mask if whole else Mask(copy.mask.rows, copy.mask.columns, arriving)
                copy.port.store(copy.address, lanes, copy.values)
                copy.group = np.where(arriving, -1, copy.group)
        self._under_way = [copy for copy in self._under_way if (copy.group >= 0).any()]


describe(Traits("cp", writes=False))  # the bulk copies, which have other rules


def _copies(machine: Machine) -> Copies:
    """What the machine has under way."""
    copies: Copies = vars(machine).setdefault("copies", Copies(machine))
    return copies


@executes(Traits("cp.async.commit_group", writes=False))
def commit_group(machine: Machine, item: Instruction) -> Step:
    """The next copy belongs to a new group."""
    copies = _copies(machine)
    return lambda registers, mask: copies.close(mask)


@executes(Traits("cp.async.wait_all", writes=False))
def wait_all(machine: Machine, item: Instruction) -> Step:
    """All copies arrive."""
    copies = _copies(machine)
    return lambda registers, mask: copies.wait(mask, None)


@executes(Traits("cp.async.wait_group", "v", writes=False))
def wait_group(machine: Machine, item: Instruction) -> Step:
    """All copies arrive but those of the newest groups."""
    copies = _copies(machine)
    newest = reader(item.operands[0], "s64", machine.program.widths, item.line)
    return lambda registers, mask: copies.wait(mask, int(newest(registers).flat[0]))


@executes(*(Traits(head, "aav?vv", writes=False, memory="copy") for head in ("cp.async.ca", "cp.async.cg")))
def copy(machine: Machine, item: Instruction) -> Step:
    """cp.async [to], [from], size {, size of the source}: bytes beyond the source's size become zero."""
    copies, widths, line = _copies(machine), machine.program.widths, item.line
    to, source, size, *rest = item.operands
    if not isinstance(to, Address) or not isinstance(source, Address):
        raise PtxError(f"this form of {item.opcode} is not emulated", line)
    parts = int(reader(size, "u32", widths, line)(_NO_REGISTERS).flat[0]) // 4
    read = Site(machine.next_site(), line, item.opcode, "ld", "global", 4, parts, True)
    write = replace(read, number=machine.next_site(), op="st", space="shared")
    get_to, to_offset = address_reader(machine, to, line)
    get_from, from_offset = address_reader(machine, source, line)
    port_to, port_from = Port(machine, write, to_offset), Port(machine, read, from_offset)
    get_bytes = reader(rest[0], "u32", widths, line) if rest else None

    def step(registers: Registers, mask: Mask) -> None:
        shape = (mask.height, mask.width)
        wanted = np.full((1, 1), 4 * parts) if get_bytes is None else get_bytes(registers)
        reading = np.broadcast_to(wanted > 0, shape)
        if mask.dense is not None:
            reading = reading & mask.dense
        values: list[Array] = [np.zeros((1, 1), np.uint32)] * parts
        if reading.any():
            lanes = mask if mask.dense is None and reading.all() else Mask(mask.rows, mask.columns, reading)
            loaded = port_from.load(get_from(registers), lanes)
            values = [np.where(wanted > 4 * number, part, np.uint32(0)) for number, part in enumerate(loaded)]
        copies.issue(port_to, get_to(registers), values, mask)

    return step


_NO_REGISTERS: Any = ()
