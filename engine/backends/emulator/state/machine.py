"""One launch as its instructions see it: arguments, memory, special registers, hooks.

Nothing is executed here; `running` executes, and admits the resident blocks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.backends.emulator.ptx.dataflow import varying_registers
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS, Size, SpecialContext
from engine.backends.emulator.ptx.syntax import WIDTHS, PtxError, Symbol, Variable
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import numbers_of
from engine.backends.emulator.registers.values import UNSIGNED
from engine.backends.emulator.state.events import NO_HOOKS, ChunkInfo, Hooks
from engine.backends.emulator.state.memory import (
    UNWRITTEN,
    UNWRITTEN_PARTS,
    AddressSpace,
    DeviceArray,
    Words,
    code_addresses,
    lay_out,
)
from engine.backends.emulator.state.resident import ResidentBlocks
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.state.store_buffer import StoreBuffer
from engine.compile.element_sizes import element_bytes, local_arrays
from engine.compile.names import readable
from engine.records import Array, CompileError, NotRunnable, RunFailed, Source, Status

MOST_CALLS = 1024  # open calls of one thread: more than fit into a GPU's default stack
STACK_ALIGNMENT = 16
_RESERVED_BYTES, _RESERVED_ALIGNMENT = 1024, 16
_MOST_STACK = 64 << 10  # bytes of local memory for recursion
_ELEMENT = 4  # bytes: assumed size of a parameter's elements


@dataclass(frozen=True)
class Options:
    """How to execute: no option may change an answer or a counter.

    `lanes`: lanes per chunk. `flat`: give every register one value per lane. `sums`: keep indices as outer sums.
    `groups`: execute loads of few lanes together. `step_limit`: basic blocks per chunk. `seconds`: limit of the
    thread's processor time, counted from the creation of these options, so that other work on the computer stops no
    run.
    """

    lanes: int | None = None
    flat: bool = False
    sums: bool = True
    groups: bool = True
    step_limit: int = 1_000_000
    seconds: float | None = None
    begun: float = field(default_factory=time.thread_time)


@dataclass
class Machine:
    """A launch. `arguments`: bytes by parameter name. `symbols`: addresses of module variables. `workspace`: the
    address where grid.sync() counts. `source`: the source, for facts that PTX omits."""

    program: Program
    space: AddressSpace
    arguments: Mapping[str, bytes]
    symbols: Mapping[str, int]
    grid: Size
    block: Size
    file_name: str
    dynamic_shared: int = 0
    cooperative: bool = False
    workspace: int = 0
    launch: int = 0
    schedule: Schedule = LOCKSTEP
    options: Options = field(default_factory=Options)
    hooks: Hooks = NO_HOOKS
    source: Source | None = None
    output: list[str] = field(default_factory=list)

    @cached_property
    def varying(self) -> frozenset[int]:
        """Return the registers that can differ between the threads of a block."""
        return varying_registers(self.program)

    def __post_init__(self) -> None:
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.rows = -(-self.threads // WARP) * WARP
        self.blocks = self.grid[0] * self.grid[1] * self.grid[2]
        self.shared_places, self.shared_size = lay_out(self.program.shared, self.dynamic_shared)
        # A GPU keeps 1 kB of shared memory for itself, behind the block's.
        self.reserved_place = -(-self.shared_size // _RESERVED_ALIGNMENT) * _RESERVED_ALIGNMENT
        reserved = self.program.reads_reserved
        self.shared_extent = self.reserved_place + _RESERVED_BYTES if reserved else self.shared_size
        self.local_places, self.kernel_local = lay_out(self.program.local, 0)
        self.local_size = self.kernel_local + _stack(self.program, self.kernel_local)
        self.code = code_addresses(self.program.functions)
        self.placed = {param.name: self._place(param) for param in self.program.placed}
        self.sums = self.options.sums and self.blocks > 1  # with one block there is nothing to add to a row
        self.sites = 0
        self.clock = 0  # issued instructions
        kinds = {bits: np.zeros((1, 1), UNSIGNED[bits]) for bits in set(self.program.widths)}
        self.zeros = [kinds[bits] for bits in self.program.widths]
        # What a kernel's registers hold at its start: a variable without a value must not look like a zero.
        self.start = list(self.zeros)
        for index in numbers_of(self.program.unset):
            pattern = UNWRITTEN_PARTS.get(self.program.widths[index] // 8)
            if pattern is not None:
                self.start[index] = np.full_like(self.zeros[index], pattern)
        self.registers = self.start  # of the frame whose lanes run
        self.units = {space: _unit(self.program, space) for space in ("shared", "local")}
        self._specials: dict[str, Array] = {}
        self._random = np.random.default_rng(self.schedule.seed) if self.schedule.kind == "independent" else None
        self.resident = ResidentBlocks(ChunkInfo(self.launch, 0, 0, self.rows, self.threads, self.shared_extent), {})

    def _place(self, param: Variable) -> int:
        """Place a parameter that is read at computed addresses, and return its address."""
        number = self.program.params.index(param) + 1
        data = np.frombuffer(self.arguments[param.name], np.uint8)
        return self.space.add(f"parameter {number} of {self.program.name}", data, _ELEMENT, constant=True).base

    @cached_property
    def _marks_local(self) -> bool:
        """Return whether stores to local memory are marked: elements of 1 or 2 bytes may equal the first content."""
        loads = (item for item in self.program.instructions if item.words[0] == "ld" and item.space == "local")
        asked = bool(self.hooks.on_unwritten) and not self.program.callees  # calls copy structures
        return asked and any(WIDTHS[item.words[-1]] < 32 for item in loads)

    # ---- called by `running`

    def admit(self, first: int, count: int) -> ResidentBlocks:
        """Make these blocks resident, with fresh shared and local memory."""
        memories = {"shared": Words(self.shared_extent, self.units["shared"], (count,))}
        if self.local_size:
            local = Words(self.local_size, self.units["local"], (self.rows, count), UNWRITTEN)
            if self._marks_local:
                local.marks = Words(self.local_size, self.units["local"], (self.rows, count))
            memories["local"] = local
        info = ChunkInfo(self.launch, first, count, self.rows, self.threads, self.shared_extent)
        self._specials = {}
        independent = self.schedule.kind == "independent"
        stores = StoreBuffer((self.rows, count), self.schedule.seed) if independent else None
        self.resident = ResidentBlocks(info, memories, stores)
        return self.resident

    def tick(self, instructions: int) -> None:
        """Advance the clock by a number of issued instructions."""
        self.clock += instructions

    def close(self) -> None:
        """Drop all references back to this machine, so its memory is freed at once."""
        self.hooks = NO_HOOKS
        self.resident = ResidentBlocks(self.resident.info, {})

    def drain(self, mask: Mask | None = None) -> None:
        """Let the delayed stores of some lanes arrive, or all."""
        stores = self.resident.stores
        if stores is not None and mask is not None:
            stores.drain_lanes(mask)
        elif stores is not None:
            stores.drain()

    def late(self) -> bool:
        """Return whether the run has used up its processor time."""
        seconds, begun = self.options.seconds, self.options.begun
        return seconds is not None and time.thread_time() > begun + seconds

    # ---- called by executors

    def next_site(self) -> int:
        """Return a new number for a memory instruction."""
        self.sites += 1
        return self.sites - 1

    def turns(self, lanes: int) -> Array | slice:
        """Return the order in which the lanes of an atomic take turns: that of blocks and threads, or a random one."""
        return slice(None) if self._random is None else self._random.permutation(lanes)

    def words(self, space: str) -> Words:
        """Return the shared or local memory of the resident blocks."""
        found = self.resident.memories.get(space)
        return found if found is not None else Words(0, 4, (self.resident.blocks,))

    def places(self, space: str) -> Mapping[str, int]:
        """Return the byte offsets of the shared or local variables."""
        return self.shared_places if space == "shared" else self.local_places

    def element_bytes(self, name: str) -> int | None:
        """Return the bytes of one element of an array variable, None if the source does not say."""
        return element_bytes(self.source, readable(name)) if self.source else None

    def element_bytes_of(self, array: DeviceArray) -> int:
        """Return the bytes of one element of an array in device memory; for a variable the source decides."""
        told = self.element_bytes(array.name) if array.name in self.symbols else None
        return told or array.element

    def shared_bounds(self, array: str) -> tuple[int, int]:
        """Return the first byte of a shared array and the first one behind it; external arrays share the rest."""
        start = self.shared_places[array]
        found = next(one for one in self.program.shared if one.name == array)
        return start, self.shared_size if found.external else start + found.size

    def only_local_array(self) -> str | None:
        """Return the name of the source's local array if it has just one: the compiler puts all of them into one."""
        arrays = local_arrays(self.source) if self.source else frozenset()
        return min(arrays) if len(arrays) == 1 else None

    def address_of(self, symbol: Symbol, line: int) -> int:
        """Return the address of a variable in its own space."""
        for table in (self.shared_places, self.local_places, self.symbols, self.placed, self.code):
            if symbol.name in table:
                return table[symbol.name] + symbol.offset
        raise PtxError(f"the address of `{symbol.name}` is not emulated", line)

    def argument(self, name: str) -> bytes:
        """Return the bytes of a kernel argument."""
        return self.arguments[name]

    def special(self, name: str) -> Array:
        """Return a special register of all resident lanes, as small as its dependences allow."""
        row = SPECIAL_REGISTERS[name]
        found = self._specials.get(name)
        if found is None:
            found = row.value(self._special_context())
            if row.differs == "time":
                return found
            if self.options.flat:
                found = np.ascontiguousarray(np.broadcast_to(found, (self.rows, self.resident.blocks)))
            self._specials[name] = found
        return found

    def _special_context(self) -> SpecialContext:
        threads = np.arange(self.rows, dtype=np.int64)[:, None]
        blocks = self.resident.first + np.arange(self.resident.blocks, dtype=np.int64)[None, :]
        return SpecialContext(
            threads, blocks, self.block, self.grid, self.shared_size, self.dynamic_shared, self.reserved_place,
            self.workspace, self.clock,
        )  # fmt: skip

    # ---- failures

    def failure(self, status: Status, clause: str, line: int, finding: str | None = None) -> RunFailed:
        """Return a failed run: one sentence with the file and the line. `finding`: the kind of hazard that ended it."""
        where = f"{self.file_name}, line {line}" if line else self.file_name
        return RunFailed(status, f"{where}: {clause}.", line or None, finding)

    def lane_failure(
        self, status: Status, line: int, mask: Mask, row: int, column: int, what: str, finding: str | None = None
    ) -> RunFailed:
        """Return a failure of one lane, given by its row and column in the mask's rectangle."""
        lane = self.lane_name(int(mask.rows_at()[row]), int(mask.columns_at()[column]))
        return self.failure(status, f"{lane} {what}", line, finding)

    def lane_name(self, row: int, column: int) -> str:
        """Return "thread 31 of block 0", with coordinates if the launch has several dimensions."""
        return self.grid_lane_name(row + (self.resident.first + column) * self.rows)

    def grid_lane_name(self, lane: int) -> str:
        """Return the same for a lane counted over the whole grid, with blocks padded to warps."""
        row, block = lane % self.rows, lane // self.rows
        return f"thread {_coordinates(row, self.block)} of block {_coordinates(block, self.grid)}"


def _stack(program: Program, below: int) -> int:
    """Return the bytes of local memory for the called functions, in addition to the kernel's own."""
    sizes = [callee.size for callee in program.callees.values()]
    if not any(sizes):
        return 0
    whole = sum(sizes) if program.deepest is not None else min(MOST_CALLS * max(sizes), _MOST_STACK)
    return -below % STACK_ALIGNMENT + whole + len(sizes) * STACK_ALIGNMENT


def _coordinates(linear: int, size: Size) -> str:
    x, y, z = linear % size[0], linear // size[0] % size[1], linear // (size[0] * size[1])
    if size[2] > 1:
        return f"({x}, {y}, {z})"
    return f"({x}, {y})" if size[1] > 1 else str(x)


def _unit(program: Program, space: str) -> int:
    """Return the word size of shared or local memory: that of most of its accesses."""
    sizes = [WIDTHS.get(item.words[-1], 32) for block in program.blocks for item in block.body if item.space == space]
    return 8 if sizes.count(64) > len(sizes) / 2 else 4


class EmulatorFault(Exception):
    """An unexpected exception of the emulator, given as its cause. `line`: the .cu line in execution, 0 if unknown."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


# The exceptions that a launch may end with.
EXPECTED_ERRORS = (RunFailed, CompileError, NotRunnable, PtxError, MemoryError, EmulatorFault)
