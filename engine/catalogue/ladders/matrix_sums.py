"""The ladders of the sums of rows and columns."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import CROVELLA, CS121

_ONE_MATRIX = Ladder(
    name="cs121-one-matrix",
    title="CS121: coalescing in one large matrix, with too few threads",
    lecture=CS121,
    summary="The same walks through one matrix of N x N numbers. The requests show the law, as in the lecture's own "
    "example; the times do not, as N threads are too few to keep the memory busy.",
    n=1024,
    block_size=128,
    dtype="int32",
    picture="counters",
    counter="sectors_per_request",
    rungs=(
        Rung("column_sums", "by row", "One thread per column: in every step a warp reads 32 neighbours of one row.",
             "Coalescing example"),
        Rung("row_sums", "by column", "One thread per row: now the 32 numbers of a step lie a whole row apart. It is "
             "faster all the same: the surplus that a thread fetches is used in its next steps.",
             "Coalescing example", promise="faster"),
        Rung("row_sums_staged", "staged", "Every request touched 32 sectors; now rows are read coalesced into "
             "shared memory, and the columns from there. With so few threads the barriers cost more than that gains.",
             "Improving coalescing", promise="slower"),
        Rung("row_sums_padded", "padded", "All lanes met in one bank of shared memory; one unused column spreads "
             "them over all banks.", "Bank conflicts", promise="faster", counter="bank_conflicts"),
    ),
)  # fmt: skip

_HOMEWORK = Ladder(
    name="crovella-matrix-sums",
    title="Crovella's homework: row and column sums",
    lecture=CROVELLA,
    summary="The document has only the word Homework; this exercise comes from elsewhere. The same matrix and the same "
    "number of additions; what differs is who reads what, and how many threads there are.",
    n=4096,
    emulator_n=1024,
    block_size=256,
    dtype="float32",
    counter="sectors_per_request",
    rungs=(
        Rung("row_sums", "thread per row", "One thread per output, the thread strategy of a transformation.",
             "Homework"),
        Rung("column_sums", "thread per column", "Neighbouring threads read a row apart; summing columns they read "
             "neighbours.", "Homework", promise="faster"),
        Rung("row_sums_block", "block per row", "There were only N threads; with a block per row there are enough, "
             "and rows are read coalesced as well.", "Homework", promise="faster"),
        Rung("row_sums_shuffle", "shuffles", "The tree went through shared memory with a barrier per step; now the "
             "lanes hand over registers.", "Homework", promise="faster"),
        Rung("row_sums_vectorized", "vectors", "After the lecture: each thread had one word on its way; now it asks "
             "for four times 16 bytes before it uses the first.", promise="faster"),
        Rung("column_sums_strips", "strips", "After the lecture, columns once more, nearly as fast as rows: N threads "
             "were too few; now blocks walk down strips of the rows, and atomics join the strips.", promise="slower"),
        Rung("column_sums_narrow", "narrow", "Strips had to be joined, in sums that are zero before; a piece of a row "
             "of a few whole sectors is enough to read at once, and leaves blocks for all columns from top to bottom.",
             promise="same"),
    ),
)  # fmt: skip

LADDERS = (
    _ONE_MATRIX,
    _HOMEWORK,
)
