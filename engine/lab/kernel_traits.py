"""What the PTX of a kernel tells about the numbers with which it should be tried."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Immediate, Register
from engine.backends.emulator.registers.operands import immediate
from engine.backends.emulator.state.pointers import only_stored
from engine.compile.names import readable
from engine.lab.kernels import OwnKernel

_COMPARING = frozenset(("setp", "set", "min", "max", "slct"))
_LARGEST, _SMALLEST = 1e6, 1e-6  # of floats: larger ones may overflow where the line does not
_MOST = 12  # numbers of a kind


def stored_only(own: OwnKernel) -> tuple[bool, ...]:
    """Return for each parameter whether it is an array that the kernel stores to and cannot read."""
    program = load(own.source, own.symbol)
    names = only_stored(program)
    return tuple(param.name in names for param in program.params)


def has_variables(own: OwnKernel) -> bool:
    """Return whether the file of a kernel has __device__ variables, which keep their numbers from launch to launch."""
    module = load(own.source, own.symbol).constants
    return any(one.space == "global" and readable(symbol) in own.made.variables for symbol, one in module.items())


def has_atomics(own: OwnKernel) -> bool:
    """Return whether a kernel has atomics."""
    return any(item.words[0] in ("atom", "red") for item in load(own.source, own.symbol).instructions)


def waits(own: OwnKernel) -> bool:
    """Return whether a loop of a kernel polls memory, so the order of its threads decides more than usual."""
    return load(own.source, own.symbol).waits


def compared_with(own: OwnKernel, kind: str) -> tuple[float, ...]:
    """Return the constants with which a kernel compares numbers. `kind`: "f" for floats, else those of integers."""
    return _constants(load(own.source, own.symbol), kind == "f")


@lru_cache(maxsize=64)
def _constants(program: Program, floats: bool) -> tuple[float, ...]:
    found = dict[float, None]()
    held = {  # min and max have their constant in a register
        item.operands[0].index: item.operands[1]
        for item in program.instructions
        if item.words[0] == "mov" and isinstance(item.operands[0], Register) and isinstance(item.operands[1], Immediate)
    }
    for item in program.instructions:
        code = item.words[-1]
        if item.words[0] not in _COMPARING or (code[0] == "f") != floats or code[1:] not in ("32", "64"):
            continue
        for operand in item.operands[1:]:
            value = held.get(operand.index) if isinstance(operand, Register) else operand
            if isinstance(value, Immediate):
                number = immediate(value, code).item()
                usual = not number or (np.isfinite(number) and _SMALLEST <= abs(number) <= _LARGEST)
                if not floats or usual:
                    found[number] = None
    return tuple(found)[:_MOST]
