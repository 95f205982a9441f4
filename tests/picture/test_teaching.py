"""The teaching size: every kernel that the emulator runs has a launch of few threads, and it runs."""

from __future__ import annotations

import pytest

from engine.catalogue import KERNELS, LADDERS
from engine.picture.picture import picture
from engine.picture.teaching import LANES, teaching_choice
from engine.plan import settle
from engine.records import Choice, Settled

RUNGS = {(rung.kernel, ladder.name): rung for ladder in LADDERS.values() for rung in ladder.rungs
         if KERNELS[rung.kernel].processor == "gpu" and KERNELS[rung.kernel].emulated}  # fmt: skip


def small(kernel: str, ladder: str) -> Settled:
    shown = LADDERS[ladder]
    asked = Choice(kernel, shown.n, shown.block_size, dtype=shown.dtype, device="emulator")
    return teaching_choice(settle(asked))


@pytest.mark.parametrize(
    ("kernel", "ladder", "block", "n"),
    [("reduce_interleaved", "harris", 16, 32), ("reduce_warp_shuffle", "harris", 32, 256),
     ("matmul_tiled", "cs121-tiling", 4, 8), ("latency_global", "cs121-latency", 32, 32)],
)  # fmt: skip
def test_it_is_the_smallest_launch_that_fills_two_blocks(kernel: str, ladder: str, block: int, n: int) -> None:
    assert (small(kernel, ladder).block_size, small(kernel, ladder).n) == (block, n)


@pytest.mark.parametrize("kernel", ["matmul_naive", "reduce_strided"])
def test_its_block_has_sixteen_threads(kernel: str) -> None:
    ladder = next(ladder for each, ladder in RUNGS if each == kernel)
    assert picture(small(kernel, ladder)).threads == LANES


def test_no_launch_is_larger_than_the_ladders() -> None:
    for kernel, ladder in RUNGS:
        assert small(kernel, ladder).block_size <= max(32, LADDERS[ladder].block_size), kernel
        assert small(kernel, ladder).n <= LADDERS[ladder].n, kernel


def test_every_moment_is_on_one_line_of_its_rung() -> None:
    for (kernel, ladder), rung in RUNGS.items():
        lines = [line for line in KERNELS[kernel].text.splitlines() if rung.moment in line]
        assert not rung.moment or len(lines) == 1, (ladder, kernel)
