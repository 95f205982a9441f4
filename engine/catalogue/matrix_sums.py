"""The topic "matrix_sums": the sums of all rows or all columns of an n x n matrix. Its kernels, plan and check.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n): in has n * n numbers, row by row, out n sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil, log2

import numpy as np

from engine.catalogue import checks, data
from engine.catalogue.entries import Kernel, Ladder, Rung, Topic
from engine.catalogue.gpu_models import GPU, WARP, GpuModel
from engine.catalogue.plans import PIECE_LANES, elements, filling_lanes, launch_of, plan_with
from engine.catalogue.published import CROVELLA, CS121, HW5
from engine.records import Array, Buffer, Check, Choice, Plan, Settled, Zero, dtype_of

_ONE_MATRIX = Ladder(
    name="cs121-one-matrix",
    title="CS121: coalescing in one large matrix, with too few threads",
    lecture=CS121,
    summary="Again by row and by column, but through one matrix of N x N numbers. The requests show the law, as in the "
    "lecture's own example; the times do not, because N threads are too few to keep the memory busy.",
    n=1024,
    block_size=128,
    dtype="int32",
    picture="counters",
    counter="sectors_per_load",
    today=(
        "The requests are as the lecture says, the times are not: by column takes {time row_sums}, by row "
        "{time column_sums}.",
        "With one thread per row or column there are only {blocks row_sums} blocks, and every thread waits for its "
        "own next numbers; the memory has little to do (by row {rate column_sums}, {peak column_sums} of its peak).",
        "A walk by column uses the rest of each sector later: it holds the next seven numbers of the row, and stays in "
        "the cache.",
        "The way through shared memory costs barriers: it takes {time row_sums_staged}, and {time row_sums_padded} "
        "without bank conflicts. More threads help: one block per row takes {time row_sums_block}.",
    ),
    rungs=(
        Rung("column_sums", "by row", "One thread per column: in every step a warp reads 32 neighbours of one row.",
             "Coalescing example", shows="sectors_per_load"),
        Rung("row_sums", "by column", "One thread per row: now the 32 numbers of a step lie a whole row apart. It is "
             "faster all the same, because a thread uses the rest of each sector in its next steps.",
             "Coalescing example", promise="faster", shows="+sectors_per_load"),
        Rung("row_sums_staged", "staged", "Every request touched 32 sectors; now rows are read coalesced into shared "
             "memory, and the columns from there. With so few threads the barriers cost more than that gains.",
             "Improving coalescing", promise="slower", shows="sectors_per_load"),
        Rung("row_sums_padded", "padded", "All lanes read from one bank of shared memory; one unused column spreads "
             "them over all banks.", "Bank conflicts", promise="faster", counter="bank_conflicts",
             shows="bank_conflicts"),
    ),
)  # fmt: skip

_HOMEWORK = Ladder(
    name="crovella-matrix-sums",
    title="Crovella's homework: row and column sums",
    lecture=CROVELLA,
    summary=f"{HW5}, which takes up the row and column sums of hw4. The same matrix and the same number of additions; "
    "only the order of the reads and the number of threads differ.",
    n=4096,
    emulator_n=1024,
    block_size=256,
    dtype="float32",
    counter="sectors_per_load",
    today=(
        "The lecture prints no times of these kernels. Coalesced reads help less than they should (a thread per column "
        "{time column_sums}, a thread per row {time row_sums}): {blocks row_sums} blocks keep neither the GPU nor its "
        "memory busy.",
        "A block per row keeps them busy: {time row_sums_block}, {times row_sums row_sums_block} as fast. With more "
        "bytes in flight rows take {time row_sums_vectorized} and columns {time column_sums_strips}; columns "
        "that belong to one block need no atomics: {time column_sums_narrow}.",
    ),
    rungs=(
        Rung("row_sums", "thread per row", "One thread per output, the thread strategy of a transformation.",
             "Homework", shows="+sectors_per_load"),
        Rung("column_sums", "thread per column", "Neighbouring threads read a row apart; if they sum columns, they "
             "read neighbours.", "Homework", promise="faster", shows="sectors_per_load",
             fixes="uncoalesced reads: the 32 threads of a warp read numbers that lie a whole row apart."),
        Rung("row_sums_block", "block per row", "There were only N threads; with a block per row there are enough, and "
             "rows are read coalesced as well.", "Homework", promise="faster", shows="+barriers",
             fixes="too few threads: n for n * n numbers."),
        Rung("row_sums_shuffle", "shuffles", "The tree went through shared memory with a barrier per step; now the "
             "lanes hand over registers.", "Homework", promise="faster", shows="barriers"),
        Rung("row_sums_vectorized", "vectors", "After the lecture: each thread had one word in flight; now it requests "
             "four times 16 bytes before it uses the first.", promise="faster", shows="global_load_requests"),
        Rung("column_sums_strips", "strips", "After the lecture, columns once more, nearly as fast as rows: N threads "
             "were too few; now blocks walk down strips of the rows, and atomics join the strips.", promise="slower",
             shows="+atomics",
             fixes="nothing; it returns to the columns, for which n threads with a few words in flight were too few."),
        Rung("column_sums_narrow", "narrow", "Strips needed zeroed sums and atomics; reading a few whole sectors of a "
             "row is enough, so a block can own whole columns.",
             promise="same", shows="atomics"),
    ),
)  # fmt: skip

LADDERS = (
    _ONE_MATRIX,
    _HOMEWORK,
)


SEED = 2020
_TILES = (32, 64, 128)
_TOO_LARGE = dict.fromkeys(
    ("256", "512", "1024"),
    "The tile has 32 numbers per thread, which must fit in 48 KB of shared memory for every element type; "
    "choose 32, 64 or 128.",
)


def _kernel(name: str, title: str, block_sizes: tuple[int, ...] = (32, 64, 128, 256, 512, 1024),
            combines: tuple[str, ...] = ("none",), law: str = "") -> Kernel:  # fmt: skip
    refuses = _TOO_LARGE if block_sizes == _TILES else {}
    operation = "column sums" if name.startswith("column_sums") else "row sums"
    return Kernel(name, "matrix_sums", title, block_sizes=block_sizes, combines=combines, refuses=refuses,
                  operation=operation, law=law)  # fmt: skip


KERNELS = (
    _kernel("column_sums", "Column sums, one thread per column", law="neighbours"),
    _kernel("row_sums", "Row sums, one thread per row", law="a row a lane"),
    _kernel("row_sums_staged", "Row sums, columns read from shared memory", _TILES, law="staged"),
    _kernel("row_sums_padded", "Row sums, columns read from padded shared memory", _TILES, law="padded"),
    _kernel("row_sums_block", "Row sums, one block per row", law="neighbours"),
    _kernel("row_sums_shuffle", "Row sums, one block per row, shuffles", law="neighbours"),
    _kernel("row_sums_vectorized", "Row sums, vector loads, four in flight"),
    _kernel("column_sums_strips", "Column sums, strips of rows, four columns per thread", combines=("atomic",)),
    _kernel("column_sums_narrow", "Column sums, one block for a few columns"),
)  # fmt: skip
BLOCK_PER_ROW = ("row_sums_block", "row_sums_shuffle", "row_sums_vectorized")
STRIP_COLUMNS = 128  # columns of a warp of column_sums_strips: four per lane
STRIP_ROWS = 8  # rows that a warp of it has in flight
STRIP_THREADS = 4 * 256  # its blocks on each multiprocessor; more blocks only mean more atomics (measured)


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return one launch with a thread or a block per sum; the choice has passed engine.plan's checks."""
    n = choice.n
    if kernel.name == "column_sums_strips":
        return _strips(kernel, choice, gpu)
    if kernel.name == "column_sums_narrow":
        return _narrow(kernel, choice, gpu)
    together = choice.block_size if kernel.name in BLOCK_PER_ROW else 1
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n * n, "input"), Buffer("out", choice.dtype, n, "poison")),
        (launch_of(kernel, choice, ("in", "out", elements(choice)), n * together),),
        result_count=n,
        moved=n * n,
        flops=n * (n - 1),
        additions=ceil(n / together) + ceil(log2(together)) + 1,
    )


def _strips(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """Return one launch of blocks that walk down strips of the columns and add their sums to out, which starts as
    zeros."""
    n, warps = choice.n, choice.block_size // WARP
    across = ceil(n / STRIP_COLUMNS)
    filling = gpu.multiprocessors * STRIP_THREADS // choice.block_size // across
    strips = max(1, min(filling, n // (warps * STRIP_ROWS)))
    one = launch_of(kernel, choice, ("in", "out", elements(choice)), choice.block_size)
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n * n, "input"), Buffer("out", choice.dtype, n, "zero")),
        (Zero("out"), replace(one, grid=(across, strips, 1))),
        result_count=n,
        moved=n * n,
        flops=n * (n - 1),
        additions=ceil(ceil(n / strips) / warps) + warps + strips,
        grid_size=across * strips,
    )


def _narrow(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """Return one launch; a block has a few columns to itself."""
    n, threads = choice.n, choice.block_size
    each = 16 // dtype_of(choice.dtype).itemsize
    lanes = next(filling_lanes(n, n // each, threads, gpu), PIECE_LANES[-1])
    pieces = ceil(n / (lanes * each))
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n * n, "input"), Buffer("out", choice.dtype, n, "poison")),
        (launch_of(kernel, choice, ("in", "out", elements(choice)), pieces * threads, macros={"LANES": lanes}),),
        result_count=n,
        moved=n * n,
        flops=n * (n - 1),
        additions=ceil(n * lanes / threads) + ceil(log2(WARP // lanes)) + threads // WARP,
    )


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n * n)}."""
    return {"in": (data.for_sums(choice, SEED), choice.n**2)}


@lru_cache(maxsize=8)
def _reference(dtype: str, n: int, axis: int, wide: bool) -> tuple[Array, Array]:
    """Return the exact sums along `axis` of the matrix, and the sums of the squares, both of shape (n,)."""
    matrix = data.repeated(data.period(dtype, SEED), n * n).reshape(n, n)
    exact = matrix.sum(axis=axis, dtype=np.int64 if dtype == "int32" else np.float64) * (data.WIDENING if wide else 1)
    return exact, np.einsum("ij,ij->i" if axis == 1 else "ij,ij->j", matrix, matrix, dtype=np.float64)


def check(plan: Plan, output: Array) -> Check:
    """Check every sum against the exact one."""
    choice = plan.choice
    axis = 0 if choice.kernel.startswith("column_sums") else 1
    exact, squares = _reference(choice.dtype, choice.n, axis, data.is_wide(choice))
    return checks.sums(output, data.period(choice.dtype, SEED), squares, exact, plan.additions, "Checked: every sum.")


TOPIC = Topic(
    name="matrix_sums",
    title="Row and column sums",
    size_label="N (matrix width)",
    square=True,
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(256, 512, 1024, 2048, 4096, 8192),
    default_n=1024,
    default_block_size=128,
    max_n=2**14,
    emulator_max_n=2**11,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note=data.SUMS_NOTE,
)
