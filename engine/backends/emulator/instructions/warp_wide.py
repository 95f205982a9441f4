"""Warp-synchronous instructions: shuffle, vote, match, redux, elect, active mask."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.instructions.convergence import (
    LANES,
    ballot,
    broadcast_to_warps,
    by_party,
    by_warp,
    in_all_rows,
    in_mask_rows,
    members_reader,
)
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.syntax import Instruction, Pair, PtxError
from engine.backends.emulator.ptx.traits import Traits, check_type, describe
from engine.backends.emulator.registers.masks import WARP, Mask, lane_words
from engine.backends.emulator.registers.operands import Registers, reader, writer
from engine.backends.emulator.state.machine import Machine
from engine.records import Array


def check_warp_of_old(item: Instruction) -> None:
    """Refuse the forms of shuffle and vote from before Volta."""
    clause = f"{item.opcode} does not name the lanes that take part, which GPUs since Volta require"
    raise PtxError(clause, advice="use the function whose name ends in _sync, such as __shfl_down_sync")


describe(Traits("shfl", check=check_warp_of_old), Traits("vote", check=check_warp_of_old))


@executes(Traits("bar.warp.sync", "v", writes=False, converges="named", called="__syncwarp()"))
def sync_warp(machine: Machine, item: Instruction) -> Executor | None:
    """Return None: the lanes only converge."""
    return None


@executes(Traits("activemask", "d", varies=True, unsteady=True))
def active_mask(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that gives the lanes executing it."""
    put = writer(item.operands[0], "u32", machine.program.widths, item.line)
    return lambda registers, mask: put(registers, ballot(mask.row_lanes(), mask))


@executes(
    Traits("shfl.sync", "pvvvv", ("up", "down", "bfly", "idx"), converges="named", varies=True,
           called="a shuffle (__shfl_…_sync)")
)  # fmt: skip
def shuffle(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of shfl: the register of another lane, and whether that lane exists."""
    widths, line = machine.program.widths, item.line
    target = item.operands[0]
    kind = item.words[2]
    put = writer(target.first if isinstance(target, Pair) else target, "b32", widths, line)
    put_inside = writer(target.second, "pred", widths, line) if isinstance(target, Pair) else None
    value, amount, clamp = (reader(operand, "u32", widths, line) for operand in item.operands[1:4])

    def step(registers: Registers, mask: Mask) -> None:
        source, inside = _sources(kind, amount(registers), clamp(registers), mask)
        for hook in machine.hooks.on_shuffle:
            hook(line, mask, source)
        data = in_all_rows(value(registers), mask)
        if source.shape[1] == 1 and (mask.row_index is None or data.shape[1] == 1):
            made = data[source[:, 0]]
        else:
            made = np.take_along_axis(np.broadcast_to(data, (data.shape[0], max(source.shape[1], data.shape[1]))),
                                      np.broadcast_to(source, (source.shape[0], max(source.shape[1], data.shape[1]))),
                                      axis=0)  # fmt: skip
        put(registers, in_mask_rows(made, mask))
        if put_inside:
            put_inside(registers, in_mask_rows(inside, mask))

    return step


def _sources(kind: str, amount: Array, clamp: Array, mask: Mask) -> tuple[Array, Array]:
    """Return (the row that each row reads, whether it lies inside the segment), as PTX defines shfl."""
    rows = mask.rows.size
    lane = np.tile(LANES, rows // WARP)[:, None]
    steps = in_all_rows(amount, mask).astype(np.int64) & 31
    control = in_all_rows(clamp, mask).astype(np.int64)
    segment, bound = (control >> 8) & 31, control & 31
    last = (lane & segment) | (bound & ~segment & 31)
    match kind:
        case "up":
            other = lane - steps
            inside = other >= last
        case "down":
            other = lane + steps
            inside = other <= last
        case "bfly":
            other = lane ^ steps
            inside = other <= last
        case "idx":
            other = (lane & segment) | (steps & ~segment & 31)
            inside = other <= last
        case _:
            raise AssertionError(kind)
    base = (np.arange(rows) // WARP * WARP)[:, None]
    rows_read: Array = base + np.where(inside, other, lane)
    return rows_read, inside


@executes(Traits("vote.sync", "dvv", ("all", "any", "uni", "ballot"), converges="named", varies=True,
                 called="a vote (__ballot_sync, __any_sync, __all_sync)"))  # fmt: skip
def vote(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of vote: the combined predicates of the lanes."""
    members = members_reader(machine, item)
    widths, line, kind = machine.program.widths, item.line, item.words[2]
    chosen = reader(item.operands[1], "pred", widths, line)
    put = writer(item.operands[0], "b32" if kind == "ballot" else "pred", widths, line)

    def step(registers: Registers, mask: Mask) -> None:
        yes = in_all_rows(chosen(registers), mask)

        def counted(named: Array) -> tuple[Array, ...]:
            if kind == "ballot":
                return (ballot(yes & named, mask),)
            every = broadcast_to_warps(np.logical_and.reduce(by_warp(yes | ~named), axis=1, keepdims=True), mask)
            some = broadcast_to_warps(np.logical_or.reduce(by_warp(yes & named), axis=1, keepdims=True), mask)
            return (every if kind == "all" else some if kind == "any" else every | ~some,)

        put(registers, by_party(members(registers), mask, counted)[0])

    return step


@executes(*(Traits(head, form, check=check_type, converges="named", varies=True, called="__match_…_sync()")
            for head, form in (("match.any.sync", "dvv"), ("match.all.sync", "pvv"))))  # fmt: skip
def match_values(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of match: the lanes with the same value."""
    members = members_reader(machine, item)
    words, widths, line = item.words, machine.program.widths, item.line
    target = item.operands[0]
    value = reader(item.operands[1], "u" + words[-1][1:], widths, line)
    put = writer(target.first if isinstance(target, Pair) else target, "b32", widths, line)
    put_all = writer(target.second, "pred", widths, line) if isinstance(target, Pair) else None

    def step(registers: Registers, mask: Mask) -> None:
        spread = in_all_rows(value(registers), mask)

        def compared(named: Array) -> tuple[Array, ...]:
            columns = max(named.shape[1], spread.shape[1])
            data = by_warp(np.broadcast_to(spread, (spread.shape[0], columns)))
            named = by_warp(np.broadcast_to(named, (named.shape[0], columns)))
            made = np.zeros(data.shape, np.uint32)
            for lane in range(WARP):
                same = (data == data[:, lane : lane + 1]) & named[:, lane : lane + 1]
                made |= same.astype(np.uint32) << np.uint32(lane)
            everyone = lane_words(named)
            agreed = made == everyone
            if words[1] == "all":
                made = np.where(agreed, everyone, np.uint32(0))
            return in_mask_rows(made.reshape(-1, columns), mask), in_mask_rows(agreed.reshape(-1, columns), mask)

        found, agreed = by_party(members(registers), mask, compared)
        put(registers, found)
        if put_all:
            put_all(registers, agreed)

    return step


_REDUX = {"add": (np.add, 0), "min": (np.minimum, None), "max": (np.maximum, None), "and": (np.bitwise_and, -1),
          "or": (np.bitwise_or, 0), "xor": (np.bitwise_xor, 0)}  # fmt: skip


@executes(Traits("redux.sync", "dvv", check=check_type, converges="named", varies=True, called="__reduce_…_sync()"))
def redux(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of redux: the combined value of all lanes."""
    members = members_reader(machine, item)
    words, widths, line = item.words, machine.program.widths, item.line
    name, code = words[2], words[-1]
    if name not in _REDUX or code not in ("u32", "s32", "b32"):
        raise PtxError(f"this instruction is not emulated: {item.opcode}", line)
    combine, neutral = _REDUX[name]
    value = reader(item.operands[1], code, widths, line)
    put = writer(item.operands[0], code, widths, line)

    def step(registers: Registers, mask: Mask) -> None:
        data = in_all_rows(value(registers), mask)
        limits = np.iinfo(data.dtype)
        idle = neutral if neutral is not None else (limits.max if name == "min" else limits.min)
        filler = np.array(idle if idle is not None and idle >= limits.min else limits.max, data.dtype)

        def combined(named: Array) -> tuple[Array, ...]:
            whole = np.where(named, data, filler)
            return (broadcast_to_warps(combine.reduce(by_warp(whole), axis=1, keepdims=True, dtype=data.dtype), mask),)

        put(registers, by_party(members(registers), mask, combined)[0])

    return step


@executes(Traits("elect.sync", "pv", converges="named", varies=True))
def elect(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of elect: one lane, the same for all, and whether it is this one."""
    members = members_reader(machine, item)
    widths, line, target = machine.program.widths, item.line, item.operands[0]
    put = writer(target.first if isinstance(target, Pair) else target, "b32", widths, line)
    put_chosen = writer(target.second, "pred", widths, line) if isinstance(target, Pair) else None

    def step(registers: Registers, mask: Mask) -> None:
        def elected(named: Array) -> tuple[Array, ...]:
            leader = by_warp(named).argmax(axis=1, keepdims=True).astype(np.uint32)
            lanes = np.arange(WARP, dtype=np.uint32)[None, :, None]
            return broadcast_to_warps(leader, mask), in_mask_rows((lanes == leader).reshape(-1, named.shape[1]), mask)

        leader, chosen = by_party(members(registers), mask, elected)
        put(registers, leader)
        if put_chosen:
            put_chosen(registers, chosen)

    return step
