"""The ladders of the sums of rows and columns."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import CROVELLA, CS121

_COALESCING = Ladder(
    name="cs121-coalescing",
    title="CS121: by row, by column, and through shared memory",
    lecture=CS121,
    summary="A matrix lies in memory row by row. What it costs to walk through it against the grain, and how "
    "shared memory helps. The requests show the law; the times of so few threads do not.",
    n=1024,
    block_size=128,
    dtype="int32",
    rungs=(
        Rung("column_sums", "by row", "One thread per column: in every step a warp reads 32 neighbours of one row.",
             "Coalescing example"),
        Rung("row_sums", "by column", "One thread per row: now the 32 numbers of a step lie a whole row apart.",
             "Coalescing example"),
        Rung("row_sums_staged", "staged", "Every request touched 32 sectors; now rows are read coalesced into "
             "shared memory, and the columns from there.", "Improving coalescing"),
        Rung("row_sums_padded", "padded", "All lanes met in one bank of shared memory; one unused column spreads "
             "them over all banks.", "Bank conflicts"),
    ),
)  # fmt: skip

_HOMEWORK = Ladder(
    name="crovella-matrix-sums",
    title="Crovella's homework: row and column sums",
    lecture=CROVELLA,
    summary="The document has only the word Homework; this exercise comes from elsewhere. The same matrix and the same "
    "number of additions; what differs is who reads what, and how many threads there are.",
    n=1024,
    block_size=256,
    dtype="float32",
    rungs=(
        Rung("row_sums", "thread per row", "One thread per output, the thread strategy of a transformation.",
             "Homework"),
        Rung("column_sums", "thread per column", "Neighbouring threads read a row apart; summing columns they read "
             "neighbours.", "Homework"),
        Rung("row_sums_block", "block per row", "There were only n threads; with a block per row there are enough, "
             "and rows are read coalesced as well.", "Homework"),
        Rung("row_sums_shuffle", "shuffles", "The tree went through shared memory with a barrier per step; now the "
             "lanes hand over registers.", "Homework"),
        Rung("row_sums_vectorized", "vectors", "After the lecture: each thread had one word on its way; now it asks "
             "for four times 16 bytes before it uses the first."),
        Rung("column_sums_strips", "strips", "After the lecture, columns once more: n threads were too few; now blocks "
             "walk down strips of the rows, and atomics join the strips."),
    ),
)  # fmt: skip

LADDERS = (
    _COALESCING,
    _HOMEWORK,
)
