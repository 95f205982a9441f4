"""Compile a source, link a kernel, and find which memory accesses the assembler combined or unrolled.

The assembler joins neighbouring accesses: four loads of 4 bytes become one of 16, and a word that was read before is
not read again. The machine code tells for each PTX line which accesses were made from it. If one is wider than the
line's own access, it also serves its neighbours (same base, adjacent offsets), which then have none. Of a vector with
parts that nobody uses it may load the others only. Any other difference is not understood: the access is counted as the
PTX has it, and its line is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.backends.emulator.ptx.block_order import predecessors
from engine.backends.emulator.ptx.counted_loops import accesses_in_loops, loads_and_stores, turn_ahead
from engine.backends.emulator.ptx.linear_forms import LinearForms
from engine.backends.emulator.ptx.moved_accesses import Deciders, moved_accesses
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import NO_REQUEST, BasicBlock, MachineRequest, MachineRequests, Program, link
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction, Module, Vector
from engine.backends.emulator.ptx.traits import registers_of, traits_of
from engine.backends.emulator.state.memory import lay_out
from engine.compile.assembly import SharedAccess, shared_accesses
from engine.compile.control_flow import dominators
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, EMULATED_ARCHITECTURE, UNOPTIMISED, assembled, compile_source
from engine.compile.unrolling import unrolled_lines
from engine.records import CompileError, NotRunnable, Source


@dataclass(frozen=True, eq=False)
class _PtxAccess:
    """A load or store of shared memory in the PTX; `made`: the sizes of the accesses that the assembler made of it."""

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
        """Return the size of the assembler's access if it is wider than the PTX's, else 0."""
        sizes = set(self.made)
        return max(sizes) if len(sizes) == 1 and max(sizes) > self.size else 0


def requests_of(program: Program, accesses: Sequence[SharedAccess]) -> MachineRequests:
    """Return the requests of the accesses that the assembler changed, by their line of the PTX."""
    sizes: dict[tuple[int, str], list[int]] = defaultdict(list)
    for access in accesses:
        sizes[access.place, access.op].append(access.size)
    forms = LinearForms(program, lay_out(program.shared, 0)[0])
    places = [place for block in program.blocks for place in _ptx_accesses(block, sizes, forms)]
    deciders = Deciders(program)
    moved = {access.place for access in moved_accesses(program, accesses, deciders)}
    looped = _looped_lines(program, accesses)
    changed = [place for place in places if set(place.made) != {place.size}]
    if not changed and not moved:
        return MachineRequests({}, frozenset(), looped)
    sources = predecessors([block.successors for block in program.blocks])
    before = dominators(sources, {0, *(callee.entry for callee in program.callees.values())})
    groups: dict[_PtxAccess, list[_PtxAccess]] = {place: [place] for place in changed if place.wider}
    absent = [place for place in changed if not place.made]
    for leaders in _families(groups):
        start = _window_start(leaders, absent)
        for place in absent:
            leader = _leader(place, leaders, start, before)
            if leader is not None:
                groups[leader].append(place)
    brought = {place for group in groups.values() for place in group}
    apart = [place for place in places if place.op == "st" and place not in brought]
    known = {item.place for block in program.blocks for item in loads_and_stores(block)}
    elsewhere = [one for one in accesses if one.op == "st" and one.place not in known and one.conditions is not None]
    first, repeated = _merged_stores(apart, elsewhere, moved, deciders, before)
    moved -= {place.item.place for place in repeated}
    changed = [place for place in places if place in repeated or (place in changed and place not in first)]
    found: dict[int, MachineRequest | None] = {}
    for place in changed:
        served = (
            place in brought
            or place in repeated
            or (not place.made and any(_repeats(place, other, before) for other in places))
        )
        request = (
            _joined_request(place, groups[place]) if place in groups else NO_REQUEST if served
            else _used_parts(place, program.registers_read)
        )  # fmt: skip
        at = place.item.place
        found[at] = request if at not in found or found[at] == request else None  # all copies of a function must agree
    unsure = frozenset(place.item.line for place in changed if found[place.item.place] is None)
    by_place = {place: request for place, request in found.items() if request is not None}
    lines = {item.line for block in program.blocks for item in block.body if item.place in moved}
    return MachineRequests(by_place, unsure | lines, looped)


def _merged_stores(
    stores: Sequence[_PtxAccess],
    elsewhere: list[SharedAccess],
    moved: Collection[int],
    deciders: Deciders,
    before: list[int],
) -> tuple[set[_PtxAccess], set[_PtxAccess]]:
    """Return the stores for whose lanes the assembler makes one store of several to a place, and the others of these.

    Of `s[t] = 0; if (i < n) s[t] = in[i];` it makes one store of the chosen value, for the lanes of the first. That one
    comes from the line of a later store, or is one of those `elsewhere`, at the line of no store.
    """
    alike: dict[object, list[_PtxAccess]] = defaultdict(list)
    for store in stores:
        alike[store.base, store.offset, store.size].append(store)
    first, repeated = set[_PtxAccess](), set[_PtxAccess]()
    for several in alike.values():
        absent = [store for store in several if not store.made]
        leader = min(absent, key=lambda store: (before[store.block].bit_count(), store.number), default=None)
        if leader is None:
            continue
        later = [
            store for store in several
            if store is not leader and before[store.block] >> leader.block & 1
            and deciders.follows(leader.block, store.block)
        ]  # fmt: skip
        made = [store for store in later if store.made]
        made = [store for store in made if store.item.place in moved] or made
        behind = [
            one for one in elsewhere
            if one.size == leader.size and deciders.fit(leader.block, one.conditions or frozenset())
        ]  # fmt: skip
        if len(made) == 1 and made[0].made == (leader.size,):
            repeated.update(made)
        elif later and not made and behind:
            elsewhere.remove(behind[0])
        else:
            continue
        first.add(leader)
        repeated.update(store for store in later if not store.made)
    return first, repeated


def _looped_lines(program: Program, accesses: Sequence[SharedAccess]) -> frozenset[int]:
    """Return the .cu lines of the atomics that the assembler makes a loop of: load, compute, compare-and-swap."""
    loads = {access.place for access in accesses if access.op == "ld"}
    return frozenset(
        item.line for block in program.blocks for item in block.body
        if item.place in loads and traits_of(item.opcode).memory == "atomic"
    )  # fmt: skip


def _joined_request(leader: _PtxAccess, group: Sequence[_PtxAccess]) -> MachineRequest:
    first = min(place.offset for place in group)
    return MachineRequest(leader.wider, first - leader.offset, sum(place.size for place in group))


def _pieces(item: Instruction, read: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Return (offset, size) of what the assembler loads of a vector of four words if one or two of them are `read`: the
    aligned half with both, or each word. Of three it loads all four."""
    vector = item.operands[0]
    if item.words[0] != "ld" or not isinstance(vector, Vector) or item.count != 4 or WIDTHS[item.words[-1]] != 32:
        return ()
    used = [number for number, one in enumerate(vector.items) if read & {*registers_of(one)}]
    if len(used) == 2 and used[0] // 2 == used[1] // 2:
        return ((used[0] // 2 * 8, 8),)
    return tuple((4 * number, 4) for number in used) if len(used) in (1, 2) else ()


def _used_parts(load: _PtxAccess, read: frozenset[int]) -> MachineRequest | None:
    """Return the request for the used parts of a vector, None if the machine code has other ones."""
    pieces = _pieces(load.item, read)
    # An unrolled loop has several copies of them; of half a word it may load that half.
    alike = bool(pieces) and len(load.made) % len(pieces) == 0 and max(load.made, default=0) == pieces[0][1]
    return MachineRequest(load.size, pieces=pieces) if alike else None


def _global_requests(program: Program) -> dict[int, MachineRequest]:
    """Return the requests to global memory of vectors that the assembler loads in two pieces."""
    loads = [(item, _pieces(item, program.registers_read)) for item in program.instructions if item.space == "global"]
    return {item.place: MachineRequest(16, pieces=pieces) for item, pieces in loads if len(pieces) > 1}


def _ptx_accesses(
    block: BasicBlock, sizes: dict[tuple[int, str], list[int]], forms: LinearForms
) -> Iterable[_PtxAccess]:
    for number, item in enumerate(block.body):
        op = item.words[0]
        if item.space != "shared" or op not in ("ld", "st") or item.words[-1] not in WIDTHS:
            continue
        address = forms.of(item.operands[1 if op == "ld" else 0])
        if address is not None:
            size = WIDTHS[item.words[-1]] // 8 * item.count
            made = tuple(sizes[item.place, op])
            yield _PtxAccess(item, block.index, number, op, size, address.terms, address.constant, made)


def _families(leaders: Iterable[_PtxAccess]) -> Iterable[list[_PtxAccess]]:
    """Group wider accesses by op, base and size: each group has the same alignment."""
    found: dict[object, list[_PtxAccess]] = defaultdict(list)
    for leader in leaders:
        found[leader.op, leader.base, leader.wider].append(leader)
    return found.values()


def _window_start(leaders: Sequence[_PtxAccess], absent: Sequence[_PtxAccess]) -> int:
    """Return the alignment offset in bytes with which these accesses serve the most absent ones."""
    one = leaders[0]
    offsets = {place.offset for place in absent if (place.op, place.base) == (one.op, one.base)}

    def brought(start: int) -> int:
        windows = {(leader.offset - start) // one.wider for leader in leaders}
        return sum((offset - start) // one.wider in windows for offset in offsets)

    return max(range(0, one.wider, one.size), key=brought)


def _leader(place: _PtxAccess, leaders: Sequence[_PtxAccess], start: int, before: list[int]) -> _PtxAccess | None:
    """Return the wider access that serves `place`, preferably in the same basic block."""
    near = [
        other for other in leaders
        if (other.op, other.base) == (place.op, place.base)
        and (other.offset - start) // other.wider == (place.offset - start) // other.wider
        and (other.block == place.block or (place.op == "ld" and before[place.block] >> other.block & 1))
    ]  # fmt: skip
    return min(near, key=lambda other: other.block != place.block, default=None)


def _repeats(place: _PtxAccess, other: _PtxAccess, before: list[int]) -> bool:
    """Return whether `other` has read the same word on every path to `place`."""
    same = (other.op, other.base, other.offset, other.size) == (place.op, place.base, place.offset, place.size)
    if not same or place.op != "ld" or not other.made:
        return False
    return other.number < place.number if other.block == place.block else bool(before[place.block] >> other.block & 1)


@lru_cache(maxsize=32)
def module_of(source: Source) -> Module:
    """Return the parsed PTX of a source. CompileError or PtxError if it cannot be compiled or parsed."""
    return parse(compile_source(source, EMULATED_ARCHITECTURE).decode(), source.name)


@lru_cache(maxsize=64)
def load(source: Source, kernel: str) -> Program:
    """Return the linked program of a kernel."""
    program = replace(link(module_of(source), kernel), optimised=UNOPTIMISED not in source.options)
    requests = _requests(source, program)
    known = {**requests.by_place, **(_global_requests(program) if program.optimised else {})}
    return replace(program, requests=replace(requests, by_place=known))


def _requests(source: Source, program: Program) -> MachineRequests:
    """Return the assembler's requests to shared memory, and the loops that it unrolls; empty if the assembler fails or
    would take too long."""
    shared = any(item.space == "shared" for block in program.blocks for item in loads_and_stores(block))
    loops = dict(accesses_in_loops(program))
    ptx = compile_source(source, EMULATED_ARCHITECTURE)
    if not (shared or loops) or not assembled(ptx):
        return MachineRequests()
    try:
        cubin = compile_source(source, ASSEMBLED_ARCHITECTURE)
    except (CompileError, NotRunnable):
        return MachineRequests()
    accesses = shared_accesses(cubin, ptx.decode(), program.name) if shared else None
    made = MachineRequests() if accesses is None else requests_of(program, accesses)
    lines = unrolled_lines(cubin, ptx.decode(), program.name) if loops else {}
    found = {line: loops[line] for line in lines if line in loops}
    without = {loop for line, loop in found.items() if not lines[line]}
    # All accesses of a loop are of one record, as their lanes pass through it together.
    ahead = {loop: replace(loop, ahead=turn_ahead(program, loop)) for loop in {*found.values()} - without}
    return replace(made, unrolled={line: ahead.get(loop, loop) for line, loop in found.items()})
