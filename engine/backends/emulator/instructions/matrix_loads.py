"""Matrices of 8 x 8 16-bit numbers between shared memory and the registers of a warp: ldmatrix, stmatrix, movmatrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.instructions.addresses import address_reader, plain_address
from engine.backends.emulator.instructions.fragments import LINES
from engine.backends.emulator.instructions.memory_port import Port
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.instructions.tensor_cores import from_lanes, parts_of, to_lanes
from engine.backends.emulator.ptx.syntax import Instruction, InvalidPtx, Operand, PtxError
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import Registers, Writer, reader, writer
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_LANE = np.arange(WARP)


@executes(Traits("ldmatrix.sync", "da", meets="warp", varies=True, memory="load", called="ldmatrix"))
def load_matrices(machine: Machine, item: Instruction) -> Executor:
    """One, two or four matrices of 8 x 8 16-bit numbers; lane l gives the address of row l % 8 of matrix l / 8."""
    count = _count(item)
    targets = parts_of(item.operands[0])
    if len(targets) != count:
        raise InvalidPtx(f"{item.opcode} reads {count} matrices into {len(targets)} registers")
    get, offset = address_reader(machine, item.operands[1], item.line)
    port = Port(machine, matrix_site(machine, item, "ld", 4, 4), offset)
    puts = writers(machine, item, targets)
    rows = MatrixRows(port, count, "trans" in item.words)

    def step(registers: Registers, mask: Mask) -> None:
        address = np.broadcast_to(plain_address(get(registers)), (mask.height, mask.width))
        for put, made in zip(puts, rows.load(address, mask), strict=True):
            put(registers, made)

    return step


@executes(Traits("stmatrix.sync", "av", meets="warp", writes=False, memory="store", called="stmatrix"))
def store_matrices(machine: Machine, item: Instruction) -> Executor:
    """One, two or four matrices, to the rows whose addresses lanes give as for ldmatrix."""
    count = _count(item)
    sources = parts_of(item.operands[1])
    if len(sources) != count:
        raise InvalidPtx(f"{item.opcode} stores {count} matrices from {len(sources)} registers")
    get, offset = address_reader(machine, item.operands[0], item.line)
    gets = [reader(source, "u32", machine.program.widths, item.line) for source in sources]
    rows = MatrixRows(Port(machine, matrix_site(machine, item, "st", 4, 4), offset), count, "trans" in item.words)

    def step(registers: Registers, mask: Mask) -> None:
        address = np.broadcast_to(plain_address(get(registers)), (mask.height, mask.width))
        rows.store(address, mask, [np.broadcast_to(read(registers), address.shape) for read in gets])

    return step


def _count(item: Instruction) -> int:
    """How many matrices."""
    count = next((int(word[1:]) for word in item.words if word in ("x1", "x2", "x4")), 0)
    if "m8n8" not in item.words or item.words[-1] != "b16" or not count:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    return count


@executes(Traits("movmatrix.sync", "dv", meets="warp", varies=True, called="movmatrix"))
def turn_matrix(machine: Machine, item: Instruction) -> Executor:
    """A matrix of 8 x 8 16-bit numbers, transposed."""
    widths, line = machine.program.widths, item.line
    get, put = reader(item.operands[1], "u32", widths, line), writer(item.operands[0], "u32", widths, line)
    return lambda registers, mask: put(registers, to_lanes(turned(from_lanes(get(registers), mask)), mask))


class MatrixRows:
    """Moves matrices of 8 rows of 16 bytes, for which the first 8 * `count` lanes give the addresses."""

    def __init__(self, port: Port, count: int, turned: bool) -> None:
        self._port, self._count, self._turned = port, count, turned
        self._asking: tuple[Mask, Mask, Array] | None = None

    def load(self, address: Array, mask: Mask) -> list[Array]:
        """One register a matrix, in the rows of the mask. `address`: int64 (height, width)."""
        asking, chosen = self._lanes(mask)
        if asking is None:
            return [np.zeros((1, 1), np.uint32)] * self._count
        loaded = self._port.load(address[chosen], asking)
        shape = (asking.height, asking.width)
        words = np.stack([from_lanes(np.broadcast_to(part, shape), asking) for part in loaded])  # 4, 32, N
        # Lane l has the l % 4-th word of row l / 4.
        made = [words[_LANE % 4, matrix * LINES + _LANE // 4] for matrix in range(self._count)]
        return [to_lanes(turned(each) if self._turned else each, mask) for each in made]

    def store(self, address: Array, mask: Mask, registers: list[Array]) -> None:
        """Store one register a matrix, all int64 or uint32 (height, width)."""
        asking, chosen = self._lanes(mask)
        if asking is None:
            return
        matrices = [from_lanes(each, mask) for each in registers]
        matrices = [turned(each) if self._turned else each for each in matrices]
        # Row r has its words in lanes 4 r to 4 r + 3.
        rows = [np.concatenate([each[word::4] for each in matrices]) for word in range(4)]
        idle = np.zeros((WARP - self._count * LINES, rows[0].shape[1]), np.uint32)
        words = [to_lanes(np.concatenate([row, idle]), asking) for row in rows]
        self._port.store(address[chosen], asking, words)

    def _lanes(self, mask: Mask) -> tuple[Mask | None, Array]:
        """The lanes of a mask that give addresses, and which of its rows they are."""
        if self._asking is None or self._asking[0] is not mask:
            chosen = mask.rows_at() % WARP < self._count * LINES
            rows = np.zeros(mask.rows.size, bool)
            rows[mask.rows_at()[chosen]] = True
            dense = None if mask.dense is None else mask.dense[chosen]
            if not rows.any() or (dense is not None and not dense.any()):
                return None, chosen
            self._asking = (mask, mask if rows.all() else Mask(rows, mask.columns, dense), chosen)
        return self._asking[1], self._asking[2]


def turned(value: Array) -> Array:
    """A matrix of 8 x 8 16-bit numbers in the registers of 32 lanes, (32, N), transposed."""
    halves = np.stack([value & np.uint32(0xFFFF), value >> np.uint32(16)])  # 2, 32, N
    low, high = (halves[_LANE // 4 % 2, (_LANE % 4 * 2 + one) * 4 + _LANE // 8] for one in (0, 1))
    made: Array = low | high << np.uint32(16)
    return made


def matrix_site(machine: Machine, item: Instruction, op: str, part: int, count: int) -> Site:
    """One access of such an instruction, as observers know it."""
    return Site(machine.next_site(), item.line, item.opcode, op, item.space, part, count, True)


def writers(machine: Machine, item: Instruction, targets: Sequence[Operand], code: str = "u32") -> list[Writer]:
    """Of the registers of a fragment, which hold numbers of the type `code`."""
    return [writer(target, code, machine.program.widths, item.line) for target in targets]
