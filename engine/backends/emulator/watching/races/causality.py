"""What each warp knows of every other warp by barriers, fences and flags: vector clocks.

`flags` stores one time per lane, and takes a newer flag for one that tells of all older work. A flag tells only of the
work that its setter knew of at its fence: a thread that passes a flag on without a fence of its own announces nothing.
Here every flag has the times of all warps. Large grids count by blocks instead of warps, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import plain, spread, starts_of
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_MOST = 256  # warps or blocks of a grid
_ROWS = 1024  # that a table of flags starts with
_ORDERING = frozenset(("fence", "membar", "mbarrier", "release", "acquire", "acq_rel"))


def causality_of(machine: Machine) -> Causality | None:
    """Return the causality of a launch; None if its grid is too large, or its program has no fence."""
    if not any(_ORDERING & set(item.words) for item in machine.program.instructions):
        return None
    sizes = (size for size in (WARP, machine.rows) if machine.rows // size * machine.blocks <= _MOST)
    size = next(sizes, None)
    return None if size is None else Causality(size, machine.rows // size, machine.blocks)


class Causality:
    """The knowledge of groups of `size` lanes, with `each` of them in a block: warps, or whole blocks.

    known[g, h]: group g is ordered after the accesses of group h before this time.
    """

    def __init__(self, size: int, each: int, blocks: int) -> None:
        self._size, self._each, self._first = size, each, 0
        shape = (each * blocks, each * blocks)
        self.known: Array = np.zeros(shape, np.int32)
        self._fenced: Array = np.zeros(shape, np.int32)  # what each group knew at its last fence
        self._heard: Array = np.zeros(shape, np.int32)  # what the flags tell that it has read, with no fence behind yet
        self._fences = False  # whether any lane has executed a fence
        self._told: dict[int, int] = {}  # for the flag in a word: the row of `_rows` with what it tells
        self._rows: Array = np.zeros((_ROWS, shape[1]), np.int32)  # the first one tells nothing
        self._used = 1
        self._came: dict[tuple[int, int], Array] = {}  # by barrier and block: what the arrived threads know

    def start_chunk(self, first: int) -> None:
        """Start a chunk."""
        self._first = first

    # ---- events

    def fence(self, mask: Mask, time: int) -> None:
        """Record a fence."""
        self._fences = True
        groups = self._groups(mask)
        self._settle(groups)
        self.known[groups, groups] = time
        self._fenced[groups] = self.known[groups]

    def settle(self, mask: Mask) -> None:
        """Record a convergence or barrier that stands for the fence behind a read flag."""
        self._settle(self._groups(mask))

    def pass_barrier(self, mask: Mask, time: int) -> None:
        """Record that a barrier releases blocks."""
        blocks = mask.columns_at() + self._first
        groups = blocks[:, None] * self._each + np.arange(self._each)
        self._settle(groups.ravel())
        known = self.known[groups].max(axis=1)
        np.put_along_axis(known, groups, time, axis=1)
        self.known[groups], self._fenced[groups] = known[:, None], self._fenced[groups].max(axis=1)[:, None]

    def arrive_in_part(self, number: int, mask: Mask, time: int) -> None:
        """Record that lanes arrive at a barrier for a number of threads."""
        for block, groups in self._by_block(mask):
            self._settle(groups)
            self.known[groups, groups] = time
            knew = self.known[groups].max(axis=0)
            self._came[number, block] = np.maximum(knew, self._came.get((number, block), knew))

    def release_part(self, number: int, mask: Mask) -> None:
        """Record that such a barrier releases lanes."""
        for block, groups in self._by_block(mask):
            self.known[groups] = np.maximum(self.known[groups], self._came[number, block])

    def write_flag(self, access: Access, time: int, releases: bool) -> None:
        """Record a flag that lanes set. `releases`: the write is a fence itself."""
        if not releases and not self._fences:
            return
        words, groups = self._pairs(access)
        rows = (self.known if releases else self._fenced)[groups]
        if releases:
            rows[np.arange(groups.size), groups] = time
        starts = starts_of(words)
        rows = np.maximum.reduceat(rows, starts, axis=0) if starts.size < words.size else rows
        numbers = words[starts].tolist()
        if access.site.op != "st":  # an atomic continues the release of the value that it updates
            rows = np.maximum(rows, self._rows[[self._told.get(word, 0) for word in numbers]])
        kept = self._keep(rows)
        for more in range(_words_of(access)):
            self._told.update((word + more, row) for word, row in zip(numbers, kept, strict=True))

    def read_flag(self, access: Access, acquires: bool) -> None:
        """Record that lanes read flags. `acquires`: the read is a fence itself."""
        if not self._told:
            return
        words, groups = self._pairs(access)
        told = np.array([self._told.get(word, 0) for word in words.tolist()])
        for more in range(1, _words_of(access)):  # another access may have set half of a wide flag
            half = np.array([self._told.get(word + more, 0) for word in words.tolist()])
            other = half != told[: half.size]
            told, groups = np.r_[told, half[other]], np.r_[groups, groups[: half.size][other]]
        order = np.argsort(groups, kind="stable")
        order = order[told[order] > 0]
        groups, rows = groups[order], self._rows[told[order]]
        starts = starts_of(groups)
        if starts.size < groups.size:
            groups, rows = groups[starts], np.maximum.reduceat(rows, starts, axis=0)
        into = self.known if acquires else self._heard
        into[groups] = np.maximum(into[groups], rows)

    def _keep(self, rows: Array) -> range:
        """Store rows of flags, and return their numbers; rows that no flag has are dropped from time to time."""
        if self._used + len(rows) > len(self._rows):
            live = sorted(set(self._told.values()))
            numbers = {row: number for number, row in enumerate(live, 1)}
            self._told = {word: numbers[row] for word, row in self._told.items()}
            kept = np.zeros((max(_ROWS, 2 * (len(live) + len(rows))), rows.shape[1]), np.int32)
            kept[1 : len(live) + 1] = self._rows[live]
            self._rows, self._used = kept, len(live) + 1
        first, self._used = self._used, self._used + len(rows)
        self._rows[first : self._used] = rows
        return range(first, self._used)

    # ---- queries

    def knows(self, after: Array, before: Array, time: Array | int) -> Array:
        """Return whether the groups of lanes `after` may know of accesses by the lanes `before`, bool. Lanes count in
        the grid."""
        one, two = before // self._size, after // self._size
        made: Array = (one == two) | (self.known[two, one] > time)
        return made

    # ---- groups

    def _settle(self, groups: Array) -> None:
        self.known[groups] = np.maximum(self.known[groups], self._heard[groups])

    def _groups(self, mask: Mask) -> Array:
        if self._each == 1:
            return mask.columns_at() + self._first
        if mask.dense is None:
            warps = np.flatnonzero(mask.warp_bits[:, 0])
            made: Array = ((mask.columns_at() + self._first)[:, None] * self._each + warps).ravel()
            return made
        columns, warps = np.nonzero(mask.warp_bits.T)
        return (columns + self._first) * self._each + warps

    def _by_block(self, mask: Mask) -> Iterator[tuple[int, Array]]:
        groups = self._groups(mask)
        for block in np.unique(groups // self._each).tolist():
            yield block, groups[groups // self._each == block]

    def _pairs(self, access: Access) -> tuple[Array, Array]:
        """Return the pairs of a lane's first word of four bytes and the lane's group, by words. Words of shared memory
        have negative numbers."""
        mask, count = access.mask, len(self.known)
        blocks = mask.columns_at()[None, :] + self._first
        word = plain(access.address).astype(np.int64) >> 2
        if access.space == "shared":
            word = word - ((blocks + 1) << 32)
        if word.size == 1:
            pairs = word.ravel() * count + self._groups(mask)
        else:
            groups = blocks * self._each
            if self._each > 1:
                groups = groups + mask.rows_at()[:, None] // WARP
            lanes = spread(word * count + groups, (mask.height, mask.width))
            pairs = np.unique(lanes if mask.dense is None else lanes[mask.dense])
        return np.divmod(pairs, count)


def _words_of(access: Access) -> int:
    """Return how many words each lane accesses."""
    return max(1, access.site.size // 4)
