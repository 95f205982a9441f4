"""The requests of loops that the assembler unrolls, where the threads of a warp take different numbers of turns.

The machine code has three pieces: four turns at once, two, one. Each thread passes through those that its turns need,
and all threads of the warp wait behind each piece. Threads with 8 and with 7 turns make 8 + 2 + 1 requests, where the
PTX has 8. Some loops have one turn in front of the pieces, for all threads or for those of a single turn. The emulator
executes the PTX; here the accesses of the last turns are grouped anew when a loop has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.backends.emulator.ptx.program import Ahead, BasicBlock, UnrolledLoop
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.watching.wavefronts import by_warp
from engine.records import Array

_AT_ONCE, _THEN = 4, 2  # turns of the first and of the second piece
_MOST_KEPT = 1 << 23  # addresses; a loop with more is counted as the PTX has it


@dataclass
class _Passage:
    """Lanes in a loop. `going`: those of the next turn; `left`: (turns, lanes) of those that are through; `kept`:
    (turn, access) of the turns that may be grouped anew, None if they cannot be."""

    going: Mask
    turn: int = 0
    left: list[tuple[int, Mask]] = field(default_factory=list)
    kept: list[tuple[int, Access]] | None = field(default_factory=list)


@dataclass(frozen=True)
class Regrouped:
    """The requests of one instruction as (32, requests): its addresses and active lanes, in the PTX's turns (`before`)
    and in the machine code (`after`)."""

    access: Access
    before: tuple[Array, Array]
    after: tuple[Array, Array]


class UnrolledLoops:
    """The passages of a launch's lanes through these loops. Lanes that are in a loop take their turns together."""

    def __init__(self, loops: Collection[UnrolledLoop]) -> None:
        self._first = {loop.first: loop for loop in loops}
        self._last = {loop.last: loop for loop in loops}
        self._open: dict[UnrolledLoop, _Passage] = {}

    def enter(self, block: BasicBlock, mask: Mask) -> None:
        """Note that lanes begin a turn."""
        loop = self._first.get(block.index)
        if loop is None:
            return
        passage = self._open.get(loop)
        if passage is None:
            self._open[loop] = _Passage(mask)
            return
        passage.turn += 1
        if passage.going is not mask:  # others have come
            passage.kept = None
        if passage.kept and not passage.left:  # the turns before the last three are in the first piece for all lanes
            passage.kept = [one for one in passage.kept if one[0] > passage.turn - _AT_ONCE]

    def note(self, loop: UnrolledLoop, access: Access) -> None:
        """Keep an access in a loop."""
        passage = self._open.get(loop)
        if passage is not None and passage.kept is not None:
            passage.kept.append((passage.turn, access))
            if len(passage.kept) * access.mask.rows.size * access.mask.columns.size > _MOST_KEPT:
                passage.kept = None

    def decide(self, block: BasicBlock, taken: Mask | None, other: Mask | None) -> Iterator[Regrouped]:
        """Note which lanes leave a loop at the end of a turn. Yield its accesses when the last have left."""
        loop = self._last.get(block.index)
        passage = None if loop is None else self._open.get(loop)
        if loop is None or passage is None:
            return
        going, leaving = (taken, other) if block.successors[0] == loop.first else (other, taken)
        if leaving is not None:
            passage.left.append((passage.turn + 1, leaving))
        if going is not None:
            passage.going = going
            return
        del self._open[loop]
        if passage.kept and len(passage.left) > 1:
            yield from _regrouped(loop.ahead, passage.left, passage.kept)


def _regrouped(ahead: Ahead, left: list[tuple[int, Mask]], kept: list[tuple[int, Access]]) -> Iterator[Regrouped]:
    turns = np.zeros(left[0][1].full_dense().shape, np.int64)
    for count, mask in left:
        turns[mask.full_dense()] = count
    of_lane = by_warp(turns)
    fewest = np.where(of_lane > 0, of_lane, np.iinfo(np.int64).max).min(axis=0)
    differ = of_lane.max(axis=0) > fewest
    if not differ.any():
        return
    of_lane = of_lane[:, differ]
    first = kept[0][0]
    in_front = np.where(ahead == "all" or (ahead == "those of one turn" and of_lane == 1), 1, 0)
    behind_it = of_lane - in_front
    own = behind_it // _AT_ONCE * _AT_ONCE  # the turns in the first piece
    sites: dict[int, list[tuple[int, Access]]] = defaultdict(list)
    for turn, access in kept:
        sites[access.site.number].append((turn, access))
    for each in sites.values():
        places = [_of_lanes(access, turns.shape) for _, access in each]
        address, active = (
            np.stack([by_warp(part)[:, differ] for part in parts]) for parts in zip(*places, strict=True)
        )
        whole = each[-1][0] - first + 1
        moved, used = (np.zeros((whole + _THEN + 2, *of_lane.shape), kind) for kind in (np.int64, bool))
        for (turn, _), here, lanes in zip(each, address, active, strict=True):
            behind = turn - in_front - own  # the turn among those behind the first piece
            second = behind < (behind_it & _THEN)
            slot = np.where(behind < 0, turn - first, whole + np.where(second, behind, _THEN))
            slot = np.where(turn < in_front, whole + _THEN + 1, slot)
            lane, warp = np.nonzero(lanes)
            moved[slot[lane, warp], lane, warp] = here[lane, warp]
            used[slot[lane, warp], lane, warp] = True
        yield Regrouped(each[0][1], (_joined(address), _joined(active)), (_joined(moved), _joined(used)))


def _of_lanes(access: Access, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the address and whether it takes part of every lane of the chunk, (T, B)."""
    mask, full = access.mask, np.zeros(shape, np.int64)
    full[np.ix_(mask.rows, mask.columns)] = np.broadcast_to(plain(access.address), (mask.height, mask.width))
    return full, mask.full_dense()


def _joined(turns: Array) -> Array:
    """Put the requests of all turns side by side: (turns, 32, warps) -> (32, turns * warps)."""
    return np.concatenate(list(turns), axis=1)
