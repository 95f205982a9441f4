"""The topic "matmul": P = M N for square float32 matrices, row by row. Its kernels, plans, inputs and check.

Every kernel has the signature NAME(const float *M, const float *N, float *P, int width); the block is a square of
TILE_WIDTH x TILE_WIDTH threads. What a thread of it computes, and so the grid, is the catalogue entry's `tile`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil, gcd

from engine.catalogue import data
from engine.catalogue.entries import Kernel, Tile, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.ladders.matmul import LADDERS
from engine.catalogue.plans import given_source
from engine.catalogue.topics import matmul_split, products
from engine.records import Array, Buffer, Check, Choice, Launch, Plan, Scalar, Settled, Zero

SEEDS = {"M": 512, "N": 1024}

_ONLY_FLOAT = {
    "int32": "The lecture multiplies float matrices; choose float32.",
    "float64": "The lecture multiplies float matrices; choose float32.",
}


def _kernel(
    name: str, title: str, tile: Tile, block_sizes: tuple[int, ...] = (8, 16, 32), shows: str = "", capability: str = ""
) -> Kernel:
    why = _TOO_MANY_SUMS.format(rows=tile.rows, columns=tile.columns)
    refuses = _ONLY_FLOAT | ({} if 32 in block_sizes else {"32": why})
    return Kernel(name, "matmul", title, dtypes=("float32",), block_sizes=block_sizes, tile=tile, shows=shows,
                  refuses=refuses, capability=capability)  # fmt: skip


_TOO_MANY_SUMS = (
    "1,024 threads share the 65,536 registers of a multiprocessor, 64 each, and {rows} x {columns} sums alone fill "
    "them; choose 8 or 16."
)
_SLICES = dict.fromkeys(
    ("8", "32"),
    "Its four slices are two warps each, with 12 KB of shared memory: that makes 16 x 16 threads and 48 KB; choose 16.",
)
_WARPS = dict.fromkeys(
    ("8", "32"),
    "Its eight slices are a warp each, and its piece is two tiles wide: that makes 16 x 16 threads; choose 16.",
)
SLICES = 4  # of the sums' length, on a multiprocessor
BESIDE_COLUMNS = 0.5  # of a piece: the time of its copies of M, in columns of a thread
DEPTH = 8  # of k: what the kernels that cut the sums take in a phase
_COPIES = "80"  # the first compute capability with asynchronous copies

KERNELS = (
    _kernel("matmul_uncoalesced", "One thread per element, uncoalesced", Tile(shared=False)),
    _kernel("matmul_naive", "One thread per element, coalesced", Tile(shared=False), shows="sectors_per_request"),
    _kernel("matmul_tiled", "Tiles in shared memory", Tile(), shows="global_load_sectors"),
    _kernel("matmul_register_1d", "Eight sums per thread", Tile(8, 1), shows="wavefronts"),
    _kernel("matmul_register_2d", "Eight by eight sums per thread", Tile(8, 8), (8, 16), shows="wavefronts"),
    _kernel(
        "matmul_vectorized", "Four words per access, M transposed", Tile(8, 8), (8, 16), shows="shared_load_requests"
    ),
    _kernel("matmul_warp_tile", "A compact piece of P for each warp", Tile(8, 8), (8, 16), shows="wavefronts"),
    _kernel("matmul_async_copy", "Asynchronous copies, four phases deep", Tile(8, 8), (8, 16), shows="barriers",
            capability=_COPIES),
    _kernel("matmul_wide_tile", "8 x 16 sums per thread, no test inside", Tile(8, 16), (8, 16),
            shows="branches", capability=_COPIES),
    _kernel("matmul_free_registers", "Sums in registers that do not collide", Tile(8, 16), (8, 16),
            shows="+global_store_requests", capability=_COPIES),
    _kernel("matmul_prefetch", "The next words are read while these are multiplied", Tile(8, 16), (8, 16),
            shows="=global_load_sectors", capability=_COPIES),
    # A block of 16 x 16 threads computes 64 x 128: a quarter of its threads would be enough, and each slice is that.
    Kernel("matmul_sliced_k", "matmul", "Four slices of a block share the sums' length", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(4, 8), refuses=_ONLY_FLOAT | _SLICES,
           shows="+global_load_sectors", capability=_COPIES),
    Kernel("matmul_stream_k", "matmul", "All blocks share all products evenly", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(4, 8, cut=True), refuses=_ONLY_FLOAT | _SLICES, shows="+atomics",
           capability=_COPIES, varies="floats"),
    Kernel("matmul_warp_slices", "matmul", "Each warp of a block is a slice of the sums' length", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(2, 2), refuses=_ONLY_FLOAT | _WARPS,
           shows="+global_load_sectors", capability=_COPIES),
    Kernel("matmul_fitted_pieces", "matmul", "Pieces as wide as the multiprocessors ask for", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(4, 4, fits=(4, 5, 6, 7)), refuses=_ONLY_FLOAT | _SLICES,
           shows="global_load_sectors", capability=_COPIES),
    matmul_split.KERNEL,
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """One launch of enough tiles to cover P, or of a block for each multiprocessor; the choice has passed engine.plan's
    checks."""
    if kernel is matmul_split.KERNEL:
        return matmul_split.plan(kernel, choice, gpu)
    n, width = choice.n, choice.block_size
    tile = tile_of(kernel, n, width, gpu)
    fitted = _fitted(tile, n, width, gpu)
    rows, columns = tile.rows * width, tile.columns * width
    grid = (ceil(n / columns), ceil(n / rows), 1)
    if tile.cut:
        grid = (min(gpu.multiprocessors, grid[0] * grid[1] * ceil(n / DEPTH)), 1, 1)
    launch = Launch(
        kernel=kernel.name,
        source=given_source(kernel, choice, ("TILE_WIDTH", width), *fitted.items()),
        grid=grid,
        block=(width, width * fitted.get("SLICES", SLICES) // SLICES, 1),
        args=("M", "N", "P", Scalar("int32", n)),
    )
    return Plan(
        choice=choice,
        buffers=(
            Buffer("M", choice.dtype, n * n, "input"),
            Buffer("N", choice.dtype, n * n, "input"),
            Buffer("P", choice.dtype, n * n, "poison"),
        ),
        steps=(Zero("P"), launch) if tile.cut else (launch,),
        result="P",
        result_count=n * n,
        bytes_moved=4 * reads(kernel, n, width, gpu),
        flops=2 * n**3,
        additions=n,
        grid_size=grid[0] * grid[1],
    )


def _rounds(tile: Tile, n: int, tile_width: int, gpu: GpuModel) -> int:
    """How many blocks that multiprocessor has to do, one after the other, that has most of them."""
    blocks = ceil(n / (tile.rows * tile_width)) * ceil(n / (tile.columns * tile_width))
    return ceil(blocks / max(gpu.multiprocessors, 1))


def tile_of(kernel: Kernel, n: int, tile_width: int, gpu: GpuModel = GPU) -> Tile:
    """What a thread of a block of tile_width^2 computes, of a product of this width, on that GPU."""
    tile = kernel.tile or Tile()
    choice = [replace(tile, columns=columns) for columns in tile.fits]
    return min(choice, key=lambda one: _rounds(one, n, tile_width, gpu) * (one.columns + BESIDE_COLUMNS), default=tile)


def _fitted(tile: Tile, n: int, tile_width: int, gpu: GpuModel) -> dict[str, int]:
    """The macros of a kernel whose pieces are fitted, none of another: the columns of a thread of one of its slices,
    the words of N that lie together in every row, and the slices. Where each multiprocessor has two blocks or four, it
    does two at once, of half as many slices. No slice is without a phase: the zeros that it copies would be waited for
    by nobody."""
    most = SLICES // 2 if _rounds(tile, n, tile_width, gpu) % 2 == 0 else SLICES
    slices = min(most, 1 << ceil(n / DEPTH).bit_length() - 1)
    return {"COLUMNS": 2 * tile.columns, "WORDS": gcd(n, 4), "SLICES": slices} if tile.fits else {}


def block_shape(kernel: Kernel, n: int, tile_width: int, gpu: GpuModel = GPU) -> tuple[int, int]:
    """The rows and columns of P that one block of tile_width^2 threads computes."""
    tile = tile_of(kernel, n, tile_width, gpu)
    return tile.rows * tile_width, tile.columns * tile_width


def reads(kernel: Kernel, n: int, tile_width: int, gpu: GpuModel = GPU) -> int:
    """The lecture's count of reads from global memory: 2n^3, or 2n^3/m with tiles of width m (ragged: rounded up).

    A block that computes r x c elements reads an element of N once for its r rows and one of M once for its c columns.
    """
    tile = kernel.tile or Tile()
    rows, columns = block_shape(kernel, n, tile_width, gpu) if tile.shared else (tile.rows, tile.columns)
    return n * n * (ceil(n / rows) + ceil(n / columns))


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"M": (period, n^2), "N": (period, n^2)}."""
    return {name: (data.period(choice.dtype, seed), choice.n**2) for name, seed in SEEDS.items()}


@lru_cache(maxsize=4)
def _reference(dtype: str, n: int) -> products.Reference:
    left, right = (data.period(dtype, seed) for seed in SEEDS.values())
    return products.reference(left, right, n)


def check(plan: Plan, output: Array) -> Check:
    """The product against float64, element by element; result and expected are the element that misses by most."""
    choice = plan.choice
    roundoff = data.unit_roundoff(choice.dtype)
    if choice.kernel == matmul_split.KERNEL.name:
        roundoff += matmul_split.missing(matmul_split.KERNEL, choice)
    return products.check(plan, output, _reference(choice.dtype, choice.n), roundoff)


TOPIC = Topic(
    name="matmul",
    title="Matrix multiply",
    size_label="N (matrix width)",
    block_label="Tile width (threads per side)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(256, 512, 1024, 2048, 4096, 8192),
    default_n=1024,
    default_block_size=16,
    max_n=8192,
    emulator_max_n=1024,
    metric="gflop_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note="Random floats between -1 and 1, never zero.",
    operation="matrix product",
)
