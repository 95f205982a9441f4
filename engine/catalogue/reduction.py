"""The topic "reduction": n numbers to one sum. Its kernels, plans, inputs and check.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n); `out` has one element per block, or one zeroed
element if blocks combine by atomics. Kernels whose last block adds the block sums have a ticket after these parameters.
"""

from __future__ import annotations

from math import ceil, log2, sqrt

import numpy as np

from engine.catalogue import data
from engine.catalogue.entries import BlockNeed, Kernel, Parameter, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import check_grid, given_source, slots, value_of_parameter
from engine.catalogue.reduction_ladders import LADDERS
from engine.records import (
    Array,
    Buffer,
    Check,
    Choice,
    HostRun,
    HostSum,
    Launch,
    NotRunnable,
    Plan,
    Scalar,
    Settled,
    Step,
    Zero,
    dtype_of,
)

SEED = 4_194_304
MAX_N = 2**30

_RELAUNCHED = ("relaunch", "relaunch-resized", "host")

# The kernels' conditions on their block sizes, with reasons: here and nowhere else.
ANY = BlockNeed()
HALVED = BlockNeed("its tree halves the number of sums in every step", power_of_two=True)
WHOLE_WARPS = BlockNeed("its warps add with all of their 32 lanes", multiple_of=32)
LAST_WARP = BlockNeed("its last warp adds 32 words or more, which a smaller block does not fill", 32, power_of_two=True)

KERNELS = (
    Kernel("reduce_scalar", "reduction", "One loop, on one thread of the CPU", needs=ANY, processor="cpu"),
    Kernel("reduce_racy", "reduction", "Every thread adds to one sum, unprotected", needs=ANY, expect="wrong",
           tree="none"),
    Kernel("reduce_atomic", "reduction", "One atomic per element", needs=ANY, combines=("atomic",), tree="none"),
    Kernel("reduce_atomic_cas", "reduction", "One atomic per block, built on compare-and-swap", needs=HALVED,
           combines=("atomic",), coverage=None),
    Kernel("reduce_interleaved", "reduction", "Interleaved addressing, divergent", needs=HALVED, combines=_RELAUNCHED,
           tree="barriers"),
    Kernel("reduce_strided", "reduction", "Interleaved addressing, bank conflicts", needs=HALVED, combines=_RELAUNCHED,
           tree="barriers"),
    Kernel("reduce_sequential", "reduction", "Sequential addressing", needs=HALVED, combines=_RELAUNCHED,
           tree="barriers"),
    Kernel("reduce_first_add", "reduction", "First add during load", needs=HALVED, combines=_RELAUNCHED, coverage=2,
           tree="barriers"),
    Kernel("reduce_unroll_volatile", "reduction", "Unroll last warp, volatile (Harris)", needs=LAST_WARP,
           combines=_RELAUNCHED, coverage=2, expect="hazard"),
    Kernel("reduce_unroll_guarded", "reduction", "Unroll last warp, guarded (Heidelberg)", needs=HALVED,
           combines=_RELAUNCHED, coverage=2, expect="wrong"),
    Kernel("reduce_unroll_plain", "reduction", "Unroll last warp, neither volatile nor guarded", needs=LAST_WARP,
           combines=_RELAUNCHED, coverage=2, expect="wrong"),
    Kernel("reduce_unroll_syncwarp", "reduction", "Unroll last warp, __syncwarp", needs=LAST_WARP, combines=_RELAUNCHED,
           coverage=2),
    Kernel("reduce_unroll_shuffle", "reduction", "Unroll last warp, shuffle", needs=LAST_WARP, combines=_RELAUNCHED,
           coverage=2),
    Kernel("reduce_complete_volatile", "reduction", "Completely unrolled, volatile (Harris)", needs=HALVED,
           combines=_RELAUNCHED, coverage=2, expect="hazard"),
    Kernel("reduce_complete_guarded", "reduction", "Completely unrolled, guarded (Heidelberg)",
           needs=HALVED, combines=_RELAUNCHED, coverage=2, expect="wrong"),
    Kernel("reduce_complete_unroll", "reduction", "Completely unrolled, __syncwarp", needs=LAST_WARP,
           combines=_RELAUNCHED, coverage=2),
    Kernel("reduce_multiple_volatile", "reduction", "Multiple adds per thread, volatile (Harris)",
           needs=HALVED, combines=("relaunch", "host"), coverage=None, expect="hazard"),
    Kernel("reduce_multiple_adds", "reduction", "Multiple adds per thread, __syncwarp", needs=LAST_WARP,
           combines=("relaunch", "host"), coverage=None),
    Kernel("reduce_grid_stride_host", "reduction", "Grid stride, block sums added on the host", needs=HALVED,
           combines=("host",), coverage=None, tree="barriers"),
    Kernel("reduce_grid_stride_atomic", "reduction", "Grid stride, one atomic per block", needs=HALVED,
           combines=("atomic",), coverage=None, tree="barriers"),
    Kernel("reduce_warp_shuffle", "reduction", "Warp shuffle", needs=WHOLE_WARPS, combines=("atomic",), coverage=None),
    Kernel("reduce_cooperative", "reduction", "Cooperative groups and grid sync", needs=WHOLE_WARPS,
           combines=("grid-sync",), coverage=None, cooperative=True),
    Kernel("reduce_last_block", "reduction", "Single pass, last block adds the block sums", needs=WHOLE_WARPS,
           combines=("last-block",), coverage=None),
    Kernel("reduce_register_tree", "reduction", "Register accumulator, read and write apart", needs=HALVED,
           combines=("atomic",), coverage=None),
    Kernel("reduce_vectorized", "reduction", "Vector loads, four in flight, single pass", needs=WHOLE_WARPS,
           combines=("hand-over",), coverage=None, bytes_per_thread=64),
    Kernel("reduce_unaligned", "reduction", "Vector loads from any start", needs=WHOLE_WARPS, combines=("hand-over",),
           coverage=None, bytes_per_thread=64, operation="sum of a slice",
           parameter=Parameter("OFFSET", "Offset (elements)", tuple(range(9)), 1)),
)  # fmt: skip


_NAMED = {kernel.name: kernel for kernel in KERNELS}


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return the launches that add choice.n numbers with `kernel`; the choice has passed engine.plan's checks.
    NotRunnable: they would never end."""
    combine = choice.combine or kernel.combines[0]
    if kernel.processor == "cpu":
        return _scalar(kernel, choice)
    check_grid(choice)
    if combine == "relaunch" and choice.block_size == kernel.coverage == 1 and choice.n > 1:
        raise NotRunnable(
            f"{kernel.name} cannot be relaunched with blocks of one thread: each leaves as many sums as it found, and "
            "that never ends. Combine them on the host, or take blocks of two."
        )
    blocks = choice.grid_size or _blocks(kernel, choice.n, choice.block_size, choice.dtype, gpu)
    buffers = [Buffer("in", choice.dtype, choice.n + offset(choice), "input")]
    steps: list[Step] = []
    additions = 0.0
    result = "out"
    if combine in ("relaunch", "relaunch-resized"):
        outs, launches, additions = _relaunched(kernel, choice, combine == "relaunch-resized", blocks, gpu)
        buffers += outs
        steps += launches
        result = outs[-1].name
    elif combine == "host":
        buffers.append(Buffer("out", choice.dtype, blocks, "poison"))
        steps += [_launch(kernel, choice, "in", "out", choice.n, choice.block_size, blocks), HostSum("out", blocks)]
        additions = _additions(choice.n, choice.block_size, blocks) + blocks
    elif combine in ("last-block", "hand-over", "grid-sync"):
        buffers.append(Buffer("out", choice.dtype, blocks, "poison"))
        extra: tuple[str | Scalar, ...] = ()
        if combine == "hand-over":
            buffers.append(slots(choice.dtype, blocks))
            extra = ("slots",)
        elif combine == "last-block":
            # The ticket wraps to zero by itself, so it is zeroed only once.
            buffers.append(Buffer("ticket", "uint32", 1, "zero", restored=True))
            extra = ("ticket",)
        launch = _launch(kernel, choice, "in", "out", choice.n, choice.block_size, blocks, extra)
        # A file's own counter that is not zero again spoils the next launch, so one order has a second launch.
        again = choice.source is not None and bool(extra) and str(choice.schedule).startswith("waves")
        steps += [launch, launch] if again else [launch]
        additions = _additions(choice.n, choice.block_size, blocks) + ceil(blocks / choice.block_size) + 10
    else:  # every block, or every thread, adds to one zeroed element
        buffers.append(Buffer("out", choice.dtype, 1, "zero"))
        steps += [Zero("out"), _launch(kernel, choice, "in", "out", choice.n, choice.block_size, blocks)]
        additions = choice.n if kernel.coverage == 1 else _additions(choice.n, choice.block_size, blocks) + blocks
    return Plan(
        choice=choice,
        buffers=tuple(buffers),
        steps=tuple(steps),
        result=result,
        result_count=1,
        bytes_moved=choice.n * dtype_of(choice.dtype).itemsize,
        flops=choice.n - 1,
        additions=int(additions),
        grid_size=blocks,
    )


def _relaunched(
    kernel: Kernel, choice: Settled, resized: bool, blocks: int, gpu: GpuModel
) -> tuple[list[Buffer], list[Launch], float]:
    """Return the buffers of all levels, their launches, and all additions: each level adds the sums of the level
    before."""
    outs: list[Buffer] = []
    launches: list[Launch] = []
    additions, source, left, block_size = 0.0, "in", choice.n, choice.block_size
    while True:
        outs.append(Buffer(f"out{len(outs) + 1}" if outs else "out", choice.dtype, blocks, "poison"))
        launches.append(_launch(kernel, choice, source, outs[-1].name, left, block_size, blocks))
        additions += _additions(left, block_size, blocks)
        source, left = outs[-1].name, blocks
        if left == 1:
            return outs, launches, additions
        block_size = _resized(kernel, left) if resized else choice.block_size
        # #7 ends with one block, as its grid is free; the others cover what is left.
        blocks = 1 if kernel.coverage is None else _blocks(kernel, left, block_size, choice.dtype, gpu)


def _scalar(kernel: Kernel, choice: Settled) -> Plan:
    """Plan the loop on the CPU. A user's own text never runs there, because the CPU does not isolate it: it gets one
    thread of the GPU or of the emulator."""
    source, args = given_source(kernel, choice), ("in", "out", Scalar("uint32", choice.n))
    buffers = (Buffer("in", choice.dtype, choice.n, "input"), Buffer("out", choice.dtype, 1, "poison"))
    step: Step = Launch(kernel.name, source, (1, 1, 1), (1, 1, 1), args)
    if source.text == kernel.text:
        step = HostRun(kernel.name, source, args, _in_python)
    moved = choice.n * dtype_of(choice.dtype).itemsize
    return Plan(choice, buffers, (step,), "out", 1, moved, choice.n - 1, choice.n, grid_size=1)


def _in_python(numbers: Array, out: Array, n: int) -> None:
    out[0] = np.add.accumulate(numbers)[n - 1]


def _blocks(kernel: Kernel, n: int, block_size: int, dtype: str, gpu: GpuModel) -> int:
    if kernel.coverage is not None:
        return ceil(n / (block_size * kernel.coverage))
    fill = gpu.filling_blocks(block_size)
    if kernel.cooperative:  # all blocks must be resident together; half of the room is safe with any register count
        fill //= 2
    per_thread = max(1, kernel.bytes_per_thread // dtype_of(dtype).itemsize)
    wanted = ceil(n / (block_size * per_thread))
    if per_thread > 1 and wanted > 1:
        # Measured on an H200: half of the multiprocessors with one load per thread are faster than fewer with four; and
        # until each thread has eight rounds of loads, more than four blocks per multiprocessor only add sums to hand
        # over.
        wanted = max(wanted, min(gpu.multiprocessors // 2, ceil(4 * n / (block_size * per_thread))))
        wanted = min(wanted, max(4 * gpu.multiprocessors, ceil(wanted / 8)), max(8 * gpu.multiprocessors, fill // 2))
    return max(1, min(wanted, fill))


def _resized(kernel: Kernel, left: int) -> int:
    wanted = ceil(left / (kernel.coverage or 1))
    return min(max(kernel.block_sizes[0], 1 << (wanted - 1).bit_length()), kernel.block_sizes[-1])


def _additions(n: int, block_size: int, blocks: int) -> int:
    """Return the longest chain of additions in one launch: while loading, then down the tree of a block."""
    return ceil(n / (block_size * blocks)) + ceil(log2(block_size))


def _launch(
    kernel: Kernel,
    choice: Choice,
    source: str,
    target: str,
    n: int,
    block_size: int,
    blocks: int,
    extra: tuple[str | Scalar, ...] = (),
) -> Launch:
    return Launch(
        kernel=kernel.name,
        source=given_source(kernel, choice, ("BLOCK_SIZE", block_size), *_macros(kernel, choice)),
        grid=(blocks, 1, 1),
        block=(block_size, 1, 1),
        args=(source, target, Scalar("uint32", n), *extra),
        cooperative=kernel.cooperative,
    )


def _macros(kernel: Kernel, choice: Choice) -> tuple[tuple[str, int], ...]:
    return () if kernel.parameter is None else ((kernel.parameter.name, value_of_parameter(kernel, choice)),)


def offset(choice: Choice) -> int:
    """Return how many numbers stand before the first added one."""
    kernel = _NAMED.get(choice.kernel)
    return 0 if kernel is None or kernel.parameter is None else value_of_parameter(kernel, choice)


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """Return {"in": (period, n)}, with the numbers before a slice."""
    return {"in": (data.for_sums(choice, SEED), choice.n + offset(choice))}


def check(plan: Plan, output: Array) -> Check:
    """Check the sum against the exact one: ints must be equal, floats within ten standard deviations of their
    roundings.

    A chain of h roundings on random data walks like sqrt(h) u (|x|_2 + |sum|), u being the unit roundoff (Higham and
    Mary, SIAM J. Sci. Comput. 41, 2019); a wrong kernel misses by whole elements, which is thousands of times more.
    """
    choice = plan.choice
    expected = data.exact_sum(choice.dtype, SEED, choice.n, offset(choice), data.is_wide(choice))
    if choice.dtype == "int32":
        found = int(output[0])
        return Check(found == expected, found, expected, abs(found - expected), 0, _WRAP_NOTE)
    result = float(output[0])
    error = abs(result - expected)
    size = sqrt(data.sum_of_squares(choice.dtype, SEED, choice.n + offset(choice))) + abs(expected)
    bound = 10 * data.unit_roundoff(choice.dtype) * sqrt(plan.additions) * size
    note = f"Bound: 10 standard deviations of {plan.additions:,} roundings in a row."
    return Check(bool(np.isfinite(result)) and error <= bound, result, expected, error, bound, note)


_WRAP_NOTE = "32-bit sums wrap on overflow, here as on the GPU, and must be equal."

TOPIC = Topic(
    name="reduction",
    title="Reduction",
    size_label="N (elements)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=tuple(2**power for power in range(10, 31, 2)),
    default_n=2**22,
    default_block_size=128,
    max_n=MAX_N,
    emulator_max_n=2**26,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note=f"{data.SUMS_NOTE} A file that adds the sums of all blocks in one launch is then launched twice.",
    operation="sum",
    shows={
        "reduce_atomic_cas": "atomic_max_contention",
        "reduce_interleaved": "atomics",
        "reduce_unroll_guarded": "+branches",
        "reduce_complete_guarded": "+branches",
        "reduce_complete_unroll": "findings",
    },
)
