"""The answers that the topic "atomics" must give in every order of the threads, in NumPy; and the refusal of endless
runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from engine.catalogue import checks, data
from engine.records import Array, Check, Choice, NotRunnable

# the most tries of a compare-and-swap loop, which all threads of an address repeat until the last one has won
MAX_TRIES = {"gpu": 2**30, "emulator": 2**26, "auto": 2**26}
EMULATED_TOGETHER = 2**17  # threads that try at the same time on the emulator, and roughly on a GPU
_ANY_ORDER = "Checked: every number, in any order."


def check_tries(choice: Choice, addresses: int) -> None:
    """Raise NotRunnable if compare-and-swap would be tried too often before every thread has won."""
    tries = choice.n * max(1, min(choice.n, EMULATED_TOGETHER) // addresses)
    if tries > MAX_TRIES[choice.device]:
        raise NotRunnable(
            f"{choice.n:,} threads at {addresses:,} addresses would try about {tries:,} times, as only one thread of "
            "an address wins at a time; choose more addresses, or a smaller N."
        )


@lru_cache(maxsize=64)
def produced(kernel: str, dtype: str, seed: int, n: int) -> int:
    """Return how many numbers the threads write: one each, 1 to 4 each, or one for each positive number."""
    if kernel == "order_place":
        return n
    period = data.period(dtype, seed)
    whole, rest = divmod(n, len(period))
    each = sizes(period) if kernel == "reserve_buffer" else period > 0
    return whole * int(each.sum()) + int(each[:rest].sum())


def sizes(numbers: Array) -> Array:
    """Return how many numbers each thread of reserve_buffer produces, shape (n,)."""
    return 1 + (numbers & 3)


def _by_address(numbers: Array, addresses: int) -> Iterator[Array]:
    """Yield the numbers in rounds of one for each address, shape (rounds, addresses): the whole rounds without a copy,
    then the last one, filled with zeros."""
    whole = len(numbers) // addresses * addresses
    yield numbers[:whole].reshape(-1, addresses)
    last = np.zeros((1, addresses), numbers.dtype)
    last[0, : len(numbers) - whole] = numbers[whole:]
    yield last


def sums_by_address(numbers: Array, output: Array, addresses: int, additions: int) -> Check:
    """Check that address a holds the sum of the numbers i with i % addresses == a; a NaN among them makes it a NaN."""
    exact = checks.exact_type(np.zeros(addresses, numbers.dtype))
    squares = np.zeros(addresses)
    for rounds in _by_address(numbers, addresses):
        exact += rounds.sum(axis=0, dtype=exact.dtype)
        squares += np.einsum("ij,ij->j", rounds, rounds, dtype=np.float64)
    lost = np.isnan(exact)
    if lost.any():  # a NaN is as wrong as any other number where none is added, and right where one is
        right = lost & np.isnan(output)
        exact, squares = np.where(right, 0, exact), np.where(lost, 0, squares)
        output = np.where(right, 0, output).astype(output.dtype)
    return checks.sums(output, numbers, squares, exact, additions, "Checked: every address.")


def combined_by_address(numbers: Array, output: Array, addresses: int, combine: np.ufunc) -> Check:
    """Check that address a holds 0 combined with the numbers i with i % addresses == a: the smallest, the largest, or
    bit by bit."""
    expected = np.zeros(addresses, numbers.dtype)
    for rounds in _by_address(numbers, addresses):
        expected = combine(expected, combine.reduce(rounds, axis=0, initial=0))
    return checks.equal(output, expected, "Checked: every address.")


def cleared(numbers: Array, output: Array, addresses: int) -> Check:
    """Check that at address a the bits number % 32 of the numbers i with i % addresses == a are cleared, and no
    others."""
    struck = np.zeros(addresses, np.uint32)
    for rounds in _by_address(np.uint32(1) << (numbers & 31).astype(np.uint32), addresses):
        struck |= np.bitwise_or.reduce(rounds, axis=0)
    return checks.equal(output, (~struck).view(np.int32), "Checked: every address.")


def turns(n: int, output: Array, addresses: int, down: bool = False) -> Check:
    """Check that address a counts the threads i with i % addresses == a from 0 to 9, again and again; `down`: from 9 to
    0."""
    threads = np.maximum((n - np.arange(addresses) + addresses - 1) // addresses, 0)
    expected = ((-threads if down else threads) % 10).astype(output.dtype)
    return checks.equal(output, expected, "Checked: every address.")


def exchanged(numbers: Array, output: Array, addresses: int) -> Check:
    """Check that at every address the numbers taken out and the number left are the numbers put in and the first
    zero."""
    n = len(numbers)
    found = _sorted_by_address(output[:n], output[n:])
    expected = _sorted_by_address(numbers, np.zeros(addresses, numbers.dtype))
    return checks.in_any_order(checks.equal(found, expected, "Checked: the numbers of every address, in any order."))


def _sorted_by_address(values: Array, more: Array) -> Array:
    """Return the values i with i % addresses == a, and one more, for one address after the other, each group sorted."""
    columns = np.vstack([*_by_address(values, len(more)), more])
    return np.sort(np.ascontiguousarray(columns.T), axis=1).ravel()


def taken(output: Array, n: int, addresses: int) -> Check:
    """Check that every requested place has one winner, which knows it, and that the other places are empty."""
    won, places = output[:n], output[n:]
    wanted = min(n, addresses)
    winner = places[:wanted].astype(np.int64) - 1
    known = (winner >= 0) & (winner < n)
    right = known & (winner % addresses == np.arange(wanted)) & (won[np.where(known, winner, 0)] == 1)
    losers = int(np.abs(won.astype(np.int64)).sum()) != int(right.sum())
    broken = int((~right).sum()) + int(np.count_nonzero(places[wanted:])) + int(losers)
    return checks.rule(broken, addresses, "Checked: one winner for every place; shown is the number of right places.")


def places(output: Array) -> Check:
    """Check that the places are 0 to n - 1, each once."""
    return checks.same_numbers(output, np.arange(len(output), dtype=output.dtype), _ANY_ORDER)


def packed(numbers: Array, output: Array) -> Check:
    """Check that the numbers of a thread lie together in their order, and that every thread has written all of its
    numbers."""
    n, size = len(numbers), sizes(numbers)
    owners, nth = output >> 2, output & 3
    follows = nth == 0  # the first number of a thread may stand anywhere
    follows[1:] |= (owners[1:] == owners[:-1]) & (nth[1:] == nth[:-1] + 1)
    starts = np.flatnonzero(nth == 0)
    writers = owners[starts]
    known = (writers >= 0) & (writers < n)
    lengths = np.diff(starts, append=len(output))
    whole = known & (lengths == size[np.where(known, writers, 0)])
    written = np.bincount(writers[whole], minlength=n) == 1
    broken = int((~follows).sum()) + int((~whole).sum()) + int((~written).sum())
    return checks.rule(min(broken, len(output)), len(output), "Checked: the numbers of a thread lie together, in their "
                       "order, and all are there; shown is how many of them do.")  # fmt: skip


def kept(numbers: Array, output: Array) -> Check:
    """Check for the positive numbers, each as often as it was there."""
    wanted = numbers[numbers > 0]
    if len(wanted) == 0:
        return checks.rule(0, 0, "There is no positive number to keep.")
    return checks.same_numbers(output, wanted, _ANY_ORDER)


def kept_in_order(numbers: Array, output: Array) -> Check:
    """Check for the positive numbers, in their order."""
    wanted = numbers[numbers > 0]
    if len(wanted) == 0:
        return kept(numbers, output)
    return checks.equal(output, wanted, "Checked: every number, in order.")


def broadcast(numbers: Array, output: Array, lane: int) -> Check:
    """Check every number plus that of the lane of its warp; one addition rounds the same way everywhere."""
    warps = _grouped(numbers, 32)
    return checks.equal(output, (warps + warps[:, [lane]]).ravel()[: len(numbers)], "Checked: every element.")


def moved(numbers: Array, output: Array) -> Check:
    """Check every lane's sum of the numbers from four shuffles; three additions in this order round the same way
    everywhere."""
    lane = np.arange(32)
    above = np.where(lane % 8 < 6, lane + 2, lane)
    sources = (5 * lane % 32, lane ^ 1, np.where(lane < 2, lane, lane - 2), above)
    anywhere, partner, below, above_it = (_grouped(numbers, 32)[:, source] for source in sources)
    expected = (anywhere + partner + below + above_it).ravel()[: len(numbers)]
    return checks.equal(output, expected, "Checked: every element.")


def largest(numbers: Array, output: Array) -> Check:
    """Check the largest number; nothing is rounded."""
    return checks.equal(output, numbers.max(keepdims=True), "Checked: the largest number.")


def prefix_sums(numbers: Array, output: Array, group: int, additions: int) -> Check:
    """Check, in every group of `group` elements, the sums of the elements up to each."""
    exact, squares = _scanned(checks.exact_type(numbers), group), _scanned(np.square(numbers, dtype=np.float64), group)
    return checks.sums(output, numbers, squares, exact, additions, "Checked: every element.")


def _scanned(numbers: Array, group: int) -> Array:
    return np.cumsum(_grouped(numbers, group), axis=1).ravel()[: len(numbers)]


def _grouped(numbers: Array, group: int) -> Array:
    """Return the numbers in the shape (groups, group), with zeros behind the last one."""
    beyond = -len(numbers) % group
    return (np.pad(numbers, (0, beyond)) if beyond else numbers).reshape(-1, group)
