"""Function calls and returns of lanes: values move between the registers of two frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.backends.emulator.ptx.calls import Callee, callees_of
from engine.backends.emulator.ptx.syntax import Group, Instruction, Register, Symbol
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import constant, fetch, put_back
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.running.lanes import Frame, Key, Lanes
from engine.backends.emulator.state.machine import MOST_CALLS, STACK_ALIGNMENT
from engine.compile.names import readable
from engine.records import RunFailed


def enter_function(lanes: Lanes, item: Instruction, key: Key, back: int, mask: Mask) -> None:
    """Let the lanes of a group execute `enter`; they will return to the place `back`."""
    frame = lanes.frames.of(key[0])
    returned, target, given = item.operands
    assert isinstance(returned, Group) and isinstance(given, Group)
    for callee, part in _lanes_by_callee(lanes, item, target, mask):
        inner = _open_frame(lanes, item, frame, callee, back, part)
        sources = tuple(each.index for each in given.items if isinstance(each, Register))
        params = tuple(each for each in callee.params if isinstance(each, int))
        fetch(sources, frame.registers, lanes.scratch, part)
        values = [lanes.scratch[source] for source in sources]
        others = lanes.live(inner)
        for param, value in zip(params, values, strict=True):
            lanes.scratch[param] = value
        put_back(params, inner.registers, lanes.scratch, part, others)
        for outside, inside in zip(given.items, callee.params, strict=True):
            if isinstance(outside, Symbol) and isinstance(inside, str):
                size = callee.sizes[inside]
                _copy(lanes, part, _start(lanes, frame, outside.name), inner.start + callee.places[inside], size)
        lanes.groups.add((lanes.frames.place(inner, callee.entry), key[1]), part)


def leave_function(lanes: Lanes, key: Key, mask: Mask, values: list[Any]) -> None:
    """Let the lanes of a group execute `leave`. `values`: the contents of the returned registers."""
    frame = lanes.frames.of(key[0])
    caller, callee, made = frame.caller, frame.callee, frame.call
    assert caller is not None and callee is not None and made is not None
    returned = made.operands[0]
    assert isinstance(returned, Group)
    lanes.frames.leave(frame, mask.lanes)
    targets = tuple(each.index for each in returned.items if isinstance(each, Register))
    for target, value in zip(targets, values, strict=True):
        lanes.scratch[target] = value
    put_back(targets, caller.registers, lanes.scratch, mask, lanes.live(caller))
    for outside, inside in zip(returned.items, callee.results, strict=True):
        if isinstance(outside, Symbol) and isinstance(inside, str):
            size = callee.sizes[inside]
            _copy(lanes, mask, frame.start + callee.places[inside], _start(lanes, caller, outside.name), size)
    lanes.groups.add((frame.back, key[1]), mask)


def _lanes_by_callee(lanes: Lanes, item: Instruction, target: object, mask: Mask) -> list[tuple[Callee, Mask]]:
    """Split the lanes of a call by the function that their pointer leads to."""
    machine = lanes.machine
    chosen = callees_of(item, machine.program.callees)
    if not isinstance(target, Register):
        return [(chosen[0], mask)]
    fetch((target.index,), lanes.registers, lanes.scratch, mask)
    parties = lanes.by_value(plain(lanes.scratch[target.index]).view(np.int64), mask)
    found = {machine.code[callee.name]: callee for callee in chosen}
    for address, part in parties:
        if address not in found:
            what = "that is null" if not address else "to no function with these parameters and results"
            raise machine.failure("crashed", f"{lanes.name(part)} calls through a pointer {what}", item.line)
    return [(found[address], part) for address, part in parties]


def _open_frame(lanes: Lanes, item: Instruction, frame: Frame, callee: Callee, back: int, mask: Mask) -> Frame:
    machine = lanes.machine
    start = frame.start + (frame.callee.size if frame.callee else machine.kernel_local)
    start += -start % STACK_ALIGNMENT
    if frame.depth >= MOST_CALLS or (callee.size and start + callee.size > machine.local_size):
        raise _too_deep(lanes, item, frame, callee, mask)
    inner = lanes.frames.enter(frame, callee, item, back, start, mask.lanes)
    inner.registers[callee.base] = constant(start, "u64")
    return inner


def _too_deep(lanes: Lanes, item: Instruction, frame: Frame, callee: Callee, mask: Mask) -> RunFailed:
    clause = (
        f"{lanes.name(mask)} calls `{readable(callee.name)}` while {frame.depth:,} calls are open: the recursion does "
        "not end, or is deeper than a GPU's stack, which has 1,024 bytes per thread unless the host asks for more"
    )
    return lanes.machine.failure("crashed", clause, item.line, "step-limit")


def _start(lanes: Lanes, frame: Frame, name: str) -> int:
    """Return the address of a passed structure in the caller's local memory."""
    return lanes.machine.local_places[name] if frame.callee is None else frame.start + frame.callee.places[name]


def _copy(lanes: Lanes, mask: Mask, source: int, target: int, size: int) -> None:
    """Copy bytes of the lanes' local memory."""
    words = lanes.machine.words("local")
    count, place = -(-size // words.unit), (slice(None), *mask.place())
    there = words.words[target // words.unit :][:count]
    moved = words.words[source // words.unit :][:count][place]
    there[place] = moved if mask.dense is None else np.where(mask.dense, moved, there[place])
