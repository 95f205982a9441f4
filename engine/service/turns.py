"""Who is next: what waits, in a line for each session, and the sessions one after the other."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Waiting items, first in first out within a session, one of each session in turn. Whoever shares it locks it."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()  # no line is empty; the first one is next

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def add(self, session: str, item: T) -> None:
        """Put `item` at the end of its session's line."""
        self._lines.setdefault(session, deque()).append(item)

    def take(self) -> T | None:
        """The next item, which no longer waits; None if nothing waits. Its session goes behind all others."""
        if not self._lines:
            return None
        session, line = self._lines.popitem(last=False)
        item = line.popleft()
        if line:
            self._lines[session] = line
        return item

    def remove(self, session: str, item: T) -> None:
        """Give up the place of a waiting item."""
        line = self._lines[session]
        line.remove(item)
        if not line:
            del self._lines[session]

    def ahead(self, session: str, item: T) -> int:
        """How many items are taken before this one, if nothing is added or removed."""
        rounds = self._lines[session].index(item)  # this many go by before the one that takes the item
        ahead, before = rounds, True
        for other, line in self._lines.items():
            if other == session:
                before = False
            else:
                ahead += min(len(line), rounds + before)
        return ahead
