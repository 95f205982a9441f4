"""Order between threads through flags: atomics and volatile stores that other threads read.

A thread's work before its fence is published by the next flag it sets, together with all it knew of its warp and block
at that time: lanes store, converge in a __syncwarp(), and one of them sets the flag for all. A thread acquires that by
reading a flag written since then, with a fence or barrier behind the read. It shares what it has acquired with the
lanes it converges with. The rule ignores which of several newer flags was read, so correct programs are never accused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.watching.races.causality import Causality
from engine.records import Array

_MOST_PAIRS = 1 << 22  # of a warp and another block


@dataclass(frozen=True, slots=True)
class Stamp:
    """When accesses happened: one entry per access, or one number for all. `lane`: thread number in the grid, -1 for
    none."""

    lane: Array
    epoch: Array | int
    clock: Array
    time: Array | int

    def at(self, entries: Array) -> Stamp:
        """Return some of the accesses."""
        epoch, time = entries_of(self.epoch, entries), entries_of(self.time, entries)
        return Stamp(self.lane[entries], epoch, self.clock[entries], time)


def entries_of(field: Array | int, at: Array) -> Array | int:
    """Return the entries `at` of a field."""
    return field if isinstance(field, int) else field[at]


# (lanes, other lanes of their warps) -> the clocks up to which the first know the others
KnownClocks = Callable[[Array, Array], Array]


class Scope:
    """What lanes have published and acquired for one scope: their own block, or the whole GPU.

    Arrays of the chunk are int64[T, B]; those of the grid, which earlier chunks have written too, int32[blocks, T].
    """

    def __init__(self, rows: int, grid_blocks: int) -> None:
        self._rows = rows
        self.published = np.zeros((grid_blocks, rows), np.int32)  # a lane's accesses before this time
        self.told = np.zeros((grid_blocks, rows), np.int32)  # its accesses below this clock, by lanes of its warp
        self.epochs = np.zeros(grid_blocks, np.int32)  # accesses of the block before this barrier
        self.start_chunk(0, 1)

    def start_chunk(self, first: int, blocks: int) -> None:
        """Start a chunk; publications of earlier blocks stay."""
        self._here, shape = slice(first, first + blocks), (self._rows, blocks)
        self.fenced: Array = np.zeros(shape, np.int64)  # time of each lane's last fence
        self.fence_clock: Array = np.full(shape, -1, np.int64)  # the lane's clock at that fence
        self.fence_epoch: Array = np.zeros(shape, np.int64)  # the barriers that its block had passed
        self.met: Array = np.zeros(shape, np.int64)  # its last fence in front of its block's last barrier
        self.acquired: Array = np.zeros(shape, np.int64)  # the newest flag that it has read in front of a fence

    def fence(self, mask: Mask, time: int, clock: Array, epoch: Array, heard: Array) -> None:
        """Record a fence. `heard`: the newest flag that each lane has read."""
        shape, place = self.fenced.shape, mask.place()
        _mark(self.fenced, mask, time)
        _mark(self.fence_clock, mask, np.broadcast_to(clock, shape)[place])
        _mark(self.fence_epoch, mask, np.broadcast_to(epoch, shape)[place])
        self.acquire(mask, heard[place])

    def acquire(self, mask: Mask, heard: Array | int) -> None:
        """Record that the lanes have acquired all flags up to the times `heard`."""
        _mark(self.acquired, mask, np.maximum(self.acquired[mask.place()], heard))

    def pass_barrier(self, mask: Mask, heard: Array) -> None:
        """Record a barrier of the block, which stands for the fence behind a read flag."""
        columns = mask.blocks
        self.met[:, columns] = self.fenced[:, columns]
        self.acquired[:, columns] = np.maximum(self.acquired, heard)[:, columns].max(axis=0)

    def publish(
        self, mask: Mask, time: int, clock: Array, epoch: Array, release: bool, met_warps: Array | None,
        knowing: KnownClocks | None,
    ) -> None:  # fmt: skip
        """Record that lanes write a flag. `release`: the write itself is a fence. `met_warps`: up to when they know
        each warp of their block by barriers for some warps. `knowing`: given if parts of warps have converged."""
        setters = np.zeros(self.fenced.shape, bool)
        _mark(setters, mask, True)
        columns = np.flatnonzero(setters.any(axis=0))
        setters = setters[:, columns]
        fenced, clocks = self.fenced[:, columns], np.broadcast_to(clock, self.fenced.shape)[:, columns]
        epochs = np.broadcast_to(epoch, self.fenced.shape)[:, columns] if release else self.fence_epoch[:, columns]
        blocks = self._here.start + columns
        published, told = self.published[blocks].T, self.told[blocks].T
        published = np.maximum(published, self.met[:, columns])
        if met_warps is not None:
            published = np.maximum(published, np.repeat(met_warps[:, columns], WARP, axis=0))
        published = np.maximum(published, np.where(setters, time if release else fenced, 0))
        self.epochs[blocks] = np.maximum(self.epochs[blocks], np.where(setters, epochs, 0).max(axis=0))
        # Lanes of the same warps, before their convergence, if either lane has executed a fence.
        by_warp = (self._rows // WARP, WARP, columns.size)
        behind = self.fence_clock[:, columns].reshape(by_warp)
        now, fences, by = clocks.reshape(by_warp), fenced.reshape(by_warp), setters.reshape(by_warp)
        before = now if release else behind  # the clocks of the flag setters at their fences
        told, published = told.reshape(by_warp), published.reshape(by_warp)
        for lanes in [slice(None)] if knowing is None else [slice(lane, lane + 1) for lane in range(WARP)]:
            met, reach = (
                np.where(by[:, lanes], each[:, lanes], -1).max(axis=1, keepdims=True) for each in (now, before)
            )
            if knowing is not None:
                known = self._known_of(blocks, lanes.start, knowing).reshape(by_warp)
                met, reach = np.minimum(met, known), np.minimum(reach, known)
            told = np.maximum(told, reach)
            published = np.where((behind >= 0) & (behind < met), np.maximum(published, fences), published)
        self.told[blocks], self.published[blocks] = (each.reshape(self._rows, -1).T for each in (told, published))

    def pass_on(self, inner: Scope, mask: Mask) -> None:
        """Publish for this scope, too, what the lanes that set a flag have acquired in the `inner` one."""
        heard = np.where(mask.full_dense(), inner.acquired, 0).max(axis=0)
        if heard.any():
            here = self._here
            self.published[here] = np.maximum(self.published[here], np.minimum(inner.published[here], heard[:, None]))

    def _known_of(self, blocks: Array, lane: int, knowing: KnownClocks) -> Array:
        """Return up to which clock lane `lane` of each warp knows the lanes of its warp, int64[T, blocks]."""
        row = np.arange(self._rows)[:, None]
        lanes, knower = (row + blocks * self._rows).ravel(), (row // WARP * WARP + lane + blocks * self._rows).ravel()
        return knowing(knower, lanes)

    def has_published(self, before: Stamp, at: Array, block: Array, row: Array) -> Array:
        """Return whether the accesses `before`, at the entries `at`, of lanes (block, row) of the grid are published,
        bool."""
        time, clock, epoch = entries_of(before.time, at), before.clock[at], entries_of(before.epoch, at)
        known: Array = (self.published[block, row] > time) | (clock < self.told[block, row])
        return known | (epoch < self.epochs[block])


class PartBarriers:
    """The order by barriers for some warps: known[w, v, b]: warp w of a block knows warp v's accesses before a time."""

    def __init__(self, warps: int, blocks: int) -> None:
        self._shape = (warps, blocks)
        self.known: Array = np.zeros((warps, warps, blocks), np.int64)
        self._came: dict[int, Array] = {}  # what the warps that came to a barrier know, by its number

    def forget(self, number: int, blocks: Array) -> None:
        """Start a new phase of a barrier in some blocks, bool."""
        if number in self._came:
            self._came[number][:, blocks] = 0

    def arrive(self, number: int, mask: Mask, time: int) -> None:
        """Record that the warps of these lanes arrive."""
        warps = self._warps(mask)
        came = self._came.setdefault(number, np.zeros(self._shape, np.int64))
        np.maximum(came, np.where(warps[:, None], self.known, 0).max(axis=0), out=came)
        came[warps] = time

    def release(self, number: int, mask: Mask) -> None:
        """Record that the barrier releases the warps of these lanes."""
        came = self._came.get(number, np.zeros(self._shape, np.int64))
        self.known = np.where(self._warps(mask)[:, None], np.maximum(self.known, came), self.known)

    def known_to(self, mask: Mask) -> Array:
        """Return the times up to which any of these lanes knows each warp, int64[warps, blocks]."""
        made: Array = np.where(self._warps(mask)[:, None], self.known, 0).max(axis=0)
        return made

    def _warps(self, mask: Mask) -> Array:
        made: Array = np.logical_or.reduce(mask.full_dense().reshape(self._shape[0], WARP, -1), axis=1)
        return made


class Flags:
    """The flags of a chunk's lanes and of all blocks of the grid. `rows`: T, the threads of a block rounded up to a
    whole warp; `in_order`: whether the lanes of an atomic take turns in the order of blocks and threads. `causality`:
    None for large grids."""

    def __init__(self, rows: int, grid_blocks: int, in_order: bool = True, causality: Causality | None = None) -> None:
        self._causality = causality
        self.rows, self._grid_blocks, self._in_order = rows, grid_blocks, in_order
        self._flagged = np.zeros(grid_blocks, np.int64)  # the last written flag, with or without a fence
        self._updated = np.zeros(grid_blocks, np.int64)  # the last one that is an atomic
        # the last flag that each warp, or its block before a barrier, has read
        self._read_in = np.zeros((grid_blocks, rows // WARP), np.int64)
        # the last store of each block that it has read as a flag, int32[blocks, warps, other blocks]
        self._found: Array | None = None
        self._scopes: tuple[Scope, Scope] | None = None
        self.announced = False  # whether any lane of the grid has executed a fence or published anything
        self.start_chunk(0, 1)

    def start_chunk(self, first: int, blocks: int) -> None:
        """Start a chunk; publications of earlier blocks stay."""
        self.first, self.blocks = first, blocks
        self.used = False  # whether any lane of the chunk has executed a fence or published anything
        self._read: Array | None = None  # when each lane last read a flag
        self._heard: Array | None = None  # the last fence in front of the flags that it has read
        self._stored: dict[str, Array] = {}  # when each lane last stored, by space
        self._parts: PartBarriers | None = None
        self._came: dict[int, tuple[Array, Array]] = {}  # what lanes that came to a barrier for some have acquired
        self._ended: dict[int, Array] = {}  # the blocks in which the last phase of such a barrier has ended, bool
        self._seen: dict[tuple[int, int], int] = {}
        for scope in self._scopes or ():
            scope.start_chunk(first, blocks)
        if self._causality is not None:
            self._causality.start_chunk(first)

    @property
    def acquired(self) -> bool:
        """Return whether any lane of the chunk has acquired anything."""
        return self._read is not None or self._parts is not None

    def _both(self) -> tuple[Scope, Scope]:
        """Return the scopes of the block and of the whole GPU."""
        if self._scopes is None:
            self._scopes = Scope(self.rows, self._grid_blocks), Scope(self.rows, self._grid_blocks)
            for scope in self._scopes:
                scope.start_chunk(self.first, self.blocks)
        return self._scopes

    # ---- events

    def fence(self, mask: Mask, time: int, clock: Array, epoch: Array, block_only: bool) -> None:
        """Record a fence. `clock`, `epoch`: broadcast to [T, B]; `block_only`: for the lanes' own block."""
        self.used = self.announced = True
        heard = self._zeros() if self._heard is None else self._heard
        for scope in self._both()[: 1 if block_only else 2]:
            scope.fence(mask, time, clock, epoch, heard)
        self._inherit(mask)
        if self._causality is not None:
            self._causality.fence(mask, time)

    def stores_behind_a_fence(self, mask: Mask, time: int, space: str) -> bool:
        """Record a store; return whether every lane has executed a fence since its last recorded one to this space."""
        if not self.used:
            return False
        stored, place = self._stored.setdefault(space, self._zeros()), mask.place()
        behind = self._both()[0].fenced[place] > stored[place]
        _mark(stored, mask, time)
        return bool(behind.all() if mask.dense is None else behind[mask.dense].all())

    def publish(
        self, access: Access, time: int, clock: Array, epoch: Array, release: str | None, knowing: KnownClocks | None
    ) -> int:
        """Record that the lanes write a flag, and return the time of the last fence in front of it, 0 if there is none.

        `release`: "block" or "all" if the write itself is a fence with this scope; otherwise only fenced work is
        published. `knowing`: given if parts of warps have converged.
        """
        mask = access.mask
        self._flagged[self.first : self.first + self.blocks][mask.blocks] = time
        if access.site.op != "st":
            self._updated[self.first : self.first + self.blocks][mask.blocks] = time
        if self._causality is not None:
            self._causality.write_flag(access, time, release is not None)
        if release is None and not self.used:
            return 0
        self.used = self.announced = True
        inner, outer = self._both()
        known = None if self._parts is None else self._parts.known_to(mask)
        inner.publish(mask, time, clock, epoch, release is not None, known, knowing)
        if release == "all" or outer.fenced.any():
            outer.publish(mask, time, clock, epoch, release == "all", known, knowing)
            outer.pass_on(inner, mask)
        return time if release else int(inner.fenced[:, mask.blocks].max())

    def acquire(self, access: Access, time: int, heard: int, scope: str | None) -> None:
        """Record that the lanes have read a flag with its last fence at the time `heard`. `scope`: "block" or "all" if
        the read itself is a fence with this scope."""
        mask = access.mask
        if self._read is None or self._heard is None:
            self._read, self._heard = self._zeros(), self._zeros()
        if self._causality is not None:
            self._causality.read_flag(access, scope is not None)
        _mark(self._read, mask, time)
        if access.site.may_wait:
            warps = mask.full_dense().reshape(-1, WARP, self.blocks).any(axis=1).T
            self._read_in[self.first : self.first + self.blocks][warps] = time
        _mark(self._heard, mask, np.maximum(self._heard[mask.place()], heard))
        if scope:
            for each in self._both()[: 1 if scope == "block" else 2]:
                each.acquire(mask, heard)
            self._inherit(mask)

    def share_acquired(self, mask: Mask, parties: list[Array]) -> None:
        """Let the lanes of `mask` that converge in a __syncwarp(), bool[warps, 32, 1 or B] each, share what they have
        acquired."""
        if self._causality is not None:
            self._causality.settle(mask)
        if self._heard is None:
            return
        for scope in self._both():
            times = np.maximum(scope.acquired, self._heard).reshape(-1, WARP, self.blocks)
            for party in parties:
                latest = np.where(party, times, 0).max(axis=1, keepdims=True)
                times = np.where(party, latest, times)
            met = np.logical_or.reduce([np.broadcast_to(party, times.shape) for party in parties])
            scope.acquired = np.where(met, times, scope.acquired.reshape(times.shape)).reshape(self.rows, self.blocks)

    def pass_barrier(self, mask: Mask, time: int) -> None:
        """Record that a barrier of the block releases the lanes of `mask`, perhaps some of its lanes."""
        if self._causality is not None:
            self._causality.pass_barrier(mask, time)
        blocks = self.first + np.flatnonzero(mask.blocks)
        if self._read is not None:  # as the barrier lets all of a block know of the flags that one has read
            self._read[:, mask.blocks] = self._read[:, mask.blocks].max(axis=0)
        for known in (self._read_in,) if self._found is None else (self._read_in, self._found):
            known[blocks] = known[blocks].max(axis=1, keepdims=True)
        if self.announced and (self.used or self._heard is not None):
            heard = self._zeros() if self._heard is None else self._heard
            for scope in self._both():
                scope.pass_barrier(mask, heard)

    def arrive_in_part(self, number: int, mask: Mask, time: int) -> None:
        """Record that lanes arrive at a barrier for a number of threads."""
        self._start_phase(number, mask)
        if self._causality is not None:
            self._causality.arrive_in_part(number, mask, time)
        if self._parts is None:
            self._parts = PartBarriers(self.rows // WARP, self.blocks)
        self._parts.arrive(number, mask, time)
        if self._heard is not None:
            lanes = mask.full_dense()
            found = [np.where(lanes, np.maximum(scope.acquired, self._heard), 0).max(axis=0) for scope in self._both()]
            before = self._came.get(number, (found[0] * 0, found[0] * 0))
            self._came[number] = np.maximum(before[0], found[0]), np.maximum(before[1], found[1])

    def release_part(self, number: int, mask: Mask) -> None:
        """Record that such a barrier releases lanes."""
        self._ended.setdefault(number, np.zeros(self.blocks, bool))[mask.blocks] = True
        if self._causality is not None:
            self._causality.release_part(number, mask)
        if self._parts is not None:
            self._parts.release(number, mask)
        for scope, heard in zip(self._both(), self._came.get(number, ()), strict=False):
            scope.acquire(mask, np.broadcast_to(heard, scope.acquired.shape)[mask.place()])

    def _start_phase(self, number: int, mask: Mask) -> None:
        """Forget the arrivals of an ended phase of a barrier: the next one does not wait for them."""
        ended = self._ended.get(number)
        if ended is None or not (ended & mask.blocks).any():
            return
        blocks = ended & mask.blocks
        ended[blocks] = False
        if self._parts is not None:
            self._parts.forget(number, blocks)
        for heard in self._came.get(number, ()):
            heard[blocks] = 0
        if self._causality is not None:
            self._causality.forget_phase(number, blocks)

    def end_phase(self, at: Array, columns: Array) -> None:
        """Record that the phases of mbarriers have ended, at these byte offsets in these blocks of the chunk."""
        if self._causality is not None:
            self._causality.end_phase(at, columns)

    def unordered_arrival(self, access: Access) -> tuple[int, int] | None:
        """Return (warp, another warp) in the grid if the first arrives now at an mbarrier, and may not know of the
        other one's arrival in an earlier phase; else None."""
        return None if self._causality is None else self._causality.unordered_arrival(access)

    def _inherit(self, mask: Mask) -> None:
        """Let lanes that acquire something in their block acquire what others of it have acquired from elsewhere."""
        inner, outer = self._both()
        most = outer.acquired.max(axis=0)
        if most.any():
            outer.acquire(mask, np.minimum(most, inner.acquired)[mask.place()])

    def record_read(self, reader: Array, writer: Stamp, one_block: bool) -> None:
        """Record that lanes have read, as a flag, values written by other warps."""
        first = self.first * self.rows if one_block else 0
        reader, by, written = reader + first, writer.lane + first, writer.lane >= 0
        near = written & (reader // self.rows == by // self.rows)
        others, far = near & (reader // WARP != by // WARP), written & ~near
        if others.any():
            times = np.broadcast_to(writer.time, others.shape)[others]
            pairs = zip((reader[others] // WARP).tolist(), (by[others] // WARP).tolist(), strict=True)
            for pair, time in zip(pairs, times.tolist(), strict=True):
                self._seen[pair] = max(time, self._seen.get(pair, 0))
        if far.any() and self._read_in.size * self._grid_blocks <= _MOST_PAIRS:
            if self._found is None:
                self._found = np.zeros((*self._read_in.shape, self._grid_blocks), np.int32)
            (block, row), other = np.divmod(reader[far], self.rows), by[far] // self.rows
            times = np.broadcast_to(writer.time, far.shape)[far]
            np.maximum.at(self._found, (block, row // WARP, other), times)

    # ---- queries

    def knows_by_flag(self, before: Stamp, other: Array, at: Array, atomic: Array | None, one_block: bool) -> Array:
        """Return whether lanes `other` know through a flag of the accesses `before`, both at the entries `at`, bool.

        `atomic`: the earlier access was an atomic, whose word orders any later atomic or flag access.
        """
        lane, time = before.lane[at], entries_of(before.time, at)
        (block, row), (here, reader) = self._places(lane, one_block), self._places(other, one_block)
        inside, reader_at = block == here, (reader, here - self.first)
        known: Array = np.zeros(lane.shape, bool)
        if self.announced and self._scopes is not None:
            for scope, chosen in zip(self._scopes, (inside, ~inside), strict=True):
                acquired = scope.acquired[reader_at] > time
                known |= chosen & acquired & scope.has_published(before, at, block, row)
            if self._causality is not None and known.any():
                known &= self._causality.knows(here * self.rows + reader, block * self.rows + row, time)
        if self._parts is not None:
            heard = self._parts.known[reader // WARP, np.where(inside, row, 0) // WARP, reader_at[1]]
            known = known | (inside & (heard > time))
        if atomic is not None and self._read is not None:
            read = self._read[reader_at]
            turn = lane < other if self._in_order else np.True_  # an unknown order accuses nobody
            known = known | (atomic[at] & ((read > time) | ((read == time) & turn)))
        return known

    def lacks_a_fence(self, before: Array, time: Array | int, after: Array) -> Array:
        """Return whether only a fence is missing, bool: the block of `before` wrote a flag after `time`, and the block
        of `after` has read one since. Lanes count in the grid."""
        flagged, read = self._flagged[before // self.rows], self._read_in[after // self.rows].max(axis=1)
        return self._told(before, time, after, (flagged > time) & (read > flagged))

    def was_told(self, before: Array, time: Array | int, after: Array) -> Array:
        """Return whether the warp of `after` has read a flag that the block of `before` set after `time`, or any flag
        since the last atomic of that block, bool. So a thread may read data before it reads the flag once more.
        """
        (one, _), (two, row) = np.divmod(before, self.rows), np.divmod(after, self.rows)
        updated = self._updated[one]
        found = (updated > time) & (self._read_in[two, row // WARP] > updated)
        if self._found is not None:
            found |= self._found[two, row // WARP, one] > time
        return self._told(before, time, after, found)

    def _told(self, before: Array, time: Array | int, after: Array, across: Array) -> Array:
        """Return `across` for lanes of two blocks, else whether the warp of `after` has read a later flag of the other
        warp."""
        apart = before // self.rows != after // self.rows
        if not self._seen:
            known: Array = apart & across
            return known
        pairs = zip((after // WARP).tolist(), (before // WARP).tolist(), strict=True)
        inside = np.array([self._seen.get(pair, 0) for pair in pairs], np.int64) > time
        return np.where(apart, across, inside)

    def is_published(self, before: Stamp, entry: int, other: int, one_block: bool) -> bool:
        """Return whether a flag that the lane `other` has read has published an access; the lane may not have acquired
        it."""
        at = np.array([entry])
        (block, row), (here, mine) = (
            self._places(before.lane[at], one_block),
            self._places(np.array([other]), one_block),
        )
        scope = self._both()[0 if block[0] == here[0] else 1]
        if not scope.has_published(before, at, block, row)[0]:
            return False
        after, lane, time = here[0] * self.rows + mine[0], block[0] * self.rows + row[0], entries_of(before.time, at)
        return self._causality is None or self._causality.has_read(int(after), int(lane), int(np.max(time)))

    def _places(self, lane: Array, one_block: bool) -> tuple[Array, Array]:
        """Return the blocks of the grid and the rows of lanes."""
        return lane // self.rows + (self.first if one_block else 0), lane % self.rows

    def _zeros(self) -> Array:
        return np.zeros((self.rows, self.blocks), np.int64)


def _mark(times: Array, mask: Mask, time: Array | int) -> None:
    place = mask.place()
    times[place] = time if mask.dense is None else np.where(mask.dense, time, times[place])
