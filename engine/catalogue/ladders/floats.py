"""The ladder of what is left of a sum of floats."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung

_FLOATS = Ladder(
    name="float-truths",
    title="Float truths: 17,825,792 ones, and what is left of them",
    lecture='B. Crovella 2020, Atomics, Reductions, Warp Shuffle, "Further study"; N. J. Higham 1993, The Accuracy '
    "of Floating Point Summation",
    summary="2^24 + 2^20 ones as float32. The order of the additions decides how many of them are counted.",
    n=2**24 + 2**20,
    block_size=256,
    dtype="float32",
    picture="answers",
    rungs=(
        Rung("floats_serial", "serial", "The loop anybody would write. It stops counting at 2^24 = 16,777,216.",
             "Further study: Floating point"),
        Rung("floats_atomic", "atomic", "One thread added; now all do, but still one after the other: the same "
             "chain, in an order that nobody fixed.", "Atomics to the rescue"),
        Rung("floats_tree", "tree", "Ones met a sum that was too large for them; in a tree equal sums meet.",
             "Parallel Reduction"),
        Rung("floats_kahan", "compensated", "Another order saved the ones; the serial order does as well, if what "
             "a rounding drops is carried along.", "Further study: Floating point"),
        Rung("floats_double", "double", "Four additions for each number; a sum with more digits needs one, and "
             "the numbers in memory stay small.", "Further study: Floating point"),
    ),
)  # fmt: skip

LADDERS = (_FLOATS,)
