"""Figures beside their goals, as lines and as an exit status."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Goal:
    """`found` may be `most`, in `unit`, and no more; None: it is told, and nothing is asked of it."""

    name: str
    found: float
    most: float | None = None
    unit: str = ""

    @property
    def reached(self) -> bool:
        """Whether it is."""
        return self.most is None or self.found <= self.most


def told(goals: Iterable[Goal]) -> int:
    """Print them, a line each; 1 where one is missed, else 0."""
    missed = 0
    for goal in goals:
        wanted = "" if goal.most is None else f"   goal {goal.most:g}{'' if goal.reached else '   MISSED'}"
        print(f"{goal.name:44} {goal.found:10.3f} {goal.unit:4}{wanted}", flush=True)
        missed |= not goal.reached
    return missed


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that `share` of them do not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def machine() -> str:
    """What the figures were measured on, in a line."""
    return f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the start"
