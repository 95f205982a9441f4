"""The order in which waiting runs are served: round robin over sessions, urgent runs first."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from statistics import mean
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from engine.service.slots import Slot

RECENT = 20  # runs whose mean duration estimates a wait

T = TypeVar("T")


class RoundRobin(Generic[T]):
    """Waiting items by session. Urgent items precede all others; among equals sessions take turns, one item each, and
    a session's own items keep their order. The caller holds the lock."""

    def __init__(self) -> None:
        # Urgent items, then all others: session -> its items; the first session has the next turn.
        self._ranks: tuple[OrderedDict[str, deque[T]], ...] = (OrderedDict(), OrderedDict())

    def __len__(self) -> int:
        return sum(len(items) for rank in self._ranks for items in rank.values())

    def __iter__(self) -> Iterator[T]:
        """Yield the items in the order in which `take` would return them."""
        for rank in self._ranks:
            for turn in range(max(map(len, rank.values()), default=0)):
                yield from (items[turn] for items in rank.values() if turn < len(items))

    def add(self, session: str, item: T, *, urgent: bool = False, first: bool = False) -> None:
        """Append an item to its session's; `first`: put it before all others of its rank."""
        rank = self._ranks[not urgent]
        items = rank.setdefault(session, deque())
        if first:
            items.appendleft(item)
            rank.move_to_end(session, last=False)
        else:
            items.append(item)

    def take(self) -> T:
        """Remove and return the next item. IndexError if none waits."""
        for rank in self._ranks:
            for session, items in rank.items():
                item = items.popleft()
                if items:
                    rank.move_to_end(session)
                else:
                    del rank[session]
                return item
        raise IndexError("nothing waits")

    def remove(self, session: str, item: T) -> None:
        """Remove a waiting item."""
        rank = self._rank_of(session, item)
        rank[session].remove(item)
        if not rank[session]:
            del rank[session]

    def ahead(self, session: str, item: T) -> int:
        """Return how many items `take` returns before this one, if nothing is added or removed."""
        rank = self._rank_of(session, item)
        own = rank[session].index(item)
        before, turn = 0, own + 1  # sessions before this one in the rotation have one turn more
        for other, items in rank.items():
            if other == session:
                turn = own
            before += min(len(items), turn)
        return before + (sum(map(len, self._ranks[0].values())) if rank is self._ranks[1] else 0)

    def _rank_of(self, session: str, item: T) -> OrderedDict[str, deque[T]]:
        return next(rank for rank in self._ranks if item in rank.get(session, ()))


class DeviceQueue(Generic[T]):
    """The slots of one device (and, for GPUs, one model) and the runs that wait for them. The caller holds the lock."""

    def __init__(self, device: str, model: str | None) -> None:
        self.device, self.model = device, model
        self.slots: list[Slot] = []
        self.waiting: RoundRobin[T] = RoundRobin()
        self._recent: deque[float] = deque(maxlen=RECENT)  # seconds
        self._empty_since = 0.0

    def drop(self, slot: Slot) -> None:
        """Remove a slot, if it is here."""
        if slot in self.slots:
            self.slots.remove(slot)
            self._empty_since = time.monotonic()

    def empty_s(self) -> float:
        """Return for how many seconds there has been no slot; 0 while there is one."""
        return 0.0 if self.slots else time.monotonic() - self._empty_since

    def add_duration(self, seconds: float) -> None:
        """Record how long a run took."""
        self._recent.append(seconds)

    def expected_wait_s(self, place: int) -> float | None:
        """Return the estimated seconds until a slot takes the run at this place, by the mean duration of recent runs;
        None before any run has ended, and without a slot."""
        return mean(self._recent) * place / len(self.slots) if self._recent and self.slots else None
