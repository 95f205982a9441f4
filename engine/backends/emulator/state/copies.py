"""Asynchronous copies under way, in groups that each thread closes and waits for by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
        place, active = _lanes(mask)
        self._under_way.append(_Copy(arrive, mask, np.where(active, self._groups[place], -1)))

    def close(self, mask: Mask) -> None:
        """commit_group: the next copy belongs to a new group."""
        place, active = _lanes(mask)
        self._groups[place] += active

    def under_way(self) -> tuple[_Copy, ...]:
        """All copies that have not arrived, for `finish`."""
        return tuple(self._under_way)

    def finish(self, copies: tuple[_Copy, ...], mask: Mask) -> None:
        """Let those of the lanes of `mask` arrive."""
        place, active = _lanes(mask)
        wanted = np.zeros(self._groups.shape, bool)
        wanted[place] = active
        for copy in copies:
            here = wanted[np.ix_(copy.mask.rows_at(), copy.mask.columns_at())]
            self._arrive(copy, (copy.group >= 0) & here)
        self._tidy()

    def wait(self, mask: Mask, newest: int | None) -> None:
        """Let all copies arrive but those of the `newest` closed groups (None: all, those of open groups included)."""
        place, active = _lanes(mask)
        limit = np.full(self._groups.shape, -1, np.int64)
        limit[place] = np.where(active, _EVERYTHING if newest is None else self._groups[place] - newest, -1)
        for copy in self._under_way:
            here = limit[np.ix_(copy.mask.rows_at(), copy.mask.columns_at())]
            self._arrive(copy, (copy.group >= 0) & (copy.group < here))
        self._tidy()

    def _arrive(self, copy: _Copy, arriving: Array) -> None:
        if arriving.any():
            copy.arrive(copy.mask if arriving.all() else Mask(copy.mask.rows, copy.mask.columns, arriving))
            copy.group = np.where(arriving, -1, copy.group)

    def _tidy(self) -> None:
        self._under_way = [copy for copy in self._under_way if (copy.group >= 0).any()]


def _lanes(mask: Mask) -> tuple[Any, Array]:
    """(the index of the mask's rectangle, which of its lanes are active)."""
    active = np.ones((mask.height, mask.width), bool) if mask.dense is None else mask.dense
    return np.ix_(mask.rows_at(), mask.columns_at()), active
