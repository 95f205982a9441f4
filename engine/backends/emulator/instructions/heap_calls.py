"""malloc and free in a kernel, which `new` and `delete` call too."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.syntax import Group, Instruction, PtxError
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader, writer
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.heap import open_heap
from engine.backends.emulator.state.machine import Machine
from engine.records import Array


@executes(Traits("call.malloc", varies=True, unsteady=True))
def allocate(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of malloc: an allocation for each lane, block by block in the order of threads."""
    back, size = item.operands
    if not isinstance(back, Group) or len(back.items) != 1:
        raise PtxError("a call of malloc without its result is not emulated", item.line)
    get = reader(size, "u64", machine.program.widths, item.line)
    put = writer(back.items[0], "u64", machine.program.widths, item.line)
    heap = open_heap(machine.space)

    def step(registers: Registers, mask: Mask) -> None:
        sizes, lanes = _in_order(get(registers), mask)
        made = np.zeros(lanes.shape, np.uint64)
        made[lanes] = heap.allocate(sizes[lanes], item.line)
        put(registers, np.ascontiguousarray(made.T))

    return step


@executes(Traits("call.free", writes=False))
def release(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of free; for the race checks it writes all of the freed memory."""
    get = reader(item.operands[-1], "u64", machine.program.widths, item.line)
    heap = open_heap(machine.space)
    site = Site(machine.next_site(), item.line, "free", "st", "global", 1, 1, True)

    def step(registers: Registers, mask: Mask) -> None:
        addresses, lanes = _in_order(get(registers), mask)
        lanes = lanes & (addresses != 0)  # a null pointer may be freed
        if not lanes.any():
            return
        sizes, wrong = heap.release(addresses[lanes], item.line)
        if wrong is not None:
            column, row = np.argwhere(lanes)[wrong].tolist()
            fault = heap.wrong_to_free(int(addresses[column, row]))
            raise machine.lane_failure("crashed", item.line, mask, row, column, f"frees {fault.what}", fault.finding)
        if machine.hooks.on_free:
            bytes_of = np.zeros(lanes.shape, np.int64)
            bytes_of[lanes] = sizes
            freeing = Mask(mask.rows, mask.columns, lanes.T)
            freed = Access(site, "global", addresses.T.astype(np.int64), freeing, heap, (), sizes=bytes_of.T)
            for hook in machine.hooks.on_free:
                hook(freed)

    return step


def _in_order(values: Array, mask: Mask) -> tuple[Array, Array]:
    """Return an operand's values and the active lanes, both as (blocks, threads): the order of execution."""
    shape = (mask.height, mask.width)
    lanes = np.ones(shape, bool) if mask.dense is None else mask.dense
    return np.broadcast_to(values, shape).T, lanes.T
