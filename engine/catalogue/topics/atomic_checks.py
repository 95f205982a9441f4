"""What the answers of the topic "atomics" must be in every order of the threads, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from engine.catalogue import checks, data
from engine.records import Array, Check

_ANY_ORDER = "Checked: every number, in any order."


@lru_cache(maxsize=64)
def produced(kernel: str, dtype: str, seed: int, n: int) -> int:
    """How many numbers the threads write: one each, 1 to 4 each, or one for each positive number."""
    if kernel == "order_place":
        return n
    numbers = data.repeated(data.period(dtype, seed), n)
    return int(sizes(numbers).sum()) if kernel == "reserve_buffer" else int((numbers > 0).sum())


def sizes(numbers: Array) -> Array:
    """How many numbers each thread of reserve_buffer produces, shape (n,)."""
    return 1 + (numbers & 3)


def _by_address(numbers: Array, addresses: int) -> Array:
    """Shape (rounds, addresses): column a holds the numbers of address a, then zeros."""
    rounds = -(-len(numbers) // addresses)
    return np.concatenate([numbers, np.zeros(rounds * addresses - len(numbers), numbers.dtype)]).reshape(
        rounds, addresses
    )


def sums_by_address(numbers: Array, output: Array, addresses: int, additions: int) -> Check:
    """Address a holds the sum of the numbers i with i % addresses == a."""
    columns = checks.exact_type(_by_address(numbers, addresses))
    squares = np.square(columns, dtype=np.float64).sum(axis=0)
    return checks.sums(output, numbers, squares, columns.sum(axis=0), additions, "Checked: every address.")


def extremes_by_address(numbers: Array, output: Array, addresses: int, extreme: Callable[..., Array]) -> Check:
    """Address a holds the extreme of 0 and the numbers i with i % addresses == a."""
    columns = np.vstack([_by_address(numbers, addresses), np.zeros(addresses, numbers.dtype)])
    return checks.equal(output, extreme(columns, axis=0), "Checked: every address.")


def bits_by_address(numbers: Array, output: Array, addresses: int, combine: np.ufunc) -> Check:
    """Address a holds 0 and the numbers i with i % addresses == a, bit by bit."""
    return checks.equal(output, combine.reduce(_by_address(numbers, addresses), axis=0), "Checked: every address.")


def cleared(numbers: Array, output: Array, addresses: int) -> Check:
    """At address a the bits number % 32 of the numbers i with i % addresses == a are cleared, and no other."""
    address = np.arange(len(numbers)) % addresses
    down = np.zeros((32, addresses), bool)
    down[numbers & 31, address] = True
    struck = (down * (np.uint32(1) << np.arange(32, dtype=np.uint32))[:, None]).sum(axis=0, dtype=np.uint32)
    return checks.equal(output, (~struck).view(np.int32), "Checked: every address.")


def turns(n: int, output: Array, addresses: int, down: bool = False) -> Check:
    """Address a counts the threads i with i % addresses == a from 0 to 9 and again; `down`: from 9 to 0."""
    threads = np.maximum((n - np.arange(addresses) + addresses - 1) // addresses, 0)
    expected = ((-threads if down else threads) % 10).astype(output.dtype)
    return checks.equal(output, expected, "Checked: every address.")


def exchanged(numbers: Array, output: Array, addresses: int) -> Check:
    """At every address: what was taken out and what is left are what was put in, and the first zero."""
    n = len(numbers)
    address = np.concatenate([np.arange(n) % addresses, np.arange(addresses)])
    put = np.concatenate([numbers, np.zeros(addresses, numbers.dtype)])
    found, expected = (_sorted_by_address(address, values) for values in (output, put))
    return checks.in_any_order(checks.equal(found, expected, "Checked: the numbers of every address, in any order."))


def _sorted_by_address(address: Array, values: Array) -> Array:
    """32-bit values in the order of their addresses; at one address in the order of their bits."""
    keys = (address.astype(np.int64) << 32) | values.view(np.uint32)
    keys.sort()
    return keys.astype(np.uint32).view(values.dtype)


def taken(output: Array, n: int, addresses: int) -> Check:
    """Every place that a thread wanted was won by one thread, which knows it; the other places are empty."""
    won, places = output[:n], output[n:]
    wanted = min(n, addresses)
    winner = places[:wanted].astype(np.int64) - 1
    known = (winner >= 0) & (winner < n)
    right = known & (winner % addresses == np.arange(wanted)) & (won[np.where(known, winner, 0)] == 1)
    losers = int(np.abs(won.astype(np.int64)).sum()) != int(right.sum())
    broken = int((~right).sum()) + int(np.count_nonzero(places[wanted:])) + int(losers)
    return checks.rule(broken, addresses, "Checked: one winner for every place; shown is the number of right places.")


def places(output: Array) -> Check:
    """The places are 0 to n - 1, each once."""
    return checks.same_numbers(output, np.arange(len(output), dtype=output.dtype), _ANY_ORDER)


def packed(numbers: Array, output: Array) -> Check:
    """The numbers of a thread lie together and in their order, and every thread has written all of its numbers."""
    size = sizes(numbers)
    owners, nth = output >> 2, output & 3
    starts = np.flatnonzero(nth == 0)
    follows = nth == 0  # the first number of a thread may stand anywhere
    follows[1:] |= (owners[1:] == owners[:-1]) & (nth[1:] == nth[:-1] + 1)
    broken = int((~follows).sum())
    if broken == 0 and len(starts) == len(numbers):
        expected = np.repeat(4 * np.arange(len(numbers)), size) + _counts_up(size)
        return checks.same_numbers(output, expected, "Checked: the numbers of every thread, which lie together.")
    return checks.rule(max(1, broken), len(output), "Checked: the numbers of a thread lie together, in their order.")


def _counts_up(size: Array) -> Array:
    """0, 1, ... size[0] - 1, 0, 1, ... size[1] - 1, and so on."""
    ends = np.cumsum(size)
    first: Array = np.repeat(ends - size, size)
    return np.arange(len(first)) - first


def kept(numbers: Array, output: Array) -> Check:
    """The positive numbers, each as often as it was there."""
    wanted = numbers[numbers > 0]
    if len(wanted) == 0:
        return checks.rule(0, 0, "There is no positive number to keep.")
    return checks.same_numbers(output, wanted, _ANY_ORDER)


def kept_in_order(numbers: Array, output: Array) -> Check:
    """The positive numbers, in their order."""
    wanted = numbers[numbers > 0]
    if len(wanted) == 0:
        return kept(numbers, output)
    return checks.equal(output, wanted, "Checked: every number, in order.")


def broadcast(numbers: Array, output: Array, lane: int) -> Check:
    """Every number plus that of the lane of its warp; one addition rounds the same way everywhere."""
    lanes = np.arange(len(numbers)) // 32 * 32 + lane
    source = np.where(lanes < len(numbers), numbers[np.minimum(lanes, len(numbers) - 1)], numbers.dtype.type(0))
    return checks.equal(output, numbers + source, "Checked: every element.")


def moved(numbers: Array, output: Array) -> Check:
    """Every lane's sum of what four shuffles bring it; three additions in this order round the same way everywhere."""
    n = len(numbers)
    padded = np.concatenate([numbers, np.zeros(-n % 32, numbers.dtype)])
    lane = np.arange(32)
    above = np.where(lane % 8 < 6, lane + 2, lane)
    sources = (5 * lane % 32, lane ^ 1, np.where(lane < 2, lane, lane - 2), above)
    anywhere, partner, below, above_it = (padded.reshape(-1, 32)[:, source].ravel()[:n] for source in sources)
    return checks.equal(output, anywhere + partner + below + above_it, "Checked: every element.")


def largest(numbers: Array, output: Array) -> Check:
    """The largest number; nothing is rounded."""
    return checks.equal(output, numbers.max(keepdims=True), "Checked: the largest number.")


def prefix_sums(numbers: Array, output: Array, group: int, additions: int) -> Check:
    """In every group of `group` elements, the sums of the elements up to each."""
    exact, squares = _scanned(checks.exact_type(numbers), group), _scanned(np.square(numbers, dtype=np.float64), group)
    return checks.sums(output, numbers, squares, exact, additions, "Checked: every element.")


def _scanned(numbers: Array, group: int) -> Array:
    whole = -(-len(numbers) // group) * group
    padded = np.concatenate([numbers, np.zeros(whole - len(numbers), numbers.dtype)])
    return np.cumsum(padded.reshape(-1, group), axis=1).ravel()[: len(numbers)]
