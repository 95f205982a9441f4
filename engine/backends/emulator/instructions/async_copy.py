"""Asynchronous copies from global to shared memory: cp.async, its groups, and the wait for them.

A copy may happen at any time until its thread has waited for it. Here it happens as late as it can, in the wait: a
kernel that forgets to wait computes with what was there before. Each thread has groups of its own, so groups are
counted lane by lane. The global read is counted where the copy is issued. The shared write is no store to the GPU's
counters; whoever looks for races sees it where it arrives, on the line of the copy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.backends.emulator.instructions.addresses import address_reader
from engine.backends.emulator.instructions.memory_port import Port
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.requests import NO_REQUEST
from engine.backends.emulator.ptx.syntax import Address, Instruction, PtxError
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

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
    parts = int(reader(size, "u32", widths, line)(_NO_REGISTERS).flat[0]) // 4
    read = Site(machine.next_site(), line, item.opcode, "ld", "global", 4, parts, True)
    write = replace(read, number=machine.next_site(), op="st", space="shared", request=NO_REQUEST)
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
        address = get_to(registers)
        machine.resident.copies.issue(lambda lanes: port_to.store(address, lanes, values), mask)

    return step


_NO_REGISTERS: Any = ()
