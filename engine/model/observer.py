"""The observer of a run's costs: what each launch asks of the GPU, in counts that a formula turns into a time.

It counts requests as the ordinary counters do, and besides the sectors that reach DRAM and the L2 cache, the distinct
128-byte lines of a request, the atomics at one address, and the longest path of a block. Cache hits are found in a few
blocks of the launch, whose requests are followed one by one; sectors that reach DRAM are found exactly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, polls
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import OuterSum, plain
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import RANGE_BITS, DeviceArray
from engine.backends.emulator.watching.counters import BarrierArrivals, LineCounter, WarpSynchronisations
from engine.backends.emulator.watching.memory_counters import MemoryRequests
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.wavefronts import SECTOR
from engine.model.costs import LaunchCosts, LineCosts
from engine.model.critical_path import Scoreboard, kind_of, longest
from engine.records import Array

_LINE_SHIFT, _SECTOR_SHIFT, _WORD_SHIFT = 7, 5, 2
_REGION_WORDS = 64  # of 4 bytes: the addresses whose atomics take turns, as measured on the H200
_MOST_FOLLOWED = 4096  # requests of a launch that are followed in the chosen blocks
_PAST_L1 = frozenset(("volatile", "relaxed", "acquire", "cg", "cv"))


class CostObserver(Observer):
    """Collects a LaunchCosts for each launch, in the order of launches: `costs()`."""

    def __init__(self) -> None:
        self._made: list[LaunchCosts] = []
        self._touched: dict[int, Array] = {}  # of each array: its sectors that an earlier access has moved
        self._launch: _Launch | None = None

    def on_launch(self, machine: Machine) -> None:
        """Finish the launch before."""
        self._finish()
        self._launch = _Launch(machine, self._touched)

    def _finish(self) -> None:
        if self._launch is not None:
            self._made.append(self._launch.costs())
            self._launch = None

    def costs(self) -> tuple[LaunchCosts, ...]:
        """Return the costs of all launches so far."""
        self._finish()
        return tuple(self._made)

    def on_chunk(self, info: ChunkInfo) -> None:
        """Choose the blocks to follow."""
        assert self._launch is not None
        self._launch.chunk(info)

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Count the instructions of a basic block."""
        assert self._launch is not None
        self._launch.basic_block(block, mask)

    def on_access(self, access: Access) -> None:
        """Count a request."""
        assert self._launch is not None
        self._launch.access(access)

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Count a shuffle."""
        assert self._launch is not None
        self._launch.syncs.on_warp_sync(line, opcode, mask, members)

    def on_barrier(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Count a barrier."""
        assert self._launch is not None
        self._launch.barriers.on_barrier(block, mask, alive)


class _Launch:
    """The counts of one launch."""

    def __init__(self, machine: Machine, touched: dict[int, Array]) -> None:
        self.machine, self._touched = machine, touched
        self.memory, self.syncs, self.barriers = MemoryRequests(), WarpSynchronisations(), BarrierArrivals()
        for one in (self.memory, self.syncs, self.barriers):
            one.on_launch(machine)
        self.warps: dict[int, int] = {}  # executions of each basic block by a warp
        self._new: Counter[tuple[int, str]] = Counter()  # (line, op) -> sectors that nothing has moved before
        self._followed: dict[int, int] = {}  # column of the chunk -> number of the followed block
        self._seen: dict[int, set[int]] = {}  # of each followed block: the sectors that are in its L1 cache
        self._traces: dict[int, list[list[int]]] = {}  # of each followed block, by warp: its basic blocks
        # (line, op) -> requests, lines, sectors, sectors past L1, bytes; of the followed blocks
        self._sample: dict[tuple[int, str], list[int]] = {}
        self._requests = 0
        self._decides = False  # a branch depends on a value that other threads may change meanwhile
        self._printed = len(machine.output)  # by launches before this one
        self._last: dict[int, Array] = {}  # of each array: room for _count_distinct
        self._atomics: dict[int, Array] = {}  # of each array: operations at each of its words
        self._float_atomics = self._swap_sectors = self._all_atomics = 0
        self._bits: dict[int, tuple[Mask, dict[int, list[int]]]] = {}

    def chunk(self, info: ChunkInfo) -> None:
        self._bits.clear()
        self.memory.on_chunk(info)
        columns = {0, info.blocks // 2} if info.first == 0 else set()
        if info.first + info.blocks == self.machine.blocks:
            columns.add(info.blocks - 1)
        self._followed = {column: info.first + column for column in sorted(columns)}
        for number in self._followed.values():
            self._seen.setdefault(number, set())
            self._traces.setdefault(number, [[] for _ in range(self.machine.rows // WARP)])

    def basic_block(self, block: BasicBlock, mask: Mask) -> None:
        self.warps[block.index] = self.warps.get(block.index, 0) + mask.warps
        if not self._followed:
            return
        found = self._bits.get(id(mask))
        if found is None:
            found = self._bits[id(mask)] = (mask, self._warps_of(mask))
        for number, warps in found[1].items():
            traces = self._traces[number]
            for warp in warps:
                traces[warp].append(block.index)

    def _warps_of(self, mask: Mask) -> dict[int, list[int]]:
        """Return the warps of each followed block with a lane in the mask."""
        bits = mask.warp_bits
        return {
            number: np.flatnonzero(bits[:, column if mask.dense is not None else 0]).tolist()
            for column, number in self._followed.items()
            if mask.columns[column]
        }

    def access(self, access: Access) -> None:
        self._decides |= access.site.decides_branch
        if access.space == "global" and access.site.op in ("atom", "red"):
            self._count_atomics(access)
        else:
            self.memory.on_access(access)
        words = access.site.words
        if access.space != "global" or "const" in words or "param" in words:
            return
        if access.site.op not in ("atom", "red"):
            self._touch(access)
        if self._followed and self._requests < _MOST_FOLLOWED:
            self._follow(access)

    # ---- sectors that reach DRAM

    def _touch(self, access: Access) -> None:
        new = 0
        for array, offsets in self._sectors_of(access):
            marks = self._touched.get(array.base)
            if marks is None:
                marks = self._touched[array.base] = np.zeros((array.data.size >> _SECTOR_SHIFT) + 2, bool)
            fresh = offsets[~marks[offsets]]
            if fresh.size:
                marks[fresh] = True
                new += _count_distinct(fresh, self._room(array.base, marks.size))
        self._new[access.site.line, access.site.op] += new

    def _room(self, base: int, size: int) -> Array:
        found = self._last.get(base)
        if found is None:
            found = self._last[base] = np.empty(size, np.int32)
        return found

    def _sectors_of(self, access: Access) -> Iterator[tuple[DeviceArray, Array]]:
        """Yield the arrays of an access, and in each the sectors, with repetitions."""
        address, mask, array = access.address, access.mask, access.array
        if array is not None and address.__class__ is OuterSum and mask.dense is None:
            rows, columns = address.rows.values - array.base, address.columns.values + address.constant
            start = int(columns.flat[0]) & (SECTOR - 1)
            if not ((columns - start) & (SECTOR - 1)).any():
                ahead = np.unique((rows + start) >> _SECTOR_SHIFT)[:, None]
                yield array, (ahead + ((columns - start) >> _SECTOR_SHIFT)).ravel()
                return
        values = plain(address).astype(np.int64)
        if mask.dense is not None:
            values = np.broadcast_to(values, (mask.height, mask.width))[mask.dense]
        for one, offsets in self._by_array(values.ravel(), array):
            yield one, offsets >> _SECTOR_SHIFT

    def _by_array(self, addresses: Array, array: DeviceArray | None) -> Iterator[tuple[DeviceArray, Array]]:
        """Yield each array with the byte offsets of the addresses in it. `array`: the one that has them all, if any."""
        if array is not None:
            yield array, addresses - array.base
            return
        ranges = addresses >> RANGE_BITS
        for number in np.unique(ranges).tolist():
            found = self.machine.space.at(number << RANGE_BITS)
            if found is not None:
                yield found, addresses[ranges == number] - found.base

    # ---- atomics

    def _count_atomics(self, access: Access) -> None:
        """Count an atomic, and the turns that it takes at its addresses: a sector as often as its busiest address."""
        address, mask, site = access.address, access.mask, access.site
        row, at = self.memory.row(site.line), self.memory.at[f"global_{site.op}_sectors"]
        before = row[at]
        self.memory.on_access(access)
        served, lanes = row[at] - before, mask.lanes
        values = np.broadcast_to(plain(address).astype(np.int64), (mask.height, mask.width))
        flat = values.ravel() if mask.dense is None else values[mask.dense]
        for array, offsets in self._by_array(flat, access.array):
            counts = self._atomics.get(array.base)
            if counts is None:
                counts = self._atomics[array.base] = np.zeros((array.data.size >> _WORD_SHIFT) + 4)
            counts += np.bincount(offsets >> _WORD_SHIFT, minlength=counts.size) * (served / lanes)
        self._all_atomics += served
        if "cas" in site.words:
            self._swap_sectors += served
        if site.opcode.rpartition(".")[2].startswith(("f", "bf")):  # f32, f64, f16x2, bf16x2
            self._float_atomics += served

    # ---- the followed blocks

    def _follow(self, access: Access) -> None:
        """Count the lines and sectors of the requests of the followed blocks, and their sectors that L1 lacks."""
        mask, address = access.mask, access.address
        at = None
        for column, number in self._followed.items():
            if not mask.columns[column]:
                continue
            if at is None:
                at = {int(each): place for place, each in enumerate(mask.columns_at())}
            place = at[column]
            if address.__class__ is OuterSum:
                over = address.columns.values
                values = address.rows.values[:, 0] + int(over[0, place if over.size > 1 else 0]) + address.constant
            else:
                values = address[:, place if address.shape[1] > 1 else 0].astype(np.int64)
            full = np.full(mask.rows.size, -1, np.int64)
            full[mask.rows] = values
            if mask.dense is not None:
                full[~mask.row_lanes()[:, place]] = -1
            self._count_followed(access, number, full.reshape(-1, WARP))

    def _count_followed(self, access: Access, number: int, lanes: Array) -> None:
        lanes = lanes[(lanes >= 0).any(axis=1)]
        if not lanes.size:
            return
        self._requests += 1
        site = access.site
        row = self._sample.setdefault((site.line, site.op), [0, 0, 0, 0, 0])
        sectors = lanes >> _SECTOR_SHIFT
        touched = _distinct(sectors)
        row[0] += lanes.shape[0]
        row[1] += _distinct(lanes >> _LINE_SHIFT)
        row[2] += touched
        row[4] += int((lanes >= 0).sum()) * site.size
        if site.op != "ld" or site.words & _PAST_L1:
            row[3] += touched
            return
        seen = self._seen[number]
        asked = set(sectors[sectors >= 0].tolist())
        row[3] += len(asked - seen)
        seen |= asked

    # ---- the result

    def costs(self) -> LaunchCosts:
        machine, program = self.machine, self.machine.program
        issued: Counter[str] = Counter()
        by_line: dict[int, Counter[str]] = {}
        for block in program.blocks:
            count = self.warps.get(block.index, 0)
            if not count:
                continue
            for item in block.issued:
                kind = kind_of(item)
                issued[kind] += count
                by_line.setdefault(item.line, Counter())[kind] += count
        memory = self.memory.totals()
        lines = self._lines(by_line)
        counted = {line.line: line.memory for line in lines}
        board = Scoreboard(program)
        paths = [longest(board, traces) for traces in self._traces.values()]
        slowest = max(paths, key=board.cycles, default=())
        path: dict[str, float] = defaultdict(float)
        for name, count in zip(board.kinds, slowest, strict=False):
            if isinstance(name, str):
                path[name] += count
            elif count and name[0] == "shared":
                row = counted.get(name[1], {})
                path["shared"] += count
                path["shared_passes"] += count * _ratio(row, "shared_load_wavefronts", "shared_load_requests")
            elif count:
                row, far = counted.get(name[1], {}), self._share_past_l1(name[1])
                sectors = row.get("l2_load_sectors", 0.0)
                new = min(1.0, self._new[name[1], "ld"] / sectors) if sectors else 0.0
                path["dram_load"] += count * far * new
                path["far_load"] += count * far * (1 - new)
                path["near_load"] += count * (1 - far)
                path["load_lines"] += count * _ratio(row, "load_lines", "global_load_requests")
        words = [array for array in self._atomics.values() if array.size]
        regions = [np.add.reduceat(array, np.arange(0, array.size, _REGION_WORDS)) for array in words]
        moved = {name: sum(line.memory.get(name, 0.0) for line in lines) for name in _MOVED}
        return LaunchCosts(
            kernel=program.name,
            blocks=machine.blocks,
            threads=machine.threads,
            shared_bytes=machine.shared_size,
            issued=dict(issued),
            memory={
                **{name: memory[name] for name in _TOTALS},
                **moved,
                "new_load_sectors": sum(count for (_, op), count in self._new.items() if op == "ld"),
                "new_store_sectors": sum(count for (_, op), count in self._new.items() if op != "ld"),
                "shuffles": self.syncs.totals()["shuffles"],
                "barriers": self.barriers.totals()["barriers"],
                "atomic_operations": self._all_atomics,
                "float_atomics": self._float_atomics,
                "swap_sectors": self._swap_sectors,
                "most_in_one_region": max((round(float(array.max())) for array in regions), default=0),
            },
            path={name: float(count) for name, count in path.items() if count > 0},
            in_flight=board.most_in_flight,
            prints=len(machine.output) > self._printed,
            spins=self._decides and any(self.warps.get(each.index) and polls(program, each) for each in program.blocks),
            lines=lines,
        )

    def _share_past_l1(self, line: int) -> float:
        row = self._sample.get((line, "ld"))
        return 1.0 if row is None or not row[2] else row[3] / row[2]

    def _lines(self, by_line: dict[int, Counter[str]]) -> tuple[LineCosts, ...]:
        counted: dict[int, dict[str, float]] = {}
        for one in (self.memory, self.syncs, self.barriers):
            observer: LineCounter = one
            for line, row in observer.by_line(self.machine.file_name).items():
                counted.setdefault(line, {}).update(row)
        made = []
        for line in sorted({*by_line, *counted}):
            row = counted.get(line, {})
            loads, stores = self._sample.get((line, "ld")), self._sample.get((line, "st"))
            moved: dict[str, float] = {}
            if loads and loads[0]:
                sectors = row.get("global_load_sectors", 0)
                moved["load_lines"] = row.get("global_load_requests", 0) * loads[1] / loads[0]
                moved["l2_load_sectors"] = sectors * (loads[3] / loads[2] if loads[2] else 1.0)
                moved["load_bytes"] = row.get("global_load_requests", 0) * loads[4] / loads[0]
            if stores and stores[0]:
                moved["store_lines"] = row.get("global_store_requests", 0) * stores[1] / stores[0]
                moved["store_bytes"] = row.get("global_store_requests", 0) * stores[4] / stores[0]
            kept = {name: row[name] for name in _TOTALS if row.get(name)}
            made.append(LineCosts(line, dict(by_line.get(line, {})), {**kept, **moved}))
        return tuple(made)


_MOVED = ("load_lines", "l2_load_sectors", "load_bytes", "store_lines", "store_bytes")
_TOTALS = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "global_atom_requests", "global_atom_sectors", "global_red_requests", "global_red_sectors",
    "shared_load_requests", "shared_load_wavefronts", "shared_store_requests", "shared_store_wavefronts",
    "shared_atomic_requests", "shared_atomic_wavefronts", "shared_load_conflicts", "shared_store_conflicts",
    "shared_atomic_conflicts", "local_requests", "constant_passes", "atomic_max_contention",
)  # fmt: skip


def _ratio(row: Mapping[str, float], part: str, whole: str) -> float:
    return row.get(part, 0.0) / row[whole] if row.get(whole) else 1.0


def _count_distinct(numbers: Array, last: Array) -> int:
    """Return how many different numbers there are; `last`: room for one number each. Faster than a sort or a hash."""
    places = np.arange(numbers.size, dtype=np.int32)
    last[numbers] = places  # of equal numbers one place stays
    return int(np.count_nonzero(last[numbers] == places))


def _distinct(values: Array) -> int:
    """Count the distinct numbers of each row, without negative ones, and return their sum."""
    ranked = np.sort(values, axis=1)
    new: Any = (ranked[:, 1:] != ranked[:, :-1]) & (ranked[:, 1:] >= 0)
    return int(new.sum()) + int((ranked[:, 0] >= 0).sum())
