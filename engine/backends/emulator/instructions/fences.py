"""Memory fences, and the results of barriers that vote."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, writer
from engine.backends.emulator.registers.values import restrict
from engine.backends.emulator.state.machine import Machine


@executes(Traits("membar", writes=False), Traits("fence", writes=False))
def fence(machine: Machine, item: Instruction) -> Executor | None:
    """Every access takes effect at once here: a fence is only for the observers."""

    def step(registers: Registers, mask: Mask) -> None:
        for hook in machine.hooks.on_fence:
            hook(item.line, item.opcode, mask)

    return step if machine.hooks.on_fence else None


@executes(Traits("bar_result", issued=False))
def barrier_result(machine: Machine, item: Instruction) -> Executor:
    """The result of a `barrier.red`, which stands behind it."""
    kind = item.opcode.split(".red.")[1].split(".")[0]
    put = writer(item.operands[0], "u32" if kind == "popc" else "pred", machine.program.widths, item.line)
    everyone, count = np.uint32(1 << 30), np.uint32((1 << 30) - 1)

    def step(registers: Registers, mask: Mask) -> None:
        results = restrict(machine.resident.votes.results, mask.row_index, mask.column_index)
        if kind == "and":
            put(registers, results >= everyone)
        else:
            put(registers, (results & count) > np.uint32(0) if kind == "or" else results & count)

    return step
