"""What CS121 claims of tiled matrix multiplication, of trees and of barriers, with what decides it."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue.gpu_models import H200, LECTURE_GPU, GpuModel
from engine.lectures.arithmetic.matmul import LectureNumbers, lecture_numbers
from engine.lectures.claims.kinds import CS121, AnyClaim, Claim, Computed, Count, Ends, Timed
from engine.plan import settle
from engine.records import Choice

_TREE = Choice("reduce_sequential", 4096, 128, device="emulator")
_STEP = "            partial[tid] += partial[tid + stride];\n        __syncthreads();"


def _matrix(kernel: str) -> Choice:
    return Choice(kernel, 1024, 16, dtype="float32")


def _numbers(tile_width: int, gpu: GpuModel = LECTURE_GPU, kernel: str = "matmul_tiled") -> LectureNumbers:
    return lecture_numbers(settle(Choice(kernel, 1024, tile_width, dtype="float32", device="gpu")), gpu)


CLAIMS: tuple[AnyClaim, ...] = (
    Claim("tiles-reuse", CS121, "Shared memory and tiled MM",
          "Total (n/m)^2*(n/m)*2m^2 = 2n^3/m accesses. A factor of m less!",
          "cs121-tiling", "matmul_tiled", Count("global_load_requests"), "times fewer reads", 16, "m = 16",
          against="matmul_naive", n=64, block_size=16, dtype="float32"),
    Claim("divergent-iterations", CS121, "Reducing divergence", "8 iterations, only 4 have divergence.",
          "harris", "reduce_sequential", Count("divergent_branches", line="if (tid < stride)"), "iterations", 4,
          "512 values", n=512, block_size=512, counted=5,
          why="The lecture's loop stops before stride 1. All strides below 32 diverge: 16, 8, 4, 2 and 1."),
    Claim("no-divergence-left", CS121, "Reducing divergence",
          "Can you get rid of the 4 iterations with divergence?",
          "harris", "reduce_complete_volatile", Count("divergent_branches", line="tid < "), "divergent branches", 0,
          "the last warp adds without asking who has to", n=512, block_size=512),
    Timed("tiles-are-faster", CS121, "Tiled matrix multiply performance",
          "Can get (200GB/4B)*(3 FLOP / 1B)*16 = 2400 GFLOPS, compared to 150 GFLOPS from before!",
          "cs121-tiling", ((_matrix("matmul_naive"), _matrix("matmul_tiled")),), 16, "16 x 16 tiles, n = 1024",
          today="direction",
          why="Faster, but not by 16: caches serve most of the naive kernel's reads, which the lecture counts as reads "
          "from memory."),
    Timed("uncoalesced-is-slower", CS121, "Thread warps",
          "It's much slower when there's noncoalesced memory accesses, control flow divergence or bank conflicts.",
          "cs121-tiling", ((_matrix("matmul_uncoalesced"), _matrix("matmul_naive")),), None, "noncoalesced"),
    Timed("reuse", CS121, "Effective use of shared memory",
          "General strategy is to find reused data and load it into fast, high bandwidth memory. Very effective in "
          "practice.",
          "beyond-tiling", ((Choice("matmul_tiled", 4096, 16, dtype="float32"),
                             Choice("matmul_register_2d", 4096, 16, dtype="float32")),), None,
          "carried on from shared memory to registers"),
    Timed("reuse-of-an-element", CS121, "Exploiting data reuse",
          "Threads cooperate to load tiles, eliminating redundant global memory reads.",
          "beyond-tiling", ((Choice("matmul_naive", 4096, 16, dtype="float32"),
                             Choice("matmul_tiled", 4096, 16, dtype="float32")),), 16, "16 x 16 tiles, n = 4096",
          today="direction",
          why="Faster, but not by 16: caches serve most of the naive kernel's reads."),
    Computed("arrays-in-registers", CS121, "CUDA Variable Type Qualifiers",
             "Automatic variables without any qualifier reside in a register. Except per-thread arrays, which reside "
             "in global memory.",
             "beyond-tiling", lambda: _numbers(16, H200, "matmul_register_2d").resources.local_bytes,
             "bytes per thread", 256, "the array of 8 x 8 sums of a thread", counted=0,
             why="The loops are unrolled, so that every index is a constant: all sums are registers."),
    Computed("shared-bytes", CS121, "Tiled matrix multiply performance",
             "Each thread block uses 16 x 16 x 4B x (2 matrices) = 2KB of shared memory.",
             "cs121-tiling", lambda: _numbers(16).resources.shared_bytes, "bytes", 2048, "in the compiled kernel"),
    Computed("eight-blocks", CS121, "Tiled matrix multiply performance",
             "Even if only 16KB shared memory, can still run 8 blocks per SM.",
             "cs121-tiling", lambda: _numbers(16).occupancy.limits["shared memory"], "blocks", 8),
    Computed("six-blocks", CS121, "Tiled matrix multiply performance",
             "Each block has 256 threads, so 6 blocks enough to saturate SM with 1536 thread capacity.",
             "cs121-tiling", lambda: _numbers(16).occupancy.limits["threads"], "blocks", 6),
    Computed("full-occupancy", CS121, "Tiled matrix multiply performance",
             "Can still run 8 blocks per SM, which is enough to achieve full occupancy.",
             "cs121-tiling", lambda: _numbers(16).occupancy.fraction * 100, "% occupancy", 100,
             "16 x 16 tiles, registers included"),
    Computed("one-block", CS121, "Tiled matrix multiply performance",
             "If use 32x32 tiles, then 1024 threads per tile / thread block, so only one thread block per SM.",
             "cs121-tiling", lambda: _numbers(32).occupancy.blocks, "blocks", 1),
    Computed("two-thirds", CS121, "Tiled matrix multiply performance",
             "Only 2/3 occupancy if SM can run 1536 threads.",
             "cs121-tiling", lambda: _numbers(32).occupancy.fraction, "of the threads", 2 / 3),
    Computed("two-blocks-today", CS121, "Tiled matrix multiply performance",
             "Only one thread block per SM.",
             "cs121-tiling", lambda: _numbers(32, H200).occupancy.blocks, "blocks", 1, "32 x 32 tiles on an H200",
             counted=2, why="An SM of the H200 has room for 2,048 threads: two blocks, and full occupancy."),
    Computed("cgma", CS121, "Global memory bandwidth",
             "Compute to global memory access (CGMA) ratio 3:1.",
             "cs121-tiling", lambda: _numbers(16, kernel="matmul_naive").cgma, ": 1", 3, "the naive kernel"),
    Computed("naive-bound", CS121, "Global memory bandwidth",
             "200 GB/s = 50G floating point vals / sec => 150 GFLOPS.",
             "cs121-tiling", lambda: _numbers(16, kernel="matmul_naive").bound_gflop_s, "GFLOPS", 150),
    Computed("tiled-bound", CS121, "Tiled matrix multiply performance",
             "Can get (200GB/4B)*(3 FLOP / 1B)*16 = 2400 GFLOPS.",
             "cs121-tiling", lambda: _numbers(16).bound_gflop_s, "GFLOPS", 2400),
    Ends("tiles-complete", CS121, "Synchronization",
         "Ex In MM, threads must finish loading M, N tiles into shared mem before any thread can start its dot "
         "product.",
         "cs121-tiling", Choice("matmul_tiled", 64, 16, dtype="float32", device="emulator"), ("wrong", "hazard"),
         "without that barrier", ("        __syncthreads();  // the tiles are complete\n", "")),
    Ends("tiles-used", CS121, "Shared memory and tiled MM",
         "After all threads finished with the tiles, next two tiles loaded, overwriting current ones.",
         "cs121-tiling", Choice("matmul_tiled", 64, 16, dtype="float32", device="emulator"), ("wrong", "hazard"),
         "without the second barrier", ("        __syncthreads();  // the tiles are no longer needed\n", "")),
    Ends("barrier-in-a-branch", CS121, "Synchronization",
         "If __syncthreads() occurs in if block, then all threads must go through the if, or none do. Otherwise block "
         "never finishes.",
         "harris", _TREE, ("deadlock", "timeout"), "the barrier of #3 moved into its if",
         (_STEP, _STEP.replace("            partial", "        {\n            partial")
          .replace("        __syncthreads();", "            __syncthreads();\n        }")),
         today="hazard",
         why="It finishes, as the threads that skip the barrier soon leave the kernel, and a barrier does not wait "
         "for those that have left. Who waits for whom is no longer said, and the run is a hazard."),
    Ends("barrier-in-both-branches", CS121, "Synchronization",
         "If __syncthreads() occurs in both branches of if-then-else code block, all threads must go through same "
         "branch, or block never finishes.",
         "harris", _TREE, ("deadlock", "timeout"), "#3 with a barrier in its if and one in its else",
         (_STEP, _STEP.replace("            partial", "        {\n            partial")
          .replace("        __syncthreads();", "            __syncthreads();\n        } else {\n"
                   "            __syncthreads();\n        }")),
         today="hazard",
         why="It finishes: to the hardware both are the same barrier, and everybody comes. The compiler may rely on "
               "the rule all the same, so that the run is a hazard."),
    Ends("halving-loop", CS121, "Reducing divergence",
         "for (int stride = blockDim.x; stride > 1; stride /= 2).",
         "harris", replace(_TREE, n=512, block_size=512), ("ok",), "#3 with the loop as it stands on the slide",
         ("stride = blockDim.x / 2; stride > 0; stride >>= 1", "stride = blockDim.x; stride > 1; stride /= 2"),
         today="out-of-bounds",
         why="The slide's loop starts one step too early, where every thread reads past the array, and stops before "
         "stride 1. From blockDim.x / 2 down to 1 it is right."),
    Ends("endless-thread", CS121, "Synchronization",
         "If code has __syncthreads() but some thread in block goes into infinite loop, block will never finish!",
         "harris", _TREE, ("deadlock", "timeout"), "thread 0 of #3 waits before the tree",
         ("    // reduce in shared memory\n", "    while (tid == 0) __threadfence();\n")),
)  # fmt: skip
