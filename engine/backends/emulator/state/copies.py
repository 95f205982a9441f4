"""Asynchronous copies under way, in groups that each thread closes and waits for by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.records import Array

_EVERYTHING = np.iinfo(np.int64).max


@dataclass
class _Copy:
    """One copy: what lets it arrive for some lanes, and for each lane of (height, width) its group, or -1 for none."""

    arrive: Callable[[Mask], None]
    mask: Mask
    group: Array


class Copies:
    """What some blocks have under way; the closed groups of each lane are counted. What nobody waits for never
    arrives."""

    def __init__(self, rows: int, blocks: int) -> None:
        self._under_way: list[_Copy] = []
        self._groups = np.zeros((rows, blocks), np.int64)

    def issue(self, arrive: Callable[[Mask], None], mask: Mask) -> None:
        """Put a copy into each lane's open group. `arrive(lanes)` will store it for some of the lanes of `mask`."""
        group = self._groups[mask.place()]
        self._under_way.append(
            _Copy(arrive, mask, group.copy() if mask.dense is None else np.where(mask.dense, group, -1))
        )

    def close(self, mask: Mask) -> None:
        """commit_group: the next copy belongs to a new group."""
        self._groups[mask.place()] += 1 if mask.dense is None else mask.dense

    def under_way(self) -> tuple[_Copy, ...]:
        """All copies that have not arrived, for `finish`."""
        return tuple(self._under_way)

    def finish(self, copies: tuple[_Copy, ...], mask: Mask) -> None:
        """Let those of the lanes of `mask` arrive."""
        self._arrive(copies, mask, _EVERYTHING)

    def wait(self, mask: Mask, newest: int | None) -> None:
        """Let all copies arrive but those of the `newest` closed groups (None: all, those of open groups included)."""
        limit = _EVERYTHING if newest is None else self._groups[mask.place()] - newest
        self._arrive(self._under_way, mask, limit)

    def _arrive(self, copies: Sequence[_Copy], mask: Mask, limit: Array | int) -> None:
        """Let those of the lanes of `mask` arrive whose groups are below the `limit` of their lane."""
        limits = np.zeros(self._groups.shape, np.int64)
        limits[mask.place()] = limit if mask.dense is None else np.where(mask.dense, limit, 0)
        for copy in copies:
            arriving = (copy.group >= 0) & (copy.group < limits[copy.mask.place()])
            if arriving.any():
                copy.arrive(copy.mask if arriving.all() else Mask(copy.mask.rows, copy.mask.columns, arriving))
                copy.group = np.where(arriving, -1, copy.group)
        self._under_way = [copy for copy in self._under_way if (copy.group >= 0).any()]
