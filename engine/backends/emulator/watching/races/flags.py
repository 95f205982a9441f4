"""What threads tell each other by flags: atomics and volatile stores, which others read.

What a thread did before its fence is published by the next flag that it sets, and so is what it then knew of its warp:
lanes store, meet in a __syncwarp(), and one of them sets the flag for all. Whoever has read a flag since has acquired
it, and hands that on to those that it meets. The rule is a little generous (it does not ask which flag), so that
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
    """When accesses happened: one entry per access (one number where they share it). `lane`: thread number in the grid,
    -1 for none."""

    lane: Array
    epoch: Array | int
    clock: Array
    time: Array | int


def entries_of(field: Array | int, at: Array) -> Array | int:
    """The entries `at` of a field."""
    return field if isinstance(field, int) else field[at]


KnownClocks = Callable[
    [Array, Array], Array
]  # (lanes, other lanes of their warps): up to which clock the first know these


class Flags:
    """Of the lanes of a chunk, and of all blocks of the grid. `rows`: T, the threads of a block up to a whole warp."""

    def __init__(self, rows: int, grid_blocks: int) -> None:
        self.rows = rows
        self._published = np.zeros(grid_blocks, np.int64)
        self._acquired = np.zeros(grid_blocks, np.int64)
        self._flagged = np.zeros(grid_blocks, np.int64)  # the last flag written, behind a fence or not
        self.start_chunk(0, 1)

    def start_chunk(self, first: int, blocks: int) -> None:
        """New blocks; what earlier ones published stays."""
        self.first, self.blocks = first, blocks
        self._fenced: Array | None = None  # the time of each lane's last fence
        self._fenced_for_all: Array | None = None  # of its last one that is for the whole GPU
        self._fence_clock: Array | None = None  # the lane's clock then
        self._stored: Array | None = None
        self._lane_published: Array | None = None
        self._warp_published: Array | None = (
            None  # the clock below which lanes of its warp have published a lane's work
        )
        self._lane_acquired: Array | None = None
        self._seen: dict[tuple[int, int], int] = {}

    @property
    def used(self) -> bool:
        """True once any lane of the chunk has met a fence, or published anything."""
        return self._fenced is not None or self._lane_published is not None

    @property
    def acquired(self) -> bool:
        """True once any lane of the chunk has acquired anything."""
        return self._lane_acquired is not None

    # ---- events

    def fence(self, mask: Mask, time: int, clock: Array, block_only: bool) -> None:
        """The lanes make what they did visible. `clock`: int64[T, 1 or B]; `block_only`: to their own block."""
        if self._fenced is None or self._fence_clock is None:
            self._fenced, self._fence_clock = self._zeros(), self._zeros() - 1
        _mark(self._fenced, mask, time)
        _mark(self._fence_clock, mask, np.broadcast_to(clock, self._fenced.shape)[mask.place()])
        if not block_only:
            self._fenced_for_all = self._zeros() if self._fenced_for_all is None else self._fenced_for_all
            _mark(self._fenced_for_all, mask, time)

    def stores_behind_a_fence(self, mask: Mask, time: int) -> bool:
        """The lanes store to shared memory: True when each of them has met a fence since it last did so."""
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
        """The lanes write a flag. `release`: "block" or "all" where the write itself is a fence for these; else only
        what was fenced is published. `knowing`: where lanes of a warp met in parts."""
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
        """The lanes of `mask` publish what lanes of their warps did before these met, behind a fence of either."""
        assert self._lane_published is not None and self._warp_published is not None
        shape = (self.rows // WARP, WARP, mask.width)
        setters = np.broadcast_to(mask.row_lanes(), (self.rows, mask.width)).reshape(shape)
        now = np.broadcast_to(clock, (self.rows, self.blocks))[:, mask.columns].reshape(shape)
        if self._fenced is None or self._fence_clock is None:
            fenced, behind = np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
        else:
            fenced, behind = (each[:, mask.columns].reshape(shape) for each in (self._fenced, self._fence_clock))
        before = now if release else behind  # the setters' clocks at their fences
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
        """int64[T, columns of the mask]: up to which clock lane `lane` of each warp knows the lanes of its warp."""
        first = self.first * self.rows
        row = np.arange(self.rows)[:, None]
        lanes = (first + row + mask.columns_at() * self.rows).ravel()
        knower = (first + row // WARP * WARP + lane + mask.columns_at() * self.rows).ravel()
        return knowing(knower, lanes)

    def acquire(self, mask: Mask, time: int) -> None:
        """The lanes have read a flag."""
        if self._lane_acquired is None:
            self._lane_acquired = self._zeros()
        _mark(self._lane_acquired, mask, time)
        self._acquired[self.first : self.first + self.blocks][mask.columns] = time

    def meet(self, parties: list[Array]) -> None:
        """Lanes meet, bool[warps, 32, 1 or B] each: what one has acquired, all have."""
        if self._lane_acquired is None:
            return
        times = self._lane_acquired.reshape(-1, WARP, self.blocks)
        for party in parties:
            latest = np.where(party, times, 0).max(axis=1, keepdims=True)
            times = np.where(party, latest, times)
        self._lane_acquired = times.reshape(self.rows, self.blocks)

    def see(self, reader: Array, writer: Stamp, one_block: bool) -> None:
        """Lanes have read, as one reads a flag, what others wrote: known of warps of one block."""
        one, two = reader // WARP, writer.lane // WARP
        others = (one != two) & (writer.lane >= 0) & (reader // self.rows == writer.lane // self.rows)
        if not others.any():
            return
        first = self.first * self.rows // WARP if one_block else 0
        times = np.broadcast_to(writer.time, others.shape)[others]
        for pair in zip((one[others] + first).tolist(), (two[others] + first).tolist(), times.tolist(), strict=True):
            self._seen[pair[:2]] = max(pair[2], self._seen.get(pair[:2], 0))

    # ---- questions

    def heard(self, before: Stamp, other: Array, at: Array, atomic: Array | None, one_block: bool) -> Array:
        """bool: lanes `other` have heard by a flag of what `before` is about, both at the entries `at` of it.

        `atomic`: the earlier access was one, and its word itself orders whoever then used an atomic or flag."""
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
            known |= atomic[at] & ((acquired > time) | ((acquired == time) & (lane < other)))
        return known

    def lacks_a_fence(self, before: Array, time: Array | int, after: Array) -> Array:
        """bool: the block of a lane `before` wrote a flag after `time`, which the block of the lane `after` has read
        since: with a fence in front of the flag they would be in order. Lanes count in the grid."""
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
