"""Plans of the prefix sums that launch again for the sums of blocks: in every warp, in every block, of everything."""

from __future__ import annotations

from math import ceil

from engine.catalogue.entries import Kernel
from engine.catalogue.plans import launch_of, plan_with
from engine.records import Buffer, Plan, Scalar, Settled, Step


def planned(kernel: Kernel, choice: Settled, made: Plan) -> Plan:
    """One launch for warps and blocks, as `made` has it. For the grid: scan blocks, then their sums, and add these."""
    n, block_size = choice.n, choice.block_size
    steps = 5 if kernel.name == "warp_prefix_sum" else 11
    if kernel.name != "grid_prefix_sum":
        return plan_with(choice, made.buffers, made.steps, result_count=n, moved=2 * n, flops=n, additions=steps)
    buffers = [Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, n, "poison")]
    down: list[Step] = []
    up: list[Step] = []
    source, target, count = "in", "out", n
    while True:
        blocks = ceil(count / block_size)
        sums = f"block_sums{len(down) + 1}"
        buffers.append(Buffer(sums, choice.dtype, blocks, "poison"))
        size = Scalar("uint32", count)
        down.append(launch_of(kernel, choice, (source, target, size, sums), count))
        if blocks == 1:
            break
        up.insert(0, launch_of(kernel, choice, (target, size, sums), count, function="add_block_sums"))
        source, target, count = sums, sums, blocks  # a thread reads only the element that it writes
    return plan_with(
        choice,
        tuple(buffers),
        (*down, *up),
        result_count=n,
        moved=2 * n,
        flops=n,
        additions=(steps + 1) * len(down),
    )
