"""What CS121 claims (GPUs and CUDA 2: Memory and Warps), with what decides it."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue.gpu_models import H200, LECTURE_GPU, GpuModel
from engine.choices import settle
from engine.lectures.arithmetic.matmul import LectureNumbers, lecture_numbers
from engine.lectures.claims.kinds import (
    CONSTANT_PASSES,
    CS121,
    LOAD_PASSES,
    SECTORS,
    AnyClaim,
    Claim,
    Computed,
    Count,
    Ends,
    Timed,
)
from engine.records import Choice

_BYTES = replace(SECTORS, scale=32.0)
_STORE_PASSES = Count("shared_store_wavefronts", "shared_store_requests")
_BRANCH_PASSES = Count("warp_instructions", "thread_instructions", 32.0, "value = value *")
_ALL_PASSES = Count("warp_instructions", "thread_instructions", 32.0)

_TREE = Choice("reduce_sequential", 4096, 128, device="emulator")
_STEP = "            partial[tid] += partial[tid + stride];\n        __syncthreads();"


def _matrix(kernel: str) -> Choice:
    return Choice(kernel, 1024, 16, dtype="float32")


def _latency(kernel: str) -> Choice:
    return Choice(kernel, 2**18, 256)


def _bandwidth(kernel: str) -> Choice:
    return Choice(kernel, 2**20, 256)


def _walk(kernel: str) -> Choice:
    return Choice(kernel, 2**20, 256)


def _sums(kernel: str) -> Choice:
    return Choice(kernel, 1024, 128)


def _memory(kernel: str) -> Choice:
    return Choice(kernel, 2**24, 256)


def _numbers(tile_width: int, gpu: GpuModel = LECTURE_GPU, kernel: str = "matmul_tiled") -> LectureNumbers:
    return lecture_numbers(settle(Choice(kernel, 1024, tile_width, dtype="float32", device="gpu")), gpu)


_ONE_PASS = "If threads in a warp access different banks, completes in one pass."
_K_WAYS = (
    "If k > 1 threads access different addresses in same bank, get k-way bank conflict. Accesses serialize, takes k "
    "passes to complete accesses."
)
_K_BRANCHES = "If threads have k branches, SM takes k passes to run warp."

CLAIMS: tuple[AnyClaim, ...] = (
    Timed("latency", CS121, "GPU memory organization", "Latency (cycles): global 400-800, shared ~20.",
          "cs121-latency", ((_latency("latency_global"), _latency("latency_shared")),), 20,
          "a chain of 1024 numbers, one thread; at least 400 against 20",
          today="direction",
          why="About half of what the table says: launching and the arithmetic between two reads are timed as well, "
          "as the rung with a register shows."),
    Timed("l1-latency", CS121, "GPU memory organization", "Latency (cycles): shared ~20, L1 cache ~20.",
          "cs121-latency", ((_latency("latency_l1"), _latency("latency_shared")),), 1, "L1 cache against shared memory",
          today="differs",
          why="They are the same memory, but an address in the cache is longer, and must be looked up first."),
    Timed("register-latency", CS121, "GPU memory organization", "Latency (cycles): shared ~20, registers ~1.",
          "cs121-latency", ((_latency("latency_shared"), _latency("latency_register")),), 20,
          "a chain of 1024 steps, one thread", today="direction",
          why="The arithmetic of a step takes longer than a register, and the launch is timed as well."),
    Computed("split", CS121, "GPU memory organization",
             "Shared memory size + L1 cache size = 64KB. User configurable.",
             "cs121-latency", lambda: H200.l1_bytes >> 10, "KB", 64, "of an SM of the H200", counted=256,
             why="256 KB, of which kernels may have up to 228 KB as shared memory; the rest is L1 cache. It is still "
             "configurable: a kernel asks for a carve-out, else the driver chooses.", source="the GPU's data sheet"),
    Timed("l1-size", CS121, "GPU memory organization", "L1 cache: 16KB/48KB per SM.",
          "cs121-latency", ((replace(_latency("latency_l1"), parameter=1024),
                             replace(_latency("latency_l1"), parameter=48)),), None,
          "a chain through 1,024 KB, which are too many for the cache, against one through 48 KB"),
    Timed("bandwidth", CS121, "GPU memory organization", "Bandwidth: global 900 GB/s, shared 12,000 GB/s.",
          "cs121-bandwidth", ((_bandwidth("bandwidth_global"), _bandwidth("bandwidth_shared")),), 12_000 / 900,
          "bytes that 2^20 threads ask for", "bandwidth_gb_s", "direction",
          "Global memory has gained more since then than the multiprocessors have."),
    Timed("l1-bandwidth", CS121, "GPU memory organization", "Bandwidth: L1 cache 12,000 GB/s, shared 12,000 GB/s.",
          "cs121-bandwidth", ((_bandwidth("bandwidth_l1"), _bandwidth("bandwidth_shared")),), 1,
          "shared memory against the L1 cache", "bandwidth_gb_s"),
    Timed("ten-times", CS121, "Shared memory and tiled MM", "Shared memory bandwidth is 10X global memory bandwidth.",
          "cs121-bandwidth", ((_bandwidth("bandwidth_global"), _bandwidth("bandwidth_shared")),), 10,
          "bytes that 2^20 threads ask for", "bandwidth_gb_s", "direction",
          "Global memory has gained more since then than the multiprocessors have."),
    Claim("constant-words", CS121, "GPU memory organization", "Constant: 64KB, cached; grid, read-only.",
          "cs121-constant", "constant_words", CONSTANT_PASSES, "passes", 32,
          "32 different words; the slide leaves open that constant memory gives one word at a time", n=256),
    Claim("constant-broadcast", CS121, "GPU memory organization", "Constant: 64KB, cached; grid, read-only.",
          "cs121-constant", "constant_broadcast", CONSTANT_PASSES, "passes", 1, "the same word for all lanes", n=256),
    Timed("constant-is-slower", CS121, "GPU memory organization", "Constant: 64KB, cached; grid, read-only.",
          "cs121-constant", ((Choice("constant_words", 2**18, 256), Choice("constant_broadcast", 2**18, 256)),), None,
          "32 different words against one"),
    Timed("waiting", CS121, "Synchronization",
          "Threads arriving earlier at the barrier wait for later threads. Avoid synchronization if possible.",
          "cs121-barriers", ((Choice("barrier_every_step", 2**15, 256), Choice("barrier_none", 2**15, 256)),), None,
          "one block on each SM"),
    Timed("waiting-hidden", CS121, "Synchronization",
          "Decreases number of schedulable threads. May hurt latency hiding.",
          "cs121-barriers", ((Choice("barrier_every_step", 2**22, 256), Choice("barrier_none", 2**22, 256)),), None,
          "eight blocks on each SM", today="close",
          why="It need not: with eight blocks on an SM others have work while one waits."),
    Timed("hidden-latency", CS121, "Global memory latency",
          "Total throughput high, even though each thread has high latency.",
          "cs121-latency", ((_latency("latency_global"), _latency("latency_hidden")),), None,
          "numbers per second, one thread against 2^18", "gflop_s"),
    Timed("one-at-a-time", CS121, "Global memory latency",
          "If each thread waits (blocks) for a global memory operation to finish before doing the next operation, "
          "performance is very poor.",
          "cs121-latency", ((_latency("latency_global"), _latency("latency_hidden")),), None,
          "bandwidth: one thread that waits, against 2^18 that wait together", "bandwidth_gb_s"),
    Claim("one-segment", CS121, "Memory coalescing",
          "If all 32 locations being read lie in one segment, hardware detects this and only transfers one segment "
          "(128 B) from global memory to SM.",
          "cs121-access", "copy_offset", _BYTES, "bytes per request", 128, parameter=0),
    Claim("worst-case-segments", CS121, "Memory coalescing",
          "In worst case, transfer 32*128 B = 4KB to read 32 floats!",
          "cs121-access", "copy_strided", _BYTES, "bytes per request", 4096, parameter=32, dtype="float32",
          counted=1024, why="A GPU of today moves sectors of 32 bytes, not segments of 128 bytes: 32 * 32 B = 1 KB."),
    Claim("by-row", CS121, "Coalescing example", "Locations all consecutive. All iterations coalesced.",
          "cs121-coalescing", "matrix_by_row", _BYTES, "bytes per request", 128, n=128),
    Claim("by-column", CS121, "Coalescing example",
          "Each iteration accesses nonconsecutive locations. All accesses noncoalesced.",
          "cs121-coalescing", "matrix_by_column", SECTORS, "sectors per request", 32,
          "a sector of its own for every lane",
          n=128),
    Claim("staged", CS121, "Improving coalescing",
          "To improve coalescing, first do coalesced read from global to shared memory.",
          "cs121-coalescing", "matrix_staged", _BYTES, "bytes per request", 128, n=128),
    Claim("staged-conflicts", CS121, "Bank conflicts", _K_WAYS,
          "cs121-coalescing", "matrix_staged", LOAD_PASSES, "passes", 32, "k = 32: a column of the tile", n=128),
    Claim("padded", CS121, "Bank conflicts", _ONE_PASS,
          "cs121-coalescing", "matrix_padded", LOAD_PASSES, "passes", 1, "a column of the padded tile", n=128),
    Claim("no-conflict", CS121, "Bank conflicts", _ONE_PASS,
          "cs121-banks", "banks_strided", LOAD_PASSES, "passes", 1, "stride 1", parameter=1, n=256),
    *(Claim(f"{ways}-way-conflict", CS121, "Bank conflicts", _K_WAYS,
            "cs121-banks", "banks_strided", LOAD_PASSES, "passes", ways, f"k = {ways}", parameter=ways, n=256)
      for ways in (2, 4, 8, 16, 32)),
    Claim("broadcast", CS121, "Bank conflicts",
          "Unless all threads access same value, which then gets broadcast in one pass.",
          "cs121-banks", "banks_broadcast", LOAD_PASSES, "passes", 1, parameter=1, n=256),
    Claim("consecutive-locations", CS121, "Bank conflict example",
          "If thread loads consecutive locations, 2 way bank conflict.",
          "cs121-banks", "banks_pairs_neighbours", _STORE_PASSES, "passes", 2),
    Claim("block-size-apart", CS121, "Bank conflict example",
          "If thread loads locations block size apart, no bank conflicts!",
          "cs121-banks", "banks_pairs_apart", _STORE_PASSES, "passes", 1),
    Claim("three-branches", CS121, "Warp divergence", _K_BRANCHES,
          "cs121-divergence", "divergence_three", _ALL_PASSES, "passes", 3, "k = 3: the lecture's example", counted=1,
          why="The branches are so short that the compiler computes all values and selects one: no branch is left."),
    *(Claim(f"{ways}-branches", CS121, "Warp divergence", _K_BRANCHES,
            "cs121-divergence", "divergence_ways", _BRANCH_PASSES, "passes", ways, f"k = {ways}", ways, n=1024)
      for ways in (2, 3, 8)),
    Claim("worst-case-divergence", CS121, "Warp divergence", "In worst case, SM takes 32 passes to run one warp!",
          "cs121-divergence", "divergence_ways", _BRANCH_PASSES, "passes", 32, parameter=32, n=1024),
    Claim("different-warps", CS121, "Thread warps",
          "Different warps can do different things without performance loss.",
          "cs121-divergence", "divergence_warps", _BRANCH_PASSES, "passes", 1, parameter=32, n=1024),
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
          "harris", "reduce_complete_unroll", Count("divergent_branches", line="tid < "), "divergent branches", 0,
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
    Timed("by-column-is-slower", CS121, "Memory coalescing",
          "For good performance, make global memory accesses as coalesced as possible.",
          "cs121-coalescing", ((_walk("matrix_by_column"), _walk("matrix_by_row")),), None, "by column against by row"),
    Timed("staged-is-faster", CS121, "Improving coalescing",
          "To improve coalescing, first do coalesced read from global to shared memory. Then make scattered accesses "
          "to shared memory.",
          "cs121-coalescing", ((_walk("matrix_by_column"), _walk("matrix_padded")),), None, "free of bank conflicts"),
    Timed("small-penalty", CS121, "Improving coalescing",
          "Shared memory has much smaller penalty for scattered accesses.",
          "cs121-coalescing", ((_walk("matrix_by_column"), _walk("matrix_staged")),), None,
          "32-way bank conflicts against 32 sectors", today="close",
          why="A column of an unpadded tile is the worst that shared memory knows: 32 passes, as many as global memory "
          "needs. Any other stride costs less."),
    Timed("by-column-alone", CS121, "Memory coalescing",
          "For good performance, make global memory accesses as coalesced as possible.",
          "cs121-one-matrix", ((_sums("row_sums"), _sums("column_sums")),), None,
          "one matrix of 1,024 x 1,024, by column against by row", today="differs",
          why="With one thread per row every thread waits for its own next number, and a sector that one step fetches "
          "serves the next seven from the cache. Bandwidth is not what is missing."),
    Timed("staged-alone", CS121, "Improving coalescing",
          "To improve coalescing, first do coalesced read from global to shared memory. Then make scattered accesses "
          "to shared memory.",
          "cs121-one-matrix", ((_sums("row_sums"), _sums("row_sums_padded")),), None,
          "one matrix of 1,024 x 1,024, free of bank conflicts",
          today="differs",
          why="The requests are coalesced, but barriers were added; and the cache had already joined what the "
                "scattered reads fetched."),
    Timed("conflicts-are-slower", CS121, "Bank conflicts",
          "Accesses serialize, takes k passes to complete accesses.",
          "cs121-coalescing", ((_walk("matrix_staged"), _walk("matrix_padded")),), None, "k = 32 against k = 1"),
    Timed("stride-is-slower", CS121, "Memory coalescing",
          "If locations lie in k different segments, k*128 B are transferred. Access is uncoalesced.",
          "cs121-access", ((_memory("copy_strided"), _memory("copy_offset")),), None, "stride 8, n = 2^24"),
    Timed("one-bank-is-slower", CS121, "Bank conflicts",
          "Accesses serialize, takes k passes to complete accesses.",
          "cs121-banks", ((_memory("banks_strided"), _memory("banks_broadcast")),), 32,
          "k = 32 against a broadcast, n = 2^24", today="direction",
          why="Slower, but not 32 times: the loop around the accesses takes time as well."),
    Timed("neighbours-are-slower", CS121, "Bank conflict example",
          "If thread loads consecutive locations, 2 way bank conflict.",
          "cs121-banks", ((_memory("banks_pairs_neighbours"), _memory("banks_pairs_apart")),), 2,
          "what it costs, n = 2^24", today="close",
          why="The second pass is there, but happens while the copy waits for global memory."),
    Timed("divergence-is-slower", CS121, "Warp divergence",
          "If threads have k branches, SM takes k passes to run warp.",
          "cs121-divergence", ((_memory("divergence_ways"), _memory("divergence_warps")),), 8,
          "k = 8 by thread against by warp, n = 2^24"),
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
