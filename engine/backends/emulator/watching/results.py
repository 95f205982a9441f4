"""The observers of an ordinary run, and the combined results of observers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

from engine.backends.emulator.watching import busiest_warp, counters, memory_counters
from engine.backends.emulator.watching.counters import ALL_COUNTERS, LineCounter
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Finding
from engine.records.counters import COUNTERS, IN_JSON, with_derived

# Importing a module registers its counters.
COUNTING: tuple[ModuleType, ...] = (counters, memory_counters, busiest_warp)


def all_counters() -> tuple[LineCounter, ...]:
    """Return one of each registered counter."""
    return tuple(kind() for kind in ALL_COUNTERS)


def usual_observers() -> tuple[Observer, ...]:
    """Return new observers for a run: every counter, and the hazard checks."""
    return (*all_counters(), Hazards())


def totals(observers: Sequence[Observer]) -> dict[str, float]:
    """Return the counters of --json over all lines and launches, as far as they were counted."""
    return _in_json(details(observers))


def details(observers: Sequence[Observer]) -> dict[str, float]:
    """Return all counters, including derived ones."""
    return _derived({name: value for one in observers for name, value in one.totals().items()})


def by_line(observers: Sequence[Observer], file_name: str) -> dict[int, dict[str, float]]:
    """Return the counters of --json per line of one .cu file, in the order of lines."""
    names = [name for one in observers for name in one.totals()]
    lines: dict[int, dict[str, float]] = {}
    for one in observers:
        for line, found in one.by_line(file_name).items():
            lines.setdefault(line, dict.fromkeys(names, 0)).update(found)
    return {line: _in_json(_derived(lines[line])) for line in sorted(lines)}


def findings(observers: Sequence[Observer]) -> tuple[Finding, ...]:
    """Return the hazards of the kernels."""
    return tuple(finding for one in observers for finding in one.findings())


def _derived(found: Mapping[str, float]) -> dict[str, float]:
    """Add derived counters; a share of nothing is 0."""
    made = with_derived(found)
    shares = {row.name for row in COUNTERS.values() if row.per and found.keys() >= {*row.parts, *row.per}}
    return {**dict.fromkeys(shares, 0.0), **made}


def _in_json(found: Mapping[str, float]) -> dict[str, float]:
    return {name: found[name] for name in IN_JSON if name in found}
