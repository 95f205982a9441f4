"""The ladders of atomics and of the warp shuffle."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.published import CROVELLA, HW5

_OTHER = "nothing; it is another operation."

_ATOMICS = Ladder(
    name="crovella-atomics",
    title="Crovella: atomics, and how to build one",
    lecture=CROVELLA,
    summary="From a transformation, where every thread has an output of its own, to indivisible steps on 4,096 "
    "addresses. Sweep the number of addresses to see the cost of contention, and choose float64 to see the lecture's "
    "atomicAdd for double beside the native one.",
    n=2**18,
    block_size=256,
    dtype="int32",
    baseline=1,
    picture="time",
    counter="atomics",
    today=(
        "The lecture prints no times of these kernels. "
        "Its atomicAdd for double is no longer needed: since Pascal the GPU has its own, "
        "and the loop takes {times atomic_add_cas atomic_add type=float64} as long in double precision.",
        "Contention slows the loop: at N = 2^16, with 16 threads per address, it takes "
        "{times atomic_add_cas atomic_add n=65536} as long as the atomic unit of the L2 cache; at this N, with 64 "
        "threads, {times atomic_add_cas atomic_add}.",
        "atomicExch hands back the old value, which must travel to the thread and be stored: at N = 2^24 it takes "
        "{times atomic_exch atomic_add n=16777216} as long as atomicAdd, whose result nobody reads.",
        "Numbers that a thread or block adds up first need no atomic: aggregated, the sums take "
        "{time atomic_add_aggregated n=16777216} at N = 2^24, where an atomic for every element takes "
        "{time atomic_add n=16777216}. If blocks own their addresses, no atomic is left: "
        "{time add_without_atomics n=16777216}, and the same bits in every run.",
    ),
    rungs=(
        Rung("transformation", "c[i] = a[i] + 10", "One thread per output point: no two threads share an address.",
             "Transformation vs. reduction"),
        Rung("atomic_add", "atomicAdd", "Every thread had an output of its own; if many threads add to one number, "
             "read, modify and write must be one step.", "Atomics to the rescue", promise="slower", shows="+atomics",
             fixes="nothing; but if many threads add to one number without an atomic, additions are lost."),
        Rung("atomic_sub", "atomicSub", "The same operation with the other sign.", "Other atomics", shows="=atomics",
             fixes=_OTHER),
        Rung("atomic_max", "atomicMax", "Not only sums: keep the larger number.", "Other atomics",
             shows="=atomics", fixes=_OTHER),
        Rung("atomic_min", "atomicMin", "Or keep the smaller one.", "Other atomics", promise="same", shows="=atomics",
             fixes=_OTHER),
        Rung("atomic_inc", "atomicInc", "A sum grows without end; this count rolls over to zero by itself.",
             "Other atomics", shows="=atomics", fixes=_OTHER),
        Rung("atomic_dec", "atomicDec", "The count rose and rolled over; now it falls, and starts again at its limit "
             "instead of going below zero.", "Other atomics", shows="=atomics", fixes=_OTHER),
        Rung("atomic_and", "atomicAnd", "Numbers were counted; here bits are cleared, so a first launch must set them "
             "all.", "Other atomics", shows="+launches", fixes=_OTHER),
        Rung("atomic_or", "atomicOr", "Bits were cleared; here they are set, and stay set.", "Other atomics",
             shows="launches", fixes=_OTHER),
        Rung("atomic_xor", "atomicXor", "A bit that was set stayed set; here the second number flips it back.",
             "Other atomics", shows="=atomics", fixes=_OTHER),
        Rung("atomic_exch", "atomicExch", "Only the result counted; here each thread keeps the number that it took "
             "out.",
             "Other atomics", shows="+global_store_requests", fixes=_OTHER),
        Rung("atomic_cas", "atomicCAS", "Every thread wrote; now a thread writes only if it is the first.",
             "Other atomics", shows="=atomics", fixes=_OTHER),
        Rung("atomic_add_cas", "add by CAS", "One swap decided which thread came first; a loop around compare-and-swap "
             "builds the atomics that are missing, at the price of many tries.", "atomicAdd implementation",
             promise="slower",
             shows="+atomics",
             fixes="nothing; it shows how to build an atomic that the GPU lacks."),
        Rung("atomic_add_aggregated", "aggregated", "After the lecture: every element cost an atomic, and most tries "
             "failed; now threads add up the numbers of one address, then blocks do, and one atomic is left for each "
             "block and address.", promise="faster", shows="atomics"),
        Rung("add_without_atomics", "apart", "Blocks met at every address, whose sum had to start from zero; now a "
             "block owns its addresses, and writes each sum once.", promise="faster", shows="atomics"),
    ),
)  # fmt: skip

_ORDER = Ladder(
    name="crovella-order",
    title="Crovella: places in an order and in a buffer",
    lecture=CROVELLA,
    summary="The old value that an atomic returns belongs to one thread alone, so it can be a place in an order or in "
    "a buffer.",
    n=2**22,
    emulator_n=2**18,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="atomics",
    today=(
        "The lecture prints no times of these kernels. "
        "Aggregating by hand gains nothing here ({time filter_atomic n=16777216} and "
        "{time filter_aggregated n=16777216} at N = 2^24): the compiler sees that all lanes add one to one address, "
        "and lets one lane draw for its warp by itself.",
        "All warps still meet at one counter. With look-back there is no shared counter: at N = 2^24 it takes "
        "{time filter_lookback n=16777216}; if one warp of a block looks back while the others load the next tile, it "
        "takes {time filter_specialized n=16777216}.",
    ),
    rungs=(
        Rung("order_place", "place", "An atomic that counts gives every thread a number of its own.",
             "Determine my place in an order", shows="+atomic_max_contention"),
        Rung("reserve_buffer", "buffer", "Every thread took one place; now every thread takes as many as it needs.",
             "Reserve space in a buffer", shows="+global_store_requests",
             fixes="exactly one place for each thread, however many it needs."),
        Rung("filter_atomic", "filter", "All threads took space; now only those threads do whose number is kept.",
             "Warp shuffle tips and tricks", shows="global_store_requests"),
        Rung("filter_aggregated", "aggregated", "In the source every kept number cost an atomic; now one lane reserves "
             "space for its warp, as the compiler already arranged.", "Warp shuffle tips and tricks", promise="same",
             shows="atomic_max_contention", moment="__popc(keepers)"),
        Rung("filter_lookback", "look-back", "After the lecture: all warps met at one counter, in any order; now a "
             "block asks the blocks below it how many numbers they kept, and the order stays.", promise="faster",
             shows="atomics"),
        Rung("filter_specialized", "a warp looks back", "A block that waited for others loaded nothing; now blocks "
             "stay resident, one warp looks back, and the others meanwhile load and count the next tile. That pays for "
             "long arrays.", shows="+barriers"),
    ),
)  # fmt: skip

_WARPS = Ladder(
    name="crovella-warps",
    title="Crovella: other uses of the warp shuffle",
    lecture=CROVELLA,
    summary="From one register for the whole warp to the prefix sum of the whole array.",
    n=2**18,
    block_size=256,
    dtype="int32",
    picture="motion",
    counter="shuffles",
    today=(
        "The lecture prints no times of these kernels. "
        "The shuffles are nearly free: at N = 2^24 the prefix sum of every warp takes "
        "{times warp_prefix_sum warp_broadcast n=16777216} as long as the broadcast, with five shuffles instead of "
        "one.",
        "The prefix sum of everything reads and writes the array a second time: at N = 2^24 it takes "
        "{times grid_prefix_sum block_prefix_sum n=16777216} as long as that of every block. The blocks that look back "
        "read and write it once, and take {times prefix_sum_lookback block_prefix_sum n=16777216} as long; if one warp "
        "of a block looks back while the others load the next tile, it is "
        "{times prefix_sum_specialized block_prefix_sum n=16777216} as long.",
    ),
    rungs=(
        Rung("warp_broadcast", "broadcast", "One instruction hands one lane's register to all lanes.",
             "Warp shuffle tips and tricks", shows="+shuffles", moment="__shfl_sync(0xffffffff, value, LANE)"),
        Rung("warp_movements", "patterns", "All lanes took from one lane; here each lane takes from another lane, in "
             "the four patterns of the shuffles.", "Introducing warp shuffle", shows="+shuffles"),
        Rung("warp_prefix_sum", "warp", "One step moved a number by a fixed distance; now each lane takes from a "
             "lane below it, five times.", "Warp shuffle tips and tricks", shows="+shuffles",
             fixes="one exchange, after which a lane knows one other number."),
        Rung("block_prefix_sum", "block", "The sums stopped at the warp's border; now the sums of the warps are "
             "scanned in the same way.",
             "Warp shuffle tips and tricks", shows="+barriers"),
        Rung("grid_prefix_sum", "grid", "The sums stopped at the block's border; further launches scan the sums of the "
             "blocks.",
             "Solution: Kernel Decomposition", shows="+launches"),
        Rung("prefix_sum_lookback", "look-back", "After the lecture: the sums went to memory and back once for each "
             "launch; now one launch reads and writes every number once, because blocks ask the blocks below them.",
             promise="faster", shows="launches"),
        Rung("prefix_sum_specialized", "a warp looks back", "A block that waited for others loaded nothing; now blocks "
             "stay resident, one warp looks back, and the others meanwhile load and add up the next tile. That pays "
             "for long arrays; at this N no block waits long.", shows="+shared_load_requests"),
    ),
)  # fmt: skip

_HOMEWORK = Ladder(
    name="crovella-max",
    title="Crovella's homework: max reduction",
    lecture=CROVELLA,
    summary=f"{HW5}: max reduction. The reductions of the lecture, with the larger of two numbers in place of their "
    "sum.",
    n=2**20,
    block_size=256,
    dtype="int32",
    counter="barriers",
    today=(
        "The lecture prints no times of these kernels. "
        "At this N launches take most of the time of all rungs. #9 has two launches like "
        "the rungs before, but its other one is a single thread that copies a first number; that makes it "
        "{times max_shuffle max_shuffle_atomic} as fast.",
        "At N = 2^24 the first three take {time max_shared n=16777216}, {time max_shuffle n=16777216} and "
        "{time max_shuffle_atomic n=16777216}: reading memory dominates. The last rung, which has more bytes in "
        "flight, takes {time max_vectorized n=16777216}.",
    ),
    rungs=(
        Rung("max_shared", "#8", "A grid-stride loop, a tree in shared memory, then one block for the "
             "blocks' numbers.", "Homework",
             shows="shuffles"),
        Rung("max_shuffle", "shuffle", "The tree waited at a barrier in every step; now the lanes hand over registers.",
             "Homework", promise="faster", shows="barriers"),
        Rung("max_shuffle_atomic", "#9", "The blocks' numbers needed a launch of their own; now every block updates "
             "the result with one atomicMax.", "Homework", promise="faster", shows="+atomics"),
        Rung("max_vectorized", "vectors", "After the lecture: each thread had one word in flight, and every block "
             "needed an atomic; now a thread has four times 16 bytes in flight, and the blocks hand their numbers to "
             "the last block.",
             promise="faster", shows="atomics"),
    ),
)  # fmt: skip

LADDERS = (
    _ATOMICS,
    _ORDER,
    _WARPS,
    _HOMEWORK,
)
