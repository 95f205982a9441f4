"""The ladders beside the reductions and the tiles: the trapezoidal rule, and matrix multiplication beyond tiling."""

from __future__ import annotations

from collections.abc import Mapping

from engine.catalogue.entries import Ladder, Rung, Topic
from engine.catalogue.ladders import published


def more_ladders(topics: Mapping[str, Topic]) -> tuple[Ladder, ...]:
    """The ladders of this module whose topic is in `topics`."""
    every = (_trapezoid(), _beyond_tiling(), _operators(), _histogram(), _floats())
    return tuple(ladder for ladder in every if ladder.topic in topics)


def _trapezoid() -> Ladder:
    return Ladder(
        name="cooper",
        title="Cooper: the trapezoidal rule, from a CPU loop to two kernels",
        topic="trapezoid",
        lecture="K. Cooper 2014, Warps, Blocks, and Synchronization (Washington State University)",
        summary="The integral of f(x) = sin g + 2 cos g on [-1, 1] with 65,536 points, in double precision.",
        n=65536,
        block_size=256,
        dtype="float64",
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
            Rung("trapezoid_shared_relaunch", "second reduce",
                 "The host added the block sums one after the other; now a second kernel reduces them.",
                 "Synchronize", "relaunch", published("cooper", "shared-memory + second reduce")),
            Rung("trapezoid_sequential", "count differently",
                 "Every warp kept a thread to the bitter end; now half of the block is done after the first step.",
                 "Divergent Branch", "relaunch", published("cooper", "sequential + second reduce")),
        ),
    )  # fmt: skip


def _beyond_tiling() -> Ladder:
    return Ladder(
        name="beyond-tiling",
        title="After CS121: matrix multiplication beyond tiles",
        topic="matmul",
        lecture="The lecture's idea, reuse, carried on from shared memory to registers, warps and copies",
        summary="The tiled kernel of the lecture reads two words of shared memory for each product, and waits for each "
        "tile. Each rung removes such a cost, on the way to what a library reaches.",
        n=4096,
        emulator_n=256,
        block_size=16,
        dtype="float32",
        rungs=(
            Rung("matmul_naive", "naive", "Where the lecture starts: both operands of each product from global "
                 "memory.", "Exploiting data reuse"),
            Rung("matmul_tiled", "tiled", "Every element was fetched by width threads; now a block fetches it once.",
                 "Tiled matrix multiplication"),
            Rung("matmul_register_1d", "registers, 1-D",
                 "Each product took two words from shared memory; now an element of N serves eight products."),
            Rung("matmul_register_2d", "registers, 2-D",
                 "An element of M still served one product; now 16 words serve 64 products."),
            Rung("matmul_vectorized", "four words at once",
                 "Sixteen loads for 64 products, one word each; now four loads take four words each."),
            Rung("matmul_warp_tile", "warp tile",
                 "A warp was a strip of 16 x 128 and needed 144 words; a piece of 64 x 32 needs 96."),
            Rung("matmul_async_copy", "async copy",
                 "The block waited for each phase to arrive; now three phases are on their way while one is used."),
        ),
    )  # fmt: skip


def _operators() -> Ladder:
    return Ladder(
        name="heidelberg-operators",
        title="Heidelberg: the same tree with other operators",
        topic="aggregate",
        lecture="GPU Computing 07, Scheduling Optimizations (Heidelberg University)",
        summary="A reduction only needs an associative operation. The kernels differ in the operator and in what they "
        "start from, and cost the same.",
        n=2**22,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("reduce_product", "product", "A tree of sums needed no more of + than that brackets do not matter; "
                 "* allows the same.", "Parallel reduction", "relaunch"),
            Rung("reduce_min", "minimum", "A product of floats depends on the order of rounding; a minimum does not.",
                 "Parallel reduction", "relaunch"),
            Rung("reduce_max", "maximum", "One word is different.", "Parallel reduction", "relaunch"),
        ),
    )  # fmt: skip


def _histogram() -> Ladder:
    return Ladder(
        name="heidelberg-histogram",
        title="Heidelberg: the histogram, and who meets whom",
        topic="aggregate",
        lecture="GPU Computing 07, Scheduling Optimizations (Heidelberg University)",
        summary="A sum for each of 256 values. Choose fewer values to see the contention grow.",
        n=2**22,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("histogram_global", "global atomics",
                 "One tree per value would read everything 256 times; one atomic per element reads it once.",
                 "Parallel reduction: h_k"),
            Rung("histogram_shared", "shared atomics",
                 "All threads of the GPU met at 256 addresses; now only those of a block meet.",
                 "Parallel reduction on a GPU"),
            Rung("histogram_warps", "a copy per warp",
                 "The warps of a block still met; now only the lanes of a warp do.", "Parallel reduction on a GPU"),
        ),
    )  # fmt: skip


def _floats() -> Ladder:
    return Ladder(
        name="float-truths",
        title="Float truths: 17,825,792 ones, and what is left of them",
        topic="floats",
        lecture='B. Crovella 2020, Atomics, Reductions, Warp Shuffle, "Further study"; N. J. Higham 1993, The Accuracy '
        "of Floating Point Summation",
        summary="2^24 + 2^20 ones as float32. The order of the additions decides how many of them are counted.",
        n=2**24 + 2**20,
        block_size=256,
        dtype="float32",
        rungs=(
            Rung("floats_serial", "serial", "The loop anybody would write. It stops counting at 2^24 = 16,777,216.",
                 "Further study: Floating point"),
            Rung("floats_atomic", "atomic", "One thread added; now all do, but still one after the other: the same "
                 "chain, in an order that nobody fixed.", "Atomics to the rescue"),
            Rung("floats_tree", "tree", "Ones met a sum that was too large for them; in a tree equal sums meet.",
                 "Parallel Reduction"),
            Rung("floats_kahan", "compensated", "Another order saved the ones; the serial order does as well, if what "
                 "a rounding drops is carried along.", "Further study: Floating point"),
            Rung("floats_double", "double", "Four additions for each number; a sum with more digits needs one, and "
                 "the numbers in memory stay small.", "Further study: Floating point"),
        ),
    )  # fmt: skip
