"""Trace one block step by step, for the animation: an observer.

A step is a memory instruction, a branch, a barrier, a warp-wide operation, or a sequence of other instructions of one
.cu line. One step covers all warps of the block that execute it together. Steps beyond the limits of a trace are
counted but not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.watching.one_block import BlockObserver, TraceDone
from engine.backends.emulator.watching.wavefronts import SECTOR, global_sectors, serving_wavefronts, shared_wavefronts
from engine.compile.names import readable
from engine.records import Array


@dataclass(frozen=True)
class TracedArray:
    """An array that the block can access. `start`: its address, in shared memory an offset; `size`,
    `element`: bytes."""

    name: str
    space: str
    start: int
    size: int
    element: int


@dataclass(frozen=True, eq=False)
class TracedValues:
    """The values of lanes in one step: arrays with one entry per thread of the block, undefined for idle threads.

    `values`: the values loaded, stored, added to memory, read from another lane, or computed. For a combining
    instruction: its `operands`, and their `origins`, by the kinds of `traced_values`. `sources`: for a shuffle, the
    thread that each thread reads. `after`: for an atomic on shared memory, the new contents of the word.
    """

    values: Array
    operands: tuple[Array, ...] = ()
    origins: tuple[Array, ...] = ()
    sources: Array | None = None
    after: Array | None = None


MOST_STEPS = 2_000
MOST_REQUESTS = 4_000
_WIDEST = 16  # bytes of a lane

Kind = Literal["compute", "load", "store", "atomic", "branch", "barrier", "sync"]
_KINDS: dict[str, Kind] = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}


@dataclass(frozen=True)
class Request:
    """One warp's part in a memory instruction, with one value for each of 32 lanes.

    `places`: byte offsets, in shared memory or in the global array; -1 for an idle lane. `served`: in shared memory the
    wavefront that serves the lane, from 1; in global memory the sector of its first byte, numbered from 1 in the order
    of addresses; 0 for an idle lane. `passes`: wavefronts or sectors. `conflicts`: wavefronts beyond the minimum for
    the access size; None in global memory.
    """

    warp: int
    places: tuple[int, ...]
    served: tuple[int, ...]
    passes: int
    conflicts: int | None


@dataclass(frozen=True)
class TracedStep:
    """One step of the block. `lanes`: one 32-bit set of active lanes per warp, 0 for an idle warp.

    `instructions`: PTX instructions per active warp. `taken`: for a branch, the lanes that jump. For a memory
    instruction: `space` ("shared", "global", "local"), `array` (its name), `start` (its byte offset in the space),
    `size` (bytes per lane), `requests` (one per warp in shared and global memory). `carried`: the values, if the tracer
    stores them.
    """

    line: int
    kind: Kind
    opcode: str
    lanes: tuple[int, ...]
    instructions: int = 1
    taken: tuple[int, ...] = ()
    space: str = ""
    array: str = ""
    start: int = 0
    size: int = 0
    requests: tuple[Request, ...] = ()
    carried: TracedValues | None = None


@dataclass(frozen=True)
class Trace:
    """One block of one launch. `block`: its number in the grid; `steps_in_all`: including the steps that are not
    stored.

    `launch`, `launches`: the number of the launch in the plan, from 1, and how many there are. `schedule`: its name.
    `ended`: why the run stopped before the block ended; None if it ended. `shape`: the dimensions of the block;
    `arrays`: given together with values.
    """

    kernel: str
    source: str
    block: int
    blocks: int
    threads: int
    launch: int
    launches: int
    schedule: str
    steps: tuple[TracedStep, ...]
    steps_in_all: int
    ended: str | None = None
    shape: tuple[int, int, int] = (1, 1, 1)
    arrays: tuple[TracedArray, ...] = ()

    @property
    def warps(self) -> int:
        """Return the warps of the block."""
        return -(-self.threads // WARP)


class Tracer(BlockObserver):
    """Traces `block` of the launch number `launch` (from 0); raises TraceDone at the end of that block's chunk."""

    def __init__(self, block: int, launch: int = 0) -> None:
        super().__init__(block, launch)
        self.most_steps, self.most_requests = MOST_STEPS, MOST_REQUESTS
        self.steps: list[TracedStep] = []
        self.arrays: tuple[TracedArray, ...] = ()
        self.steps_in_all = 0
        self._requests = 0
        self._pending: list[Instruction] = []
        self._lanes: tuple[int, ...] = ()

    # ---- hooks

    def on_chunk_end(self) -> None:
        """Stop the run after the block's chunk."""
        if self._column >= 0:
            self._flush()
            raise TraceDone

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Queue the block's instructions; memory instructions report themselves."""
        if self._column < 0:
            return
        self._flush()
        rows = self._rows(mask)
        if rows is None:
            return
        self._lanes = lane_sets(rows)
        self._pending = list(block.issued)

    def on_access(self, access: Access) -> None:
        """Add a load, store or atomic."""
        if self._column < 0:
            return
        rows = self._rows(access.mask)
        if rows is None or access.site.size > _WIDEST:  # the copy engine's access, which no warp requests
            return
        self._flush_to(access.site.opcode, access.site.line)
        self._add_access(access, rows)

    def on_branch(self, block: BasicBlock, taken: Mask | None, other: Mask | None) -> None:
        """Add a conditional branch."""
        if self._column < 0:
            return
        sides = [None if mask is None else self._rows(mask) for mask in (taken, other)]
        present = [rows for rows in sides if rows is not None]
        if not present or block.terminator is None:
            return
        self._flush_to(block.terminator.opcode, block.terminator.line)
        lanes = lane_sets(np.logical_or.reduce(present))
        jump = lane_sets(sides[0]) if sides[0] is not None else (0,) * len(lanes)
        self._add(TracedStep(block.line, "branch", block.terminator.opcode, lanes, taken=jump))

    def on_barrier(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Add an arrival at __syncthreads()."""
        rows = self._rows(mask) if self._column >= 0 else None
        if rows is not None:
            waiting = next(
                (i.opcode for i in self._pending if i.line == block.line and traits_of(i.opcode).control == "barrier"),
                "bar",
            )
            self._flush_to(waiting, block.line)
            self._add(TracedStep(block.line, "barrier", waiting, lane_sets(rows)))

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Add a shuffle, a vote or __syncwarp()."""
        rows = self._rows(mask) if self._column >= 0 else None
        if rows is not None:
            self._flush_to(opcode, line)
            self._add(TracedStep(line, "sync", opcode, lane_sets(rows)))

    def stop(self) -> None:
        """Drop the queued instructions, which a failed run has not executed."""
        self._pending = []

    # ---- helpers

    def _flush_to(self, opcode: str, line: int) -> None:
        """Add the queued instructions before the one that has just reported itself."""
        for number, item in enumerate(self._pending):
            if item.opcode == opcode and item.line == line:
                before, self._pending = self._pending[:number], self._pending[number + 1 :]
                self._compute(before)
                return

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        self._compute(pending)

    def _compute(self, items: list[Instruction]) -> None:
        start = 0
        for end in range(1, len(items) + 1):
            if end == len(items) or items[end].line != items[start].line:
                self._add(TracedStep(items[start].line, "compute", items[start].opcode, self._lanes, end - start))
                start = end

    def _add(self, step: TracedStep) -> None:
        self.steps_in_all += 1
        if len(self.steps) < self.most_steps and self._requests <= self.most_requests:
            self.steps.append(step)
            self._requests += len(step.requests)

    def _add_access(self, access: Access, rows: Array) -> None:
        if len(self.steps) >= self.most_steps or self._requests > self.most_requests:
            self.steps_in_all += 1
            return
        site, mask = access.site, access.mask
        address = np.broadcast_to(plain(access.address), (mask.height, mask.width))[:, self._place(mask)]
        full = np.zeros(rows.size, np.int64)
        full[mask.rows] = address.view(np.int64) if address.dtype.itemsize == 8 else address.astype(np.int64)
        array, start = self._array(access, int(full[rows.argmax()]))
        offset = full - start if access.space == "global" else full
        requests = []
        if access.space != "local":
            for warp in range(rows.size // WARP):
                part = slice(warp * WARP, warp * WARP + WARP)
                if rows[part].any():
                    requests.append(_request(warp, offset[part], full[part], rows[part], access))
        at = 0 if access.space == "global" else start
        step = TracedStep(site.line, _KINDS[site.op], site.opcode, lane_sets(rows), 1, (), access.space, array, at,
                          site.size, tuple(requests))  # fmt: skip
        self._add(step)

    def _array(self, access: Access, first: int) -> tuple[str, int]:
        """Return (name, start) of the array that the first active lane accesses."""
        if access.space == "global":
            array = access.array or self._machine.space.at(first)
            return (readable(array.name), array.base) if array is not None else ("", 0)
        below = [(at, name) for name, at in self._machine.places(access.space).items() if at <= first]
        start, name = max(below, default=(0, ""))
        return readable(name), start


def _request(warp: int, offset: Array, address: Array, active: Array, access: Access) -> Request:
    size = access.site.size
    places = tuple(np.where(active, offset, -1).tolist())
    if access.space == "shared":
        op = access.site.shared_rule
        passes, conflicts = shared_wavefronts(address, active, size, op)
        return Request(warp, places, serving_wavefronts(address, active, size, op), passes, conflicts)
    sectors = address // SECTOR
    numbers = np.searchsorted(np.unique(sectors[active]), sectors) + 1
    passes = global_sectors(address, active, size, access.site.op)
    return Request(warp, places, tuple(np.where(active, numbers, 0).tolist()), passes, None)


def lane_sets(rows: Array) -> tuple[int, ...]:
    """Return one 32-bit set of lanes per warp of a bool[T]."""
    packed = np.packbits(rows.reshape(-1, WARP), axis=1, bitorder="little")
    return tuple(packed.view("<u4").ravel().tolist())
