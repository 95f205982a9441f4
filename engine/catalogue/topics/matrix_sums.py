"""The topic "matrix_sums": the sums of all rows or all columns of an n x n matrix. Its kernels, plan and check.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n): in has n * n numbers, row by row, out n sums.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log2

import numpy as np

from engine.catalogue import checks, data
from engine.catalogue.entries import Kernel, Topic
from engine.catalogue.ladders.matrix_sums import LADDERS
from engine.catalogue.plans import elements, launch_of, plan_with
from engine.records import Array, Buffer, Check, Choice, Plan, Settled

SEED = 2020
_TILES = (32, 64, 128)
_TOO_LARGE = dict.fromkeys(
    ("256", "512", "1024"),
    "The tile has 32 numbers per thread, which must fit in 48 KB of shared memory for every element type; "
    "choose 32, 64 or 128.",
)

KERNELS = (
    Kernel("column_sums", "matrix_sums", "Column sums, one thread per column", shows="sectors_per_request"),
    Kernel("row_sums", "matrix_sums", "Row sums, one thread per row", shows="+sectors_per_request"),
    Kernel("row_sums_staged", "matrix_sums", "Row sums, columns read from shared memory", block_sizes=_TILES,
           refuses=_TOO_LARGE, shows="sectors_per_request"),
    Kernel("row_sums_padded", "matrix_sums", "Row sums, columns read from padded shared memory", block_sizes=_TILES,
           refuses=_TOO_LARGE, shows="bank_conflicts"),
    Kernel("row_sums_block", "matrix_sums", "Row sums, one block per row", shows="+barriers"),
    Kernel("row_sums_shuffle", "matrix_sums", "Row sums, one block per row, shuffles", shows="barriers"),
)  # fmt: skip
BLOCK_PER_ROW = ("row_sums_block", "row_sums_shuffle")


def plan(kernel: Kernel, choice: Settled) -> Plan:
    """One launch with a thread, or with a block, per sum; the choice has passed engine.plan's checks."""
    n = choice.n
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


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n * n)}."""
    return {"in": (data.period(choice.dtype, SEED), choice.n**2)}


@lru_cache(maxsize=8)
def _reference(dtype: str, n: int, axis: int) -> tuple[Array, Array]:
    """The exact sums along `axis` of the matrix, and the sums of the squares, both of shape (n,)."""
    matrix = data.repeated(data.period(dtype, SEED), n * n).reshape(n, n)
    exact = matrix.sum(axis=axis, dtype=np.int64 if dtype == "int32" else np.float64)
    return exact, np.einsum("ij,ij->i" if axis == 1 else "ij,ij->j", matrix, matrix, dtype=np.float64)


def check(plan: Plan, output: Array) -> Check:
    """Every sum against the exact one."""
    choice = plan.choice
    exact, squares = _reference(choice.dtype, choice.n, 0 if choice.kernel == "column_sums" else 1)
    return checks.sums(output, data.period(choice.dtype, SEED), squares, exact, plan.additions, "Checked: every sum.")


TOPIC = Topic(
    name="matrix_sums",
    title="Row and column sums",
    size_label="N (matrix width)",
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
    peers=(),
    data_note="Random numbers, never zero: int32 from -99 to 99, floats between -1 and 1.",
)
