"""Loops that never end, and loops that wait for a value in memory: others get a chance to write it.

The group with the smallest program counter would otherwise run for ever. In lockstep the other lanes of the same warp
get no chance: they wait where the paths meet again, as on the GPUs that run so.

A group that comes back to a place with everything as it was that decides where it goes (`deciding`), while nobody else
has run, stands still: it comes back for ever unless others change the memory that it reads. Where nobody is left who
could, that is said at once. A loop that counts, however long, never stands still.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.registers.masks import WARP, Mask, any_per_warp
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.running.endless.changed_words import Touched
from engine.backends.emulator.running.endless.dependence import Deciding, reads_to_leave, what_decides
from engine.backends.emulator.running.endless.snapshot import Other, Stand, all_equal, equal
from engine.backends.emulator.running.groups import Key
from engine.records import Array, RunFailed

if TYPE_CHECKING:
    from engine.backends.emulator.running.chunk import Chunk
    from engine.backends.emulator.state.machine import Machine

_PATIENCE = 64  # turns of a polling loop after which others get a chance
_MOST_PLACES = 64  # sets of blocks of which is worked out what decides in them
_DETOUR = 32  # basic blocks that others may run before a loop is tried again


class Spinning:
    """Watches the loops of one chunk."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._place = -1
        self._mask: Mask | None = None
        self._turns = self._left = 0
        self.watching = False
        self._renewal = 0
        self._stand: Stand | None = None
        self._met: Other | None = None
        self._meeting: tuple[int, Mask] | None = None
        self._places: set[int] = set()  # blocks that have run since lanes last met somewhere
        self._since: set[int] = set()  # and before that, since all met
        self._inside: dict[frozenset[int], Deciding] = {}
        self._still: dict[Key, Stand] = {}
        self._hint = -1
        self._free: dict[int, tuple[Mask, bool]] = {}

    def close(self) -> None:
        """The chunk is over."""
        if self.watching and self._deciding.spaces:
            machine = self._chunk.machine
            others = tuple(hook for hook in machine.hooks.on_access if hook != self._touched.on_access)
            machine.hooks = replace(machine.hooks, on_access=others)
        del self._chunk

    # ---- who runs

    def detour(self) -> Key | None:
        """The group that runs in place of the one with the smallest program counter, while a loop is suspended."""
        if self._still:
            if not self._left:
                self._left = _DETOUR
                if any(map(self._changed_for, self._still.values())):
                    self._wake()
                    return None
            self._left -= 1
            return self._other_than_still()
        if not self._left:
            return None
        self._left -= 1
        others = [key for key in self._chunk.groups if key[0] != self._place and self._may_run(key, self._mask)]
        # The next one in the order of places, so that everyone has a turn.
        return min(others, key=lambda key: (key[0] < self._place, key)) if others else None

    def turn(self, block: BasicBlock, mask: Mask) -> None:
        """A polling loop goes round again with all the lanes of its group."""
        place = block.successors[0]
        if place != self._place or (mask is not self._mask and not self._same(self._mask, mask)):
            self._turns = 0
        self._place, self._mask = place, mask
        self._turns += 1
        if self._turns < _PATIENCE:
            return
        self._turns = 0
        chunk = self._chunk
        released = chunk.barriers.release_any(chunk.alive)
        chunk.go_on(released)
        if released or any(key[0] != place and self._may_run(key, mask) for key in chunk.groups):
            self._left = _DETOUR

    def _same(self, one: Mask | None, other: Mask) -> bool:
        return one is not None and self._chunk.masks.same(one, other)

    def _may_run(self, key: Key, waiting: Mask | None) -> bool:
        if self._chunk.crews is not None or waiting is None:
            return True
        return not (self._chunk.groups.mask(key).full_dense() & _warps_of([waiting])).any()

    # ---- who stands still

    def check(self, steps: int) -> None:
        """Now and then: look from here on whether the group comes back unchanged, each time for twice as long."""
        if steps < self._renewal:
            return
        self._renewal = steps + steps // 4
        if not self.watching:
            machine = self._chunk.machine
            self._deciding = _known(machine)
            self._touched = Touched(machine, self._deciding)
            if self._deciding.spaces:
                watching = (*machine.hooks.on_access, self._touched.on_access)
                machine.hooks = replace(machine.hooks, on_access=watching)
            self.watching = True
        self._stand = None

    def look(self, key: Key, mask: Mask) -> bool:
        """Before a group runs, while watching. True: it stands still and must let others run."""
        self._places.add(key[0])
        stand = self._still.get(key)
        if stand is not None:
            if self._same(stand.mask, mask) and not self._changed_for(stand):
                return self._let_others(stand)
            self._wake()
        stand = self._stand
        if stand is None:
            self._stand = self._standing(key, mask)
            if not self._still:
                self._touched.forget()
            return False
        if key == stand.key and self._is_back(stand, mask):
            self._still[key] = stand
            self._free.clear()
            self._stand = None
            self._left = _DETOUR
            return self._let_others(stand)
        stand.places.add(key[0])
        return False

    def _changed_for(self, stand: Stand) -> bool:
        return stand.deciding is None or self._touched.changed(stand.deciding)

    def _wake(self) -> None:
        """Memory has changed: whoever stood still may go on. The first of them is watched again from where it stood."""
        self._still.clear()
        self._free.clear()
        self._stand = None
        self._touched.forget()

    def _standing(self, key: Key, mask: Mask) -> Stand:
        return Stand(key, mask, self._values(key[0]), self._others(), {key[0]})

    def _values(self, place: int) -> dict[int, Value]:
        """The registers that are read from this place on."""
        live = self._chunk.machine.program.blocks[place].live_in
        return {i: self._chunk.registers[i] for i in range(live.bit_length()) if live >> i & 1}

    def _others(self) -> list[Other]:
        """All lanes but those that run."""
        chunk = self._chunk
        made = [Other(("group", *key), chunk.groups.mask(key), self._values(key[0])) for key in sorted(chunk.groups)]
        made += [Other(("parked", place), mask, self._values(place)) for place, mask in sorted(chunk.parked.items())]
        for entry in chunk.barriers.entries():
            label = ("barrier", entry.place, entry.count, entry.line)
            made.append(Other(label, entry.mask, self._values(entry.place)))
        return made

    def _is_back(self, stand: Stand, mask: Mask) -> bool:
        """True when the group stands where it stood and all that decides is as it was.

        The others may have run as well if all of them are back, too: in lockstep the whole then goes round for ever.
        """
        if mask is not stand.mask and not self._same(stand.mask, mask):
            return False
        deciding = self._deciding_in(frozenset(stand.places))
        if deciding.timed:
            return False
        indexes = [index for index in stand.values if deciding.registers >> index & 1]
        if self._hint in indexes:  # the last one that differed first
            indexes.insert(0, self._hint)
        for index in indexes:
            if not equal(stand.values[index], self._chunk.registers[index], stand.mask, mask):
                self._hint = index
                return False
        others = self._others()
        if [other.label for other in others] != [other.label for other in stand.others]:
            return False
        if self._touched.changed(deciding):
            return False
        moved = [pair for pair in zip(stand.others, others, strict=True) if pair[0].lanes is not pair[1].lanes]
        if moved and (self._chunk.crews is not None or self._polls(stand)):
            return False
        stand.deciding = deciding
        return all(self._same(was.lanes, now.lanes) and all_equal(was, now, deciding) for was, now in moved)

    def _deciding_in(self, places: frozenset[int]) -> Deciding:
        """What decides inside these blocks, remembered; with too many of them, what decides anywhere."""
        found = self._inside.get(places)
        if found is None:
            if len(self._inside) >= _MOST_PLACES:
                return self._deciding
            found = self._inside[places] = what_decides(self._chunk.machine, places)
        return found

    def _polls(self, stand: Stand) -> bool:
        """True when a loop was gone round in which memory is read that others may change."""
        return any(code.polls for place in stand.places if (code := self._chunk.machine.code[place]))

    def met(self, place: int, mask: Mask) -> None:
        """Under "independent" lanes go on from a point where all met. What no memory decides ends in every order of
        lanes or in none."""
        if self._meeting is not None and self._meeting[0] == place and not self._places:
            mask = self._chunk.masks.union(self._meeting[1], mask)  # let go by one barrier, crew by crew
        self._meeting = (place, mask)
        if self._chunk.alive is None or not self._same(self._chunk.alive, mask):
            places, self._places = self._places, set()
            self._since |= places
            return
        now = Other(("met", place), mask, self._values(place))
        was, self._met = self._met, now
        places, self._places, self._since = self._places | self._since, set(), set()
        if was is None or was.label != now.label or not self._same(was.lanes, mask):
            return
        deciding = self._deciding_in(frozenset(places))
        if not deciding.spaces and not deciding.timed and all_equal(was, now, deciding):
            raise self._never_ends(Stand((place, 0), mask, now.values, [], places))

    # ---- what then

    def _let_others(self, stand: Stand) -> bool:
        """True when others can run; RunFailed when nobody is left who could change anything."""
        chunk = self._chunk
        if stand.deciding is not None and not stand.deciding.spaces:
            raise self._never_ends(stand)
        chunk.go_on(chunk.barriers.release_any(chunk.alive))
        if self._other_than_still(stand.key) is not None:
            return True
        if self._polls(stand) and reads_to_leave(chunk.machine.program, frozenset(stand.places)):
            line = self._line(stand)
            raise chunk.machine.failure("deadlock", self._clause(stand), line, "step-limit")
        raise self._never_ends(stand)

    def _other_than_still(self, running: Key | None = None) -> Key | None:
        """A group that does not stand still and may run; in lockstep, without its lanes in warps that stand still."""
        chunk = self._chunk
        for key in sorted(chunk.groups):
            if key in self._still or key == running:
                continue
            if chunk.crews is not None:
                return key
            mask = chunk.groups.mask(key)
            known = self._free.get(id(mask))
            if known is not None and known[0] is mask and known[1]:
                return key
            free = mask.full_dense() & ~_warps_of([stand.mask for stand in self._still.values()])
            if free.all() or int(free.sum()) == mask.lanes:
                self._free[id(mask)] = (mask, True)
                return key
            if free.any():
                return self._split(key, free)
        return None

    def _split(self, key: Key, free: Array) -> Key:
        """The lanes of whole warps that may run go on by themselves."""
        chunk, masks = self._chunk, self._chunk.masks
        mask = chunk.groups.pop(key)
        part = masks.from_dense(masks.all_rows, masks.all_columns, free)
        assert part is not None
        rest = masks.minus(mask, part)
        assert rest is not None
        chunk.groups.add(key, rest)
        apart = (key[0], key[1] + 1)
        chunk.groups.add(apart, part)
        return apart

    # ---- words

    def _line(self, stand: Stand) -> int:
        """Where the loop decides: the end of the block that jumps back furthest."""
        blocks = self._chunk.machine.program.blocks
        back = [
            (min(block.successors), -block.index)
            for block in blocks
            if block.index in stand.places and any(s in stand.places and s <= block.index for s in block.successors)
        ]
        return blocks[-min(back)[1]].line if back else blocks[stand.key[0]].line

    def _never_ends(self, stand: Stand) -> RunFailed:
        machine = self._chunk.machine
        clause = (
            f"this loop never ends: {self._name(stand.mask)} goes round in it, and nothing changes from turn to turn "
            "that decides whether it goes on; look at the loop's condition and step"
        )
        return machine.failure("timeout", clause, self._line(stand), "step-limit")

    def _name(self, mask: Mask) -> str:
        lanes = mask.full_dense()
        column = int(lanes.any(axis=0).argmax())
        return self._chunk.machine.lane_name(int(lanes[:, column].argmax()), column)

    def _clause(self, stand: Stand) -> str:
        chunk, name = self._chunk, self._name(stand.mask)
        machine = chunk.machine
        if any(key not in self._still for key in chunk.groups):
            return (f"{name} waits in a loop for another thread of its own warp, which cannot go on while the warp "
                    "runs in lockstep")  # fmt: skip
        entries = chunk.barriers.entries()
        if entries:
            return (f"{name} waits in a loop for a value that no running thread writes, while other threads wait for "
                    f"it at the barrier of line {entries[0].line}")  # fmt: skip
        if not machine.cooperative and machine.first + machine.chunk_blocks < machine.blocks:
            return (f"{name} waits in a loop for a value that no running thread writes, and a block that has not "
                    "started cannot write it either")  # fmt: skip
        return f"{name} waits in a loop for a value that no running thread writes"


def _warps_of(masks: list[Mask]) -> Array:
    """bool[T, B]: all lanes of the warps with a lane in a mask."""
    warps = any_per_warp(masks[0].full_dense())
    for mask in masks[1:]:
        warps = warps | any_per_warp(mask.full_dense())
    return np.repeat(warps, WARP, axis=0)


_DECIDING: dict[int, tuple[Program, Hashable, Deciding]] = {}  # by the program's id


def _known(machine: Machine) -> Deciding:
    """`what_decides`, remembered for the program, its arrays, and the arguments that say which of them is which."""
    arrays = frozenset(array.base for array in machine.space.arrays())
    given = (arrays, frozenset(machine.arguments.items()), frozenset(machine.symbols.items()))
    found = _DECIDING.get(id(machine.program))
    if found is None or found[0] is not machine.program or found[1] != given:
        if len(_DECIDING) > 64:
            _DECIDING.clear()
        found = _DECIDING[id(machine.program)] = (machine.program, given, what_decides(machine))
    return found[2]
