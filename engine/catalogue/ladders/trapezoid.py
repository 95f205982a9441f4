"""The ladder of the trapezoidal rule."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import published

_COOPER = Ladder(
    name="cooper",
    title="Cooper: the trapezoidal rule, from a CPU loop to two kernels",
    lecture="K. Cooper 2014, Warps, Blocks, and Synchronization (Washington State University)",
    summary="The integral of f(x) = sin g + 2 cos g on [-1, 1] with 65,536 points, in double precision.",
    n=65536,
    block_size=256,
    dtype="float64",
    picture="time",
    counter="divergent_branches",
    rungs=(
        Rung("trapezoid_scalar", "scalar", "The composite rule as anybody would write it: one loop on the CPU.",
             "Scalar Trapezoid", None, published("cooper", "scalar-cpu")),
        Rung("trapezoid_global_race", "global race",
             "The loop evaluated one point at a time; now each point has its thread, and all reduce one array. "
             "Fast, and wrong.", "CUDA Reduce; What's wrong?!", None,
             published("cooper", "global-race (wrong result)")),
        Rung("trapezoid_blocked_global", "blocked, global memory",
             "Blocks do not run at the same time, nor do warps; now a block reduces only its own points and waits "
             "at every step.", "Blocked Reduce", "host", published("cooper", "blocked-global + host sum")),
        Rung("trapezoid_shared_host", "shared memory",
             "The function values lay in global memory, where only one block needed them; now they are shared by "
             "that block.", "Shared Memory", "host", published("cooper", "shared-memory + host sum")),
        Rung("trapezoid_any_block", "any block size",
             "The tree needed a power of two; one more test, and a block may have 100 threads. Only four lanes of its "
             "fourth warp then work.", "Warps", "host", promise="same"),
        Rung("trapezoid_shared_relaunch", "second reduce",
             "The host added the block sums one after the other; now a second kernel reduces them.",
             "Synchronize", "relaunch", published("cooper", "shared-memory + second reduce"), "faster"),
        Rung("trapezoid_sequential", "count differently",
             "For five steps every warp kept a working thread; now half of the warps have nothing to do from the first "
             "step on.",
             "Divergent Branch", "relaunch", published("cooper", "sequential + second reduce"), "faster"),
        Rung("trapezoid_one_launch", "one launch",
             "After the lecture: a thread had one point, every step its barrier, and the block sums a launch; now a "
             "thread adds many points in a register, and the last block finishes.", promise="faster"),
    ),
)  # fmt: skip

LADDERS = (_COOPER,)
