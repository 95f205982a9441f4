"""How long a waiting run will wait: as the last runs of its device took."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heapreplace
from statistics import mean

RECENT = 20


class Waits:
    """How long the last runs of a device took, in seconds."""

    def __init__(self) -> None:
        self._took: deque[float] = deque(maxlen=RECENT)

    def add(self, seconds: float) -> None:
        """A run has ended that took so long."""
        self._took.append(seconds)

    def expected(self, ahead: int, busy: Sequence[float]) -> float | None:
        """Seconds until a run is taken that has `ahead` others before it; None before any run has ended, or without a
        worker.

        `busy`: for each worker, how long it has been at its run; 0 if it is idle or has just begun.
        """
        if not self._took or not busy:
            return None
        usual = mean(self._took)
        free = [max(0.0, usual - seconds) if seconds else 0.0 for seconds in busy]
        heapify(free)
        for _ in range(ahead):
            heapreplace(free, free[0] + usual)
        return free[0]
