"""Instructions that only compute: what `meanings` knows, on the values of registers.

An index that is an outer sum stays one where `index_sums` has a rule for the instruction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.meanings.table import operation
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction, InvalidPtx, Operand, Pair, Register
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.index_sums import rule
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, raw_reader, reader, writer
from engine.backends.emulator.state.machine import Machine
from engine.records import Array


@executes(*(Traits(head, reads_carry=True) for head in ("addc", "subc", "madc")))
def computed(machine: Machine, item: Instruction) -> Executor:
    """The executor of an instruction that `meanings` knows."""
    found = operation(item.opcode)
    widths, line = machine.program.widths, item.line
    if not item.operands:
        raise InvalidPtx(f"{item.opcode} is given no operands")
    first = item.operands[0]
    targets: list[Operand] = [first.first, first.second] if isinstance(first, Pair) else [first]
    sources: list[Operand] = list(item.operands[1:])
    carry = Register(machine.program.carry)
    if found.reads_carry:
        sources.append(carry)
    if found.writes_carry:
        targets.append(carry)
    results = (*found.results, "u32") if found.writes_carry else found.results
    operands = (*found.operands, "u32") if found.reads_carry else found.operands
    if len(sources) != len(operands):
        wanted = "1 operand" if len(found.operands) == 1 else f"{len(found.operands)} operands"
        raise InvalidPtx(f"{item.opcode} takes {wanted} and is given {len(item.operands) - 1}", line)
    if len(targets) > len(results):
        raise InvalidPtx(f"{item.opcode} has one result and is given two places for it", line)
    readers = [reader(source, code, widths, line) for source, code in zip(sources, operands, strict=True)]
    writers = [writer(target, code, widths, line) for target, code in zip(targets, results, strict=False)]
    compute = found.compute
    symbolic = rule(item.opcode) if machine.options.sums else None
    fits = isinstance(first, Register) and widths[first.index] == WIDTHS[results[0]]  # else the result is widened
    if symbolic is not None and len(targets) == 1 and isinstance(first, Register) and fits:
        raw = [raw_reader(source, code, widths, line) for source, code in zip(sources, operands, strict=True)]
        return _with_rule(symbolic, raw, compute, readers, first.index)
    if len(writers) > 1:

        def several(registers: Registers, mask: Mask) -> None:
            made = compute(*[read(registers) for read in readers])
            for write, value in zip(writers, made, strict=False):
                write(registers, value)

        return several
    return _single(compute, readers, writers[0])


def _single(
    compute: Callable[..., Array], readers: list[Reader], write: Callable[[Registers, Array], None]
) -> Executor:
    """One result: unrolled by the number of operands, because this is where the time goes."""
    if len(readers) == 1:
        (only,) = readers
        return lambda registers, mask: write(registers, compute(only(registers)))
    if len(readers) == 2:
        left, right = readers
        return lambda registers, mask: write(registers, compute(left(registers), right(registers)))
    if len(readers) == 3:
        a, b, c = readers
        return lambda registers, mask: write(registers, compute(a(registers), b(registers), c(registers)))
    return lambda registers, mask: write(registers, compute(*[read(registers) for read in readers]))


def _with_rule(
    symbolic: Callable[..., Array | None], raw: list[Reader], compute: Callable[..., Array], readers: list[Reader],
    index: int,
) -> Executor:  # fmt: skip
    def step(registers: Registers, mask: Mask) -> None:
        made = symbolic(*[read(registers) for read in raw])
        registers[index] = compute(*[read(registers) for read in readers]) if made is None else made

    return step


_JOINS: dict[str, Callable[[Array, Array], Array]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


@executes(Traits("setp", "pvv?v"))
def comparison(machine: Machine, item: Instruction) -> Executor:
    """setp, with one result or two."""
    first = item.operands[0]
    return _two_predicates(machine, item, first) if isinstance(first, Pair) else computed(machine, item)


def _two_predicates(machine: Machine, item: Instruction, pair: Pair) -> Executor:
    """setp p|q: q is what p would be if the comparison had come out the other way."""
    words, widths, line = item.words, machine.program.widths, item.line
    join = next((word for word in words if word in _JOINS), None)
    found = operation(".".join(word for word in words if word not in _JOINS))
    if len(item.operands) != (4 if join else 3):
        raise InvalidPtx(f"{item.opcode} takes {3 if join else 2} operands and is given {len(item.operands) - 1}", line)
    left, right = (reader(item.operands[at], found.operands[at - 1], widths, line) for at in (1, 2))
    other = reader(item.operands[3], "pred", widths, line) if join else None
    put, put_opposite = (writer(target, "pred", widths, line) for target in (pair.first, pair.second))

    def step(registers: Registers, mask: Mask) -> None:
        holds = found.compute(left(registers), right(registers))
        if other is None or join is None:
            put_opposite(registers, ~holds)
            put(registers, holds)
            return
        joined = other(registers)
        put_opposite(registers, _JOINS[join](~holds, joined))
        put(registers, _JOINS[join](holds, joined))

    return step
