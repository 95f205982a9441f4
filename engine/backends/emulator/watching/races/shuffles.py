"""Shuffles that read from lanes which do not take part: where nobody gets anything else, and what is made of it."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.undefined import Stored, UndefinedValues, first_lane
from engine.records import Array


class Shuffles:
    """Those of a chunk, told to `findings`."""

    def __init__(self, machine: Machine, findings: Findings, info: ChunkInfo) -> None:
        self._machine, self._findings = machine, findings
        self._undefined = UndefinedValues(machine.program, info.rows, info.blocks)

    def enter(self, block: BasicBlock, mask: Mask) -> None:
        """Lanes go through a basic block, with what they hold."""
        self._tell(self._undefined.enter(block, mask))

    def shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """Lanes read each other's registers; `source`: the row that each row reads."""
        found = from_nobody(mask, source)
        if found is None:
            self._tell(self._undefined.shuffle(line, mask, source, None))
            return
        nobody, whole_warps = found
        self._tell(self._undefined.shuffle(line, mask, source, nobody & ~whole_warps))
        if whole_warps.any():
            row, column, read = first_lane(whole_warps, source)
            lane = self._machine.lane_name(row, int(mask.columns_at()[column]))
            message = (
                f"line {line}: {lane} and all others of its warp that execute this shuffle read from lanes that do "
                f"not, here from lane {read}; such a value is undefined."
            )
            self._findings.report("warp-race", line, None, message)

    def _tell(self, found: list[Stored]) -> None:
        for one in found:
            lane, shuffle = self._machine.lane_name(one.row, one.column), one.taint.line
            message = (
                f"line {one.line}: {lane} stores what came of the shuffle at line {shuffle}, where lane "
                f"{one.taint.missed} was read, which did not execute it; such a value is undefined."
            )
            self._findings.report("warp-race", one.line, shuffle, message)


def from_nobody(mask: Mask, source: Array) -> tuple[Array, Array] | None:
    """(lanes that read from one which does not take part; of these, those in whose warp all do), bool[T, 1 or C].

    `source`: the row that each row reads, (T, 1) or (T, columns of the mask). None where nobody does. The register of
    a lane that is not there is undefined; but trees read beyond the lanes that they need and never use what comes of
    it, so that a shuffle by itself is a mistake only if none of a warp's lanes reads from one that takes part.
    """
    active = mask.row_lanes()
    if active.all():
        return None
    shape = (active.shape[0], max(active.shape[1], source.shape[1]))
    active, source = np.broadcast_to(active, shape), np.broadcast_to(source, shape)
    nobody = active & ~np.take_along_axis(active, source, axis=0)
    if not nobody.any():
        return None
    by_warp = (-1, WARP, shape[1])
    partly = (active & ~nobody).reshape(by_warp).any(axis=1)
    return nobody, nobody & ~np.repeat(partly, WARP, axis=0)
