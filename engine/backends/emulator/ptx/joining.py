"""What the assembler asks of shared memory where the PTX has a load or store: neighbours are often joined into one.

Four loads of 4 bytes become one of 16; a word that was read before is not read again. The machine code says of each
PTX line which accesses were made of it. Where one is wider than the line's own, its neighbours (the same base, offsets
beside it) have none, and come with it. What is not understood so is counted as the PTX says, and its line named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.requests import NO_REQUEST, Request, Requests
from engine.backends.emulator.ptx.syntax import WIDTHS, Address, Instruction, Symbol
from engine.compile.assembly import SharedAccess


@dataclass(frozen=True, eq=False)
class _Place:
    """A load or store of shared memory in the PTX; `made`: the sizes of those that the assembler made of it."""

    item: Instruction
    block: int
    number: int
    op: str
    size: int
    base: object
    offset: int
    made: tuple[int, ...]

    @property
    def wider(self) -> int:
        """The size of all that was made of it, where that is more than its own, else 0."""
        sizes = set(self.made)
        return max(sizes) if len(sizes) == 1 and max(sizes) > self.size else 0


def requests_of(program: Program, accesses: Sequence[SharedAccess]) -> Requests:
    """How the places of `program` are asked for that the assembler changed, by their line of the PTX."""
    sizes: dict[tuple[int, str], list[int]] = defaultdict(list)
    for access in accesses:
        sizes[access.place, access.op].append(access.size)
    places = [place for block in program.blocks for place in _places(block, sizes)]
    changed = [place for place in places if set(place.made) != {place.size}]
    if not changed:
        return Requests()
    before = _dominators(program.blocks, {0, *(callee.entry for callee in program.callees.values())})
    groups: dict[_Place, list[_Place]] = {place: [place] for place in changed if place.wider}
    absent = [place for place in changed if not place.made]
    for leaders in _families(groups):
        start = _start(leaders, absent)
        for place in absent:
            leader = _leader(place, leaders, start, before)
            if leader is not None:
                groups[leader].append(place)
    brought = {place for group in groups.values() for place in group}
    found: dict[int, Request | None] = {}
    for place in changed:
        known = place in brought or (not place.made and any(_again(place, other, before) for other in places))
        request = _joined(place, groups[place]) if place in groups else NO_REQUEST if known else None
        at = place.item.place
        found[at] = request if at not in found or found[at] == request else None  # copies of one function agree
    unsure = frozenset(place.item.line for place in changed if found[place.item.place] is None)
    return Requests({place: request for place, request in found.items() if request is not None}, unsure)


def _joined(leader: _Place, group: Sequence[_Place]) -> Request:
    first = min(place.offset for place in group)
    return Request(leader.wider, first - leader.offset, sum(place.size for place in group))


def _places(block: BasicBlock, sizes: dict[tuple[int, str], list[int]]) -> Iterable[_Place]:
    for number, item in enumerate(block.body):
        op = item.words[0]
        if item.space != "shared" or op not in ("ld", "st") or item.words[-1] not in WIDTHS:
            continue
        address = item.operands[1 if op == "ld" else 0]
        if isinstance(address, Address):
            base, offset = address.base, address.offset
            if isinstance(base, Symbol):
                base, offset = Symbol(base.name), offset + base.offset
            size = WIDTHS[item.words[-1]] // 8 * item.count
            yield _Place(item, block.index, number, op, size, base, offset, tuple(sizes[item.place, op]))


def _families(leaders: Iterable[_Place]) -> Iterable[list[_Place]]:
    """Wider accesses of one base and size: they all start at the same distance from a multiple of their size."""
    found: dict[object, list[_Place]] = defaultdict(list)
    for leader in leaders:
        found[leader.op, leader.base, leader.wider].append(leader)
    return found.values()


def _start(leaders: Sequence[_Place], absent: Sequence[_Place]) -> int:
    """That distance in bytes: the one with which they bring along the most of what is absent."""
    one = leaders[0]
    offsets = {place.offset for place in absent if (place.op, place.base) == (one.op, one.base)}

    def brought(start: int) -> int:
        windows = {(leader.offset - start) // one.wider for leader in leaders}
        return sum((offset - start) // one.wider in windows for offset in offsets)

    return max(range(0, one.wider, one.size), key=brought)


def _leader(place: _Place, leaders: Sequence[_Place], start: int, before: list[int]) -> _Place | None:
    """The one of these that brings along what `place` asks for; of the same basic block, if there is one."""
    near = [
        other for other in leaders
        if (other.op, other.base) == (place.op, place.base)
        and (other.offset - start) // other.wider == (place.offset - start) // other.wider
        and (other.block == place.block or (place.op == "ld" and before[place.block] >> other.block & 1))
    ]  # fmt: skip
    return min(near, key=lambda other: other.block != place.block, default=None)


def _again(place: _Place, other: _Place, before: list[int]) -> bool:
    """True when `other` has read the same word on every way to `place`."""
    same = (other.op, other.base, other.offset, other.size) == (place.op, place.base, place.offset, place.size)
    if not same or place.op != "ld" or not other.made:
        return False
    return other.number < place.number if other.block == place.block else bool(before[place.block] >> other.block & 1)


def _dominators(blocks: Sequence[BasicBlock], entries: Collection[int]) -> list[int]:
    """For each block the bit set of those that every way to it from one of `entries` passes, itself among them."""
    sources: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            sources[successor].append(block.index)
    every = (1 << len(blocks)) - 1
    found = [1 << index if index in entries else every for index in range(len(blocks))]
    changed = True
    while changed:
        changed = False
        for index in range(len(blocks)):
            if index in entries:
                continue
            common = every
            for source in sources[index]:
                common &= found[source]
            common |= 1 << index
            if common != found[index]:
                found[index], changed = common, True
    return found
