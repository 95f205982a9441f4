"""The ladders of the reductions: four lectures, what they leave open, and an exercise."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.published import CROVELLA, HEIDELBERG, published, throughput

_SHUFFLE = Rung(
    "reduce_warp_shuffle",
    "shuffle",
    "The tree went through shared memory with a barrier per step; now the lanes hand over registers.",
    "Warp shuffle reduction",
    "atomic",
    promise="same",
    shows="barriers",
)

_HARRIS = Ladder(
    name="harris",
    title="Harris and Crovella: optimizing parallel reduction",
    lecture="M. Harris, Optimizing Parallel Reduction in CUDA; B. Crovella 2020, Atomics, Reductions, Warp Shuffle",
    summary="Up to #7 each rung removes the bottleneck that the lecture names for the rung before. #7 appears twice: "
    "as on the slide, and with __syncwarp. From #8 on the code is simpler, but a long array takes longer. 4M ints, 128 "
    "threads per block.",
    n=2**22,
    block_size=128,
    dtype="int32",
    today=(
        "From #1 to #7 the G80 gained {paper reduce_interleaved reduce_multiple_volatile}; here it is "
        "{times reduce_interleaved reduce_multiple_volatile} at this N, and "
        "{times reduce_interleaved reduce_multiple_volatile n=268435456} at N = 2^28.",
        "#1 does not diverge any more: the compiler predicates its short if, and at N = 20,011 the profiler finds "
        "{count divergent_branches reduce_interleaved n=20011} divergent branches in it.",
        "#1 still pays for the remainder tid % (2 * stride), which every thread computes in every step: at N = 20,011 "
        "{count warp_instructions reduce_interleaved n=20011} warp instructions, against "
        "{count warp_instructions reduce_strided n=20011} in #2.",
        "#3 has no bank conflicts: at N = 20,011 it takes {count shared_load_wavefronts reduce_sequential n=20011} "
        "passes over shared memory, and #2 takes {count shared_load_wavefronts reduce_strided n=20011}. It gains "
        "{times reduce_strided reduce_sequential} and not {paper reduce_strided reduce_sequential}, as most of the "
        "time goes elsewhere.",
        "#4 still gains {times reduce_sequential reduce_first_add}, because half of the blocks are gone; after it the "
        "two unrollings bring {times reduce_first_add reduce_unroll_volatile} and "
        "{times reduce_unroll_volatile reduce_complete_volatile}, and in the lecture "
        "{paper reduce_first_add reduce_unroll_volatile} and {paper reduce_unroll_volatile reduce_complete_volatile}.",
        "Made safe for Volta and later, with __syncwarp in place of volatile, #7 takes "
        "{times reduce_multiple_adds reduce_multiple_volatile} as long as on the slide.",
        "At this N the {launches reduce_multiple_volatile} launches of #7 take {time reduce_multiple_volatile}; one "
        "empty kernel takes {floor reduce_multiple_volatile}, so launches are a good part of it. The lecture runs #7 "
        "with 64 to 256 blocks; here it has {blocks reduce_multiple_volatile}.",
        "The 16 MB fit into the L2 cache, so other data replace them there before each timed run; from a warm cache "
        "#7 takes {time reduce_multiple_volatile cache=hot}.",
        "#7 reaches {peak reduce_multiple_volatile} of the memory's peak here and "
        "{peak reduce_multiple_volatile n=268435456} at N = 2^28.",
        "From #8 on the code is simpler but a long array takes longer: at N = 2^28 #8 reaches "
        "{peak reduce_grid_stride_host n=268435456} of the peak, #9 {peak reduce_grid_stride_atomic n=268435456} and "
        "the shuffles {peak reduce_warp_shuffle n=268435456}. A thread of #7 has two loads in flight at a time; a "
        "thread of these rungs has one.",
    ),
    rungs=(
        Rung("reduce_interleaved", "#1", "A tree instead of one long sum: log2(block size) steps.",
             "Reduction #1: Interleaved Addressing", "relaunch", published("harris", "interleaved-divergent")),
        Rung("reduce_strided", "#2", "The working threads were spread over all warps; now they are consecutive.",
             "Reduction #2: Interleaved Addressing", "relaunch",
             published("harris", "interleaved-bank-conflicts"), promise="faster", shows="divergent_branches"),
        Rung("reduce_sequential", "#3", "The strided accesses fell into few banks; now neighbours use different banks.",
             "Reduction #3: Sequential Addressing", "relaunch", published("harris", "sequential"), promise="faster",
             shows="bank_conflicts"),
        Rung("reduce_first_add", "#4", "Half of the threads never added; now each thread adds once while it loads.",
             "Reduction #4: First Add During Load", "relaunch", published("harris", "first-add-during-load"),
             promise="faster", shows="warp_instructions"),
        Rung("reduce_unroll_volatile", "#5",
             "The loop cost more than the additions; the slides unroll the last warp and rely on its lockstep.",
             "Reduction #5: Unroll the Last Warp", "relaunch", published("harris", "unroll-last-warp"),
             promise="faster", shows="barriers", moment="partial[tid + 16]"),
        Rung("reduce_complete_volatile", "#6", "A loop was left for large strides; a constant block size removes it.",
             "Reduction #6: Completely Unrolled", "relaunch", published("harris", "completely-unrolled"),
             shows="branches", moment="partial[tid + 8]"),
        Rung("reduce_multiple_volatile", "#7",
             "Every block paid for a whole tree to add few elements; now each thread adds many before the tree.",
             "Reduction #7: Multiple Adds / Thread", "relaunch",
             published("harris", "multiple-elements-per-thread"), promise="faster", shows="barriers"),
        Rung("reduce_multiple_adds", "#7 __syncwarp",
             "#5 to #7 rely on lockstep, which no warp promises since Volta; __syncwarp between reading and writing "
             "replaces volatile and makes the steps safe.",
             "Reduction #7: Multiple Adds / Thread", "relaunch", promise="same", shows="findings",
             moment="partial[tid + 16]"),
        Rung("reduce_grid_stride_host", "#8",
             "The code had grown complicated; with a grid-stride loop the plain tree of #3 is enough, but a thread now "
             "has one load in flight, not two. The host adds the block sums.",
             "Reduce version 8", "host", promise="slower", shows="launches"),
        Rung("reduce_grid_stride_atomic", "#9",
             "The block sums had to go to the host; now one atomic per block adds them on the GPU.",
             "Reduce version 9", "atomic", promise="faster", shows="+atomics"),
        _SHUFFLE,
    ),
)  # fmt: skip

_ONE_ATOMIC = Ladder(
    name="crovella",
    title="Crovella: from a race to one atomic per block",
    lecture=CROVELLA,
    summary="How all threads can add to one result: wrongly, slowly, and then well.",
    n=2**22,
    block_size=256,
    dtype="int32",
    baseline=1,
    counter="atomics",
    today=(
        "The unprotected sum is as wrong today as in the lecture.",
        "One atomic per element takes {times reduce_atomic reduce_grid_stride_atomic} as long as one per block: for "
        "ints the compiler lets each warp add up its numbers first (REDUX), so one atomic per warp reaches the L2 "
        "cache.",
        "The loop around atomicCAS takes {times reduce_atomic_cas reduce_grid_stride_atomic} as long as atomicAdd: at "
        "N = 20,011, for {count global_red_requests reduce_grid_stride_atomic n=20011 block=128} blocks, the profiler "
        "counts "
        "{count global_atom_requests reduce_atomic_cas n=20011 block=128} attempts. Of the blocks that meet, all but "
        "one must try again, and the first guess, 0, fails for all but the first.",
        "Adding the block sums on the host costs the copy and a wait: {time reduce_grid_stride_host}, against "
        "{time reduce_grid_stride_atomic} with one atomic per block.",
        "Shuffles gain {times reduce_grid_stride_atomic reduce_warp_shuffle} at this N and "
        "{times reduce_grid_stride_atomic reduce_warp_shuffle n=268435456} at N = 2^28: each thread adds many numbers "
        "before the tree begins, so reading them dominates.",
    ),
    rungs=(
        Rung("reduce_racy", "*c += a[i]", "One thread per element, and each adds to the one sum. It does not work.",
             "Reduction: naive thread strategy"),
        Rung("reduce_atomic", "atomicAdd", "Reads and writes of different threads mixed; an atomic is indivisible.",
             "Atomics to the rescue", "atomic", shows="findings"),
        Rung("reduce_grid_stride_host", "#8",
             "All additions waited at one address; now each block adds its own elements, and the host adds the block "
             "sums.",
             "Reduce version 8", "host", promise="faster", shows="atomics",
             fixes="one atomic for each element, all of them on one address."),
        Rung("reduce_atomic_cas", "atomicCAS",
             "The host had to add; for a type without atomicAdd, a loop around compare-and-swap makes one, and tries "
             "again whenever another block came first.",
             "atomicAdd implementation", "atomic", promise="slower", shows="+atomics"),
        Rung("reduce_grid_stride_atomic", "#9", "When blocks meet, the loop tries again; the atomic unit does not.",
             "Reduce version 9", "atomic", promise="faster", shows="atomics",
             fixes="the loop around compare-and-swap, which tries again whenever blocks meet."),
        _SHUFFLE,
    ),
)  # fmt: skip

_SIX_VERSIONS = Ladder(
    name="heidelberg",
    title="Heidelberg: six reductions and Volta's scheduling",
    lecture=HEIDELBERG,
    summary="Throughput by threads per block, for 4M ints; then the exercise: what independent thread scheduling "
    "breaks, and two ways out of it.",
    n=2**22,
    block_size=128,
    dtype="int32",
    today=(
        "As printed, #5 and #6 are wrong here: compiled for a GPU of today, a lane loads its neighbour's number before "
        "the neighbour has stored it. The times beside the lecture's figures are those of both with __syncwarp.",
        "On the lecture's GPU all six versions were fastest with 128 threads per block; here the best sizes are "
        "{best reduce_interleaved} for #1, {best reduce_strided} for #2, {best reduce_sequential} for #3, "
        "{best reduce_first_add} for #4, {best reduce_unroll_syncwarp} for #5 and {best reduce_complete_unroll} for "
        "#6.",
        "With 32 threads per block all versions are slow, here as in the lecture: a multiprocessor of the H200 holds "
        "at most 32 blocks, half of the warps that it has room for, and the reduction takes "
        "{launches reduce_sequential block=32} launches instead of {launches reduce_sequential}.",
        "From #1 to #5 the lecture gained {paper reduce_interleaved reduce_unroll_guarded} at 128 threads, here it is "
        "{times reduce_interleaved reduce_unroll_syncwarp}: #1 is predicated and does not diverge, and "
        "at this N an empty kernel alone takes {floor reduce_unroll_syncwarp} of the {time reduce_unroll_syncwarp}.",
        "Complete unrolling cost throughput in the lecture ({paper-rate reduce_complete_guarded} after "
        "{paper-rate reduce_unroll_guarded}); here #5 takes {times reduce_unroll_syncwarp reduce_complete_unroll} as "
        "long as #6 with 128 threads, and {times reduce_unroll_syncwarp reduce_complete_unroll block=256} with 256. "
        "Nor is the code of #6 longer: for one block size it has fewer instructions than #5.",
        "Shuffles in place of __syncwarp take {times reduce_unroll_shuffle reduce_unroll_syncwarp} as long. The rung "
        "with groups takes {times reduce_cooperative reduce_unroll_syncwarp} as long, because all of its blocks must "
        "be resident at once.",
    ),
    rungs=(
        Rung("reduce_interleaved", "#1", "Start many threads: one element per thread, a tree in each block.",
             "Reduction #1: interleaved addressing", "relaunch", throughput("interleaved-divergent")),
        Rung("reduce_strided", "#2", "Every second thread worked, so every warp diverged; now the first ones work.",
             "Reduction #2: interleaved addressing non-divergent", "relaunch",
             throughput("interleaved-non-divergent"), promise="faster", shows="divergent_branches"),
        Rung("reduce_sequential", "#3", "The strided index caused bank conflicts; now each thread uses word tid.",
             "Reduction #3: sequential addressing non-divergent", "relaunch",
             throughput("sequential-non-divergent"), promise="faster", shows="bank_conflicts"),
        Rung("reduce_first_add", "#4", "Half of the threads only loaded; now all threads add once while they load, in "
             "half as many blocks.",
             "Reduction #4: first add during load", "relaunch", throughput("first-add"), promise="faster",
             shows="warp_instructions"),
        Rung("reduce_unroll_guarded", "#5",
             "Loop control was pure overhead; a last warp in lockstep needs none. As printed, without volatile, the "
             "sum is wrong on a GPU of today.",
             "Reduction #5: unrolling the last warp", "relaunch", throughput("unrolling"),
             stand_in="reduce_unroll_syncwarp", shows="barriers", moment="partial[tid + 8]"),
        Rung("reduce_complete_guarded", "#6",
             "A loop was left for large strides; a constant block size removes it. The last warp is that of #5, and "
             "just as wrong.",
             "Reduction #6: complete unrolling", "relaunch", throughput("templated"),
             stand_in="reduce_complete_unroll", shows="branches", moment="partial[tid + 8]"),
        Rung("reduce_unroll_plain", "no if",
             "Back to #5. The slide says 'No need for if (tid < s)', though its code has one in every step: without if "
             "and volatile every lane adds old numbers, and the sum is wrong even in lockstep.",
             "Reduction #5: unrolling the last warp", "relaunch", shows="wavefronts",
             fixes="nothing; it shows that the ifs of #5 still kept its steps apart.", moment="partial[tid + 16]"),
        Rung("reduce_unroll_syncwarp", "#5 __syncwarp",
             "No lane waited for another, and the compiler was free to reorder; now the warp waits between reading and "
             "writing, and the sum is right on every GPU.",
             "Escape the new feature", "relaunch", shows="findings", moment="partial[tid + 16]"),
        Rung("reduce_complete_unroll", "#6 __syncwarp",
             "The loop for large strides was back; a constant block size removes it, as in #6, and this time the last "
             "warp is right.",
             "Escape the new feature", "relaunch", shows="branches", moment="partial[tid + 16]"),
        Rung("reduce_unroll_shuffle", "shuffle",
             "Back to #5: one shuffle, which waits by itself, replaces two waits, a load and a store per step.",
             "Warp-level instructions", "relaunch", promise="same", shows="wavefronts"),
        Rung("reduce_cooperative", "groups",
             "Nothing in the code said which threads work together; cooperative groups give them a name and a barrier. "
             "A grid with a barrier must be resident as a whole, and so takes longer.",
             "Escape the new feature", promise="slower", shows="launches",
             fixes="masks and lane numbers written by hand, and further launches for the block sums."),
    ),
)  # fmt: skip

_HEKUN = Ladder(
    name="hekun",
    title="He Kun: from halving threads to one kernel",
    lecture="He Kun 2024, CUDA programming model: Reduction",
    summary="Ten million ints, 256 threads per block. Choose 32 blocks to run it as he does, and N = 8 with a block "
    "size of 8 for his picture.",
    n=10_000_000,
    block_size=256,
    dtype="int32",
    picture="time",
    today=(
        "The notes do not say which GPU took the published time; they mention a 1050 Ti and a 1080 Ti.",
        "That time is the mean of 20 rounds over managed memory that the CPU has just written: the first round also "
        "brings the 40 MB to the GPU. Here they lie in the GPU's memory before the clock starts.",
        "He Kun launches 32 blocks, and a block runs on one multiprocessor: the H200 has 132, so by default the kernel "
        "has {blocks reduce_register_tree} blocks. Choose 32 to see the difference.",
        "Reading and writing apart, with two barriers per step instead of one, takes "
        "{times reduce_register_tree reduce_grid_stride_atomic n=4194304} as long at N = 2^22 as the tree that reads "
        "and writes at once, and {times reduce_register_tree reduce_grid_stride_atomic n=268435456} at N = 2^28: the "
        "tree is a small part of the work.",
        "Ten million ints on one thread of the CPU take {time reduce_scalar}, "
        "{times reduce_scalar reduce_register_tree@blocks=32} as long as the full code on the GPU; with the default "
        "number of blocks the full code is {times reduce_register_tree@blocks=32 reduce_register_tree} as fast as with "
        "32.",
    ),
    rungs=(
        Rung("reduce_scalar", "CPU", "The loop that the full code is compared with: 8 numbers take 7 additions, one "
             "after the other.", "Full code: cpu execution", None, published("hekun", "scalar-cpu")),
        Rung("reduce_sequential", "1", "Each addition waited for the one before; an addition takes two numbers, so the "
             "number of threads halves in every step, and 8 numbers take 3 steps.",
             "1. Threads reduce by half every time", "relaunch",
             fixes="one thread, in which each of n - 1 additions waits for the one before."),
        Rung("reduce_grid_stride_atomic", "2", "Every element had its own thread; a grid-stride loop reuses a few "
             "threads, and one atomic per block finishes the sum in one launch.", "2. Grid stride loop", "atomic",
             promise="faster", shows="launches",
             fixes="a thread for every element, and a further launch for the block sums."),
        Rung("reduce_register_tree", "full code", "The running sum lay in shared memory, and a tree step read and "
             "wrote at once; now the sum is a private register, and a barrier separates reading from writing.",
             "Full code", "atomic", published("hekun", "grid-stride-atomic (GPU)", grid_size=32), promise="same",
             shows="+barriers"),
    ),
)  # fmt: skip

_ONE_LAUNCH = Ladder(
    name="one-launch",
    title="After the lectures: one launch, as fast as the memory",
    lecture="The question the lectures leave open: global synchronization",
    summary="How blocks combine without a second launch or an atomic sum, and what still takes time.",
    n=2**22,
    block_size=512,
    dtype="int32",
    counter="atomics",
    today=(
        "The lecture says that the GPU has no global synchronization; since CUDA 9 a cooperative launch has one, as "
        "long as all blocks fit the GPU together. The barrier itself costs little: with 512 blocks of 256 threads that "
        "rung takes {time reduce_cooperative block=256 blocks=512}, the one with an atomic per block "
        "{time reduce_warp_shuffle block=256 blocks=512}; with 1,024 blocks "
        "{time reduce_cooperative block=256 blocks=1024} and {time reduce_warp_shuffle block=256 blocks=1024}, and at "
        "N = 2^28 {time reduce_cooperative block=256 blocks=1024 n=268435456} and "
        "{time reduce_warp_shuffle block=256 blocks=1024 n=268435456}.",
        "The price is a smaller grid, which is sure to fit: on this page grid sync has {blocks reduce_cooperative} "
        "blocks and takes {time reduce_cooperative}, the shuffles have {blocks reduce_warp_shuffle} and take "
        "{time reduce_warp_shuffle}. With fewer threads fewer loads are in flight.",
        "At N = 2^28 the lecture's last rung reaches {peak reduce_warp_shuffle n=268435456} of the memory's peak, and "
        "the vectorized one {peak reduce_vectorized n=268435456}: one load of four bytes "
        "per thread is not enough to keep HBM busy.",
        "At this N the vectorized rung takes {time reduce_vectorized}; an empty kernel alone takes "
        "{floor reduce_vectorized}.",
    ),
    rungs=(
        Rung("reduce_warp_shuffle", "shuffle", "The lecture's last rung: shuffles, and one atomic per block.",
             "Warp shuffle reduction", "atomic", shows="barriers"),
        Rung("reduce_cooperative", "grid sync",
             "The atomics added in any order to a zeroed result; with a barrier for the grid, block 0 adds. The "
             "barrier itself is cheap, but all blocks must be resident at once.", promise="slower",
             shows="+global_load_requests"),
        Rung("reduce_last_block", "last block",
             "All blocks waited for the slowest, and all had to be resident at once; now none waits, and the block "
             "that finishes last adds the sums.", promise="faster", shows="global_load_requests"),
        Rung("reduce_vectorized", "vectorized",
             "One load per thread was in flight, and fence and ticket cost about a microsecond; now four loads of 16 "
             "bytes keep the memory busy, and each sum is stored together with a flag.", promise="faster",
             shows="global_load_requests"),
        Rung("reduce_unaligned", "any start",
             "The array had to start at a multiple of 16 bytes; now a slice may start anywhere, because the few "
             "numbers before the first line of memory are added one by one.", promise="same",
             shows="+global_load_requests"),
    ),
)  # fmt: skip

_EXERCISE = Ladder(
    name="heidelberg-exercise",
    title="Heidelberg's exercise: two ways out of the new feature",
    lecture=HEIDELBERG,
    summary="First part: the slide's #5, which needs Pascal's scheduling. CUDA 13 no longer has a Pascal target; the "
    "emulator's lockstep schedule runs its warps as Pascal did. Second part: warp primitives and groups.",
    n=2**22,
    block_size=128,
    dtype="int32",
    today=(
        "The first part cannot be compiled as the slide says: CUDA 13 no longer supports compute_60. On the emulator, "
        "whose warps run in lockstep as Pascal's did, the slide's code gives the right answer; compiled for a GPU of "
        "today it gives a wrong one. With volatile it is right by luck, and takes {time reduce_unroll_volatile}.",
        "Beside #5 with volatile the second part takes {times reduce_unroll_syncwarp reduce_unroll_volatile} as long "
        "with __syncwarp and {times reduce_unroll_shuffle reduce_unroll_volatile} with shuffles: being right is nearly "
        "free.",
        "The rung with groups takes {time reduce_cooperative}. The size of its grid makes it slower, not the barrier: "
        "all blocks must be resident at once, so each thread adds many numbers, one load after the other.",
    ),
    rungs=(
        Rung("reduce_unroll_guarded", "first part", "The slide's #5, which relies on a warp that runs in lockstep.",
             "Exercise", "relaunch", shows="barriers", moment="partial[tid + 8]"),
        Rung("reduce_unroll_volatile", "volatile", "A compiler of today reorders the slide's loads and stores; "
             "volatile keeps their order, but the code still relies on lockstep.", "Exercise", "relaunch",
             shows="branches",
             fixes="the compiler may load a number before the neighbour's step has stored it.",
             moment="partial[tid + 16]"),
        Rung("reduce_unroll_syncwarp", "__syncwarp", "Lockstep is no longer promised; now the warp waits between "
             "reading and writing.", "Exercise", "relaunch", promise="same", shows="findings",
             moment="partial[tid + 16]"),
        Rung("reduce_unroll_shuffle", "shuffle", "One shuffle, which waits by itself, replaces two waits, a load and a "
             "store per step.", "Exercise", "relaunch", promise="same", shows="wavefronts"),
        Rung("reduce_cooperative", "groups", "Masks and lane numbers were written by hand; groups know theirs. The "
             "grid must be resident as a whole, and so takes longer.", "Exercise", "grid-sync",
             promise="slower", shows="launches",
             fixes="masks and lane numbers written by hand, and further launches for the block sums."),
    ),
)  # fmt: skip

LADDERS = (
    _HARRIS,
    _ONE_ATOMIC,
    _SIX_VERSIONS,
    _HEKUN,
    _ONE_LAUNCH,
    _EXERCISE,
)
