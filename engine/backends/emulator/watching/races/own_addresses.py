"""Addresses of local and shared memory that other threads load.

The same address leads every thread to its own local memory, and the threads of every block to their own shared memory.
So a thread that loads the address of another one's local variable, or of another block's shared variable, never comes
to that variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import LOCAL_WINDOW, RANGE_BITS, SHARED_WINDOW
from engine.backends.emulator.watching.races.findings import Findings
from engine.records import Array

_BYTES = 8  # of an address
_MOST = 4096  # addresses that are kept
_GLOBAL = -1


def takes_addresses(program: Program) -> bool:
    """Return whether a program makes addresses of local or shared memory that it could store."""
    return any(item.words[0] == "cvta" and item.words[1] in ("local", "shared") for item in program.instructions)


@dataclass(frozen=True)
class _Stored:
    """An address of local or shared memory (`value`) that a lane of the grid has stored."""

    value: int
    lane: int
    line: int

    @property
    def local(self) -> bool:
        return self.value >> RANGE_BITS == LOCAL_WINDOW >> RANGE_BITS


class OwnAddresses:
    """The addresses that the lanes of a launch have stored in shared or global memory."""

    def __init__(self, machine: Machine, findings: Findings) -> None:
        self._machine, self._findings = machine, findings
        self._stored: dict[tuple[int, int], _Stored] = {}  # by the column of the block of shared memory, and the place

    def start_chunk(self, info: ChunkInfo) -> None:
        """Start a chunk of blocks with new shared memory."""
        self._info = info
        self._stored = {key: stored for key, stored in self._stored.items() if key[0] == _GLOBAL}

    def check(self, access: Access) -> None:
        """Report a lane that loads an address of another one, and note the addresses that an access stores."""
        site = access.site
        if site.part != _BYTES or access.space == "local":
            return
        if self._stored and site.op in ("ld", "atom"):
            self._check_load(access)
        if site.op in ("st", "atom") and len(self._stored) < _MOST:
            self._note(access)

    def _check_load(self, access: Access) -> None:
        places = [place for _, place in self._stored]
        for part in range(access.site.count):
            at = _spread(plain(access.address).astype(np.int64) + part * _BYTES, access.mask)
            for row, column, lane in self._lanes(np.isin(at, places), access.mask):
                key = self._key(access, int(at[row, column]), lane)
                stored = self._stored.get(key)
                if stored is None or self._content(*key) != stored.value:
                    continue
                apart = 1 if stored.local else self._info.rows
                if lane // apart != stored.lane // apart:
                    self._findings.address_of_another(access.site.line, lane, stored.lane, stored.line, stored.local)
                    return

    def _note(self, access: Access) -> None:
        for part, given in enumerate(access.values):
            values = given.view(np.int64)
            own = _inside(values, LOCAL_WINDOW, self._machine.local_size)
            if access.space == "global":
                own |= _inside(values, SHARED_WINDOW, self._machine.shared_size)
            if not own.any():
                continue
            own, values = (_spread(each, access.mask) for each in (own, values))
            at = _spread(plain(access.address).astype(np.int64) + part * _BYTES, access.mask)
            for row, column, lane in self._lanes(own, access.mask):
                key = self._key(access, int(at[row, column]), lane)
                self._stored[key] = _Stored(int(values[row, column]), lane, access.site.line)

    def _lanes(self, chosen: Array, mask: Mask) -> Iterator[tuple[int, int, int]]:
        """Yield row and column in the mask, and the lane of the grid, of the chosen active lanes."""
        rows, columns = mask.rows_at(), mask.columns_at() + self._info.first
        for row, column in np.argwhere(chosen if mask.dense is None else chosen & mask.dense).tolist():
            yield row, column, int(rows[row] + columns[column] * self._info.rows)

    def _key(self, access: Access, at: int, lane: int) -> tuple[int, int]:
        return (_GLOBAL if access.space == "global" else lane // self._info.rows - self._info.first), at

    def _content(self, column: int, at: int) -> int:
        """Return the 8 bytes that memory holds at a place, 0 if they are in no array."""
        if column != _GLOBAL:
            return int(self._machine.words("shared").load(np.array(at), _BYTES, (column,)))
        array = self._machine.space.at(at)
        start = 0 if array is None else at - array.base
        return 0 if array is None else int.from_bytes(array.data[start : start + _BYTES].tobytes(), "little")


def _spread(values: Array, mask: Mask) -> Array:
    return np.broadcast_to(values, (mask.height, mask.width))


def _inside(values: Array, window: int, size: int) -> Array:
    return (values >= window) & (values < window + size)
