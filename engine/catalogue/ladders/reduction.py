"""The ladders of the reductions: four lectures, what they leave open, and an exercise."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import CROVELLA, HEIDELBERG, published, throughput

_SHUFFLE = Rung(
    "reduce_warp_shuffle",
    "shuffle",
    "The tree went through shared memory with a barrier per step; now the lanes hand over registers.",
    "Warp shuffle reduction",
    "atomic",
    promise="same",
)

_HARRIS = Ladder(
    name="harris",
    title="Harris and Crovella: optimizing parallel reduction",
    lecture="M. Harris, Optimizing Parallel Reduction in CUDA; B. Crovella 2020, Atomics, Reductions, Warp Shuffle",
    summary="Up to #7 each rung removes what the lecture finds to be the bottleneck of the one before; #7 stands "
    "twice, as on the slide and made safe for Volta and later; from #8 on the code gets simpler, and a long array "
    "takes longer. 4M ints, 128 threads per block.",
    n=2**22,
    block_size=128,
    dtype="int32",
    rungs=(
        Rung("reduce_interleaved", "#1", "A tree instead of one sum after the other: log2(block size) steps.",
             "Reduction #1: Interleaved Addressing", "relaunch", published("harris", "interleaved-divergent")),
        Rung("reduce_strided", "#2", "The working threads were spread over all warps; now they are consecutive.",
             "Reduction #2: Interleaved Addressing", "relaunch",
             published("harris", "interleaved-bank-conflicts"), promise="faster"),
        Rung("reduce_sequential", "#3", "The strided index met in a few banks; now neighbours use different banks.",
             "Reduction #3: Sequential Addressing", "relaunch", published("harris", "sequential"), promise="faster"),
        Rung("reduce_first_add", "#4", "Half of the threads never added; now each adds once while it loads.",
             "Reduction #4: First Add During Load", "relaunch", published("harris", "first-add-during-load"),
             promise="faster"),
        Rung("reduce_unroll_volatile", "#5",
             "The loop cost more than the additions; the slides unroll the last warp and trust in its lockstep.",
             "Reduction #5: Unroll the Last Warp", "relaunch", published("harris", "unroll-last-warp"),
             promise="faster"),
        Rung("reduce_complete_volatile", "#6", "A loop was left for large strides; a constant block size removes it.",
             "Reduction #6: Completely Unrolled", "relaunch", published("harris", "completely-unrolled")),
        Rung("reduce_multiple_volatile", "#7",
             "Every block paid for a whole tree to add few elements; now each thread adds many before the tree.",
             "Reduction #7: Multiple Adds / Thread", "relaunch",
             published("harris", "multiple-elements-per-thread"), promise="faster"),
        Rung("reduce_multiple_adds", "#7 __syncwarp",
             "#5 to #7 lean on lockstep, which no warp promises since Volta; in place of volatile, __syncwarp between "
             "reading and writing makes the steps safe.",
             "Reduction #7: Multiple Adds / Thread", "relaunch", promise="same"),
        Rung("reduce_grid_stride_host", "#8",
             "The code had grown complicated; with a grid-stride loop the plain tree of #3 will do, though a thread "
             "now has one load on its way, not two. The host adds the rest.",
             "Reduce version 8", "host", promise="slower"),
        Rung("reduce_grid_stride_atomic", "#9",
             "The block sums had to go to the host; now one atomic per block adds them on the GPU.",
             "Reduce version 9", "atomic", promise="faster"),
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
    rungs=(
        Rung("reduce_racy", "*c += a[i]", "One thread per element, and each adds to the one sum. It does not work.",
             "Reduction: naive thread strategy"),
        Rung("reduce_atomic", "atomicAdd", "Reads and writes of different threads mixed; an atomic is indivisible.",
             "Atomics to the rescue", "atomic"),
        Rung("reduce_grid_stride_host", "#8",
             "All additions waited for one address; now each block adds its own elements, and the host the rest.",
             "Reduce version 8", "host", promise="faster"),
        Rung("reduce_atomic_cas", "atomicCAS",
             "The host had to add; where a type has no atomicAdd, a loop around compare-and-swap makes one, and tries "
             "again whenever another block came first.",
             "atomicAdd implementation", "atomic", promise="slower"),
        Rung("reduce_grid_stride_atomic", "#9", "When blocks meet the loop tries again; the atomic unit does not.",
             "Reduce version 9", "atomic", promise="faster"),
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
    rungs=(
        Rung("reduce_interleaved", "#1", "Start many threads: one element per thread, a tree in each block.",
             "Reduction #1: interleaved addressing", "relaunch", throughput("interleaved-divergent")),
        Rung("reduce_strided", "#2", "Every second thread worked, so every warp diverged; now the first ones work.",
             "Reduction #2: interleaved addressing non-divergent", "relaunch",
             throughput("interleaved-non-divergent"), promise="faster"),
        Rung("reduce_sequential", "#3", "The index left bank conflicts; shared memory is best accessed using tid.",
             "Reduction #3: sequential addressing non-divergent", "relaunch",
             throughput("sequential-non-divergent"), promise="faster"),
        Rung("reduce_first_add", "#4", "Half of the threads only loaded; now all add once while they load, in half "
             "as many blocks.",
             "Reduction #4: first add during load", "relaunch", throughput("first-add"), promise="faster"),
        Rung("reduce_unroll_guarded", "#5",
             "Loop control was pure overhead; a last warp in lockstep needs none. As printed, without volatile, the "
             "sum is wrong on a GPU of today.",
             "Reduction #5: unrolling the last warp", "relaunch", throughput("unrolling"),
             stand_in="reduce_unroll_syncwarp"),
        Rung("reduce_complete_guarded", "#6",
             "A loop was left for large strides; a constant block size removes it. The last warp is that of #5, and "
             "as wrong.",
             "Reduction #6: complete unrolling", "relaunch", throughput("templated"),
             stand_in="reduce_complete_unroll"),
        Rung("reduce_unroll_plain", "no if",
             "Back to #5. The slide says 'No need for if (tid < s)', though its code has one in every step: without "
             "if and without volatile every lane adds old numbers, and the sum is wrong even in lockstep.",
             "Reduction #5: unrolling the last warp", "relaunch"),
        Rung("reduce_unroll_syncwarp", "#5 __syncwarp",
             "Nothing made a lane wait for another one, nor the compiler keep the order; now the warp waits between "
             "reading and writing, and the sum is right on every GPU.",
             "Escape the new feature", "relaunch"),
        Rung("reduce_complete_unroll", "#6 __syncwarp",
             "The loop for large strides was back; a constant block size removes it, as in #6, and this last warp is "
             "right.",
             "Escape the new feature", "relaunch"),
        Rung("reduce_unroll_shuffle", "shuffle",
             "Back to #5: two waits, a load and a store per step become one shuffle, which waits by itself.",
             "Warp-level instructions", "relaunch", promise="same"),
        Rung("reduce_cooperative", "groups",
             "Nothing in the code said which threads work together; cooperative groups give them a name and a "
             "barrier. A grid that waits together must fit the GPU at once, and so takes longer.",
             "Escape the new feature", promise="slower"),
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
    rungs=(
        Rung("reduce_scalar", "CPU", "The loop that the full code compares with: 8 numbers take 7 additions, one "
             "after the other.", "Full code: cpu execution", None, published("hekun", "scalar-cpu")),
        Rung("reduce_sequential", "1", "Each addition waited for the one before; as it takes two numbers, the "
             "threads reduce by half every time, and 8 numbers take 3 steps.",
             "1. Threads reduce by half every time", "relaunch"),
        Rung("reduce_grid_stride_atomic", "2", "Every element had its thread; a grid-stride loop reuses a few "
             "threads, and one atomic per block ends it in one launch.", "2. Grid stride loop", "atomic",
             promise="faster"),
        Rung("reduce_register_tree", "full code", "The running sum lay in shared memory, and a tree step read and "
             "wrote at once; now the sum is a private register, and a barrier parts reading from writing.",
             "Full code", "atomic", published("hekun", "grid-stride-atomic (GPU)", grid_size=32), promise="same"),
    ),
)  # fmt: skip

_ONE_LAUNCH = Ladder(
    name="one-launch",
    title="After the lectures: one launch, as fast as the memory",
    lecture="The question the lectures leave open: global synchronization",
    summary="How blocks combine without a second launch or an atomic sum, and what then still costs time.",
    n=2**22,
    block_size=512,
    dtype="int32",
    counter="atomics",
    rungs=(
        Rung("reduce_warp_shuffle", "shuffle", "The lecture's last rung: shuffles, and one atomic per block.",
             "Warp shuffle reduction", "atomic"),
        Rung("reduce_cooperative", "grid sync",
             "The atomics add in any order, to a zeroed result; with a barrier for the grid, block 0 adds. The "
             "barrier is cheap; that all blocks must fit the GPU at once is not.", promise="slower"),
        Rung("reduce_last_block", "last block",
             "All blocks waited for the slowest, and had to fit the GPU at once; now none waits, and the block that "
             "finishes last adds.", promise="faster"),
        Rung("reduce_vectorized", "vectorized",
             "One load per thread was in flight, and fence and ticket cost a microsecond; now four loads of 16 "
             "bytes keep the memory busy, and the sums travel with a flag of their own.", promise="faster"),
        Rung("reduce_unaligned", "any start",
             "The numbers had to begin at a multiple of 16 bytes; now a slice may begin anywhere, as the few numbers "
             "before the first line of memory are added one by one.", promise="same"),
    ),
)  # fmt: skip

_EXERCISE = Ladder(
    name="heidelberg-exercise",
    title="Heidelberg's exercise: two ways out of the new feature",
    lecture=HEIDELBERG,
    summary="First part: the slide's #5, which needs the Pascal model. CUDA 13 no longer has a Pascal target; the "
    "emulator's lockstep schedule runs its warps as Pascal did. Second part: warp primitives and groups.",
    n=2**22,
    block_size=128,
    dtype="int32",
    rungs=(
        Rung("reduce_unroll_guarded", "first part", "The slide's #5, and the trust that a warp runs in lockstep.",
             "Exercise", "relaunch"),
        Rung("reduce_unroll_volatile", "volatile", "A compiler of today reorders the slide's loads and stores; "
             "volatile keeps their order, and the trust in lockstep is what is left.", "Exercise", "relaunch"),
        Rung("reduce_unroll_syncwarp", "__syncwarp", "Lockstep is no longer promised; the warp waits between "
             "reading and writing.", "Exercise", "relaunch", promise="same"),
        Rung("reduce_unroll_shuffle", "shuffle", "Two waits, a load and a store per step become one shuffle, which "
             "waits by itself.", "Exercise", "relaunch", promise="same"),
        Rung("reduce_cooperative", "groups", "Masks and lane numbers were written by hand; groups know theirs. The "
             "grid must fit the GPU at once, and so takes longer.", "Exercise", "grid-sync",
             promise="slower"),
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
