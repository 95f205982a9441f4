"""Which accesses of different threads are ordered, and which are concurrent.

Barriers order the threads of a block, and __syncwarp() the lanes of a warp; a fence and a flag (`flags`) order threads
of different blocks and threads that pass a lock. Lanes of one atomic are ordered by their turn. Other warp-wide
functions (shuffles, votes, matches, matrix products) let lanes converge, but order no memory.

While whole warps converge, one clock per lane gives the order. If parts of a warp converge by themselves
(`__syncwarp(mask)`), each lane knows of another lane only up to their last convergence, which is stored per pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask, lane_words
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.watching.races.access_lanes import sample_of
from engine.backends.emulator.watching.races.causality import Causality
from engine.backends.emulator.watching.races.flags import Flags, Stamp, entries_of
from engine.records import Array


def find_parties(active: Array, members: Array, mask: Mask, living: Array) -> list[Array] | None:
    """Return the parties that converge, each bool[warps, 32, C] of lanes; None if whole warps do.

    `active`: bool[T, C], the arriving lanes; `members`: the member masks in the rows and columns of `mask`; `living`:
    bool[T], the existing threads.
    """
    met = active.reshape(-1, WARP, active.shape[1])
    named = np.zeros(active.shape, np.uint32)
    if active.shape[1] == 1 and members.shape[1] == 1:
        named[mask.rows] = members
    else:
        named[np.ix_(mask.rows, mask.columns if active.shape[1] > 1 else np.ones(1, bool))] = members
    named = np.where(met, named.reshape(met.shape), np.uint32(0))
    comers = lane_words(met)
    whole = lane_words(living.reshape(-1, WARP, 1))
    if not ((comers != 0) & (comers != whole)).any() and not (met & ((named & comers) != comers)).any():
        return None
    return [met & (named == party) for party in np.unique(named[met])]


class WarpParties:
    """known[w, i, j, c]: lane i of warp w is ordered after everything that lane j did at clocks below this number.

    The last axis: one column for all blocks while they are alike, then one per sampled block.
    """

    def __init__(self, clock: Array) -> None:
        own = clock.reshape(-1, WARP, clock.shape[1])
        self.known = np.minimum(own[:, :, None], own[:, None, :])

    @property
    def width(self) -> int:
        """Return 1 while all blocks are alike, else the number of sampled blocks."""
        return int(self.known.shape[3])

    def repeated(self, count: int) -> None:
        """Expand from one column for all blocks to `count` columns."""
        self.known = np.repeat(self.known, count, axis=3)

    def converge(self, parties: list[Array], clock: Array) -> None:
        """Let the lanes of each party share their knowledge, and know each other up to now (their new `clock`)."""
        own = clock.reshape(-1, WARP, clock.shape[1])
        for party in parties:
            heard = np.where(party[:, :, None], self.known, -1).max(axis=1, keepdims=True)
            heard = np.maximum(heard, np.where(party, own, -1)[:, None])
            self.known = np.where(party[:, :, None], heard, self.known)

    def limit(self, row: Array, other: Array, position: Array | int) -> Array:
        """Return the clocks up to which the lanes in these rows know the lanes `other` (0..31) of their warps."""
        found: Array = self.known[row // WARP, row % WARP, other, position]
        return found


@dataclass(frozen=True, slots=True)
class Moment:
    """The clocks at one time of a chunk, whose first block is `first`."""

    epoch: Array
    clock: Array
    time: int
    first: int

    def stamp(self, lane: Array) -> Stamp:
        """Return this moment of lanes, which count in the grid."""
        rows = self.clock.shape[0]
        column = lane // rows - self.first
        epoch = int(self.epoch.item()) if self.epoch.size == 1 else self.epoch[0, column]
        return Stamp(lane, epoch, self.clock[lane % rows, column if self.clock.shape[1] > 1 else 0], self.time)


class Clocks:
    """The progress of every lane of a chunk: barriers passed by its block, convergence points passed by the lane.

    Both arrays are as small as the control flow allows: (1, 1) and (T, 1) as long as all blocks do the same. `rows`: T,
    the threads of a block rounded up to a whole warp; `threads`: the existing threads; the others: as of Flags.
    """

    def __init__(
        self, rows: int, threads: int, grid_blocks: int, in_order: bool = True, causality: Causality | None = None
    ) -> None:
        self.rows = rows
        self._living = np.arange(rows) < threads
        self._in_order = in_order
        self.now = 1
        self._known: dict[int, tuple[Array, Array, Array]] = {}
        self._whole: dict[tuple[bytes, bytes], bool] = {}
        self.flags = Flags(rows, grid_blocks, in_order, causality)
        self._start = np.zeros((rows, 1), np.int64)
        self.start_chunk(ChunkInfo(0, 0, 1, rows, threads, 0))

    def start_chunk(self, info: ChunkInfo) -> None:
        """Start a chunk; publications of earlier blocks stay."""
        self.first, self.blocks = info.first, info.blocks
        self.epoch = np.zeros((1, 1), np.int64)
        self.clock = self._start
        self.flags.start_chunk(info.first, info.blocks)
        self._parties: WarpParties | None = None
        self._sample = sample_of(info, self._in_order)
        self._unordered: dict[int, tuple[int, str, Mask]] = {}

    @property
    def alike(self) -> bool:
        """Return whether all blocks of the chunk have passed the same barriers and convergence points."""
        return self.epoch.size == 1 and self.clock.shape[1] == 1

    @property
    def simple(self) -> bool:
        """Return whether barriers alone give the order: no flags, and only whole warps have converged."""
        flags = self.flags.used or self.flags.acquired
        return self.epoch.size == 1 and self.clock.shape[1] == 1 and self._parties is None and not flags

    @property
    def in_part(self) -> bool:
        """Return whether lanes may know of some lanes of their block and not of others: by flags, by barriers for some
        threads, or as parts of warps have converged."""
        return self._parties is not None or self.flags.acquired

    def tick(self) -> int:
        """Return the time of the next event."""
        self.now += 1
        return self.now

    # ---- events

    def release(self, mask: Mask) -> None:
        """Record that a barrier releases the lanes of `mask`."""
        self.flags.pass_barrier(mask, self.tick())
        if mask.blocks.all():
            self.epoch = self.epoch + 1
            return
        epoch = np.broadcast_to(self.epoch, (1, self.blocks)).copy()
        epoch[:, mask.blocks] += 1
        self.epoch = epoch

    def collect(self, mask: Mask, members: Array) -> None:
        """Record that the lanes of `mask` converge in their warps, each with the lanes in its member mask (uint32)."""
        before = self.clock
        if mask.dense is None and mask.column_index is None and before.shape[1] == 1 and members.shape[1] == 1:
            active = mask.rows[:, None]
        else:
            active = mask.full_dense()
            self.clock = np.broadcast_to(self.clock, active.shape)
        clock = self.clock.reshape(-1, WARP, self.clock.shape[1])
        met = active.reshape(clock.shape)
        latest = np.where(met, clock, -1).max(axis=1, keepdims=True) + 1
        self.clock = np.where(met, latest, clock).reshape(self.clock.shape)
        parties = None if self._in_whole_warps(mask, members) else find_parties(active, members, mask, self._living)
        together = [met] if parties is None else parties
        if parties is not None or self._parties is not None:
            self._converge_parties(together, before)
        if self.flags.acquired:
            self.flags.share_acquired(mask, together)

    def is_whole_block(self, mask: Mask, members: Array) -> bool:
        """Return whether these lanes, which name each other, are all threads of every block, which has one warp: then
        a __syncwarp() orders what a __syncthreads() does."""
        return self.rows == WARP and mask.column_index is None and self.simple and self._in_whole_warps(mask, members)

    def converge_unordered(self, line: int, opcode: str, mask: Mask) -> None:
        """Record that lanes converge at a warp-wide function that orders no memory."""
        self._unordered[line] = self.tick(), opcode, mask

    def _in_whole_warps(self, mask: Mask, members: Array) -> bool:
        """Return whether the lanes certainly arrive in whole warps and name each other; a cached quick test."""
        if mask.dense is not None or members.shape[1] > 1:
            return False
        key = (mask.row_key, members.tobytes())
        if key not in self._whole:
            if len(self._whole) > 1000:
                self._whole.clear()
            self._whole[key] = find_parties(mask.rows[:, None], members, mask, self._living) is None
        return self._whole[key]

    def _converge_parties(self, parties: list[Array], before: Array) -> None:
        """Record a convergence after parts of warps have converged. `before`: the clocks before it."""
        wide = self.clock.shape[1] > 1
        columns = self._sample if wide else np.zeros(1, np.int64)
        if self._parties is None:
            self._parties = WarpParties(before[:, columns] if before.shape[1] > 1 else before)
        if self._parties.width < columns.size:
            self._parties.repeated(columns.size)
        self._parties.converge([party[:, :, columns] for party in parties], self.clock[:, columns])

    def fence(self, mask: Mask, block_only: bool) -> None:
        """Record a fence by the lanes of `mask`; `block_only`: for their own block."""
        self.flags.fence(mask, self.tick(), self.clock, self.epoch, block_only)

    def publish(self, access: Access, release: str | None) -> int:
        """Record that the lanes write a flag, and return the time of the last fence in front of it. `release`: "block"
        or "all" if the write itself is a fence with this scope."""
        knowing = self._known_clocks if self._parties else None
        return self.flags.publish(access, self.tick(), self.clock, self.epoch, release, knowing)

    def acquire(self, access: Access, heard: int, scope: str | None) -> None:
        """Record that the lanes have read a flag now; lanes of one instruction read it in turn. `heard`: the last
        fence in front of that flag; `scope`: "block" or "all" if the read itself is a fence with this scope."""
        self.flags.acquire(access, self.now, heard, scope)

    # ---- queries

    def moment(self) -> Moment:
        """Return the next event's time and the present clocks, which no later event changes."""
        return Moment(self.epoch, self.clock, self.tick(), self.first)

    def stamp(self, lane: Array, one_block: bool = False) -> Stamp:
        """Return the present of lanes of this chunk. `one_block`: lanes count from its first block, else from the
        grid's."""
        column: Array | int = 0 if self.alike else lane // self.rows - (0 if one_block else self.first)
        epoch = int(self.epoch.item()) if self.epoch.size == 1 else self.epoch[0, column]
        return Stamp(lane, epoch, self.clock_of(lane, column), self.now)

    def clock_of(self, lane: Array, column: Array | int) -> Array:
        """Return the clocks of lanes; loops repeat the same lanes, so results are cached until the clocks change."""
        found = self._known.get(id(lane))
        if found is None or found[0] is not lane or found[1] is not self.clock:
            if len(self._known) > 1000:
                self._known.clear()
            clock = self.clock[lane % self.rows, column if self.clock.shape[1] > 1 else 0]
            found = self._known[id(lane)] = (lane, self.clock, clock)
        return found[2]

    def unordered(self, before: Stamp, after: Stamp, atomic: Array | None = None, one_block: bool = False) -> Array:
        """Return whether `before` is unordered with `after`, bool.

        `atomic`: the earlier access was an atomic, whose word orders any later atomic or flag access. `one_block`: both
        are in one block and count from the chunk's first.
        """
        loose: Array = (before.lane != after.lane) & (before.lane >= 0)
        if one_block:
            loose &= before.epoch >= after.epoch
        if not loose.any():
            return loose
        at = loose.nonzero()[0]
        lane, other = before.lane[at], after.lane[at]
        ordered = (lane // WARP == other // WARP) & (
            before.clock[at] < self._limit(lane, other, after.clock[at], one_block)
        )
        if not one_block:
            same_block = lane // self.rows == other // self.rows
            ordered |= same_block & (entries_of(before.epoch, at) < entries_of(after.epoch, at))
        loose[at[ordered]] = False
        if ordered.all() or (one_block and not self.flags.acquired):
            return loose
        at = at[~ordered]
        heard = self.flags.knows_by_flag(before, after.lane[at], at, atomic, one_block)
        loose[at[heard]] = False
        return loose

    def unordered_convergence(self, since: int, lane: int, other: int) -> tuple[int, str] | None:
        """Return (line, opcode) of the last warp-wide function that let two lanes of a warp converge after the time
        `since` without an order. Lanes count from the chunk's first block."""
        for line, (time, opcode, mask) in sorted(self._unordered.items(), key=lambda item: -item[1][0]):
            lanes, column = mask.full_dense(), lane // self.rows
            if time > since and lanes[lane % self.rows, column] and lanes[other % self.rows, column]:
                return line, opcode
        return None

    def _known_clocks(self, knower: Array, lane: Array) -> Array:
        """Return the clocks up to which lanes know other lanes of their warps. Lanes count in the grid."""
        column = knower // self.rows - self.first
        clock = self.clock[knower % self.rows, column if self.clock.shape[1] > 1 else 0]
        return self._limit(lane, knower, clock, False)

    def _limit(self, lane: Array, other: Array, clock: Array, one_block: bool) -> Array:
        """Return the clock of `lane` up to which `other`, a lane of its warp with this clock, is ordered after it."""
        parties = self._parties
        if parties is None:
            return clock
        if parties.width == 1:
            return parties.limit(other % self.rows, lane % WARP, 0)
        column = other // self.rows - (0 if one_block else self.first)
        position = np.minimum(np.searchsorted(self._sample, column), self._sample.size - 1)
        known = parties.limit(other % self.rows, lane % WARP, position)
        return np.where(self._sample[position] == column, known, clock)
