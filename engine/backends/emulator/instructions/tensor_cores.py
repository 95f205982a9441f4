"""mma.sync and wmma.mma: a warp multiplies two matrices held in its lanes' registers and adds a third.

The PTX manual defines the layout of fragments for `mma` but not for `wmma`; there it is the layout of the assembler's
code for sm_80 and later, in which a `wmma` is two `mma`. All layouts follow one rule. An operand consists of blocks of
8 lines by 16 bytes (32 for doubles); a line is a row of A or a column of B. Lane l holds quarter l % 4 of line l / 4 of
every block, one register per block. A block of sums is 8 rows by 8 columns: lane l holds columns 2 (l % 4) and 2 (l %
4) + 1 of row l / 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.backends.emulator.instructions.convergence import by_warp, in_all_rows, in_mask_rows
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.meanings.matrix_products import product
from engine.backends.emulator.meanings.registry import DTYPES
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction, InvalidPtx, Operand, PtxError, Vector
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import Registers, reader, writer
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

LINES = 8  # of a block
_TILES = {"a": 16, "b": 8}  # lines of an operand per machine instruction


@dataclass(frozen=True)
class MatrixOperand:
    """One operand: `lines` by `depth` numbers of the PTX type `kind`; `side`: "a" for the left one, "b" for
    the right."""

    side: str
    lines: int
    depth: int
    kind: str

    @property
    def part(self) -> int:
        """Return the bytes of a number."""
        return 4 if self.kind == "tf32" else WIDTHS[self.kind] // 8

    @property
    def packed(self) -> int:
        """Return how many numbers a register holds."""
        return max(1, 4 // self.part)

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Return (first line, first number of the lines) for the block of each register."""
        tile, wide = _TILES[self.side], 4 * self.packed
        return tuple(
            (line, start)
            for first in range(0, self.lines, tile)
            for start in range(0, self.depth, wide)
            for line in range(first, min(first + tile, self.lines), LINES)
        )


@lru_cache(maxsize=64)
def operand_layout(operand: MatrixOperand) -> Array:
    """Return int (lines, depth): the index of each number in (register, number in the register, lane)."""
    made = np.empty((operand.lines, operand.depth), np.int64)
    lane = np.arange(WARP)
    for register, (line, start) in enumerate(operand.blocks):
        for number in range(operand.packed):
            place = (register * operand.packed + number) * WARP + lane
            made[line + lane // 4, start + lane % 4 * operand.packed + number] = place
    return made


def sum_blocks(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """Return (first row, first column) for the blocks of the sums, in the order of the registers."""
    return tuple(
        (row, column)
        for first in range(0, rows, _TILES["a"])
        for column in range(0, columns, LINES)
        for row in range(first, min(first + _TILES["a"], rows), LINES)
    )


@lru_cache(maxsize=64)
def sum_layout(rows: int, columns: int) -> Array:
    """Return int (rows, columns): the index of each sum in (block, one of two, lane)."""
    made = np.empty((rows, columns), np.int64)
    lane = np.arange(WARP)
    for block, (row, column) in enumerate(sum_blocks(rows, columns)):
        for number in range(2):
            made[row + lane // 4, column + lane % 4 * 2 + number] = (block * 2 + number) * WARP + lane
    return made


Size = tuple[int, int, int]  # m, n, k: A is m by k, B is k by n
_MMA: dict[str, frozenset[Size]] = {  # of mma.sync, by the type of A and B
    "f16": frozenset({(16, 8, 8), (16, 8, 16)}),
    "bf16": frozenset({(16, 8, 8), (16, 8, 16)}),
    "tf32": frozenset({(16, 8, 4), (16, 8, 8)}),
    "s8": frozenset({(8, 8, 16), (16, 8, 16), (16, 8, 32)}),
    "f64": frozenset({(8, 8, 4)}),
}
_WIDE = frozenset({(16, 16, 16), (32, 8, 16), (8, 32, 16)})
WMMA: dict[str, frozenset[Size]] = {
    "f16": _WIDE, "bf16": _WIDE, "s8": _WIDE, "tf32": frozenset({(16, 16, 8)}), "f64": frozenset({(8, 8, 4)}),
}  # fmt: skip
_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "f64": ("f64",)}


@dataclass(frozen=True)
class Shape:
    """`size`: m, n, k; `kinds`: the PTX types of D, A, B and C.

    `turned`: the machine has no instruction for so few rows and computes the transposed matrix from B and A.
    """

    size: Size
    kinds: tuple[str, str, str, str]

    @property
    def turned(self) -> bool:
        """Return whether there are 8 rows and more columns."""
        return self.size[0] == LINES < self.size[1]

    def operand(self, name: str) -> MatrixOperand:
        """Return the layout of A ("a") or B ("b") in the registers."""
        m, n, k = self.size
        lines, kind = (m, self.kinds[1]) if name == "a" else (n, self.kinds[2])
        return MatrixOperand("a" if (name == "a") != self.turned else "b", lines, k, kind)

    @property
    def sums(self) -> tuple[int, int]:
        """Return the rows and columns of the sums in the machine's orientation."""
        m, n, _ = self.size
        return (n, m) if self.turned else (m, n)


def size_of(item: Instruction) -> Size:
    """Return m, n and k."""
    found = next((match for word in item.words if (match := re.fullmatch(r"m(\d+)n(\d+)k(\d+)", word))), None)
    if found is None:
        raise InvalidPtx(f"{item.opcode} does not say how large its matrices are")
    return int(found[1]), int(found[2]), int(found[3])


def find_shape(item: Instruction, size: Size, kinds: Sequence[str], sizes: dict[str, frozenset[Size]]) -> Shape:
    """Return the shape. PtxError if it is not emulated."""
    if len(kinds) == 4:
        made, left, right, added = kinds
        family = "s8" if left == "u8" else left
        alike = left == right or {left, right} == {"s8", "u8"}
        sums = _SUMS.get(family, ())
        if alike and size in sizes.get(family, ()) and made in sums and added in sums:
            return Shape(size, (made, left, right, added))
    raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)


def shape_of(item: Instruction) -> Shape:
    """Return the shape of an mma or wmma.mma."""
    words, size = item.words, size_of(item)
    kinds = [word for word in words[3:] if word in DTYPES]
    if words[0] == "wmma":
        return find_shape(item, size, [kinds[0], "f16", "f16", kinds[1]] if len(kinds) == 2 else kinds, WMMA)
    if not {"row", "col"} <= set(words):
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    return find_shape(item, size, kinds, _MMA)


@executes(
    Traits("mma.sync", "dvvv", converges="warp", varies=True, called="mma"),
    Traits("wmma.mma.sync", "dvvv", converges="warp", varies=True, called="wmma::mma_sync()"),
)
def multiply(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of D = A B + C."""
    shape, saturate = shape_of(item), "satfinite" in item.words
    _, first, second, added = item.operands
    left, right = shape.operand("a"), shape.operand("b")
    get_left, get_right = gatherer(machine, item, first, left), gatherer(machine, item, second, right)
    get_sums = sums_gatherer(machine, item, added, shape, shape.kinds[3])
    put_sums = sums_scatterer(machine, item, item.operands[0], shape, shape.kinds[0])

    def step(registers: Registers, mask: Mask) -> None:
        a, b, c = get_left(registers, mask), get_right(registers, mask), get_sums(registers, mask)
        count = max(a.shape[2], b.shape[2], c.shape[2])
        a, b, c = (spread_over_blocks(each, count, mask) for each in (a, b, c))
        if shape.turned:
            a, b = b, a
        put_sums(registers, mask, product(a, b.swapaxes(0, 1), c, shape.kinds, saturate))

    return step


def parts_of(operand: Operand) -> tuple[Operand, ...]:
    """Return the registers of a fragment."""
    return operand.items if isinstance(operand, Vector) else (operand,)


def gatherer(
    machine: Machine, item: Instruction, operand: Operand, side: MatrixOperand
) -> Callable[[Registers, Mask], Array]:
    """Return a function that gathers an operand as (lines, depth, warps x columns)."""
    table, kind = operand_layout(side), DTYPES[side.kind]
    parts = _distinct_registers(item, parts_of(operand), len(side.blocks))
    code = "f64" if side.kind == "f64" else "u32"
    gets = [reader(part, code, machine.program.widths, item.line) for part in parts]

    def gather(registers: Registers, mask: Mask) -> Array:
        made = _stacked([get(registers) for get in gets], mask)  # registers, 32, N
        if side.packed > 1:
            made = np.ascontiguousarray(made)[..., None].view(kind)  # the numbers of a register along the last axis
            made = np.moveaxis(made, 3, 1)
        return made.reshape(-1, made.shape[-1])[table]

    return gather


def sums_gatherer(
    machine: Machine, item: Instruction, operand: Operand, shape: Shape, kind: str
) -> Callable[[Registers, Mask], Array]:
    """Return a function that gathers sums as (rows, columns, warps x columns of the chunk)."""
    table, packed = sum_layout(*shape.sums), kind == "f16"
    parts = _check_count(item, parts_of(operand), table.size // WARP // (2 if packed else 1))
    gets = [reader(part, "u32" if packed else kind, machine.program.widths, item.line) for part in parts]

    def gather(registers: Registers, mask: Mask) -> Array:
        made = _stacked([get(registers) for get in gets], mask)
        if packed:
            made = np.moveaxis(np.ascontiguousarray(made)[..., None].view(np.float16), 3, 1)
        return made.reshape(-1, made.shape[-1])[table]

    return gather


def sums_scatterer(
    machine: Machine, item: Instruction, operand: Operand, shape: Shape, kind: str
) -> Callable[[Registers, Mask, Array], None]:
    """Return a function that scatters sums into the registers."""
    table, packed = sum_layout(*shape.sums), kind == "f16"
    parts = _check_count(item, parts_of(operand), table.size // WARP // (2 if packed else 1))
    puts = [writer(part, "u32" if packed else kind, machine.program.widths, item.line) for part in parts]

    def scatter(registers: Registers, mask: Mask, sums: Array) -> None:
        flat = np.empty((table.size, sums.shape[2]), sums.dtype)
        flat[table.ravel()] = sums.reshape(table.size, -1)
        made = flat.reshape(-1, WARP, sums.shape[2])
        if packed:
            pairs = made.reshape(-1, 2, WARP, sums.shape[2]).view(np.uint16).astype(np.uint32)
            made = pairs[:, 0] | pairs[:, 1] << np.uint32(16)
        for put, value in zip(puts, made, strict=True):
            put(registers, to_lanes(value, mask))

    return scatter


def to_lanes(value: Array, mask: Mask) -> Array:
    """Reshape (32, warps x columns) to the mask's rows."""
    warps = mask.rows.size // WARP
    spread = value.reshape(WARP, warps, -1).swapaxes(0, 1).reshape(mask.rows.size, -1)
    return in_mask_rows(spread, mask)


def from_lanes(value: Array, mask: Mask) -> Array:
    """Reshape the mask's rows to (32, warps x columns)."""
    return by_warp(in_all_rows(value, mask)).swapaxes(0, 1).reshape(WARP, -1)


def _stacked(values: list[Array], mask: Mask) -> Array:
    """Stack registers in the mask's rows to (registers, 32, warps x columns)."""
    columns = max(value.shape[1] for value in values)
    spread = [np.broadcast_to(value, (value.shape[0], columns)) for value in values]
    return np.stack([from_lanes(value, mask) for value in spread])


def spread_over_blocks(value: Array, count: int, mask: Mask) -> Array:
    """Repeat values that are the same in all blocks for each block."""
    if value.shape[2] == count:
        return value
    warps = mask.rows.size // WARP
    return np.repeat(value.reshape(*value.shape[:2], warps, 1), count // warps, axis=3).reshape(*value.shape[:2], count)


def _distinct_registers(item: Instruction, parts: Sequence[Operand], count: int) -> Sequence[Operand]:
    """Return the registers with distinct numbers; for halves, wmma names eight, of which the last repeat the first."""
    if len(parts) < count or (len(parts) > count and item.words[0] == "mma"):
        raise InvalidPtx(f"{item.opcode} needs {count} registers for its matrix but gets {len(parts)}")
    return parts[:count]


def _check_count(item: Instruction, parts: Sequence[Operand], count: int) -> Sequence[Operand]:
    if len(parts) != count:
        raise InvalidPtx(f"{item.opcode} needs {count} registers for its sums but gets {len(parts)}")
    return parts
