"""Record one block for a debugger: its moments, the values of chosen registers, and its accesses to memory.

A moment is a run of instructions of one .cu line in one basic block, by the threads that execute it together. Moments
are numbered from 0 in the order of execution, which is the same in every run. Recording begins with the chunk of the
block and ends with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.syntax import Instruction, Vector
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import UNSIGNED, Value, plain
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.one_block import BlockObserver, TraceDone, shared_arrays
from engine.backends.emulator.watching.trace import lane_sets
from engine.compile.names import readable
from engine.records import Array

MOST_BYTES = 256 << 20
MOST_CONTENTS = 32 << 20  # bytes of arrays in global memory that are kept as the block begins
SPACES = ("global", "shared", "local")


@dataclass(frozen=True)
class RecordedArray:
    """An array in memory. `start`: its address, in shared memory an offset; `size`, `element`: in bytes. `data`: its
    bytes as the chunk of the block began; None: they were undefined."""

    name: str
    space: str
    start: int
    size: int
    element: int
    data: Array | None


@dataclass(frozen=True)
class Accesses:
    """The accesses to memory in their order, an entry each: the block's own, and the writes of the blocks beside it.

    `moment`: when; `block`, `thread`: whose, `thread` in its block; `writes`: whether it wrote; `space`: index in
    SPACES; `address`; `size` in bytes; `bits`: the new contents; `line`; `code`: index in `codes`, PTX types of values.
    """

    moment: Array
    block: Array
    thread: Array
    writes: Array
    space: Array
    address: Array
    size: Array
    bits: Array
    line: Array
    code: Array
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Values:
    """The contents of a register: `bits[i]` (one per thread) from after moment `moments[i]` on."""

    moments: Array
    bits: Array


@dataclass(frozen=True)
class Recording:
    """One block of one launch. `lines`, `places`: of each moment, the first PTX line (0: the PTX has none); `lanes`:
    its threads, uint32[M, W]; `barriers`: whether its threads arrive at a barrier. `ended`: why the recording stops
    before the block ends."""

    block: int
    blocks: int
    threads: int
    shape: tuple[int, int, int]
    grid: tuple[int, int, int]
    lines: Array
    places: Array
    lanes: Array
    barriers: Array
    registers: Mapping[str, Values]
    accesses: Accesses
    arrays: tuple[RecordedArray, ...]
    ended: str | None = None

    @property
    def moments(self) -> int:
        """Return the number of moments."""
        return len(self.lines)


@dataclass
class _Growing:
    """Columns that grow: parts of arrays, joined at the end."""

    parts: defaultdict[str, list[Array]] = field(default_factory=lambda: defaultdict(list))

    def add(self, **columns: Array) -> int:
        """Add parts of equal length; return their bytes."""
        for name, part in columns.items():
            self.parts[name].append(part)
        return sum(part.nbytes for part in columns.values())

    def joined(self, name: str, kind: type[np.generic]) -> Array:
        """Return a whole column."""
        return np.concatenate(self.parts[name]) if self.parts[name] else np.zeros(0, kind)


class Recorder(BlockObserver):
    """Records block `block` of launch number `launch` (from 0); raises TraceDone at the end of its chunk.

    `results`: the place of an instruction -> its results to record, by the register's number among its results.
    `most_bytes`: when so much is recorded, the recording ends with a sentence.
    """

    def __init__(
        self, block: int, results: Mapping[int, Mapping[int, str]], launch: int = 0, most_bytes: int = MOST_BYTES
    ) -> None:
        super().__init__(block, launch)
        self._results, self._most = results, most_bytes
        self.ended: str | None = None
        self._bytes = 0
        self._lines: list[int] = []
        self._places: list[int] = []
        self._lanes: list[Array] = []
        self._barriers: list[int] = []
        self._registers: dict[str, tuple[list[int], list[Array]]] = {}
        self._accesses = _Growing()
        self._codes: dict[str, int] = {}
        self._runs: dict[int, _Runs] = {}
        self._at: dict[int, int] = {}
        self._memory: list[tuple[str, int, int]] = []
        self._base = 0
        self._atomics: list[Callable[[], None]] = []
        self._arrays: tuple[RecordedArray, ...] = ()

    # ---- events

    def on_chunk(self, info: ChunkInfo) -> None:
        """Begin in the chunk of the block."""
        super().on_chunk(info)
        self._info = info
        if self._column >= 0:
            self._arrays = tuple(_arrays(self._machine))

    def on_chunk_end(self) -> None:
        """Stop the run after the block's chunk."""
        if self._column >= 0:
            self._after_atomics()
            raise TraceDone

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Add the moments of the block's lines."""
        if self._column < 0:
            return
        self._after_atomics()
        rows = self._rows(mask)
        if rows is None:
            return
        if self._bytes > self._most:
            self.ended = (
                f"The recording ends here: it holds {self._most >> 20} MB. Choose a smaller N, or a block that ends "
                "earlier."
            )
            raise TraceDone
        found = self._runs.get(block.index)
        if found is None:
            found = self._runs[block.index] = _runs_of(block)
        starts, self._at, self._memory = found
        self._base = len(self._lines)
        packed = np.array(lane_sets(rows), np.uint32)
        for line, place in starts:
            self._lines.append(line)
            self._places.append(place)
            self._lanes.append(packed)
        self._bytes += (packed.nbytes + 16) * len(starts)
        self._memory = list(self._memory)

    def on_result(self, item: Instruction, mask: Mask, before: list[Value], registers: list[Value]) -> None:
        """Keep the values of a result, if it is one of `results`."""
        wanted = self._results.get(item.place)
        if wanted is None or self._column < 0 or not item.operands:
            return
        rows = self._rows(mask)
        if rows is None:
            return
        target = item.operands[0]
        targets = target.items if isinstance(target, Vector) else (target,)
        moment = self._base + self._at.get(id(item), 0)
        for number, name in wanted.items():
            index = getattr(targets[number], "index", None) if number < len(targets) else None
            if index is not None:
                self._keep(name, moment, rows, self._threads(registers[index], mask))

    def on_access(self, access: Access) -> None:
        """Keep an access to memory."""
        site = access.site
        if self._column < 0:
            return
        own = bool(access.mask.columns[self._column]) and self._rows(access.mask) is not None
        if not own and (access.space != "global" or site.op == "ld"):
            return
        moment = self._moment_of(access) if own else max(len(self._lines) - 1, 0)
        if site.op in ("atom", "red"):
            self._atomics.append(lambda: self._add(access, moment, None))
        else:
            self._add(access, moment, access.values)

    def on_barrier(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Note that the last moment is an arrival at a barrier."""
        if self._column >= 0 and self._lines and self._rows(mask) is not None:
            self._barriers.append(len(self._lines) - 1)

    # ---- the result

    def recording(self, shape: tuple[int, int, int], grid: tuple[int, int, int], failed: str | None) -> Recording:
        """Return what was recorded. `failed`: why the run itself ended, if it failed."""
        joined = self._accesses.joined
        accesses = Accesses(
            joined("moment", np.int32), joined("block", np.int32), joined("thread", np.int32),
            joined("writes", np.bool_),
            joined("space", np.uint8), joined("address", np.int64), joined("size", np.uint8),
            joined("bits", np.uint64), joined("line", np.int32), joined("code", np.uint8), tuple(self._codes),
        )  # fmt: skip
        barriers = np.zeros(len(self._lines), bool)
        barriers[self._barriers] = True
        width = -(-shape[0] * shape[1] * shape[2] // WARP)
        return Recording(
            self.block,
            grid[0] * grid[1] * grid[2],
            shape[0] * shape[1] * shape[2],
            shape,
            grid,
            np.array(self._lines, np.int32),
            np.array(self._places, np.int32),
            np.array(self._lanes, np.uint32).reshape(-1, width),
            barriers,
            {name: Values(np.array(moments, np.int32), np.array(bits)) for name, (moments, bits) in
             self._registers.items()},
            accesses,
            self._arrays,
            self.ended or failed,
        )  # fmt: skip

    # ---- helpers

    def _keep(self, name: str, moment: int, rows: Array, values: Array) -> None:
        moments, bits = self._registers.setdefault(name, ([], []))
        new = values if values.dtype == bool else values.view(UNSIGNED[8 * values.dtype.itemsize])
        if bits:
            new = np.where(rows, new, bits[-1])
        if moments and moments[-1] == moment:
            bits[-1] = new
            return
        moments.append(moment)
        bits.append(new)
        self._bytes += new.nbytes + 4

    def _moment_of(self, access: Access) -> int:
        """Return the moment of a memory instruction: the next one in its basic block with its opcode and line."""
        site = access.site
        for number, (opcode, line, run) in enumerate(self._memory):
            if opcode == site.opcode and line == site.line:
                del self._memory[: number + 1]
                return self._base + run
        return max(len(self._lines) - 1, 0)

    def _add(self, access: Access, moment: int, values: Sequence[Array] | None) -> None:
        """Add the lanes' accesses; None: the words are read from memory, as an atomic has left them."""
        site, mask = access.site, access.mask
        active = np.broadcast_to(mask.dense if mask.dense is not None else True, (mask.height, mask.width))
        rows, columns = np.flatnonzero(mask.rows), np.flatnonzero(mask.columns)
        if access.space != "global" or site.op == "ld":
            active = active & (columns == self._column)
        row, column = np.nonzero(active)
        if not row.size:
            return
        address = np.broadcast_to(plain(access.address), (mask.height, mask.width))[row, column].astype(np.int64)
        thread, block = rows[row].astype(np.int32), columns[column].astype(np.int32)
        code = self._codes.setdefault(site.opcode.rpartition(".")[2], len(self._codes))
        space = SPACES.index(access.space)
        for part in range(site.count):
            at = address + part * site.part
            if values is None:
                bits = self._contents(access.space, at, site.part, block)
            elif not values:
                bits = np.zeros(at.size, np.uint64)
            else:
                made = np.broadcast_to(plain(values[part]), (mask.height, mask.width))[row, column]
                bits = made.view(UNSIGNED[8 * made.dtype.itemsize]).astype(np.uint64)
            full = _column(len(at))
            self._bytes += self._accesses.add(
                moment=full(moment, np.int32), block=block + np.int32(self._info.first), thread=thread,
                writes=full(site.op != "ld", np.bool_), space=full(space, np.uint8), address=at,
                size=full(site.part, np.uint8), bits=bits,
                line=full(site.line, np.int32), code=full(code, np.uint8),
            )  # fmt: skip

    def _contents(self, space: str, address: Array, size: int, block: Array) -> Array:
        """Return the words at these addresses."""
        if space == "shared":
            return _as_bits(self._machine.words("shared").load(address, size, (block,)))
        found = np.zeros(address.size, np.uint64)
        for number, each in enumerate(address.tolist()):
            array = self._machine.space.at(each)
            if array is not None:
                start = each - array.base
                found[number] = int.from_bytes(array.data[start : start + size].tobytes(), "little")
        return found

    def _after_atomics(self) -> None:
        """Add the atomics that have taken effect by now."""
        waiting, self._atomics = self._atomics, []
        for add in waiting:
            add()


class LastWriter(Observer):
    """Finds who writes one element of an array in global memory last: `block`, in launch number `launch` (from 0).

    `name`: of the array; `index`: of the element. Before any write both are None.
    """

    def __init__(self, name: str, index: int) -> None:
        self._name, self._index = name, index
        self.block: int | None = None
        self.launch: int | None = None
        self._low = self._high = 0

    def on_launch(self, machine: Machine) -> None:
        """Find the element's address."""
        array = next((one for one in machine.space.arrays() if readable(one.name) == self._name), None)
        size = machine.element_bytes_of(array) if array is not None else 0
        inside = array is not None and 0 <= self._index < array.size // max(size, 1)
        self._low = array.base + self._index * size if array is not None and inside else 0
        self._high = self._low + size if inside else 0

    def on_chunk(self, info: ChunkInfo) -> None:
        """Keep the blocks of the chunk."""
        self._info = info

    def on_access(self, access: Access) -> None:
        """Note a write to the element."""
        if access.site.op == "ld" or access.space != "global" or not self._high:
            return
        mask = access.mask
        address = np.broadcast_to(plain(access.address), (mask.height, mask.width)).astype(np.int64)
        there = (address < self._high) & (address + access.site.size > self._low)
        if mask.dense is not None:
            there &= mask.dense
        columns = np.flatnonzero(there.any(axis=0))
        if columns.size:
            self.block = self._info.first + int(np.flatnonzero(mask.columns)[columns[-1]])
            self.launch = self._info.launch


def _column(count: int) -> Callable[[int, type[np.generic]], Array]:
    """Return a function that makes a column of one value."""
    return lambda value, kind: np.full(count, value, kind)


def _as_bits(words: Array) -> Array:
    return words.view(UNSIGNED[8 * words.dtype.itemsize]).astype(np.uint64)


_Runs = tuple[list[tuple[int, int]], dict[int, int], list[tuple[str, int, int]]]


def _runs_of(block: BasicBlock) -> _Runs:
    """Return (line, first place) of each run of one line, the run of each instruction by its identity, and the
    instructions in their order as (opcode, line, run). Line 0 belongs to the run before."""
    starts: list[tuple[int, int]] = []
    at: dict[int, int] = {}
    order = []
    for item in block.issued:
        if item.line and (not starts or item.line != starts[-1][0]):
            starts.append((item.line, item.place))
        elif starts and not starts[-1][1]:
            starts[-1] = starts[-1][0], item.place
        run = max(len(starts) - 1, 0)
        at[id(item)] = run
        order.append((item.opcode, item.line, run))
    return starts, at, order


def _arrays(machine: Machine) -> list[RecordedArray]:
    """Return the arrays that the block can access, with the contents of global memory."""
    found = []
    left = MOST_CONTENTS
    for one in machine.space.arrays():
        left -= one.size
        data = one.data.copy() if left >= 0 else None
        found.append(
            RecordedArray(readable(one.name), "global", one.base, one.size, machine.element_bytes_of(one), data)
        )
    for name, at, size in shared_arrays(machine):
        element = machine.element_bytes(name) or machine.units["shared"]
        found.append(RecordedArray(readable(name), "shared", at, size, element, None))
    for name, at in machine.places("local").items():
        found.append(RecordedArray(name, "local", at, machine.local_size - at, 1, None))
    return found
