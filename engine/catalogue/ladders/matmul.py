"""The ladders of matrix multiplication: to tiles with the lecture, and beyond them."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import CS121

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
    rungs=(
        Rung("matmul_uncoalesced", "uncoalesced", "One thread per element of P; x chooses the row.",
             "Coalescing example"),
        Rung("matmul_naive", "naive", "A warp touched up to 32 pieces of memory at once; when x chooses the "
             "column its accesses coalesce.", "Exploiting data reuse", promise="faster"),
        Rung("matmul_tiled", "tiled", "Every element was fetched from global memory by width threads; now a "
             "block fetches a tile once and shares it.", "Tiled matrix multiplication", promise="faster"),
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
    rungs=(
        Rung("matmul_naive", "naive", "Where the lecture starts: both operands of each product from global "
             "memory.", "Exploiting data reuse"),
        Rung("matmul_tiled", "tiled", "Every element was fetched by width threads; now a block fetches it once.",
             "Tiled matrix multiplication", promise="faster"),
        Rung("matmul_register_1d", "registers, 1-D",
             "Each product took two words from shared memory; now an element of N serves eight products.",
             promise="faster"),
        Rung("matmul_register_2d", "registers, 2-D",
             "An element of M still served one product; now 16 words serve 64 products.", promise="faster"),
        Rung("matmul_vectorized", "four words at once",
             "Sixteen loads for 64 products, one word each; now four loads take four words each.", promise="faster"),
        Rung("matmul_warp_tile", "warp tile",
             "A warp was a strip of 16 x 128 and needed 144 words; a piece of 64 x 32 needs 96. Shared memory was not "
             "what held the kernel up.", promise="same"),
        Rung("matmul_async_copy", "async copy",
             "The block waited for each phase to arrive; now three phases are on their way while one is used.",
             promise="faster"),
        Rung("matmul_wide_tile", "wide tile",
             "Sixteen words for 64 products, and a test at every copy; now 24 words serve 128 products, and only the "
             "first phase is tested.", promise="faster"),
        Rung("matmul_free_registers", "free registers",
             "Not the issue slots held the products back but the registers' two banks; now a sum and the element of N "
             "that it needs can lie in different ones.", promise="faster"),
        Rung("matmul_prefetch", "prefetch",
             "Products waited for shared memory after every barrier; now the words of the next k are read while this "
             "one's are multiplied.", promise="faster"),
        Rung("matmul_sliced_k", "sliced k",
             "At widths around 1,000 most multiprocessors had no block, and a ragged number of blocks leaves many "
             "idle; now blocks are smaller, and four slices of each share the length of the sums. Elsewhere the rung "
             "before is faster.", promise="slower"),
        Rung("matmul_stream_k", "stream k",
             "A ragged last round of blocks left multiprocessors idle; now all share all products evenly, and blocks "
             "that share a piece of P add their sums to it. Here 2,048 pieces fill their rounds almost; at width 1,500 "
             "there are 288 for 132 multiprocessors.", promise="same"),
        Rung("matmul_warp_slices", "warp slices",
             "At widths below about 800 even these blocks were too few; now a slice is a single warp, which waits for "
             "no other, and a piece of P is 32 x 32. Above that width the rung before is faster.",
             promise="slower"),
        Rung("matmul_fitted_pieces", "fitted pieces",
             "A round of blocks takes as long with one block as with one for each multiprocessor; now a piece of P is "
             "as wide as makes the rounds shortest. That is for widths from about 600 to 1,800; here the rung before "
             "the slices is faster.", promise="faster"),
        Rung("matmul_split", "split floats",
             "The float units were the roof; now each float is the sum of three 16-bit parts, and the tensor cores "
             "multiply six pairs of parts in less time than the float units one of floats.", promise="faster"),
    ),
)  # fmt: skip

LADDERS = (
    _TILING,
    _BEYOND_TILING,
)
