"""The blocks that run together and their state: memory, barrier votes, asynchronous copies, mbarrier phases.

The GPU does not document the bits of an mbarrier. Here they are: the arrivals the phase still needs, the arrivals of
every phase, the bytes of copies it still needs (for a while this may be negative), the parity of the phase, and a bit
that marks it as initialised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.memory import Words
from engine.backends.emulator.state.store_buffer import StoreBuffer
from engine.records import Array

_EVERYTHING = np.iinfo(np.int64).max


@dataclass
class _Copy:
    """One copy. `arrive` completes it for some lanes; `group`: the group of each lane (height, width), -1 for none."""

    arrive: Callable[[Mask], None]
    mask: Mask
    group: Array


class AsyncCopies:
    """The asynchronous copies in flight of some blocks, in groups per lane. A copy without a wait never arrives."""

    def __init__(self, rows: int, blocks: int) -> None:
        self._in_flight: list[_Copy] = []
        self._groups = np.zeros((rows, blocks), np.int64)

    def issue(self, arrive: Callable[[Mask], None], mask: Mask) -> None:
        """Add a copy to each lane's open group. `arrive(lanes)` will store it for some of the lanes of `mask`."""
        group = self._groups[mask.place()]
        self._in_flight.append(
            _Copy(arrive, mask, group.copy() if mask.dense is None else np.where(mask.dense, group, -1))
        )

    def close(self, mask: Mask) -> None:
        """Close the open group of these lanes (commit_group)."""
        self._groups[mask.place()] += 1 if mask.dense is None else mask.dense

    def in_flight(self) -> tuple[_Copy, ...]:
        """Return all copies in flight, for `finish`."""
        return tuple(self._in_flight)

    def finish(self, copies: tuple[_Copy, ...], mask: Mask) -> None:
        """Complete these copies for the lanes of `mask`."""
        self._arrive(copies, mask, _EVERYTHING)

    def wait(self, mask: Mask, newest: int | None) -> None:
        """Complete all copies except those of the `newest` closed groups (None: all, including open groups)."""
        limit = _EVERYTHING if newest is None else self._groups[mask.place()] - newest
        self._arrive(self._in_flight, mask, limit)

    def _arrive(self, copies: Sequence[_Copy], mask: Mask, limit: Array | int) -> None:
        """Complete the copies of the lanes of `mask` whose group is below the lane's `limit`."""
        limits = np.zeros(self._groups.shape, np.int64)
        limits[mask.place()] = limit if mask.dense is None else np.where(mask.dense, limit, 0)
        for copy in copies:
            arriving = (copy.group >= 0) & (copy.group < limits[copy.mask.place()])
            if arriving.any():
                copy.arrive(copy.mask if arriving.all() else Mask(copy.mask.rows, copy.mask.columns, arriving))
                copy.group = np.where(arriving, -1, copy.group)
        self._in_flight = [copy for copy in self._in_flight if (copy.group >= 0).any()]


class Votes:
    """The votes of `barrier.red` in some blocks. `results`: uint32 that broadcasts to (rows, blocks): the last result
    of each thread, with the number of yes votes, and bit 30 set if all voted yes."""

    def __init__(self, rows: int, blocks: int) -> None:
        self._shape = (rows, blocks)
        self._yes: Array | None = None
        self.results: Array = np.zeros((1, blocks), np.uint32)

    def cast(self, mask: Mask, yes: Array) -> None:
        """Record the predicates of the lanes of `mask`, given in its rows and columns or broadcast."""
        if self._yes is None:
            self._yes = np.zeros(self._shape, bool)
        self._yes[np.ix_(mask.rows, mask.columns)] = yes

    def count(self, released: Mask) -> None:
        """Count the votes for each released thread.

        All groups of a block are counted together, whenever they arrived. Each thread keeps its own result, because
        another barrier of the block may count before this thread reads it.
        """
        if self._yes is None:
            return
        lanes = released.full_dense()
        yes = (self._yes & lanes).sum(axis=0)
        counted = yes | ((yes == lanes.sum(axis=0)).astype(np.int64) << 30)
        self.results = np.where(lanes, counted, self.results).astype(np.uint32)


MOST_ARRIVALS = (1 << 20) - 1
_EXPECTED, _BYTES, _PARITY, _INITIALISED = (np.uint64(bit) for bit in (20, 40, 62, 63))
_COUNT, _BIAS = np.uint64(MOST_ARRIVALS), 1 << 20
_SPAN = np.uint64((1 << 21) - 1)


@dataclass
class BarrierStates:
    """Some barriers, int64 each: pending arrivals, arrivals per phase, missing bytes, parity; and how many phases have
    ended since they were read."""

    pending: Array
    expected: Array
    missing: Array
    parity: Array
    ended: Array | int = 0

    def packed(self) -> Array:
        """Return their words, uint64."""
        counts = (self.pending.astype(np.uint64) & _COUNT) | (self.expected.astype(np.uint64) & _COUNT) << _EXPECTED
        missing = ((self.missing + _BIAS).astype(np.uint64) & _SPAN) << _BYTES
        made: Array = counts | missing | self.parity.astype(np.uint64) << _PARITY | np.uint64(1) << _INITIALISED
        return made

    def complete(self) -> None:
        """End the complete phases and start the next ones."""
        ended = (self.pending == 0) & (self.missing == 0)
        self.parity, self.ended = self.parity ^ ended, self.ended + ended
        self.pending = np.where(ended, self.expected, self.pending)


def unpack_states(words: Array) -> BarrierStates:
    """Return the states that are stored in these words, uint64."""
    pending, expected = words & _COUNT, words >> _EXPECTED & _COUNT
    missing = (words >> _BYTES & _SPAN).astype(np.int64) - _BIAS
    return BarrierStates(pending.astype(np.int64), expected.astype(np.int64), missing, parity_of(words))


def parity_of(words: Array) -> Array:
    """Return the parity, 0 or 1, int64."""
    made: Array = (words >> _PARITY & np.uint64(1)).astype(np.int64)
    return made


def pending_of(words: Array) -> Array:
    """Return the pending arrivals of the phase, uint32."""
    made: Array = (words & _COUNT).astype(np.uint32)
    return made


def are_initialised(words: Array) -> Array:
    """Return which barriers are initialised, bool."""
    made: Array = words >> _INITIALISED == np.uint64(1)
    return made


@dataclass
class _Delivery:
    """An arrival in flight. `keys`: for each lane of `mask`, (height, width), the key of its barrier, or -1 after the
    arrival. `arrive` performs it for some of the lanes."""

    arrive: Callable[[Mask], None]
    mask: Mask
    keys: Array


class Phases:
    """The arrivals in flight to the barriers of some blocks. `changes` grows whenever a barrier may have changed."""

    def __init__(self) -> None:
        self.changes = 0
        self._in_flight: list[_Delivery] = []

    def send(self, arrive: Callable[[Mask], None], mask: Mask, keys: Array) -> None:
        """Send an arrival, which may happen at any time and is delayed as long as possible. `keys`: int64 (height,
        width)."""
        active = keys if mask.dense is None else np.where(mask.dense, keys, -1)
        self._in_flight.append(_Delivery(arrive, mask, active.copy()))
        self.changes += 1

    def deliver(self, wanted: Callable[[], Array]) -> None:
        """Perform arrivals in flight in the order they were sent, as long as `wanted` names their barriers: those of a
        phase that nobody waits for stay in flight."""
        if not self._in_flight:
            return
        keys = np.unique(wanted())
        for each in self._in_flight:
            arriving = (each.keys >= 0) & np.isin(each.keys, keys)
            if arriving.any():
                each.keys = np.where(arriving, -1, each.keys)
                each.arrive(each.mask if arriving.all() else Mask(each.mask.rows, each.mask.columns, arriving))
                keys = np.unique(wanted())
        self._in_flight = [each for each in self._in_flight if (each.keys >= 0).any()]


def count_arrivals(state: BarrierStates, which: Array, counts: Array) -> Array:
    """Let lanes arrive one after the other: lane i at barrier `which[i]` of `state` (changed in place), `counts[i]`
    times.

    Return the word that each lane found. A phase with missing bytes does not end by arrivals alone.
    """
    order = np.argsort(which, kind="stable")
    ranked, amounts = which[order], counts[order]
    total = np.cumsum(amounts)
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    before_all = (total - amounts)[starts]
    before = total - amounts - np.repeat(before_all, np.diff(np.r_[starts, ranked.size]))
    sums = np.zeros(state.pending.size, np.int64)
    np.add.at(sums, which, counts)
    held = state.missing != 0

    def after(arrivals: Array, at: Array | slice) -> tuple[Array, Array]:
        """Return (ended phases, pending arrivals) of the barriers `at` after this many arrivals."""
        pending, expected = state.pending[at], np.maximum(state.expected[at], 1)
        beyond = arrivals - pending
        ended = np.where((beyond < 0) | held[at], 0, 1 + beyond // expected)
        return ended, np.where(ended > 0, expected - beyond % expected, pending - arrivals)

    ended, lacking = after(before, ranked)
    found = BarrierStates(
        lacking, state.expected[ranked], state.missing[ranked], (state.parity[ranked] + ended) & 1
    ).packed()
    ended, state.pending = after(sums, slice(None))
    state.parity, state.ended = (state.parity + ended) & 1, state.ended + ended
    made = np.empty(which.size, np.uint64)
    made[order] = found
    return made


class ResidentBlocks:
    """The blocks of `info`. `memories`: their shared and local memory by name. `votes`: the votes at their barriers.
    `stores`: their delayed stores; None if no store is delayed."""

    def __init__(self, info: ChunkInfo, memories: Mapping[str, Words], stores: StoreBuffer | None = None) -> None:
        self.info, self.memories, self.stores = info, memories, stores
        self.first, self.blocks = info.first, info.blocks
        self.votes = Votes(info.rows, info.blocks)

    @cached_property
    def phases(self) -> Phases:
        """Return the arrivals in flight to the barriers in their shared memory."""
        return Phases()

    @cached_property
    def copies(self) -> AsyncCopies:
        """Return their asynchronous copies."""
        return AsyncCopies(self.info.rows, self.info.blocks)

    @cached_property
    def products(self) -> AsyncCopies:
        """Return their asynchronous matrix products, in groups like copies."""
        return AsyncCopies(self.info.rows, self.info.blocks)
