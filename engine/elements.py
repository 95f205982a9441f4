"""Elements per thread: how many numbers each thread of a grid-stride loop takes, and the grid that makes it so."""

from __future__ import annotations

from math import ceil

from engine.catalogue import Kernel

ELEMENTS: tuple[int, ...] = tuple(2**power for power in range(15))


def grid_for(n: int, block_size: int, elements: int) -> int:
    """The blocks with which each thread takes about `elements` of the n numbers; at least one block."""
    return max(1, ceil(n / (block_size * elements)))


def offered(n: int, block_size: int) -> tuple[int, ...]:
    """Those of ELEMENTS that fit: from one element a thread up to all numbers in one block."""
    return tuple(elements for elements in ELEMENTS if elements == 1 or grid_for(n, block_size, elements // 2) > 1)


def strides(kernel: Kernel) -> bool:
    """Whether the kernel strides over the grid, so that its elements per thread can be chosen."""
    return kernel.coverage is None
