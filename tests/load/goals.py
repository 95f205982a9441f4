"""Figures and their goals: printed lines and an exit status."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Goal:
    """A figure `found`, in `unit`, which must not exceed `most`; None: there is no goal."""

    name: str
    found: float
    most: float | None = None
    unit: str = ""

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        return self.most is None or self.found <= self.most


def report(goals: Iterable[Goal]) -> int:
    """Print a line for each goal; return 1 if one is missed, else 0."""
    missed = 0
    for goal in goals:
        wanted = "" if goal.most is None else f"   goal {goal.most:g}{'' if goal.reached else '   MISSED'}"
        print(f"{goal.name:44} {goal.found:10.3f} {goal.unit:4}{wanted}", flush=True)
        missed |= not goal.reached
    return missed


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that this share of the values does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def machine() -> str:
    """Return a line about the machine."""
    return f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the start"
