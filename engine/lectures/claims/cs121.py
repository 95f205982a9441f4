"""What CS121 claims (GPUs and CUDA 2: Memory and Warps), with what decides it."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue.gpu_models import H200
from engine.lectures.claims.kinds import (
    CONSTANT_PASSES,
    CS121,
    LOAD_PASSES,
    SECTORS,
    AnyClaim,
    Claim,
    Computed,
    Count,
    Timed,
)
from engine.records import Choice

_BYTES = replace(SECTORS, scale=32.0)
_STORE_PASSES = Count("shared_store_wavefronts", "shared_store_requests")
_BRANCH_PASSES = Count("warp_instructions", "thread_instructions", 32.0, "value = value *")
_ALL_PASSES = Count("warp_instructions", "thread_instructions", 32.0)


def _latency(kernel: str) -> Choice:
    return Choice(kernel, 2**18, 256)


def _wide(kernel: str) -> Choice:
    return Choice(kernel, 2**22, 256)


def _sums(kernel: str) -> Choice:
    return Choice(kernel, 1024, 128)


def _memory(kernel: str) -> Choice:
    return Choice(kernel, 2**24, 256)


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
          why="About half of what the table says: launching and the arithmetic between two reads are timed as well. "
          "Without them, which is the time of the rung with a register, it is what the table says."),
    Timed("l1-latency", CS121, "GPU memory organization", "Latency (cycles): shared ~20, L1 cache ~20.",
          "cs121-latency", ((replace(_latency("latency_l1"), parameter=4), _latency("latency_shared")),), 1,
          "chains through 4 KB of L1 cache and of shared memory", today="differs",
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
    Timed("bandwidth", CS121, "GPU memory organization", "Bandwidth: global 900 GB/s, shared 12,000 GB/s.",
          "cs121-bandwidth", ((_wide("bandwidth_global"), _wide("bandwidth_shared")),), 12_000 / 900,
          "bytes that 2^22 threads ask for", "bandwidth_gb_s", "direction",
          "Global memory has gained more since then than the multiprocessors have."),
    Timed("l1-bandwidth", CS121, "GPU memory organization", "Bandwidth: L1 cache 12,000 GB/s, shared 12,000 GB/s.",
          "cs121-bandwidth", ((_wide("bandwidth_l1"), _wide("bandwidth_shared")),), 1,
          "shared memory against the L1 cache", "bandwidth_gb_s"),
    Timed("ten-times", CS121, "Shared memory and tiled MM", "Shared memory bandwidth is 10X global memory bandwidth.",
          "cs121-bandwidth", ((_wide("bandwidth_global"), _wide("bandwidth_shared")),), 10,
          "bytes that 2^22 threads ask for", "bandwidth_gb_s", "direction",
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
          "cs121-barriers", ((Choice("barrier_every_step", 2**14, 256), Choice("barrier_none", 2**14, 256)),), None,
          "one block on each of 64 SMs"),
    Timed("waiting-hidden", CS121, "Synchronization",
          "Decreases number of schedulable threads. May hurt latency hiding.",
          "cs121-barriers", ((Choice("barrier_every_step", 2**22, 256), Choice("barrier_none", 2**22, 256)),), None,
          "eight blocks on each SM"),
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
    Timed("by-column-is-slower", CS121, "Memory coalescing",
          "For good performance, make global memory accesses as coalesced as possible.",
          "cs121-coalescing", ((_wide("matrix_by_column"), _wide("matrix_by_row")),), None, "by column against by row"),
    Timed("staged-is-faster", CS121, "Improving coalescing",
          "To improve coalescing, first do coalesced read from global to shared memory. Then make scattered accesses "
          "to shared memory.",
          "cs121-coalescing", ((_wide("matrix_by_column"), _wide("matrix_padded")),), None, "free of bank conflicts"),
    Timed("small-penalty", CS121, "Improving coalescing",
          "Shared memory has much smaller penalty for scattered accesses.",
          "cs121-coalescing", ((_wide("matrix_by_column"), _wide("matrix_staged")),), None,
          "32-way bank conflicts against 32 sectors", today="differs",
          why="A column of an unpadded tile is the worst that shared memory knows, 32 passes, and the numbers had to "
          "be copied there first. Any other stride costs less."),
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
          "cs121-coalescing", ((_wide("matrix_staged"), _wide("matrix_padded")),), None, "k = 32 against k = 1"),
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
)  # fmt: skip
