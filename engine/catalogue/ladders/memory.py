"""The ladders of the laws of memory and of warps: latency, coalescing, banks, divergence."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import CS121

_LATENCY = Ladder(
    name="cs121-latency",
    title="CS121: latency, and how many threads hide it",
    lecture=CS121,
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
        Rung("latency_hidden", "many threads", "Shared memory is too small for large data; with a chain for every "
             "thread the waiting time is put to use.", "Global memory latency"),
    ),
)  # fmt: skip

_ACCESS = Ladder(
    name="cs121-access",
    title="CS121: copies with an offset and with a stride",
    lecture=CS121,
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

_BANKS = Ladder(
    name="cs121-banks",
    title="CS121: bank conflicts in shared memory",
    lecture=CS121,
    summary="How many passes shared memory takes for one request of a warp. Sweep the stride and the number of "
    "words to see the law.",
    n=2**18,
    block_size=256,
    dtype="int32",
    rungs=(
        Rung("banks_strided", "stride", "Lane l reads word 32 * l: 32 different words in one bank, 32 passes.",
             "Bank conflicts"),
        Rung("banks_broadcast", "broadcast", "Different words of a bank came one after the other; the same word "
             "is broadcast to all lanes at once.", "Bank conflicts"),
        Rung("banks_pairs_neighbours", "2*tid", "The lecture's example: each thread stores two neighbouring "
             "numbers, and two lanes meet in every second bank.", "Bank conflict example"),
        Rung("banks_pairs_apart", "tid", "Every store took two passes; with the two numbers a block size apart the "
             "lanes use all banks.", "Bank conflict example"),
    ),
)  # fmt: skip

_DIVERGENCE = Ladder(
    name="cs121-divergence",
    title="CS121: warp divergence",
    lecture=CS121,
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

LADDERS = (
    _LATENCY,
    _ACCESS,
    _BANKS,
    _DIVERGENCE,
)
