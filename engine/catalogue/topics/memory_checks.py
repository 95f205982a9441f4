"""What the answers of the topic "memory" must be, in NumPy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.catalogue import checks, data
from engine.records import Array, Check

TABLE = 1024  # numbers in the tables of cuda/memory
SIDE = 32  # rows and columns of the matrix of a warp
EVERY = "Checked: every element."
COPY = "Checked: every element; a copy is equal."

_PLACES = np.uint64(2654435769)  # what a chain multiplies with; the upper half of the product is the next place
_LOW = np.uint64(2**32 - 1)


def constants() -> Array:
    """The table in constant memory, as int32: k * 40503 % 199."""
    return (np.arange(TABLE) * 40503 % 199).astype(np.int32)


def head(numbers: Array) -> Array:
    """The first TABLE numbers, zeros beyond them."""
    table = np.zeros(TABLE, numbers.dtype)
    table[: len(numbers[:TABLE])] = numbers[:TABLE]
    return table


def chain_ends(table: Array, threads: int, rounds: int) -> Array:
    """Where the chains that begin at 0, 1, ... threads - 1 end, as int32.

    The next place is the upper half of (at + table[at] + round) * 2654435769 mod 2^32, times the size of the table.
    """
    at = np.arange(threads, dtype=np.uint64)
    for step in range(rounds):
        mixed = (at + table[at].astype(np.int64).view(np.uint64) + np.uint64(step)) & _LOW
        at = (((mixed * _PLACES) & _LOW) * np.uint64(len(table))) >> np.uint64(32)
    return at.astype(np.int32)


def register_end(number: int, size: int, rounds: int) -> int:
    """Where the chain from 0 ends whose number is always the same."""
    at = 0
    for step in range(rounds):
        at = ((at + number + step) * int(_PLACES) % 2**32 * size) >> 32
    return at


def chained(output: Array, end: Array, brought: Array | None = None) -> Check:
    """Where every chain ends; `brought`: the sums that the threads of the one block wrote before, as int64."""
    if brought is None:
        return checks.equal(output, end, "Checked: where every chain ends.")
    expected = brought.astype(np.int32)
    expected[0] = end[0]
    return checks.equal(output, expected, "Checked: where the chain ends, and what the others have read.")


def table_sums(numbers: Array, output: Array, table: Array, words: Array, additions: int) -> Check:
    """Each element: the number itself plus table[words[lane]], one word a round; `words` has shape (32, rounds)."""
    read = checks.exact_type(table)[words]
    own = checks.exact_type(numbers)
    lanes = np.arange(len(numbers)) % 32  # blocks are whole warps, so this is the lane
    exact = own + read.sum(axis=1)[lanes]
    squares = np.square(own, dtype=np.float64) + np.square(read, dtype=np.float64).sum(axis=1)[lanes]
    return checks.sums(output, numbers, squares, exact, additions, EVERY)


@lru_cache(maxsize=4)
def _row_sums(dtype: str, seed: int, rows: int, width: int) -> tuple[Array, Array]:
    """The exact sums of `rows` rows of the data, and those of their squares."""
    matrix = data.repeated(data.period(dtype, seed), rows * width).reshape(rows, width)
    exact = matrix.sum(axis=1, dtype=checks.exact_type(matrix[:0]).dtype)
    return exact, np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)


@lru_cache(maxsize=4)
def _column_sums(dtype: str, seed: int, warps: int, rows: int) -> tuple[Array, Array]:
    """The exact sums of the columns of `warps` matrices of `rows` x 32, and those of their squares."""
    matrices = data.repeated(data.period(dtype, seed), warps * rows * SIDE).reshape(warps, rows, SIDE)
    exact = matrices.sum(axis=1, dtype=checks.exact_type(matrices[:0]).dtype)
    return exact.ravel(), np.einsum("wij,wij->wj", matrices, matrices, dtype=np.float64).ravel()


def sums_of_warps(dtype: str, seed: int, output: Array, rows: int, by_row: bool) -> Check:
    """Thread i's sum in its warp's matrix of `rows` x 32: of its column where the warp goes by row, else of its row."""
    n = len(output)
    warps = -(-n // SIDE)
    exact, squares = _column_sums(dtype, seed, warps, rows) if by_row else _row_sums(dtype, seed, warps * SIDE, SIDE)
    numbers = data.period(dtype, seed)
    return checks.sums(output, numbers, squares[:n], exact[:n], rows, EVERY)


def shifted_sums(numbers: Array, output: Array, rounds: int, passes: int) -> Check:
    """Each element: over all passes the sum of `rounds` rows of 32 numbers in its lane, a row further on each time."""
    rows = checks.exact_type(numbers).reshape(-1, SIDE)
    windows = [rows[start : start + rounds] for start in range(passes)]
    exact = sum(window.sum(axis=0) for window in windows)
    squares = sum(np.square(window, dtype=np.float64).sum(axis=0) for window in windows)
    lanes = np.arange(len(output)) % SIDE
    return checks.sums(output, numbers, np.asarray(squares)[lanes], np.asarray(exact)[lanes], rounds * passes, EVERY)


def looped(numbers: Array, factor: Array | int, term: Array | int, rounds: int) -> Array:
    """`rounds` steps of x -> factor x + term, modulo 2^32, as int32."""
    value = numbers.astype(np.int32).view(np.uint32)
    times, plus = np.asarray(factor).astype(np.uint32), np.asarray(term).astype(np.uint32)
    for _ in range(rounds):
        value = value * times + plus
    return value.view(np.int32)
