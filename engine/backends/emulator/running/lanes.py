"""The positions of the lanes of a chunk, and the contents of their registers.

A living lane is in exactly one place: in a group that can run, at a block barrier, parked at a warp-synchronous
instruction until the lanes it names arrive, or at a gate.

Lanes that came through the same calls share a frame, with its own registers. A place is the number of a basic block; in
a call, a multiple of the number of blocks is subtracted, larger for deeper calls. So the group with the smallest place
is in the deepest call, and lanes that called together return together. Lanes in different calls never form one group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.backends.emulator.ptx.calls import Callee
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.registers.masks import WARP, Mask, Masks, any_per_warp, lane_words
from engine.backends.emulator.registers.operands import Registers, expand_part, fetch
from engine.backends.emulator.registers.values import Part, restrict
from engine.backends.emulator.running.code import Code
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.resident import Votes
from engine.backends.emulator.state.schedule import Crews
from engine.records import Array

Key = tuple[int, int]  # (block of the program, crew)
_MOST_RECTANGLES = 8


class MaskUnion:
    """A union of masks under construction: some rectangles, and a bool array for everything else."""

    def __init__(self, masks: Masks, first: Mask) -> None:
        self._masks = masks
        self._rectangles: list[Mask] = []
        self._dense: Array | None = None
        self._only: Mask | None = first

    def join(self, mask: Mask) -> None:
        """Add lanes."""
        if self._only is not None:
            first, self._only = self._only, None
            self._note(first)
        self._note(mask)

    def _note(self, mask: Mask) -> None:
        if mask.dense is not None or len(self._rectangles) >= _MOST_RECTANGLES:
            if self._dense is None:
                self._dense = mask.full_dense()
            else:
                mask.mark(self._dense)
            return
        for number, other in enumerate(self._rectangles):
            if other.rows is mask.rows or other.columns is mask.columns:
                del self._rectangles[number]
                self._note(self._masks.union(other, mask))
                return
        self._rectangles.append(mask)

    def mask(self) -> Mask:
        """Return the lanes so far."""
        if self._only is None:
            if self._dense is None and len(self._rectangles) == 1:
                self._only = self._rectangles[0]
            else:
                full = self._dense
                if full is None:
                    full = self._rectangles.pop().full_dense()
                for other in self._rectangles:
                    other.mark(full)
                self._only = self._masks.from_dense(self._masks.all_rows, self._masks.all_columns, full)
            self._rectangles, self._dense = [], None
            assert self._only is not None
        return self._only


class Groups:
    """The groups that can run.

    Lanes that join a group are only recorded; the union is computed when the group runs. Otherwise a loop that lanes
    leave one by one would compute a union in every iteration.
    """

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._at: dict[Key, MaskUnion] = {}

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._at)

    def add(self, key: Key, mask: Mask) -> None:
        """Add lanes to the group at a place."""
        there = self._at.get(key)
        if there is None:
            self._at[key] = MaskUnion(self._masks, mask)
        else:
            there.join(mask)

    def pop(self, key: Key) -> Mask:
        """Remove and return the group at a place."""
        return self._at.pop(key).mask()

    def mask(self, key: Key) -> Mask:
        """Return the group at a place."""
        return self._at[key].mask()


_MOST_AT_ONCE = 1 << 40  # frames of one depth in a chunk


@dataclass(eq=False)
class Frame:
    """An open call; the kernel itself is the outermost frame. `back`: the place in the `caller` to return to. `start`:
    the start of its local memory. `call`: the calling instruction. `lanes`: how many lanes are in this call or in
    calls made from it."""

    number: int
    depth: int
    callee: Callee | None
    caller: Frame | None
    call: Instruction | None
    back: int
    start: int
    registers: Registers
    lanes: int = 0


class Frames:
    """The open calls of a chunk."""

    def __init__(self, program: Program, zeros: Registers, start: Registers) -> None:
        """`zeros`: the registers of a called function at its start; `start`: those of the kernel."""
        self._blocks = len(program.blocks)
        self._zeros = zeros
        self.kernel = Frame(0, 0, None, None, None, 0, 0, list(start))
        self._open: dict[int, Frame] = {0: self.kernel}
        self._entered: dict[tuple[int, str], Frame] = {}
        self._made = 0

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._open.values())

    def of(self, place: int) -> Frame:
        """Return the frame of a place."""
        return self._open[-(place // self._blocks)]

    def path(self, place: int) -> Iterator[tuple[Frame, int]]:
        """Yield the frame of a place and its callers, each with the place where its lanes are or will return to."""
        frame: Frame | None = self.of(place)
        while frame is not None:
            yield frame, place
            place, frame = frame.back, frame.caller

    def place(self, frame: Frame, block: int) -> int:
        """Return the place of a block in a frame."""
        return block - frame.number * self._blocks

    def enter(self, caller: Frame, callee: Callee, call: Instruction, back: int, start: int, lanes: int) -> Frame:
        """Return the frame for lanes that call with return place `back`: an existing one of the same call, or a new
        one. `start`: the start of its local memory."""
        found = self._entered.get((back, callee.name))
        if found is None:
            self._made += 1
            number, depth = (caller.depth + 1) * _MOST_AT_ONCE + self._made, caller.depth + 1
            found = Frame(number, depth, callee, caller, call, back, start, list(self._zeros))
            self._open[number] = self._entered[back, callee.name] = found
        found.lanes += lanes
        return found

    def leave(self, frame: Frame, lanes: int) -> None:
        """Let lanes return from a call."""
        frame.lanes -= lanes
        if not frame.lanes and frame.callee is not None:
            del self._open[frame.number], self._entered[frame.back, frame.callee.name]

    def close(self) -> None:
        """Release the registers."""
        for frame in self:
            frame.registers.clear()


@dataclass(frozen=True)
class Waiting:
    """A group at a barrier: the place where it continues, and the number and thread count of the barrier (None: all
    living threads).

    `stays`: False for lanes that only arrive (bar.arrive) and continue.
    """

    mask: Mask
    place: int
    number: int
    count: int | None
    line: int
    stays: bool = True


class Barriers:
    """The waiting groups by barrier number. `votes`: counted when a barrier releases threads."""

    def __init__(self, masks: Masks, votes: Votes) -> None:
        self._masks, self._votes = masks, votes
        self._waiting: dict[int, list[Waiting]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def entries(self) -> list[Waiting]:
        """Return all waiting groups."""
        return [entry for entries in self._waiting.values() for entry in entries if entry.stays]

    def contradicted(self, entry: Waiting) -> Waiting | None:
        """Return a group at the same barrier of the same blocks with a different count."""
        others = [other for other in self._waiting.get(entry.number, ()) if None not in (other.count, entry.count)]
        both = (each for each in others if (each.mask.blocks & entry.mask.blocks).any())
        return next((other for other in both if other.count != entry.count), None)

    def overfilled(self, number: int, count: int, mask: Mask) -> bool:
        """Return whether more than `count` threads of a block would be at barrier `number` together with these."""
        entries = (entry.mask for entry in self._waiting.get(number, ()))
        there = sum((entry.full_dense().sum(axis=0) for entry in entries), mask.full_dense().sum(axis=0))
        return bool((there > count).any())

    def arrive(self, entry: Waiting, alive: Mask) -> list[Waiting]:
        """Let a group arrive at its barrier; return the released groups."""
        if entry.count is None and entry.number not in self._waiting and self._masks.same(entry.mask, alive):
            self._votes.count(entry.mask)
            return [entry]
        self._waiting.setdefault(entry.number, []).append(entry)
        return self.release(entry.number, alive)

    def release_any(self, alive: Mask | None) -> list[Waiting]:
        """Return the released groups of all barriers."""
        return [entry for number in list(self._waiting) for entry in self.release(number, alive)]

    def release(self, number: int, alive: Mask | None) -> list[Waiting]:
        """Return the groups that barrier `number` releases, or their lanes in complete blocks."""
        entries = self._waiting.get(number)
        if not entries:
            return []
        arrived = entries[0].mask
        for entry in entries[1:]:
            arrived = self._masks.union(arrived, entry.mask)
        count = entries[0].count
        if count is None and alive is not None and self._masks.same(arrived, alive):
            del self._waiting[number]
            self._votes.count(arrived)
            return [entry for entry in entries if entry.stays]
        lanes = arrived.full_dense()
        if count is None:
            living = alive.full_dense() if alive is not None else np.zeros(self._masks.shape, bool)
            ready = (lanes == living).all(axis=0) & lanes.any(axis=0)
        else:
            ready = lanes.sum(axis=0) >= count
        if not ready.any():
            return []
        columns = self._masks.rectangle(self._masks.all_rows, ready)
        gone, left = [], []
        for entry in entries:
            inside, outside = self._masks.common(entry.mask, columns), self._masks.minus(entry.mask, columns)
            gone += [replace(entry, mask=inside)] if inside and entry.stays else []
            left += [replace(entry, mask=outside)] if outside else []
        if left:
            self._waiting[number] = left
        else:
            del self._waiting[number]
        released = self._masks.common(arrived, columns)
        if released is not None:
            self._votes.count(released)
        return gone


Label = tuple[Any, ...]


_MOST_IN_TURNS = 1 << 13  # lanes of a chunk; with more of them turns take too long


class Lanes:
    """The lanes of the resident blocks. `registers`: whole registers of the running frame; `scratch`: registers of a
    partial group.

    `alive`: None if all lanes have ended. `parked`: waiting lanes by place. `crews`: None in lockstep.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.masks = Masks(machine.threads, machine.rows, machine.resident.blocks)
        self.frames = Frames(machine.program, machine.zeros, machine.start)
        self.registers: Registers = self.frames.kernel.registers
        self.scratch: Registers = list(machine.zeros)
        self.alive: Mask | None = self.masks.start
        self.groups = Groups(self.masks)
        self.barriers = Barriers(self.masks, machine.resident.votes)
        self.parked: dict[int, Mask] = {}
        ahead = machine.resident.blocks if machine.program.cut else 0
        # Groups of several warps trust that a warp's lanes stay together: one sets its bit, and all wait for it to go.
        # An unoptimised build names their memory in every kernel with a group.
        together = machine.program.reads_reserved and machine.program.optimised
        split = machine.schedule.kind == "independent" and not together
        waits = machine.program.waits and machine.rows * machine.resident.blocks <= _MOST_IN_TURNS
        asks = machine.program.asks_who_is_active
        self.crews = Crews(machine.schedule, machine.rows, ahead, waits, asks) if split else None
        self._whole: dict[tuple[int, int], tuple[bool, Mask, Mask]] = {}

    def close(self) -> None:
        """Release the registers."""
        self.frames.close()
        self.scratch.clear()

    def end(self, mask: Mask) -> None:
        """End lanes."""
        assert self.alive is not None
        self.alive = self.masks.minus(self.alive, mask)

    def name(self, mask: Mask) -> str:
        """Return the name of a mask's first lane, by block and then by thread."""
        return self.machine.lane_name(*mask.first_lane())

    def standing(self) -> Iterator[tuple[Label, int, Mask]]:
        """Yield all lanes that are not running: (label of where they wait, place, mask)."""
        for key in sorted(self.groups):
            yield ("group", *key), key[0], self.groups.mask(key)
        for place, mask in sorted(self.parked.items()):
            yield ("parked", place), place, mask
        for entry in self.barriers.entries():
            yield ("barrier", entry.place, entry.count, entry.line), entry.place, entry.mask

    def live(self, frame: Frame) -> int:
        """Return the bit set of a frame's registers that waiting lanes will read."""
        program, live = self.machine.program, 0
        places = [place for place, _ in self.groups]
        places += self.parked
        places += [entry.place for entry in self.barriers.entries()]
        if program.callees:  # lanes in the frame, and in calls it made
            places = [place for place in places if self.frames.of(place) is frame]
            places += [other.back for other in self.frames if other.caller is frame]
        for place in places:
            live |= program.block_at(place).live_in
        return live

    def by_value(self, values: Array, mask: Mask) -> list[tuple[int, Mask]]:
        """Return the lanes of a mask by the value of a register, given in the mask's rows and columns."""
        if values.size == 1:
            return [(int(values.flat[0]), mask)]
        masks, full = self.masks, np.full(self.masks.shape, -1, np.int64)
        lanes = mask.full_dense()
        full[np.ix_(mask.rows, mask.columns)] = values
        parts = ((value, masks.from_dense(masks.all_rows, masks.all_columns, lanes & (full == value)))
                 for value in np.unique(full[lanes]).tolist())  # fmt: skip
        return [(value, part) for value, part in parts if part is not None]

    # ---- convergence of a warp

    def converged(self, code: Code, place: int, mask: Mask) -> Mask | None:
        """Park the lanes that wait for lanes they name, and return the others of the group."""
        parked = self.parked.pop(place, None)
        if parked is not None:
            mask = self.masks.union(parked, mask)
        alive = self.alive
        assert alive is not None
        if mask is alive or self._has_whole_warps(mask, alive):
            return mask
        lacking = self._lacking(code, mask, alive)
        if not lacking.any():
            return mask
        full = mask.full_dense()
        late = full & np.repeat(lacking, WARP, axis=0)
        waits = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, late)
        if waits is not None:
            self.parked[place] = waits
        return self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, full & ~late)

    def meeting(self, codes: Mapping[int, Code]) -> tuple[Mask, Array] | None:
        """Return the lanes parked at several places, given with their code, whose warps lack no lane that they name;
        and for each the lanes that it names. None if there are none."""
        alive, shape = self.alive, self.masks.shape
        named, here, several = np.zeros(shape, np.uint32), np.zeros(shape, bool), np.zeros(shape, bool)
        for place, code in codes.items():
            self.registers = self.frames.of(place).registers
            named += self._named(code, self.parked[place])
            come = self.parked[place].full_dense()
            several |= _in_warps(come) & _in_warps(here)
            here |= come
        assert alive is not None
        lacking = _any_bits(named) & _bits_of(alive.full_dense() & ~here) != 0
        met = here & several & ~np.repeat(lacking, WARP, axis=0)
        mask = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, met)
        return None if mask is None else (mask, named[np.ix_(mask.rows, mask.columns)])

    def inside(self, code: Code, mask: Mask) -> Registers:
        """Return the registers that a block reads, in the rows and columns of a mask."""
        if mask.whole:
            return self.registers
        fetch(code.used, self.registers, self.scratch, mask)
        return self.scratch

    def _has_whole_warps(self, mask: Mask, alive: Mask) -> bool:
        """Return whether the mask certainly contains every living lane of its warps; a quick test."""
        key = (id(mask), id(alive))
        found = self._whole.get(key)
        if found is None:
            whole = False
            if mask.dense is None and alive.dense is None and not (mask.columns & ~alive.columns).any():
                touched = np.repeat(mask.warp_bits[:, 0], WARP)
                whole = not (alive.rows & touched & ~mask.rows).any()
            if len(self._whole) > 1000:
                self._whole.clear()
            found = self._whole[key] = (whole, mask, alive)
        return found[0]

    def passed_by(self, code: Code, place: int, mask: Mask) -> Mask | None:
        """Return the lanes parked at a place whose warps have a lane that they name among those of `mask`."""
        self.registers, waiting = self.frames.of(place).registers, self.parked[place]
        left_alone = self._wanted(code, waiting) & _bits_of(mask.full_dense())
        full = waiting.full_dense() & np.repeat(left_alone != 0, WARP, axis=0)
        return self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, full)

    def _lacking(self, code: Code, mask: Mask, alive: Mask) -> Array:
        """Return the warps with a named living lane that has not arrived, bool[warps, B]."""
        lacking: Array = self._wanted(code, mask) & _bits_of(alive.full_dense() & ~mask.full_dense()) != 0
        return lacking

    def _wanted(self, code: Code, mask: Mask) -> Array:
        """Return the lanes that lanes of a mask name, as bits of uint32[warps, B]."""
        return _any_bits(self._named(code, mask))

    def _named(self, code: Code, mask: Mask) -> Array:
        """Return the lanes that each lane of a mask names, as bits of uint32[T, B]."""
        assert code.members is not None
        index, local = code.members_of, self.scratch
        if index >= 0:
            value = self.registers[index]
            value = expand_part(value) if value.__class__ is Part else value
            local[index] = restrict(value, mask.row_index, mask.column_index)
        members = np.broadcast_to(code.members(local), (mask.height, mask.width))
        named = np.zeros(self.masks.shape, np.uint32)
        named[np.ix_(mask.rows, mask.columns)] = members if mask.dense is None else members & mask.words(4)
        return named


def _any_bits(words: Array) -> Array:
    """Return the bits that any lane of a warp has in its word: uint32[T, B] -> uint32[warps, B]."""
    made: Array = np.bitwise_or.reduce(words.reshape(-1, WARP, words.shape[1]), axis=1)
    return made


def _in_warps(lanes: Array) -> Array:
    """Return all lanes of the warps with a lane, bool[T, B]."""
    return np.repeat(any_per_warp(lanes), WARP, axis=0)


def _bits_of(lanes: Array) -> Array:
    """Return lanes, bool[T, B], as bits of uint32[warps, B]."""
    return lane_words(lanes.reshape(-1, WARP, lanes.shape[1]))[:, 0]
