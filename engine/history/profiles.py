"""Counters that a GPU's profiler recorded for a choice. recorded(choice) -> Hardware or None."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS
from engine.history.recordings import FOLDER
from engine.plan import settle
from engine.records import Choice, Settled
from engine.records.counters import with_derived

_FOLDER = FOLDER / "counters"


@dataclass(frozen=True)
class Hardware:
    """A profiler's counters of one plan on a GPU, `device`, on `date`."""

    device: str
    date: str
    n: int
    block_size: int
    counters: Mapping[str, float]


def hardware_counters(choice: Settled) -> Hardware | None:
    """Return the hardware's counters of exactly this choice; None if they were not recorded."""
    same = [
        entry
        for entry in hardware_counters_by_size(choice)
        if (entry.n, entry.block_size) == (choice.n, choice.block_size)
    ]
    return same[0] if same else None


def hardware_counters_by_size(choice: Settled) -> Sequence[Hardware]:
    """Return the hardware's counters of this kernel, type and parameter at every recorded size.

    Empty for a run with another grid, combine or source.
    """
    if choice.kernel not in KERNELS or (choice.grid_size, choice.source) != (None, None):
        return ()
    if choice.combine != KERNELS[choice.kernel].combines[0]:
        return ()
    return _hardware().get(_key(choice), ())


def nearest_counters(choice: Settled) -> Hardware | None:
    """Return the hardware's counters at the recorded size nearest to the choice's; None if there is none."""
    return min(
        hardware_counters_by_size(choice),
        key=lambda entry: (abs(entry.n - choice.n), abs(entry.block_size - choice.block_size)),
        default=None,
    )


def counters_beside(choices: Sequence[Settled]) -> tuple[Hardware | None, ...]:
    """Return the hardware's counters of each choice, all at one n and block size; () if there are none.

    Of the sizes at which the most choices were recorded, prefer the choices' own block size, then the largest.
    """
    found = [{(entry.n, entry.block_size): entry for entry in hardware_counters_by_size(choice)} for choice in choices]
    counts = Counter(size for sizes in found for size in sizes)
    if not counts:
        return ()
    wanted = choices[0].block_size
    best = max(counts, key=lambda size: (counts[size], size[1] == wanted, size))
    return tuple(sizes.get(best) for sizes in found)


def recorded_files() -> tuple[Path, ...]:
    """Return the files with hardware counters; possibly none."""
    return tuple(sorted(_FOLDER.glob("*.json")))


def _key(choice: Settled) -> tuple[str, str, int | None]:
    return choice.kernel, choice.dtype, choice.parameter


@lru_cache(maxsize=1)
def _hardware() -> dict[tuple[str, str, int | None], tuple[Hardware, ...]]:
    """Return (kernel, type, parameter) -> counters of every file.

    A file is a JSON object {device, date, kernels: [{kernel, n, block_size, dtype, parameter, and the counters by
    name}]}.
    """
    found: dict[tuple[str, str, int | None], tuple[Hardware, ...]] = {}
    for path in recorded_files():
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for row in about["kernels"]:
            asked = Choice(row["kernel"], row["n"], row["block_size"], dtype=row["dtype"], device="gpu",
                           parameter=row.get("parameter"))  # fmt: skip
            choice = settle(asked)
            counters = with_derived({name: value for name, value in row.items() if isinstance(value, int | float)})
            entry = Hardware(about["device"], about["date"], choice.n, choice.block_size, counters)
            found[_key(choice)] = (*found.get(_key(choice), ()), entry)
    return found
