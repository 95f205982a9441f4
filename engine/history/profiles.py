"""What a GPU's own profiler counted for a choice: recorded, never live. recorded(choice) -> Hardware or None."""

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
    """Counters of one plan as a profiler read them on a GPU, `device`, on `date`."""

    device: str
    date: str
    n: int
    block_size: int
    counters: Mapping[str, float]


def recorded(choice: Settled) -> Hardware | None:
    """The hardware's own counters for exactly this choice; None where nobody recorded them."""
    same = [entry for entry in recorded_sizes(choice) if (entry.n, entry.block_size) == (choice.n, choice.block_size)]
    return same[0] if same else None


def recorded_sizes(choice: Settled) -> Sequence[Hardware]:
    """The hardware's counters for this kernel, type and knob at every recorded size; none for a kernel run otherwise.

    That is with another grid, another way to combine its blocks, or a text in its place.
    """
    if choice.kernel not in KERNELS or (choice.grid_size, choice.source) != (None, None):
        return ()
    if choice.combine != KERNELS[choice.kernel].combines[0]:
        return ()
    return _hardware().get(_key(choice), ())


def nearest(choice: Settled) -> Hardware | None:
    """The hardware's counters at the recorded size that is nearest to the choice's; None where there are none."""
    return min(
        recorded_sizes(choice),
        key=lambda entry: (abs(entry.n - choice.n), abs(entry.block_size - choice.block_size)),
        default=None,
    )


def beside(choices: Sequence[Settled]) -> tuple[Hardware | None, ...]:
    """The hardware's counters for each of these choices, all at one n and block size; () where there are none.

    Of the sizes that most of them were recorded at, the one whose blocks are the choices' own, and the largest.
    """
    found = [{(entry.n, entry.block_size): entry for entry in recorded_sizes(choice)} for choice in choices]
    counts = Counter(size for sizes in found for size in sizes)
    if not counts:
        return ()
    wanted = choices[0].block_size
    best = max(counts, key=lambda size: (counts[size], size[1] == wanted, size))
    return tuple(sizes.get(best) for sizes in found)


def recorded_files() -> tuple[Path, ...]:
    """The files that hold hardware counters; there may be none."""
    return tuple(sorted(_FOLDER.glob("*.json")))


def _key(choice: Settled) -> tuple[str, str, int | None]:
    return choice.kernel, choice.dtype, choice.parameter


@lru_cache(maxsize=1)
def _hardware() -> dict[tuple[str, str, int | None], tuple[Hardware, ...]]:
    """(kernel, type, knob) -> counters, of every file: JSON objects {device, date, kernels: [{kernel, n, block_size,
    dtype, parameter, and the counters by their names}]}."""
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
