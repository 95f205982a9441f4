"""What is said of a loop that never ends, and of a wait that nobody can end."""

from __future__ import annotations

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.running.endless.snapshot import Snapshot
from engine.backends.emulator.running.lanes import Lanes
from engine.records import RunFailed


def never_ends(lanes: Lanes, start: Snapshot) -> RunFailed:
    """Nothing that the loop depends on changes."""
    clause = (
        f"this loop never ends: {_name(lanes, start.mask)} goes round in it, and nothing changes from turn to turn "
        "that decides whether it goes on; look at the loop's condition and step"
    )
    return lanes.machine.failure("timeout", clause, _line(lanes.machine.program, start), "step-limit")


def waits_for_ever(lanes: Lanes, start: Snapshot, held: bool) -> RunFailed:
    """It depends on memory, which nobody is left to change. `held`: others of its warp would go on if they could."""
    machine, entries, why = lanes.machine, lanes.barriers.entries(), ""
    if held:
        what = "another thread of its own warp, which cannot go on while the warp runs in lockstep"
    else:
        what = "a value that no running thread writes"
        if entries:
            why = f", while other threads wait for it at the barrier of line {entries[0].line}"
        elif not machine.cooperative and machine.resident.first + machine.resident.blocks < machine.blocks:
            why = ", and a block that has not started cannot write it either"
    clause = f"{_name(lanes, start.mask)} waits in a loop for {what}{why}"
    return machine.failure("deadlock", clause, _line(machine.program, start), "step-limit")


def _line(program: Program, start: Snapshot) -> int:
    """Where the loop decides: the end of the block that jumps back furthest."""
    ran = [program.blocks[place] for place in start.places]
    back = [
        (min(block.successors), -block.index)
        for block in ran
        if any(after in start.places and after <= block.index for after in block.successors)
    ]
    return program.blocks[-min(back)[1] if back else start.key[0]].line


def _name(lanes: Lanes, mask: Mask) -> str:
    full = mask.full_dense()
    column = int(full.any(axis=0).argmax())
    return lanes.machine.lane_name(int(full[:, column].argmax()), column)
