"""Arrays in device memory each unit of which one lane alone has accessed, as in `y[i] = a * x[i] + y[i]`.

Nothing can race in such an array, so the owner of each unit is all that is recorded. The accesses are kept in a short
form. If another lane comes to a unit, they are replayed into a shadow, which then is as if it had been there all along.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.registers.values import OuterSum, Value, plain, spread
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.watching.races.access_lanes import lanes_in_all_blocks
from engine.backends.emulator.watching.races.clocks import Clocks, Moment
from engine.backends.emulator.watching.races.shadow import Shadow
from engine.records import Array

_MOST_KEPT = 4096  # accesses of an array
_MOST_BYTES = 1 << 26  # of their addresses and masks
_MOST_LANES = 1 << 31  # lanes of a grid, so that an owner has 32 bits


@dataclass(frozen=True)
class _KeptAccess:
    """An access without its values, its chunk, and when it was."""

    access: Access
    info: ChunkInfo
    moment: Moment


class OwnedUnits:
    """The owners of an array's units of `unit` bytes, while each unit has one."""

    def __init__(self, array: DeviceArray, unit: int, clocks: Clocks) -> None:
        self._array, self._unit, self._clocks = array, unit, clocks
        self._owner = np.zeros(-(-array.size // unit), np.int32)  # lane + 1; 0: nobody yet
        self._kept: dict[tuple[object, ...], _KeptAccess] = {}
        self._bytes = 0

    def accept(self, access: Access, info: ChunkInfo) -> bool:
        """Record an ordinary access whose units have no other owners, and return whether it is one."""
        found = _owners_of(access, info)
        if found is None:
            return False
        start, lane = found
        start = (start - self._array.base) // self._unit
        for number in range(access.site.size // self._unit):
            at = start + number if number else start
            before = self._owner.take(at)
            new = before != lane
            if not new.any():
                continue
            if before[new].any():
                return False
            self._owner[at] = lane
            if (self._owner.take(at) != lane).any():  # two lanes of this access
                return False
        return self._keep(access, info)

    def shadow(self, in_part: bool) -> Shadow:
        """Return the shadow of the array after the recorded accesses."""
        made, clocks = Shadow(self._owner.size, in_part), self._clocks
        for kept in self._kept.values():
            site = kept.access.site
            lanes = lanes_in_all_blocks(kept.access, kept.info).units(site.size, self._unit)
            at, by = (lanes.address - self._array.base) // self._unit, kept.moment.stamp(lanes.high)
            if site.op == "ld":
                made.read(at, by, by, site.line, 0, clocks, True, False)
                made.keep(site.number, at, by, site.line, 0)
            else:
                made.write(at, by, site.line, 0)
        return made

    def _keep(self, access: Access, info: ChunkInfo) -> bool:
        """Keep an access in the place of an earlier one of the same instruction, lanes and addresses."""
        mask, address = access.mask, access.address
        numbers = (address.rows.values, address.columns.values) if address.__class__ is OuterSum else (address,)
        if len(self._kept) >= _MOST_KEPT or self._bytes > _MOST_BYTES:
            return False
        size = sum(each.nbytes for each in numbers) + (0 if mask.dense is None else mask.dense.nbytes)
        key = (
            access.site.number, info.first, id(mask), *(each.tobytes() for each in numbers),
            address.constant if address.__class__ is OuterSum else 0,
        )  # fmt: skip
        if self._kept.pop(key, None) is None:
            self._bytes += size
        self._kept[key] = _KeptAccess(replace(access, values=()), info, self._clocks.moment())
        return True


def _owners_of(access: Access, info: ChunkInfo) -> tuple[Array, Array] | None:
    """Return the address of each active lane and its number in the grid plus 1; None if lanes share an address."""
    mask, address = access.mask, access.address
    shape = (mask.height, mask.width)
    if _shape(address) != shape or (info.first + info.blocks) * info.rows >= _MOST_LANES:
        return None
    whole = plain(address).astype(np.int64, copy=False)
    rows = mask.rows_at().astype(np.int32)[:, None]
    lane = rows + ((mask.columns_at() + info.first) * info.rows + 1).astype(np.int32)
    return (whole, spread(lane, shape)) if mask.dense is None else (whole[mask.dense], lane[mask.dense])


def _shape(address: Value) -> tuple[int, ...]:
    if address.__class__ is OuterSum:
        return address.rows.values.shape[0], address.columns.values.shape[1]
    found: tuple[int, ...] = address.shape
    return found
