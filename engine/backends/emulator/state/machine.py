"""One launch on the emulator: its code, arguments, built-in values and chunks of blocks.

The machine compiles a block of instructions to steps when it is first reached, so that an instruction that is not
emulated matters only where it is executed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS, Asked
from engine.backends.emulator.ptx.syntax import WIDTHS, PtxError, Symbol
from engine.backends.emulator.ptx.uniform import varying
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import UNSIGNED
from engine.backends.emulator.running.chunk import Chunk
from engine.backends.emulator.running.code import Code
from engine.backends.emulator.state.events import NOBODY, ChunkInfo, Hooks
from engine.backends.emulator.state.memory import AddressSpace, Words, lay_out
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.records import Array, Progress, RunFailed, Status

LANES_PER_CHUNK = 1 << 17
_SHARED_BYTES_PER_CHUNK = 1 << 26
_STATIC_SHARED = 48 << 10  # bytes that a block may declare
_MOST_SHARED = 227 << 10  # bytes that a block may have altogether, on sm_90
_MOST_LOCAL = 512 << 10
_LOCAL_BYTES_PER_CHUNK = 1 << 28
Size = tuple[int, int, int]


@dataclass(frozen=True)
class Options:
    """How to execute: none of these may change an answer or a counter.

    `lanes`: lanes per chunk. `flat`: give every register a value per lane. `sums`: keep indices as outer sums.
    `step_limit`: basic blocks per chunk. `deadline`: seconds of `time.monotonic()`.
    """

    lanes: int | None = None
    flat: bool = False
    sums: bool = True
    step_limit: int = 1_000_000
    deadline: float | None = None


@dataclass
class Machine:
    """A launch. `arguments`: bytes by parameter name. `symbols`: addresses of module variables. `workspace`: where
    grid.sync() counts."""

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
    hooks: Hooks = NOBODY
    output: list[str] = field(default_factory=list)

    @cached_property
    def varying(self) -> frozenset[int]:
        """The registers that can differ between the threads of a block."""
        return varying(self.program)

    def __post_init__(self) -> None:
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.rows = -(-self.threads // WARP) * WARP
        self.blocks = self.grid[0] * self.grid[1] * self.grid[2]
        self.shared_places, self.shared_size = lay_out(self.program.shared, self.dynamic_shared)
        self.local_places, self.local_size = lay_out(self.program.local, 0)
        self.sites = 0
        self.steps_done = 0
        self.code: list[Code | None] = [None] * len(self.program.blocks)
        kinds = {bits: np.zeros((1, 1), UNSIGNED[bits]) for bits in set(self.program.widths)}
        self.zeros = [kinds[bits] for bits in self.program.widths]
        self.units = {space: _unit(self.program, space) for space in ("shared", "local")}

    # ---- running

    def run(self, progress: Progress | None = None) -> None:
        """Execute all blocks, chunk by chunk in the order of blocks. RunFailed when the launch cannot be finished."""
        self._refuse()
        with np.errstate(all="ignore"):
            for first, count in self._chunks():
                self._chunk(first, count)
                if progress is not None:
                    done = first + count
                    progress(done / self.blocks, f"{self.program.name}: {done} of {self.blocks} blocks")

    def close(self) -> None:
        """Forget all that refers back to this machine, so that its memory is free at once."""
        self.code, self.hooks = [], NOBODY
        self.__dict__.pop("chunk", None)

    def _refuse(self) -> None:
        """What no GPU runs is not emulated either."""
        static = self.shared_size - self.dynamic_shared
        if static > _STATIC_SHARED or self.shared_size > _MOST_SHARED:
            limit = _STATIC_SHARED if static > _STATIC_SHARED else _MOST_SHARED
            size = static if static > _STATIC_SHARED else self.shared_size
            clause = f"{self.program.name} uses {size:,} bytes of shared memory; a block can have {limit:,}"
            raise self.failure("crashed", clause, 0)
        if self.local_size > _MOST_LOCAL:
            clause = (
                f"{self.program.name} uses {self.local_size:,} bytes of local memory; a thread can have {_MOST_LOCAL:,}"
            )
            raise self.failure("crashed", clause, 0)

    def _chunks(self) -> list[tuple[int, int]]:
        """(first block, number of blocks). The last block of a row of blocks may be ragged: a chunk of its own."""
        if self.cooperative:
            return [(0, self.blocks)]
        lanes = self.options.lanes or _lanes_for(self.program)
        size = max(1, lanes // self.rows)
        size = min(size, max(1, _SHARED_BYTES_PER_CHUNK // max(1, self.shared_size)))
        size = min(size, max(1, _LOCAL_BYTES_PER_CHUNK // max(1, self.local_size * self.rows)))
        if self.schedule.kind == "waves" and self.schedule.blocks_per_wave:
            size = self.schedule.blocks_per_wave
            return [(first, min(size, self.blocks - first)) for first in range(0, self.blocks, size)]
        apart = self.blocks == self.grid[0] > 1  # of a grid with rows and columns a whole side may be ragged
        whole = self.blocks - apart
        chunks = [(first, min(size, whole - first)) for first in range(0, whole, size)]
        return [*chunks, (whole, 1)] if apart else chunks

    def _chunk(self, first: int, count: int) -> None:
        self.first, self.chunk_blocks = first, count
        self._specials: dict[str, Array] = {}
        self._words = {"shared": Words(self.shared_size, self.units["shared"], (count,))}
        if self.local_size:
            self._words["local"] = Words(self.local_size, self.units["local"], (self.rows, count))
        info = ChunkInfo(self.launch, first, count, self.rows, self.threads, self.shared_size)
        for hook in self.hooks.on_chunk:
            hook(info)
        chunk = self.chunk = Chunk(self, count)
        try:
            chunk.run()
            for ended in self.hooks.on_chunk_end:
                ended()
        finally:
            chunk.close()
            self._words = {}

    def late(self) -> bool:
        """True when the deadline has passed."""
        return self.options.deadline is not None and time.monotonic() > self.options.deadline

    # ---- what steps ask for

    def next_site(self) -> int:
        """A number for a memory instruction."""
        self.sites += 1
        return self.sites - 1

    def words(self, space: str) -> Words:
        """The shared or local memory of the running chunk."""
        found = self._words.get(space)
        return found if found is not None else Words(0, 4, (self.chunk_blocks,))

    def places(self, space: str) -> Mapping[str, int]:
        """Byte offsets of the shared or local variables."""
        return self.shared_places if space == "shared" else self.local_places

    def address_of(self, symbol: Symbol, line: int) -> int:
        """The address of a variable in its own space."""
        for table in (self.shared_places, self.local_places, self.symbols):
            if symbol.name in table:
                return table[symbol.name] + symbol.offset
        raise PtxError(f"the address of `{symbol.name}` is not emulated", line)

    def argument(self, name: str) -> bytes:
        """The bytes of a kernel argument."""
        return self.arguments[name]

    def special(self, name: str) -> Array:
        """A special register over the whole chunk, as small as what it depends on."""
        row = SPECIAL_REGISTERS[name]
        found = self._specials.get(name)
        if found is None:
            found = row.value(self._asked())
            if row.differs == "time":
                return found
            if self.options.flat:
                found = np.ascontiguousarray(np.broadcast_to(found, (self.rows, self.chunk_blocks)))
            self._specials[name] = found
        return found

    def _asked(self) -> Asked:
        threads = np.arange(self.rows, dtype=np.int64)[:, None]
        blocks = self.first + np.arange(self.chunk_blocks, dtype=np.int64)[None, :]
        return Asked(
            threads, blocks, self.block, self.grid, self.shared_size, self.dynamic_shared, self.workspace,
            self.steps_done,
        )  # fmt: skip

    # ---- failures

    def failure(self, status: Status, clause: str, line: int, finding: str | None = None) -> RunFailed:
        """A failed run: one sentence with the file and the line. `finding`: the kind of hazard that ended it."""
        where = f"{self.file_name}, line {line}" if line else self.file_name
        return RunFailed(status, f"{where}: {clause}.", line or None, finding)

    def lane_failure(
        self, status: Status, line: int, mask: Mask, row: int, column: int, what: str, finding: str | None = None
    ) -> RunFailed:
        """A failure of one lane, given by its place in the mask's rectangle."""
        lane = self.lane_name(int(mask.rows_at()[row]), int(mask.columns_at()[column]))
        return self.failure(status, f"{lane} {what}", line, finding)

    def lane_name(self, row: int, column: int) -> str:
        """ "thread 31 of block 0", or with coordinates where the launch has them."""
        return self.grid_lane_name(row + (self.first + column) * self.rows)

    def grid_lane_name(self, lane: int) -> str:
        """The same for a lane counted through the whole grid, with blocks padded to warps."""
        row, block = lane % self.rows, lane // self.rows
        return f"thread {_place(row, self.block)} of block {_place(block, self.grid)}"


def _place(linear: int, size: Size) -> str:
    x, y, z = linear % size[0], linear // size[0] % size[1], linear // (size[0] * size[1])
    if size[2] > 1:
        return f"({x}, {y}, {z})"
    return f"({x}, {y})" if size[1] > 1 else str(x)


def _unit(program: Program, space: str) -> int:
    """The word size of shared or local memory: that of most of its accesses."""
    sizes = [
        WIDTHS.get(item.words[-1], 32)
        for block in program.blocks
        for item in block.body
        if any(word.split("::")[0] == space for word in item.words)
    ]
    return 8 if sizes.count(64) > len(sizes) / 2 else 4


def _lanes_for(program: Program) -> int:
    """Lanes per chunk: fewer where most work is in double precision, whose registers would leave the cache."""
    items = [item.opcode for block in program.blocks for item in block.body]
    doubles = sum(opcode.endswith(".f64") for opcode in items)
    return LANES_PER_CHUNK >> 2 if doubles > 40 and doubles > len(items) / 3 else LANES_PER_CHUNK
