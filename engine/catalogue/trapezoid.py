"""The topic "trapezoid": the integral of one function from n points. Its kernels, plans and check; it has no input
data.

A kernel that evaluates ends with the parameters (T a, T b, unsigned int n); `out` has one element per block, `f_val`
one per point. The scalar rung runs on the CPU; its file is C++ and CUDA at once.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, cos, fsum, log2, sin, sqrt
from typing import Literal

import numpy as np

from engine.catalogue.data import unit_roundoff
from engine.catalogue.entries import BlockNeed, Kernel, Ladder, Rung, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import check_grid, given_source, slots
from engine.catalogue.published import published
from engine.catalogue.reduction import ANY, WHOLE_WARPS
from engine.records import Array, Buffer, Check, Choice, HostRun, HostSum, Launch, Plan, Scalar, Settled, Step

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
    today=(
        "From the loop on the CPU to its last version the lecture gains {paper trapezoid_scalar trapezoid_sequential}, "
        "and here it is {times trapezoid_scalar trapezoid_sequential}; but both ends are thousands of times faster.",
        "The lecture does not say what was timed; 5.5 s are 84 µs for each point, far more than a sine and a cosine "
        "take. Here only the loop and the launches are timed: {time trapezoid_scalar} and {time trapezoid_sequential}.",
        "At this N the GPU's rungs are bound by launching: an empty kernel takes {floor trapezoid_sequential} of the "
        "{time trapezoid_sequential}. At N = 2^24 the CPU takes "
        "{times trapezoid_scalar trapezoid_sequential n=16777216} as long.",
        "Shared memory gains {times trapezoid_blocked_global trapezoid_shared_host} (lecture: "
        "{paper trapezoid_blocked_global trapezoid_shared_host}): what a block has just written to global memory lies "
        "in the caches.",
        "The sum at the end, which the lecture blames, still costs most, though not for its few hundred additions: the "
        "host must copy the block sums and wait for them. With a second kernel in its place the gain is "
        "{times trapezoid_shared_host trapezoid_shared_relaunch} (lecture: "
        "{paper trapezoid_shared_host trapezoid_shared_relaunch}).",
        "Counting differently gains {times trapezoid_shared_relaunch trapezoid_sequential}, and "
        "{times trapezoid_shared_relaunch trapezoid_sequential n=16777216} at N = 2^24 (lecture: "
        "{paper trapezoid_shared_relaunch trapezoid_sequential}).",
        "The slide gives the error of the rule as O(h). That is true but says too little: for a function as smooth as "
        "this one it is O(h²), which the picture of the errors shows.",
        "In one launch it takes {time trapezoid_one_launch}, and {time trapezoid_one_launch n=16777216} at "
        "N = 2^24, where the rung before takes {times trapezoid_sequential trapezoid_one_launch n=16777216} as long.",
        "The race is wrong here too. Its time is left blank, because the time of a wrong answer says nothing.",
    ),
    rungs=(
        Rung("trapezoid_scalar", "scalar", "The obvious form of the composite rule: one loop on the CPU.",
             "Scalar Trapezoid", None, published("cooper", "scalar-cpu")),
        Rung("trapezoid_global_race", "global race",
             "The loop evaluated one point at a time; now each point has its thread, and all reduce one array. "
             "Fast, and wrong.", "CUDA Reduce; What's wrong?!", None,
             published("cooper", "global-race (wrong result)")),
        Rung("trapezoid_blocked_global", "blocked, global memory",
             "Neither blocks nor warps waited for each other; now a block reduces only its own points, and its "
             "threads wait at every step.", "Blocked Reduce", "host", published("cooper", "blocked-global + host sum"),
             shows="findings"),
        Rung("trapezoid_shared_host", "shared memory",
             "The function values lay in global memory, where only one block needed them; now they are shared by "
             "that block.", "Shared Memory", "host", published("cooper", "shared-memory + host sum"), shows="sectors"),
        Rung("trapezoid_any_block", "any block size",
             "The tree needed a power of two; with one more test a block may have 100 threads. Only four lanes of its "
             "fourth warp then work.", "Warps", "host", promise="same", shows="+warp_instructions"),
        Rung("trapezoid_shared_relaunch", "second reduce",
             "The host added the block sums one after the other; now a second kernel reduces them.",
             "Synchronize", "relaunch", published("cooper", "shared-memory + second reduce"), "faster",
             shows="+launches"),
        Rung("trapezoid_sequential", "count differently",
             "For five steps every warp kept a working thread; now half of the warps have nothing to do from the first "
             "step on.",
             "Divergent Branch", "relaunch", published("cooper", "sequential + second reduce"), "faster",
             shows="divergent_branches"),
        Rung("trapezoid_one_launch", "one launch",
             "After the lecture: a thread had one point, every step a barrier, and the block sums a launch of their "
             "own; now a thread adds many points in a register, and the last block adds the block sums.",
             promise="faster", shows="launches"),
    ),
)  # fmt: skip

LADDERS = (_COOPER,)


A, B = -1.0, 1.0
INTEGRAL = -0.347022118633863243825  # of f from A to B
SIZE = (B - A) * sqrt(5)  # |sin g + 2 cos g| is at most sqrt(5), so no sum of h |f(x)| is larger
MAX_N = 2**28
BLOCK_SIZES = (8, 32, 64, 128, 256, 512, 1024)  # 8 is the multiprocessor that the lecture draws
ANY_SIZES = (8, 32, 64, 96, 100, 128, 256, 512, 1024)  # of 100 threads the last warp is not full
SUMMED_MAX_N = 2**20  # up to here the expected sum is added up, above it follows from the Euler-Maclaurin formula

# x = a + i h: 2; g: 6; sine, cosine (one each), twice the cosine, their sum: 4; times h: 1; the sum over points: 1.
FLOPS_PER_POINT = 14

# The largest error of evaluating f, in units of the roundoff, for any n: x is off by up to 4 of them and |f'| is at
# most 3.1; sine and cosine are off by up to 2 each, twice the cosine, and the products with h by 1. All of it adds up
# over an interval of length 2 to less than this.
EVALUATION_ROUNDINGS = 100

_ONLY_DOUBLE = {
    "int32": "an integral is not a whole number; choose float64.",
    "float32": "the lecture integrates in double precision; choose float64.",
}
_TREE = BlockNeed(
    "each step of its tree halves the block (that of trapezoid_any_block need not)", least=2, power_of_two=True
)


def _kernel(
    name: str,
    title: str,
    combine: str,
    expect: str = "ok",
    processor: Literal["gpu", "cpu"] = "gpu",
    needs: BlockNeed = _TREE,
    sizes: tuple[int, ...] = BLOCK_SIZES,
    coverage: int | None = 1,
) -> Kernel:
    return Kernel(name, "trapezoid", title, dtypes=("float64",), block_sizes=sizes, combines=(combine,),
                  coverage=coverage, expect=expect, refuses=_ONLY_DOUBLE, processor=processor,
                  needs=needs)  # fmt: skip


KERNELS = (
    _kernel("trapezoid_scalar", "One thread of the CPU", "none", processor="cpu", needs=ANY),
    _kernel("trapezoid_global_race", "One reduction across all blocks, unsynchronized", "none", expect="wrong",
            needs=ANY),
    _kernel("trapezoid_blocked_global", "Block by block in global memory, host sum", "host"),
    _kernel("trapezoid_shared_host", "Block by block in shared memory, host sum", "host"),
    _kernel("trapezoid_any_block", "Shared memory, any block size, host sum", "host",
            sizes=ANY_SIZES, needs=ANY),
    _kernel("trapezoid_shared_relaunch", "Shared memory, second reduce kernel", "relaunch"),
    _kernel("trapezoid_sequential", "Sequential addressing, second reduce kernel", "relaunch"),
    _kernel("trapezoid_one_launch", "Grid stride, warp shuffles, single pass", "hand-over",
            sizes=BLOCK_SIZES[1:], needs=WHOLE_WARPS, coverage=None),
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return the steps that integrate f with choice.n points; the choice has passed engine.plan's checks."""
    check_grid(choice)
    n, block_size = choice.n, choice.block_size
    interval = (Scalar("float64", A), Scalar("float64", B), Scalar("uint32", n))
    blocks = ceil(n / block_size)
    one_per_block = Buffer("out", choice.dtype, blocks, "poison")
    one_per_point = Buffer("f_val", choice.dtype, n, "poison")
    tree = ceil(log2(block_size))
    # Shared memory apart, a tree reads two numbers and writes one for each of its additions.
    in_global = n + 3 * (n - 1)
    result = "out"
    buffers: tuple[Buffer, ...] = (one_per_block,)
    steps: tuple[Step, ...]
    if kernel.processor == "cpu":
        blocks = 1
        buffers = (Buffer("out", choice.dtype, 1, "poison"),)
        steps = (_scalar(kernel, choice, interval),)
        additions, moved = n, 1
    elif kernel.name == "trapezoid_global_race":
        buffers, result = (one_per_point,), "f_val"
        evaluate = _launch(kernel, choice, "evaluate", blocks, ("f_val", *interval))
        steps = (evaluate, _launch(kernel, choice, kernel.name, blocks, ("f_val", interval[-1])))
        additions, moved = ceil(log2(n)), in_global
    elif kernel.name == "trapezoid_blocked_global":
        buffers = (one_per_point, one_per_block)
        steps = (_launch(kernel, choice, kernel.name, blocks, ("f_val", "out", *interval)), HostSum("out", blocks))
        additions, moved = tree + blocks, in_global + blocks
    elif "hand-over" in kernel.combines:
        blocks = choice.grid_size or min(blocks, gpu.filling_blocks(block_size))
        buffers = (Buffer("out", choice.dtype, 1, "poison"), slots(choice.dtype, blocks))
        steps = (_launch(kernel, choice, kernel.name, blocks, ("out", *interval, "slots")),)
        # A thread's points, then those of a block in a warp and between its warps; the blocks' sums likewise.
        additions = ceil(n / (blocks * block_size)) + ceil(blocks / block_size) + 2 * (5 + block_size // 32)
        moved = blocks
    elif "host" in kernel.combines:
        steps = (_launch(kernel, choice, kernel.name, blocks, ("out", *interval)), HostSum("out", blocks))
        additions, moved = tree + blocks, blocks
    else:
        steps = (_launch(kernel, choice, kernel.name, blocks, ("out", *interval)),)
        left, moved = blocks, blocks
        while left > 1:
            source, result = result, f"out{len(steps) + 1}"
            moved += left + ceil(left / block_size)
            launched = ceil(left / block_size)
            buffers += (Buffer(result, choice.dtype, launched, "poison"),)
            steps += (_launch(kernel, choice, "reduce_sums", launched, (source, result, Scalar("uint32", left))),)
            left = launched
        additions = tree * len(steps)
    return Plan(
        choice=choice,
        buffers=buffers,
        steps=steps,
        result=result,
        result_count=1,
        bytes_moved=8 * moved,
        flops=FLOPS_PER_POINT * n,
        additions=additions,
        grid_size=blocks,
    )


def _launch(kernel: Kernel, choice: Choice, function: str, blocks: int, args: tuple[str | Scalar, ...]) -> Launch:
    source = given_source(kernel, choice, ("BLOCK_SIZE", choice.block_size))
    return Launch(function, source, (blocks, 1, 1), (choice.block_size, 1, 1), args)


def _scalar(kernel: Kernel, choice: Choice, interval: tuple[Scalar, ...]) -> Step:
    """Plan the rung on the CPU. A user's own text never runs there, because the CPU does not isolate it: it gets one
    thread of the GPU or of the emulator."""
    source = given_source(kernel, choice)
    if source.text == kernel.text:
        return HostRun(kernel.name, source, ("out", *interval), _in_python)
    return Launch(kernel.name, source, (1, 1, 1), (1, 1, 1), ("out", *interval))


def f(x: float) -> float:
    """Return the lecture's function of x."""
    g = 2.0 + x * (-1.0 + x * (0.5 - x * 0.2))
    return sin(g) + 2 * cos(g)


def _in_python(out: Array, a: float, b: float, n: int) -> None:
    h = (b - a) / (n - 1)
    integral = 0.0
    for i in range(1, n - 1):
        integral += f(a + i * h)
    out[0] = h * (integral + 0.5 * (f(a) + f(b)))


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """Return no data: every thread computes its point from its index."""
    return {}


def points(n: int) -> tuple[Array, Array]:
    """Return the n points x and the values f(x) there, each of shape (n,)."""
    x = A + np.arange(n) * ((B - A) / (n - 1))
    g = 2.0 + x * (-1.0 + x * (0.5 - x * 0.2))
    return x, np.sin(g) + 2 * np.cos(g)


@lru_cache(maxsize=64)
def trapezoid_sum(n: int) -> float:
    """Return the sum of the trapezoidal rule with n points in exact arithmetic, to a few roundings."""
    h = (B - A) / (n - 1)
    if n <= SUMMED_MAX_N:
        _, values = points(n)
        return h * fsum((*values[1:-1].tolist(), values[0] / 2, values[-1] / 2))
    (slope_a, third_a), (slope_b, third_b) = derivatives(A), derivatives(B)
    # The next term is of the order h^6: beyond SUMMED_MAX_N points far below a rounding.
    return INTEGRAL + h**2 / 12 * (slope_b - slope_a) - h**4 / 720 * (third_b - third_a)


def derivatives(x: float) -> tuple[float, float]:
    """Return f'(x) and f'''(x)."""
    g = 2.0 + x * (-1.0 + x * (0.5 - x * 0.2))
    g1, g2, g3 = -1 + x - 0.6 * x * x, 1 - 1.2 * x, -1.2
    outer, outer1 = sin(g) + 2 * cos(g), cos(g) - 2 * sin(g)
    return outer1 * g1, -outer1 * g1**3 - 3 * outer * g1 * g2 + outer1 * g3


def check(plan: Plan, output: Array) -> Check:
    """Check the sum against the exact trapezoid sum for this n: within ten standard deviations of the roundings of the
    longest chain of additions, plus the largest error of evaluating f. The integral itself is a note."""
    n = plan.choice.n
    expected = trapezoid_sum(n)
    result = float(output[0])
    error = abs(result - expected)
    bound = unit_roundoff(plan.choice.dtype) * (10 * sqrt(plan.additions) * SIZE + EVALUATION_ROUNDINGS)
    note = (
        f"Expected: the exact trapezoid sum for {n:,} points, which misses the integral {INTEGRAL:.15f} by "
        f"{abs(expected - INTEGRAL):.3g}; this answer misses the integral by {abs(result - INTEGRAL):.3g}. "
        f"Bound: 10 standard deviations of {plan.additions:,} roundings in a row, and those of evaluating f."
    )
    return Check(bool(np.isfinite(result)) and error <= bound, result, expected, error, bound, note)


def against_integral(result: float | int) -> str:
    """Return how far an answer is from the integral itself, whatever its N: the rule's own error and the roundings."""
    return f"off the integral by {abs(result - INTEGRAL):.2g}"


TOPIC = Topic(
    name="trapezoid",
    title="Trapezoidal rule",
    size_label="N (points)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=tuple(2**power for power in (4, 8, 10, 12, 14, 16, 18, 20, 22, 24)),
    default_n=65536,
    default_block_size=256,
    max_n=MAX_N,
    emulator_max_n=2**22,
    metric="gflop_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    remark=against_integral,
    data_note="No input: f(x) = sin g + 2 cos g with g = 2 + x(-1 + x(0.5 - 0.2x)), on [-1, 1].",
    operation="integral",
    min_n=2,
    min_n_reason="the width of a trapezoid is 2 / (N - 1), so one point leaves nothing to divide by",
)
