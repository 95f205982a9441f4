"""A kernel that stops itself: why, and at which line, also where the compiler put the stop there and left no line."""

from __future__ import annotations

import re

from engine.backends.emulator.state.machine import Machine
from engine.records import RunFailed

_ATOMIC = re.compile(r"\batomic\w+\s*\(\s*&?\s*(\w+)")
_ELSEWHERE = re.compile(r"__(?:shared|device|managed|constant)__|\b(?:return|extern)\b")


def trapped(machine: Machine, line: int) -> RunFailed:
    """The failure of a trap; `line`: 0 where it has none."""
    found = local_atomic(machine.source.text) if machine.source and not line else None
    if found:
        line, name = found
        clause = (
            f"an atomic cannot be used on the local variable `{name}`: each thread has its own, so no other thread can "
            "meet it; put it into shared or global memory, or add without an atomic"
        )
    else:
        uses_grid = any("%envreg" in str(item) for block in machine.program.blocks for item in block.body)
        hint = "; grid.sync() needs a cooperative launch" if uses_grid and not machine.cooperative else ""
        clause = f"the kernel stops itself here (trap){hint}"
    return machine.failure("crashed", clause, line)


def local_atomic(text: str) -> tuple[int, str] | None:
    """(line, name) of the first atomic of a .cu text on a variable that it declares as a thread's own.

    The compiler makes a stop without a line of all that follows from it.
    """
    for call in _ATOMIC.finditer(text):
        name = call[1]
        declared = re.compile(rf"^[ \t]*(?:[\w:]+[ \t]+)+{name}\s*(?:\[[^;]*|=[^;]*|\{{[^;]*)?;", re.MULTILINE)
        found = [match[0] for match in declared.finditer(text) if not re.match(r"\s*\w+\s*\(", match[0])]
        if found and not any(_ELSEWHERE.search(declaration) for declaration in found):
            return text.count("\n", 0, call.start()) + 1, name
    return None
