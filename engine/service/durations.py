"""How long runs take: as the last ones of their kind did."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace
from operator import itemgetter
from statistics import linear_regression, mean
from typing import TypeVar

from engine.service.job import Job

USUAL_S = 1.0  # how long a run is taken to be before any has told
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
        self._of_function: dict[str, deque[tuple[float, int]]] = {}

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self._recent)

    def add(self, job: Job, seconds: float) -> None:
        """A job has ended that took so long."""
        if job.key is not None:
            _put(self._same, job.key, seconds)
        _put(self._alike, (job.function, job.kind), (seconds, job.operations))
        for recent in (self._recent, self._of_function.setdefault(job.function, deque(maxlen=RECENT))):
            recent.append((seconds, job.operations))

    def expected(self, job: Job) -> float | None:
        """Seconds that it will take: as it took before; else as the last of its kind, by its operations; else as all
        of its function, or just all, that ran lately would, on the line through them. None before anything has."""
        known, recent = self._known(job), self._like(job)
        if known is not None or not recent:
            return known
        seconds, operations = zip(*recent, strict=True)
        slope = max(0.0, linear_regression(operations, seconds).slope) if len(set(operations)) > 1 else 0.0
        return self._within(mean(seconds) + slope * (job.operations - mean(operations)), job)

    def at_best(self, job: Job) -> float | None:
        """The same, but for a job of an unknown kind as the quickest of late: it is tried early, and tells of its
        kind."""
        known, recent = self._known(job), self._like(job)
        if known is not None or not recent:
            return known
        rates = [seconds / operations for seconds, operations in recent if operations]
        return self._within(self._least() + min(rates, default=0.0) * job.operations, job)

    def _like(self, job: Job) -> deque[tuple[float, int]]:
        """The last ones of its function; of one that has not run yet, the last ones of all."""
        return self._of_function.get(job.function, self._recent)

    def _known(self, job: Job) -> float | None:
        if job.key is not None and job.key in self._same:
            return self._same[job.key]
        alike = self._alike.get((job.function, job.kind))
        if alike is None:
            return None
        seconds, operations = alike
        return self._within(seconds * (job.operations / operations if operations and job.operations else 1.0), job)

    def _within(self, seconds: float, job: Job) -> float:
        """No less than what a run takes that does next to nothing, and no more than the job may."""
        return min(max(seconds, self._least()), job.deadline)

    def _least(self) -> float:
        return min(USUAL_S, *(seconds for seconds, _ in self._recent))


def wait_s(ahead: Sequence[tuple[float, float]], own: float, left: Mapping[float, Sequence[float]]) -> float | None:
    """Seconds until a run is taken that lasts `own` seconds at best; None without a worker that takes it.

    `ahead`: how long each of the runs lasts at best, and probably, that are taken before it, in their order; `left`:
    for how long each worker is still at its run, 0 if it is idle, by how long the longest run is that it takes.
    """
    free = {longest: list(each) for longest, each in left.items()}
    for each in free.values():
        heapify(each)
    for at_best, seconds in ahead:
        if workers := _first_of(free, at_best):
            heapreplace(workers, workers[0] + seconds)
    workers = _first_of(free, own)
    return workers[0] if workers else None


def _first_of(free: Mapping[float, list[float]], seconds: float) -> list[float] | None:
    """Of the workers that take a run so long, those among whom one is free first."""
    return min((each for longest, each in free.items() if seconds <= longest), key=itemgetter(0), default=None)


def _put(kept: OrderedDict[K, V], name: K, value: V) -> None:
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > KNOWN:
        kept.popitem(last=False)
