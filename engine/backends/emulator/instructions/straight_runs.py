"""Straight runs: neighbouring instructions on registers only, as one generated Python function.

With few lanes the calls between two instructions cost more than NumPy's arithmetic. A run is generated once it has been
executed a few times. It reads each register once, and writes back the last value of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.backends.emulator.instructions.arithmetic import divides_integers
from engine.backends.emulator.instructions.registry import Executor
from engine.backends.emulator.meanings.table import DTYPES, Operation, meaning
from engine.backends.emulator.ptx.syntax import WIDTHS, Immediate, Instruction, Operand, Register
from engine.backends.emulator.ptx.traits import COMPUTING, traits_of
from engine.backends.emulator.registers.index_sums import rule
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, immediate

LEAST = 3  # instructions
_WARM = 8  # executions before the function is generated
_SHIFTS: dict[str, Callable[..., Any]] = {"shl": np.left_shift, "shr": np.right_shift}


def can_join(item: Instruction, widths: Sequence[int]) -> bool:
    """Return whether a run can hold the instruction: one result and operands as wide as their registers. An integer
    division has a hook that needs its lanes."""
    found = _meaning(item)
    if (
        found is None
        or not item.operands
        or item.guard
        or divides_integers(item)
        or found.reads_carry
        or found.writes_carry
    ):
        return False
    target, sources = item.operands[0], item.operands[1:]
    if len(found.results) != 1 or len(sources) != len(found.operands):
        return False
    if not isinstance(target, Register) or widths[target.index] != WIDTHS[found.results[0]]:
        return False
    return all(
        isinstance(source, Immediate)
        or (
            isinstance(source, Register)
            and widths[source.index] == WIDTHS[code]
            and (code == "pred" or not source.negated)
        )
        for source, code in zip(sources, found.operands, strict=True)
    )


def _meaning(item: Instruction) -> Operation | None:
    traits = traits_of(item.opcode)
    if traits.head == "mov":
        code = item.words[-1]
        return Operation((code,), (code,), _same) if code in DTYPES and len(item.words) == 2 else None
    return meaning(item.opcode) if traits is COMPUTING or traits.head == "setp" else None


def _same(value: Any) -> Any:
    return value


class StraightRun:
    """The executor of a run: its single steps at first, then the generated function."""

    def __init__(self, items: Sequence[Instruction], steps: Sequence[Executor], sums: bool) -> None:
        self._items, self._steps, self._sums = items, steps, sums
        self._left = _WARM
        self._whole: Callable[[Registers], None] | None = None

    def __call__(self, registers: Registers, mask: Mask) -> None:
        """Execute all instructions of the run."""
        if self._whole is None:
            self._left -= 1
            if self._left >= 0:
                for step in self._steps:
                    step(registers, mask)
                return
            self._whole = _Generator(self._sums).function(self._items)
        self._whole(registers)


class _Generator:
    """Writes the function. A register is a variable; its views of other types are variables too.

    `held`: the variable of each register, and the type of its array if that is certain.
    """

    def __init__(self, sums: bool) -> None:
        self._sums = sums
        self._lines: list[str] = []
        self._names: dict[str, Any] = {"_array": np.ndarray}
        self._held: dict[int, tuple[str, str | None]] = {}
        self._views: dict[tuple[str, str], str] = {}

    def function(self, items: Sequence[Instruction]) -> Callable[[Registers], None]:
        """Return the function of these instructions."""
        for item in items:
            self._add(item)
        written = dict.fromkeys(item.operands[0].index for item in items if isinstance(item.operands[0], Register))
        self._lines += [f"R[{index}] = {self._held[index][0]}" for index in written]
        exec("def run(R):\n " + "\n ".join(self._lines), self._names)
        made: Callable[[Registers], None] = self._names["run"]
        return made

    def _add(self, item: Instruction) -> None:
        found, target = _meaning(item), item.operands[0]
        assert found is not None and isinstance(target, Register)
        compute, (*operands,), made = found.compute, item.operands[1:], found.results[0]
        result = f"v{len(self._lines)}"
        if compute is _same:
            self._held[target.index] = self._copied(operands[0], found.operands[0])
            return
        shift = _SHIFTS.get(item.words[0])
        if shift is not None and isinstance(operands[1], Immediate) and 0 <= operands[1].value < WIDTHS[made]:
            values = [self._read(operands[0], made), self._bound(immediate(operands[1], made))]
            compute = shift
        else:
            values = [self._read(operand, code) for operand, code in zip(operands, found.operands, strict=True)]
        certain = isinstance(compute, np.ufunc) and made != "pred"
        call = f"{self._bound(compute)}({', '.join(values)})"
        symbolic = rule(item.opcode) if self._sums else None
        if symbolic is None:
            self._lines.append(f"{result} = {call}")
        else:
            raw = [self._raw(operand, code) for operand, code in zip(item.operands[1:], found.operands, strict=True)]
            self._lines.append(f"{result} = {self._bound(symbolic)}({', '.join(raw)})")
            self._lines.append(f"if {result} is None: {result} = {call}")
        self._held[target.index] = result, DTYPES[made].str if certain and symbolic is None else None

    def _bound(self, value: Any) -> str:
        name = f"c{len(self._names)}"
        self._names[name] = value
        return name

    def _copied(self, operand: Operand, code: str) -> tuple[str, str | None]:
        if isinstance(operand, Register) and not operand.negated:
            self._variable(operand.index)
            return self._held[operand.index]
        return self._read(operand, code), None

    def _variable(self, index: int) -> str:
        if index not in self._held:
            self._lines.append(f"r{index} = R[{index}]")
            self._held[index] = f"r{index}", None
        return self._held[index][0]

    def _raw(self, operand: Operand, code: str) -> str:
        return self._variable(operand.index) if isinstance(operand, Register) else self._read(operand, code)

    def _read(self, operand: Operand, code: str) -> str:
        """Return the variable of an operand as an array of the type `code`."""
        if isinstance(operand, Immediate):
            return self._bound(immediate(operand, code))
        assert isinstance(operand, Register)
        name = self._variable(operand.index)
        if code == "pred":
            return f"~{name}" if operand.negated else name
        kind = DTYPES[code]
        if self._held[operand.index][1] == kind.str:
            return name
        view = self._views.get((name, kind.str))
        if view is None:
            view = self._views[name, kind.str] = f"w{len(self._lines)}"
            plain = name if not self._sums else f"({name} if {name}.__class__ is _array else {name}.array())"
            self._lines.append(f"{view} = {plain}")
            self._lines.append(f"if {view}.dtype is not {self._bound(kind)}: {view} = {view}.view({self._bound(kind)})")
        return view
