"""The claims of CS121 (GPUs and CUDA 2: Memory and Warps), each with the runs that decide it."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue.gpu_models import H200, LECTURE_GPU, GpuModel
from engine.catalogue.published import printed
from engine.lectures.arithmetic.matmul import LectureNumbers, float_operations, lecture_numbers
from engine.lectures.claim import (
    CONSTANT_PASSES,
    CS121,
    LOAD_PASSES,
    SECTORS,
    TIMES,
    Claim,
    Computed,
    Counted,
    Status,
    TimeRatio,
    emulated,
)
from engine.plan import settle
from engine.records import Choice

_BYTES = replace(SECTORS, scale=32.0, unit="bytes per request")
_STORE_PASSES = Counted("shared_store_wavefronts", "shared_store_requests", unit="passes")
_BRANCH_PASSES = Counted("warp_instructions", "thread_instructions", 32.0, "value = value *", unit="passes")
_ALL_PASSES = Counted("warp_instructions", "thread_instructions", 32.0, unit="passes")


def _latency(kernel: str) -> Choice:
    return Choice(kernel, 2**18, 256)


def _wide(kernel: str) -> Choice:
    return Choice(kernel, 2**22, 256)


def _sums(kernel: str) -> Choice:
    return Choice(kernel, 1024, 128)


def _strided(kernel: str, stride: int) -> Choice:
    return Choice(kernel, 2**22, 256, parameter=stride)


def _memory(kernel: str) -> Choice:
    return Choice(kernel, 2**24, 256)


_ONE_PASS = "If threads in a warp access different banks, completes in one pass."
_K_WAYS = (
    "If k > 1 threads access different addresses in same bank, get k-way bank conflict. Accesses serialize, takes k "
    "passes to complete accesses."
)
_K_BRANCHES = "If threads have k branches, SM takes k passes to run warp."

_TREE = Choice("reduce_sequential", 4096, 128, device="emulator")
_SHARED = "__shared__ T partial[BLOCK_SIZE];"
_STEP = "            partial[tid] += partial[tid + stride];\n        __syncthreads();"


def _matrix(kernel: str) -> Choice:
    return Choice(kernel, 1024, 16, dtype="float32")


def _numbers(tile_width: int, gpu: GpuModel = LECTURE_GPU, kernel: str = "matmul_tiled") -> LectureNumbers:
    return lecture_numbers(settle(Choice(kernel, 1024, tile_width, dtype="float32", device="gpu")), gpu)


def _printed(figure: str) -> float:
    return printed(CS121, figure)


_BANDWIDTH = _printed("bandwidth of shared memory") / _printed("bandwidth of global memory")

CLAIMS: tuple[Claim, ...] = (
    Claim("latency", CS121, "GPU memory organization", "Latency (cycles): global 400-800, shared ~20.",
          "cs121-latency", TimeRatio(beyond=True, unit="the latency"), "about",
          _printed("latency of global memory") / _printed("latency of shared memory"), (_latency("latency_global"),
          _latency("latency_shared"), _latency("latency_register")), "a chain of 1024 numbers, one thread, less the "
          "time of the rung with a register, which is the launch and the arithmetic"),
    Claim("l1-latency", CS121, "GPU memory organization", "Latency (cycles): shared ~20, L1 cache ~20.",
          "cs121-latency", TIMES, "equals", 1, (replace(_latency("latency_l1"), parameter=4),
          _latency("latency_shared")), "chains through 4 KB of L1 cache and of shared memory", "differs",
          "Both are the same memory, but the cache must look an address up first, and its addresses are 64 bits long.",
          "case"),
    Claim("register-latency", CS121, "GPU memory organization", "Latency (cycles): shared ~20, registers ~1.",
          "cs121-latency", TIMES, "more than", 1, (_latency("latency_shared"), _latency("latency_register")),
          "which is faster, by a chain of 1024 steps; by how much, no chain shows: a step's arithmetic takes longer "
          "than a register"),
    Claim("split", CS121, "GPU memory organization", "Shared memory size + L1 cache size = 64KB. User configurable.",
          "cs121-latency", Computed(lambda: H200.l1_bytes >> 10, "KB", "the GPU's data sheet"), "equals",
          _printed("shared memory and L1 cache of an SM"), (),
          "of an SM of the H200", 256, "256 KB, of which kernels may have up to 228 KB as shared memory; the rest is "
          "L1 cache. It is still configurable: a kernel asks for a carve-out, else the driver chooses.", "changed"),
    Claim("bandwidth", CS121, "GPU memory organization", "Bandwidth: global 900 GB/s, shared 12,000 GB/s.",
          "cs121-bandwidth", TimeRatio("bandwidth_gb_s"), "about", _BANDWIDTH, (_wide("bandwidth_global"),
          _wide("bandwidth_shared")), "bytes that 2^22 threads ask for", "direction",
          "Global memory has gained more since then than the multiprocessors have."),
    Claim("l1-bandwidth", CS121, "GPU memory organization", "Bandwidth: L1 cache 12,000 GB/s, shared 12,000 GB/s.",
          "cs121-bandwidth", TimeRatio("bandwidth_gb_s"), "equals", 1, (_wide("bandwidth_l1"),
          _wide("bandwidth_shared")), "shared memory against the L1 cache"),
    Claim("ten-times", CS121, "Shared memory and tiled MM", "Shared memory bandwidth is 10X global memory bandwidth.",
          "cs121-bandwidth", TimeRatio("bandwidth_gb_s"), "about",
          _printed("shared over global bandwidth"), (_wide("bandwidth_global"),
          _wide("bandwidth_shared")), "bytes that 2^22 threads ask for", "direction",
          "Global memory has gained more since then than the multiprocessors have."),
    Claim("constant-words", CS121, "GPU memory organization", "Constant: 64KB, cached; grid, read-only.",
          "cs121-constant", CONSTANT_PASSES, "equals", 32, emulated("constant_words", n=256),
          "32 different words", question="How many words does constant memory deliver at a time?"),
    Claim("constant-broadcast", CS121, "GPU memory organization", "Constant: 64KB, cached; grid, read-only.",
          "cs121-constant", CONSTANT_PASSES, "equals", 1, emulated("constant_broadcast", n=256),
          "the same word for all lanes", question="How many words does constant memory deliver at a time?"),
    Claim("constant-is-slower", CS121, "GPU memory organization", "Constant: 64KB, cached; grid, read-only.",
          "cs121-constant", TIMES, "more than", 1, (Choice("constant_words", 2**18, 256), Choice("constant_broadcast",
          2**18, 256)), "32 different words against one", question="What do different words for the lanes cost?"),
    Claim("waiting", CS121, "Synchronization",
          "Threads arriving earlier at the barrier wait for later threads. Avoid synchronization if possible.",
          "cs121-barriers", TIMES, "more than", 1, (Choice("barrier_every_step", 2**14, 256), Choice("barrier_none",
          2**14, 256)), "one block on each of 64 SMs"),
    Claim("waiting-hidden", CS121, "Synchronization",
          "Decreases number of schedulable threads. May hurt latency hiding.", "cs121-barriers", TIMES, "more than",
          1, (Choice("barrier_every_step", 2**22, 256), Choice("barrier_none", 2**22, 256)),
          "eight blocks on each SM"),
    Claim("hidden-latency", CS121, "Global memory latency", "If each thread waits (blocks) for a global memory "
          "operation to finish before doing the next operation, performance is very poor. Total throughput high, even "
          "though each thread has high latency.", "cs121-latency", TimeRatio("gflop_s"), "more than", 1,
          (_latency("latency_global"), _latency("latency_hidden")),
          "numbers per second: one thread that waits, against 2^18 that wait together"),
    Claim("one-segment", CS121, "Memory coalescing", "If all 32 locations being read lie in one segment, hardware "
          "detects this and only transfers one segment (128 B) from global memory to SM.", "cs121-access", _BYTES,
          "equals", 128, emulated("copy_offset", parameter=0)),
    Claim("worst-case-segments", CS121, "Memory coalescing",
          "In worst case, transfer 32*128 B = 4KB to read 32 floats!", "cs121-access", _BYTES, "equals", 4096,
          emulated("copy_strided", dtype="float32", parameter=32), today=1024,
          why="A GPU of today moves sectors of 32 bytes, not segments of 128 bytes: 32 * 32 B = 1 KB.",
          cause="changed"),
    Claim("by-row", CS121, "Coalescing example", "Locations all consecutive. All iterations coalesced.",
          "cs121-coalescing", _BYTES, "equals", 128, emulated("matrix_by_row", n=128)),
    Claim("by-column", CS121, "Coalescing example",
          "Each iteration accesses nonconsecutive locations. All accesses noncoalesced.", "cs121-coalescing", SECTORS,
          "equals", 32, emulated("matrix_by_column", n=128), "a sector of its own for every lane"),
    Claim("staged", CS121, "Improving coalescing",
          "To improve coalescing, first do coalesced read from global to shared memory.", "cs121-coalescing", _BYTES,
          "equals", 128, emulated("matrix_staged", n=128)),
    Claim("staged-conflicts", CS121, "Bank conflicts", _K_WAYS, "cs121-coalescing", LOAD_PASSES, "equals", 32,
          emulated("matrix_staged", n=128), "k = 32: a column of the tile"),
    Claim("padded", CS121, "Bank conflicts", _ONE_PASS, "cs121-coalescing", LOAD_PASSES, "equals", 1,
          emulated("matrix_padded", n=128), "a column of the padded tile"),
    Claim("no-conflict", CS121, "Bank conflicts", _ONE_PASS, "cs121-banks", LOAD_PASSES, "equals", 1,
          emulated("banks_strided", n=256, parameter=1), "stride 1"),
    *(Claim(f"{ways}-way-conflict", CS121, "Bank conflicts", _K_WAYS, "cs121-banks", LOAD_PASSES, "equals", ways,
            emulated("banks_strided", n=256, parameter=ways), f"k = {ways}")
      for ways in (2, 4, 8, 16, 32)),
    Claim("broadcast", CS121, "Bank conflicts",
          "Unless all threads access same value, which then gets broadcast in one pass.", "cs121-banks", LOAD_PASSES,
          "equals", 1, emulated("banks_broadcast", n=256, parameter=1)),
    Claim("consecutive-locations", CS121, "Bank conflict example",
          "If thread loads consecutive locations, 2 way bank conflict.", "cs121-banks", _STORE_PASSES, "equals", 2,
          emulated("banks_pairs_neighbours")),
    Claim("block-size-apart", CS121, "Bank conflict example",
          "If thread loads locations block size apart, no bank conflicts!", "cs121-banks", _STORE_PASSES, "equals", 1,
          emulated("banks_pairs_apart")),
    Claim("three-branches", CS121, "Warp divergence", _K_BRANCHES, "cs121-divergence", _ALL_PASSES, "equals", 3,
          emulated("divergence_three"), "k = 3: the lecture's example", 1,
          "The branches are so short that the compiler computes all values and selects one: no branch is left.",
          "changed"),
    *(Claim(f"{ways}-branches", CS121, "Warp divergence", _K_BRANCHES, "cs121-divergence", _BRANCH_PASSES, "equals",
            ways, emulated("divergence_ways", n=1024, parameter=ways), f"k = {ways}")
      for ways in (2, 3, 8)),
    Claim("worst-case-divergence", CS121, "Warp divergence", "In worst case, SM takes 32 passes to run one warp!",
          "cs121-divergence", _BRANCH_PASSES, "equals", 32, emulated("divergence_ways", n=1024, parameter=32)),
    Claim("different-warps", CS121, "Thread warps",
          "Different warps can do different things without performance loss.", "cs121-divergence", _BRANCH_PASSES,
          "equals", 1, emulated("divergence_warps", n=1024, parameter=32)),
    Claim("by-column-is-slower", CS121, "Memory coalescing",
          "For good performance, make global memory accesses as coalesced as possible.", "cs121-coalescing", TIMES,
          "more than", 1, (_wide("matrix_by_column"), _wide("matrix_by_row")), "by column against by row"),
    Claim("staged-is-faster", CS121, "Improving coalescing", "To improve coalescing, first do coalesced read from "
          "global to shared memory. Then make scattered accesses to shared memory.", "cs121-coalescing", TIMES,
          "more than", 1, (_wide("matrix_by_column"), _wide("matrix_padded")), "free of bank conflicts"),
    *(Claim(f"small-penalty-{stride}", CS121, "Improving coalescing", "Shared memory has much smaller penalty for "
            "scattered accesses.", "cs121-banks", TimeRatio(unit="smaller", words="a smaller penalty"), "more than", 1,
            (_strided("copy_strided", stride), _strided("copy_strided", 1), _strided("banks_strided", 1),
            _strided("banks_strided", stride)), f"stride {stride} against stride 1: the slowdown in global memory over "
            "that in shared memory") for stride in (3, 7, 31)),
    Claim("small-penalty", CS121, "Improving coalescing", "Shared memory has much smaller penalty for scattered "
          "accesses.", "cs121-coalescing", TIMES, "more than", 1, (_wide("matrix_by_column"), _wide("matrix_staged")),
          "32-way bank conflicts against 32 sectors", "differs", "A column of an unpadded tile is the worst case of "
          "shared memory, 32 passes, and the numbers had to be copied there first.", "case"),
    Claim("by-column-alone", CS121, "Memory coalescing",
          "For good performance, make global memory accesses as coalesced as possible.", "cs121-one-matrix", TIMES,
          "more than", 1, (_sums("row_sums"), _sums("column_sums")),
          "one matrix of 1,024 x 1,024, by column against by row", "differs", "With one thread per row every thread "
          "waits for its own next numbers, and a sector that one step fetches serves the next seven from the cache. "
          "Bandwidth does not limit it.", "case"),
    Claim("staged-alone", CS121, "Improving coalescing", "To improve coalescing, first do coalesced read from global "
          "to shared memory. Then make scattered accesses to shared memory.", "cs121-one-matrix", TIMES, "more than",
          1, (_sums("row_sums"), _sums("row_sums_padded")), "one matrix of 1,024 x 1,024, free of bank conflicts",
          "differs", "The requests are coalesced, but barriers were added; and the cache already kept the sectors that "
          "the scattered reads fetched.", "case"),
    Claim("conflicts-are-slower", CS121, "Bank conflicts", "Accesses serialize, takes k passes to complete accesses.",
          "cs121-coalescing", TIMES, "more than", 1, (_wide("matrix_staged"), _wide("matrix_padded")),
          "k = 32 against k = 1"),
    Claim("stride-is-slower", CS121, "Memory coalescing",
          "If locations lie in k different segments, k*128 B are transferred. Access is uncoalesced.", "cs121-access",
          TIMES, "more than", 1, (_memory("copy_strided"), _memory("copy_offset")), "stride 8, n = 2^24"),
    Claim("one-bank-is-slower", CS121, "Bank conflicts", "Accesses serialize, takes k passes to complete accesses.",
          "cs121-banks", TIMES, "about", 32, (_memory("banks_strided"), _memory("banks_broadcast")),
          "k = 32 against a broadcast, n = 2^24", "direction",
          "Slower, but not 32 times: the loop around the accesses takes time as well."),
    Claim("neighbours-are-slower", CS121, "Bank conflict example",
          "If thread loads consecutive locations, 2 way bank conflict.", "cs121-banks", TIMES, "more than", 1,
          (_memory("banks_pairs_neighbours"), _memory("banks_pairs_apart")), "n = 2^24", "close",
          "The second pass happens while the copy waits for global memory.", "case",
          "What does the conflict cost?"),
    Claim("divergence-is-slower", CS121, "Warp divergence",
          "If threads have k branches, SM takes k passes to run warp.", "cs121-divergence", TIMES, "about", 8,
          (_memory("divergence_ways"), _memory("divergence_warps")), "k = 8 by thread against by warp, n = 2^24"),
    Claim("tiles-reuse", CS121, "Shared memory and tiled MM",
          "Total (n/m)^2*(n/m)*2m^2 = 2n^3/m accesses. A factor of m less!", "cs121-tiling",
          Counted("global_load_requests", unit="times fewer reads"), "equals", 16, emulated("matmul_tiled",
          "matmul_naive", n=64, block_size=16, dtype="float32"), "m = 16"),
    Claim("divergent-iterations", CS121, "Reducing divergence", "8 iterations, only 4 have divergence.", "harris",
          Counted("divergent_branches", line="if (tid < stride)", unit="iterations"), "equals", 4,
          emulated("reduce_sequential", n=512, block_size=512), "512 values", 5,
          "The lecture's loop stops before stride 1. All strides below 32 diverge: 16, 8, 4, 2 and 1.", "error"),
    Claim("no-divergence-left", CS121, "Reducing divergence", "Can you get rid of the 4 iterations with divergence?",
          "harris", Counted("divergent_branches", line="tid < ", unit="divergent branches"), "equals", 0,
          emulated("reduce_complete_volatile", n=512, block_size=512),
          "the last warp adds with all of its lanes"),
    Claim("tiles-are-faster", CS121, "Tiled matrix multiply performance",
          "Can get (200GB/4B)*(3 FLOP / 1B)*16 = 2400 GFLOPS, compared to 150 GFLOPS from before!", "cs121-tiling",
          TIMES, "about", 16, (_matrix("matmul_naive"), _matrix("matmul_tiled")), "16 x 16 tiles, n = 1024",
          "direction", "Faster, but not by 16: caches serve most of the naive kernel's reads, which the lecture "
          "counts as reads from memory."),
    Claim("uncoalesced-is-slower", CS121, "Thread warps",
          "It's much slower when there's noncoalesced memory accesses, control flow divergence or bank conflicts.",
          "cs121-tiling", TIMES, "more than", 1, (_matrix("matmul_uncoalesced"), _matrix("matmul_naive")),
          "noncoalesced"),
    Claim("reuse", CS121, "Effective use of shared memory", "General strategy is to find reused data and load it into "
          "fast, high bandwidth memory. Very effective in practice.", "beyond-tiling", TIMES, "more than", 1,
          (Choice("matmul_tiled", 4096, 16, dtype="float32"), Choice("matmul_register_2d", 4096, 16,
          dtype="float32")), "reuse in registers, beyond shared memory"),
    Claim("reuse-of-an-element", CS121, "Exploiting data reuse",
          "Threads in P_tile cooperate to load purple tiles, eliminating redundant global memory reads. A factor of "
          "TILE WIDTH less!", "beyond-tiling", Counted("global_load_requests", unit="times fewer reads"), "equals", 16,
          emulated("matmul_tiled", "matmul_naive", n=64, block_size=16, dtype="float32"), "16 x 16 tiles"),
    Claim("arrays-in-registers", CS121, "CUDA Variable Type Qualifiers", "Automatic variables without any qualifier "
          "reside in a register. Except per-thread arrays, which reside in global memory.", "beyond-tiling",
          Computed(lambda: _numbers(16, H200, "matmul_register_2d").resources.local_bytes, "bytes per thread"),
          "equals", 256, (), "the array of 8 x 8 sums of a thread", 0,
          "The loops are unrolled, so every index is a constant: all sums are registers.", "case"),
    Claim("shared-in-scope-of-a-block", CS121, "CUDA Variable Type Qualifiers", "int SharedVar: shared, block, block. "
          "int LocalVar: register, thread, thread.", "harris", Status((_SHARED, _SHARED.replace("__shared__ ", ""))),
          "one of", ("wrong", "hazard"), (_TREE,), "#3 without __shared__: each thread has an array of its own"),
    Claim("device-is-optional", CS121, "CUDA Variable Type Qualifiers", "__device__ is optional when used with "
          "__shared__, or __constant__.", "harris", Status((_SHARED, f"__device__ {_SHARED}")), "one of", ("ok",),
          (_TREE,), "#3 with __device__ __shared__ for its array"),
    Claim("shared-bytes", CS121, "Tiled matrix multiply performance",
          "Each thread block uses 16 x 16 x 4B x (2 matrices) = 2KB of shared memory.", "cs121-tiling",
          Computed(lambda: _numbers(16).resources.shared_bytes, "bytes"), "equals",
          _printed("shared memory of a tiled block"), (),
          "in the compiled kernel"),
    Claim("eight-blocks", CS121, "Tiled matrix multiply performance",
          "Even if only 16KB shared memory, can still run 8 blocks per SM.", "cs121-tiling",
          Computed(lambda: _numbers(16).occupancy.limits["shared memory"], "blocks"), "equals",
          _printed("blocks that shared memory allows")),
    Claim("six-blocks", CS121, "Tiled matrix multiply performance",
          "Each block has 256 threads, so 6 blocks enough to saturate SM with 1536 thread capacity.", "cs121-tiling",
          Computed(lambda: _numbers(16).occupancy.limits["threads"], "blocks"), "equals",
          _printed("blocks that threads allow")),
    Claim("full-occupancy", CS121, "Tiled matrix multiply performance",
          "Can still run 8 blocks per SM, which is enough to achieve full occupancy.", "cs121-tiling",
          Computed(lambda: _numbers(16).occupancy.fraction * 100, "% occupancy"), "equals",
          _printed("occupancy of 16 x 16 tiles"), (),
          "16 x 16 tiles, registers included"),
    Claim("one-block", CS121, "Tiled matrix multiply performance",
          "If use 32x32 tiles, then 1024 threads per tile / thread block, so only one thread block per SM.",
          "cs121-tiling", Computed(lambda: _numbers(32).occupancy.blocks, "blocks"), "equals",
          _printed("blocks of 32 x 32 tiles")),
    Claim("two-thirds", CS121, "Tiled matrix multiply performance", "Only 2/3 occupancy if SM can run 1536 threads.",
          "cs121-tiling", Computed(lambda: _numbers(32).occupancy.fraction, "of the threads"), "equals",
          _printed("occupancy of 32 x 32 tiles")),
    Claim("two-blocks-today", CS121, "Tiled matrix multiply performance", "Only one thread block per SM.",
          "cs121-tiling", Computed(lambda: _numbers(32, H200).occupancy.blocks, "blocks"), "equals",
          _printed("blocks of 32 x 32 tiles"), (),
          "32 x 32 tiles on an H200", 2,
          "An SM of the H200 has room for 2,048 threads: two blocks, and full occupancy.", "changed"),
    Claim("cgma", CS121, "Global memory bandwidth", "Compute to global memory access (CGMA) ratio 3:1.",
          "cs121-tiling", Computed(lambda: _numbers(16, kernel="matmul_naive").cgma, ": 1"), "equals",
          _printed("CGMA of the naive kernel"), (),
          "the naive kernel, by the lecture's six operations for each product"),
    Claim("six-operations", CS121, "Global memory bandwidth", "6 floating point ops (+, *) for 2 memory ops (read M "
          "and N).", "cs121-tiling", Computed(lambda: float_operations(settle(_matrix("matmul_naive"))),
          "floating point operations", "the kernel's PTX"), "equals", _printed("operations of a product"), (),
          "for two loads of the naive kernel", 2, "One multiplication and one addition are of floats. The other four "
          "compute the two addresses, in integers. By floats alone the ratio is 1:1, and 200 GB/s allow 50 GFLOPS.",
          "error"),
    Claim("naive-bound", CS121, "Global memory bandwidth", "200 GB/s = 50G floating point vals / sec => 150 GFLOPS.",
          "cs121-tiling", Computed(lambda: _numbers(16, kernel="matmul_naive").bound_gflop_s, "GFLOPS"), "equals",
          _printed("bound of the naive kernel")),
    Claim("part-of-the-peak", CS121, "Global memory bandwidth", "150 GFLOPS. 1/10 of theoretical peak!", "cs121-tiling",
          Computed(lambda: _numbers(16, kernel="matmul_naive").bound_gflop_s / _printed("peak of the GPU"),
          "of the peak"), "equals", _printed("part of the peak"), (), "the naive kernel's bound, of 1.5 TFLOPS"),
    Claim("as-many-accesses", CS121, "Shared memory and tiled MM", "Doesn't decrease overall number of memory "
          "accesses. Threads do 2n^3 reads to shared memory instead of global memory.", "cs121-tiling",
          Counted("shared_load_requests", "global_load_requests", unit="shared reads for a global one"), "equals", 16,
           emulated("matmul_tiled", n=64, block_size=16, dtype="float32"), "m = 16: each number that is "
          "loaded is read 16 times", 10, "The compiler joins four neighbouring words of M into one read of 16 bytes: "
          "16 reads of N's words and 4 of M's for every two loads.", "changed"),
    Claim("two-passes", CS121, "Reducing divergence", "Each iteration has 2 branches. Each iteration takes 2 passes to "
          "complete.", "harris", Counted("shared_store_requests", line="partial[tid] += partial[tid + stride]",
          unit="passes"), "equals", 10, emulated("reduce_interleaved", n=32, block_size=32, combine="host"),
          "the 5 iterations of a tree of one warp", 5, "The if has no else: the warp runs the addition once, and the "
          "lanes without work wait for it.", "error"),
    Claim("tiled-bound", CS121, "Tiled matrix multiply performance",
          "Can get (200GB/4B)*(3 FLOP / 1B)*16 = 2400 GFLOPS.", "cs121-tiling",
          Computed(lambda: _numbers(16).bound_gflop_s, "GFLOPS"), "equals", _printed("bound of the tiled kernel")),
    Claim("tiles-complete", CS121, "Synchronization", "Ex In MM, threads must finish loading M, N tiles into shared "
          "mem before any thread can start its dot product.", "cs121-tiling",
          Status(("        __syncthreads();  // the tiles are complete\n", "")), "one of", ("wrong", "hazard"),
          (Choice("matmul_tiled", 64, 16, dtype="float32", device="emulator"),), "without that barrier"),
    Claim("tiles-used", CS121, "Shared memory and tiled MM",
          "After all threads finished with the tiles, next two tiles loaded, overwriting current ones.",
          "cs121-tiling", Status(("        __syncthreads();  // the tiles are no longer needed\n", "")), "one of",
          ("wrong", "hazard"), (Choice("matmul_tiled", 64, 16, dtype="float32", device="emulator"),),
          "without the second barrier"),
    Claim("barrier-in-a-branch", CS121, "Synchronization", "If __syncthreads() occurs in if block, then all threads "
          "must go through the if, or none do. Otherwise block never finishes.", "harris", Status((_STEP,
          _STEP.replace("            partial", "        {\n            partial") .replace("        __syncthreads();",
          "            __syncthreads();\n        }"))), "one of", ("deadlock", "timeout"), (_TREE,),
          "the barrier of #3 moved into its if", "hazard", "It finishes, as the threads that skip the barrier soon "
          "leave the kernel, and a barrier does not wait for those that have left. The barrier no longer defines "
          "which threads wait, so the run counts as a hazard.", "error"),
    Claim("barrier-in-both-branches", CS121, "Synchronization", "If __syncthreads() occurs in both branches of "
          "if-then-else code block, all threads must go through same branch, or block never finishes.", "harris",
          Status((_STEP, _STEP.replace("            partial",
          "        {\n            partial") .replace("        __syncthreads();",
          "            __syncthreads();\n        } else {\n            __syncthreads();\n        }"))), "one of",
          ("deadlock", "timeout"), (_TREE,), "#3 with a barrier in its if and one in its else", "hazard",
          "It finishes: for the hardware both are the same barrier, and every thread arrives. But the compiler may "
          "rely on the rule, so the run counts as a hazard.", "error"),
    Claim("halving-loop", CS121, "Reducing divergence", "for (int stride = blockDim.x; stride > 1; stride /= 2).",
          "harris", Status(("stride = blockDim.x / 2; stride > 0; stride >>= 1",
          "stride = blockDim.x; stride > 1; stride /= 2")), "one of", ("ok",), (replace(_TREE, n=512,
          block_size=512),), "#3 with the loop as it stands on the slide", "out-of-bounds", "The slide's loop starts "
          "one step too early, where every thread reads past the array, and stops before stride 1. From blockDim.x / "
          "2 down to 1 it is right.", "error"),
    Claim("endless-thread", CS121, "Synchronization",
          "If code has __syncthreads() but some thread in block goes into infinite loop, block will never finish!",
          "harris", Status(("    // reduce in shared memory\n", "    while (tid == 0) __threadfence();\n")), "one of",
          ("deadlock", "timeout"), (_TREE,), "thread 0 of #3 waits before the tree"),
)  # fmt: skip
