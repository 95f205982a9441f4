"""Count the memory requests of warps per .cu line, and the wavefronts and sectors they cost.

The counts follow the measured rules of `wavefronts`. The shapes of registers make counting cheap: an address that is
the same in all blocks is evaluated once; an outer sum is evaluated once per offset of its columns within a sector.

PTX does not show what the assembler makes of atomics: warps that aggregate, and loops around a compare-and-swap. The
rules were read from its output for sm_90, and agree with Nsight Compute.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, MachineRequest
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import OuterSum, plain
from engine.backends.emulator.state.events import Access, ChunkInfo, LoadPattern, Loads
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.counters import LineCounter, counts
from engine.backends.emulator.watching.unrolled_loops import UnrolledLoops
from engine.backends.emulator.watching.wavefronts import (
    SECTOR,
    WORD,
    by_warp,
    global_sectors_batch,
    shared_wavefronts_batch,
    spinning_wavefronts,
)
from engine.records import Array


def aggregated(access: Access, cost: int) -> int:
    """Return the sectors or wavefronts of an atomic, which cost so much lane by lane: one per warp if one lane acts for
    all."""
    if access.site.aggregates == "always":
        return access.mask.warps
    if access.site.aggregates == "never":
        return cost
    lanes = _lanes_per_warp(access.mask)
    alike: int = access.mask.width // lanes.shape[1]  # equal blocks per column
    return int(np.where(lanes == WARP, 1, lanes).sum()) * alike


def _whole_warps(mask: Mask) -> int:
    lanes = _lanes_per_warp(mask)
    alike: int = mask.width // lanes.shape[1]
    return int((lanes == WARP).sum()) * alike


def _lanes_per_warp(mask: Mask) -> Array:
    """Return the active lanes of each warp, (warps, columns)."""
    lanes = mask.row_lanes()
    made: Array = np.count_nonzero(lanes.reshape(-1, WARP, lanes.shape[1]), axis=1)
    return made


_CACHED = 1 << 15
_MOST_PATTERNS = 1 << 10
_NEVER: list[tuple[int, int]] = []  # an access that was not seen before
_SPINNING = ("shared_load_requests", "shared_load_wavefronts", "shared_atomic_requests", "shared_atomic_wavefronts")
_BEYOND, _FAR = 1 << 20, 1 << 50  # more bytes than shared memory has, and than two arrays are apart


@counts
class MemoryRequests(LineCounter):
    """Requests of warps by kind, with their sectors, or their wavefronts and conflicts (wavefronts beyond the minimum).

    The counters of atomics by kind and of local memory serve comparisons with a profiler.
    """

    names = (  # for each kind the requests, then their cost
        "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
        "global_atom_requests", "global_atom_sectors", "global_red_requests", "global_red_sectors",
        "shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts",
        "shared_store_requests", "shared_store_wavefronts", "shared_store_conflicts",
        "shared_atomic_requests", "shared_atomic_wavefronts", "shared_atomic_conflicts",
        "atomic_max_contention", "local_requests", "constant_requests", "constant_passes",
    )  # fmt: skip
    highest = frozenset(("atomic_max_contention",))

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Any, tuple[int, int, int]] = {}
        self._again: dict[object, list[tuple[int, int]] | None] = {}  # by place; None: seen once
        self._unrolled: UnrolledLoops | None = None
        self._patterns: dict[LoadPattern, list[tuple[list[int], int, int]]] = {}  # (line's counts, place, amount)

    def on_launch(self, machine: Machine) -> None:
        """Forget the numbers of the last launch's instructions."""
        super().on_launch(machine)
        self._again, self._patterns = {}, {}
        unrolled = machine.program.requests.unrolled
        together = machine.schedule.kind != "independent"
        self._unrolled = UnrolledLoops(unrolled.values()) if unrolled and together else None

    def on_chunk(self, info: ChunkInfo) -> None:
        """Limit the cache of evaluated accesses."""
        if len(self._known) > _CACHED:
            self._known.clear()

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Note the turns of loops that the assembler unrolls."""
        if self._unrolled is not None:
            self._unrolled.enter(block, mask)

    def on_branch(self, block: BasicBlock, taken: Mask | None, other: Mask | None) -> None:
        """Count the accesses of such a loop as the machine code makes them, once all lanes have left it."""
        if self._unrolled is None:
            return
        for one in self._unrolled.decide(block, taken, other):
            row, op = self.row(one.access.site.line), one.access.site.op
            at = self.at[f"{one.access.space}_{'load' if op == 'ld' else 'store'}_requests"]
            for sign, (address, active) in ((-1, one.before), (1, one.after)):
                main, conflicts, _ = _count(address, active, one.access, op)
                row[at] += sign * int(active.any(axis=0).sum())
                row[at + 1] += sign * main
                if one.access.space == "shared":
                    row[at + 2] += sign * conflicts

    def _note(self, access: Access) -> None:
        """Keep an access in an unrolled loop, if it is one request."""
        loop, request = access.site.unrolled, access.site.request
        one = request is None or (request.size <= request.below and not request.pieces)
        if loop is not None and one and self._unrolled is not None:
            self._unrolled.note(loop, access)

    def on_access(self, access: Access) -> None:
        """Count one memory instruction. Loops repeat the same addresses, so counts are cached by place."""
        if access.site.unrolled is not None:
            self._note(access)
        place = access.place
        added = _NEVER if place is None else self._again.get(place, _NEVER)
        row = self.row(access.site.line)
        if added is not None and added is not _NEVER:
            for at, amount in added:
                row[at] += amount
        elif added is _NEVER or access.site.op in ("atom", "red"):  # not cached: contention is not a sum
            self._count(access, row)
            if place is not None:
                if len(self._again) > _CACHED:
                    self._again.clear()
                self._again[place] = None
        else:  # seen for the second time
            before = row.copy()
            self._count(access, row)
            self._again[place] = [
                (at, new - old) for at, (old, new) in enumerate(zip(before, row, strict=True)) if new != old
            ]

    def on_loads(self, loads: Loads) -> None:
        """Count several loads: those of a pattern cost the same wherever it is moved to."""
        if self._unrolled is not None:
            for access in loads.accesses:
                self._note(access)
        added = self._patterns.get(loads.pattern)
        if added is None:
            if len(self._patterns) > _MOST_PATTERNS:
                self._patterns.clear()
            added = self._patterns[loads.pattern] = self._cost_of(loads)
        for row, at, amount in added:
            row[at] += amount

    def _cost_of(self, loads: Loads) -> list[tuple[list[int], int, int]]:
        by_line: dict[int, list[int]] = {}
        for access in loads.accesses:
            self._count(access, by_line.setdefault(access.site.line, [0] * len(self.names)))
        return [
            (self.row(line), at, amount) for line, row in by_line.items() for at, amount in enumerate(row) if amount
        ]

    def _count(self, access: Access, row: list[int]) -> None:
        site, requests = access.site, access.mask.warps
        if site.request and site.request.pieces:
            for offset, size in site.request.pieces:
                self._count(_piece(access, offset, size), row)
            return
        if site.request and not _asks(access, site.request):
            return
        if access.space == "local":
            row[self.at["local_requests"]] += requests
            return
        if {"const", "param"} & site.words:  # constant memory has its own cache, and contains the parameters
            row[self.at["constant_requests"]] += requests
            row[self.at["constant_passes"]] += self._judge(access, "const")[0]
            return
        atomic, shared = site.op in ("atom", "red"), access.space == "shared"
        if atomic and shared and site.spins:
            self._count_spins(access, row)
            return
        kind = "atomic" if atomic else "load" if site.op == "ld" else "store"
        main, second, contention = self._judge(access, site.shared_rule if shared else site.op)
        if atomic:
            most = self.at["atomic_max_contention"]
            row[most] = max(row[most], contention)
            apart, main = main, aggregated(access, main)
            second -= apart - main
        if shared:
            at = self.at[f"shared_{kind}_requests"]
            row[at + 2] += second
            if site.aggregates == "whole":  # its scan and its lanes one by one are two instructions
                requests += _whole_warps(access.mask)
        else:
            at = self.at[f"global_{site.op if atomic else kind}_requests"]
        row[at] += requests
        row[at + 1] += main

    def _count_spins(self, access: Access, row: list[int]) -> None:
        address, active = _of_lanes(access)
        most = self.at["atomic_max_contention"]
        row[most] = max(row[most], _most_alike(address, active))
        if access.site.aggregates == "always":
            active = active & (np.cumsum(active, axis=0) == 1)
        counted = spinning_wavefronts(address, active, access.site.size)
        for name, amount in zip(_SPINNING, counted, strict=True):
            row[self.at[name]] += int(amount.sum())

    def _judge(self, access: Access, op: str) -> tuple[int, int, int]:
        """Return (wavefronts, conflicts, contention) of a shared access, (sectors, 0, contention) of a global one, or
        (passes, 0, 0) of constant memory (`op` "const")."""
        mask, address = access.mask, access.address
        if op in ("atom", "red") and address.__class__ is not OuterSum and address.size == 1 and _size(access) <= WORD:
            return _at_one_word(mask, access.space)
        if mask.dense is None:
            rows, columns = _sides(address)
            if rows is not None:
                return self._by_class(access, op, rows, columns)
        return _count(*_of_lanes(access), access, op)

    def _by_class(self, access: Access, op: str, rows: Array, columns: Array | None) -> tuple[int, int, int]:
        """Count blocks by class: addresses that differ by whole sectors count alike; in shared memory all blocks do."""
        mask, size = access.mask, _size(access)
        if columns is None or columns.size == 1:
            classes, counts = [0 if columns is None else int(columns.flat[0]) & (SECTOR - 1)], [mask.width]
        else:
            found, times = np.unique(columns & (SECTOR - 1), return_counts=True)
            classes, counts = found.tolist(), (times * (mask.width // columns.size)).tolist()
        main = second = most = 0
        # Moving all lanes by whole words only renames the banks, and by whole sectors the sectors.
        unit = max(size, WORD) if access.space == "shared" else 1 if op == "const" else SECTOR
        rows = rows + ((_BEYOND if access.space == "shared" else _FAR) - (int(rows.flat[0]) & -unit))  # never negative
        shape = (access.space, access.site.op, op, size, mask.row_key, rows.tobytes())
        for start, count in zip(classes, counts, strict=True):
            key = (start, *shape)
            judged = self._known.get(key)
            if judged is None:
                full = np.zeros((mask.rows.size, 1), np.int64)
                full[mask.rows] = rows + start
                judged = self._known[key] = _count(by_warp(full), by_warp(mask.rows[:, None]), access, op)
            main += judged[0] * count
            second += judged[1] * count
            most = max(most, judged[2])
        return main, second, most


def _at_one_word(mask: Mask, space: str) -> tuple[int, int, int]:
    """Return the judgement of an atomic of all lanes on one word: they are served one after the other."""
    lanes = mask.row_lanes()
    alike = mask.width // lanes.shape[1]  # equal blocks per column
    count = np.count_nonzero(lanes.reshape(-1, WARP, lanes.shape[1]), axis=1)
    total = int(count.sum()) * alike
    return total, total - mask.warps if space == "shared" else 0, int(count.max())


def _sides(address: Any) -> tuple[Array | None, Array | None]:
    """Return addresses as rows + columns (None: one class of columns), or (None, None) if they are not separable."""
    if address.__class__ is OuterSum:
        rows, columns = address.rows.values, address.columns.values + address.constant
        return rows, columns
    if address.shape[0] > 1 and address.shape[1] > 1:
        return None, None
    address = address.view(np.int64) if address.dtype.itemsize == 8 else address.astype(np.int64)
    return (address, None) if address.shape[1] == 1 else (np.zeros((1, 1), np.int64), address)


def _asks(access: Access, request: MachineRequest) -> bool:
    """Return whether the machine code makes a request here, rather than at a neighbour or in another iteration."""
    if request.below >= request.size:
        return request.size > 0
    lanes, start = access.mask.dense, plain(access.address) + request.shift
    begins = start.astype(np.int64) % request.size < request.below
    return bool((begins if lanes is None else begins & lanes).any())


def _piece(access: Access, offset: int, size: int) -> Access:
    """Return the request for `size` bytes at an offset in an access."""
    address, site = access.address, access.site
    moved = address.plus(offset) if address.__class__ is OuterSum else address + address.dtype.type(offset)
    return replace(access, site=replace(site, count=size // site.part, request=None), address=moved)


def _size(access: Access) -> int:
    """Return the bytes per lane of the request."""
    request = access.site.request if access.space == "shared" else None
    return request.size if request else access.site.size


def _of_lanes(access: Access) -> tuple[Array, Array]:
    """Return the addresses and the active lanes of all blocks, (32, warps * columns)."""
    mask = access.mask
    full = np.zeros((mask.rows.size, mask.width), np.int64)
    full[mask.rows] = np.broadcast_to(plain(access.address), (mask.height, mask.width))
    return by_warp(full), by_warp(np.broadcast_to(mask.row_lanes(), full.shape))


def _count(address: Array, active: Array, access: Access, op: str) -> tuple[int, int, int]:
    some = active.any(axis=0)
    if not some.all():
        address, active = address[:, some], active[:, some]
    contention = _most_alike(address, active) if access.site.op in ("atom", "red") else 0
    if op == "const":
        return _different(address, active), 0, 0
    if access.space == "shared":
        wavefronts, conflicts = shared_wavefronts_batch(address, active, _size(access), op)
        return int(wavefronts.sum()), int(conflicts.sum()), contention
    return int(global_sectors_batch(address, active, access.site.size, op).sum()), 0, contention


def _different(address: Array, active: Array) -> int:
    """Return the number of different addresses of each warp's active lanes, summed over warps with at least one."""
    first = np.take_along_axis(address, active.argmax(axis=0)[None], axis=0)
    ranked = np.sort(np.where(active, address, first), axis=0)
    return int(ranked.shape[1]) + int((ranked[1:] != ranked[:-1]).sum())


def _most_alike(address: Array, active: Array) -> int:
    """Return the most active lanes of one warp that access one address."""
    if not active.any():
        return 0
    apart = -1 - np.arange(WARP, dtype=np.int64)[:, None]  # idle lanes get unique addresses
    ranked = np.sort(np.where(active, address, apart).T, axis=1)
    starts = np.ones(ranked.shape, bool)
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=starts[:, 1:])
    return int(np.diff(np.flatnonzero(starts), append=ranked.size).max())
