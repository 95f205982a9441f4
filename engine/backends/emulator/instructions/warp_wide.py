"""Warp-synchronous instructions: shuffle, vote, match, redux, elect, active mask.

A warp is 32 consecutive rows, so a register reshapes to (warps, 32, columns) and the lanes of a warp lie along one
axis. The registers come in the rows of the mask; they are first spread to all rows, because lanes read each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from engine.backends.emulator.instructions.registry import Step, executes
from engine.backends.emulator.ptx.check import ends_in_type
from engine.backends.emulator.ptx.syntax import Instruction, Pair, PtxError, Register
from engine.backends.emulator.ptx.traits import Traits, describe, traits_of
from engine.backends.emulator.registers.masks import WARP, Mask, lane_words
from engine.backends.emulator.registers.operands import Reader, Registers, constant, reader, writer
from engine.records import Array

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

_LANES = np.arange(WARP)


def met(machine: Machine, item: Instruction, step: Step | None) -> Step | None:
    """A step at which lanes of a warp meet, after the observers have heard of it."""
    if not machine.hooks.on_warp_sync:
        return step
    members = members_reader(machine, item)

    def told(registers: Registers, mask: Mask) -> None:
        for hook in machine.hooks.on_warp_sync:
            hook(item.line, item.opcode, mask, members(registers))
        if step is not None:
            step(registers, mask)

    return told


def members_reader(machine: Machine, item: Instruction) -> Reader:
    """A reader of the lanes of a warp that have to meet here, as bits."""
    if traits_of(item.opcode).meets == "warp":
        everyone = constant(0xFFFFFFFF, "u32")
        return lambda registers: everyone
    return reader(item.operands[-1], "u32", machine.program.widths, item.line)


def members_register(item: Instruction) -> int:
    """The register that names them; -1 where none does."""
    last = item.operands[-1] if traits_of(item.opcode).meets == "named" else None
    return last.index if isinstance(last, Register) else -1


def check_warp_of_old(item: Instruction) -> None:
    """The forms of shuffle and vote from before Volta."""
    clause = f"{item.opcode} does not say which lanes take part, which GPUs since Volta want to know"
    raise PtxError(clause, advice="write the function whose name ends in _sync, such as __shfl_down_sync")


describe(Traits("shfl", check=check_warp_of_old), Traits("vote", check=check_warp_of_old))


@executes(Traits("bar.warp.sync", "v", writes=False, meets="named", called="__syncwarp()"))
def sync_warp(machine: Machine, item: Instruction) -> Step | None:
    """Lanes meet, and nothing else."""
    return None


@executes(Traits("activemask", "d", varies=True, unsteady=True))
def active_mask(machine: Machine, item: Instruction) -> Step:
    """The lanes that execute it."""
    put = writer(item.operands[0], "u32", machine.program.widths, item.line)
    return lambda registers, mask: put(registers, _ballot(_active(mask), mask))


def _spread(value: Array, mask: Mask) -> Array:
    """A register in the mask's rows -> all rows; rows that are not active hold zeros."""
    rows = mask.rows.size
    if value.shape[0] == 1:
        return np.broadcast_to(value, (rows, value.shape[1]))
    if mask.row_index is None:
        return value
    full = np.zeros((rows, value.shape[1]), value.dtype)
    full[mask.row_index] = value
    return full


def _narrow(value: Array, mask: Mask) -> Array:
    """All rows -> the mask's rows."""
    return value if mask.row_index is None else value[mask.row_index]


def _warps(value: Array) -> Array:
    return value.reshape(-1, WARP, value.shape[1])


def _active(mask: Mask) -> Array:
    """bool (T, 1 or width): the lanes that execute the instruction."""
    return mask.row_lanes()


def _ballot(chosen: Array, mask: Mask) -> Array:
    """One bit per lane of the warp, for every lane of the warp."""
    bits = lane_words(_warps(chosen))
    whole = np.broadcast_to(bits, (bits.shape[0], WARP, bits.shape[2])).reshape(-1, bits.shape[2])
    return _narrow(whole, mask)


def _named(members: Array, mask: Mask) -> Array:
    """bool (T, ...): active lanes that name themselves."""
    lanes = np.tile(_LANES, mask.rows.size // WARP).astype(np.uint32)[:, None]
    named: Array = _active(mask) & ((_spread(members, mask) >> lanes) & np.uint32(1)).astype(bool)
    return named


def _by_party(members: Array, mask: Mask, compute: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
    """`compute(named)` for each party of a warp: the lanes that name the same lanes, found by the lowest of these.

    As a rule all lanes of a warp are one party. The results come in the rows of the mask.
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
        results = compute(named & _spread(own, mask))
        made = tuple(np.where(own, new, old) for new, old in zip(results, made, strict=True)) if made else results
    return made


@executes(
    Traits("shfl.sync", "pvvvv", ("up", "down", "bfly", "idx"), meets="named", varies=True,
           called="a shuffle (__shfl_…_sync)")
)  # fmt: skip
def shuffle(machine: Machine, item: Instruction) -> Step:
    """shfl: a register of another lane, and whether there is such a lane."""
    widths, line = machine.program.widths, item.line
    target = item.operands[0]
    kind = item.words[2]
    put = writer(target.first if isinstance(target, Pair) else target, "b32", widths, line)
    put_inside = writer(target.second, "pred", widths, line) if isinstance(target, Pair) else None
    value, amount, clamp = (reader(operand, "u32", widths, line) for operand in item.operands[1:4])

    def step(registers: Registers, mask: Mask) -> None:
        source, inside = _sources(kind, amount(registers), clamp(registers), mask)
        data = _spread(value(registers), mask)
        if source.shape[1] == 1 and (mask.row_index is None or data.shape[1] == 1):
            made = data[source[:, 0]]
        else:
            made = np.take_along_axis(np.broadcast_to(data, (data.shape[0], max(source.shape[1], data.shape[1]))),
                                      np.broadcast_to(source, (source.shape[0], max(source.shape[1], data.shape[1]))),
                                      axis=0)  # fmt: skip
        put(registers, _narrow(made, mask))
        if put_inside:
            put_inside(registers, _narrow(inside, mask))

    return step


def _sources(kind: str, amount: Array, clamp: Array, mask: Mask) -> tuple[Array, Array]:
    """(row that each row reads from, whether that lies inside the segment), as PTX defines shfl."""
    rows = mask.rows.size
    lane = np.tile(_LANES, rows // WARP)[:, None]
    steps = _spread(amount, mask).astype(np.int64) & 31
    control = _spread(clamp, mask).astype(np.int64)
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


@executes(Traits("vote.sync", "dvv", ("all", "any", "uni", "ballot"), meets="named", varies=True,
                 called="a vote (__ballot_sync, __any_sync, __all_sync)"))  # fmt: skip
def vote(machine: Machine, item: Instruction) -> Step:
    """vote: what the lanes say of a predicate."""
    members = members_reader(machine, item)
    widths, line, kind = machine.program.widths, item.line, item.words[2]
    chosen = reader(item.operands[1], "pred", widths, line)
    put = writer(item.operands[0], "b32" if kind == "ballot" else "pred", widths, line)

    def step(registers: Registers, mask: Mask) -> None:
        yes = _spread(chosen(registers), mask)

        def counted(named: Array) -> tuple[Array, ...]:
            if kind == "ballot":
                return (_ballot(yes & named, mask),)
            every = _for_warp(np.logical_and.reduce(_warps(yes | ~named), axis=1, keepdims=True), mask)
            some = _for_warp(np.logical_or.reduce(_warps(yes & named), axis=1, keepdims=True), mask)
            return (every if kind == "all" else some if kind == "any" else every | ~some,)

        put(registers, _by_party(members(registers), mask, counted)[0])

    return step


def _for_warp(value: Array, mask: Mask) -> Array:
    """(warps, 1, columns) -> one value for every lane, in the mask's rows."""
    return _narrow(np.repeat(value[:, 0], WARP, axis=0), mask)


@executes(*(Traits(head, form, check=ends_in_type, meets="named", varies=True, called="__match_…_sync()")
            for head, form in (("match.any.sync", "dvv"), ("match.all.sync", "pvv"))))  # fmt: skip
def match_values(machine: Machine, item: Instruction) -> Step:
    """match: the lanes that hold the same value."""
    members = members_reader(machine, item)
    words, widths, line = item.words, machine.program.widths, item.line
    target = item.operands[0]
    value = reader(item.operands[1], "u" + words[-1][1:], widths, line)
    put = writer(target.first if isinstance(target, Pair) else target, "b32", widths, line)
    put_all = writer(target.second, "pred", widths, line) if isinstance(target, Pair) else None

    def step(registers: Registers, mask: Mask) -> None:
        spread = _spread(value(registers), mask)

        def compared(named: Array) -> tuple[Array, ...]:
            columns = max(named.shape[1], spread.shape[1])
            data = _warps(np.broadcast_to(spread, (spread.shape[0], columns)))
            named = _warps(np.broadcast_to(named, (named.shape[0], columns)))
            made = np.zeros(data.shape, np.uint32)
            for lane in range(WARP):
                same = (data == data[:, lane : lane + 1]) & named[:, lane : lane + 1]
                made |= same.astype(np.uint32) << np.uint32(lane)
            everyone = lane_words(named)
            agreed = made == everyone
            if words[1] == "all":
                made = np.where(agreed, everyone, np.uint32(0))
            return _narrow(made.reshape(-1, columns), mask), _narrow(agreed.reshape(-1, columns), mask)

        found, agreed = _by_party(members(registers), mask, compared)
        put(registers, found)
        if put_all:
            put_all(registers, agreed)

    return step


_REDUX = {"add": (np.add, 0), "min": (np.minimum, None), "max": (np.maximum, None), "and": (np.bitwise_and, -1),
          "or": (np.bitwise_or, 0), "xor": (np.bitwise_xor, 0)}  # fmt: skip


@executes(Traits("redux.sync", "dvv", check=ends_in_type, meets="named", varies=True, called="__reduce_…_sync()"))
def redux(machine: Machine, item: Instruction) -> Step:
    """redux: a value of all lanes together."""
    members = members_reader(machine, item)
    words, widths, line = item.words, machine.program.widths, item.line
    name, code = words[2], words[-1]
    if name not in _REDUX or code not in ("u32", "s32", "b32"):
        raise PtxError(f"this instruction is not emulated: {item.opcode}", line)
    combine, neutral = _REDUX[name]
    value = reader(item.operands[1], code, widths, line)
    put = writer(item.operands[0], code, widths, line)

    def step(registers: Registers, mask: Mask) -> None:
        data = _spread(value(registers), mask)
        limits = np.iinfo(data.dtype)
        idle = neutral if neutral is not None else (limits.max if name == "min" else limits.min)
        filler = np.array(idle if idle is not None and idle >= limits.min else limits.max, data.dtype)

        def combined(named: Array) -> tuple[Array, ...]:
            whole = np.where(named, data, filler)
            return (_for_warp(combine.reduce(_warps(whole), axis=1, keepdims=True, dtype=data.dtype), mask),)

        put(registers, _by_party(members(registers), mask, combined)[0])

    return step


@executes(Traits("elect.sync", "pv", meets="named", varies=True))
def elect(machine: Machine, item: Instruction) -> Step:
    """elect: one lane, the same for all, and whether it is this one."""
    members = members_reader(machine, item)
    widths, line, target = machine.program.widths, item.line, item.operands[0]
    put = writer(target.first if isinstance(target, Pair) else target, "b32", widths, line)
    put_chosen = writer(target.second, "pred", widths, line) if isinstance(target, Pair) else None

    def step(registers: Registers, mask: Mask) -> None:
        def elected(named: Array) -> tuple[Array, ...]:
            leader = _warps(named).argmax(axis=1, keepdims=True).astype(np.uint32)
            lanes = np.arange(WARP, dtype=np.uint32)[None, :, None]
            return _for_warp(leader, mask), _narrow((lanes == leader).reshape(-1, named.shape[1]), mask)

        leader, chosen = _by_party(members(registers), mask, elected)
        put(registers, leader)
        if put_chosen:
            put_chosen(registers, chosen)

    return step
