"""What Harris and Crovella claim (Optimizing Parallel Reduction; Atomics, Reductions, Warp Shuffle)."""

from __future__ import annotations

from dataclasses import replace

from engine.lectures.claims.kinds import (
    CROVELLA,
    CS121,
    LOAD_PASSES,
    Agreement,
    AnyClaim,
    Claim,
    Computed,
    Count,
    Ends,
    Timed,
    Untestable,
)
from engine.records import Choice

_STEPS = Count("branches", "global_load_requests", line="if (tid < stride)", whole_under=True)  # one load per warp
_NO_VOLATILE = ("volatile T", "T")
_AS_PRINTED = ("blockDim.x * gridDim.x", "blockDim.x * blockDim.x")
_TABLE = "Performance for 4M element reduction"


def _rung(kernel: str, n: int = 2**22) -> Choice:
    return Choice(kernel, n, 128, combine="relaunch")


def _single(kernel: str, combine: str, block_size: int = 128) -> Choice:
    return Choice(kernel, 2**22, block_size, combine=combine)


def _emulated(kernel: str, dtype: str = "int32") -> Choice:
    return Choice(kernel, 4096, 128, dtype=dtype, device="emulator")


def _step(number: int, slow: str, fast: str, said: float, sentence: str, why: str = "",
          today: Agreement = "holds") -> Timed:  # fmt: skip
    """Kernel `number` of the lecture's table is `said` times as fast as the one before."""
    return Timed(f"step-{number}", CROVELLA, _TABLE, sentence, "harris", ((_rung(slow), _rung(fast)),), said,
                 f"kernel {number} against kernel {number - 1}", today=today, why=why)  # fmt: skip


def _printed(name: str, slide: str, kernel: str, blocks: int) -> Ends:
    """The loop as the slide prints it, with so many blocks of 128 threads."""
    square = blocks == 128
    return Ends(name, CROVELLA, slide, "idx += blockDim.x*blockDim.x; // grid width.", "crovella",
                Choice(kernel, 2**15, 128, grid_size=blocks, device="emulator"), ("ok",),
                f"as printed, {blocks} blocks of 128 threads", _AS_PRINTED, today="" if square else "wrong",
                why="" if square else "The width of the grid is blockDim.x * gridDim.x. As printed the loop leaves "
                "elements out, or adds them twice, unless there are as many blocks as threads in one.")  # fmt: skip


CLAIMS: tuple[AnyClaim, ...] = (
    Claim("tree-steps", CROVELLA, "Parallel Reduction Complexity",
          "log(N) parallel steps, each step S does N/2^S independent ops.",
          "harris", "reduce_sequential", _STEPS, "steps", 7, "N = 128: one block", n=128),
    Claim("sequential-conflict-free", CROVELLA, "Parallel Reduction: Sequential Addressing",
          "Sequential addressing is conflict free.",
          "harris", "reduce_sequential", LOAD_PASSES, "passes", 1),
    Claim("one-shuffle", CROVELLA, "Warp shuffle tips and tricks",
          "Broadcast a value to all threads in the warp in a single instruction.",
          "crovella-warps", "warp_broadcast", Count("shuffles", "global_store_requests"), "shuffles per warp", 1),
    Claim("every-thread-at-once", CROVELLA, "Reduction: naive thread strategy",
          "But every thread is trying to do this, potentially at the same time.",
          "crovella-atomics", "atomic_add", Count("atomic_max_contention"), "lanes at one address", 32,
          "the 32 lanes of a warp", parameter=1),
    Claim("aggregated", CROVELLA, "Warp shuffle tips and tricks", "Atomic aggregation.",
          "crovella-order", "filter_aggregated", Count("atomic_max_contention"), "lanes at one address", 1,
          "one lane draws for its warp"),
    _step(2, "reduce_interleaved", "reduce_strided", 2.33,
          "Problem: highly divergent warps are very inefficient, and % operator is very slow.",
          "Less than in the lecture: the compiler predicates the short if, so that only the slow % is left.",
          "direction"),
    _step(3, "reduce_strided", "reduce_sequential", 2.01, "New Problem: Shared Memory Bank Conflicts.",
          "Less than in the lecture: the conflicts are gone, but shared memory is not what most of the time goes to.",
          "direction"),
    _step(4, "reduce_sequential", "reduce_first_add", 1.78,
          "Half of the threads are idle on first loop iteration! This is wasteful...",
          "Less than in the lecture: launching takes a larger part of a short run today.", "direction"),
    _step(5, "reduce_first_add", "reduce_unroll_volatile", 1.8,
          "Therefore a likely bottleneck is instruction overhead. Strategy: unroll loops.",
          "Less than in the lecture: instructions cost less today, next to launching and memory.", "direction"),
    _step(6, "reduce_unroll_volatile", "reduce_complete_volatile", 1.41, "Results in a very efficient inner loop!",
          "All that is left to unroll with 128 threads is two steps of the loop.", "close"),
    _step(7, "reduce_complete_volatile", "reduce_multiple_volatile", 1.42,
          "Combine sequential and parallel reduction. Can lead to significant speedups in practice."),
    Timed("all-steps", CROVELLA, _TABLE, "Kernel 7: multiple elements per thread, cumulative speedup 30.04x.",
          "harris", ((_rung("reduce_interleaved"), _rung("reduce_multiple_volatile")),), 30.04,
          today="direction",
          why="Less than in the lecture: the first rungs are no longer so slow, and the last waits for its launches."),
    Timed("larger-is-better", CROVELLA, _TABLE, "Kernel 7 on 32M elements: 73 GB/s!", "harris",
          ((_rung("reduce_multiple_volatile"), _rung("reduce_multiple_volatile", 2**25)),), 73 / 62.671,
          "32M against 4M elements", "bandwidth_gb_s", "direction",
          "More than in the lecture: launching takes a larger part of a short run today, and a large sum hides it."),
    Timed("algorithmic", CROVELLA, "Types of optimization",
          "Algorithmic optimizations: changes to addressing, algorithm cascading. 11.84x speedup, combined!", "harris",
          ((_rung("reduce_interleaved"), _rung("reduce_first_add")),
           (_rung("reduce_complete_volatile"), _rung("reduce_multiple_volatile"))), 11.84, "#1 to #4, and #6 to #7",
          today="direction",
          why="Less than in the lecture: the first rungs are no longer so slow."),
    Timed("code", CROVELLA, "Types of optimization",
          "Code optimizations: loop unrolling. 2.54x speedup, combined.", "harris",
          ((_rung("reduce_first_add"), _rung("reduce_complete_volatile")),), 2.54, "#4 to #6",
          today="direction",
          why="Less than in the lecture: instructions cost less today, next to launching and memory."),
    Claim("half-the-blocks", CROVELLA, "Reduction #4: First Add During Load",
          "Halve the number of blocks, and replace single load.",
          "harris", "reduce_first_add", Count("global_store_requests"), "times fewer block sums", 2,
          "4096 values, 128 threads", against="reduce_sequential", combine="host"),
    Claim("fewer-barriers", CROVELLA, "Unrolling the Last Warp",
          "We don't need to __syncthreads(). Let's unroll the last 6 iterations of the inner loop.",
          "harris", "reduce_unroll_volatile", Count("barriers"), "times fewer barriers", 4,
          "128 threads: 8 barriers become 2", against="reduce_first_add", combine="host"),
    Ends("lockstep", CROVELLA, "Unrolling the Last Warp",
         "Instructions are SIMD synchronous within a warp. We don't need to __syncthreads().",
         "harris", _emulated("reduce_unroll_volatile"), ("ok",), today="hazard",
         why="Since Volta no warp promises lockstep. The answer is still right on most runs, and nothing says that it "
         "stays so; __syncwarp does."),
    Ends("volatile", CROVELLA, "Reduction #5: Unroll the Last Warp",
         "IMPORTANT: For this to be correct, we must use the volatile keyword!",
         "harris", _emulated("reduce_unroll_volatile"), ("wrong",), "without it", _NO_VOLATILE),
    Ends("second-read", CROVELLA, "Reduction #7: Multiple Adds / Thread",
         "sdata[tid] += g_idata[i] + g_idata[i+blockSize].",
         "harris", replace(_emulated("reduce_multiple_volatile"), n=5000), ("ok",), "as printed, 5,000 numbers",
         ("((i + BLOCK_SIZE < n) ? in[i + BLOCK_SIZE] : T(0))", "in[i + BLOCK_SIZE]"), today="out-of-bounds",
         why="Only the first of the two reads is checked. It is right where n is a multiple of twice the block size, "
         "as in the lecture; here the second read is checked as well."),
    Computed("peak-of-g80", CROVELLA, "What is Our Optimization Goal?", "384 * 1800 / 8 = 86.4 GB/s.",
             "harris", lambda: 384 * 1800 / 8 / 1000, "GB/s", 86.4, "a bus of 384 bits, 900 MHz at double data rate",
             source="the slide's own figures"),
    Ends("sum-of-floats", CROVELLA, "Motivating example",
         "sum variable contains the sum of all the elements of array a.",
         "float-truths", Choice("floats_serial", 2**24 + 2**20, 256, dtype="float32", device="emulator"), ("ok",),
         "17,825,792 ones as float32", today="wrong", why="A float has 24 binary digits: the sum stops at 2^24."),
    Ends("does-not-work", CROVELLA, "Reduction: naive thread strategy", "*c += a[i]; (Doesn't work.)",
         "crovella", _emulated("reduce_racy"), ("wrong",)),
    Ends("indivisible", CROVELLA, "Atomics to the rescue",
         "These three operations are performed in one atomic transaction.",
         "crovella", _emulated("reduce_atomic"), ("ok",)),
    Claim("one-atomic-per-block", CROVELLA, "Reduce version 9", "if (tid == 0) atomicAdd(out, sdata[0]).",
          "crovella", "reduce_grid_stride_atomic", Count("atomics"), "atomics", 32, "4096 values in 32 blocks"),
    Timed("occupancy", CS121, "Global memory latency",
          "For high performance need many threads per SM. High occupancy.",
          "crovella", ((replace(_single("reduce_grid_stride_atomic", "atomic", 256), grid_size=132),
                        _single("reduce_grid_stride_atomic", "atomic", 256)),), None,
          "one block of 256 threads on each of 132 SMs against eight"),
    _printed("grid-width-8", "Reduce version 8", "reduce_grid_stride_host", 8),
    _printed("grid-width-9", "Reduce version 9", "reduce_grid_stride_atomic", 8),
    _printed("grid-width-shuffle", "Warp shuffle reduction", "reduce_warp_shuffle", 8),
    _printed("grid-width-square", "Reduce version 9", "reduce_grid_stride_atomic", 128),
    Timed("atomics-cost", CROVELLA, "Atomics to the rescue", "May have performance implications.",
          "crovella", ((_single("reduce_atomic", "atomic", 256), _single("reduce_grid_stride_atomic", "atomic", 256)),),
          None, "one per element against one per block"),
    Timed("no-host", CROVELLA, "Reduce version 8",
          "These partial sums can be transferred back to the host for the final summation.",
          "crovella", ((_single("reduce_grid_stride_host", "host", 256),
                        _single("reduce_grid_stride_atomic", "atomic", 256)),), None, "version 9 spares it"),
    Timed("one-launch", CROVELLA, "Reduce version 9",
          "Kernel launch has negligible HW overhead, low SW overhead.",
          "harris", ((_rung("reduce_sequential", 2**15), _rung("reduce_sequential", 2**14)),), 1,
          "#3 with three launches (2^15 numbers) against two (2^14)", today="differs",
          why="A further launch costs the same however little it does: next to nothing beside a long reduction, "
          "but a good part of a short one."),
    Timed("shuffles-are-faster", CROVELLA, "Warp shuffles",
          "The data exchange is performed between registers, and more efficient than going through shared memory.",
          "crovella", ((_single("reduce_grid_stride_atomic", "atomic", 256),
                        _single("reduce_warp_shuffle", "atomic", 256)),), None, "4M values, 256 threads",
          today="close", why="Each thread adds many numbers before the tree begins, so that the tree hardly counts."),
    Claim("less-synchronization", CROVELLA, "Warp shuffle benefits", "Reduce level of explicit synchronization.",
          "crovella", "reduce_warp_shuffle", Count("barriers"), "times fewer barriers", 8,
          "128 threads: 8 barriers become 1", against="reduce_grid_stride_atomic"),
    Ends("patterns", CROVELLA, "Introducing warp shuffle",
         "copy from lane ID (arbitrary pattern); copy from calculated lane ID (calculated pattern); copy from "
         "delta/offset lower lane; copy from a lane with higher ID relative to caller.",
         "crovella-warps", _emulated("warp_movements"), ("ok",), "all four, with a width of 8 for the last"),
    Claim("five-shuffles", CROVELLA, "Warp shuffles", "for (int offset = 16; offset > 0; offset /= 2): a warp "
          "comprises 32 lanes.", "crovella-warps", "warp_prefix_sum", Count("shuffles", "global_load_requests"),
          "shuffles per warp", 5, "log2(32)"),
    Ends("one-output-each", CROVELLA, "Transformation vs. reduction",
         "c[i] = a[i] + 10. Thread strategy: one thread per output point.",
         "crovella-atomics", _emulated("transformation"), ("ok",), "no two threads meet"),
    Ends("subtract", CROVELLA, "Other atomics", "atomicAdd/Sub: add to (or subtract from).",
         "crovella-atomics", _emulated("atomic_sub"), ("ok",)),
    Ends("underflow", CROVELLA, "Other atomics",
         "atomicInc/Dec: increment (or decrement) and account for rollover/underflow.",
         "crovella-atomics", _emulated("atomic_dec"), ("ok",), "counting down in turns of 9 to 0"),
    Ends("bits-cleared", CROVELLA, "Other atomics", "atomicAnd/Or/Xor: bitwise ops.",
         "crovella-atomics", _emulated("atomic_and"), ("ok",), "clearing one bit of 32 flags"),
    Ends("rollover", CROVELLA, "Other atomics",
         "atomicInc/Dec: increment (or decrement) and account for rollover/underflow.",
         "crovella-atomics", _emulated("atomic_inc"), ("ok",), "counting in turns of 0 to 9"),
    Ends("bitwise", CROVELLA, "Other atomics", "atomicAnd/Or/Xor: bitwise ops.",
         "crovella-atomics", _emulated("atomic_xor"), ("ok",), "flipping bits in any order"),
    Ends("built-from-cas", CROVELLA, "atomicAdd implementation",
         "atomicCAS: these three operations are performed in one atomic transaction.",
         "crovella-atomics", _emulated("atomic_add_cas", "float64"), ("ok",), "atomicAdd for double, built from it"),
    Timed("native-double", CROVELLA, "atomicAdd implementation", "#if __CUDA_ARCH__ < 600.",
          "crovella-atomics", ((Choice("atomic_add_cas", 2**18, 256, dtype="float64"),
                                Choice("atomic_add", 2**18, 256, dtype="float64")),), None,
          "why it is no longer needed: the GPU's own atomicAdd for double"),
    Ends("place-in-order", CROVELLA, "Atomic tips and tricks",
         "Most atomics return a value that is the old value that was in the location receiving the atomic update.",
         "crovella-order", _emulated("order_place"), ("ok",), "every place is given once"),
    Ends("space-in-a-buffer", CROVELLA, "Atomic tips and tricks",
         "buffer_ptr+my_offset now points to the first reserved location, of length my_dsize.",
         "crovella-order", _emulated("reserve_buffer"), ("ok",), "no two threads share a place"),
    Timed("aggregation", CROVELLA, "Warp shuffle tips and tricks", "What else can we do with it? Atomic aggregation.",
          "crovella-order", ((Choice("filter_atomic", 2**24, 256), Choice("filter_aggregated", 2**24, 256)),), None,
          "one atomic per warp against one per lane", today="close",
          why="The compiler aggregates by itself: one lane draws for all that add one to the same address."),
    Timed("max-shuffle", CROVELLA, "Warp shuffle benefits", "Reduce or eliminate shared memory usage.",
          "crovella-max", ((Choice("max_shared", 2**20, 256), Choice("max_shuffle", 2**20, 256)),), None,
          "max reduction"),
    Timed("max-atomic", CROVELLA, "Agenda", "Parallel Reduction + Atomics.",
          "crovella-max", ((Choice("max_shuffle", 2**20, 256), Choice("max_shuffle_atomic", 2**20, 256)),), None,
          "max reduction in one launch"),
    Timed("enough-threads", CROVELLA, "Transformation vs. reduction",
          "May guide the thread strategy: what will each thread do?",
          "crovella-matrix-sums", ((Choice("row_sums", 1024, 256, dtype="float32"),
                                    Choice("row_sums_block", 1024, 256, dtype="float32")),), None,
          "a thread per row against a block per row"),
    Ends("no-global-sync", CROVELLA, "Problem: Global Synchronization", "But CUDA has no global synchronization.",
         "one-launch", _emulated("reduce_cooperative"), ("refused",), "grid sync of cooperative groups", today="ok",
         why="Since CUDA 9 it has one, for grids that fit the GPU as a whole: the limit that the slide names."),
    Untestable("sync-is-expensive", CROVELLA, "Problem: Global Synchronization",
               "Expensive to build in hardware for GPUs with high processor count.", "one-launch",
               "No run tells what hardware costs to build. What using it costs can be timed, with equally many blocks "
               "on both sides: Then and now has the figures."),
)  # fmt: skip
