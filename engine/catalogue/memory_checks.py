"""The right answers of the topic "memory", in NumPy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.catalogue import checks, data
from engine.records import Array, Check

TABLE = 1024  # numbers in the tables of cuda/memory
SIDE = 32  # rows and columns of the matrix of a warp
CHECKED_CHAINS = 2**20  # of the threads' chains in global memory: each costs NumPy 64 reads that no cache holds
EVERY = "Checked: every element."
COPY = "Checked: every element, exactly."

_PLACES = np.uint32(2654435769)  # the factor of a chain; the upper half of the product is the next place


def constants() -> Array:
    """Return the table in constant memory, as int32: k * 40503 % 199."""
    return (np.arange(TABLE) * 40503 % 199).astype(np.int32)


def head(numbers: Array) -> Array:
    """Return the first TABLE numbers, with zeros after the last one."""
    table = np.zeros(TABLE, numbers.dtype)
    table[: len(numbers[:TABLE])] = numbers[:TABLE]
    return table


def chain_ends(table: Array, starts: Array, rounds: int) -> Array:
    """Return the ends of the chains that begin at `starts`, as int32.

    The next place is the upper half of (at + table[at] + round) * 2654435769 mod 2^32, times the size of the table.
    """
    size, at = np.uint64(len(table)), starts.astype(np.uint32)
    for step in range(rounds):
        mixed = (table[at].astype(np.int64).astype(np.uint32) + at + np.uint32(step)) * _PLACES
        at = (mixed * size >> np.uint64(32)).astype(np.uint32)
    return at.astype(np.int32)


def chains_of_all(dtype: str, seed: int, wide: bool, output: Array, rounds: int) -> Check:
    """Return the end of each thread's chain through so many numbers; for many threads, of CHECKED_CHAINS chains from
    all lanes."""
    starts, ends = _ends_of_all(dtype, seed, wide, len(output), rounds)
    which = "every chain ends" if len(starts) == len(output) else f"{len(starts):,} of {len(output):,} chains end"
    return checks.equal(output[starts], ends, f"Checked: where {which}.")


@lru_cache(maxsize=2)
def _ends_of_all(dtype: str, seed: int, wide: bool, threads: int, rounds: int) -> tuple[Array, Array]:
    apart = -(-threads // CHECKED_CHAINS)
    starts = np.arange(-(-threads // apart))
    starts = np.minimum(starts * apart + starts % apart, threads - 1)
    return starts, chain_ends(data.repeated(data.period(dtype, seed, wide), threads), starts, rounds)


def register_end(number: int, size: int, rounds: int) -> int:
    """Return the end of the chain from 0 whose number is always the same."""
    at = 0
    for step in range(rounds):
        at = ((at + number + step) * int(_PLACES) % 2**32 * size) >> 32
    return at


def chained(output: Array, end: Array, brought: Array | None = None) -> Check:
    """Check the end of every chain; `brought`: the sums that the threads of the one block wrote before, as int64."""
    if brought is None:
        return checks.equal(output, end, "Checked: where every chain ends.")
    expected = brought.astype(np.int32)
    expected[0] = end[0]
    return checks.equal(output, expected, "Checked: where the chain ends, and what the others have read.")


def table_sums(numbers: Array, output: Array, table: Array, words: Array, additions: int) -> Check:
    """Check each element: the number itself plus table[words[lane]], one word a round; `words` has shape (32,
    rounds)."""
    read = checks.exact_type(table)[words]
    own = checks.exact_type(numbers)
    lanes = np.arange(len(numbers)) % 32  # blocks are whole warps, so this is the lane
    exact = own + read.sum(axis=1)[lanes]
    squares = np.square(own, dtype=np.float64) + np.square(read, dtype=np.float64).sum(axis=1)[lanes]
    return checks.sums(output, numbers, squares, exact, additions, EVERY)


@lru_cache(maxsize=4)
def _sums_from(dtype: str, seed: int, wide: bool, count: int, stride: int) -> tuple[Array, Array]:
    """Return for each place in the data's period the exact sum of `count` numbers from there on, `stride` apart, and
    the sum of their squares."""
    numbers = checks.exact_type(data.period(dtype, seed, wide))
    exact, squares = np.zeros_like(numbers), np.zeros(len(numbers))
    for step in range(count):
        moved = np.roll(numbers, -step * stride)
        exact += moved
        squares += np.square(moved, dtype=np.float64)
    return exact, squares


def sums_of_warps(dtype: str, seed: int, output: Array, rows: int, by_row: bool, wide: bool = False) -> Check:
    """Check thread i's sum in its warp's matrix of `rows` x 32: of its column if the warp goes by row, else of its
    row."""
    threads = np.arange(len(output))
    if by_row:
        starts = threads // SIDE * (rows * SIDE) + threads % SIDE
        exact, squares = _sums_from(dtype, seed, wide, rows, SIDE)
    else:
        starts = threads * SIDE
        exact, squares = _sums_from(dtype, seed, wide, SIDE, 1)
    numbers = data.period(dtype, seed, wide)
    places = starts % len(numbers)
    return checks.sums(output, numbers, squares[places], exact[places], rows, EVERY)


def shifted_sums(numbers: Array, output: Array, rounds: int, passes: int) -> Check:
    """Check each element: over all passes the sum of `rounds` rows of 32 numbers in its lane, each pass a row further
    on."""
    rows = checks.exact_type(numbers).reshape(-1, SIDE)
    windows = [rows[start : start + rounds] for start in range(passes)]
    exact = sum(window.sum(axis=0) for window in windows)
    squares = sum(np.square(window, dtype=np.float64).sum(axis=0) for window in windows)
    lanes = np.arange(len(output)) % SIDE
    return checks.sums(output, numbers, np.asarray(squares)[lanes], np.asarray(exact)[lanes], rounds * passes, EVERY)


def looped(numbers: Array, factor: Array, term: Array, way: Array | int, rounds: int) -> Array:
    """Return x after `rounds` steps of x -> factor[way] x + term[way], modulo 2^32, as int32."""
    times, plus = factor.astype(np.uint32), term.astype(np.uint32)
    all_times, all_plus = np.ones_like(times), np.zeros_like(plus)
    while rounds:  # two steps are one step, so many steps follow by squaring
        if rounds % 2:
            all_times, all_plus = all_times * times, all_plus * times + plus
        times, plus = times * times, plus * times + plus
        rounds //= 2
    return (numbers.astype(np.int32).view(np.uint32) * all_times[way] + all_plus[way]).view(np.int32)
