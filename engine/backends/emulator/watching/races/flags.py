"""Order between threads through flags: atomics and volatile stores that other threads read.

A thread's work before its fence is published by the next flag it sets, together with all it knew of its warp at that
time: lanes store, converge in a __syncwarp(), and one of them sets the flag for all. A thread that has read a flag
since then has acquired it, and shares that with the lanes it converges with. The rule ignores which flag was read, so
correct programs are never accused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask
from engine.records import Array


@dataclass(frozen=True, slots=True)
class Stamp:
    """When accesses happened: one entry per access, or one number for all. `lane`: thread number in the grid, -1 for
    none."""

    lane: Array
    epoch: Array | int
    clock: Array
    time: Array | int


def entries_of(field: Array | int, at: Array) -> Array | int:
    """Return the entries `at` of a field."""
    return field if isinstance(field, int) else field[at]


# (lanes, other lanes of their warps) -> the clocks up to which the first know the others
KnownClocks = Callable[[Array, Array], Array]


class Flags:
    """The flags of a chunk's lanes and of all blocks of the grid. `rows`: T, the threads of a block rounded up to a
    whole warp; `in_order`: whether the lanes of an atomic take turns in the order of blocks and threads."""

    def __init__(self, rows: int, grid_blocks: int, in_order: bool = True) -> None:
        self.rows = rows
        self._in_order = in_order
        self._published = np.zeros(grid_blocks, np.int64)
        self._acquired = np.zeros(grid_blocks, np.int64)
        self._flagged = np.zeros(grid_blocks, np.int64)  # the last written flag, with or without a fence
        self.start_chunk(0, 1)

    def start_chunk(self, first: int, blocks: int) -> None:
        """Start a chunk; publications of earlier blocks stay."""
        self.first, self.blocks = first, blocks
        self._fenced: Array | None = None  # time of each lane's last fence
        self._fenced_for_all: Array | None = None  # time of its last fence for the whole GPU
        self._fence_clock: Array | None = None  # the lane's clock at that fence
        self._stored: Array | None = None
        self._lane_published: Array | None = None
        self._warp_published: Array | None = None  # a lane's work below this clock is published by lanes of its warp
        self._lane_acquired: Array | None = None
        self._seen: dict[tuple[int, int], int] = {}

    @property
    def used(self) -> bool:
        """Return whether any lane of the chunk has executed a fence or published anything."""
        return self._fenced is not None or self._lane_published is not None

    @property
    def acquired(self) -> bool:
        """Return whether any lane of the chunk has acquired anything."""
        return self._lane_acquired is not None

    # ---- events

    def fence(self, mask: Mask, time: int, clock: Array, block_only: bool) -> None:
        """Record a fence. `clock`: int64[T, 1 or B]; `block_only`: for the lanes' own block."""
        if self._fenced is None or self._fence_clock is None:
            self._fenced, self._fence_clock = self._zeros(), self._zeros() - 1
        _mark(self._fenced, mask, time)
        _mark(self._fence_clock, mask, np.broadcast_to(clock, self._fenced.shape)[mask.place()])
        if not block_only:
            self._fenced_for_all = self._zeros() if self._fenced_for_all is None else self._fenced_for_all
            _mark(self._fenced_for_all, mask, time)

    def stores_behind_a_fence(self, mask: Mask, time: int) -> bool:
        """Record a store to shared memory; return whether every lane has executed a fence since its last store."""
        if self._fenced is None:
            return False
        if self._stored is None:
            self._stored = self._zeros()
        place = mask.place()
        behind = self._fenced[place] > self._stored[place]
        _mark(self._stored, mask, time)
        return bool(behind.all() if mask.dense is None else behind[mask.dense].all())

    def publish(
        self, mask: Mask, time: int, clock: Array, release: str | None = None, knowing: KnownClocks | None = None
    ) -> None:
        """Record that the lanes write a flag.

        `release`: "block" or "all" if the write itself is a fence with this scope; otherwise only fenced work is
        published. `knowing`: given if parts of warps have converged.
        """
        self._flagged[self.first : self.first + self.blocks][mask.columns] = time
        if release is None and self._fenced is None:
            return
        if self._lane_published is None or self._warp_published is None:
            self._lane_published, self._warp_published = self._zeros(), self._zeros()
        place = mask.place()
        self._publish_for_all(mask, time if release == "all" else 0)
        lanes = self._lane_published[place]
        made = np.full(lanes.shape, time) if release else np.maximum(lanes, self._fences()[place])
        self._lane_published[place] = made if mask.dense is None else np.where(mask.dense, made, lanes)
        self._publish_for_warps(mask, clock, release is not None, knowing)

    def _publish_for_all(self, mask: Mask, time: int) -> None:
        fenced = self._fenced_for_all
        times = np.full((1, 1), time) if time or fenced is None else fenced[mask.place()]
        if mask.dense is not None:
            times = np.where(mask.dense, times, 0)
        blocks = self._published[self.first : self.first + self.blocks]
        blocks[mask.columns] = np.maximum(blocks[mask.columns], times.max(axis=0))

    def _publish_for_warps(self, mask: Mask, clock: Array, release: bool, knowing: KnownClocks | None) -> None:
        """Publish the work of lanes of the same warps before their convergence, if either lane has executed a fence."""
        assert self._lane_published is not None and self._warp_published is not None
        shape = (self.rows // WARP, WARP, mask.width)
        setters = np.broadcast_to(mask.row_lanes(), (self.rows, mask.width)).reshape(shape)
        now = np.broadcast_to(clock, (self.rows, self.blocks))[:, mask.columns].reshape(shape)
        if self._fenced is None or self._fence_clock is None:
            fenced, behind = np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
        else:
            fenced, behind = (each[:, mask.columns].reshape(shape) for each in (self._fenced, self._fence_clock))
        before = now if release else behind  # the clocks of the flag setters at their fences
        told = self._warp_published[:, mask.columns].reshape(shape)
        published = self._lane_published[:, mask.columns].reshape(shape)
        for lanes in [slice(None)] if knowing is None else [slice(lane, lane + 1) for lane in range(WARP)]:
            by = setters[:, lanes]
            met, reach = (np.where(by, each[:, lanes], -1).max(axis=1, keepdims=True) for each in (now, before))
            if knowing is not None:
                known = self._known_of(mask, lanes.start, knowing).reshape(shape)
                met, reach = np.minimum(met, known), np.minimum(reach, known)
            told = np.maximum(told, reach)
            published = np.where((behind >= 0) & (behind < met), np.maximum(published, fenced), published)
        self._warp_published[:, mask.columns] = told.reshape(self.rows, -1)
        self._lane_published[:, mask.columns] = published.reshape(self.rows, -1)

    def _known_of(self, mask: Mask, lane: int, knowing: KnownClocks) -> Array:
        """Return up to which clock lane `lane` of each warp knows the lanes of its warp, int64[T, columns of
        the mask]."""
        first = self.first * self.rows
        row = np.arange(self.rows)[:, None]
        lanes = (first + row + mask.columns_at() * self.rows).ravel()
        knower = (first + row // WARP * WARP + lane + mask.columns_at() * self.rows).ravel()
        return knowing(knower, lanes)

    def acquire(self, mask: Mask, time: int) -> None:
        """Record that the lanes have read a flag."""
        if self._lane_acquired is None:
            self._lane_acquired = self._zeros()
        _mark(self._lane_acquired, mask, time)
        self._acquired[self.first : self.first + self.blocks][mask.columns] = time

    def share_acquired(self, parties: list[Array]) -> None:
        """Let lanes that converge, bool[warps, 32, 1 or B] each, share what they have acquired."""
        if self._lane_acquired is None:
            return
        times = self._lane_acquired.reshape(-1, WARP, self.blocks)
        for party in parties:
            latest = np.where(party, times, 0).max(axis=1, keepdims=True)
            times = np.where(party, latest, times)
        self._lane_acquired = times.reshape(self.rows, self.blocks)

    def record_read(self, reader: Array, writer: Stamp, one_block: bool) -> None:
        """Record that lanes have read, like a flag, values written by other warps of their block."""
        one, two = reader // WARP, writer.lane // WARP
        others = (one != two) & (writer.lane >= 0) & (reader // self.rows == writer.lane // self.rows)
        if not others.any():
            return
        first = self.first * self.rows // WARP if one_block else 0
        times = np.broadcast_to(writer.time, others.shape)[others]
        for pair in zip((one[others] + first).tolist(), (two[others] + first).tolist(), times.tolist(), strict=True):
            self._seen[pair[:2]] = max(pair[2], self._seen.get(pair[:2], 0))

    # ---- queries

    def knows_by_flag(self, before: Stamp, other: Array, at: Array, atomic: Array | None, one_block: bool) -> Array:
        """Return whether lanes `other` know through a flag of the accesses `before`, both at the entries `at`, bool.

        `atomic`: the earlier access was an atomic, whose word orders any later atomic or flag access.
        """
        lane, time, clock = before.lane[at], entries_of(before.time, at), before.clock[at]
        inside = lane // self.rows == other // self.rows
        published = self._of_lane(self._lane_published, lane, inside, one_block)
        acquired = self._of_lane(self._lane_acquired, other, inside, one_block)
        told = self._of_lane(self._warp_published, lane, inside, one_block)
        if not one_block and not inside.all():
            published = np.where(inside, published, self._published[lane // self.rows])
            acquired = np.where(inside, acquired, self._acquired[other // self.rows])
        known: Array = ((published > time) | (clock < told)) & (acquired > time)
        if atomic is not None:
            turn = lane < other if self._in_order else np.True_  # an unknown order accuses nobody
            known |= atomic[at] & ((acquired > time) | ((acquired == time) & turn))
        return known

    def lacks_a_fence(self, before: Array, time: Array | int, after: Array) -> Array:
        """Return whether only a fence is missing, bool: the block of `before` wrote a flag after `time`, and the block
        of `after` has read it since. Lanes count in the grid."""
        one, two = before // self.rows, after // self.rows
        across = (self._flagged[one] > time) & (self._acquired[two] > self._flagged[one])
        if not self._seen:
            known: Array = (one != two) & across
            return known
        pairs = zip((after // WARP).tolist(), (before // WARP).tolist(), strict=True)
        inside = np.array([self._seen.get(pair, 0) for pair in pairs], np.int64) > time
        return np.where(one != two, across, inside)

    def _of_lane(self, times: Array | None, lane: Array, inside: Array, one_block: bool) -> Array:
        made = np.zeros(lane.shape, np.int64)
        if times is not None:
            lanes = lane[inside]
            made[inside] = times[lanes % self.rows, lanes // self.rows - (0 if one_block else self.first)]
        return made

    def _fences(self) -> Array:
        return self._zeros() if self._fenced is None else self._fenced

    def _zeros(self) -> Array:
        return np.zeros((self.rows, self.blocks), np.int64)


def _mark(times: Array, mask: Mask, time: Array | int) -> None:
    place = mask.place()
    times[place] = time if mask.dense is None else np.where(mask.dense, time, times[place])
