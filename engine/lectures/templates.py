"""Why a ladder's numbers have another shape today: its paragraph, with every figure from the recorded runs.

A sentence of `Ladder.today` holds figures in braces, each a word and what it is about:

    {time KERNEL}  {rate KERNEL}  {gflops KERNEL}  {peak KERNEL}  {floor KERNEL}   of its recorded run
    {times KERNEL OTHER}      how many times as long KERNEL takes as OTHER: "1.45×"
    {beyond KERNEL OTHER IDLE}   the same of what each takes beyond the time of IDLE
    {paper KERNEL OTHER}      the same by the lecture's figures
    {paper-rate KERNEL}       the lecture's bandwidth
    {count COUNTER KERNEL}    what a profiler counted on the GPU, where `n` must have been counted
    {launches KERNEL}  {blocks KERNEL}  {best KERNEL}   of its plan; the block size that is fastest

each at the ladder's own N, block size and type, or at others: {time reduce_sequential n=268435456 block=256 cache=hot};
KERNEL@block=32 changes them for that kernel only. A sentence with a figure that nobody recorded is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.catalogue import KERNELS, Ladder, Published
from engine.catalogue.gpu_models import GPU
from engine.history.history import device_line, recorded_for
from engine.history.profiles import hardware_counters
from engine.history.tables import published_for
from engine.plan import plan, settle
from engine.records import Choice, Launch, Measurement, Settled
from engine.records.words import count_text, size_text, three_digits, time_text

_FIGURE = re.compile(r"\{([^}]*)\}")
_NAMED = {"n": "n", "block": "block_size", "type": "dtype", "cache": "cache", "by": "combine", "parameter": "parameter",
          "blocks": "grid_size"}  # fmt: skip
_NUMBERS = ("n", "block_size", "parameter", "grid_size")


@dataclass(frozen=True)
class Today:
    """The sentences with their figures filled in, and the origins of the figures: "NVIDIA H200, recorded
    2026-11-21"."""

    sentences: tuple[str, ...]
    origins: tuple[str, ...]


class _Unknown(Exception):
    """A figure that nobody recorded."""


def today(ladder: Ladder) -> Today:
    """Return the ladder's paragraph, as far as its figures are known. ValueError: a malformed figure."""
    told, origins = [], set[str]()
    for sentence in ladder.today:
        asked = [_asked(ladder, text) for text in _FIGURE.findall(sentence)]
        try:
            figures = iter([_FIGURES[one.what](one) for one in asked])
        except _Unknown:
            continue
        told.append(_FIGURE.sub(lambda _, figures=figures: next(figures), sentence))  # type: ignore[misc]
        origins |= {origin for one in asked for origin in one.origins}
    return Today(tuple(told), tuple(sorted(origins)))


@dataclass(frozen=True)
class _Asked:
    """One figure of a sentence. `about`: its kernels or counters; `options`: values that replace the ladder's;
    `origins` collects the origins of its numbers."""

    ladder: Ladder
    what: str
    about: tuple[str, ...]
    options: Mapping[str, str]
    origins: set[str] = field(default_factory=set)


def _asked(ladder: Ladder, text: str) -> _Asked:
    what, *words = text.split()
    if what not in _FIGURES:
        raise ValueError(f"{ladder.name}: there is no figure {what!r} in {text!r}")
    about = tuple(word for word in words if "=" not in word or "@" in word)
    return _Asked(ladder, what, about, dict(word.split("=") for word in words if word not in about))


def _choice(asked: _Asked, kernel: str) -> Settled:
    ladder, (name, _, own) = asked.ladder, kernel.partition("@")
    if name not in KERNELS:
        raise ValueError(f"{ladder.name}: there is no kernel {name!r}")
    combine = next((rung.combine for rung in ladder.rungs if rung.kernel == name), None)
    choice = Choice(name, ladder.n, ladder.block_size, dtype=ladder.dtype, device="gpu", combine=combine)
    given = {**asked.options, **dict(part.split("=") for part in own.split(",") if part)}
    changed: dict[str, Any] = {
        _NAMED[key]: int(value) if _NAMED[key] in _NUMBERS else value for key, value in given.items()
    }
    return settle(replace(choice, **changed))


def _run(asked: _Asked, kernel: str) -> tuple[Measurement, float]:
    """Return the recorded run and its time in us. _Unknown: there is none, or its answer was wrong."""
    found = recorded_for(_choice(asked, kernel))
    if found is None or found.status != "ok" or found.time_us is None:
        raise _Unknown(kernel)
    asked.origins.add(device_line(found))
    return found, found.time_us


def _known(number: float | None) -> float:
    if number is None:
        raise _Unknown
    return number


def _time(asked: _Asked) -> str:
    return time_text(_run(asked, asked.about[0])[1])


def _part(name: str, unit: str) -> Callable[[_Asked], str]:
    """Return the function that gives one of the rates of a run."""
    return lambda asked: f"{three_digits(_known(getattr(_run(asked, asked.about[0])[0].rates, name)))}{unit}"


def _floor(asked: _Asked) -> str:
    timing = _run(asked, asked.about[0])[0].timing
    return time_text(_known(timing.floor_us if timing else None))


def _times(asked: _Asked) -> str:
    (one, slow), (other, fast) = (_run(asked, kernel) for kernel in asked.about)
    if one.device.get("name") != other.device.get("name"):
        raise _Unknown(asked.about[0])
    return f"{three_digits(slow / fast)}×"


def _beyond(asked: _Asked) -> str:
    slow, fast, idle = (_run(asked, kernel) for kernel in asked.about)
    if len({run.device.get("name") for run, _ in (slow, fast, idle)}) != 1 or fast[1] <= idle[1]:
        raise _Unknown(asked.about[0])
    return f"{three_digits((slow[1] - idle[1]) / (fast[1] - idle[1]))}×"


def _paper(asked: _Asked) -> str:
    slow, fast = (_published(asked, kernel) for kernel in asked.about)
    if fast.cumulative_speedup is not None and slow.cumulative_speedup is None:  # as printed, against the first rung
        return f"{three_digits(fast.cumulative_speedup)}×"
    if slow.time_ms is not None and fast.time_ms is not None:
        return f"{three_digits(slow.time_ms / fast.time_ms)}×"
    if slow.bandwidth_gb_s is not None and fast.bandwidth_gb_s is not None:
        return f"{three_digits(fast.bandwidth_gb_s / slow.bandwidth_gb_s)}×"
    raise ValueError(f"{asked.ladder.name}: the lecture does not compare {' with '.join(asked.about)}")


def _paper_rate(asked: _Asked) -> str:
    rate = _published(asked, asked.about[0]).bandwidth_gb_s
    if rate is None:
        raise ValueError(f"{asked.ladder.name}: the lecture prints no bandwidth of {asked.about[0]}")
    return f"{rate:g} GB/s"


def _published(asked: _Asked, kernel: str) -> Published:
    choice = _choice(asked, kernel)
    rung = next((rung for rung in asked.ladder.rungs if rung.kernel == choice.kernel), None)
    figure = published_for(rung, choice) if rung else None
    if figure is None:
        raise ValueError(f"{asked.ladder.name}: the lecture prints nothing about {kernel}")
    return figure


def _count(asked: _Asked) -> str:
    counter, kernel = asked.about
    counted = hardware_counters(_counted_choice(asked, kernel))
    if counted is None or counter not in counted.counters:
        raise _Unknown(kernel)
    asked.origins.add(f"counted by a profiler on an {counted.device} at N = {size_text(counted.n)}")
    return count_text(int(counted.counters[counter])) if counted.counters[counter] else "no"


def _counted_choice(asked: _Asked, kernel: str) -> Settled:
    """Return the choice as it was profiled: with the kernel's own way to combine its blocks."""
    choice = _choice(asked, kernel)
    return replace(choice, combine=KERNELS[choice.kernel].combines[0])


def _launches(asked: _Asked) -> str:
    steps = plan(_choice(asked, asked.about[0]), GPU).steps
    return _WORDS[sum(isinstance(step, Launch) for step in steps)]


def _blocks(asked: _Asked) -> str:
    return count_text(plan(_choice(asked, asked.about[0]), GPU).grid_size)


def _best(asked: _Asked) -> str:
    """Return the block size with the shortest recorded time."""
    kernel = asked.about[0]
    times = {size: _run(asked, f"{kernel}@block={size}")[1] for size in KERNELS[kernel].block_sizes}
    return str(min(times, key=lambda size: times[size]))


_WORDS = ("no", "one", "two", "three", "four", "five", "six")
_FIGURES: dict[str, Callable[[_Asked], str]] = {
    "time": _time,
    "rate": _part("bandwidth_gb_s", " GB/s"),
    "gflops": _part("gflop_s", " GFLOP/s"),
    "peak": _part("percent_of_peak", "%"),
    "floor": _floor,
    "times": _times,
    "beyond": _beyond,
    "paper": _paper,
    "paper-rate": _paper_rate,
    "count": _count,
    "launches": _launches,
    "blocks": _blocks,
    "best": _best,
}
