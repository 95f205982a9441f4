"""Who is next: what waits, in the order in which it is due."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from math import inf
from typing import Generic, TypeVar

STRETCH = 10.0  # how many of its own lengths an item may wait before it is due

T = TypeVar("T")

_Place = tuple[float, int]  # when an item is due, and which number it was put in as


class Turns(Generic[T]):
    """Waiting items, first in first out within a session; what is urgent goes before all that is not. Whoever shares it
    locks it.

    An item is due STRETCH of its own lengths after it was asked for, or after its session's item before it is due. So
    the short ones go first, none is overtaken by what was asked for after it was due, however short that is, and the
    many items of one session do not hold up another's single one.
    """

    def __init__(self) -> None:
        # Of the urgent ones, and of the others: their places in order, and what stands there.
        self._ranks: tuple[dict[_Place, tuple[str, T]], ...] = ({}, {})
        self._orders: tuple[list[_Place], ...] = ([], [])
        self._places: dict[str, dict[T, tuple[int, _Place]]] = {}  # session -> its items, the last of them last
        self._number = 0

    def __len__(self) -> int:
        return sum(map(len, self._orders))

    def add(
        self, session: str, item: T, asked: float, length: float, *, urgent: bool = False, first: bool = False
    ) -> None:
        """Let `item` wait, asked for at that second and so many seconds long; `first`: before all others of its rank,
        where it was before."""
        rank, own = int(not urgent), self._places.setdefault(session, {})
        self._number += 1
        if first:
            place = (-inf, -self._number)
        else:
            before = [due for other, (due, _) in own.values() if other == rank]
            place = (max(asked, *before, -inf) + STRETCH * length, self._number)
        own[item] = rank, place
        self._ranks[rank][place] = session, item
        insort(self._orders[rank], place)

    def __iter__(self) -> Iterator[T]:
        """All that waits, the next one first."""
        for rank, order in zip(self._ranks, self._orders, strict=True):
            yield from (rank[place][1] for place in order)

    def remove(self, session: str, item: T) -> None:
        """Give up the place of a waiting item."""
        own = self._places[session]
        rank, place = own.pop(item)
        if not own:
            del self._places[session]
        del self._ranks[rank][place]
        del self._orders[rank][bisect_left(self._orders[rank], place)]

    def before(self, session: str, item: T) -> list[T]:
        """The items that are taken before this one, in their order, if nothing is added or removed."""
        rank, place = self._places[session][item]
        order = self._orders[rank]
        found = [self._ranks[0][other] for other in self._orders[0]] if rank else []
        found += [self._ranks[rank][other] for other in order[: bisect_left(order, place)]]
        return [each for _, each in found]

    def ahead(self, session: str, item: T) -> int:
        """How many those are."""
        rank, place = self._places[session][item]
        return rank * len(self._orders[0]) + bisect_left(self._orders[rank], place)
