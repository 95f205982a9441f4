"""Calls that are open: lanes that came the same way through the same calls share a frame, with registers of its own.

A place of the program is the number of a basic block; in a call it is that number less so many times all blocks that
it is below zero, the more the deeper the call. The group with the smallest place so is the one in the deepest call, and
lanes that called together go on together. Lanes in different calls never are one group, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.backends.emulator.ptx.calls import Callee
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.registers.operands import Registers

_MOST_AT_ONCE = 1 << 40  # frames of one depth in a chunk


@dataclass(eq=False)
class Frame:
    """An open call; the kernel itself is the outermost. `back`: the place in the `caller` where it returns to. `start`:
    where its local memory begins. `call`: the instruction that made it. `lanes`: how many are in it, or in calls made
    from it."""

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

    def __init__(self, program: Program, zeros: Registers) -> None:
        self._blocks = len(program.blocks)
        self._zeros = zeros
        self.kernel = Frame(0, 0, None, None, None, 0, 0, list(zeros))
        self._open: dict[int, Frame] = {0: self.kernel}
        self._entered: dict[tuple[int, str], Frame] = {}
        self._made = 0

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._open.values())

    def of(self, place: int) -> Frame:
        """The frame of a place."""
        return self._open[-(place // self._blocks)]

    def path(self, place: int) -> Iterator[tuple[Frame, int]]:
        """The frame of a place and all that it was called from, each with the place where lanes are or come back to."""
        frame: Frame | None = self.of(place)
        while frame is not None:
            yield frame, place
            place, frame = frame.back, frame.caller

    def place(self, frame: Frame, block: int) -> int:
        """The place of a block in a frame."""
        return block - frame.number * self._blocks

    def enter(self, caller: Frame, callee: Callee, call: Instruction, back: int, start: int, lanes: int) -> Frame:
        """Lanes make a call, to come back to `back`: the frame in which others that did so still are, or a new one.
        `start`: where its local memory begins."""
        found = self._entered.get((back, callee.name))
        if found is None:
            self._made += 1
            number, depth = (caller.depth + 1) * _MOST_AT_ONCE + self._made, caller.depth + 1
            found = Frame(number, depth, callee, caller, call, back, start, list(self._zeros))
            self._open[number] = self._entered[back, callee.name] = found
        found.lanes += lanes
        return found

    def leave(self, frame: Frame, lanes: int) -> None:
        """Lanes return from a call."""
        frame.lanes -= lanes
        if not frame.lanes and frame.callee is not None:
            del self._open[frame.number], self._entered[frame.back, frame.callee.name]

    def close(self) -> None:
        """Let the registers go."""
        for frame in self:
            frame.registers.clear()
