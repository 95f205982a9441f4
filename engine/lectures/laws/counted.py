"""A law of the lectures over its whole sweep: the runs that count it, the points, and whether it holds, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.backends.timing.statistics import SAME
from engine.catalogue import KERNELS, topic_of
from engine.history.history import Known, device_line
from engine.lectures.claims.verdicts import counted
from engine.lectures.laws.formulas import Law, law_of
from engine.records import Measurement, Settled
from engine.records.words import time_text

SLIGHT = 1.1  # times that differ by less are hardly different
PLAIN = 3  # a time that grows by more shows what the law costs
MOSTLY_LAUNCH = 2.5  # times an empty kernel's time: below, the launch is most of what was timed


@dataclass(frozen=True)
class Point:
    """The law at one value of the knob: what it says, what was counted, and the GPU's run. None: not (yet) known.

    `lecture`: what the lecture's own formula says, where that is another one.
    """

    value: int
    expected: float
    counted: float | None = None
    lecture: float | None = None
    timed: Measurement | None = None

    @property
    def time_us(self) -> float | None:
        """The GPU's time in microseconds."""
        return self.timed.time_us if self.timed else None

    @property
    def holds(self) -> bool | None:
        """Whether the count is what the law says."""
        return None if self.counted is None else abs(self.counted - self.expected) < 1e-9


def swept(choice: Settled) -> tuple[Settled, ...]:
    """`choice` for every value of the knob, on its own n: the runs whose times belong to the law. () without a law."""
    parameter, law = KERNELS[choice.kernel].parameter, law_of(choice.kernel)
    if law is None:
        return ()
    if law.values or parameter is None:
        return tuple(replace(choice, n=value) for value in law.values)
    return tuple(replace(choice, parameter=value) for value in parameter.values)


def counting(choice: Settled) -> tuple[Settled, ...]:
    """The runs on the emulator that count the law: at the law's own n, or, where n is swept, those up to it."""
    law = _law(choice)
    small = replace(choice, device="emulator", cache="cold-clean", grid_size=None)
    if law.values:
        return tuple(each for each in swept(small) if each.n <= law.n)
    return swept(replace(small, n=law.n))


def points(choice: Settled, known: Callable[[Settled], Known]) -> tuple[Point, ...]:
    """The law of the choice's kernel at every value of its knob; `known` is asked for counts and for GPU times."""
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
    """(value of the knob, microseconds on a GPU) where a time is known: of a rung beside the one on the page."""
    law = law_of(choice.kernel)
    if law is None:
        return ()
    found = ((_value(law, each), known(each).timed) for each in swept(replace(choice, device="gpu")))
    return tuple((value, timed.time_us) for value, timed in found if timed is not None and timed.time_us is not None)


def verdict(choice: Settled, found: Sequence[Point]) -> str:
    """One or two sentences: whether the law holds, and where it does not or differs from the lecture's."""
    law = _law(choice)
    name, several = law.knob
    tried = [point for point in found if point.counted is not None]
    if not tried:
        return "Not counted yet: run the sweep."
    broken = [point for point in tried if not point.holds]
    if broken:
        first = broken[0]
        return (
            f"The law does not hold at {len(broken)} of {len(tried)} {several}: at {name} {first.value:,} it says "
            f"{first.expected:,.4g} {law.unit}, and {first.counted:,.4g} were counted."
        )
    whole = len(tried) == len(found)
    said = f"The law holds at {'all' if whole else 'the'} {len(tried)} {several}{'' if whole else ' counted'}."
    apart = [point for point in tried if point.lecture is not None and point.lecture != point.counted]
    if apart:
        last = max(apart, key=lambda point: abs((point.lecture or 0) - (point.counted or 0)))
        said += (
            f" The lecture's number is another one at {len(apart)} of them: at {name} {last.value:,} it is "
            f"{last.lecture:,.4g} instead of {last.counted:,.4g}. {law.why}"
        )
    return said


def timing_sentence(choice: Settled, found: Sequence[Point]) -> str:
    """How the GPU's time goes along with the law; "" where fewer than two times are known, or n is what is swept."""
    law = _law(choice)
    if law.values:
        return ""
    timed = sorted((point.time_us, point.value, point) for point in found if point.time_us is not None)
    if len(timed) < 2:
        return ""
    least, most = timed[0][0], timed[-1][0]
    fast = min((value, point) for time, value, point in timed if time < least * SAME)[1]
    slow = min((value, point) for time, value, point in timed if time > most / SAME)[1]
    said = f"The GPU is fastest at {law.knob[0]} {fast.value:,} ({time_text(least)})"
    if most / least < SLIGHT:
        said += " and hardly slower at the others."
    else:
        if slow.expected == fast.expected:
            more = f"the same number of {law.unit}"
        elif fast.expected:
            more = f"{_factor(slow.expected / fast.expected)} times the {law.unit}"
        else:
            more = f"{slow.expected:,.4g} {law.unit} instead of none"
        said += (
            f" and slowest at {slow.value:,} ({time_text(most)}): {_factor(most / least)} times the time for {more}."
        )
    floor = fast.timed.timing.floor_us if fast.timed and fast.timed.timing else None
    if floor and least < MOSTLY_LAUNCH * floor and most < PLAIN * least:
        said += f" {floor:.1f} µs of each time is what an empty kernel takes: a larger N shows more of the law's cost."
    return f"{said} {law.note}".strip()


def origins(found: Sequence[Point]) -> str:
    """Where the times come from: "NVIDIA H200, recorded 2026-11-21"; "" without times."""
    return " and ".join(sorted({device_line(point.timed) for point in found if point.timed is not None}))


def swept_label(kernel: str) -> str:
    """What is swept, for an axis: "Stride (elements)"."""
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
    except KeyError:  # kept from an earlier session, without the counts of its lines
        return None
