"""How long runs take: as the last ones of their kind did."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from heapq import heapify, heapreplace
from typing import TypeVar

from engine.service.job import Job

KNOWN = 4096  # jobs whose length is remembered, and kinds of jobs
RECENT = 20

K = TypeVar("K")
V = TypeVar("V")


class Durations:
    """How long the jobs of one kind of worker took, in seconds. Whoever shares it locks it."""

    def __init__(self) -> None:
        self._same: OrderedDict[str, float] = OrderedDict()  # by the key of the job
        self._alike: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()  # by kind: seconds, operations
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self._recent)

    def add(self, job: Job, seconds: float) -> None:
        """A job has ended that took so long."""
        if job.key is not None:
            _put(self._same, job.key, seconds)
        _put(self._alike, (job.function, job.kind), (seconds, job.operations))
        self._recent.append((seconds, job.operations))

    def expected(self, job: Job) -> float | None:
        """Seconds that it will take: as it took before; else as the last of its kind, by its operations; else as it can
        at best by all that ran lately. None before anything has."""
        if job.key is not None and job.key in self._same:
            return self._same[job.key]
        if not self._recent:
            return None
        least = min(seconds for seconds, _ in self._recent)  # what a run takes that does next to nothing
        alike = self._alike.get((job.function, job.kind))
        if alike is not None:
            seconds, operations = alike
            share = job.operations / operations if operations and job.operations else 1.0
            found = max(least, seconds * share)
        else:
            rates = [seconds / operations for seconds, operations in self._recent if operations]
            found = least + min(rates, default=0.0) * job.operations
        return min(found, job.deadline)


def wait_s(ahead: Sequence[float], left: Sequence[float]) -> float | None:
    """Seconds until a run is taken; None without a worker.

    `ahead`: how long each of the runs takes that are taken before it, in their order; `left`: for how long each worker
    is still at its run, 0 if it is idle.
    """
    if not left:
        return None
    free = list(left)
    heapify(free)
    for seconds in ahead:
        heapreplace(free, free[0] + seconds)
    return free[0]


def _put(kept: OrderedDict[K, V], name: K, value: V) -> None:
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > KNOWN:
        kept.popitem(last=False)
