"""The teaching size: a launch of the same kernel that is small enough to read every number of a block."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from engine.catalogue import KERNELS, TOPICS
from engine.plan import plan
from engine.records import Launch, NotRunnable, Settled

LANES = 16  # threads of a block, if the kernel can run with so few
SIDE = 4  # threads along a side of a matrix kernel's block
BLOCKS, ELEMENTS = 2, 4  # of the launch, and of a thread that strides over the grid


@lru_cache(maxsize=512)
def teaching_choice(choice: Settled) -> Settled:
    """Return the same kernel with the smallest block from LANES threads on and the smallest n that fills two blocks.

    If no n fills two, the smallest one that runs; the choice itself if none does.
    """
    kernel = KERNELS[choice.kernel]
    least = SIDE if kernel.tile else LANES
    fitting = (size for size in (least << power for power in range(7)) if kernel.runs_with(size))
    block = next(fitting, choice.block_size)
    grid = BLOCKS if kernel.coverage is None else None
    small = replace(choice, device="emulator", block_size=block, grid_size=grid)
    found = None
    n = max(ELEMENTS * BLOCKS * block if grid else block, TOPICS[kernel.topic].min_n)
    while n <= TOPICS[kernel.topic].emulator_max_n:
        blocks = _blocks(replace(small, n=n))
        if blocks >= BLOCKS:
            return replace(small, n=n)
        if blocks and found is None:
            found = replace(small, n=n)
        n *= 2
    return found or choice


def _blocks(choice: Settled) -> int:
    """Return the blocks of the first launch; 0 if the choice cannot run."""
    try:
        launches = [step for step in plan(choice).steps if isinstance(step, Launch)]
    except NotRunnable:
        return 0
    across, down, deep = launches[0].grid if launches else (0, 0, 0)
    return across * down * deep
