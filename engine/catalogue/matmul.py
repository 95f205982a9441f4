"""The topic "matmul": P = M N for square float32 matrices, row by row. Its kernels, plans, inputs and check.

Every kernel has the signature NAME(const float *M, const float *N, float *P, int width); the block is a square of
TILE_WIDTH x TILE_WIDTH threads. The catalogue entry's `tile` says what a thread computes, and thus the grid.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil, gcd, sqrt

from engine.catalogue import data, products
from engine.catalogue.entries import BlockNeed, Kernel, Ladder, Parameter, Rung, Tile, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import given_source, value_of_parameter
from engine.catalogue.products import FETCHING, RING_DEPTH, WIDE, check_width, shared_bytes
from engine.catalogue.published import CS121
from engine.records import Array, Buffer, Check, Choice, Launch, Plan, Scalar, Settled, TensorMap, Zero

PARTS = 3
SPLITTING = 256  # threads of a block that splits; each takes two numbers
# The missing part of a product of numbers, relative to it, by the number of added products of their parts. A part is at
# most 2^-9 of the one before.
MISSING = {1: 2.0**-8, 3: 2.0**-16, 6: 2.0**-26, 9: 0.0}

_ONLY_FLOAT32 = dict.fromkeys(("int32", "float64"), "This kernel splits floats of 24 bits; choose float32.")
_FIXED = dict.fromkeys(
    ("8", "32"), "The piece that a group of warps multiplies is fixed, and so are its 256 threads, 16 x 16; choose 16."
)

SPLIT = Kernel(
    "matmul_split", "matmul", "Tensor cores multiply three parts of each number", dtypes=("float32",),
    block_sizes=(16,), tile=Tile(WIDE[0] // 16, WIDE[1] // 16), refuses=_ONLY_FLOAT32 | _FIXED, capability="90a",
    emulated=False, off_type=True, parameter=Parameter("PRODUCTS", "Products of parts", tuple(MISSING), 6),
)  # fmt: skip


def _plan_split(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Plan the launches that split both matrices, and one with a block for each multiprocessor. NotRunnable: a width
    that the pieces of P do not divide."""
    n = choice.n
    rows, columns = WIDE
    check_width(n, f"this kernel's pieces of P are {rows} x {columns}")
    source = given_source(kernel, choice, ("PRODUCTS", value_of_parameter(kernel, choice)))
    blocks = min(gpu.multiprocessors, n // rows * (n // columns))
    splits = tuple(
        Launch("split", source, (n * n // 2 // SPLITTING, 1, 1), (SPLITTING, 1, 1), (name, f"parts_{name}"))
        for name in ("M", "N")
    )
    maps = (TensorMap("parts_M", n, rows, RING_DEPTH, PARTS), TensorMap("parts_N", n, RING_DEPTH, RING_DEPTH, PARTS))
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
        bytes_moved=2 * n * n * (4 + 2 * PARTS)
        + 2 * value_of_parameter(kernel, choice) * n * n * (n // rows + n // columns),
        flops=2 * n**3,
        additions=n,
        grid_size=blocks,
    )


def _missing(kernel: Kernel, choice: Choice) -> float:
    """Return what the omitted products add to each rounding of the sum, as a unit roundoff."""
    return MISSING[value_of_parameter(kernel, choice)] / sqrt(choice.n)


_TILING = Ladder(
    name="cs121-tiling",
    title="CS121: tiled matrix multiplication",
    lecture=CS121,
    summary="The same products, three ways to fetch the operands.",
    n=1024,
    block_size=16,
    dtype="float32",
    emulator_n=256,
    counter="sectors",
    today=(
        "Tiles save a factor of 16 in requests, but gain {times matmul_naive matmul_tiled} in time: caches, which the "
        "lecture's count leaves out, serve the naive kernel.",
        "Counted as the lecture does, every operand read from memory, the naive kernel would read "
        "{rate matmul_naive}, more than the memory of the H200 can deliver.",
        "Exchanging the roles of x and y costs more than leaving out the tiles: uncoalesced it takes "
        "{times matmul_uncoalesced matmul_naive} as long.",
        "The lecture warns of 32 x 32 tiles, as a multiprocessor with room for 1,536 threads holds one such block; the "
        "H200 has room for 2,048, which is two. The 16 x 16 tiles take "
        "{times matmul_tiled matmul_tiled@block=32} as long as those of 32 x 32.",
    ),
    rungs=(
        Rung("matmul_uncoalesced", "uncoalesced", "One thread per element of P; x chooses the row.",
             "Coalescing example"),
        Rung("matmul_naive", "naive", "A warp touched up to 32 pieces of memory at once; if x chooses the column, its "
             "accesses coalesce.", "Exploiting data reuse", promise="faster", shows="sectors_per_load"),
        Rung("matmul_tiled", "tiled", "Every element was fetched from global memory by width threads; now a block "
             "fetches a tile once and shares it.", "Tiled matrix multiplication", promise="faster",
             shows="global_load_sectors"),
    ),
)  # fmt: skip

_BEYOND_TILING = Ladder(
    name="beyond-tiling",
    title="After CS121: matrix multiplication beyond tiles",
    lecture="The lecture's idea, reuse, carried on from shared memory to registers, warps and copies",
    summary="The tiled kernel of the lecture reads two words of shared memory for each product, and waits for each "
    "tile. Each rung removes such a cost, on the way to what a library reaches.",
    n=4096,
    emulator_n=256,
    block_size=16,
    dtype="float32",
    counter="wavefronts",
    today=(
        "No lecture measured these rungs. Registers gain {times matmul_tiled matmul_register_2d} over tiles: 64 "
        "products for 16 words of shared memory.",
        "The next three steps bring {times matmul_register_2d matmul_vectorized}, "
        "{times matmul_vectorized matmul_warp_tile} and {times matmul_warp_tile matmul_async_copy}: below 1 "
        "is a loss. Asynchronous copies reach {gflops matmul_async_copy}, {peak matmul_async_copy} of the FP32 peak.",
        "From there the registers decide. A multiply-add whose element of N and whose sum lie in one bank of registers "
        "waits a cycle: with the wide tile two of three multiply-adds wait. Sums in any register bring "
        "{times matmul_wide_tile matmul_free_registers}, words that are read ahead "
        "{times matmul_free_registers matmul_prefetch}, and that rung reaches {gflops matmul_prefetch}, "
        "{peak matmul_prefetch} of the FP32 peak. The next four rungs are for other widths: sliced k for widths around "
        "1,000, stream k for numbers of pieces that the multiprocessors do not divide, warp slices for widths below "
        "about 800, and fitted pieces from about 600 to 1,800. At this width split floats are fastest, with "
        "{gflops matmul_split}.",
    ),
    rungs=(
        Rung("matmul_naive", "naive", "The lecture's start: both operands of each product come from global memory.",
             "Exploiting data reuse", shows="sectors_per_load"),
        Rung("matmul_tiled", "tiled", "Every element was fetched by width threads; now a block fetches it once.",
             "Tiled matrix multiplication", promise="faster", shows="global_load_sectors"),
        Rung("matmul_register_1d", "registers, 1-D",
             "Each product took two words from shared memory; now an element of N serves eight products.",
             promise="faster", shows="wavefronts"),
        Rung("matmul_register_2d", "registers, 2-D",
             "An element of M still served one product; now 16 words serve 64 products.", promise="faster",
             shows="wavefronts"),
        Rung("matmul_vectorized", "four words at once",
             "64 products took sixteen loads of one word each; now they take four loads of four words.",
             promise="faster",
             shows="shared_load_requests"),
        Rung("matmul_warp_tile", "warp tile",
             "A warp computed a strip of 16 x 128 and needed 144 words; a piece of 64 x 32 needs 96. But shared memory "
             "did not limit the kernel.", promise="same", shows="wavefronts"),
        Rung("matmul_async_copy", "async copy",
             "The block waited for each phase to arrive; now three phases are in flight while one is used.",
             promise="faster", shows="barriers"),
        Rung("matmul_wide_tile", "wide tile",
             "64 products took sixteen words, and every copy a test; now 128 products take 24 words, and only the "
             "first phase is tested.", promise="faster", shows="branches"),
        Rung("matmul_free_registers", "free registers",
             "The two banks of the registers, not the issue slots, slowed the products down; now a sum and the element "
             "of N that it needs can lie in different banks.", promise="faster", shows="+global_store_requests"),
        Rung("matmul_prefetch", "prefetch",
             "Products waited for shared memory after every barrier; now the words of the next k are read while this "
             "k's words are multiplied.", promise="faster", shows="=global_load_sectors"),
        Rung("matmul_sliced_k", "sliced k",
             "At widths up to about 1,000 most multiprocessors had no block, and an uneven number of blocks leaves "
             "many idle; now blocks are smaller, and four slices of each divide the sums along k. At widths of 2,048, "
             "4,096 and 8,192 the rung before is faster.", promise="slower", shows="+global_load_sectors"),
        Rung("matmul_stream_k", "stream k",
             "A partial last round of blocks left multiprocessors idle; now all of them share all products evenly, and "
             "blocks that share a piece of P add their sums to it. Here 2,048 pieces nearly fill their rounds; at "
             "width 1,500 there are 288 for 132 multiprocessors.", promise="same", shows="+atomics"),
        Rung("matmul_warp_slices", "warp slices",
             "At widths below about 800 the pieces of P were too few; now a piece is 32 x 32, and a slice is a single "
             "warp, which waits for no other. Above that width the rung before is mostly faster.",
             promise="slower", shows="+global_load_sectors",
             fixes="132 blocks at every width: at 512 they share 32 pieces of P, so about four blocks add their sums "
             "to each piece by atomics."),
        Rung("matmul_fitted_pieces", "fitted pieces",
             "A round of blocks takes as long with one block as with one for each multiprocessor; now the width of a "
             "piece is chosen so that all rounds together are shortest. That helps at widths from about 600 to 1,800.",
             promise="faster", shows="global_load_sectors",
             fixes="small pieces: a thread reads 12 words of shared memory for 32 products, twice as many for each as "
             "with 8 x 16 sums."),
        Rung("matmul_split", "split floats",
             "The float units set the limit; now each float is the sum of three 16-bit parts, and the tensor "
             "cores multiply six pairs of parts in less time than the float units take for one product of floats.",
             promise="faster"),
    ),
)  # fmt: skip

LADDERS = (
    _TILING,
    _BEYOND_TILING,
)


SEEDS = {"M": 512, "N": 1024}

_ONLY_FLOAT = {
    "int32": "The lecture multiplies float matrices; choose float32.",
    "float64": "The lecture multiplies float matrices; choose float32.",
}


def _kernel(
    name: str,
    title: str,
    tile: Tile,
    block_sizes: tuple[int, ...] = (8, 16, 32),
    capability: str = "",
    needs: BlockNeed | None = None,
) -> Kernel:
    why = _TOO_MANY_SUMS.format(rows=tile.rows, columns=tile.columns)
    refuses = _ONLY_FLOAT | ({} if 32 in block_sizes else {"32": why})
    return Kernel(name, "matmul", title, dtypes=("float32",), block_sizes=block_sizes, tile=tile,
                  refuses=refuses, capability=capability, needs=needs)  # fmt: skip


_SQUARE = BlockNeed("its block is a square of at most 1,024 threads", least=4, most=32, power_of_two=True)
_TOO_MANY_SUMS = (
    "1,024 threads share the 65,536 registers of a multiprocessor, 64 each, and {rows} x {columns} sums alone fill "
    "them; choose 8 or 16."
)
_SLICES = dict.fromkeys(
    ("8", "32"),
    "The four slices are two warps each, with 12 KB of shared memory: that makes 16 x 16 threads and 48 KB; choose 16.",
)
_WARPS = dict.fromkeys(
    ("8", "32"),
    "The eight slices are a warp each, and the piece is two tiles wide: that makes 16 x 16 threads; choose 16.",
)
SLICES = 4  # slices of the sums' length, on a multiprocessor
BESIDE_COLUMNS = 0.5  # of a piece: the time of its copies of M, in columns of a thread
DEPTH = 8  # of k, in a phase of the kernels that cut the sums
_COPIES = "80"  # the first compute capability with asynchronous copies

KERNELS = (
    _kernel("matmul_uncoalesced", "One thread per element, uncoalesced", Tile(shared=False), needs=_SQUARE),
    _kernel("matmul_naive", "One thread per element, coalesced", Tile(shared=False), needs=_SQUARE),
    _kernel("matmul_tiled", "Tiles in shared memory", Tile(), needs=_SQUARE),
    _kernel("matmul_register_1d", "Eight sums per thread", Tile(8, 1)),
    _kernel("matmul_register_2d", "Eight by eight sums per thread", Tile(8, 8), (8, 16)),
    _kernel(
        "matmul_vectorized", "Four words per access, M transposed", Tile(8, 8), (8, 16)
    ),
    _kernel("matmul_warp_tile", "A compact piece of P for each warp", Tile(8, 8), (8, 16)),
    _kernel("matmul_async_copy", "Asynchronous copies, four phases deep", Tile(8, 8), (8, 16),
            capability=_COPIES),
    _kernel("matmul_wide_tile", "8 x 16 sums per thread, no test inside", Tile(8, 16), (8, 16), capability=_COPIES),
    _kernel("matmul_free_registers", "Sums in registers that do not collide", Tile(8, 16), (8, 16), capability=_COPIES),
    _kernel("matmul_prefetch", "The next words are read while these are multiplied", Tile(8, 16), (8, 16),
            capability=_COPIES),
    # A block of 16 x 16 threads computes 64 x 128. A quarter of the threads suffices for that, so a slice is a quarter.
    Kernel("matmul_sliced_k", "matmul", "Four slices of a block share the sums' length", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(4, 8), refuses=_ONLY_FLOAT | _SLICES, capability=_COPIES),
    Kernel("matmul_stream_k", "matmul", "All blocks share all products evenly", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(4, 8, cut=True), refuses=_ONLY_FLOAT | _SLICES,
           capability=_COPIES, varies="floats"),
    Kernel("matmul_warp_slices", "matmul", "Each warp of a block is a slice of the sums' length", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(2, 2), refuses=_ONLY_FLOAT | _WARPS, capability=_COPIES),
    Kernel("matmul_fitted_pieces", "matmul", "Width of the pieces fitted to the multiprocessors", dtypes=("float32",),
           block_sizes=(16,), tile=Tile(4, 4, fits=(4, 5, 6, 7)), refuses=_ONLY_FLOAT | _SLICES, capability=_COPIES),
    SPLIT,
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Plan one launch of enough tiles to cover P, or of a block for each multiprocessor; the choice has passed
    engine.plan's checks."""
    if kernel is SPLIT:
        return _plan_split(kernel, choice, gpu)
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
    """Return the largest number of blocks that one multiprocessor runs, one after the other."""
    blocks = ceil(n / (tile.rows * tile_width)) * ceil(n / (tile.columns * tile_width))
    return ceil(blocks / max(gpu.multiprocessors, 1))


def tile_of(kernel: Kernel, n: int, tile_width: int, gpu: GpuModel = GPU) -> Tile:
    """Return the tile of a thread in a block of tile_width^2 threads, for a product of this width on that GPU."""
    tile = kernel.tile or Tile()
    choice = [replace(tile, columns=columns) for columns in tile.fits]
    return min(choice, key=lambda one: _rounds(one, n, tile_width, gpu) * (one.columns + BESIDE_COLUMNS), default=tile)


def _fitted(tile: Tile, n: int, tile_width: int, gpu: GpuModel) -> dict[str, int]:
    """Return the macros of a kernel with fitted pieces, none for another kernel: the columns of a thread of a slice,
    the neighbouring words of N in every row, and the slices. If each multiprocessor has two or four blocks, it runs two
    at once with half as many slices. Every slice has a phase, because no thread would wait for the zeros that an empty
    slice copies."""
    most = SLICES // 2 if _rounds(tile, n, tile_width, gpu) % 2 == 0 else SLICES
    slices = min(most, 1 << ceil(n / DEPTH).bit_length() - 1)
    return {"COLUMNS": 2 * tile.columns, "WORDS": gcd(n, 4), "SLICES": slices} if tile.fits else {}


def block_shape(kernel: Kernel, n: int, tile_width: int, gpu: GpuModel = GPU) -> tuple[int, int]:
    """Return the rows and columns of P that one block of tile_width^2 threads computes."""
    tile = tile_of(kernel, n, tile_width, gpu)
    return tile.rows * tile_width, tile.columns * tile_width


def reads(kernel: Kernel, n: int, tile_width: int, gpu: GpuModel = GPU) -> int:
    """Return the lecture's count of reads from global memory: 2n^3, or 2n^3/m with tiles of width m (partial tiles
    count in full).

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
    """Check the product against float64, element by element; result and expected are those of the element with the
    largest error."""
    choice = plan.choice
    roundoff = data.unit_roundoff(choice.dtype)
    if choice.kernel == SPLIT.name:
        roundoff += _missing(SPLIT, choice)
    return products.check(plan, output, _reference(choice.dtype, choice.n), roundoff)


TOPIC = Topic(
    name="matmul",
    title="Matrix multiply",
    size_label="N (matrix width)",
    square=True,
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
