"""Who comes to a warp-wide instruction or a barrier, and who had to: wrong member masks, warps that are not whole.

Lines are those of the .cu file; messages go to `Findings`.
"""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.races.findings import Findings
from engine.records import Array

_EVERYONE = (1 << WARP) - 1  # the mask of a whole warp


class Members:
    """Looks at who comes to the warp-wide instructions and barriers of a launch."""

    def __init__(self, machine: Machine, findings: Findings) -> None:
        self._machine, self._findings = machine, findings

    def look(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Lanes execute such an instruction; `members`: the lanes that each names."""
        if traits_of(opcode).meets == "warp":
            self._not_whole(line, opcode, mask)
        elif members.size > 1 or int(members.flat[0]) != _EVERYONE:
            self._unnamed(line, opcode, mask, members)

    def incomplete(self, line: int, opcode: str, mask: Mask) -> None:
        """It is about to be executed though others never come: lanes that it names, or those of the whole warp."""
        if traits_of(opcode).meets == "named":
            self._report(line, opcode, mask, 0, 0, "names lanes which never come there")

    def at_barrier(self, line: int, mask: Mask, alive: Mask) -> None:
        """Lanes come to a block barrier; `alive`: those that have not ended."""
        here, living = mask.full_dense(), alive.full_dense()
        warps = (here.shape[0] // WARP, WARP, here.shape[1])
        some = here.reshape(warps).any(axis=1)
        lacking = (living & ~here).reshape(warps).any(axis=1) & some
        if not lacking.any():
            return
        warp, column = (int(i[0]) for i in np.nonzero(lacking))
        absent = np.flatnonzero((living & ~here)[warp * WARP : warp * WARP + WARP, column])
        block = self._machine.lane_name(0, column).split(" of ")[1]
        message = (
            f"line {line}: lanes of warp {warp} of {block} reach __syncthreads() while {in_words(absent)} of the "
            "same warp are somewhere else; all threads of a block must reach the same __syncthreads()."
        )
        self._findings.report("divergent-barrier", line, None, message)

    def _not_whole(self, line: int, opcode: str, mask: Mask) -> None:
        lanes = mask.row_lanes()
        warps = lanes.reshape(-1, WARP, lanes.shape[1])
        lacking = warps.any(axis=1) & ~warps.all(axis=1)
        if lacking.any():
            warp, column = (int(at[0]) for at in np.nonzero(lacking))
            absent = in_words(np.flatnonzero(~warps[warp, :, column]))
            block = self._machine.lane_name(0, int(mask.columns_at()[column])).split(" of ")[1]
            message = (
                f"line {line}: warp {warp} of {block} executes {traits_of(opcode).called} without its {absent}; all "
                f"{WARP} lanes of a warp must do that together, else the result is undefined."
            )
            self._findings.report("divergent-barrier", line, None, message)

    def _unnamed(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        itself = members >> (mask.rows_at() % WARP).astype(np.uint32)[:, None] & np.uint32(1)
        lacking = np.broadcast_to(itself == 0, (mask.height, mask.width))
        lacking = lacking if mask.dense is None else lacking & mask.dense
        if lacking.any():
            column = int(lacking.any(axis=0).argmax())
            self._report(line, opcode, mask, int(lacking[:, column].argmax()), column, "does not name itself")

    def _report(self, line: int, opcode: str, mask: Mask, row: int, column: int, flaw: str) -> None:
        lane = self._machine.lane_name(int(mask.rows_at()[row]), int(mask.columns_at()[column]))
        what = traits_of(opcode).called or "a warp-wide function"
        clause = f"{lane} executes {what} with a mask that {flaw}"
        message = f"line {line}: {clause}; on a GPU the result is undefined."
        self._findings.report("divergent-barrier", line, None, message)


def in_words(lanes: Array) -> str:
    """ "lane 3", "lanes 0 to 15", "lanes 1, 3, 5, 7 …": numbers in ascending order."""
    if lanes.size == 1:
        return f"lane {lanes[0]}"
    if lanes[-1] - lanes[0] + 1 == lanes.size:
        return f"lanes {lanes[0]} to {lanes[-1]}"
    shown = ", ".join(str(lane) for lane in lanes[:4])
    return f"lanes {shown}{' …' if lanes.size > 4 else ''}"
