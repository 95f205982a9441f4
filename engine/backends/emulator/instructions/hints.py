"""Instructions that change neither an answer nor a count: what they hint at, or hold up, is time."""

from __future__ import annotations

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.state.machine import Machine

_HEADS = ("prefetch", "prefetchu", "nanosleep", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg")


@executes(*(Traits(head, writes=False) for head in _HEADS))
def nothing(machine: Machine, item: Instruction) -> Executor | None:
    """None."""
    return None
