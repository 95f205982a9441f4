"""The topic "transpose": an n x n matrix whose rows become columns, and the copy that is its roof.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n): in and out have n * n numbers, row by row.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np

from engine.catalogue import checks, data
from engine.catalogue.entries import Kernel, Ladder, Rung, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import elements, launch_of, plan_with
from engine.records import Array, Buffer, Check, Choice, Plan, Settled, dtype_of

_TRANSPOSE = Ladder(
    name="transpose",
    title="Matrix transpose: as fast as a copy",
    lecture="After G. Ruetsch and P. Micikevicius 2009, Optimizing Matrix Transpose in CUDA",
    summary="A transpose moves every number once and computes nothing, so a copy of the same matrix is its roof. The "
    "order of the accesses keeps it below, first in global memory and then in shared memory.",
    n=4096,
    emulator_n=512,
    block_size=256,
    dtype="float32",
    baseline=1,
    counter="sectors",
    today=(
        "Ruetsch and Micikevicius wrote for GPUs of 2009, which had no cache for global memory; the lesson is the "
        "same.",
        "The copy takes {time transpose_copy} ({peak transpose_copy} of the memory's peak), and writing columns "
        "{times transpose_naive transpose_copy} as long: each store touches a sector for every number.",
        "Through a tile it is {time transpose_tiled} with bank conflicts and {time transpose_padded} without.",
        "With 16 bytes at a time it takes {time transpose_vectorized}, {times transpose_vectorized transpose_copy} as "
        "long as the copy.",
    ),
    rungs=(
        Rung("transpose_copy", "copy", "The roof: the same bytes are read and written in the order of memory."),
        Rung("transpose_naive", "naive", "Numbers that were read together were written together; a row that becomes a "
             "column is written to 32 places, a whole row apart.", promise="slower", shows="+sectors"),
        Rung("transpose_tiled", "tile", "Every store touched 32 sectors; now a tile in shared memory is read by column "
             "and written by row.", promise="faster", shows="sectors"),
        Rung("transpose_padded", "padding", "All lanes read from one bank of shared memory; one unused column spreads "
             "them over all banks.", promise="faster", counter="bank_conflicts", shows="bank_conflicts",
             moment="= tile[lane][line]"),
        Rung("transpose_vectorized", "vectors", "Every load and store moved one word of each lane; now it moves 16 "
             "bytes, turned in registers, and a swizzle replaces the unused column.", promise="faster",
             counter="warp_instructions", shows="global_load_requests"),
    ),
)  # fmt: skip

LADDERS = (_TRANSPOSE,)


SEED = 2009
TILE = 32  # numbers on a side of a block's tile
STRIP = 16  # rows that are compared at a time
PIECES = 16  # of 16 bytes on a side of the tile of transpose_vectorized
_SQUARES = dict.fromkeys(("512", "1024"), "The tile has 256 squares, one for each thread; choose 64, 128 or 256.")

KERNELS = (
    Kernel("transpose_copy", "transpose", "Copy of the matrix, the roof", work="copy", bytes_per_thread=16),
    Kernel("transpose_naive", "transpose", "Rows read, columns written",
           operation="transpose"),
    Kernel("transpose_tiled", "transpose", "Through a tile in shared memory",
           operation="transpose"),
    Kernel("transpose_padded", "transpose", "Through a padded tile", operation="transpose"),
    Kernel("transpose_vectorized", "transpose", "16 bytes at a time, through a swizzled tile",
           block_sizes=(64, 128, 256), refuses=_SQUARES, operation="transpose"),
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return one launch with a block for each tile; the choice has passed engine.plan's checks."""
    n, size = choice.n, dtype_of(choice.dtype).itemsize
    side = PIECES * 16 // size if kernel.name == "transpose_vectorized" else TILE
    tiles = ceil(n / side)
    one = launch_of(kernel, choice, ("in", "out", elements(choice)), ceil(n * n * size / kernel.bytes_per_thread))
    if kernel.name != "transpose_copy":
        one = replace(one, grid=(tiles, tiles, 1))
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n * n, "input"), Buffer("out", choice.dtype, n * n, "poison")),
        (one,),
        result_count=n * n,
        moved=2 * n * n,
        grid_size=one.grid[0] * one.grid[1],
    )


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n * n)}."""
    return {"in": (data.period(choice.dtype, SEED), choice.n**2)}


def check(plan: Plan, output: Array) -> Check:
    """Check that every number is in its place, exactly."""
    n, copied = plan.choice.n, plan.choice.kernel == "transpose_copy"
    period, found = data.period(plan.choice.dtype, SEED), output.reshape(n, n)
    if all(_strip_is_right(found if copied else found.T, period, row) for row in range(0, n, STRIP)):
        output = output[: checks.FIRST]  # the first ones show as much as all
    places = np.arange(len(output))
    read = places if copied else places % n * n + places // n
    return checks.equal(output, period[read % len(period)], "Checked: every number, exactly.", n)


def _strip_is_right(found: Array, period: Array, row: int) -> bool:
    """Return whether the rows from `row` on agree with the matrix. A strip fits the CPU's caches, but a whole matrix
    read by column does not: strips check a large matrix in a tenth of the time."""
    n = len(found)
    rows = min(STRIP, n - row)
    start = row * n % len(period)
    wanted = np.concatenate((period[start : start + rows * n], period[: max(0, start + rows * n - len(period))]))
    return np.array_equal(found[row : row + rows], wanted.reshape(rows, n))


TOPIC = Topic(
    name="transpose",
    title="Matrix transpose",
    size_label="N (matrix width)",
    square=True,
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(256, 512, 1024, 2048, 4096, 8192),
    default_n=1024,
    default_block_size=256,
    max_n=2**14,
    emulator_max_n=2**11,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note=data.NOTE,
)
