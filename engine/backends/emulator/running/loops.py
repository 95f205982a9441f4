"""Find loops that never end, and let other lanes run while a loop polls memory.

The group with the smallest program counter would otherwise run for ever. In lockstep the other lanes of the same warp
do not run: they wait where the paths meet again, as on the GPUs with that schedule.

A group stalls if it returns to a place with all state it depends on unchanged and no other group has run: it will
return for ever unless another group changes the memory it reads. If no group can, the run ends at once. A loop that
counts never stalls, however long it is; it ends the run after some time if no way leads out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.ptx.block_order import reached_blocks
from engine.backends.emulator.ptx.dataflow import blocks_without_end
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, expand_part, numbers_of
from engine.backends.emulator.registers.values import UNSIGNED, Part, Value, plain, restrict
from engine.backends.emulator.running.dependence import LoopDependence, loop_dependence
from engine.backends.emulator.running.lanes import Key, Label, Lanes
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.pointers import is_of_grid_barrier, writes_one_of, written_arrays
from engine.records import Array, RunFailed

_MOST_COPIED_BYTES = 1 << 28  # of copies; a program that may write more counts as one that changes memory


@dataclass(frozen=True)
class Snapshot:
    """The state of a group: its registers (never changed in place) by frame number, and the positions of other lanes.
    `places`: the places that have run since."""

    key: Key
    mask: Mask
    registers: Mapping[int, Registers]
    others: Sequence[tuple[Label, int, Mask]]
    places: set[int]


def take_snapshot(lanes: Lanes, key: Key, mask: Mask) -> Snapshot:
    """Return the state of the group `mask`, about to run at `key`, and of all other lanes."""
    registers = {frame.number: list(frame.registers) for frame in lanes.frames}
    return Snapshot(key, mask, registers, list(lanes.standing()), {key[0]})


class MemoryContents:
    """Copies of the memories with these names that a program may write."""

    def __init__(self, machine: Machine, names: set[str | int]) -> None:
        live: dict[str | int, Array] = {name: words.flat for name, words in machine.resident.memories.items()}
        written = written_arrays(machine) | {machine.workspace}
        live |= {one.base: one.data.view(np.uint64) for one in machine.space.arrays() if one.base in written}
        live = {name: data for name, data in live.items() if name in names}
        self._beyond = sum(data.nbytes for data in live.values()) > _MOST_COPIED_BYTES
        self._pairs = [] if self._beyond else [(name, data, data.copy()) for name, data in live.items()]

    def renew(self) -> None:
        """Copy the current contents."""
        for _, now, then in self._pairs:
            np.copyto(then, now)

    def changed(self, names: set[str | int]) -> bool:
        """Return whether one of these memories may have changed."""
        return self._beyond or any(name in names and (now != then).any() for name, now, then in self._pairs)


def first_difference(
    chosen: Sequence[int], was: Registers, now: Registers, before: Mask, after: Mask
) -> tuple[int, ...]:
    """Return the first of these registers that differs between two states of the same lanes, or none."""
    return next(((index,) for index in chosen if not _equal(was[index], now[index], before, after)), ())


def _equal(old: Value, new: Value, before: Mask, now: Mask) -> bool:
    if old is new:
        return True
    alike = before.rows is now.rows and before.columns is now.columns  # the same lanes may be in different rectangles
    one, other = _inside(old, before if alike else now), _inside(new, now)
    if one.dtype.itemsize != other.dtype.itemsize:
        return False
    kind = UNSIGNED[1] if one.dtype == np.bool_ else UNSIGNED[8 * one.dtype.itemsize]
    same = np.ascontiguousarray(one).view(kind) == np.ascontiguousarray(other).view(kind)
    return bool(same.all() if now.dense is None else (same | ~now.dense).all())


def _inside(value: Value, mask: Mask) -> Array:
    """Return a whole register in the rows and columns of a mask."""
    if value.__class__ is Part:
        if value.mask is mask:
            return plain(value.value)
        value = expand_part(value)
    return plain(restrict(value, mask.row_index, mask.column_index))


_POLLING_PATIENCE = 64  # iterations of a polling loop before other lanes get a chance
_LONG = 1024  # basic blocks that a loop without a way out may run: a bad address says more
_DETOUR = 32  # basic blocks that others may run before a polling loop continues


class LoopWatch:
    """Watches the loops of one chunk. `watching`: whether groups are compared before they run. `settles`: delayed
    stores arrive at once, as no group can go on without one."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes, self._program = lanes, lanes.machine.program
        self.watching = self.settles = False
        self._renewal = 0
        self._place, self._turns, self._left = -1, 0, 0
        self._mask: Mask | None = None
        self._start: Snapshot | None = None  # the state that a returning group is compared with
        self._convergence: Snapshot | None = None  # when all lanes last converged
        self._contents: MemoryContents | None = None  # of memory, as of `_start` or of the first stalled group
        self._still: dict[Key, tuple[Snapshot, LoopDependence]] = {}
        self._held: Mask | None = None  # the warps of stalled groups
        self._differed: Sequence[int] = ()  # the register that differed from `_start` last

    # ---- which group runs

    def turn(self, place: int, mask: Mask) -> None:
        """Count an iteration of a polling loop at `place` that all lanes of its group repeat."""
        if place != self._place or self._mask is None or not self._lanes.masks.same(self._mask, mask):
            self._turns = 0
        self._place, self._mask, self._turns = place, mask, self._turns + 1
        if self._turns >= _POLLING_PATIENCE:
            self._turns = 0
            if self._others_than(place, mask):
                self._left = _DETOUR

    def detour(self) -> Key | None:
        """Return the group that runs instead of the one with the smallest program counter, while a loop is
        suspended."""
        if self._still and not self._left:
            self._left = _DETOUR
            if any(self._changed(needs) for _, needs in self._still.values()):
                self._wake()
                return None
        if not self._left:
            return None
        self._left -= 1
        if self._still:
            return self._free_to_run()
        others = self._others_than(self._place, self._mask)
        return min(others, key=lambda key: (key[0] < self._place, key), default=None)  # every group gets a turn

    def _others_than(self, place: int, waiting: Mask | None) -> list[Key]:
        """Return the groups at other places that may run while `waiting` waits."""
        lanes, masks = self._lanes, self._lanes.masks
        others = [key for key in lanes.groups if key[0] != place]
        if lanes.crews is not None or waiting is None:
            return others
        held = masks.whole_warps(waiting)
        return [key for key in others if masks.common(lanes.groups.mask(key), held) is None]

    def _free_to_run(self) -> Key | None:
        """Return a group that is not stalled and may run; in lockstep, only its lanes outside stalled warps."""
        groups, masks = self._lanes.groups, self._lanes.masks
        for key in sorted(groups):
            if key in self._still:
                continue
            mask = groups.mask(key)
            free = mask if self._lanes.crews is not None or self._held is None else masks.minus(mask, self._held)
            if free is not None and free.lanes < mask.lanes:  # warps that may run continue as a group of their own
                rest = masks.minus(groups.pop(key), free)
                assert rest is not None
                groups.add(key, rest)
                key = (key[0], key[1] + 1)
                groups.add(key, free)
            if free is not None:
                return key
        return None

    # ---- which groups stall

    def check(self, steps: int) -> None:
        """Start comparing groups at growing intervals."""
        if steps >= _LONG:
            self._end_without_way_out()
        if steps >= self._renewal:
            self._renewal = steps + steps // 4
            self.watching, self.settles, self._start = True, False, None

    def _end_without_way_out(self) -> None:
        """End the run if a group is in a loop that nothing leaves, whatever the loop changes in memory."""
        program, groups = self._program, self._lanes.groups
        lost = blocks_without_end(program)
        for key in groups if lost else ():
            place = key[0] % len(program.blocks)
            if place in lost:
                reached = reached_blocks([block.successors for block in program.blocks], place)
                clause = (
                    f"this loop never ends: {self._lanes.name(groups.mask(key))} repeats it, and nothing leads out of "
                    "it: no break, no return, and a condition that is always true"
                )
                line = _line(program, place, (each for each in lost if reached >> each & 1))
                raise self._lanes.machine.failure("timeout", clause, line, "step-limit")

    def stalls(self, key: Key, mask: Mask) -> bool:
        """Check a group before it runs. True: it stalls and must let others run."""
        lanes, masks = self._lanes, self._lanes.masks
        if self._convergence is not None:
            self._convergence.places.add(key[0])
        if key in self._still:
            start, needs = self._still[key]
            if masks.same(start.mask, mask) and not self._changed(needs):
                return self._let_others(start, needs)
            self._wake()
        if self._start is None:
            self._start, self._differed = take_snapshot(lanes, key, mask), ()
            if self._contents is None:
                every = self._dependence(range(len(self._program.blocks)))
                self._contents = MemoryContents(lanes.machine, every.names(lanes.machine))
            elif not self._still:
                self._contents.renew()
            return False
        start = self._start
        found = self._back(start, mask) if key == start.key and masks.same(start.mask, mask) else None
        if found is None:
            start.places.add(key[0])
            return False
        self._still[key] = start, found
        self._start, self._left = None, _DETOUR
        warps = masks.whole_warps(mask)
        self._held = warps if self._held is None else masks.union(self._held, warps)
        return self._let_others(start, found)

    def note_convergence(self, place: int, mask: Mask) -> None:
        """End the run if converged lanes under "independent" repeat a state without any dependence on memory.

        Such a loop ends in every order of lanes or in none.
        """
        was, self._convergence = self._convergence, take_snapshot(self._lanes, (place, 0), mask)
        if was is None or was.key != (place, 0) or not self._lanes.masks.same(was.mask, mask):
            return
        needs = self._dependence(was.places)
        if not needs.memories and not needs.timed and not self._differing(was, place, was.mask, mask, needs):
            raise _never_ends(self._lanes, was)

    def _wake(self) -> None:
        """Resume stalled groups after a memory change. The first of them is watched again from its place."""
        self._still.clear()
        self._start = self._held = None

    def _back(self, start: Snapshot, mask: Mask) -> LoopDependence | None:
        """Return a group's dependence if its whole state equals its state at the start.

        Other groups may have run in between if all of them are back, too: in lockstep the whole state then repeats for
        ever.
        """
        frame = self._lanes.frames.of(start.key[0])
        if first_difference(self._differed, start.registers[frame.number], frame.registers, start.mask, mask):
            return None
        needs = self._dependence(start.places)
        self._differed = self._differing(start, start.key[0], start.mask, mask, needs)
        if needs.timed or self._differed:
            return None
        others = list(self._lanes.standing())
        if [label for label, *_ in others] != [label for label, *_ in start.others] or self._changed(needs):
            return None
        both = [(place, was, now) for (_, place, was), (*_, now) in zip(start.others, others, strict=True)]
        moved = [(place, was, now) for place, was, now in both if was is not now]
        if moved and (self._lanes.crews is not None or needs.polls):
            return None
        same = self._lanes.masks.same
        alike = all(same(was, now) and not self._differing(start, place, was, now, needs) for place, was, now in moved)
        return needs if alike else None

    def _differing(self, start: Snapshot, place: int, was: Mask, now: Mask, needs: LoopDependence) -> Sequence[int]:
        """Return the first register that matters, is live from `place` on, and has changed; or none."""
        for frame, at in self._lanes.frames.path(place):
            chosen = numbers_of(needs.registers & self._program.block_at(at).live_in)
            found = first_difference(chosen, start.registers[frame.number], frame.registers, was, now)
            if found:
                return found
        return ()

    def _dependence(self, places: Iterable[int]) -> LoopDependence:
        count = len(self._program.blocks)
        return loop_dependence(self._program, frozenset(place % count for place in places))

    def _changed(self, needs: LoopDependence) -> bool:
        """Return whether memory that matters has changed."""
        assert self._contents is not None
        return bool(needs.memories) and self._contents.changed(needs.names(self._lanes.machine))

    def _let_others(self, start: Snapshot, needs: LoopDependence) -> bool:
        """Return whether other groups can run; RunFailed if none can change the loop's memory."""
        if needs.memories and self._free_to_run() is not None:
            return True
        if any(self._changed(others) for _, others in self._still.values()):
            self._wake()  # a group that stalled before this one can go on
            return True
        if not self.settles and self._lanes.machine.resident.stores is not None:
            self.settles = True
            self._wake()
            return True
        if needs.polls and needs.waits:
            if self._changes_for_a_time():
                self._wake()
                return True
            held = [place for place, crew in self._lanes.groups if (place, crew) not in self._still]
            if is_of_grid_barrier(self._program, needs.loads):
                raise _grid_never_meets(self._lanes, start)
            raise _waits_for_ever(self._lanes, start, any(self._may_write(place, needs) for place in held))
        raise _never_ends(self._lanes, start)

    def _changes_for_a_time(self) -> bool:
        """Return whether a stalled loop may change the memory of one and change it back: two instructions write it.

        A lock's single swap stores what is already there, and a compare-and-swap that fails stores nothing.
        """
        machine, blocks = self._lanes.machine, self._program.blocks
        names = set[str | int]().union(*(needs.names(machine) for _, needs in self._still.values()))
        for start, _ in self._still.values():
            items = (item for place in {each % len(blocks) for each in start.places} for item in blocks[place].body)
            if sum("cas" not in item.words and writes_one_of(machine, item, names) for item in items) > 1:
                return True
        return False

    def _may_write(self, place: int, needs: LoopDependence) -> bool:
        """Return whether lanes at a place may write the memory of a loop before they come to a block barrier."""
        names, blocks = needs.names(self._lanes.machine), self._program.blocks
        ahead = [place % len(blocks)]
        for index in ahead:  # grows
            last = blocks[index].terminator
            control = traits_of(last.opcode).control if last else ""
            if control == "call" or any(writes_one_of(self._lanes.machine, item, names) for item in blocks[index].body):
                return True
            ahead += [each for each in blocks[index].successors if control != "barrier" and each not in ahead]
        return False


# ---- messages


def _never_ends(lanes: Lanes, start: Snapshot) -> RunFailed:
    """Return the failure of a loop whose dependences never change."""
    clause = (
        f"this loop never ends: {lanes.name(start.mask)} repeats it, and nothing that its condition depends on "
        "changes between iterations; look at the loop's condition and step"
    )
    return lanes.machine.failure(
        "timeout", clause, _line(lanes.machine.program, start.key[0], start.places), "step-limit"
    )


def _waits_for_ever(lanes: Lanes, start: Snapshot, held: bool) -> RunFailed:
    """Return the failure of a loop that waits for a memory change no lane can make. `held`: lockstep holds lanes that
    might make it."""
    machine, entries, more = lanes.machine, lanes.barriers.entries(), ""
    what = "a value that no running thread writes"
    if held:
        what = "another thread of its own warp, which cannot go on while the warp runs in lockstep"
    elif entries:
        more = f", while other threads wait for it at the barrier of line {entries[0].line}"
    ended = machine.resident.first + machine.resident.blocks
    if not machine.cooperative and ended < machine.blocks:
        more += (
            f"; the blocks from {ended:,} on cannot write it either, because they start when these have ended: CUDA "
            "promises that all blocks run at once only for a cooperative launch"
        )
    clause = f"{lanes.name(start.mask)} waits in a loop for {what}{more}"
    return machine.failure("deadlock", clause, _line(machine.program, start.key[0], start.places), "step-limit")


def _grid_never_meets(lanes: Lanes, start: Snapshot) -> RunFailed:
    """Return the failure of a grid.sync() that some threads of the grid do not reach."""
    clause = f"{lanes.name(start.mask)} waits at grid.sync() for threads that never come there: all of a grid have to"
    line = _line(lanes.machine.program, start.key[0], start.places)
    return lanes.machine.failure("deadlock", clause, line, "divergent-barrier")


def _line(program: Program, place: int, places: Iterable[int]) -> int:
    """Return the line that decides the loop through these places: the end of the block that jumps back furthest, or of
    `place`."""
    ran = {block.index: block for block in map(program.block_at, places)}
    back = [
        (min(block.successors), -block.index)
        for block in ran.values()
        if any(after in ran and after <= block.index for after in block.successors)
    ]
    return program.block_at(-min(back)[1] if back else place).line
