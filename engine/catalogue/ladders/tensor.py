"""The ladder of the tensor cores: from one instruction for a matrix to the library's speed."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung

_TENSOR = Ladder(
    name="tensor-cores",
    title="After CS121: matrix multiplication on tensor cores",
    lecture="The lecture's tiles and copies, for units that multiply whole matrices; no lecture here has them",
    summary="A tensor core multiplies matrices of 16-bit numbers and adds in float. It is so fast that each rung is "
    "about one thing alone: how its operands arrive in time.",
    n=4096,
    block_size=256,
    dtype="bfloat16",
    emulator_n=256,
    rungs=(
        Rung("tensor_wmma", "WMMA",
             "A warp multiplies 16 x 16 matrices by one instruction, operands from global memory."),
        Rung("tensor_mma", "mma, ldmatrix",
             "Every operand came from global memory; now a block shares tiles, copied asynchronously, and a warp reads "
             "them matrix by matrix.", promise="faster"),
        Rung("tensor_wgmma", "wgmma, TMA",
             "Warps copied, read and asked for each small product; now one thread asks for whole tiles, and four warps "
             "together for products of 64 x 256, straight from shared memory.", promise="faster"),
        Rung("tensor_specialized", "specialized",
             "The whole block met at a barrier in every phase; now one warp only fetches, and two groups of four only "
             "multiply. At this width hardly anybody had waited there; at 8,192 it pays.", promise="same"),
        Rung("tensor_persistent", "persistent",
             "Every piece of P began with an empty pipeline; now a block stays, and the next piece is fetched while "
             "the sums of this one are stored."),
        Rung("tensor_whole_lines", "whole lines",
             "While a warp stored its sums, 32 bytes of a row at a time, it did not multiply; now it turns them in "
             "shared memory and stores whole lines."),
        Rung("tensor_small_pieces", "small pieces",
             "At widths up to 1,024 most multiprocessors had no piece; now a piece is a quarter as large, and shared "
             "memory holds up to twelve stages. Above that width the rung before needs fewer operands for a product, "
             "and is faster.", promise="slower"),
    ),
    today=(
        "No lecture here has tensor cores. All rungs make the same products with the same unit, and from the first to "
        "the last only the way of the operands changes.",
        "That gains {times tensor_wmma tensor_mma}, {times tensor_mma tensor_wgmma}, "
        "{times tensor_wgmma tensor_specialized}, {times tensor_specialized tensor_persistent} and "
        "{times tensor_persistent tensor_whole_lines}: whole lines reach {gflops tensor_whole_lines}, "
        "{peak tensor_whole_lines} of what the tensor cores could do at the highest clock. They do not keep it: at "
        "this rate the GPU lowers its clock to stay within its power.",
    ),
)  # fmt: skip

LADDERS = (_TENSOR,)
