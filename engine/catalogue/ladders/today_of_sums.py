"""Why the numbers of the sums have another shape today: what ladders/today.py has of the topic "reduction"."""

from __future__ import annotations

TODAY_OF_SUMS: dict[str, tuple[str, ...]] = {
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
        "Made safe for Volta and later, with __syncwarp in place of volatile, #7 takes "
        "{times reduce_multiple_adds reduce_multiple_volatile} as long as on the slide.",
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
        "the neighbour has stored it. Beside the lecture's figures stand the times of both with __syncwarp.",
        "On the lecture's GPU all six versions were fastest with 128 threads per block; here #1 is with "
        "{best reduce_interleaved}, #2 with {best reduce_strided}, #3 with {best reduce_sequential}, #4 with "
        "{best reduce_first_add}, #5 with {best reduce_unroll_syncwarp} and #6 with {best reduce_complete_unroll}.",
        "With 32 threads per block all versions are slow, here as there: a multiprocessor holds at most 32 blocks, "
        "which is half of the warps it has room for, and the reduction takes {launches reduce_sequential block=32} "
        "launches instead of {launches reduce_sequential}.",
        "From #1 to #5 the lecture gained {paper reduce_interleaved reduce_unroll_guarded} at 128 threads, here it is "
        "{times reduce_interleaved reduce_unroll_syncwarp}: #1 is predicated and does not diverge, and "
        "at this N an empty kernel alone takes {floor reduce_unroll_syncwarp} of the {time reduce_unroll_syncwarp}.",
        "Complete unrolling cost throughput in the lecture ({paper-rate reduce_complete_guarded} after "
        "{paper-rate reduce_unroll_guarded}); here #5 takes {times reduce_unroll_syncwarp reduce_complete_unroll} as "
        "long as #6 with 128 threads, and {times reduce_unroll_syncwarp reduce_complete_unroll block=256} with 256. "
        "Nor is the code of #6 longer: for one block size it has fewer instructions than #5.",
        "Shuffles in place of __syncwarp take {times reduce_unroll_shuffle reduce_unroll_syncwarp} as long. The rung "
        "with groups takes {times reduce_cooperative reduce_unroll_syncwarp} as long, as all of its blocks must fit "
        "the GPU at once.",
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
}
