"""The topic "tensor": P = M N for square matrices of bfloat16 on the tensor cores; P and all sums are float.

Every kernel has the signature NAME(M, N, float *P, int width), where M and N are pointers to 16-bit numbers or, for
Hopper's copy engine, maps of the matrices. A block's part of P and its number of threads are fixed; only the small
pieces depend on the width.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.catalogue import data, products
from engine.catalogue.entries import Kernel, Ladder, Rung, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import given_source
from engine.catalogue.products import FETCHING, RING_DEPTH, STAGES, WIDE, check_width, shared_bytes
from engine.records import Array, Buffer, Check, Choice, Launch, Plan, Scalar, Settled, TensorMap

_TENSOR = Ladder(
    name="tensor-cores",
    title="After CS121: matrix multiplication on tensor cores",
    lecture="The lecture's tiles and copies, for units that multiply whole matrices; no lecture here has them",
    summary="A tensor core multiplies matrices of 16-bit numbers and adds in float. It is so fast that nearly every "
    "rung is about one question: how the operands arrive in time.",
    n=4096,
    block_size=256,
    dtype="bfloat16",
    emulator_n=256,
    rungs=(
        Rung("tensor_wmma", "WMMA",
             "A warp multiplies 16 x 16 matrices with one instruction of PTX; the operands come from global memory."),
        Rung("tensor_mma", "mma, ldmatrix",
             "Every operand came from global memory; now a block shares tiles, copied asynchronously, and a warp reads "
             "them matrix by matrix.", promise="faster", shows="global_load_sectors"),
        Rung("tensor_wgmma", "wgmma, TMA",
             "Warps copied, read and issued each small product; now one thread requests whole tiles, and four warps "
             "together issue products of 64 x 256, straight from shared memory.", promise="faster",
             shows="warp_instructions"),
        Rung("tensor_specialized", "specialized",
             "The whole block met at a barrier in every phase; now one warp only fetches, and two groups of four warps "
             "only multiply. At this width little time was lost at the barrier.", promise="same",
             shows="barriers"),
        Rung("tensor_persistent", "persistent",
             "Every piece of P began with an empty pipeline; now a block stays, and the next piece is fetched while "
             "the sums of this one are stored.", shows="=barriers"),
        Rung("tensor_whole_lines", "whole lines",
             "While a warp stored its sums, 32 bytes of a row at a time, it did not multiply; now it regroups them in "
             "shared memory and stores whole lines.", shows="global_store_requests"),
        Rung("tensor_small_pieces", "small pieces",
             "At widths up to 1,024 most multiprocessors had no piece; there a piece is now a quarter as large, and "
             "shared memory holds up to twelve stages. Above that width the rung before reads fewer operands for each "
             "product, and is faster.", promise="slower", shows="+warp_instructions"),
    ),
    today=(
        "No lecture here has tensor cores. All rungs make the same products with the same unit; what changes is how "
        "the operands reach it, how the sums leave, and the size of the pieces.",
        "That gains {times tensor_wmma tensor_mma}, {times tensor_mma tensor_wgmma}, "
        "{times tensor_wgmma tensor_specialized}, {times tensor_specialized tensor_persistent} and "
        "{times tensor_persistent tensor_whole_lines}: whole lines reach {gflops tensor_whole_lines}, "
        "{peak tensor_whole_lines} of what the tensor cores could do at the highest clock. The GPU does not keep that "
        "clock: at this rate it lowers it to stay within its power.",
        "Whole lines gain at width 2,048: {time tensor_persistent n=2048} become {time tensor_whole_lines n=2048}. At "
        "8,192 the runs of one rung differ by more than the two rungs do, because the GPU changes its clock.",
    ),
)  # fmt: skip

LADDERS = (_TENSOR,)


SEEDS = {"M": 512, "N": 1024}
PIECES = {"tensor_wmma": (64, 32), "tensor_mma": (128, 128)}  # without maps: rows and columns of P for each block
_FETCHERS = dict.fromkeys(("tensor_specialized", "tensor_persistent", "tensor_whole_lines"), FETCHING) | {
    "tensor_small_pieces": 32
}  # threads
_TURNING = {"tensor_whole_lines": 64, "tensor_small_pieces": 64}  # bytes for each thread that multiplies: 16 sums
_RING = 1536  # rows and columns of all stages of the small pieces: 192 KB

_ONLY_BFLOAT16 = dict.fromkeys(
    ("int32", "float32", "float64"), "These tensor cores multiply 16-bit numbers; choose bfloat16."
)
_FIXED = dict.fromkeys(
    map(str, (8, 16, 32, 64, 128, 512, 1024)),
    "The piece of P that a warp computes is fixed, and so are the warps; choose 256.",
)


def _kernel(name: str, title: str, capability: str, blocks: tuple[int, ...] = (256,)) -> Kernel:
    why = {size: text for size, text in _FIXED.items() if int(size) not in blocks}
    return Kernel(name, "tensor", title, dtypes=("bfloat16",), block_sizes=blocks, capability=capability,
                  refuses=_ONLY_BFLOAT16 | why)  # fmt: skip


KERNELS = (
    _kernel("tensor_wmma", "A warp multiplies matrices, from global memory", "80"),
    _kernel("tensor_mma", "Tiles in shared memory, read matrix by matrix", "80"),
    _kernel("tensor_wgmma", "Four warps multiply, the hardware copies", "90a"),
    _kernel("tensor_specialized", "One warp fetches, two groups multiply", "90a"),
    _kernel("tensor_persistent", "A block stays, piece after piece", "90a"),
    _kernel("tensor_whole_lines", "Sums leave by whole lines", "90a"),
    _kernel("tensor_small_pieces", "Small pieces, all the memory for stages", "90a", blocks=(128, 256)),
)


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return one launch of enough blocks to cover P. NotRunnable: a width that the pieces do not divide."""
    n = choice.n
    check_width(n, f"these kernels' pieces of P are up to {WIDE[0]} x {WIDE[1]}")
    rows, columns = PIECES.get(kernel.name, WIDE)
    mapped = kernel.name not in PIECES
    small = kernel.name == "tensor_small_pieces"
    if small:
        rows = choice.block_size // 2
        columns = 64 if n // rows * (n // 64) <= gpu.multiprocessors else 128
    down, across = (16, 16) if kernel.name == "tensor_wmma" else (rows, columns)  # wmma: each warp reads its own
    blocks = n // rows * (n // columns)
    if kernel.name in ("tensor_persistent", "tensor_whole_lines"):
        blocks = min(gpu.multiprocessors, blocks)
    grid = (n // columns, n // rows, 1) if kernel.name == "tensor_wmma" else (blocks, 1, 1)
    stages = _RING // (rows + columns) if small else STAGES
    macros = (("BLOCK_SIZE", choice.block_size), ("COLUMNS", columns)) if small else ()
    maps = (TensorMap("M", n, rows, RING_DEPTH), TensorMap("N", n, RING_DEPTH, RING_DEPTH))
    turning = _TURNING.get(kernel.name, 0) * choice.block_size
    launch = Launch(
        kernel=kernel.name,
        source=given_source(kernel, choice, *macros),
        grid=grid,
        block=(choice.block_size + _FETCHERS.get(kernel.name, 0), 1, 1),
        args=(*(maps if mapped else ("M", "N")), "P", Scalar("int32", n)),
        shared_bytes=shared_bytes(rows, columns, stages) + turning if mapped else 0,
    )
    return Plan(
        choice=choice,
        buffers=(
            Buffer("M", choice.dtype, n * n, "input"),
            Buffer("N", choice.dtype, n * n, "input"),
            Buffer("P", "float32", n * n, "poison"),
        ),
        steps=(launch,),
        result="P",
        result_count=n * n,
        bytes_moved=2 * n * n * (n // down + n // across),
        flops=2 * n**3,
        additions=n,
        grid_size=grid[0] * grid[1],
    )


@lru_cache(maxsize=2)
def _bits(seed: int) -> Array:
    """Return the float32 data rounded to bfloat16, to nearest, ties to even: its upper 16 bits."""
    bits = data.period("float32", seed).view(np.uint32)
    return np.asarray((bits + 0x7FFF + (bits >> 16 & 1)) >> 16, np.uint16)


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"M": (period of bits, n^2), "N": (period of bits, n^2)}."""
    return {name: (_bits(seed), choice.n**2) for name, seed in SEEDS.items()}


@lru_cache(maxsize=4)
def _reference(n: int) -> products.Reference:
    left, right = ((_bits(seed).astype(np.uint32) << 16).view(np.float32) for seed in SEEDS.values())
    return products.reference(left, right, n)


def check(plan: Plan, output: Array) -> Check:
    """Check the product against float64, as for float32: products of bfloat16 are exact, and the sums are float."""
    return products.check(plan, output, _reference(plan.choice.n), data.unit_roundoff("float32"))


TOPIC = Topic(
    name="tensor",
    title="Tensor cores",
    size_label="N (matrix width)",
    square=True,
    block_label="Block size (threads that multiply)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(256, 512, 1024, 2048, 4096, 8192),
    default_n=4096,
    default_block_size=256,
    max_n=8192,
    emulator_max_n=512,
    metric="gflop_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note="Random floats between -1 and 1, never zero, rounded to bfloat16.",
    operation="bfloat16 product",
)
