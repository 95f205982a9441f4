"""What each warp knows of every other warp by barriers, fences and flags: vector clocks.

`flags` stores one time per lane, and takes a newer flag for one that tells of all older work. A flag tells only of the
work that its setter knew of at its fence: a thread that passes a flag on without a fence of its own announces nothing.
Here every flag has the times of all warps. Large grids count by blocks instead of warps, or not at all.

A warp has its own clocks of the warps of its block. It knows of other blocks by flags, and many warps read the same
ones: these clocks are rows of a table, which never change and which flags and warps share by their numbers. A launch
that needs too many of them goes on without.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import plain, spread, starts_of
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_MOST_WARPS, _MOST_BLOCKS = 1 << 10, 1 << 16  # of a grid that counts by them
_MOST_CLOCKS = 1 << 24  # in the rows of a launch, 4 bytes each
_AT_ONCE = 1 << 20  # clocks that are joined at once
_MOST_FLAGS = 1 << 16  # words
_NO_WORD = np.iinfo(np.int64).min
_COLLECT = 1024  # rows from which unused ones are dropped
_ORDERING = frozenset(("fence", "membar", "mbarrier", "release", "acquire", "acq_rel"))


def causality_of(machine: Machine) -> Causality | None:
    """Return the causality of a launch; None if its grid is too large, or its program has no fence."""
    if not any(_ORDERING & set(item.words) for item in machine.program.instructions):
        return None
    warps = machine.rows // WARP
    if warps * machine.blocks <= _MOST_WARPS:
        return Causality(WARP, warps, machine.blocks)
    return Causality(machine.rows, 1, machine.blocks) if machine.blocks <= _MOST_BLOCKS else None


class Rows:
    """Clocks of all groups, by numbers; row 0 knows nothing. `lost`: whether there was no room for a row."""

    def __init__(self, groups: int) -> None:
        self.lost = False
        self._most = max(4, _MOST_CLOCKS // groups)
        self._table: Array = np.zeros((1, groups), np.int32)
        self._used = 1
        self._collect_at = min(_COLLECT, self._most // 2)

    @property
    def full(self) -> bool:
        """Return whether unused rows should be dropped now."""
        return self._used > self._collect_at

    def make(self, bases: Array, starts: Array, columns: Array, clocks: Array) -> Array:
        """Return the numbers of new rows, one for each run of entries that begins at `starts`: the latest clocks of the
        rows `bases` and of the entries' own `clocks` in these `columns`."""
        if self.lost or self._used + starts.size > self._most:
            return self._lose(starts.size)
        rows = self._table[bases[starts]]
        run = np.repeat(np.arange(starts.size), np.diff(starts, append=bases.size))
        if starts.size < bases.size:
            pairs = np.unique(run * self._used + bases)
            for at, base in zip(*np.divmod(pairs, self._used), strict=True):
                np.maximum(rows[at], self._table[base], out=rows[at])
        np.maximum.at(rows, (run[:, None], columns), clocks)
        return self._keep(rows)

    def join(self, one: Array, other: Array) -> Array:
        """Return the numbers of the rows with the later clocks of two rows each."""
        least, most = np.minimum(one, other), np.maximum(one, other)
        unlike = ((least > 0) & (least < most)).nonzero()
        if unlike[0].size:
            pairs, place = np.unique(least[unlike] << 32 | most[unlike], return_inverse=True)
            parts = 1 + pairs.size * self._table.shape[1] // _AT_ONCE
            most[unlike] = np.concatenate([self._join(*_split(part)) for part in np.array_split(pairs, parts)])[place]
        return most

    def join_all(self, numbers: Array) -> Array:
        """Return the numbers of the rows with the latest clocks of each line of numbers."""
        made = numbers[:, 0].copy()
        for column in range(1, numbers.shape[1]):
            made = self.join(made, numbers[:, column])
        return made

    def clocks(self, number: Array, group: Array) -> Array:
        """Return entries of rows."""
        found: Array = self._table[number, group]
        return found

    def collect(self, used: list[Array]) -> None:
        """Keep only the rows with these numbers, which change in place."""
        live = np.unique(np.concatenate([np.zeros(1, np.int64), *used]))
        self._table[: live.size] = self._table[live]
        for numbers in used:
            numbers[:] = np.searchsorted(live, numbers)
        self._used, self._collect_at = live.size, max(min(_COLLECT, self._most // 2), 2 * live.size)
        if 2 * live.size > self._most:
            self._lose(0)

    def _join(self, one: Array, other: Array) -> Array:
        first, second = self._table[one], self._table[other]
        later = np.maximum(first, second)
        made: Array = np.where((later == first).all(axis=1), one, other)
        new = ((later != second).any(axis=1) & (made == other)).nonzero()[0]
        made[new] = self._keep(later[new])
        return made

    def _keep(self, rows: Array) -> Array:
        first, last = self._used, self._used + len(rows)
        if last > self._most:
            return self._lose(len(rows))
        if last > len(self._table):
            table = np.zeros((min(self._most, 2 * last), rows.shape[1]), np.int32)
            table[:first] = self._table[:first]
            self._table = table
        self._table[first:last], self._used = rows, last
        return np.arange(first, last)

    def _lose(self, count: int) -> Array:
        self.lost = True
        return np.zeros(count, np.int64)


class Causality:
    """The knowledge of groups of `size` lanes, with `each` of them in a block: warps, or whole blocks.

    A group is ordered after the accesses of another one before a time, its clock of that group. `_near`: the clocks of
    the groups of its block; `_far`: the number of a row with clocks of all groups; the later one counts.
    """

    def __init__(self, size: int, each: int, blocks: int) -> None:
        self._size, self._each, self._first = size, each, 0
        self._rows = Rows(each * blocks)
        self._near: Array = np.zeros((each * blocks, each), np.int32)
        self._far: Array = np.zeros(each * blocks, np.int64)
        self._fenced_near, self._fenced_far = self._near.copy(), self._far.copy()  # at the last fence
        self._heard = self._far.copy()  # what the flags tell that a group has read, with no fence behind yet
        self._announced = self._far.copy()  # the row of `_fenced_near` and `_fenced_far`, 0 if there is none yet
        self._fences = False  # whether any lane has executed a fence
        self._flags = np.full(1, _NO_WORD)  # the words of flags, ascending
        self._told = np.zeros(1, np.int64)  # the rows with what they tell
        self._setters = np.full(1, -1)  # the groups that have stored them last, -1 after an atomic
        self._came: dict[tuple[int, int], tuple[Array, Array]] = {}  # near and far, by barrier and block

    def start_chunk(self, first: int) -> None:
        """Start a chunk."""
        self._first = first

    # ---- events

    def fence(self, mask: Mask, time: int) -> None:
        """Record a fence."""
        self._fences = True
        groups = self._groups(mask)
        self._settle(groups)
        self._near[groups, groups % self._each] = time
        self._fenced_near[groups], self._fenced_far[groups] = self._near[groups], self._far[groups]
        self._announced[groups] = 0

    def settle(self, mask: Mask) -> None:
        """Record a convergence or barrier that stands for the fence behind a read flag."""
        self._settle(self._groups(mask))

    def pass_barrier(self, mask: Mask, time: int) -> None:
        """Record that a barrier releases blocks."""
        blocks = np.flatnonzero(mask.blocks) + self._first
        self._near.reshape(-1, self._each**2)[blocks] = time
        if self._flags.size == 1 and not self._fences:
            return
        groups = blocks[:, None] * self._each + np.arange(self._each)
        self._settle(groups.ravel())
        if self._each > 1:
            self._far[groups] = self._rows.join_all(self._far[groups])[:, None]
            self._fenced_near[groups] = self._fenced_near[groups].max(axis=1)[:, None]
            self._fenced_far[groups] = self._rows.join_all(self._fenced_far[groups])[:, None]
            self._announced[groups] = 0

    def arrive_in_part(self, number: int, mask: Mask, time: int) -> None:
        """Record that lanes arrive at a barrier for a number of threads."""
        for block, groups in self._by_block(mask):
            self._settle(groups)
            self._near[groups, groups % self._each] = time
            near, far = self._near[groups].max(axis=0), self._rows.join_all(self._far[groups][None])
            before = self._came.get((number, block), (near, far))
            self._came[number, block] = np.maximum(near, before[0]), self._rows.join(far, before[1])

    def forget_phase(self, number: int, blocks: Array) -> None:
        """Start a new phase of such a barrier in some blocks of the chunk, bool."""
        for block in (np.flatnonzero(blocks) + self._first).tolist():
            self._came.pop((number, block), None)

    def release_part(self, number: int, mask: Mask) -> None:
        """Record that such a barrier releases lanes."""
        for block, groups in self._by_block(mask):
            near, far = self._came[number, block]
            self._near[groups] = np.maximum(self._near[groups], near)
            self._far[groups] = self._rows.join(self._far[groups], far)

    def write_flag(self, access: Access, time: int, releases: bool) -> None:
        """Record a flag that lanes set. `releases`: the write is a fence itself."""
        if self._rows.lost or not (releases or self._fences):
            return
        words, groups = self._lanes(access)
        words, groups = np.divmod(np.unique(words * len(self._near) + groups), len(self._near))
        starts = starts_of(words)
        if releases:
            near = self._near[groups]
            near[np.arange(groups.size), groups % self._each] = time
            rows = self._make(groups, starts, self._far[groups], near)
        elif starts.size == words.size:
            rows = self._announce(groups)
        else:
            rows = self._make(groups, starts, self._fenced_far[groups], self._fenced_near[groups])
        words, groups, count = words[starts], groups[starts], _words_of(access)
        if "mbarrier" in access.site.words:  # the second word tells of the arrivals of the present phase
            words, count = words + 1, 1
        # An atomic continues the release of the value that it updates, and so does the next store of the same thread.
        if access.site.op != "st":
            rows, groups = self._rows.join(rows, self._told_by(words)), np.full(groups.shape, -1)
        else:
            rows = self._rows.join(rows, np.where(self._setter_of(words) == groups, self._told_by(words), 0))
        for more in range(count):
            self._tell(words + more, rows)
            self._setters[np.searchsorted(self._flags, words + more)] = groups
        self._collect()

    def end_phase(self, at: Array, columns: Array) -> None:
        """Record that the phases of mbarriers have ended, at these byte offsets in these blocks of the chunk."""
        if self._rows.lost or self._flags.size == 1:
            return
        words = np.sort((at >> 2) - ((columns + self._first + 1) << 32))
        self._tell(words, self._rows.join(self._told_by(words), self._told_by(words + 1)))
        self._tell(words + 1, np.zeros(words.size, np.int64))

    def unordered_arrival(self, access: Access) -> tuple[int, int] | None:
        """Return (group, another group of its block) if the first arrives now at an mbarrier, and may not know of the
        other one's arrival in a phase that has ended; else None.

        A barrier behind the read of a flag stands for its fence, and so does the arrival itself here.
        """
        if self._rows.lost or self._each == 1 or self._flags.size == 1:
            return None
        words, groups = self._lanes(access)
        told = self._told_by(words)
        pairs = np.unique(told[told > 0] << 32 | groups[told > 0])
        if not pairs.size:
            return None
        told, groups = _split(pairs)
        others = (groups // self._each * self._each)[:, None] + np.arange(self._each)
        known = np.maximum(*(self._rows.clocks(rows[groups][:, None], others) for rows in (self._far, self._heard)))
        unknown = self._rows.clocks(told[:, None], others) > np.maximum(known, self._near[groups])
        found = np.argwhere(unknown & (others != groups[:, None]))
        return (int(groups[found[0, 0]]), int(others[tuple(found[0])])) if found.size else None

    def read_flag(self, access: Access, acquires: bool) -> None:
        """Record that lanes read flags. `acquires`: the read is a fence itself."""
        if self._rows.lost or self._flags.size == 1:
            return
        words, groups = self._lanes(access)
        into = self._far if acquires else self._heard
        count = 1 if "mbarrier" in access.site.words else _words_of(access)
        for more in range(count):  # another access may have set half of a wide flag
            for readers, rows in _turns(groups, self._told_by(words + more)):
                into[readers] = self._rows.join(into[readers], rows)
        self._collect()

    # ---- rows

    def _announce(self, groups: Array) -> Array:
        """Return the rows with what groups knew at their last fence."""
        new = np.unique(groups[self._announced[groups] == 0])
        near, far = self._fenced_near[new], self._fenced_far[new]
        some = near.any(axis=1)
        self._announced[new] = far
        self._announced[new[some]] = self._make(new[some], np.arange(new[some].size), far[some], near[some])
        return self._announced[groups]

    def _make(self, groups: Array, starts: Array, far: Array, near: Array) -> Array:
        columns = (groups // self._each * self._each)[:, None] + np.arange(self._each)
        return self._rows.make(far, starts, columns, near)

    def _collect(self) -> None:
        """Drop unused rows from time to time."""
        if self._rows.full:
            came = [far for _, far in self._came.values()]
            self._rows.collect([self._told, self._far, self._fenced_far, self._heard, self._announced, *came])

    # ---- flags

    def _told_by(self, words: Array) -> Array:
        """Return the rows with what the flags in these words tell."""
        at = np.minimum(np.searchsorted(self._flags, words), self._flags.size - 1)
        made: Array = np.where(self._flags[at] == words, self._told[at], 0)
        return made

    def _setter_of(self, words: Array) -> Array:
        """Return the groups that have stored the flags in these words last, -1 if none has."""
        at = np.minimum(np.searchsorted(self._flags, words), self._flags.size - 1)
        made: Array = np.where(self._flags[at] == words, self._setters[at], -1)
        return made

    def _tell(self, words: Array, rows: Array) -> None:
        """Let the flags in these words, ascending, tell what is in the rows."""
        at = np.searchsorted(self._flags, words)
        new = self._flags[np.minimum(at, self._flags.size - 1)] != words
        if new.any():
            self._flags = np.insert(self._flags, at[new], words[new])
            self._told, self._setters = np.insert(self._told, at[new], 0), np.insert(self._setters, at[new], -1)
            self._rows.lost |= self._flags.size > _MOST_FLAGS
        self._told[np.searchsorted(self._flags, words)] = rows

    # ---- queries

    def knows(self, after: Array, before: Array, time: Array | int) -> Array:
        """Return whether the groups of lanes `after` may know of accesses by the lanes `before`, bool. Lanes count in
        the grid."""
        one, two = before // self._size, after // self._size
        if self._rows.lost:
            return np.ones(one.shape, bool)
        made = self._rows.clocks(self._far[two], one) > time
        if not made.all():
            inside = one // self._each == two // self._each
            made |= (one == two) | (inside & (self._near[two, one % self._each] > time))
        return made

    def has_read(self, after: int, before: int, time: int) -> bool:
        """Return whether a flag that the group of the lane `after` has read tells of an access by the lane `before`,
        with or without a fence behind that read. Lanes count in the grid."""
        one, two = before // self._size, after // self._size
        told = self._rows.lost or one == two
        return told or bool(self._rows.clocks(self._heard[two : two + 1], np.array([one]))[0] > time)

    # ---- groups

    def _settle(self, groups: Array) -> None:
        self._far[groups] = self._rows.join(self._far[groups], self._heard[groups])

    def _groups(self, mask: Mask) -> Array:
        if self._each == 1:
            return np.flatnonzero(mask.blocks) + self._first
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

    def _lanes(self, access: Access) -> tuple[Array, Array]:
        """Return each lane's first word of four bytes and its group; once per group if all lanes access one word. Words
        of shared memory have negative numbers."""
        mask = access.mask
        blocks = mask.columns_at()[None, :] + self._first
        word = plain(access.address).astype(np.int64) >> 2
        if access.space == "shared":
            word = word - ((blocks + 1) << 32)
        if word.size == 1:
            groups = self._groups(mask)
            return np.full(groups.size, word.item()), groups
        groups = blocks * self._each
        if self._each > 1:
            groups = groups + mask.rows_at()[:, None] // WARP
        words, groups = (spread(each, (mask.height, mask.width)) for each in (word, groups))
        return (words.ravel(), groups.ravel()) if mask.dense is None else (words[mask.dense], groups[mask.dense])


def _words_of(access: Access) -> int:
    """Return how many words each lane accesses."""
    return max(1, access.site.size // 4)


def _split(pairs: Array) -> tuple[Array, Array]:
    return pairs >> 32, pairs & 0xFFFFFFFF


def _turns(groups: Array, rows: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the pairs of a group and a row other than 0, at most one pair per group at a time."""
    read = rows.nonzero()[0]
    if not read.size:
        return
    pairs = np.unique(groups[read] << 32 | rows[read])
    groups, rows = _split(pairs)
    starts = starts_of(groups)
    turn = np.arange(groups.size) - np.repeat(starts, np.diff(starts, append=groups.size))
    for now in range(int(turn.max()) + 1):
        at = (turn == now).nonzero()[0]
        yield groups[at], rows[at]
