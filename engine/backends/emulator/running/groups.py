"""Groups of lanes by the place of the program where they stand.

Lanes that join a group are only noted; the union is made when the group is to run. A loop that lanes leave one by one
would otherwise pay for a union at every turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.backends.emulator.registers.masks import Mask, Masks
from engine.records import Array

Key = tuple[int, int]  # (block of the program, crew)
_MOST_RECTANGLES = 8


class Gathering:
    """A union of masks in the making: some rectangles, and a bool array for all that are not."""

    def __init__(self, masks: Masks, first: Mask) -> None:
        self._masks = masks
        self._rectangles: list[Mask] = []
        self._dense: Array | None = None
        self._only: Mask | None = first

    def join(self, mask: Mask) -> None:
        """Add lanes."""
        if self._only is not None:
            first, self._only = self._only, None
            self._note(first)
        self._note(mask)

    def _note(self, mask: Mask) -> None:
        if mask.dense is not None or len(self._rectangles) >= _MOST_RECTANGLES:
            if self._dense is None:
                self._dense = mask.full_dense()
            else:
                mask.mark(self._dense)
            return
        for number, other in enumerate(self._rectangles):
            if other.rows is mask.rows or other.columns is mask.columns:
                del self._rectangles[number]
                self._note(self._masks.union(other, mask))
                return
        self._rectangles.append(mask)

    def mask(self) -> Mask:
        """The lanes so far."""
        if self._only is None:
            if self._dense is None and len(self._rectangles) == 1:
                self._only = self._rectangles[0]
            else:
                full = self._dense
                if full is None:
                    full = self._rectangles.pop().full_dense()
                for other in self._rectangles:
                    other.mark(full)
                self._only = self._masks.from_dense(self._masks.all_rows, self._masks.all_columns, full)
            self._rectangles, self._dense = [], None
            assert self._only is not None
        return self._only


class Groups:
    """The groups that can run."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._at: dict[Key, Gathering] = {}

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._at)

    def add(self, key: Key, mask: Mask) -> None:
        """Lanes come to a place; those that stand there already join them."""
        there = self._at.get(key)
        if there is None:
            self._at[key] = Gathering(self._masks, mask)
        else:
            there.join(mask)

    def pop(self, key: Key) -> Mask:
        """The group at a place, which leaves it."""
        return self._at.pop(key).mask()

    def mask(self, key: Key) -> Mask:
        """The group at a place, which stays."""
        return self._at[key].mask()
