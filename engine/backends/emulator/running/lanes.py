"""Where the lanes of a chunk stand, and what their registers hold.

A lane that lives stands in one place: in a group that can run, at a barrier, or parked before a warp-synchronous
instruction until the lanes that it names have come, or before a gate until that opens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.backends.emulator.registers.masks import WARP, Mask, Masks
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.registers.parts import expanded, fetch
from engine.backends.emulator.registers.values import Part, restrict
from engine.backends.emulator.running.barriers import Barriers
from engine.backends.emulator.running.code import Code
from engine.backends.emulator.running.frames import Frame, Frames
from engine.backends.emulator.running.groups import Groups
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.schedule import Crews
from engine.records import Array

Label = tuple[Any, ...]


class Lanes:
    """The lanes of the resident blocks. `registers`: whole ones, in the frame where lanes run; `scratch`: those of a
    group that is not the whole.

    `alive`: None when all have ended. `parked`: by the place where they wait. `crews`: None in lockstep.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.masks = Masks(machine.threads, machine.rows, machine.resident.blocks)
        self.frames = Frames(machine.program, machine.zeros)
        self.registers: Registers = self.frames.kernel.registers
        self.scratch: Registers = list(machine.zeros)
        self.alive: Mask | None = self.masks.start
        self.groups = Groups(self.masks)
        self.barriers = Barriers(self.masks, machine.resident.votes)
        self.parked: dict[int, Mask] = {}
        self.crews = Crews(machine.schedule, machine.rows) if machine.schedule.kind == "independent" else None
        self._whole: dict[tuple[int, int], tuple[bool, Mask, Mask]] = {}

    def close(self) -> None:
        """Let the registers go."""
        self.frames.close()
        self.scratch.clear()

    def end(self, mask: Mask) -> None:
        """Lanes end."""
        assert self.alive is not None
        self.alive = self.masks.minus(self.alive, mask)

    def name(self, mask: Mask) -> str:
        """What the first lane of a mask is called, by block and then by thread."""
        full = mask.full_dense()
        column = int(full.any(axis=0).argmax())
        return self.machine.lane_name(int(full[:, column].argmax()), column)

    def standing(self) -> Iterator[tuple[Label, int, Mask]]:
        """All lanes but those that run: (where they stand, their place in the program, which they are)."""
        for key in sorted(self.groups):
            yield ("group", *key), key[0], self.groups.mask(key)
        for place, mask in sorted(self.parked.items()):
            yield ("parked", place), place, mask
        for entry in self.barriers.entries():
            yield ("barrier", entry.place, entry.count, entry.line), entry.place, entry.mask

    def live(self, frame: Frame) -> int:
        """Bit set of the registers of a frame that all these will read."""
        program, live = self.machine.program, 0
        places = [place for place, _ in self.groups]
        places += self.parked
        places += [entry.place for entry in self.barriers.entries()]
        if program.callees:  # those in the frame, and those in calls that it made
            places = [place for place in places if self.frames.of(place) is frame]
            places += [other.back for other in self.frames if other.caller is frame]
        for place in places:
            live |= program.block_at(place).live_in
        return live

    def by_value(self, values: Array, mask: Mask) -> list[tuple[int, Mask]]:
        """The lanes of a mask by the value of a register, given in the mask's rows and columns."""
        if values.size == 1:
            return [(int(values.flat[0]), mask)]
        masks, full = self.masks, np.full(self.masks.shape, -1, np.int64)
        lanes = mask.full_dense()
        full[np.ix_(mask.rows, mask.columns)] = values
        parts = ((value, masks.from_dense(masks.all_rows, masks.all_columns, lanes & (full == value)))
                 for value in np.unique(full[lanes]).tolist())  # fmt: skip
        return [(value, part) for value, part in parts if part is not None]

    # ---- lanes of a warp that must meet

    def met(self, code: Code, place: int, mask: Mask) -> Mask | None:
        """The lanes that can execute the warp-synchronous instruction: all lanes that it names have come. The others
        are parked."""
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

    def inside(self, code: Code, mask: Mask) -> Registers:
        """The registers that a block reads, in the rows and columns of a mask."""
        if mask.whole:
            return self.registers
        fetch(code.used, self.registers, self.scratch, mask)
        return self.scratch

    def _has_whole_warps(self, mask: Mask, alive: Mask) -> bool:
        """Quickly: the mask holds every living lane of the warps that it touches (else they have to be looked at)."""
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

    def _lacking(self, code: Code, mask: Mask, alive: Mask) -> Array:
        """bool[warps, B]: warps of which a named living lane has not come."""
        assert code.members is not None
        index, local = code.members_of, self.scratch
        if index >= 0:
            value = self.registers[index]
            value = expanded(value) if value.__class__ is Part else value
            local[index] = restrict(value, mask.row_index, mask.column_index)
        members = np.broadcast_to(code.members(local), (mask.height, mask.width))
        named = np.zeros(self.masks.shape, np.uint32)
        named[np.ix_(mask.rows, mask.columns)] = members if mask.dense is None else members & mask.words(4)
        wanted = np.bitwise_or.reduce(named.reshape(-1, WARP, named.shape[1]), axis=1)
        missing = (alive.full_dense() & ~mask.full_dense()).reshape(-1, WARP, named.shape[1])
        bits = (np.uint32(1) << np.arange(WARP, dtype=np.uint32))[None, :, None]
        absent = np.bitwise_or.reduce(np.where(missing, bits, np.uint32(0)), axis=1)
        return (wanted & absent) != 0  # type: ignore[no-any-return]
