"""Which lane holds which element of a matrix that the tensor cores multiply.

The PTX manual gives the order for `mma`, and leaves it open for `wmma`; there it is what the assembler makes of it on
sm_80 and later, where a `wmma` is two `mma`. All follow one rule. An operand lies in blocks of 8 lines by 16 bytes (32
of doubles); a line is a row of A or a column of B, so that the numbers of a line are multiplied one after the other.
Lane l holds the l % 4-th quarter of line l / 4 of every block, a register for each. A block of sums is 8 rows by 8
columns: lane l holds columns 2 (l % 4) and the one after it of row l / 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.backends.emulator.ptx.syntax import WIDTHS
from engine.backends.emulator.registers.masks import WARP
from engine.records import Array

LINES = 8  # of a block
_TILES = {"a": 16, "b": 8}  # lines that one machine instruction takes of an operand


@dataclass(frozen=True)
class Operand:
    """One operand: `lines` by `depth` numbers of the PTX type `kind`; `side`: "a" the left one, or "b" the right."""

    side: str
    lines: int
    depth: int
    kind: str

    @property
    def part(self) -> int:
        """Bytes of a number."""
        return 4 if self.kind == "tf32" else WIDTHS[self.kind] // 8

    @property
    def packed(self) -> int:
        """Numbers in a register."""
        return max(1, 4 // self.part)

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """(first line, first number of the lines) of the block of each register."""
        tile, wide = _TILES[self.side], 4 * self.packed
        return tuple(
            (line, start)
            for first in range(0, self.lines, tile)
            for start in range(0, self.depth, wide)
            for line in range(first, min(first + tile, self.lines), LINES)
        )


@lru_cache(maxsize=64)
def of_operand(operand: Operand) -> Array:
    """int (lines, depth): where each number stands among those of (register, number of the register, lane)."""
    made = np.empty((operand.lines, operand.depth), np.int64)
    lane = np.arange(WARP)
    for register, (line, start) in enumerate(operand.blocks):
        for number in range(operand.packed):
            place = (register * operand.packed + number) * WARP + lane
            made[line + lane // 4, start + lane % 4 * operand.packed + number] = place
    return made


def sum_blocks(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """(first row, first column) of the blocks of the sums, in the order of the registers."""
    return tuple(
        (row, column)
        for first in range(0, rows, _TILES["a"])
        for column in range(0, columns, LINES)
        for row in range(first, min(first + _TILES["a"], rows), LINES)
    )


@lru_cache(maxsize=64)
def of_sums(rows: int, columns: int) -> Array:
    """int (rows, columns): where each sum stands among those of (block, one of two, lane)."""
    made = np.empty((rows, columns), np.int64)
    lane = np.arange(WARP)
    for block, (row, column) in enumerate(sum_blocks(rows, columns)):
        for number in range(2):
            made[row + lane // 4, column + lane % 4 * 2 + number] = (block * 2 + number) * WARP + lane
    return made
