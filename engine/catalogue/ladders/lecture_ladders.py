"""The ladders about memory, warps, atomics and scheduling: the parts of the lectures that are not reductions."""

from __future__ import annotations

from collections.abc import Mapping

from engine.catalogue.entries import Ladder, Rung, Topic

_CS121 = "CS121 Parallel Computing, GPUs and CUDA 2: Memory and Warps (ShanghaiTech, 2021)"
_HEIDELBERG = "GPU Computing 07, Scheduling Optimizations (Heidelberg University)"
_CROVELLA = "B. Crovella 2020, Atomics, Reductions, Warp Shuffle"


def lecture_ladders(topics: Mapping[str, Topic]) -> tuple[Ladder, ...]:
    """The ladders whose topic is in `topics`, in the order of the lectures."""
    made = (
        _latency(),
        _coalescing(),
        _access(),
        _banks(),
        _divergence(),
        _atomics(),
        _order(),
        _warps(),
        _homework_max(),
        _homework_sums(),
        _scheduling(),
        _exercise(),
    )
    return tuple(ladder for ladder in made if ladder.topic in topics)


def _latency() -> Ladder:
    return Ladder(
        name="cs121-latency",
        title="CS121: latency, and how many threads hide it",
        topic="memory",
        lecture=_CS121,
        summary="A chain of numbers in which each says where the next one lies. One thread sees nothing but latency; "
        "enough threads see nothing of it.",
        n=2**22,
        emulator_n=2**14,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("latency_global", "global", "One thread, which waits for global memory 1024 times.",
                 "GPU memory organization"),
            Rung("latency_shared", "shared", "Each number came from far away; shared memory is on the chip.",
                 "GPU memory organization"),
            Rung("latency_hidden", "many threads", "Small memory is no help for large data; with a chain for every "
                 "thread the waiting is filled.", "Global memory latency"),
        ),
    )  # fmt: skip


def _coalescing() -> Ladder:
    return Ladder(
        name="cs121-coalescing",
        title="CS121: by row, by column, and through shared memory",
        topic="matrix_sums",
        lecture=_CS121,
        summary="A matrix lies in memory row by row. What it costs to walk through it against the grain, and how "
        "shared memory helps.",
        n=1024,
        block_size=128,
        dtype="int32",
        rungs=(
            Rung("column_sums", "by row", "One thread per column: in every step a warp reads 32 neighbours of one row.",
                 "Coalescing example"),
            Rung("row_sums", "by column", "One thread per row: now the 32 numbers of a step lie a whole row apart.",
                 "Coalescing example"),
            Rung("row_sums_staged", "staged", "Every request touched 32 sectors; now rows are read coalesced into "
                 "shared memory, and the columns from there.", "Improving coalescing"),
            Rung("row_sums_padded", "padded", "All lanes met in one bank of shared memory; one unused column spreads "
                 "them over all banks.", "Bank conflicts"),
        ),
    )  # fmt: skip


def _access() -> Ladder:
    return Ladder(
        name="cs121-access",
        title="CS121: copies with an offset and with a stride",
        topic="memory",
        lecture=_CS121,
        summary="How many 32-byte sectors a warp touches to read 32 numbers. Sweep the offset and the stride to see "
        "the law.",
        n=2**18,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("copy_offset", "offset", "Neighbours read neighbours, but the first number lies beside the border of "
                 "a sector.", "Memory coalescing"),
            Rung("copy_strided", "stride", "With an offset one sector more was touched; with a stride the numbers are "
                 "spread over many, and most of what is moved is not used.", "Memory coalescing"),
        ),
    )  # fmt: skip


def _banks() -> Ladder:
    return Ladder(
        name="cs121-banks",
        title="CS121: bank conflicts in shared memory",
        topic="memory",
        lecture=_CS121,
        summary="How many passes shared memory takes for one request of a warp. Sweep the stride and the number of "
        "words to see the law.",
        n=2**18,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("banks_strided", "stride", "Lane l reads word 32 * l: 32 different words in one bank, 32 passes.",
                 "Bank conflicts"),
            Rung("banks_broadcast", "broadcast", "Different words of a bank came one after the other; the same word "
                 "comes to all lanes at once.", "Bank conflicts"),
            Rung("banks_pairs_neighbours", "2*tid", "The lecture's example: each thread stores two neighbouring "
                 "numbers, and two lanes meet in every second bank.", "Bank conflict example"),
            Rung("banks_pairs_apart", "tid", "Every store took two passes; with the two numbers a block size apart the "
                 "lanes use all banks.", "Bank conflict example"),
        ),
    )  # fmt: skip


def _divergence() -> Ladder:
    return Ladder(
        name="cs121-divergence",
        title="CS121: warp divergence",
        topic="memory",
        lecture=_CS121,
        summary="What a warp does when its threads want different things. Sweep the number of branches to see the law.",
        n=2**18,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("divergence_three", "% 3", "The lecture's three branches. They are so short that the compiler selects "
                 "a value instead of branching.", "Warp divergence"),
            Rung("divergence_ways", "% WAYS", "Nothing diverged; with a loop in each branch the warp must run them one "
                 "after the other.", "Warp divergence"),
            Rung("divergence_warps", "by warp", "Every warp ran all branches; when whole warps take the same branch, "
                 "each runs only its own.", "Thread warps"),
        ),
    )  # fmt: skip


def _atomics() -> Ladder:
    return Ladder(
        name="crovella-atomics",
        title="Crovella: atomics, and how to build one",
        topic="atomics",
        lecture=_CROVELLA,
        summary="Indivisible steps on 4,096 addresses. Sweep the number of addresses to see what waiting in line "
        "costs, and choose float64 to see the lecture's atomicAdd for double beside the native one.",
        n=2**18,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("atomic_add", "atomicAdd", "Read, modify and write as one step.", "Atomics to the rescue"),
            Rung("atomic_max", "atomicMax", "Adding is not all: choose the larger number.", "Other atomics"),
            Rung("atomic_min", "atomicMin", "Or the smaller one.", "Other atomics"),
            Rung("atomic_inc", "atomicInc", "A sum grows without end; here the step itself goes back to zero.",
                 "Other atomics"),
            Rung("atomic_or", "atomicOr", "Numbers were counted; here bits are set, each once and for all.",
                 "Other atomics"),
            Rung("atomic_xor", "atomicXor", "A bit that was set stayed set; here the second number flips it back.",
                 "Other atomics"),
            Rung("atomic_exch", "atomicExch", "The result was all that counted; here each thread keeps what it took "
                 "out.",
                 "Other atomics"),
            Rung("atomic_cas", "atomicCAS", "Every thread wrote; now a thread writes only if it is the first.",
                 "Other atomics"),
            Rung("atomic_add_cas", "add by CAS", "Compare-and-swap in a loop builds the atomics that are missing.",
                 "atomicAdd implementation"),
        ),
    )  # fmt: skip


def _order() -> Ladder:
    return Ladder(
        name="crovella-order",
        title="Crovella: places in an order and in a buffer",
        topic="atomics",
        lecture=_CROVELLA,
        summary="The old value that an atomic returns belongs to one thread alone. What that is good for.",
        n=2**18,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("order_place", "place", "An atomic that counts gives every thread a number of its own.",
                 "Determine my place in an order"),
            Rung("reserve_buffer", "buffer", "One place each was enough; now every thread takes as many as it needs.",
                 "Reserve space in a buffer"),
            Rung("filter_atomic", "filter", "All threads took space; now only those whose number is kept.",
                 "Warp shuffle tips and tricks"),
            Rung("filter_aggregated", "aggregated", "Every kept number cost an atomic; now one lane draws for its "
                 "warp.",
                 "Warp shuffle tips and tricks"),
        ),
    )  # fmt: skip


def _warps() -> Ladder:
    return Ladder(
        name="crovella-warps",
        title="Crovella: other uses of the warp shuffle",
        topic="atomics",
        lecture=_CROVELLA,
        summary="From one register for the whole warp to the prefix sum of the whole array.",
        n=2**18,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("warp_broadcast", "broadcast", "One lane's register for all lanes, in one instruction.",
                 "Warp shuffle tips and tricks"),
            Rung("warp_movements", "patterns", "All lanes took from one lane; here each takes from another one, in the "
                 "four patterns of the shuffles.", "Introducing warp shuffle"),
            Rung("warp_prefix_sum", "warp", "One step moved a number by a fixed way; now each lane takes from a lane "
                 "below it, five times.", "Warp shuffle tips and tricks"),
            Rung("block_prefix_sum", "block", "The sums ended at the warp; the sums of the warps are scanned the "
                 "same way.",
                 "Warp shuffle tips and tricks"),
            Rung("grid_prefix_sum", "grid", "The sums ended at the block; launching again scans the sums of the "
                 "blocks.",
                 "Solution: Kernel Decomposition"),
        ),
    )  # fmt: skip


def _homework_max() -> Ladder:
    return Ladder(
        name="crovella-max",
        title="Crovella's homework: max reduction",
        topic="atomics",
        lecture=_CROVELLA,
        summary="The reductions of the lecture, with the larger of two numbers in place of their sum.",
        n=2**20,
        block_size=256,
        dtype="int32",
        rungs=(
            Rung("max_shared", "#8", "Grid stride, a tree in shared memory, then one block for the rest.", "Homework"),
            Rung("max_shuffle", "shuffle", "The tree waited at a barrier in every step; the lanes hand over registers.",
                 "Homework"),
            Rung("max_shuffle_atomic", "#9", "A second launch was needed; now every block brings its number in with "
                 "one atomicMax.", "Homework"),
        ),
    )  # fmt: skip


def _homework_sums() -> Ladder:
    return Ladder(
        name="crovella-matrix-sums",
        title="Crovella's homework: row and column sums",
        topic="matrix_sums",
        lecture=_CROVELLA,
        summary="The same matrix and the same number of additions; what differs is who reads what, and how many "
        "threads there are.",
        n=1024,
        block_size=256,
        dtype="float32",
        rungs=(
            Rung("row_sums", "thread per row", "One thread per output, the thread strategy of a transformation.",
                 "Homework"),
            Rung("column_sums", "thread per column", "Neighbouring threads read a row apart; summing columns they read "
                 "neighbours.", "Homework"),
            Rung("row_sums_block", "block per row", "There were only n threads; with a block per row there are enough, "
                 "and rows are read coalesced as well.", "Homework"),
            Rung("row_sums_shuffle", "shuffles", "The tree went through shared memory with a barrier per step; now the "
                 "lanes hand over registers.", "Homework"),
        ),
    )  # fmt: skip


def _scheduling() -> Ladder:
    return Ladder(
        name="heidelberg-volta",
        title="Heidelberg: Volta's independent thread scheduling",
        topic="volta",
        lecture=_HEIDELBERG,
        summary="What a warp promises about the order of its lanes, and what it no longer does. On the emulator choose "
        "between lockstep (up to Pascal) and independent lanes.",
        n=256,
        block_size=128,
        dtype="int32",
        rungs=(
            Rung("branch_order", "if/else", "The lecture's branches with A, B, X, Y and Z: tickets show who runs when.",
                 "Volta's (and after) SIMT model"),
            Rung("branch_order_syncwarp", "__syncwarp", "Z could run beside a branch; __syncwarp lets the lanes meet "
                 "before it.", "Volta's (and after) SIMT model"),
            Rung("branch_exchange", "exchange", "An order alone does no harm; reading what the other branch wrote "
                 "does.",
                 "Volta's (and after) SIMT model"),
            Rung("branch_exchange_syncwarp", "safe exchange", "The reader may have come too early; now the warp meets "
                 "between writing and reading.", "Volta's (and after) SIMT model"),
            Rung("lock_inside", "lock, Pascal", "Lanes met once; a lock lets them wait for each other. Up to Pascal "
                 "only with the work inside the loop.", "Pascal's (and before) SIMT model"),
            Rung("lock_spin", "lock", "The loop had to be turned inside out; with independent lanes the plain lock "
                 "works. In lockstep it never ends.", "Starvation-free algorithms"),
            Rung("lock_ticket", "ticket lock", "Nothing decided who is next; tickets do, and nobody is passed over for "
                 "ever.", "Starvation-free algorithms"),
            Rung("groups_tile", "groups", "Who works with whom stood nowhere in the code; a group has a name and a "
                 "size.",
                 "Escape the new feature"),
            Rung("groups_coalesced", "coalesced group", "The tiles were fixed; in a branch the group is whoever came.",
                 "Escape the new feature"),
        ),
    )  # fmt: skip


def _exercise() -> Ladder:
    return Ladder(
        name="heidelberg-exercise",
        title="Heidelberg's exercise: two ways out of the new feature",
        topic="reduction",
        lecture=_HEIDELBERG,
        summary="First part: the warp-synchronous tail, which needs the Pascal model. CUDA 13 has no Pascal "
        "target any more; the emulator's lockstep schedule is that model. Second part: warp primitives and groups.",
        n=2**22,
        block_size=128,
        dtype="int32",
        rungs=(
            Rung("reduce_unroll_volatile", "first part", "Volatile, and the trust that a warp runs in lockstep.",
                 "Exercise", "relaunch"),
            Rung("reduce_unroll_syncwarp", "__syncwarp", "Lockstep is no longer promised; the warp waits between "
                 "reading and writing.", "Exercise", "relaunch"),
            Rung("reduce_unroll_shuffle", "shuffle", "Two waits, a load and a store per step become one shuffle, which "
                 "waits by itself.", "Exercise", "relaunch"),
            Rung("reduce_cooperative", "groups", "Masks and lane numbers were written by hand; groups know theirs.",
                 "Exercise", "grid-sync"),
        ),
    )  # fmt: skip
