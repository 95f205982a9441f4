"""The claims of Harris and Crovella (Optimizing Parallel Reduction; Atomics, Reductions, Warp Shuffle)."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue.gpu_models import H200
from engine.catalogue.published import printed
from engine.lectures.claim import (
    CROVELLA,
    CS121,
    LOAD_PASSES,
    STATUS,
    TIMES,
    Cause,
    Claim,
    Computed,
    Counted,
    Status,
    TimeRatio,
    Untestable,
    emulated,
    figure,
)
from engine.records import Choice

# one load per warp
_STEPS = Counted("branches", "global_load_requests", line="if (tid < stride)", whole_under=True, unit="steps")
_NO_VOLATILE = ("volatile T", "T")
_AS_PRINTED = ("blockDim.x * gridDim.x", "blockDim.x * blockDim.x")
_TABLE = "Performance for 4M element reduction"


def _rung(kernel: str, n: int = 2**22) -> Choice:
    return Choice(kernel, n, 128, combine="relaunch")


def _single(kernel: str, combine: str, block_size: int = 128) -> Choice:
    return Choice(kernel, 2**22, block_size, combine=combine)


def _emulated(kernel: str, dtype: str = "int32") -> Choice:
    return Choice(kernel, 4096, 128, dtype=dtype, device="emulator")


def _gain(kernel: str) -> float:
    """Return the step speedup that the lecture prints for a kernel."""
    gain = figure("harris", kernel).step_speedup
    assert gain is not None
    return gain


def _step(number: int, slow: str, fast: str, slide: str, sentence: str, why: str = "", today: str | None = None,
          cause: Cause = "") -> Claim:  # fmt: skip
    """Return the claim that kernel `number` is as much faster than the one before as the lecture's table says."""
    return Claim(f"step-{number}", CROVELLA, f"{slide}; {_TABLE}", sentence, "harris", TIMES, "about", _gain(fast),
                 (_rung(slow), _rung(fast)), f"kernel {number} against kernel {number - 1}", today, why,
                 cause)  # fmt: skip


def _printed(name: str, slide: str, kernel: str, blocks: int) -> Claim:
    """Return the claim that the loop is right as the slide prints it, with so many blocks of 128 threads."""
    square = blocks == 128
    return Claim(name, CROVELLA, slide, "idx += blockDim.x*blockDim.x; // grid width.", "crovella",
                 Status(_AS_PRINTED), "one of", ("ok",), emulated(kernel, n=2**15, grid_size=blocks),
                 f"as printed, {blocks} blocks of 128 threads", None if square else "wrong",
                 "" if square else "The width of the grid is blockDim.x * gridDim.x. As printed the loop leaves "
                 "elements out, or adds them more than once, unless there are as many blocks as threads in one, or the "
                 "loop runs only once.",
                 "" if square else "error")  # fmt: skip


_FEWER_BLOCKS = (
    "Would force programmer to run fewer blocks (no more than # multiprocessors * # resident blocks / multiprocessor) "
    "to avoid deadlock."
)
_RESIDENT = H200.filling_blocks(128)
_LAST = figure("harris", "reduce_multiple_volatile")
_LARGE = figure("harris", "reduce_multiple_volatile", n=2**25)

CLAIMS: tuple[Claim, ...] = (
    Claim("tree-steps", CROVELLA, "Parallel Reduction Complexity",
          "log(N) parallel steps, each step S does N/2^S independent ops.", "harris", _STEPS, "equals", 7,
          emulated("reduce_sequential", n=128), "N = 128: one block"),
    Claim("sequential-conflict-free", CROVELLA, "Parallel Reduction: Sequential Addressing",
          "Sequential addressing is conflict free.", "harris", LOAD_PASSES, "equals", 1,
          emulated("reduce_sequential")),
    Claim("one-shuffle", CROVELLA, "Warp shuffle tips and tricks",
          "Broadcast a value to all threads in the warp in a single instruction.", "crovella-warps",
          Counted("shuffles", "global_store_requests", unit="shuffles per warp"), "equals", 1,
          emulated("warp_broadcast")),
    Claim("every-thread-at-once", CROVELLA, "Reduction: naive thread strategy",
          "But every thread is trying to do this, potentially at the same time.", "crovella-atomics",
          Counted("atomic_max_contention", unit="lanes at one address"), "equals", 32, emulated("atomic_add",
          parameter=1), "the 32 lanes of a warp"),
    Claim("aggregated", CROVELLA, "Warp shuffle tips and tricks", "Atomic aggregation.", "crovella-order",
          Counted("atomic_max_contention", unit="lanes at one address"), "equals", 1, emulated("filter_aggregated"),
          "one lane draws for its warp"),
    _step(2, "reduce_interleaved", "reduce_strided", "Reduction #1: Interleaved Addressing",
          "Problem: highly divergent warps are very inefficient, and % operator is very slow.",
          "Less than in the lecture: the compiler predicates the short if, so only the slow % is left.",
          "direction"),
    _step(3, "reduce_strided", "reduce_sequential", "Parallel Reduction: Interleaved Addressing",
          "New Problem: Shared Memory Bank Conflicts.",
          "Less than in the lecture: the conflicts are gone, but most of the time goes elsewhere.",
          "direction"),
    _step(4, "reduce_sequential", "reduce_first_add", "Idle Threads",
          "Half of the threads are idle on first loop iteration! This is wasteful...",
          "Less than in the lecture: launches take a larger part of a short run today.", "direction"),
    _step(5, "reduce_first_add", "reduce_unroll_volatile", "Instruction Bottleneck",
          "Therefore a likely bottleneck is instruction overhead. Strategy: unroll loops.",
          "Less than in the lecture: instructions cost less today, beside launches and memory.", "direction"),
    _step(6, "reduce_unroll_volatile", "reduce_complete_volatile", "Reduction #6: Completely Unrolled",
          "Results in a very efficient inner loop!",
          "Instructions cost less today, beside launches and memory; and with 128 threads only one step of the loop, "
          "that with stride 64, is left to unroll.", "close", "changed"),
    _step(7, "reduce_complete_volatile", "reduce_multiple_volatile", "What About Cost?",
          "Sometimes called algorithm cascading. Can lead to significant speedups in practice."),
    Claim("all-steps", CROVELLA, _TABLE, "Kernel 7: multiple elements per thread, cumulative speedup 30.04x.",
          "harris", TIMES, "about", _LAST.cumulative_speedup or 0, (_rung("reduce_interleaved"),
          _rung("reduce_multiple_volatile")),
          today="direction", why="Less than in the lecture: the first rungs are no longer so slow, and the last waits "
          "for its launches."),
    Claim("larger-is-better", CROVELLA, _TABLE, "Kernel 7 on 32M elements: 73 GB/s!", "harris",
          TimeRatio("bandwidth_gb_s"), "about", (_LARGE.bandwidth_gb_s or 0) / (_LAST.bandwidth_gb_s or 1),
          (_rung("reduce_multiple_volatile"),
          _rung("reduce_multiple_volatile", 2**25)), "32M against 4M elements", "direction",
          "More than in the lecture: launches take a larger part of a short run today, and a large sum hides them."),
    Claim("algorithmic", CROVELLA, "Types of optimization",
          "Algorithmic optimizations: changes to addressing, algorithm cascading. 11.84x speedup, combined!",
          "harris", TIMES, "about",
          _gain("reduce_strided") * _gain("reduce_sequential") * _gain("reduce_first_add")
          * _gain("reduce_multiple_volatile"), (_rung("reduce_interleaved"), _rung("reduce_first_add"),
          _rung("reduce_complete_volatile"), _rung("reduce_multiple_volatile")), "#1 to #4, and #6 to #7",
          "direction", "Less than in the lecture: the first rungs are no longer so slow."),
    Claim("code", CROVELLA, "Types of optimization", "Code optimizations: loop unrolling. 2.54x speedup, combined.",
          "harris", TIMES, "about",
          _gain("reduce_unroll_volatile") * _gain("reduce_complete_volatile"), (_rung("reduce_first_add"),
          _rung("reduce_complete_volatile")), "#4 to #6",
          "direction", "Less than in the lecture: instructions cost less today, beside launches and memory."),
    Claim("half-the-blocks", CROVELLA, "Reduction #4: First Add During Load",
          "Halve the number of blocks, and replace single load.", "harris", Counted("global_store_requests",
          unit="times fewer block sums"), "equals", 2, emulated("reduce_first_add", "reduce_sequential",
          combine="host"), "4096 values, 128 threads"),
    Claim("fewer-barriers", CROVELLA, "Unrolling the Last Warp",
          "We don't need to __syncthreads(). Let's unroll the last 6 iterations of the inner loop.", "harris",
          Counted("barriers", unit="times fewer barriers"), "equals", 4, emulated("reduce_unroll_volatile",
          "reduce_first_add", combine="host"), "128 threads: 8 barriers become 2"),
    Claim("lockstep", CROVELLA, "Unrolling the Last Warp",
          "Instructions are SIMD synchronous within a warp. We don't need to __syncthreads().", "harris", STATUS,
          "one of", ("ok",), (_emulated("reduce_unroll_volatile"),), today="hazard", why="Since Volta no warp "
          "promises lockstep. The answer was right in every recorded run, but only __syncwarp guarantees it.",
          cause="rules"),
    Claim("volatile", CROVELLA, "Reduction #5: Unroll the Last Warp",
          "IMPORTANT: For this to be correct, we must use the volatile keyword!", "harris", Status(_NO_VOLATILE),
          "one of", ("wrong",), (_emulated("reduce_unroll_volatile"),), "without it"),
    Claim("second-read", CROVELLA, "Reduction #7: Multiple Adds / Thread",
          "sdata[tid] += g_idata[i] + g_idata[i+blockSize].", "harris",
          Status(("((i + BLOCK_SIZE < n) ? in[i + BLOCK_SIZE] : T(0))", "in[i + BLOCK_SIZE]")), "one of", ("ok",),
          (replace(_emulated("reduce_multiple_volatile"), n=5000),), "as printed, 5,000 numbers", "out-of-bounds",
          "Only the first of the two reads is checked. It is right if n is a multiple of twice the block size, as "
          "in the lecture; here the second read is checked as well.", "case"),
    Claim("peak-of-g80", CROVELLA, "What is Our Optimization Goal?", "384 * 1800 / 8 = 86.4 GB/s.", "harris",
          Computed(lambda: 384 * 1800 / 8 / 1000, "GB/s", "the slide's own figures"), "equals", printed("crovella",
          "bandwidth of the G80"), (),
          "a bus of 384 bits, 900 MHz at double data rate"),
    Claim("peak-of-v100", CROVELLA, "What is Our Optimization Goal?", "V100 GPU memory bandwidth 900 GB/s.", "harris",
          Computed(lambda: H200.bandwidth_gb_s, "GB/s", "the GPU's attributes"), "equals",
          printed("crovella", "bandwidth of the V100"), (), "of the H200", H200.bandwidth_gb_s,
          "The H200 is a later GPU, with faster memory.", "changed",
          "What is the peak of the GPU that recorded the times?"),
    Claim("sum-of-floats", CROVELLA, "Motivating example",
          "sum variable contains the sum of all the elements of array a.", "float-truths", STATUS, "one of", ("ok",),
          (Choice("floats_serial", 2**24 + 2**20, 256, dtype="float32", device="emulator"),),
          "17,825,792 ones as float32", "wrong", "A float has 24 binary digits: the sum stops at 2^24.", "case"),
    Claim("does-not-work", CROVELLA, "Reduction: naive thread strategy", "*c += a[i]; (Doesn't work.)", "crovella",
          STATUS, "one of", ("wrong",), (_emulated("reduce_racy"),)),
    Claim("indivisible", CROVELLA, "Atomics to the rescue",
          "These three operations are performed in one atomic transaction.", "crovella", STATUS, "one of", ("ok",),
          (_emulated("reduce_atomic"),)),
    Claim("one-atomic-per-block", CROVELLA, "Reduce version 9", "if (tid == 0) atomicAdd(out, sdata[0]).", "crovella",
          Counted("atomics", unit="atomics"), "equals", 32, emulated("reduce_grid_stride_atomic"),
          "4096 values in 32 blocks"),
    Claim("occupancy", CS121, "Global memory latency",
          "For high performance need many threads per SM. High occupancy.", "crovella", TIMES, "more than", 1,
          (replace(_single("reduce_grid_stride_atomic", "atomic", 256), grid_size=132),
          _single("reduce_grid_stride_atomic", "atomic", 256)),
          "one block of 256 threads on each of 132 SMs against eight"),
    _printed("grid-width-8", "Reduce version 8", "reduce_grid_stride_host", 8),
    _printed("grid-width-9", "Reduce version 9", "reduce_grid_stride_atomic", 8),
    _printed("grid-width-shuffle", "Warp shuffle reduction", "reduce_warp_shuffle", 8),
    _printed("grid-width-square", "Reduce version 9", "reduce_grid_stride_atomic", 128),
    Claim("atomics-cost", CROVELLA, "Atomics to the rescue", "May have performance implications.", "crovella", TIMES,
          "more than", 1, (_single("reduce_atomic", "atomic", 256), _single("reduce_grid_stride_atomic", "atomic",
          256)), "one per element against one per block"),
    Claim("no-host", CROVELLA, "Reduce version 8",
          "These partial sums (sdata) can be transferred back to the host for the final summation.", "crovella", TIMES,
          "more than", 1, (_single("reduce_grid_stride_host", "host", 256), _single("reduce_grid_stride_atomic",
          "atomic", 256)), "with the sum on the host against version 9",
          question="What do the copy to the host and the sum there cost?"),
    Claim("one-launch", CROVELLA, "Problem: Global Synchronization",
          "Kernel launch has negligible HW overhead, low SW overhead.",
          "harris", TIMES, "equals", 1, (_rung("reduce_sequential", 2**15), _rung("reduce_sequential", 2**14)),
          "#3 with three launches (2^15 numbers) against two (2^14)", "differs", "A further launch costs the same "
          "however little it does: hardly anything beside a long reduction, but a good part of a short one.", "case"),
    Claim("shuffles-are-faster", CROVELLA, "Warp shuffles",
          "The data exchange is performed between registers, and more efficient than going through shared memory.",
          "crovella", TIMES, "more than", 1, (_single("reduce_grid_stride_atomic", "atomic", 256),
          _single("reduce_warp_shuffle", "atomic", 256)), "4M values, 256 threads", "close",
          "Each thread adds many numbers before the tree begins, so the tree is a small part of the time.", "case"),
    Claim("less-synchronization", CROVELLA, "Warp shuffle benefits", "Reduce level of explicit synchronization.",
          "crovella", Counted("barriers", unit="times fewer barriers"), "equals", 8, emulated("reduce_warp_shuffle",
          "reduce_grid_stride_atomic"), "128 threads: 8 barriers become 1; the slide's loop, with its barrier "
          "at the head, has 7"),
    Claim("patterns", CROVELLA, "Introducing warp shuffle", "copy from lane ID (arbitrary pattern); copy from "
          "calculated lane ID (calculated pattern); copy from delta/offset lower lane; copy from a lane with higher "
          "ID relative to caller.", "crovella-warps", STATUS, "one of", ("ok",), (_emulated("warp_movements"),),
          "all four, with a width of 8 for the last"),
    Claim("five-shuffles", CROVELLA, "Warp shuffles",
          "for (int offset = 16; offset > 0; offset /= 2): a warp comprises 32 lanes.", "crovella-warps",
          Counted("shuffles", "global_load_requests", unit="shuffles per warp"), "equals", 5,
          emulated("warp_prefix_sum"), "log2(32)"),
    Claim("one-output-each", CROVELLA, "Transformation vs. reduction",
          "c[i] = a[i] + 10. Thread strategy: one thread per output point.", "crovella-atomics", STATUS, "one of",
          ("ok",), (_emulated("transformation"),), "no two threads meet"),
    Claim("subtract", CROVELLA, "Other atomics", "atomicAdd/Sub: add to (or subtract from).", "crovella-atomics",
          STATUS, "one of", ("ok",), (_emulated("atomic_sub"),)),
    Claim("underflow", CROVELLA, "Other atomics",
          "atomicInc/Dec: increment (or decrement) and account for rollover/underflow.", "crovella-atomics", STATUS,
          "one of", ("ok",), (_emulated("atomic_dec"),), "counting down in turns of 9 to 0"),
    Claim("bits-cleared", CROVELLA, "Other atomics", "atomicAnd/Or/Xor: bitwise ops.", "crovella-atomics", STATUS,
          "one of", ("ok",), (_emulated("atomic_and"),), "clearing one bit of 32 flags"),
    Claim("rollover", CROVELLA, "Other atomics",
          "atomicInc/Dec: increment (or decrement) and account for rollover/underflow.", "crovella-atomics", STATUS,
          "one of", ("ok",), (_emulated("atomic_inc"),), "counting in turns of 0 to 9"),
    Claim("bitwise", CROVELLA, "Other atomics", "atomicAnd/Or/Xor: bitwise ops.", "crovella-atomics", STATUS,
          "one of", ("ok",), (_emulated("atomic_xor"),), "flipping bits in any order"),
    Claim("built-from-cas", CROVELLA, "atomicAdd implementation",
          "atomicCAS: these three operations are performed in one atomic transaction.", "crovella-atomics", STATUS,
          "one of", ("ok",), (_emulated("atomic_add_cas", "float64"),), "atomicAdd for double, built from it"),
    Claim("native-double", CROVELLA, "atomicAdd implementation", "#if __CUDA_ARCH__ < 600.", "crovella-atomics",
          TIMES, "more than", 1, (Choice("atomic_add_cas", 2**18, 256, dtype="float64"), Choice("atomic_add", 2**18,
          256, dtype="float64")), "why it is no longer needed: the GPU's own atomicAdd for double"),
    Claim("place-in-order", CROVELLA, "Atomic tips and tricks",
          "Most atomics return a value that is the old value that was in the location receiving the atomic update.",
          "crovella-order", STATUS, "one of", ("ok",), (_emulated("order_place"),),
          "every thread gets a place of its own"),
    Claim("space-in-a-buffer", CROVELLA, "Atomic tips and tricks",
          "buffer_ptr+my_offset now points to the first reserved location, of length my_dsize.", "crovella-order",
          STATUS, "one of", ("ok",), (_emulated("reserve_buffer"),), "no two threads share a place"),
    Claim("aggregation", CROVELLA, "Warp shuffle tips and tricks", "What else can we do with it? Atomic aggregation.",
          "crovella-order", TIMES, "more than", 1, (Choice("filter_atomic", 2**24, 256), Choice("filter_aggregated",
          2**24, 256)), "one atomic per warp against one per lane", "close",
          "The compiler aggregates by itself: one lane draws for all that add one to the same address.", "changed",
          "Is it faster to aggregate by hand?"),
    Claim("max-shared-usage", CROVELLA, "Warp shuffle benefits", "Reduce or eliminate shared memory usage.",
          "crovella-max", Counted("shared_load_requests", unit="times fewer reads of shared memory",
          words="fewer reads of shared memory"), "more than", 1,
          emulated("max_shuffle", "max_shared"), "max reduction of 4096 values with 128 threads"),
    Claim("max-shuffle", CROVELLA, "Warp shuffles", "The data exchange is performed between registers, and more "
          "efficient than going through shared memory.", "crovella-max", TIMES, "more than", 1,
          (Choice("max_shared", 2**20, 256), Choice("max_shuffle", 2**20, 256)), "max reduction of 2^20 values"),
    Claim("max-atomic", CROVELLA, "Agenda", "Parallel Reduction + Atomics.", "crovella-max", TIMES, "more than", 1,
          (Choice("max_shuffle", 2**20, 256), Choice("max_shuffle_atomic", 2**20, 256)),
          "max reduction with one atomic per block against a second launch that reduces",
          question="Is an atomic per block faster than reducing the blocks' numbers in a second launch?"),
    Claim("enough-threads", CROVELLA, "Transformation vs. reduction",
          "May guide the thread strategy: what will each thread do?", "crovella-matrix-sums", TIMES, "more than", 1,
          (Choice("row_sums", 1024, 256, dtype="float32"), Choice("row_sums_block", 1024, 256, dtype="float32")),
          "a thread per row against a block per row"),
    Claim("no-global-sync", CROVELLA, "Problem: Global Synchronization", "But CUDA has no global synchronization.",
          "one-launch", STATUS, "one of", ("refused",), (_emulated("reduce_cooperative"),),
          "grid sync of cooperative groups", "ok",
          "Since CUDA 9 it has one, for grids that fit the GPU as a whole: the limit that the slide names.", "changed"),
    Claim("fewer-blocks", CROVELLA, "Problem: Global Synchronization", _FEWER_BLOCKS, "one-launch", STATUS,
          "one of", ("refused",), (replace(_emulated("reduce_cooperative"), grid_size=_RESIDENT + 1),),
          f"{_RESIDENT + 1:,} blocks of 128 threads on an H200, one more than 132 multiprocessors hold"),
    Claim("enough-blocks", CROVELLA, "Problem: Global Synchronization", _FEWER_BLOCKS, "one-launch", STATUS,
          "one of", ("ok",), (replace(_emulated("reduce_cooperative"), grid_size=_RESIDENT),),
          f"{_RESIDENT:,} blocks of 128 threads, as many as fit"),
    Claim("sync-is-expensive", CROVELLA, "Problem: Global Synchronization",
          "Expensive to build in hardware for GPUs with high processor count.", "one-launch", Untestable(),
          why="No run tells what hardware costs to build. Its use can be timed, with equally many blocks on both "
          "sides: Then and now has the figures."),
)  # fmt: skip
