"""The barriers that lie in shared memory (`mbarrier`): what their 64 bits hold, and what is under way to them.

The GPU does not say what is in the bits. Here: how many arrivals the phase still lacks, how many every phase wants, how
many bytes of copies it still lacks (that may be negative for a while), the phase's parity, and a mark that somebody
has initialised it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.records import Array

MOST_ARRIVALS = (1 << 20) - 1
_EXPECTED, _BYTES, _PARITY, _MADE = (np.uint64(bit) for bit in (20, 40, 62, 63))
_COUNT, _BIAS = np.uint64(MOST_ARRIVALS), 1 << 20
_SPAN = np.uint64((1 << 21) - 1)


@dataclass
class State:
    """Some barriers, int64 each: arrivals that the phase lacks, arrivals of a phase, bytes that it lacks, parity."""

    pending: Array
    expected: Array
    missing: Array
    parity: Array

    def packed(self) -> Array:
        """Their words, uint64."""
        counts = (self.pending.astype(np.uint64) & _COUNT) | (self.expected.astype(np.uint64) & _COUNT) << _EXPECTED
        missing = ((self.missing + _BIAS).astype(np.uint64) & _SPAN) << _BYTES
        made: Array = counts | missing | self.parity.astype(np.uint64) << _PARITY | np.uint64(1) << _MADE
        return made

    def complete(self) -> None:
        """The phases that lack nothing end, and the next ones begin."""
        ended = (self.pending == 0) & (self.missing == 0)
        self.parity = self.parity ^ ended
        self.pending = np.where(ended, self.expected, self.pending)


def opened(words: Array) -> State:
    """What words, uint64, say."""
    pending, expected = words & _COUNT, words >> _EXPECTED & _COUNT
    missing = (words >> _BYTES & _SPAN).astype(np.int64) - _BIAS
    return State(pending.astype(np.int64), expected.astype(np.int64), missing, parity_of(words))


def parity_of(words: Array) -> Array:
    """0 or 1, int64."""
    made: Array = (words >> _PARITY & np.uint64(1)).astype(np.int64)
    return made


def pending_of(words: Array) -> Array:
    """The arrivals that the phase lacks, uint32."""
    made: Array = (words & _COUNT).astype(np.uint32)
    return made


def initialised(words: Array) -> Array:
    """bool."""
    made: Array = words >> _MADE == np.uint64(1)
    return made


@dataclass
class _Delivery:
    """What arrives once somebody looks at its barrier: for each lane of `mask`, (height, width), the barrier's key, or
    -1 once it has arrived. `arrive` lets it, for some of the lanes."""

    arrive: Callable[[Mask], None]
    mask: Mask
    keys: Array


class Phases:
    """What is under way to the barriers of some blocks. `changes` grows whenever a barrier may have changed."""

    def __init__(self) -> None:
        self.changes = 0
        self._under_way: list[_Delivery] = []

    def send(self, arrive: Callable[[Mask], None], mask: Mask, keys: Array) -> None:
        """`arrive` is to happen at any time from now on; here as late as it can. `keys`: int64 (height, width)."""
        active = keys if mask.dense is None else np.where(mask.dense, keys, -1)
        self._under_way.append(_Delivery(arrive, mask, active.copy()))
        self.changes += 1

    def deliver(self, keys: Array) -> None:
        """Somebody looks at these barriers: what is under way to them arrives, in the order in which it was sent."""
        if not self._under_way:
            return
        wanted = np.unique(keys)
        for each in self._under_way:
            arriving = (each.keys >= 0) & np.isin(each.keys, wanted)
            if arriving.any():
                each.keys = np.where(arriving, -1, each.keys)
                each.arrive(each.mask if arriving.all() else Mask(each.mask.rows, each.mask.columns, arriving))
        self._under_way = [each for each in self._under_way if (each.keys >= 0).any()]


def arrived(state: State, which: Array, counts: Array) -> Array:
    """Lanes arrive one after the other: lane i at barrier `which[i]` of `state`, which is changed, `counts[i]` times.

    Returns what each found, as words. Of a barrier that lacks bytes no phase ends by arrivals alone.
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
        """(phases ended, arrivals lacking) of barriers `at` after so many arrivals."""
        pending, expected = state.pending[at], np.maximum(state.expected[at], 1)
        beyond = arrivals - pending
        ended = np.where((beyond < 0) | held[at], 0, 1 + beyond // expected)
        return ended, np.where(ended > 0, expected - beyond % expected, pending - arrivals)

    ended, lacking = after(before, ranked)
    found = State(lacking, state.expected[ranked], state.missing[ranked], (state.parity[ranked] + ended) & 1).packed()
    ended, state.pending = after(sums, slice(None))
    state.parity = (state.parity + ended) & 1
    made = np.empty(which.size, np.uint64)
    made[order] = found
    return made
