"""The numbers of glibc's rand(), as a C program gets them that never calls srand()."""

from __future__ import annotations

import numpy as np

_LAG, _NEAR = 31, 3  # each number is the sum, modulo 2^32, of those 31 and 3 places before it
_UNUSED = 310  # rand() throws away the first sums
_AT_ONCE = 256 * _LAG


def sum_of_digits(count: int) -> int:
    """The sum of `count` numbers rand() % 10, unseeded, which is the seed 1.

    Every number is a fixed combination of any 31 that follow each other, so thousands are made by one product.
    """
    state = _first()
    weights = np.zeros((_LAG + _AT_ONCE, _LAG), np.uint32)
    weights[:_LAG] = np.eye(_LAG, dtype=np.uint32)
    for row in range(_LAG, len(weights)):
        weights[row] = weights[row - _LAG] + weights[row - _NEAR]
    total = 0
    for start in range(0, count, _AT_ONCE):
        numbers = weights[_LAG:] @ state
        total += int(((numbers >> 1)[: count - start] % 10).sum())  # the lowest bit is not given out
        state = numbers[-_LAG:]
    return total


def _first() -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The 31 sums before the first one that rand() gives out."""
    sums = [1]
    while len(sums) < _LAG:
        sums.append(16807 * sums[-1] % (2**31 - 1))
    sums += sums[:_NEAR]
    while len(sums) < _LAG + _NEAR + _UNUSED:
        sums.append((sums[-_LAG] + sums[-_NEAR]) % 2**32)
    return np.array(sums[-_LAG:], np.uint32)
