"""One honest paragraph per ladder: why the numbers have another shape today than in the lecture.

Sentences; what a figure in braces means stands in engine/lectures/then_and_now.py, which takes it from the recorded
runs. Nothing that was measured is typed in here.
"""

from __future__ import annotations

from engine.catalogue.ladders.today_of_sums import TODAY_OF_SUMS

TODAY: dict[str, tuple[str, ...]] = TODAY_OF_SUMS | {
    "cs121-tiling": (
        "Tiles save a factor of 16 in requests, but gain {times matmul_naive matmul_tiled} in time: caches, which the "
        "lecture's count leaves out, serve the naive kernel.",
        "Counted as the lecture does, every operand read from memory, the naive kernel would read "
        "{rate matmul_naive}, more than the memory of the H200 can give.",
        "Exchanging the roles of x and y costs more than leaving out the tiles: uncoalesced it takes "
        "{times matmul_uncoalesced matmul_naive} as long.",
        "The lecture warns of 32 x 32 tiles, as a multiprocessor with room for 1,536 threads holds one such block; the "
        "H200 has room for 2,048, which is two. The 16 x 16 tiles take "
        "{times matmul_tiled matmul_tiled@block=32} as long as those of 32 x 32.",
    ),
    "beyond-tiling": (
        "No lecture measured these rungs. By registers the kernel gains {times matmul_tiled matmul_register_2d} over "
        "tiles: 64 products for 16 words of shared memory.",
        "The next three steps bring {times matmul_register_2d matmul_vectorized}, "
        "{times matmul_vectorized matmul_warp_tile} and {times matmul_warp_tile matmul_async_copy}: below 1 "
        "is a loss. Asynchronous copies reach {gflops matmul_async_copy}, {peak matmul_async_copy} of the FP32 peak.",
        "From there the registers decide. A multiply-add whose element of N and whose sum lie in one bank of "
        "registers waits a cycle: with the wide tile alone two of three do. Sums that lie freely bring "
        "{times matmul_wide_tile matmul_free_registers}, words that are read ahead "
        "{times matmul_free_registers matmul_prefetch}, and that rung reaches {gflops matmul_prefetch}, "
        "{peak matmul_prefetch} of the FP32 peak. The last two are for other widths: slices of a block for those "
        "around 1,000 and for numbers of pieces that the multiprocessors do not divide, warps as slices for those "
        "below about 800.",
    ),
    "cooper": (
        "From the loop on the CPU to the last rung the lecture gains {paper trapezoid_scalar trapezoid_sequential}, "
        "and here it is {times trapezoid_scalar trapezoid_sequential}; but both ends are thousands of times faster.",
        "The lecture does not say what its clock holds; 5.5 s are 84 µs for each point, far more than a sine and a "
        "cosine take. Here it is the loop and the launches, and nothing else: {time trapezoid_scalar} and "
        "{time trapezoid_sequential}.",
        "At this N the GPU's rungs are bound by launching: an empty kernel takes {floor trapezoid_sequential} of the "
        "{time trapezoid_sequential}. At N = 2^24 the CPU takes "
        "{times trapezoid_scalar trapezoid_sequential n=16777216} as long.",
        "Shared memory gains {times trapezoid_blocked_global trapezoid_shared_host} (lecture: "
        "{paper trapezoid_blocked_global trapezoid_shared_host}): what a block has just written to global memory lies "
        "in the caches.",
        "The sum at the end, which the lecture blames, still costs most, though not for its few hundred additions: the "
        "host must copy the block sums and wait for them. With a second kernel in its place the gain is "
        "{times trapezoid_shared_host trapezoid_shared_relaunch} (lecture: "
        "{paper trapezoid_shared_host trapezoid_shared_relaunch}).",
        "Counting differently gains {times trapezoid_shared_relaunch trapezoid_sequential}, and "
        "{times trapezoid_shared_relaunch trapezoid_sequential n=16777216} at N = 2^24 (lecture: "
        "{paper trapezoid_shared_relaunch trapezoid_sequential}).",
        "The slide gives the error of the rule as O(h). That is true but says too little: for a function as smooth as "
        "this one it is O(h²), which the picture of the errors shows.",
        "In one launch it takes {time trapezoid_one_launch}, and {time trapezoid_one_launch n=16777216} at "
        "N = 2^24, where the rung before takes {times trapezoid_sequential trapezoid_one_launch n=16777216} as long.",
        "The race is wrong here too. Its time is left blank, as that of a wrong answer says nothing.",
    ),
    "heidelberg-operators": (
        "The lecture prints no times. The three operators take {time reduce_product}, {time reduce_min} and "
        "{time reduce_max}: all wait for the same memory.",
        "With more bytes on their way, and one launch, they take {time reduce_product_vectorized}, "
        "{time reduce_min_vectorized} and {time reduce_max_vectorized}; at N = 2^28 the maximum reaches "
        "{peak reduce_max_vectorized n=268435456} of the memory's peak.",
    ),
    "argmax": (
        "No lecture here measures this one.",
        "A place that is carried with every number has its price: the tree of pairs takes "
        "{times argmax_tree reduce_max} as long as that of numbers.",
        "Where a place is asked for only when a number beats all before, it takes {time argmax_vectorized}; the "
        "maximum alone, read the same way, takes {time reduce_max_vectorized}.",
        "At N = 2^28 they take {time argmax_vectorized n=268435456} and {time reduce_max_vectorized n=268435456}, and "
        "reach {peak argmax_vectorized n=268435456} and {peak reduce_max_vectorized n=268435456} of the memory's peak.",
    ),
    "heidelberg-histogram": (
        "The lecture prints no times. In global memory 256 addresses are too few for all threads: "
        "{time histogram_global}, {times histogram_global histogram_shared} as long as with a copy per block.",
        "A copy per warp brings nothing more: it takes {times histogram_warps histogram_shared} as long. "
        "Atomics in shared memory are done by hardware, which counts the lanes of one address at once.",
    ),
    "cs121-latency": (
        "The lecture gives cycles; here a chain of numbers is timed, with its launch and the arithmetic between two "
        "reads.",
        "Through global memory the chain takes {time latency_global}, through shared memory {time latency_shared}: "
        "{times latency_global latency_shared} as long. With the number in a register it is {time latency_register}, "
        "for the launch and the arithmetic alone; what global memory takes beyond that is "
        "{beyond latency_global latency_shared latency_register} what shared memory does.",
        "In the lecture L1 cache and shared memory share 64 KB, on the H200 256 KB. The chain through 4 KB of the L1 "
        "cache takes {time latency_l1 knob=4}; a longer table takes longer to bring there ({time latency_l1 knob=192} "
        "with 192 KB), and one of 384 KB does not fit any more ({time latency_l1 knob=384}).",
        "With a chain of 64 numbers each, 2^18 threads read 2^24 numbers in {time latency_hidden}; one thread reads "
        "1,024 in {time latency_global}.",
    ),
    "cs121-bandwidth": (
        "In the lecture's table L1 cache and shared memory give thirteen times as many bytes a second as global "
        "memory.",
        "Here the threads get {rate bandwidth_global} from global memory, {rate bandwidth_l1} from the L1 caches and "
        "{rate bandwidth_shared} from shared memory. Every multiprocessor can give 128 bytes in a cycle.",
    ),
    "cs121-constant": (
        "The lecture says of constant memory only that it is small, cached and read-only.",
        "With 32 different words for the lanes of a warp the loop takes {time constant_words}, with one word "
        "{time constant_broadcast}: {times constant_words constant_broadcast} as long.",
    ),
    "cs121-barriers": (
        "The lecture prints no times.",
        "With one block per multiprocessor the barriers cost {times barrier_every_step barrier_none}: the warps take "
        "turns, and nobody else is there to work.",
        "With eight blocks, at N = 2^22, it is still {times barrier_every_step barrier_none n=4194304}: while one "
        "block waits others have work, but in each of them three quarters of the warps wait as well.",
    ),
    "cs121-coalescing": (
        "The lecture's GPU moves segments of 128 bytes: one for a step by row, 32 for a step by column. Sectors have "
        "32 bytes today, and caches keep what the next steps need.",
        "It costs all the same: by row takes {time matrix_by_row} ({rate matrix_by_row}, {peak matrix_by_row} of the "
        "memory's peak), by column {time matrix_by_column}. The cache must look up 32 sectors for one request, one "
        "after the other.",
        "Through shared memory it is {time matrix_staged} with bank conflicts and {time matrix_padded} without.",
        "Eight lanes that read a row and hand their sums over by shuffles need no shared memory, and take "
        "{time matrix_shuffled}.",
        "In one large matrix with a thread per row, the next ladder, there are too few threads for any of this to "
        "show.",
    ),
    "cs121-one-matrix": (
        "The requests are as the lecture says, the times are not: by column takes {time row_sums}, by row "
        "{time column_sums}.",
        "With one thread per row there are only {blocks row_sums} blocks, and every thread waits for its own next "
        "number; the memory has little to do ({rate column_sums}, {peak column_sums} of its peak).",
        "The surplus that a walk by column fetches is used later: a sector also holds the next seven numbers of the "
        "row, and waits in the cache.",
        "The way through shared memory costs barriers ({time row_sums_staged}) and pays back only in part when it is "
        "free of bank conflicts ({time row_sums_padded}). What helps is more threads: one block per row takes "
        "{time row_sums_block}.",
    ),
    "cs121-access": (
        "The lecture's GPU moves segments of 128 bytes, the H200 sectors of 32: for each byte that a scattered read "
        "of four bytes uses it moves eight, and not 32.",
        "At N = 2^24 the copy with stride 8 takes {times copy_strided copy_offset n=16777216} as long as the one with "
        "an offset, whose extra sector the warp next door uses as well.",
        "At N = 2^18 both take little more than an empty kernel ({floor copy_offset n=262144}): "
        "{time copy_offset n=262144} and {time copy_strided n=262144}.",
        "With more bytes of each thread on their way the copy at N = 2^24 takes {time copy_vectorized n=16777216}, not "
        "{time copy_offset n=16777216}.",
    ),
    "transpose": (
        "Ruetsch and Micikevicius wrote for GPUs of 2009, whose memory had no cache before it; the lesson is the same.",
        "The copy takes {time transpose_copy} ({peak transpose_copy} of the memory's peak), and writing columns "
        "{times transpose_naive transpose_copy} as long: each store touches a sector for every number.",
        "Through a tile it is {time transpose_tiled} with bank conflicts and {time transpose_padded} without.",
        "With 16 bytes at a time it takes {time transpose_vectorized}, {times transpose_vectorized transpose_copy} as "
        "long as the copy.",
    ),
    "cs121-banks": (
        "Lanes that all meet in one bank take 32 passes, as the lecture says; in time it is "
        "{times banks_strided banks_broadcast n=16777216} what a broadcast takes at N = 2^24, as the loop around the "
        "reads takes time as well.",
        "The lecture's example loses nothing here: {time banks_pairs_neighbours n=16777216} with conflicts and "
        "{time banks_pairs_apart n=16777216} without at N = 2^24. The copy waits for global memory, and the second "
        "pass happens meanwhile.",
    ),
    "cs121-divergence": (
        "The lecture's three branches are so short that the compiler computes all and selects: the profiler finds "
        "{count divergent_branches divergence_three n=20011 block=128} divergent branches.",
        "With a loop in each of 8 branches it is as the lecture says: at N = 2^24 they take "
        "{times divergence_ways divergence_warps n=16777216} as long by thread as by warp.",
    ),
    "crovella-atomics": (
        "The lecture prints no times. Its atomicAdd for double is no longer needed: since Pascal the GPU has its own, "
        "and the loop takes {times atomic_add_cas atomic_add type=float64} as long in double precision.",
        "Contention slows the loop: at N = 2^24, with 4,096 threads per address, it takes "
        "{times atomic_add_cas atomic_add n=16777216} as long as the atomic unit of the L2 cache.",
        "atomicExch hands back the old value, which must travel to the thread and be stored: it takes "
        "{times atomic_exch atomic_add n=16777216} as long as atomicAdd, whose result nobody reads.",
        "What can be added up before needs no atomic: aggregated, the sums take "
        "{time atomic_add_aggregated n=16777216} at N = 2^24, where an atomic for every element takes "
        "{time atomic_add n=16777216}. Where blocks have their addresses to themselves, there is none at all: "
        "{time add_without_atomics n=16777216}, and the same bits in every run.",
    ),
    "crovella-order": (
        "The lecture prints no times. Aggregating by hand gains nothing here ({time filter_atomic n=16777216} and "
        "{time filter_aggregated n=16777216} at N = 2^24): the compiler sees that all lanes add one to one address, "
        "and lets one lane draw for its warp by itself.",
        "All warps then still meet at one counter. Blocks that look back have no such place, and take "
        "{time filter_lookback n=16777216}; where one warp of a block looks back while the others load the next tile, "
        "they take {time filter_specialized n=16777216}.",
    ),
    "crovella-warps": (
        "The lecture prints no times. The shuffles are nearly free: at N = 2^24 the prefix sum of every warp takes "
        "{times warp_prefix_sum warp_broadcast n=16777216} as long as the broadcast, with five shuffles instead of "
        "one.",
        "The prefix sum of everything reads and writes the array a second time: "
        "{times grid_prefix_sum block_prefix_sum n=16777216} as long as that of every block. The blocks that look back "
        "read and write it once, and take {times prefix_sum_lookback block_prefix_sum n=16777216} as long; where one "
        "warp of a block looks back while the others load the next tile, it is "
        "{times prefix_sum_specialized block_prefix_sum n=16777216} as long.",
    ),
    "crovella-max": (
        "The lecture prints no times. At this N all are bound by launching. #9 has two launches like the rungs before, "
        "but its other one is a single thread that copies a first number; that makes it "
        "{times max_shuffle max_shuffle_atomic} as fast.",
        "At N = 2^24 the lecture's three take {time max_shared n=16777216}, {time max_shuffle n=16777216} and "
        "{time max_shuffle_atomic n=16777216}, as reading is what counts; the last rung, which has more bytes on their "
        "way, takes {time max_vectorized n=16777216}.",
    ),
    "crovella-matrix-sums": (
        "The lecture prints no times. That threads read neighbours helps less than it should (a thread per column "
        "{time column_sums}, a thread per row {time row_sums}): {blocks row_sums} blocks keep neither the GPU nor its "
        "memory busy.",
        "A block per row does: {time row_sums_block}, {times row_sums row_sums_block} as fast. With more bytes on "
        "their way rows take {time row_sums_vectorized} and columns {time column_sums_strips}; columns of which no two "
        "blocks share one need no atomics: {time column_sums_narrow}.",
    ),
    "heidelberg-volta": (
        "The lecture prints no times, and these kernels are not about them: all are bound by launching or by waiting.",
        "The lock that only independent scheduling can finish takes {time lock_spin}, the one that any GPU can finish "
        "{time lock_inside}, the one that serves in order {time lock_ticket}.",
        "__syncwarp costs next to nothing where a warp is together anyway: the exchange takes "
        "{times branch_exchange_syncwarp branch_exchange} as long with it.",
    ),
    "float-truths": (
        "Nothing has changed here since the lecture: a float32 has 24 binary digits on every GPU, so that a sum of "
        "ones that grows one by one stops at 2^24, however fast the memory is.",
        "The order that is right is also the fast one: at N = 2^24, where both still count every one, the tree takes "
        "{time floats_tree n=16777216}, one atomic per number {time floats_atomic n=16777216}.",
    ),
}

_ALL = "These are the rungs of all lectures of the topic; each lecture's own ladder explains why the shape differs."


def paragraph(ladder: str) -> tuple[str, ...]:
    """The sentences for a ladder, with their figures in braces; for one of all rungs, where to look."""
    return TODAY.get(ladder, (_ALL,) if ladder.startswith("all-") else ())
