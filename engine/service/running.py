"""What runs at the moment, and where."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from engine.service.handle import Run
from engine.service.slot import Slot


class Running:
    """Slots, and the run of each. Whoever shares it locks it."""

    def __init__(self) -> None:
        self._runs: dict[Slot, Run] = {}

    def __contains__(self, slot: object) -> bool:
        return slot in self._runs

    def __iter__(self) -> Iterator[Slot]:
        return iter(list(self._runs))

    def begin(self, slot: Slot, run: Run) -> None:
        """The slot's worker takes the run now."""
        run.state, run.began = "running", time.monotonic()
        self._runs[slot] = run

    def end(self, slot: Slot) -> None:
        """It has ended there."""
        del self._runs[slot]

    def slots_of(self, run: Run) -> list[Slot]:
        """Where it is; none, if it is not running."""
        return [slot for slot, other in self._runs.items() if other is run]

    def left_s(self, slots: Sequence[Slot]) -> dict[float, list[float]]:
        """For how long each of these is still at its run; 0 of one that is idle, or may be done at any moment. By how
        long the longest run is that it takes."""
        left: dict[float, list[float]] = {}
        for slot in slots:
            run = self._runs.get(slot)
            left.setdefault(slot.most_s, []).append(run.left_s() if run else 0.0)
        return left

    def next_for(self, slot: Slot, waiting: Iterable[Run], idle: Iterable[Slot]) -> Run | None:
        """The first of those that wait that the slot takes, and that no worker of these takes, which are idle."""
        free = sorted(one.most_s for one in idle)
        for run in waiting:
            other = next((most_s for most_s in free if run.at_best_s <= most_s), None)
            if other is not None:
                free.remove(other)
            elif run.at_best_s <= slot.most_s:
                return run
        return None

    def outlasts(self, slot: Slot, waiting: Iterable[Run]) -> bool:
        """Whether the slot's run is to stop for one that waits, as it is too long for the slot."""
        run = self._runs.get(slot)
        return run is not None and any(each.at_best_s <= slot.most_s for each in waiting) and run.outlasts(slot)

    def make_way(self, slots: Sequence[Slot]) -> Slot | None:
        """Where every one of these is at a run: the one whose run is to stop for an urgent one, as it began last, is
        not urgent, and was not stopped before."""
        if not all(slot in self._runs for slot in slots):
            return None
        others = [slot for slot in slots if not (self._runs[slot].urgent or self._runs[slot].made_way)]
        if not others:
            return None
        last = max(others, key=lambda slot: self._runs[slot].began)
        self._runs[last].makes_way = self._runs[last].made_way = True
        return last
