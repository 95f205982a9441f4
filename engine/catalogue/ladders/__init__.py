"""The ladders: an order of rungs, the lecture it comes from, and the sentence from one rung to the next.

The figures that the lectures print stand in published/*.csv and nowhere else; a rung names the lecture's row.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from engine.catalogue.entries import Ladder, Published, Rung, Topic

_FIGURES = Path(__file__).parent / "published"


def all_ladders(topics: Mapping[str, Topic]) -> tuple[Ladder, ...]:
    """The lectures' ladders whose topic is in `topics`, then one ladder per topic with all its rungs."""
    lectures = (_harris(), _crovella(), _heidelberg(), _hekun(), _one_launch(), _tiling())
    return tuple(ladder for ladder in lectures if ladder.topic in topics) + tuple(map(_all_rungs, topics.values()))


def _harris() -> Ladder:
    return Ladder(
        name="harris",
        title="Harris and Crovella: optimizing parallel reduction",
        topic="reduction",
        lecture="M. Harris, Optimizing Parallel Reduction in CUDA; B. Crovella 2020, Atomics, Reductions, Warp Shuffle",
        summary="Each rung removes the bottleneck that the last one left. 4M ints, 128 threads per block.",
        n=2**22,
        block_size=128,
        dtype="int32",
        rungs=(
            Rung("reduce_interleaved", "#1", "A tree instead of one sum after the other: log2(block size) steps.",
                 "Reduction #1: Interleaved Addressing", "relaunch", published("harris", "interleaved-divergent")),
            Rung("reduce_strided", "#2", "The working threads were spread over all warps; now they are consecutive.",
                 "Reduction #2: Interleaved Addressing", "relaunch",
                 published("harris", "interleaved-bank-conflicts")),
            Rung("reduce_sequential", "#3", "The strided index met in a few banks; now neighbours use different banks.",
                 "Reduction #3: Sequential Addressing", "relaunch", published("harris", "sequential")),
            Rung("reduce_first_add", "#4", "Half of the threads never added; now each adds once while it loads.",
                 "Reduction #4: First Add During Load", "relaunch", published("harris", "first-add-during-load")),
            Rung("reduce_unroll_volatile", "#5 (slides)",
                 "The loop cost more than the additions; the slides unroll the last warp and trust in its lockstep.",
                 "Reduction #5: Unroll the Last Warp", "relaunch", published("harris", "unroll-last-warp")),
            Rung("reduce_unroll_syncwarp", "#5",
                 "Since Volta no warp promises lockstep; __syncwarp between read and write makes the steps safe.",
                 "Reduction #5: Unroll the Last Warp", "relaunch"),
            Rung("reduce_complete_unroll", "#6", "A loop was left for large strides; a constant block size removes it.",
                 "Reduction #6: Completely Unrolled", "relaunch", published("harris", "completely-unrolled")),
            Rung("reduce_multiple_adds", "#7",
                 "Every block paid for a whole tree to add few elements; now each thread adds many before the tree.",
                 "Reduction #7: Multiple Adds / Thread", "relaunch",
                 published("harris", "multiple-elements-per-thread")),
            Rung("reduce_grid_stride_host", "#8",
                 "The code had grown; with a grid-stride loop the plain tree of #3 will do. The host adds the rest.",
                 "Reduce version 8", "host"),
            Rung("reduce_grid_stride_atomic", "#9",
                 "The block sums had to go to the host; now one atomic per block adds them on the GPU.",
                 "Reduce version 9", "atomic"),
            Rung("reduce_warp_shuffle", "shuffle",
                 "The tree went through shared memory with a barrier per step; now the lanes hand over registers.",
                 "Warp shuffle reduction", "atomic"),
        ),
    )  # fmt: skip


def _crovella() -> Ladder:
    return Ladder(
        name="crovella",
        title="Crovella: from a race to one atomic per block",
        topic="reduction",
        lecture="B. Crovella 2020, Atomics, Reductions, Warp Shuffle",
        summary="How all threads can add to one result: wrongly, slowly, and then well.",
        n=2**22,
        block_size=256,
        dtype="int32",
        baseline=1,
        rungs=(
            Rung("reduce_racy", "*c += a[i]", "One thread per element, and each adds to the one sum. It does not work.",
                 "Reduction: naive thread strategy"),
            Rung("reduce_atomic", "atomicAdd", "Reads and writes of different threads mixed; an atomic is indivisible.",
                 "Atomics to the rescue", "atomic"),
            Rung("reduce_grid_stride_host", "#8",
                 "All additions waited for one address; now each block adds its own elements, and the host the rest.",
                 "Reduce version 8", "host"),
            Rung("reduce_atomic_cas", "atomicCAS",
                 "The host had to add; where a type has no atomicAdd, a loop around compare-and-swap makes one.",
                 "atomicAdd implementation", "atomic"),
            Rung("reduce_grid_stride_atomic", "#9", "When blocks meet the loop tries again; the atomic unit does not.",
                 "Reduce version 9", "atomic"),
            Rung("reduce_warp_shuffle", "shuffle",
                 "The tree went through shared memory with a barrier per step; now the lanes hand over registers.",
                 "Warp shuffle reduction", "atomic"),
        ),
    )  # fmt: skip


def _heidelberg() -> Ladder:
    return Ladder(
        name="heidelberg",
        title="Heidelberg: six reductions and Volta's scheduling",
        topic="reduction",
        lecture="GPU Computing 07, Scheduling Optimizations (Heidelberg University)",
        summary="Throughput by threads per block, for 4M ints; then the exercise: what independent thread scheduling "
        "breaks, and two ways out of it.",
        n=2**22,
        block_size=128,
        dtype="int32",
        rungs=(
            Rung("reduce_interleaved", "#1", "Start many threads: one element per thread, a tree in each block.",
                 "Reduction #1: interleaved addressing", "relaunch", throughput("interleaved-divergent")),
            Rung("reduce_strided", "#2", "Every second thread worked, so every warp diverged; now the first ones work.",
                 "Reduction #2: interleaved addressing non-divergent", "relaunch",
                 throughput("interleaved-non-divergent")),
            Rung("reduce_sequential", "#3", "The index left bank conflicts; shared memory is best accessed using tid.",
                 "Reduction #3: sequential addressing non-divergent", "relaunch",
                 throughput("sequential-non-divergent")),
            Rung("reduce_first_add", "#4", "Half of the threads were idle in the first step; that step is gone.",
                 "Reduction #4: first add during load", "relaunch", throughput("first-add")),
            Rung("reduce_unroll_volatile", "#5",
                 "Loop control was pure overhead; a last warp in lockstep needs none. This is also the exercise's "
                 "first half: code for the Pascal model.",
                 "Reduction #5: unrolling the last warp", "relaunch", throughput("unrolling")),
            Rung("reduce_complete_unroll", "#6", "A loop was left for large strides; a constant block size removes it.",
                 "Reduction #6: complete unrolling", "relaunch", throughput("templated")),
            Rung("reduce_unroll_plain", "Volta: no volatile",
                 "The slide has no volatile: nothing makes a lane see what another lane wrote, and the sum is wrong.",
                 "Volta's (and after) SIMT model", "relaunch"),
            Rung("reduce_unroll_syncwarp", "Volta: __syncwarp",
                 "The exercise's second half: the warp waits between reading and writing, so lockstep is not needed.",
                 "Escape the new feature", "relaunch"),
            Rung("reduce_unroll_shuffle", "Volta: shuffle",
                 "Two waits, a load and a store per step become one shuffle, which waits by itself.",
                 "Warp-level instructions", "relaunch"),
            Rung("reduce_cooperative", "Volta: groups",
                 "The code spelled out who works with whom; cooperative groups give these groups a name and a barrier.",
                 "Escape the new feature"),
        ),
    )  # fmt: skip


def _hekun() -> Ladder:
    return Ladder(
        name="hekun",
        title="He Kun: from halving threads to one kernel",
        topic="reduction",
        lecture="He Kun 2024, CUDA programming model: Reduction",
        summary="Ten million ints, 256 threads per block. Choose 32 blocks to run it as he does.",
        n=10_000_000,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("reduce_scalar", "CPU", "The loop that the full code compares with: 8 numbers take 7 additions, one "
                 "after the other.", "Full code: cpu execution", None, published("hekun", "scalar-cpu")),
            Rung("reduce_sequential", "1", "Each addition waited for the one before; as it takes two numbers, the "
                 "threads reduce by half every time, and 8 numbers take 3 steps.",
                 "1. Threads reduce by half every time", "relaunch"),
            Rung("reduce_grid_stride_atomic", "2", "Every element had its thread; a grid-stride loop reuses a few "
                 "threads, and one atomic per block ends it in one launch.", "2. Grid stride loop", "atomic"),
            Rung("reduce_register_tree", "full code", "The running sum lay in shared memory, and a tree step read and "
                 "wrote at once; now the sum is a private register, and a barrier parts reading from writing.",
                 "Full code", "atomic", published("hekun", "grid-stride-atomic (GPU)", grid_size=32)),
        ),
    )  # fmt: skip


def _one_launch() -> Ladder:
    return Ladder(
        name="one-launch",
        title="After the lectures: one launch, as fast as the memory",
        topic="reduction",
        lecture="The question the lectures leave open: global synchronization",
        summary="How blocks combine without a second launch or an atomic sum, and what then still costs time.",
        n=2**22,
        block_size=512,
        dtype="int32",
        rungs=(
            Rung("reduce_warp_shuffle", "shuffle", "The lecture's last rung: shuffles, and one atomic per block.",
                 "Warp shuffle reduction", "atomic"),
            Rung("reduce_cooperative", "grid sync",
                 "The atomics add in any order, to a zeroed result; with a barrier for the grid, block 0 adds."),
            Rung("reduce_last_block", "last block",
                 "All blocks waited for the slowest; now none waits, and the block that finishes last adds."),
            Rung("reduce_vectorized", "vectorized",
                 "One load per thread was in flight, and fence and ticket cost a microsecond; now four loads of 16 "
                 "bytes keep the memory busy, and the sums travel with a flag of their own."),
        ),
    )  # fmt: skip


def _tiling() -> Ladder:
    return Ladder(
        name="cs121-tiling",
        title="CS121: tiled matrix multiplication",
        topic="matmul",
        lecture="CS121 Parallel Computing, GPUs and CUDA 2: Memory and Warps (ShanghaiTech, 2021)",
        summary="The same products, three ways to fetch the operands.",
        n=1024,
        block_size=16,
        dtype="float32",
        rungs=(
            Rung("matmul_uncoalesced", "uncoalesced", "One thread per element of P; x chooses the row.",
                 "Coalescing example"),
            Rung("matmul_naive", "naive", "A warp touched up to 32 pieces of memory at once; when x chooses the "
                 "column its accesses coalesce.", "Exploiting data reuse"),
            Rung("matmul_tiled", "tiled", "Every element was fetched from global memory by width threads; now a "
                 "block fetches a tile once and shares it.", "Tiled matrix multiplication"),
        ),
    )  # fmt: skip


def _all_rungs(topic: Topic) -> Ladder:
    return Ladder(
        name=f"all-{topic.name}",
        title=f"{topic.title}: all rungs",
        topic=topic.name,
        lecture="All lectures of the topic",
        summary="Every kernel of the topic, in the order of the catalogue.",
        rungs=tuple(Rung(kernel.name, str(i), f"{kernel.title}.") for i, kernel in enumerate(topic.kernels, 1)),
        n=topic.default_n,
        block_size=topic.default_block_size,
        dtype=topic.kernels[0].dtypes[0],
    )


def published(lecture: str, kernel: str, grid_size: int | None = None) -> tuple[Published, ...]:
    """The rows of published_times.csv that `lecture` prints for its kernel of that name. KeyError if there is none.

    `grid_size`: the number of blocks, where the lecture's code shows one.
    """
    found = tuple(
        Published(
            lecture=row["lecture"],
            gpu=row["gpu"],
            n=int(row["n"]),
            dtype=row["dtype"],
            block_size=int(row["block"]) if row["block"] else None,
            time_ms=_number(row["time_ms"]),
            bandwidth_gb_s=_number(row["bandwidth_gb_s"]),
            step_speedup=_number(row["step_speedup"]),
            cumulative_speedup=_number(row["cumulative_speedup"]),
            grid_size=grid_size,
        )
        for row in _rows("published_times.csv")
        if (row["lecture"], row["kernel"]) == (lecture, kernel)
    )
    if not found:
        raise KeyError(f"{lecture} prints no figure for {kernel!r}")
    return found


def throughput(kernel: str) -> tuple[Published, ...]:
    """Heidelberg's throughput of one version, one figure per block size (its maximum is a repetition and left out)."""
    for row in _rows("heidelberg_throughput.csv"):
        if row["kernel"] == kernel:
            return tuple(
                Published("heidelberg", "Kepler generation", 2**22, "int32", int(threads), None, _number(figure))
                for threads, figure in row.items()
                if threads.isdigit()
            )
    raise KeyError(f"heidelberg prints no figure for {kernel!r}")


@cache
def _rows(file_name: str) -> tuple[dict[str, str], ...]:
    lines = (_FIGURES / file_name).read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))


def _number(text: str) -> float | None:
    return float(text) if text else None
