"""Instructions that only compute: `meanings` applied to registers, one at a time or as a batch.

An index that is an outer sum stays one if `index_sums` has a rule for the instruction.

Independent fused multiply-adds, as in matrix products, run as one batch: for 64 of them with 256 lanes each, NumPy's
calls cost more than the arithmetic. A multiply-add is postponed until an instruction needs a result of its batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.meanings.rounding import BLOCK, buffers, fused, product_is_fused
from engine.backends.emulator.meanings.table import operation
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction, InvalidPtx, Operand, Pair, Register
from engine.backends.emulator.ptx.traits import Traits, reads, writes
from engine.backends.emulator.registers.index_sums import rule
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, raw_reader, reader, writer
from engine.backends.emulator.state.machine import Machine
from engine.records import Array


@executes(*(Traits(head, reads_carry=True) for head in ("addc", "subc", "madc")))
def arithmetic_executor(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of an instruction that `meanings` defines."""
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
        raise InvalidPtx(f"{item.opcode} takes {wanted} but gets {len(item.operands) - 1}", line)
    if len(targets) > len(results):
        raise InvalidPtx(f"{item.opcode} has one result, but two destinations", line)
    readers = [reader(source, code, widths, line) for source, code in zip(sources, operands, strict=True)]
    writers = [writer(target, code, widths, line) for target, code in zip(targets, results, strict=False)]
    compute = found.compute
    symbolic = rule(item.opcode) if machine.sums else None
    fits = isinstance(first, Register) and widths[first.index] == WIDTHS[results[0]]  # otherwise the result is widened
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
    """Return the executor for one result, unrolled by the number of operands, as most time is spent here."""
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


def divides_integers(item: Instruction) -> bool:
    """Return whether an instruction is a division or remainder of integers."""
    return item.words[0] in ("div", "rem") and item.words[-1][0] in "us"


def with_divisor_hooks(machine: Machine, item: Instruction, step: Executor) -> Executor:
    """Return the executor of an integer division, extended by the observers' hooks for lanes that divide by zero."""
    hooks = machine.hooks.on_zero_divisor
    if not hooks:
        return step
    line, divisor = item.line, reader(item.operands[2], f"u{WIDTHS[item.words[-1]]}", machine.program.widths, item.line)

    def checked(registers: Registers, mask: Mask) -> None:
        by = divisor(registers)
        lanes = None if by.min() else mask.part(by == 0)
        if lanes is not None:
            for hook in hooks:
                hook(line, lanes)
        step(registers, mask)

    return checked


_JOINS: dict[str, Callable[[Array, Array], Array]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


@executes(Traits("setp", "pvv?v"))
def comparison(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of a setp with one result or two."""
    first = item.operands[0]
    return _two_predicates(machine, item, first) if isinstance(first, Pair) else arithmetic_executor(machine, item)


def _two_predicates(machine: Machine, item: Instruction, pair: Pair) -> Executor:
    """Return the executor of setp p|q, with q the result of the opposite comparison."""
    words, widths, line = item.words, machine.program.widths, item.line
    join = next((word for word in words if word in _JOINS), None)
    found = operation(".".join(word for word in words if word not in _JOINS))
    if len(item.operands) != (4 if join else 3):
        raise InvalidPtx(f"{item.opcode} takes {3 if join else 2} operands but gets {len(item.operands) - 1}", line)
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


_AT_ONCE = 1 << 14  # elements: the temporaries stay in the second-level cache


def fused_each(a: Sequence[Array], b: Sequence[Array], c: Sequence[Array]) -> list[Array]:
    """Return `fused(a[k], b[k], c[k])` for every k, with the same bits. Arrays of two axes."""
    shape = c[0].shape
    together = _AT_ONCE // max(c[0].size, 1)
    shapes = {each.shape for each in (*a, *b)}
    alike = all(each.shape == shape for each in c) and shapes <= {shape, (1, 1), (1, shape[1]), (shape[0], 1)}
    if together < 2 or not alike or not product_is_fused():
        return [fused(*each) for each in zip(a, b, c, strict=True)]
    made: list[Array] = []
    for start in range(0, len(c), together):
        here = slice(start, start + together)
        made += _fused_alike(a[here], b[here], c[here], shapes == {shape})
    return made


def _fused_alike(a: Sequence[Array], b: Sequence[Array], c: Sequence[Array], whole: bool) -> list[Array]:
    """Compute a batch in which all c have one shape; so have all a and b (`whole`), or they broadcast to it."""
    height, width = c[0].shape
    rows = [slice(start, start + height) for start in range(0, height * len(c), height)]
    x, y, product, x_real, x_imag, y_real, answer = buffers.of(c[0].dtype, (height * len(c), width))
    np.concatenate(c, out=x_imag)
    for into, parts in ((x_real, a), (y_real, b)):
        if whole:
            np.concatenate(parts, out=into)
        else:
            for place, part in zip(rows, parts, strict=True):
                into[place] = part
    np.multiply(x, y, out=product)
    made = answer.copy()
    return [made[place] for place in rows]


_FUSED = ("fma.rn.f32", "fma.rn.f64")
_OPERANDS = 4


def batch_instructions(
    program: Program, body: Sequence[tuple[Instruction, ...]], chains: bool
) -> list[tuple[Instruction, ...]]:
    """Return a basic block's instructions in an equivalent order: those that were together, and batches of independent
    multiply-adds, or of those that add up in turn (`chains`)."""
    if not any(items[0].opcode in _FUSED for items in body):
        return list(body)
    made: list[tuple[Instruction, ...]] = []
    batch: list[Instruction] = []
    sources: set[int] = set()
    targets: set[int] = set()
    for items in body:
        item = items[0]
        read, written = set[int](), set[int]()
        for each in items:
            read.update(reads(each, program.carry))
            written.update(writes(each, program.carry))
        joins = _joins(program, item) and (not batch or item.opcode == batch[0].opcode)
        if chains and joins and batch and _adds_to(item, batch, targets):
            batch.append(item)
            sources, targets = sources | read, targets | written
            continue
        joins = joins and not _is_chain(batch)
        # A batch reads all its operands before it writes, so a member may overwrite an operand of another member.
        if batch and (read & targets or (not joins and (item.opcode in _FUSED or written & (sources | targets)))):
            made.append(tuple(batch))
            batch, sources, targets = [], set(), set()
        if joins:
            batch.append(item)
            sources, targets = sources | read, targets | written
        else:
            made.append(items)
    return [*made, tuple(batch)] if batch else made


def _is_chain(batch: Sequence[Instruction]) -> bool:
    """Return whether each multiply-add of a batch adds to the result of the one before it."""
    return len(batch) > 1 and batch[1].operands[3] == batch[0].operands[0]


def _adds_to(item: Instruction, batch: Sequence[Instruction], targets: set[int]) -> bool:
    """Return whether a multiply-add continues a chain: it adds to the last result, and multiplies none of them."""
    *factors, addend = item.operands[1:]
    multiplied = {each.index for each in factors if isinstance(each, Register)}
    return addend == batch[-1].operands[0] and not multiplied & targets and (len(batch) == 1 or _is_chain(batch))


def _joins(program: Program, item: Instruction) -> bool:
    """Return whether this is a regular multiply-add; errors in others are reported when their executor is created."""
    if item.opcode not in _FUSED or len(item.operands) != _OPERANDS:
        return False
    target = item.operands[0]
    return isinstance(target, Register) and program.widths[target.index] == WIDTHS[item.words[-1]]


def batch_executor(machine: Machine, items: Sequence[Instruction]) -> Executor:
    """Return the executor of a batch."""
    return _chain_executor(machine, items) if _is_chain(items) else _independent_executor(machine, items)


def _chain_executor(machine: Machine, items: Sequence[Instruction]) -> Executor:
    """Return the executor of multiply-adds that add up in turn."""
    code, widths, line = items[0].words[-1], machine.program.widths, items[0].line
    left, right = ([reader(item.operands[at], code, widths, line) for item in items] for at in (1, 2))
    start = reader(items[0].operands[3], code, widths, line)
    targets = [item.operands[0].index for item in items if isinstance(item.operands[0], Register)]

    def step(registers: Registers, mask: Mask) -> None:
        a, b = ([read(registers) for read in each] for each in (left, right))
        for target, value in zip(targets, fused_in_turn(a, b, start(registers)), strict=True):
            registers[target] = value

    return step


def fused_in_turn(a: Sequence[Array], b: Sequence[Array], c: Array) -> list[Array]:
    """Return `c = fused(a[k], b[k], c)` for every k in turn, with the same bits. Arrays of two axes."""
    shape = np.broadcast_shapes(c.shape, *{each.shape for each in (*a, *b)})
    if math.prod(shape) * len(a) > BLOCK or not product_is_fused():
        made = []
        for left, right in zip(a, b, strict=True):
            c = fused(left, right, c)
            made.append(c)
        return made
    x_real, y_real, answer, turns = buffers.in_turn(c.dtype, (len(a), *shape))
    for into, parts in ((x_real, a), (y_real, b)):
        if len({part.shape for part in parts}) == 1:
            into[...] = np.concatenate(parts).reshape(len(parts), *parts[0].shape)
        else:
            for place, part in enumerate(parts):
                into[place] = part
    for x, y, product, addend, result in turns:
        addend[...] = c
        np.multiply(x, y, out=product)
        c = result
    return list(answer.copy())


def _independent_executor(machine: Machine, items: Sequence[Instruction]) -> Executor:
    """Return the executor of a batch of independent multiply-adds."""
    code, widths = items[0].words[-1], machine.program.widths
    operands = dict.fromkeys(operand for item in items for operand in item.operands[1:])
    numbers = {operand: number for number, operand in enumerate(operands)}
    readers = [reader(operand, code, widths, items[0].line) for operand in operands]
    columns = [[numbers[item.operands[at]] for item in items] for at in range(1, _OPERANDS)]
    targets = [item.operands[0].index for item in items if isinstance(item.operands[0], Register)]

    def step(registers: Registers, mask: Mask) -> None:
        values = [read(registers) for read in readers]
        a, b, c = ([values[number] for number in column] for column in columns)
        for target, value in zip(targets, fused_each(a, b, c), strict=True):
            registers[target] = value

    return step
