"""One honest paragraph per ladder: why the numbers have another shape today than in the lecture.

Sentences; what a figure in braces means stands in engine.today, which takes it from the recorded runs. Nothing that
was measured is typed in here.
"""

from __future__ import annotations

TODAY: dict[str, tuple[str, ...]] = {
    "harris": (
        "From #1 to #7 the G80 gained {paper reduce_interleaved reduce_multiple_volatile}; here it is "
        "{times reduce_interleaved reduce_multiple_volatile} at this N, and "
        "{times reduce_interleaved reduce_multiple_volatile n=268435456} at N = 2^28.",
        "#1 does not diverge any more: the compiler predicates its short if, and the profiler finds "
        "{count divergent_branches reduce_interleaved n=20011} divergent branches in it.",
        "What #1 still pays for is the remainder tid % (2 * stride), which every thread computes in every step: "
        "{count warp_instructions reduce_interleaved n=20011} warp instructions, against "
        "{count warp_instructions reduce_strided n=20011} in #2.",
        "#3 takes away the bank conflicts of #2, {count shared_load_wavefronts reduce_strided n=20011} passes over "
        "shared memory instead of {count shared_load_wavefronts reduce_sequential n=20011}, but "
        "gains {times reduce_strided reduce_sequential} and not {paper reduce_strided reduce_sequential}: shared "
        "memory is not what most of the time goes to.",
        "#4 still gains {times reduce_sequential reduce_first_add}, as half of the blocks are gone; after it the two "
        "unrollings bring {times reduce_first_add reduce_unroll_volatile} and "
        "{times reduce_unroll_volatile reduce_complete_volatile}, where the lecture had "
        "{paper reduce_first_add reduce_unroll_volatile} and {paper reduce_unroll_volatile reduce_complete_volatile}.",
        "Made safe for Volta and later, with __syncwarp in place of volatile, #5 takes "
        "{times reduce_unroll_syncwarp reduce_unroll_volatile} as long as on the slides, #6 "
        "{times reduce_complete_unroll reduce_complete_volatile} and #7 "
        "{times reduce_multiple_adds reduce_multiple_volatile}.",
        "At this N the {launches reduce_multiple_volatile} launches of #7 take {time reduce_multiple_volatile}, and "
        "one empty kernel takes {floor reduce_multiple_volatile} by the same clock: a good part of what is left is "
        "launching.",
        "The 16 MB also fit into the L2 cache, which is why each run starts from a cache that holds other data; from a "
        "warm one #7 takes {time reduce_multiple_volatile cache=hot}.",
        "#7 reaches {peak reduce_multiple_volatile} of the memory's peak here and "
        "{peak reduce_multiple_volatile n=268435456} at N = 2^28.",
        "From #8 on the code is simpler but a long array takes longer: at N = 2^28 #8 reaches "
        "{peak reduce_grid_stride_host n=268435456} of the peak, #9 {peak reduce_grid_stride_atomic n=268435456} and "
        "the shuffles {peak reduce_warp_shuffle n=268435456}. A thread of #7 has two loads on their way at a time, one "
        "of these only one.",
    ),
    "crovella": (
        "The unprotected sum is as wrong today as in the lecture.",
        "One atomic per element takes {times reduce_atomic reduce_grid_stride_atomic} as long as one per block: for "
        "ints the compiler lets each warp add up its numbers first (REDUX), so that one atomic per warp reaches the L2 "
        "cache.",
        "The loop around atomicCAS takes {times reduce_atomic_cas reduce_grid_stride_atomic} as long as atomicAdd: for "
        "{count global_red_requests reduce_grid_stride_atomic n=20011 block=128} blocks the profiler counts "
        "{count global_atom_requests reduce_atomic_cas n=20011 block=128} attempts, as all but one of those that meet "
        "must try again.",
        "Adding the block sums on the host costs the copy and a wait: {time reduce_grid_stride_host}, against "
        "{time reduce_grid_stride_atomic} with one atomic per block.",
        "Shuffles gain {times reduce_grid_stride_atomic reduce_warp_shuffle} at this N and "
        "{times reduce_grid_stride_atomic reduce_warp_shuffle n=268435456} at N = 2^28: each thread adds many numbers "
        "before the tree begins, so that reading them is what takes the time.",
    ),
    "heidelberg": (
        "As printed, #5 and #6 are wrong here: compiled for a GPU of today, a lane loads its neighbour's number before "
        "the neighbour has stored it. Beside the lecture's figures stand the times of both with volatile, as Harris "
        "has it.",
        "On the lecture's GPU all six versions were fastest with 128 threads per block; here #1 is with "
        "{best reduce_interleaved}, #2 with {best reduce_strided}, #3 with {best reduce_sequential}, #4 with "
        "{best reduce_first_add}, #5 with {best reduce_unroll_volatile} and #6 with {best reduce_complete_volatile}.",
        "With 32 threads per block all versions are slow, here as there: a multiprocessor holds at most 32 blocks, "
        "which is half of the warps it has room for, and the reduction takes {launches reduce_sequential block=32} "
        "launches instead of {launches reduce_sequential}.",
        "From #1 to #5 the lecture gained {paper reduce_interleaved reduce_unroll_guarded} at 128 threads, here it is "
        "{times reduce_interleaved reduce_unroll_volatile}: #1 is predicated and does not diverge, and "
        "at this N an empty kernel alone takes {floor reduce_unroll_volatile} of the {time reduce_unroll_volatile}.",
        "Complete unrolling cost throughput in the lecture ({paper-rate reduce_complete_guarded} after "
        "{paper-rate reduce_unroll_guarded}); here #5 takes {times reduce_unroll_volatile reduce_complete_volatile} as "
        "long as #6 with 128 threads, and {times reduce_unroll_volatile reduce_complete_volatile block=256} with 256. "
        "Nor is the code of #6 longer: for one block size it has fewer instructions than #5.",
        "The way out of the new feature costs next to nothing: with __syncwarp #5 takes "
        "{times reduce_unroll_syncwarp reduce_unroll_volatile} as long as with volatile, with shuffles "
        "{times reduce_unroll_shuffle reduce_unroll_volatile}.",
    ),
    "hekun": (
        "The notes do not say which GPU took the published time; they mention a 1050 Ti and a 1080 Ti.",
        "That time is the mean of 20 rounds over managed memory that the CPU has just written: the first round also "
        "brings the 40 MB to the GPU. Here they lie in the GPU's memory before the clock starts.",
        "He Kun launches 32 blocks, and a block runs on one multiprocessor: the H200 has 132, so the kernel's own "
        "choice is {blocks reduce_register_tree} blocks. Choose 32 to see the difference.",
        "Reading and writing apart, with two barriers per step instead of one, takes "
        "{times reduce_register_tree reduce_grid_stride_atomic n=4194304} as long at N = 2^22 as the tree that reads "
        "and writes at once, and {times reduce_register_tree reduce_grid_stride_atomic n=268435456} at N = 2^28: the "
        "tree is a small part of the work.",
        "Ten million ints on one thread of the CPU take {time reduce_scalar}, {times reduce_scalar "
        "reduce_register_tree@blocks=32} as long as the full code on the GPU; with its own number of blocks the full "
        "code is another {times reduce_register_tree@blocks=32 reduce_register_tree} faster.",
    ),
    "one-launch": (
        "The lecture says that the GPU has no global synchronization; since CUDA 9 a cooperative launch has one, as "
        "long as all blocks fit the GPU together. The barrier itself costs little: with 512 blocks of 256 threads it "
        "takes {time reduce_cooperative block=256 blocks=512}, one atomic per block "
        "{time reduce_warp_shuffle block=256 blocks=512}; with 1,024 blocks "
        "{time reduce_cooperative block=256 blocks=1024} and {time reduce_warp_shuffle block=256 blocks=1024}, and at "
        "N = 2^28 {time reduce_cooperative block=256 blocks=1024 n=268435456} and "
        "{time reduce_warp_shuffle block=256 blocks=1024 n=268435456}.",
        "What costs is the smaller grid that surely fits: on this page grid sync has {blocks reduce_cooperative} "
        "blocks and takes {time reduce_cooperative}, the shuffles have {blocks reduce_warp_shuffle} and take "
        "{time reduce_warp_shuffle}. With fewer threads fewer loads are on their way.",
        "At N = 2^28 the lecture's last rung reaches {peak reduce_warp_shuffle n=268435456} of the memory's peak, and "
        "the vectorized one {peak reduce_vectorized n=268435456}: one load of four bytes "
        "per thread is not enough to keep HBM busy.",
        "At this N an empty kernel takes {floor reduce_vectorized} of the {time reduce_vectorized}.",
    ),
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
        "The race is wrong here too. Its time is left blank, as that of a wrong answer says nothing.",
    ),
    "heidelberg-operators": (
        "The lecture prints no times. The three operators take {time reduce_product}, {time reduce_min} and "
        "{time reduce_max}: all wait for the same memory.",
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
        "for the launch and the arithmetic alone.",
        "In the lecture L1 cache and shared memory share 64 KB, on the H200 256 KB. A chain through 16 KB takes "
        "{time latency_l1}, through 128 KB {time latency_l1 knob=128} and through 1,024 KB {time latency_l1 "
        "knob=1024}: these no longer fit.",
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
        "With eight blocks, at N = 2^22, it is {times barrier_every_step barrier_none n=4194304}: while one block "
        "waits the others have work.",
    ),
    "cs121-coalescing": (
        "The lecture's GPU moves segments of 128 bytes: one for a step by row, 32 for a step by column. Sectors have "
        "32 bytes today, and caches keep what the next steps need.",
        "It costs all the same: by row takes {time matrix_by_row} ({rate matrix_by_row}, {peak matrix_by_row} of the "
        "memory's peak), by column {time matrix_by_column}. The cache must look up 32 sectors for one request, one "
        "after the other.",
        "Through shared memory it is {time matrix_staged} with bank conflicts and {time matrix_padded} without.",
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
        "At this N both take little more than an empty kernel ({floor copy_offset}): {time copy_offset} and "
        "{time copy_strided}.",
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
    ),
    "crovella-order": (
        "The lecture prints no times. Aggregating by hand gains nothing here ({time filter_atomic n=16777216} and "
        "{time filter_aggregated n=16777216} at N = 2^24): the compiler sees that all lanes add one to one address, "
        "and lets one lane draw for its warp by itself.",
    ),
    "crovella-warps": (
        "The lecture prints no times. The shuffles are nearly free: at N = 2^24 the prefix sum of every warp takes "
        "{times warp_prefix_sum warp_broadcast n=16777216} as long as the broadcast, with five shuffles instead of "
        "one.",
        "The prefix sum of everything reads and writes the array a second time: "
        "{times grid_prefix_sum block_prefix_sum n=16777216} as long as that of every block.",
    ),
    "crovella-max": (
        "The lecture prints no times. At this N all are bound by launching. The atomics need a launch before, of one "
        "thread that copies a first number, instead of one after; {times max_shuffle max_shuffle_atomic} as fast is "
        "what that gains.",
        "At N = 2^24 the lecture's three take {time max_shared n=16777216}, {time max_shuffle n=16777216} and "
        "{time max_shuffle_atomic n=16777216}, as reading is what counts; the last rung, which has more bytes on their "
        "way, takes {time max_vectorized n=16777216}.",
    ),
    "crovella-matrix-sums": (
        "The lecture prints no times. That threads read neighbours helps less than it should (by column "
        "{time column_sums}, by row {time row_sums}): {blocks row_sums} blocks of threads keep neither the GPU nor its "
        "memory busy.",
        "A block per row does: {time row_sums_block}, {times row_sums row_sums_block} as fast.",
    ),
    "heidelberg-volta": (
        "The lecture prints no times, and these kernels are not about them: all are bound by launching or by waiting.",
        "The lock that only independent scheduling can finish takes {time lock_spin}, the one that any GPU can finish "
        "{time lock_inside}, the one that serves in order {time lock_ticket}.",
        "__syncwarp costs next to nothing where a warp is together anyway: the exchange takes "
        "{times branch_exchange_syncwarp branch_exchange} as long with it.",
    ),
    "heidelberg-exercise": (
        "The first part cannot be compiled as the slide says: CUDA 13 no longer supports compute_60. On the emulator, "
        "whose warps run in lockstep as Pascal's did, the slide's code gives the right answer; compiled for a GPU of "
        "today it gives a wrong one. With volatile it is right by luck, and takes {time reduce_unroll_volatile}.",
        "The second part takes {times reduce_unroll_syncwarp reduce_unroll_volatile} as long as that with __syncwarp "
        "and {times reduce_unroll_shuffle reduce_unroll_volatile} with shuffles: being right is nearly free.",
        "The rung with groups takes {time reduce_cooperative}. Not the barrier of the grid makes it slower, but the "
        "size of the grid: all blocks must fit the GPU at once, so that each thread adds many numbers, one load after "
        "the other.",
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
