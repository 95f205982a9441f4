"""Raw PTX on the emulator, in the oracle's form: a launch over plain bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from engine.backends.emulator.launch import Device
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import Program, link
from engine.backends.emulator.ptx.syntax import Module
from engine.backends.emulator.running import chunk
from engine.backends.emulator.state.machine import Machine, Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.observer import Observer, hooks_of
from engine.records import Source

Size = tuple[int, int, int]


def run(
    text: str, kernel: str, grid: Size, block: Size, arguments: Sequence[bytearray | bytes],
    options: Options | None = None, schedule: Schedule = LOCKSTEP, observers: Sequence[Observer] = (),
) -> list[bytes]:  # fmt: skip
    """The memory arguments after the launch. A bytearray is device memory (copied), bytes are a scalar."""
    device = Device()
    program = _linked(text, kernel)
    given, arrays = {}, []
    for number, (param, argument) in enumerate(zip(program.params, arguments, strict=True)):
        if isinstance(argument, bytearray):
            arrays.append(device.space.add(f"argument {number}", np.frombuffer(bytes(argument), np.uint8), 4))
            given[param.name] = arrays[-1].base.to_bytes(8, "little")
        else:
            given[param.name] = argument
    symbols = device.symbols(Source("probe.cu", text, "int32"), program)
    machine = Machine(
        program, device.space, given, symbols, grid, block, "probe.cu",
        schedule=schedule, options=options or Options(step_limit=200_000), hooks=hooks_of(observers),
    )  # fmt: skip
    for observer in observers:
        observer.on_launch(machine)
    chunk.run(machine)
    return [array.data[: array.size].tobytes() for array in arrays]


@lru_cache(maxsize=4)
def _parsed(text: str) -> Module:
    return parse(text, "probe.cu")


@lru_cache(maxsize=16)
def _linked(text: str, kernel: str) -> Program:
    return link(_parsed(text), kernel)
