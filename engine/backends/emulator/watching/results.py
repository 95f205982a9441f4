"""The observers of an ordinary run, and what observers give at its end, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

from engine.backends.emulator.watching import counters, memory_counters
from engine.backends.emulator.watching.line_counter import EVERY, LineCounter
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Finding
from engine.records.counters import COUNTERS, IN_JSON, with_derived

COUNTING: tuple[ModuleType, ...] = (counters, memory_counters)  # to import one registers its counters


def every_counter() -> tuple[LineCounter, ...]:
    """One of each that is registered."""
    return tuple(kind() for kind in EVERY)


def usual_observers() -> tuple[Observer, ...]:
    """Fresh ones for a run: every counter, and the search for hazards."""
    return (*every_counter(), Hazards())


def totals(observers: Sequence[Observer]) -> dict[str, float]:
    """The counters of --json over all lines and launches, as far as they were counted."""
    return _in_json(details(observers))


def details(observers: Sequence[Observer]) -> dict[str, float]:
    """All that was counted, and what follows from it."""
    return _derived({name: value for one in observers for name, value in one.totals().items()})


def by_line(observers: Sequence[Observer], file_name: str) -> dict[int, dict[str, float]]:
    """The counters of --json at the lines of one .cu file, in the order of lines."""
    names = [name for one in observers for name in one.totals()]
    lines: dict[int, dict[str, float]] = {}
    for one in observers:
        for line, found in one.by_line(file_name).items():
            lines.setdefault(line, dict.fromkeys(names, 0)).update(found)
    return {line: _in_json(_derived(lines[line])) for line in sorted(lines)}


def findings(observers: Sequence[Observer]) -> tuple[Finding, ...]:
    """What is wrong with the kernels."""
    return tuple(finding for one in observers for finding in one.findings())


def _derived(found: Mapping[str, float]) -> dict[str, float]:
    """A share of nothing is nothing."""
    made = with_derived(found)
    shares = {row.name for row in COUNTERS.values() if row.per and found.keys() >= {*row.parts, *row.per}}
    return {**dict.fromkeys(shares, 0.0), **made}


def _in_json(found: Mapping[str, float]) -> dict[str, float]:
    return {name: found[name] for name in IN_JSON if name in found}
