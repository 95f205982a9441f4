"""A product of float matrices on the tensor cores: each number as three parts, each product as up to nine of theirs."""

from __future__ import annotations

from math import sqrt

from engine.catalogue.entries import Kernel, Parameter, Tile
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import given_source, knob
from engine.catalogue.topics.hopper import DEPTH, FETCHING, WIDE, check_width, shared_bytes
from engine.records import Buffer, Choice, Launch, Plan, Scalar, Settled, TensorMap

PARTS = 3
SPLITTING = 256  # threads of a block that splits; each takes two numbers
# What is missing of a product of numbers, in relation to it, where so many products of their parts are added. A part
# is at most 2^-9 of the one before.
MISSING = {1: 2.0**-8, 3: 2.0**-16, 6: 2.0**-26, 9: 0.0}

_ONLY_FLOAT = dict.fromkeys(("int32", "float64"), "What it splits is a float of 24 bits; choose float32.")
_FIXED = dict.fromkeys(
    ("8", "32"), "What a group of warps multiplies is fixed, and so are its 256 threads, 16 x 16; choose 16."
)

KERNEL = Kernel(
    "matmul_split", "matmul", "Tensor cores multiply three parts of each number", dtypes=("float32",),
    block_sizes=(16,), tile=Tile(WIDE[0] // 16, WIDE[1] // 16), refuses=_ONLY_FLOAT | _FIXED, capability="90a",
    emulated=False, off_type=True, parameter=Parameter("PRODUCTS", "Products of parts", tuple(MISSING), 6),
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Both matrices split, and a launch of a block for each multiprocessor. NotRunnable: a width that the pieces of P
    do not divide."""
    n = choice.n
    rows, columns = WIDE
    check_width(n, f"this kernel's pieces of P are {rows} x {columns}")
    source = given_source(kernel, choice, ("PRODUCTS", knob(kernel, choice)))
    blocks = min(gpu.multiprocessors, n // rows * (n // columns))
    splits = tuple(
        Launch("split", source, (n * n // 2 // SPLITTING, 1, 1), (SPLITTING, 1, 1), (name, f"parts_{name}"))
        for name in ("M", "N")
    )
    maps = (TensorMap("parts_M", n, rows, DEPTH, PARTS), TensorMap("parts_N", n, DEPTH, DEPTH, PARTS))
    multiply = Launch(
        kernel=kernel.name,
        source=source,
        grid=(blocks, 1, 1),
        block=(choice.block_size**2 + FETCHING, 1, 1),
        args=(*maps, "P", Scalar("int32", n)),
        shared_bytes=shared_bytes(rows, columns),
    )
    return Plan(
        choice=choice,
        buffers=(
            *(Buffer(name, choice.dtype, n * n, "input") for name in ("M", "N")),
            *(Buffer(f"parts_{name}", "bfloat16", PARTS * n * n, "poison") for name in ("M", "N")),
            Buffer("P", choice.dtype, n * n, "poison"),
        ),
        steps=(*splits, multiply),
        result="P",
        result_count=n * n,
        # Splitting reads 4 bytes and writes 6 for each number of both matrices.
        bytes_moved=2 * n * n * (4 + 2 * PARTS) + 2 * knob(kernel, choice) * n * n * (n // rows + n // columns),
        flops=2 * n**3,
        additions=n,
        grid_size=blocks,
    )


def missing(kernel: Kernel, choice: Choice) -> float:
    """What the products that are left out add to each rounding of the sum, as a unit roundoff."""
    return MISSING[knob(kernel, choice)] / sqrt(choice.n)
