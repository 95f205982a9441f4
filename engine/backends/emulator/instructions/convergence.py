"""Convergence of the lanes of a warp at an instruction: the lanes taking part, and their values side by side.

A warp is 32 consecutive rows, so a register reshapes to (warps, 32, columns), with the lanes of a warp along one axis.
Registers are given in the rows of the mask and first expanded to all rows, because lanes read each other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.instructions.registry import Executor
from engine.backends.emulator.ptx.syntax import Instruction, Register
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP, Mask, lane_words
from engine.backends.emulator.registers.operands import Reader, Registers, constant, reader
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

LANES = np.arange(WARP)


def with_warp_sync_hooks(machine: Machine, item: Instruction, step: Executor | None) -> Executor | None:
    """Return the executor of a converging instruction, preceded by a call of the observers."""
    if not machine.hooks.on_warp_sync:
        return step
    members = members_reader(machine, item)

    def synchronise(registers: Registers, mask: Mask) -> None:
        for hook in machine.hooks.on_warp_sync:
            hook(item.line, item.opcode, mask, members(registers))
        if step is not None:
            step(registers, mask)

    return synchronise


def members_reader(machine: Machine, item: Instruction) -> Reader:
    """Return a reader of the lanes of a warp that must converge here, as bits."""
    if traits_of(item.opcode).converges == "warp":
        everyone = constant(0xFFFFFFFF, "u32")
        return lambda registers: everyone
    return reader(item.operands[-1], "u32", machine.program.widths, item.line)


def members_register(item: Instruction) -> int:
    """Return the register that names these lanes, -1 if none does."""
    last = item.operands[-1] if traits_of(item.opcode).converges == "named" else None
    return last.index if isinstance(last, Register) else -1


def in_all_rows(value: Array, mask: Mask) -> Array:
    """Expand a register from the mask's rows to all rows; inactive rows are zero."""
    rows = mask.rows.size
    if value.shape[0] == 1:
        return np.broadcast_to(value, (rows, value.shape[1]))
    if mask.row_index is None:
        return value
    full = np.zeros((rows, value.shape[1]), value.dtype)
    full[mask.row_index] = value
    return full


def in_mask_rows(value: Array, mask: Mask) -> Array:
    """Reduce a register from all rows to the mask's rows."""
    return value if mask.row_index is None else value[mask.row_index]


def by_warp(value: Array) -> Array:
    """Reshape all rows to (warps, 32, columns)."""
    return value.reshape(-1, WARP, value.shape[1])


def ballot(chosen: Array, mask: Mask) -> Array:
    """Return one bit per lane of the warp, for every lane of the warp."""
    bits = lane_words(by_warp(chosen))
    whole = np.broadcast_to(bits, (bits.shape[0], WARP, bits.shape[2])).reshape(-1, bits.shape[2])
    return in_mask_rows(whole, mask)


def _named(members: Array, mask: Mask) -> Array:
    """Return the active lanes that name themselves, bool (T, ...)."""
    lanes = np.tile(LANES, mask.rows.size // WARP).astype(np.uint32)[:, None]
    named: Array = mask.row_lanes() & ((in_all_rows(members, mask) >> lanes) & np.uint32(1)).astype(bool)
    return named


def by_party(members: Array, mask: Mask, compute: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
    """Apply `compute(named)` to each party of a warp: the lanes that name the same lanes.

    Usually all lanes of a warp are one party. Returns the results in the rows of the mask. A party is identified by its
    lowest named lane.
    """
    named = _named(members, mask)
    if members.size == 1:
        return compute(named)
    lowest = members & (~members + np.uint32(1))
    active = lowest if mask.dense is None else np.broadcast_to(lowest, mask.dense.shape)[mask.dense]
    parties = np.unique(active)
    if parties.size == 1:
        return compute(named)
    made: tuple[Array, ...] = ()
    for party in parties:
        own = lowest == party
        results = compute(named & in_all_rows(own, mask))
        made = tuple(np.where(own, new, old) for new, old in zip(results, made, strict=True)) if made else results
    return made


def broadcast_to_warps(value: Array, mask: Mask) -> Array:
    """Expand (warps, 1, columns) to one value per lane, in the mask's rows."""
    return in_mask_rows(np.repeat(value[:, 0], WARP, axis=0), mask)
