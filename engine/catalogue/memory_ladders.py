"""The ladders of the laws of memory and of warps: latency, bandwidth, coalescing, banks, divergence, barriers."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.published import CS121

_LATENCY = Ladder(
    name="cs121-latency",
    title="CS121: latency, and how many threads hide it",
    lecture=CS121,
    summary="A chain of numbers in which each says where the next one lies. One thread spends its time on latency; "
    "enough threads hide it. The time of the rung with a register is that of the launch and the arithmetic; the extra "
    "time of another memory is its latency.",
    n=2**18,
    emulator_n=2**14,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="sectors",
    today=(
        "The lecture gives cycles; here a chain of numbers is timed, with its launch and the arithmetic between two "
        "reads.",
        "Through global memory the chain takes {time latency_global}, through shared memory {time latency_shared}: "
        "{times latency_global latency_shared} as long. With the number in a register it is {time latency_register}, "
        "for the launch and the arithmetic alone; the additional time is "
        "{beyond latency_global latency_shared latency_register} as long for global memory as for shared memory.",
        "In the lecture L1 cache and shared memory share 64 KB, on the H200 256 KB. The chain through 4 KB of the L1 "
        "cache takes {time latency_l1 parameter=4}; a larger table takes longer to bring there "
        "({time latency_l1 parameter=192} with 192 KB), and one of 384 KB no longer fits "
        "({time latency_l1 parameter=384}).",
        "With a chain of 64 numbers each, 2^18 threads read 2^24 numbers in {time latency_hidden}; one thread reads "
        "1,024 in {time latency_global}. The caches help the many threads: all numbers together are 1 MB.",
    ),
    rungs=(
        Rung("latency_global", "global", "One thread waits for global memory 1,024 times.",
             "GPU memory organization"),
        Rung("latency_l1", "L1 cache", "Each number came from global memory; now the few numbers of the chain stay in "
             "the L1 cache, which lies on the multiprocessor.", "GPU memory organization", promise="faster",
             shows="+global_load_requests"),
        Rung("latency_shared", "shared", "The hardware decided which numbers the cache holds, and looked each of them "
             "up; shared memory is the same memory, filled by the programmer.", "GPU memory organization",
             promise="faster", shows="global_load_requests"),
        Rung("latency_constant", "constant", "Shared memory had to be filled, and a barrier had to follow; constants "
             "are there before the kernel starts. A dependent chain is slower all the same: its 4 KB do not fit "
             "the nearest constant cache.", "GPU memory organization", promise="slower",
             shows="barriers"),
        Rung("latency_register", "register", "Even the nearest memory takes a load; a register belongs to the "
             "arithmetic unit.", "GPU memory organization", promise="faster", shows="constant_requests"),
        Rung("latency_hidden", "many threads", "Small memories do not help with large data. Now every thread has a "
             "chain of 64 numbers of its own, and while one warp waits another runs.",
             "Global memory latency", promise="more", picture="rate", shows="+global_load_requests",
             fixes="a single thread: the rest of the GPU has no work."),
    ),
)  # fmt: skip

_BANDWIDTH = Ladder(
    name="cs121-bandwidth",
    title="CS121: bandwidth, from global memory to the chip's own",
    lecture=CS121,
    summary="How many bytes a second the threads get from each memory, with all reads coalesced and free of conflicts. "
    "We count the bytes requested.",
    n=2**22,
    emulator_n=2**12,
    block_size=256,
    dtype="int32",
    counter="sectors",
    today=(
        "In the lecture's table L1 cache and shared memory deliver thirteen times as many bytes a second as "
        "global memory.",
        "Here the threads get {rate bandwidth_global} from global memory, {rate bandwidth_l1} from the L1 caches and "
        "{rate bandwidth_shared} from shared memory. Every multiprocessor can deliver 128 bytes in a cycle.",
    ),
    rungs=(
        Rung("bandwidth_global", "global", "Every thread reads 64 numbers that no other thread reads.",
             "GPU memory organization", shows="sectors_per_load"),
        Rung("bandwidth_l1", "L1 cache", "All multiprocessors shared one memory; now each reads from its own cache, "
             "the same few rows of numbers with every warp.", "GPU memory organization", promise="more",
             shows="+global_load_requests"),
        Rung("bandwidth_shared", "shared", "The hardware decided what the cache holds; now the block copies it to "
             "shared memory, which is as fast as the cache.", "GPU memory organization", promise="same",
             shows="global_load_requests"),
    ),
)  # fmt: skip

_CONSTANT = Ladder(
    name="cs121-constant",
    title="CS121: constant memory, for one word at a time",
    lecture=CS121,
    summary="Constant memory is small, read-only and cached, and delivers one word at a time. Sweep the number of "
    "words to see the law.",
    n=2**18,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="constant_passes",
    today=(
        "The lecture says of constant memory only that it is small, cached and read-only.",
        "With 32 different words for the lanes of a warp the loop takes {time constant_words}, with one word "
        "{time constant_broadcast}: {times constant_words constant_broadcast} as long. With up to 16 words all reads "
        "of the loop fit the nearest constant cache; with 32 they touch 4 KB and do not: "
        "{time constant_words parameter=16} with 16 words.",
    ),
    rungs=(
        Rung("constant_words", "32 words", "Every lane of a warp reads another word: 32 passes.",
             "GPU memory organization", shows="+constant_requests"),
        Rung("constant_broadcast", "one word", "Different words came one after the other; one word is broadcast to "
             "all lanes at once.", "GPU memory organization", promise="faster", shows="constant_passes"),
    ),
)  # fmt: skip

_COALESCING = Ladder(
    name="cs121-coalescing",
    title="CS121: by row, by column, and through shared memory",
    lecture=CS121,
    summary="The lecture's picture, with warps of 32 instead of 4: each warp goes through a matrix of 32 x 32 numbers, "
    "which lies in memory row by row. There are N / 32 of them, and a thread per row or column.",
    n=2**22,
    emulator_n=2**14,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="sectors_per_load",
    today=(
        "The lecture's GPU moves segments of 128 bytes: one for a step by row, 32 for a step by column. Sectors have "
        "32 bytes today, and caches keep what the next steps need.",
        "The time differs all the same: by row takes {time matrix_by_row} ({rate matrix_by_row}, {peak matrix_by_row} "
        "of the memory's peak), by column {time matrix_by_column}. The cache must look up 32 lines for one request, "
        "one after the other.",
        "Through shared memory it is {time matrix_staged} with bank conflicts and {time matrix_padded} without.",
        "Eight lanes that read a row and hand their sums over by shuffles need no shared memory, and take "
        "{time matrix_shuffled}.",
        "In one large matrix with a thread per row, the next ladder, there are too few threads for any of this to "
        "show.",
    ),
    rungs=(
        Rung("matrix_by_row", "by row", "One thread per column: in every step the warp reads 32 neighbours, one row.",
             "Coalescing example", shows="constant_requests"),
        Rung("matrix_by_column", "by column", "Each row was one coalesced read; with one thread per row the 32 numbers "
             "of a step lie a whole row apart.", "Coalescing example", promise="slower", shows="+sectors_per_load"),
        Rung("matrix_staged", "staged", "Every request touched 32 sectors; now rows are read coalesced into shared "
             "memory, and the columns from there. That alone gains nothing.", "Improving coalescing", promise="same",
             shows="sectors_per_load"),
        Rung("matrix_padded", "padded", "All lanes read from one bank of shared memory; one unused column spreads them "
             "over all banks.", "Bank conflicts", promise="faster", shows="bank_conflicts"),
        Rung("matrix_shuffled", "shuffles", "After the lecture: every number went to shared memory and back; now eight "
             "lanes read a row, 16 bytes each, and add it by shuffles.", promise="faster",
             shows="shared_load_requests"),
    ),
)  # fmt: skip

_ACCESS = Ladder(
    name="cs121-access",
    title="CS121: copies with an offset and with a stride",
    lecture=CS121,
    summary="How many 32-byte sectors a warp touches to read 32 numbers. Sweep the offset and the stride to see "
    "the law.",
    n=2**22,
    emulator_n=2**18,
    block_size=256,
    dtype="int32",
    picture="law",
    counter="sectors_per_load",
    today=(
        "The lecture's GPU moves segments of 128 bytes, the H200 sectors of 32: for a scattered read of four bytes the "
        "H200 moves 32 bytes, the lecture's GPU 128.",
        "At N = 2^24 the copy with stride 8 takes {times copy_strided copy_offset n=16777216} as long as the one with "
        "an offset, whose extra sector the warp next door uses as well.",
        "At N = 2^18 the launch is most of both times, so they differ less: {time copy_offset n=262144} and "
        "{time copy_strided n=262144}, where an empty kernel takes {floor copy_offset n=262144}.",
        "With more bytes of each thread in flight the copy at N = 2^24 takes {time copy_vectorized n=16777216}, not "
        "{time copy_offset n=16777216}.",
    ),
    rungs=(
        Rung("copy_offset", "offset", "Neighbours read neighbours, but the first number does not lie at the start of a "
             "sector.", "Memory coalescing", shows="sectors_per_load"),
        Rung("copy_strided", "stride", "An offset touched one more sector; a stride spreads the numbers over many, and "
             "most of the bytes that are moved are not used.", "Memory coalescing", promise="slower",
             shows="+sectors_per_load"),
        Rung("copy_vectorized", "vectors", "After the lecture: most of the bytes that were moved were not used, and "
             "each thread had one word in flight; now all of them are used, and each thread has four times 16 bytes in "
             "flight.", promise="faster",
             shows="global_load_requests"),
        Rung("copy_unaligned", "any start", "Loads of 16 bytes must start at a multiple of 16; a thread that requests "
             "many numbers one by one has as many bytes in flight, and these may lie anywhere.",
             promise="same", shows="+global_load_requests"),
    ),
)  # fmt: skip

_BANKS = Ladder(
    name="cs121-banks",
    title="CS121: bank conflicts in shared memory",
    lecture=CS121,
    summary="How many passes shared memory takes for one request of a warp. Sweep the stride and the number of "
    "words to see the law.",
    n=2**22,
    emulator_n=2**18,
    block_size=256,
    dtype="int32",
    picture="law",
    counter="bank_conflicts",
    today=(
        "Lanes that all meet in one bank take 32 passes, as the lecture says; at N = 2^24 they take "
        "{times banks_strided banks_broadcast n=16777216} as long as a broadcast, because the loop around the reads "
        "takes time as well.",
        "The lecture's example loses nothing here: {time banks_pairs_neighbours n=16777216} with conflicts and "
        "{time banks_pairs_apart n=16777216} without at N = 2^24. The copy waits for global memory, and the second "
        "pass happens meanwhile.",
    ),
    rungs=(
        Rung("banks_strided", "stride", "Lane l reads word 32 * l: 32 different words in one bank, 32 passes.",
             "Bank conflicts", shows="+bank_conflicts"),
        Rung("banks_broadcast", "broadcast", "Different words of a bank came one after the other; the same word "
             "is broadcast to all lanes at once.", "Bank conflicts", promise="faster", shows="bank_conflicts"),
        Rung("banks_pairs_neighbours", "2*tid", "The lecture's example: each thread stores two neighbouring "
             "numbers, and two lanes meet in every second bank.", "Bank conflict example", picture="motion",
             shows="+bank_conflicts"),
        Rung("banks_pairs_apart", "tid", "Every store took two passes; with the two numbers a block size apart the "
             "lanes use all banks. The copy waits for global memory either way.", "Bank conflict example",
             promise="same", picture="motion", shows="bank_conflicts"),
    ),
)  # fmt: skip

_DIVERGENCE = Ladder(
    name="cs121-divergence",
    title="CS121: warp divergence",
    lecture=CS121,
    summary="What a warp does if its threads take different branches. Sweep the number of branches to see the law.",
    n=2**22,
    emulator_n=2**18,
    block_size=256,
    dtype="int32",
    picture="law",
    counter="active_lanes_per_instruction",
    today=(
        "The lecture's three branches are so short that the compiler computes all values and selects one: at N = "
        "20,011 the profiler finds {count divergent_branches divergence_three n=20011 block=128} divergent branches.",
        "With a loop in each of 8 branches it is as the lecture says: at N = 2^24 they take "
        "{times divergence_ways divergence_warps n=16777216} as long by thread as by warp.",
    ),
    rungs=(
        Rung("divergence_three", "% 3", "The lecture's three branches. They are so short that the compiler selects "
             "a value instead of branching.", "Warp divergence", picture="counters", shows="=divergent_branches"),
        Rung("divergence_ways", "% WAYS", "Nothing diverged; with a loop in each branch the warp must run the branches "
             "one after the other.", "Warp divergence", promise="slower", shows="+divergent_branches"),
        Rung("divergence_warps", "by warp", "Every warp ran all branches; if whole warps take the same branch, each "
             "runs only its own.", "Thread warps", promise="faster", shows="divergent_branches"),
    ),
)  # fmt: skip

_BARRIERS = Ladder(
    name="cs121-barriers",
    title="CS121: waiting at barriers",
    lecture=CS121,
    summary="Four steps, each with work for another quarter of the warps. With at most one block per multiprocessor "
    "nothing fills the gaps; at a larger N other blocks fill some of them.",
    n=2**14,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="barriers",
    today=(
        "The lecture prints no times.",
        "With one block per multiprocessor the kernel takes {times barrier_every_step barrier_none} as long with the "
        "barriers: the warps take turns, and no other block is there to work.",
        "With eight blocks, at N = 2^22, it still takes {times barrier_every_step barrier_none n=4194304} as long: "
        "while one block waits others have work, but in each of them three quarters of the warps wait as well.",
    ),
    rungs=(
        Rung("barrier_every_step", "barrier per step", "All warps wait in every step for those that have work.",
             "Synchronization", shows="+barriers"),
        Rung("barrier_none", "no barrier", "The warps took turns; without a barrier they all work at the same time.",
             "Synchronization", promise="faster", shows="barriers"),
    ),
)  # fmt: skip

LADDERS = (
    _LATENCY,
    _BANDWIDTH,
    _CONSTANT,
    _COALESCING,
    _ACCESS,
    _BANKS,
    _DIVERGENCE,
    _BARRIERS,
)
