"""Who is next: what waits, in a line for each session, and the sessions one after the other."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Waiting items, first in first out within a session, one of each session in turn; what is urgent goes before all
    that is not. Whoever shares it locks it."""

    def __init__(self) -> None:
        # The urgent lines, and the others. No line is empty; the first one of the first is next.
        self._ranks: tuple[OrderedDict[str, deque[T]], ...] = (OrderedDict(), OrderedDict())

    def __len__(self) -> int:
        return sum(len(line) for lines in self._ranks for line in lines.values())

    def add(self, session: str, item: T, *, urgent: bool = False, first: bool = False) -> None:
        """Put `item` at the end of its session's line; `first`: before all others of its rank, where it was before."""
        lines = self._ranks[not urgent]
        line = lines.setdefault(session, deque())
        if first:
            line.appendleft(item)
            lines.move_to_end(session, last=False)
        else:
            line.append(item)

    def take(self) -> T | None:
        """The next item, which no longer waits; None if nothing waits. Its session goes behind all others."""
        lines = self._ranks[0] or self._ranks[1]
        if not lines:
            return None
        session, line = lines.popitem(last=False)
        item = line.popleft()
        if line:
            lines[session] = line
        return item

    def remove(self, session: str, item: T) -> None:
        """Give up the place of a waiting item."""
        lines = self._ranks[self._rank(session, item)]
        line = lines[session]
        line.remove(item)
        if not line:
            del lines[session]

    def ahead(self, session: str, item: T) -> int:
        """How many items are taken before this one, if nothing is added or removed."""
        rank = self._rank(session, item)
        lines = self._ranks[rank]
        rounds = lines[session].index(item)  # this many go by before the one that takes the item
        ahead, before = rounds, True
        for other, line in lines.items():
            if other == session:
                before = False
            else:
                ahead += min(len(line), rounds + before)
        return ahead + (sum(map(len, self._ranks[0].values())) if rank else 0)

    def _rank(self, session: str, item: T) -> int:
        return 0 if item in self._ranks[0].get(session, ()) else 1
