"""The ladders of the reductions beside the sum: other operators, and a sum for each value."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import HEIDELBERG

_OPERATORS = Ladder(
    name="heidelberg-operators",
    title="Heidelberg: the same tree with other operators",
    lecture=HEIDELBERG,
    summary="A reduction only needs an associative operation. The lecture's kernels differ in the operator and in what "
    "they start from, and cost the same; the last three do so at the memory's speed.",
    n=2**22,
    block_size=256,
    dtype="int32",
    rungs=(
        Rung("reduce_product", "product", "A tree of sums needs only that + is associative, and so is *.",
             "Parallel reduction", "relaunch"),
        Rung("reduce_min", "minimum", "A product of floats depends on the order of rounding; a minimum does not.",
             "Parallel reduction", "relaunch", promise="same"),
        Rung("reduce_max", "maximum", "One word is different.", "Parallel reduction", "relaunch", promise="same"),
        Rung("reduce_max_vectorized", "maximum, vectors", "After the lecture: each thread had one word on its way, and "
             "a second launch had to follow; now four times 16 bytes are, in one launch.", promise="faster"),
        Rung("reduce_min_vectorized", "minimum, vectors", "Again one word is different.", promise="same"),
        Rung("reduce_product_vectorized", "product, vectors", "A number may be compared twice, but not multiplied "
             "twice; that costs a condition, and no time.", promise="same"),
    ),
)  # fmt: skip

_ARGMAX = Ladder(
    name="argmax",
    title="Argmax: the largest number, and where it stands",
    lecture="After the lectures: a reduction of pairs",
    summary="A maximum forgets where it was found. Numbers that travel with their places are still reduced by an "
    "associative operation, whose answer is the same in every order: of equal numbers the first wins.",
    n=2**22,
    block_size=256,
    dtype="float32",
    rungs=(
        Rung("reduce_max", "maximum", "The tree of the maximum, which says how large, and not where.",
             combine="relaunch"),
        Rung("argmax_tree", "pairs", "The place was lost; now every number carries its own through the tree.",
             combine="relaunch"),
        Rung("argmax_vectorized", "vectors", "Each thread had one word on its way, and a second launch had to follow; "
             "now four times 16 bytes are, in one launch, and a place is asked for only where a number beats all "
             "before.", promise="faster"),
    ),
)  # fmt: skip

_HISTOGRAM = Ladder(
    name="heidelberg-histogram",
    title="Heidelberg: the histogram, and contention",
    lecture=HEIDELBERG,
    summary="A sum for each of 256 values. Choose fewer values to see the contention grow.",
    n=2**22,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="atomics",
    rungs=(
        Rung("histogram_global", "global atomics",
             "One tree per value would read everything 256 times; one atomic per element reads it once.",
             "Parallel reduction: h_k"),
        Rung("histogram_shared", "shared atomics",
             "All threads of the GPU shared 256 addresses; now only those of a block do.",
             "Parallel reduction on a GPU", promise="faster"),
        Rung("histogram_warps", "a copy per warp",
             "The warps of a block still shared them; now only the lanes of a warp do, and the hardware had served "
             "them well enough.", "Parallel reduction on a GPU",
             promise="same"),
    ),
)  # fmt: skip

LADDERS = (
    _OPERATORS,
    _ARGMAX,
    _HISTOGRAM,
)
