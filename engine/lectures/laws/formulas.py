"""The laws of the lectures as data: what a kernel's knob does to the count that the lecture is about.

A law is a formula for one count of the emulator, for every value of the knob. Where a lecture states another number
than a GPU of today counts (its segments of 128 bytes against sectors of 32), the law has both, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, gcd

import numpy as np

from engine.catalogue import KERNELS, topic_of
from engine.lectures.claims.kinds import CONSTANT_PASSES, LOAD_PASSES, SECTORS, Count
from engine.records import Settled, dtype_of

WARP, SECTOR_BYTES, SEGMENT_BYTES = 32, 32, 128

Formula = Callable[[int, Settled], float]


@dataclass(frozen=True)
class Law:
    """One law: `count` is `expected(value, choice)` for every `value` of the kernel's knob.

    `unit`: what is counted; `knob`: what is swept, one of it and several. `rule`: the formula in words for a choice.
    `sentence`: the lecture's words, "" where it says no more than the name; its `slide`. `lecture`: the lecture's own
    formula in the same unit where it is another one, `lecture_rule` its words and `why` the difference. `n`: elements
    that are counted, few, as the law is the same for any. `decades`: the knob spans decades, so the axes are
    logarithmic. `values`: what to sweep n over where that is the knob; only those up to `n` are counted. `note`: what
    else the GPU's times show, and why.
    """

    kernels: tuple[str, ...]
    knob: tuple[str, str]
    count: Count
    unit: str
    expected: Formula
    rule: Callable[[Settled], str]
    sentence: str
    slide: str
    lecture: Formula | None = None
    lecture_rule: str = ""
    why: str = ""
    n: int = 1024
    decades: bool = False
    values: tuple[int, ...] = ()
    note: str = ""


def _bytes(choice: Settled) -> int:
    return dtype_of(choice.dtype).itemsize


def _offset_sectors(offset: int, choice: Settled) -> float:
    """32 neighbours fill as many sectors as a number has bytes; one more where the first lies beside a border."""
    return _bytes(choice) + (offset * _bytes(choice) % SECTOR_BYTES > 0)


def _offset_segments(offset: int, choice: Settled) -> float:
    segments = WARP * _bytes(choice) // SEGMENT_BYTES + (offset * _bytes(choice) % SEGMENT_BYTES > 0)
    return segments * SEGMENT_BYTES // SECTOR_BYTES


def _strided_sectors(stride: int, choice: Settled) -> float:
    return min(WARP, stride * _bytes(choice))


def _strided_segments(stride: int, choice: Settled) -> float:
    return min(WARP, ceil(WARP * stride * _bytes(choice) / SEGMENT_BYTES)) * SEGMENT_BYTES // SECTOR_BYTES


def _bank_passes(stride: int, choice: Settled) -> float:
    """Numbers of 8 bytes are served by half warps, whose 16 lanes see 16 pairs of banks."""
    return gcd(stride, 32) if _bytes(choice) == 4 else 2 * gcd(stride, 16)


def _broadcast_passes(words: int, choice: Settled) -> float:
    """Numbers of 8 bytes: by half warps, unless neighbouring lanes, or every second lane, read the same one."""
    if _bytes(choice) == 4 or words <= 2:
        return words
    return 2 * min(words, WARP // 2)


def _met_by_chance(bins: int, choice: Settled) -> float:
    """The most lanes of a warp that hold the same value: counted in the data, as 32 neighbours are one warp."""
    period, count = topic_of(KERNELS[choice.kernel]).input_recipe(replace(choice, parameter=bins))["in"]
    warps = np.resize(period, count)[: count // WARP * WARP].reshape(-1, WARP)
    return float(max(np.bincount(warp, minlength=bins).max() for warp in warps))


_BRANCHES = Count("warp_instructions", "thread_instructions", WARP, "value = value *")
_CONTENTION = Count("atomic_max_contention")
_OFFSET, _STRIDE, _WORDS = ("offset", "offsets"), ("stride", "strides"), ("number of words", "numbers of words")
_WAYS, _BINS = ("number of branches", "numbers of branches"), ("number of values", "numbers of values")
_ADDRESSES, _WIDTH = ("number of addresses", "numbers of addresses"), ("width", "widths")
_WIDTHS = (256, 512, 1024, 2048, 4096, 8192)
_SEGMENTS = "k segments of 128 bytes, 4 sectors each"
_SECTOR_WHY = (
    f"It counts segments of {SEGMENT_BYTES} bytes, drawn here as the sectors they are made of; a GPU of today moves "
    f"single sectors of {SECTOR_BYTES} bytes."
)
_UNIFORM = (
    "With one address the compiler sees that all lanes of a warp want the same one: it lets the warp add up first and "
    "issue one atomic, so that two addresses take longer than one."
)
_TRIES = "Only one thread of an address wins a round, so the tries grow with the square of the threads that meet."


_IN_LINE = "Beyond the warp, N / addresses threads of the whole grid stand in line at each address."
_FETCHED = (
    "That it goes on growing up to 64 bytes between neighbours fits an L2 cache that fetches two sectors at a time "
    "from memory."
)


def _contention(kernels: tuple[str, ...], note: str = "") -> Law:
    return Law(kernels, _ADDRESSES, _CONTENTION, "lanes at one address",
               lambda addresses, choice: max(1, WARP // addresses), lambda choice: "32 / addresses, at least 1",
               "But every thread is trying to do this, potentially at the same time.",
               "Reduction: naive thread strategy", decades=True, note=f"{_IN_LINE} {note}".strip())  # fmt: skip


def _matrix(kernels: tuple[str, ...], count: Count, unit: str, expected: Formula, rule: str, sentence: str,
            slide: str) -> Law:  # fmt: skip
    """A law that holds for every width of the matrix."""
    return Law(kernels, _WIDTH, count, unit, expected, lambda choice: rule, sentence, slide, n=1024, decades=True,
               values=_WIDTHS)  # fmt: skip


LAWS: tuple[Law, ...] = (
    Law(("copy_offset", "copy_unaligned"), _OFFSET, SECTORS, "sectors per request", _offset_sectors,
        lambda choice: f"{_bytes(choice)}, and 1 more unless the offset is a multiple of {32 // _bytes(choice)}",
        "If all 32 locations being read lie in one segment, hardware detects this and only transfers one segment "
        "(128 B) from global memory to SM.", "Memory coalescing", _offset_segments, _SEGMENTS, _SECTOR_WHY),
    Law(("copy_strided",), _STRIDE, SECTORS, "sectors per request", _strided_sectors,
        lambda choice: f"min(32, {_bytes(choice)} × stride)",
        "If locations lie in k different segments, k*128 B are transferred. In worst case, transfer 32*128 B = 4KB to "
        "read 32 floats!", "Memory coalescing", _strided_segments, _SEGMENTS, _SECTOR_WHY,
        note=_FETCHED),
    Law(("banks_strided",), _STRIDE, LOAD_PASSES, "passes per request", _bank_passes,
        lambda choice: "gcd(stride, 32)" if _bytes(choice) == 4 else "2 × gcd(stride, 16), by half warps",
        "If k > 1 threads access different addresses in same bank, get k-way bank conflict. Accesses serialize, takes "
        "k passes to complete accesses.", "Bank conflicts"),
    Law(("banks_broadcast",), _WORDS, LOAD_PASSES, "passes per request", _broadcast_passes,
        lambda choice: "one for each different word of the bank" if _bytes(choice) == 4
        else "two for each different word, by half warps; for 1 or 2 words one each",
        "Unless all threads access same value, which then gets broadcast in one pass.", "Bank conflicts"),
    Law(("constant_words",), _WORDS, CONSTANT_PASSES, "passes per request", lambda words, choice: words,
        lambda choice: "one for each different word", "", "GPU memory organization"),
    Law(("divergence_ways",), _WAYS, _BRANCHES, "passes through the loop", lambda ways, choice: ways,
        lambda choice: "k branches, k passes", "If threads have k branches, SM takes k passes to run warp.",
        "Warp divergence"),
    Law(("divergence_warps",), _WAYS, _BRANCHES, "passes through the loop", lambda ways, choice: 1,
        lambda choice: "one pass, whatever the number of branches",
        "Different warps can do different things without performance loss.", "Thread warps"),
    _contention(("atomic_add", "atomic_sub", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"),
                _UNIFORM),
    _contention(("atomic_inc", "atomic_dec", "atomic_exch", "atomic_cas")),
    _contention(("atomic_add_cas",), _TRIES),
    Law(("atomic_add_aggregated",), _ADDRESSES, _CONTENTION, "lanes at one address", lambda addresses, choice: 1,
        lambda choice: "1, whatever the number of addresses", "", "Warp shuffle tips and tricks", decades=True,
        note="In line at an address stand no more threads than the grid has blocks."),
    Law(("add_without_atomics",), _ADDRESSES, _CONTENTION, "lanes at one address", lambda addresses, choice: 0,
        lambda choice: "0: there are no atomics", "", "Warp shuffle tips and tricks", decades=True,
        note="Few addresses have many blocks each, which hand their sums over without an atomic."),
    Law(("histogram_global", "histogram_shared", "histogram_warps"), _BINS, _CONTENTION, "lanes at one count",
        _met_by_chance, lambda choice: "most lanes of a warp with one value in the data",
        "", "Parallel reduction", decades=True),
    _matrix(("column_sums", "row_sums_block", "row_sums_shuffle"), SECTORS, "sectors per request",
            lambda width, choice: _bytes(choice), "as few as the bytes need, whatever the width",
            "Locations all consecutive. All iterations coalesced.", "Coalescing example"),
    _matrix(("row_sums",), SECTORS, "sectors per request", lambda width, choice: WARP,
            "32, one for every lane, whatever the width",
            "Each iteration accesses nonconsecutive locations. All accesses noncoalesced.", "Coalescing example"),
    _matrix(("row_sums_staged",), LOAD_PASSES, "passes per request", lambda width, choice: WARP,
            "32: a column of the tile lies in one bank", "Then make scattered accesses to shared memory.",
            "Improving coalescing"),
    _matrix(("row_sums_padded",), LOAD_PASSES, "passes per request", lambda width, choice: _bytes(choice) // 4,
            "the fewest there can be: a column lies in all banks",
            "If threads in a warp access different banks, completes in one pass.", "Bank conflicts"),
)  # fmt: skip


def law_of(kernel: str) -> Law | None:
    """The kernel's law, if there is one."""
    return _OF.get(kernel)


_OF = {name: law for law in LAWS for name in law.kernels}
