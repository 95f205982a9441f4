"""The order of basic blocks in which the group with the smallest number may always run first.

On a GPU the lanes of a warp converge where their paths meet again: at the branch's immediate postdominator. So all
blocks between a branch and its postdominator come before that one. The text mostly has this order, but the compiler
moves rare code to the end of a function, and a loop's end in front of its body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from engine.compile.control_flow import dominators, nodes_behind

Edges = Sequence[Sequence[int]]  # the successors of each block


def running_order(after: Edges, entries: Iterable[int]) -> list[int]:
    """Return the blocks in running order, as near to the order of the text as possible.

    `entries`: the first blocks of the kernel and of each called function. Loops with several entrances may leave the
    order of the text.
    """
    text, before = list(range(len(after))), predecessors(after)
    if _is_ordered(after, before):
        return text
    above, meets = dominators(before, set(entries)), postdominators(after)
    ahead = [[place for place in places if not above[block] >> place & 1] for block, places in enumerate(after)]
    later = [reached_blocks(ahead, place) for place in text]  # without a jump back to a loop's start
    earlier = [sum({1 << block for block in blocks if not above[block] >> place & 1})
               for place, blocks in enumerate(before)]  # fmt: skip
    for block, place in enumerate(meets):
        if len(set(after[block])) > 1 and place >= 0 and not above[block] >> place & 1:
            earlier[place] |= reached_blocks(after, block, place) & ~later[place]
    return _sorted(earlier) or text


def predecessors(after: Edges) -> list[list[int]]:
    """Return the predecessors of each block."""
    before: list[list[int]] = [[] for _ in after]
    for block, successors in enumerate(after):
        for place in successors:
            before[place].append(block)
    return before


def postdominators(after: Edges) -> list[int]:
    """Return the immediate postdominator of each block, the first block on every path to an end; -1: there is none, or
    no path leads to an end."""
    behind = nodes_behind(after)
    ends = sum(1 << block for block, places in enumerate(after) if not places)
    meets = []
    for block, common in enumerate(behind):
        common = common if reached_blocks(after, block) & ends else 0
        others = [place for place in range(len(after)) if place != block and common >> place & 1]
        meets.append(max(others, key=lambda place: behind[place].bit_count(), default=-1))
    return meets


def places_behind(meets: Sequence[int], start: int) -> Iterator[int]:
    """Yield the blocks that every path from `start` passes, nearest first. `meets`: the postdominators."""
    place = start
    while (place := meets[place]) >= 0:
        yield place


def _is_ordered(after: Edges, before: Edges) -> bool:
    """Return whether every jump back in the text closes a loop of neighbouring blocks with one entrance."""
    for end, successors in enumerate(after):
        for first in successors:
            if first > end:
                continue
            inside = range(first, end + 1)
            if any(each not in inside for block in inside if block != first for each in before[block]):
                return False
            if first < end and reached_blocks(before, end, first).bit_count() + 1 < len(inside):
                return False
    return True


def reached_blocks(after: Edges, start: int, stop: int = -1) -> int:
    """Return `start` and the blocks that it leads to without passing `stop`, as bits."""
    found, ahead = 1 << start, [start]
    while ahead:
        for place in after[ahead.pop()]:
            if place != stop and not found >> place & 1:
                found |= 1 << place
                ahead.append(place)
    return found


def _sorted(earlier: Sequence[int]) -> list[int]:
    """Return the order nearest to the text in which the blocks `earlier` come before each block; empty if none does."""
    waiting = [bits.bit_count() for bits in earlier]
    later: list[list[int]] = [[] for _ in earlier]
    for block, bits in enumerate(earlier):
        for place in range(len(earlier)):
            if bits >> place & 1:
                later[place].append(block)
    ready = [block for block, count in enumerate(waiting) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for block in later[order[-1]]:
            waiting[block] -= 1
            if not waiting[block]:
                heappush(ready, block)
    return order if len(order) == len(earlier) else []
