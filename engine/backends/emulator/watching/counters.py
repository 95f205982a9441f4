"""Counts what the warps did, per .cu line: an observer.

All counts but `thread_instructions` are of warps: instructions, requests, barriers, atomics, shuffles. Memory counters
follow the measured rules of `access`; instruction and branch counts are of PTX, which the GPU's compiler may shorten.

The registers' shapes make counting cheap: an address that is the same in all blocks is judged once; an outer sum is
judged once per distance of its columns from a sector's start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import OuterSum, plain
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.watching.gathered_atomics import gathered_sectors
from engine.backends.emulator.watching.passes import global_sectors_batch, shared_wavefronts_batch
from engine.counters import IN_JSON
from engine.records import Array

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

# What is counted beyond the contract's names, to be compared with a profiler.
DETAILS = (
    "shared_load_conflicts", "shared_store_conflicts", "shared_atomic_requests", "shared_atomic_wavefronts",
    "shared_atomic_conflicts", "global_atom_requests", "global_atom_sectors", "global_red_requests",
    "global_red_sectors", "local_requests",
)  # fmt: skip
NAMES = (*IN_JSON, *DETAILS)
_AT = {name: number for number, name in enumerate(NAMES)}
_MAXIMA = frozenset((_AT["atomic_max_contention"],))
_SECTOR = 32
_CACHED = 4096


class Counters:
    """Counts over all launches of a run."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], list[int]] = {}
        self._rows: dict[int, list[int]] = {}
        self._blocks: dict[int, list[Any]] = {}
        self._known: dict[Any, tuple[int, ...]] = {}
        self._pairs: dict[tuple[int, int], tuple[int, int, Mask | None, Mask | None]] = {}
        self._file = ""
        self._program: Program | None = None

    # ---- hooks

    def on_launch(self, machine: Machine) -> None:
        """Lines from now on belong to this launch's file."""
        self._settle()
        self._file, self._program, self._rows = machine.file_name, machine.program, {}

    def on_chunk(self, info: ChunkInfo) -> None:
        """Masks belong to a chunk."""
        self._pairs.clear()
        if len(self._known) > _CACHED:
            self._known.clear()

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """A basic block was issued by these warps and lanes; `_settle` gives them to the lines."""
        counts = self._blocks.get(block.index)
        if counts is None:
            counts = self._blocks[block.index] = [block, 0, 0]
        counts[1] += mask.warps
        counts[2] += mask.lanes

    def on_branch(self, block: BasicBlock, taken: Mask | None, other: Mask | None) -> None:
        """A conditional branch: divergent in the warps that went both ways."""
        warps, divergent = self._split_of(taken, other)
        row = self._line(block.line)
        row[_AT["branches"]] += warps
        row[_AT["divergent_branches"]] += divergent

    def on_barrier(self, line: int, mask: Mask, alive: Mask) -> None:
        """Warps arrive at a barrier."""
        self._line(line)[_AT["barriers"]] += mask.warps

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Shuffles; votes and the like count as instructions only."""
        if opcode.startswith("shfl"):
            self._line(line)[_AT["shuffles"]] += mask.warps

    def on_access(self, access: Access) -> None:
        """Requests, wavefronts and sectors of one memory instruction."""
        row, site, requests = self._line(access.site.line), access.site, access.mask.warps
        atomic = site.op in ("atom", "red")
        if access.space == "local":
            row[_AT["local_requests"]] += requests
            return
        kind = "atomic" if atomic else "load" if site.op == "ld" else "store"
        op = site.shared_rule if access.space == "shared" else site.op
        main, second, contention = self._judge(access, op)
        if atomic and access.space == "global":
            main = gathered_sectors(access, main)
        if atomic:
            row[_AT["atomics"]] += requests
            at = _AT["atomic_max_contention"]
            row[at] = max(row[at], contention)
        if access.space == "shared":
            row[_AT[f"shared_{kind}_requests"]] += requests
            row[_AT[f"shared_{kind}_wavefronts"]] += main
            row[_AT[f"shared_{kind}_conflicts"]] += second
        else:
            name = site.op if atomic else kind
            row[_AT[f"global_{name}_requests"]] += requests
            row[_AT[f"global_{name}_sectors"]] += main

    # ---- results

    def totals(self) -> dict[str, float]:
        """The contract's counters over all lines and launches."""
        return _named(_sum(self._all().values()), IN_JSON)

    def details(self) -> dict[str, float]:
        """All counters, those beyond the contract too."""
        return _named(_sum(self._all().values()), NAMES)

    def by_line(self, file_name: str) -> Iterator[tuple[int, dict[str, float]]]:
        """(line, counters) of one file, in the order of lines."""
        for (name, line), row in sorted(self._all().items()):
            if name == file_name and line:
                yield line, _named(row, IN_JSON)

    # ---- inside

    def _all(self) -> Mapping[tuple[str, int], list[int]]:
        self._settle()
        return self._lines

    def _line(self, line: int) -> list[int]:
        row = self._rows.get(line)
        if row is None:
            key = (self._file, line)
            row = self._rows[line] = self._lines.setdefault(key, [0] * len(NAMES))
        return row

    def _settle(self) -> None:
        """Give the issues of every basic block to the lines of its instructions."""
        warps_at, lanes_at = _AT["warp_instructions"], _AT["thread_instructions"]
        for block, warps, lanes in self._blocks.values():
            items = (*block.body, block.terminator) if block.terminator else block.body
            for item in items:
                if traits_of(item.opcode).issued:
                    row = self._line(item.line)
                    row[warps_at] += warps
                    row[lanes_at] += lanes
        self._blocks = {}

    def _split_of(self, taken: Mask | None, other: Mask | None) -> tuple[int, int]:
        if taken is None or other is None:
            only = taken or other
            return (only.warps if only else 0), 0
        key = (id(taken), id(other))
        found = self._pairs.get(key)
        if found is None:
            flat = taken.dense is None and other.dense is None
            if flat and taken.rows is other.rows:  # whole blocks went one way or the other
                issued, both = taken.warps + other.warps, 0
            else:
                alike = flat and taken.columns is other.columns  # all blocks went the same ways
                a, b = (mask.warp_bits if alike else _warps_of(mask) for mask in (taken, other))
                times = taken.width if alike else 1
                issued, both = int(np.count_nonzero(a | b)) * times, int(np.count_nonzero(a & b)) * times
            found = self._pairs[key] = (issued, both, taken, other)
        return found[0], found[1]

    def _judge(self, access: Access, op: str) -> tuple[int, int, int]:
        """(wavefronts, conflicts, contention) of a shared access; (sectors, 0, contention) of a global one."""
        mask, address = access.mask, access.address
        if mask.dense is None:
            rows, columns = _sides(address)
            if rows is not None:
                return self._by_class(access, op, rows, columns)
        whole = np.broadcast_to(plain(address), (mask.height, mask.width)).astype(np.int64)
        full = np.zeros((mask.rows.size, mask.width), np.int64)
        full[mask.rows] = whole
        active = np.broadcast_to(mask.row_lanes(), full.shape)
        return _count(_by_warp(full), _by_warp(active), access, op)

    def _by_class(self, access: Access, op: str, rows: Array, columns: Array | None) -> tuple[int, int, int]:
        """Blocks whose addresses differ by whole sectors count alike; in shared memory all blocks do."""
        mask, size = access.mask, access.site.size
        if columns is None:
            classes, counts = [0], [mask.width]
        else:
            found, times = np.unique(columns & (_SECTOR - 1), return_counts=True)
            classes, counts = found.tolist(), (times * (mask.width // columns.size)).tolist()
        main = second = most = 0
        shape = (access.space, access.site.op, op, size, mask.row_key, rows.tobytes())
        for start, count in zip(classes, counts, strict=True):
            key = (start, *shape)
            judged = self._known.get(key)
            if judged is None:
                full = np.zeros((mask.rows.size, 1), np.int64)
                full[mask.rows] = rows + start
                judged = self._known[key] = _count(_by_warp(full), _by_warp(mask.rows[:, None]), access, op)
            main += judged[0] * count
            second += judged[1] * count
            most = max(most, judged[2])
        return main, second, most


def _sides(address: Any) -> tuple[Array | None, Array | None]:
    """Addresses as rows + columns (None: one class of columns); (None, None) where they are neither."""
    if address.__class__ is OuterSum:
        rows, columns = address.rows.values, address.columns.values + address.constant
        return rows, columns
    if address.shape[0] > 1 and address.shape[1] > 1:
        return None, None
    address = address.view(np.int64) if address.dtype.itemsize == 8 else address.astype(np.int64)
    return (address, None) if address.shape[1] == 1 else (np.zeros((1, 1), np.int64), address)


def _by_warp(value: Array) -> Array:
    """(T, columns) -> (32, warps * columns): one column per warp request."""
    warps = value.reshape(-1, WARP, value.shape[1])
    return warps.transpose(1, 0, 2).reshape(WARP, -1)


def _count(address: Array, active: Array, access: Access, op: str) -> tuple[int, int, int]:
    some = active.any(axis=0)
    if not some.all():
        address, active = address[:, some], active[:, some]
    contention = _most_alike(address, active) if access.site.op in ("atom", "red") else 0
    if access.space == "shared":
        wavefronts, conflicts = shared_wavefronts_batch(address, active, access.site.size, op)
        return int(wavefronts.sum()), int(conflicts.sum()), contention
    return int(global_sectors_batch(address, active, access.site.size, op).sum()), 0, contention


def _most_alike(address: Array, active: Array) -> int:
    """The most active lanes of one warp that meet one address."""
    apart = -1 - np.arange(WARP, dtype=np.int64)[:, None]  # idle lanes: addresses of nobody else
    ranked = np.sort(np.where(active, address, apart), axis=0)
    run = np.ones(ranked.shape[1], np.int64)
    most = int(active.any())
    for lane in range(1, WARP):
        run = np.where(ranked[lane] == ranked[lane - 1], run + 1, 1)
        most = max(most, int(run.max(initial=0)))
    return most


def _warps_of(mask: Mask) -> Array:
    """bool[T / 32, B]: the warps with an active lane."""
    return mask.warp_bits if mask.dense is not None else mask.warp_bits & mask.columns


def _sum(rows: Any) -> list[int]:
    total = [0] * len(NAMES)
    for row in rows:
        for at, value in enumerate(row):
            total[at] = max(total[at], value) if at in _MAXIMA else total[at] + value
    return total


def _named(row: list[int], names: tuple[str, ...]) -> dict[str, float]:
    made: dict[str, float] = {name: row[_AT[name]] for name in names}
    issued = row[_AT["warp_instructions"]]
    # Passes beyond those that any access of its size needs; the contract's totals cannot tell for 8 and 16 bytes.
    made["bank_conflicts"] = row[_AT["shared_load_conflicts"]] + row[_AT["shared_store_conflicts"]]
    made["active_lanes_per_instruction"] = row[_AT["thread_instructions"]] / issued if issued else 0.0
    return made
