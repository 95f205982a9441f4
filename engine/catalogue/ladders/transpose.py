"""The ladder of the matrix transpose."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung

_TRANSPOSE = Ladder(
    name="transpose",
    title="Matrix transpose: as fast as a copy",
    lecture="After G. Ruetsch and P. Micikevicius 2009, Optimizing Matrix Transpose in CUDA",
    summary="A transpose moves every number once and computes nothing, so a copy of the same matrix is its roof. What "
    "keeps it below is the order in which memory is touched, in global memory first and then in shared memory.",
    n=4096,
    emulator_n=512,
    block_size=256,
    dtype="float32",
    baseline=1,
    counter="sectors",
    rungs=(
        Rung("transpose_copy", "copy", "The roof: the same bytes are read and written as they lie."),
        Rung("transpose_naive", "naive", "What was read together was written together; a row that becomes a column is "
             "written to 32 places, a whole row apart.", promise="slower"),
        Rung("transpose_tiled", "tile", "Every store touched 32 sectors; now a tile in shared memory is read by column "
             "and written by row.", promise="faster"),
        Rung("transpose_padded", "padding", "All lanes met in one bank of shared memory; one unused column spreads "
             "them over all banks.", promise="faster", counter="bank_conflicts"),
        Rung("transpose_vectorized", "vectors", "Every load and store moved one word of each lane; now it moves 16 "
             "bytes, turned in registers, and a swizzle does what the unused column did.", promise="faster",
             counter="warp_instructions"),
    ),
)  # fmt: skip

LADDERS = (_TRANSPOSE,)
