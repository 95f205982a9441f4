"""Elements per thread become grids, and no more are offered than fit into one block."""

from math import ceil

import pytest

from engine.catalogue import KERNELS
from engine.elements import ELEMENTS, grid_for, offered, strides
from engine.plan import plan
from engine.records import Choice


@pytest.mark.parametrize(("n", "block_size"), [(2**22, 256), (1000, 32), (1, 1024), (10_000_000, 128)])
def test_every_number_of_elements_is_a_grid_that_covers_n(n: int, block_size: int) -> None:
    grids = [grid_for(n, block_size, each) for each in ELEMENTS]
    assert grids[0] == ceil(n / block_size) and min(grids) >= 1
    for each, grid in zip(ELEMENTS, grids, strict=True):
        assert ceil(n / (grid * block_size)) <= each


@pytest.mark.parametrize(
    ("n", "block_size", "most"), [(2**22, 256, 2**14), (2**16, 128, 512), (1000, 32, 32), (1, 32, 1)]
)
def test_what_is_offered_ends_with_one_block(n: int, block_size: int, most: int) -> None:
    every = offered(n, block_size)
    assert every == ELEMENTS[: len(every)] and every[-1] == most
    assert len({grid_for(n, block_size, each) for each in every}) == len(every)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS.values() if strides(kernel)], ids=lambda k: k.name)
def test_every_kernel_that_strides_takes_these_grids(kernel) -> None:
    for each in (1, 64):
        grid = grid_for(2**16, kernel.block_sizes[-1], each)
        made = plan(Choice(kernel.name, 2**16, kernel.block_sizes[-1], grid, dtype=kernel.dtypes[0]))
        assert made.grid_size == grid
