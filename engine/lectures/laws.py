"""The laws of the lectures: how a kernel's parameter changes the count that the lecture is about.

A law is a formula for one count of the emulator, for every value of the parameter. If a lecture's number differs from a
count of today (segments of 128 bytes against sectors of 32), the law has both numbers and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, gcd

import numpy as np

from engine.backends.timing.statistics import SAME
from engine.catalogue import KERNELS, topic_of
from engine.history.history import Known, device_line
from engine.lectures.claim import CONSTANT_PASSES, LOAD_PASSES, SECTORS, Counted
from engine.lectures.judge import amount, counted
from engine.records import Measurement, Settled, dtype_of
from engine.records.words import time_text

WARP, SECTOR_BYTES, SEGMENT_BYTES = 32, 32, 128

Formula = Callable[[int, Settled], float]


@dataclass(frozen=True)
class Law:
    """A law, which `Kernel.law` names: `count` is `expected(value, choice)` for every `value` of the parameter.

    `unit`: of the count; `swept`: the name of the varied number, singular and plural. `rule`: the formula in words for
    a choice. `sentence`: the lecture's words, "" if it only names the law; its `slide`. `lecture`: the lecture's own
    formula in the same unit, if it differs, `lecture_rule` its words and `why` the reason. `n`: the number of counted
    elements; few are enough, because the law is the same for any. `decades`: the parameter spans decades, so the axes
    are logarithmic. `values`: the values of n, if n is swept; only those up to `n` are counted. `note`: a further
    observation on the GPU's times, with its reason.
    """

    swept: tuple[str, str]
    count: Counted
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
    """32 neighbours fill as many sectors as a number has bytes, and one more if the first is not at a border."""
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
    """Return the most lanes of a warp that hold the same value: counted in the data, as 32 neighbours are one warp."""
    period, count = topic_of(KERNELS[choice.kernel]).input_recipe(replace(choice, parameter=bins))["in"]
    warps = np.resize(period, count)[: count // WARP * WARP].reshape(-1, WARP)
    return float(max(np.bincount(warp, minlength=bins).max() for warp in warps))


_BRANCHES = Counted("warp_instructions", "thread_instructions", WARP, "value = value *")
_CONTENTION = Counted("atomic_max_contention")
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
    "With one address the compiler lets each warp add up its integers first and issue one atomic, so two addresses "
    "take longer than one; floats get no such help."
)
_TRIES = "Only one thread of an address wins a round, so the tries grow with the square of the threads that meet."


_PER_ADDRESS = "In the whole grid N / addresses threads add to each address."
_FETCHED = (
    "Beyond 64 bytes between neighbours the time grows little more, as it would if the L2 cache fetched two sectors at "
    "a time from memory."
)


def _contention(note: str = "") -> Law:
    return Law(_ADDRESSES, _CONTENTION, "lanes at one address",
               lambda addresses, choice: max(1, WARP // addresses), lambda choice: "32 / addresses, at least 1",
               "But every thread is trying to do this, potentially at the same time.",
               "Reduction: naive thread strategy", decades=True, note=f"{_PER_ADDRESS} {note}".strip())  # fmt: skip


def _matrix(count: Counted, unit: str, expected: Formula, rule: str, sentence: str,
            slide: str) -> Law:  # fmt: skip
    """Return a law that holds for every width of the matrix."""
    return Law(_WIDTH, count, unit, expected, lambda choice: rule, sentence, slide, n=1024, decades=True,
               values=_WIDTHS)  # fmt: skip


LAWS: dict[str, Law] = {
    "offset": Law(_OFFSET, SECTORS, "sectors per request", _offset_sectors,
        lambda choice: f"{_bytes(choice)}, and 1 more unless the offset is a multiple of {32 // _bytes(choice)}",
        "If all 32 locations being read lie in one segment, hardware detects this and only transfers one segment "
        "(128 B) from global memory to SM.", "Memory coalescing", _offset_segments, _SEGMENTS, _SECTOR_WHY),
    "stride": Law(_STRIDE, SECTORS, "sectors per request", _strided_sectors,
        lambda choice: f"min(32, {_bytes(choice)} × stride)",
        "If locations lie in k different segments, k*128 B are transferred. In worst case, transfer 32*128 B = 4KB to "
        "read 32 floats!", "Memory coalescing", _strided_segments, _SEGMENTS, _SECTOR_WHY,
        note=_FETCHED),
    "bank stride": Law(_STRIDE, LOAD_PASSES, "passes per request", _bank_passes,
        lambda choice: "gcd(stride, 32)" if _bytes(choice) == 4 else "2 × gcd(stride, 16), by half warps",
        "If k > 1 threads access different addresses in same bank, get k-way bank conflict. Accesses serialize, takes "
        "k passes to complete accesses.", "Bank conflicts"),
    "bank words": Law(_WORDS, LOAD_PASSES, "passes per request", _broadcast_passes,
        lambda choice: "one for each different word of the bank" if _bytes(choice) == 4
        else "two for each different word, by half warps; for 1 or 2 words one each",
        "Unless all threads access same value, which then gets broadcast in one pass.", "Bank conflicts"),
    "constant words": Law(_WORDS, CONSTANT_PASSES, "passes per request", lambda words, choice: words,
        lambda choice: "one for each different word", "", "GPU memory organization"),
    "branches": Law(_WAYS, _BRANCHES, "passes through the loop", lambda ways, choice: ways,
        lambda choice: "k branches, k passes", "If threads have k branches, SM takes k passes to run warp.",
        "Warp divergence"),
    "branches by warp": Law(_WAYS, _BRANCHES, "passes through the loop", lambda ways, choice: 1,
        lambda choice: "one pass, whatever the number of branches",
        "Different warps can do different things without performance loss.", "Thread warps"),
    "addresses": _contention(_UNIFORM),
    "addresses in turn": _contention(),
    "tries": _contention(_TRIES),
    "aggregated": Law(_ADDRESSES, _CONTENTION, "lanes at one address", lambda addresses, choice: 1,
        lambda choice: "1, whatever the number of addresses", "", "Warp shuffle tips and tricks", decades=True,
        note="At most one thread per block queues at an address."),
    "no atomics": Law(_ADDRESSES, _CONTENTION, "lanes at one address", lambda addresses, choice: 0,
        lambda choice: "0: there are no atomics", "", "Warp shuffle tips and tricks", decades=True,
        note="If addresses are few, many blocks share each of them, and hand over their sums without an atomic."),
    "values by chance": Law(_BINS, _CONTENTION, "lanes at one count",
        _met_by_chance, lambda choice: "most lanes of a warp with one value in the data",
        "", "Parallel reduction", decades=True),
    "neighbours": _matrix(SECTORS, "sectors per request",
            lambda width, choice: _bytes(choice), "as few as the bytes need, whatever the width",
            "Locations all consecutive. All iterations coalesced.", "Coalescing example"),
    "a row a lane": _matrix(SECTORS, "sectors per request", lambda width, choice: WARP,
            "32, one for every lane, whatever the width",
            "Each iteration accesses nonconsecutive locations. All accesses noncoalesced.", "Coalescing example"),
    "staged": _matrix(LOAD_PASSES, "passes per request", lambda width, choice: WARP,
            "32: a column of the tile lies in one bank", "Then make scattered accesses to shared memory.",
            "Improving coalescing"),
    "padded": _matrix(LOAD_PASSES, "passes per request", lambda width, choice: _bytes(choice) // 4,
            "the fewest possible: a column lies in all banks",
            "If threads in a warp access different banks, completes in one pass.", "Bank conflicts"),
}  # fmt: skip


def law_of(kernel: str) -> Law | None:
    """Return the kernel's law, if there is one."""
    return LAWS.get(KERNELS[kernel].law)


SLIGHT = 1.1  # times that differ by less are hardly different
PLAIN = 3  # a time that grows by more shows what the law costs
MOSTLY_LAUNCH = 2.5  # times an empty kernel's time: below this, most of a time is the launch


@dataclass(frozen=True)
class Point:
    """The law at one value of the parameter: the expected count, the counted one, and the GPU's run. None: not (yet)
    known.

    `lecture`: the count by the lecture's own formula, if it has another one.
    """

    value: int
    expected: float
    counted: float | None = None
    lecture: float | None = None
    timed: Measurement | None = None

    @property
    def time_us(self) -> float | None:
        """Return the GPU's time in microseconds."""
        return self.timed.time_us if self.timed else None

    @property
    def holds(self) -> bool | None:
        """Return whether the count agrees with the law."""
        return None if self.counted is None else abs(self.counted - self.expected) < 1e-9


def swept(choice: Settled) -> tuple[Settled, ...]:
    """Return `choice` for every value of the parameter, on its own n: the runs to time for the law; () without one."""
    parameter, law = KERNELS[choice.kernel].parameter, law_of(choice.kernel)
    if law is None:
        return ()
    if law.values or parameter is None:
        return tuple(replace(choice, n=value) for value in law.values)
    return tuple(replace(choice, parameter=value) for value in parameter.values)


def counting(choice: Settled) -> tuple[Settled, ...]:
    """Return the runs on the emulator that count the law: at the law's own n or, if n is swept, at the values up to
    it."""
    law = _law(choice)
    small = replace(choice, device="emulator", cache="cold-clean", grid_size=None)
    if law.values:
        return tuple(each for each in swept(small) if each.n <= law.n)
    return swept(replace(small, n=law.n))


def points(choice: Settled, known: Callable[[Settled], Known]) -> tuple[Point, ...]:
    """Return the law of the choice's kernel at every value of its parameter; `known` gives counts and GPU times."""
    law = _law(choice)
    counts = {_value(law, each): _counted(law, known(each)) for each in counting(choice)}
    found = []
    for each in swept(replace(choice, device="gpu")):
        value = _value(law, each)
        at = each if law.values else replace(each, n=law.n)
        theirs = law.lecture(value, at) if law.lecture else None
        found.append(Point(value, law.expected(value, at), counts.get(value), theirs, known(each).timed))
    return tuple(found)


def times(choice: Settled, known: Callable[[Settled], Known]) -> tuple[tuple[int, float], ...]:
    """Return (value of the parameter, microseconds on a GPU) for the known times of another rung of the page."""
    law = law_of(choice.kernel)
    if law is None:
        return ()
    found = ((_value(law, each), known(each).timed) for each in swept(replace(choice, device="gpu")))
    return tuple((value, timed.time_us) for value, timed in found if timed is not None and timed.time_us is not None)


def verdict(choice: Settled, found: Sequence[Point]) -> str:
    """Return one or two sentences: whether the law holds, where it fails, and where it differs from the lecture's."""
    law = _law(choice)
    name, several = law.swept
    tried = [point for point in found if point.counted is not None]
    if not tried:
        return "Not counted yet: run the sweep."
    broken = [point for point in tried if not point.holds]
    if broken:
        first = broken[0]
        return (
            f"The law does not hold at {len(broken)} of {len(tried)} {several}: at {name} {first.value:,} it says "
            f"{amount(first.expected, law.unit)}, and {first.counted:,.4g} were counted."
        )
    whole = len(tried) == len(found)
    said = f"The law holds at {'all' if whole else 'the'} {len(tried)} {several}{'' if whole else ' counted'}."
    apart = [point for point in tried if point.lecture is not None and point.lecture != point.counted]
    if apart:
        last = max(apart, key=lambda point: abs((point.lecture or 0) - (point.counted or 0)))
        said += (
            f" The lecture's number differs at {len(apart)} of them: at {name} {last.value:,} it is "
            f"{last.lecture:,.4g} instead of {last.counted:,.4g}. {law.why}"
        )
    return said


def timing_sentence(choice: Settled, found: Sequence[Point]) -> str:
    """Return a sentence on the GPU's times beside the law; "" if fewer than two times are known, or if n is swept."""
    law = _law(choice)
    if law.values:
        return ""
    timed = sorted((point.time_us, point.value, point) for point in found if point.time_us is not None)
    if len(timed) < 2:
        return ""
    least, most = timed[0][0], timed[-1][0]
    fast = min((value, point) for time, value, point in timed if time < least * SAME)[1]
    slow = min((value, point) for time, value, point in timed if time > most / SAME)[1]
    said = f"The GPU is fastest at {law.swept[0]} {fast.value:,} ({time_text(least)})"
    if most / least < SLIGHT:
        said += " and hardly slower at the others."
    else:
        if slow.expected == fast.expected:
            more = f"the same number of {law.unit}"
        elif slow.expected > fast.expected > 0:
            more = f"{_factor(slow.expected / fast.expected)} times the {law.unit}"
        else:
            other = f"{fast.expected:,.4g}" if fast.expected else "none"
            more = f"{amount(slow.expected, law.unit)} instead of {other}"
        said += (
            f" and slowest at {slow.value:,} ({time_text(most)}): {_factor(most / least)} times the time for {more}."
        )
    floor = fast.timed.timing.floor_us if fast.timed and fast.timed.timing else None
    changes = len({point.expected for point in found}) > 1
    if floor and changes and least < MOSTLY_LAUNCH * floor and most < PLAIN * least:
        said += f" {floor:.1f} µs of each time is what an empty kernel takes: a larger N shows more of the law's cost."
    return f"{said} {law.note}".strip()


def origins(found: Sequence[Point]) -> str:
    """Return the origin of the times: "NVIDIA H200, recorded 2026-11-21"; "" without times."""
    return " and ".join(sorted({device_line(point.timed) for point in found if point.timed is not None}))


def swept_label(kernel: str) -> str:
    """Return the name of the swept number for an axis: "Stride (elements)"."""
    parameter = KERNELS[kernel].parameter
    return topic_of(KERNELS[kernel]).size_label if parameter is None else parameter.label


def _factor(ratio: float) -> str:
    return f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def _law(choice: Settled) -> Law:
    law = law_of(choice.kernel)
    if law is None:
        raise KeyError(f"{choice.kernel} has no law")
    return law


def _value(law: Law, choice: Settled) -> int:
    return choice.n if law.values or choice.parameter is None else choice.parameter


def _counted(law: Law, known: Known) -> float | None:
    measurement = known.counted
    if measurement is None or measurement.status not in ("ok", "hazard"):
        return None
    try:
        return counted(law.count, measurement)
    except KeyError:  # kept by an earlier version, which had no counts by line
        return None
