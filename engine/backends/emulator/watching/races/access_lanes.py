"""The lanes of a memory access, one entry per address, as the race checks use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.backends.emulator.registers.values import plain, spread, starts_of
from engine.backends.emulator.state.events import Access, ChunkInfo, LoadPattern, Loads
from engine.records import Array

_FEW = 8  # blocks of a chunk whose shared memory is checked once blocks differ
_LANES, _BYTES = 1 << 15, 1 << 20  # of more blocks together, if lanes run in any order
_MOST_BY_LANE = 1 << 15  # lanes of one access to device memory that are checked by themselves


def sample_of(info: ChunkInfo, in_order: bool) -> Array:
    """Return the blocks of a chunk that represent all once they differ: evenly spaced, first and last included.

    Runs that search for faults, with lanes in any order, check more blocks, so mostly all of them.
    """
    more = 0 if in_order else min(_LANES // info.rows, _BYTES // max(1, info.shared_bytes))
    return np.unique(np.linspace(0, info.blocks - 1, max(_FEW, more)).astype(np.int64))


@dataclass(frozen=True)
class AccessLanes:
    """The lanes of one access, flattened: byte addresses, and for each the lanes with the smallest and the largest
    number.

    `block`: the position of the lane's block in the shadow. `rows`, `columns`: the position of the lane's value;
    `offset`: bytes from the start of the lane's access. `unique`: no address of a block occurs twice.
    """

    address: Array
    low: Array
    high: Array
    block: Array
    rows: Array
    columns: Array
    offset: Array
    unique: bool = False

    def where(self, chosen: Array) -> AccessLanes:
        """Return some of the entries."""
        return self._each(lambda field: field[chosen])

    def moved(self, distance: int) -> AccessLanes:
        """Return the same lanes, with all addresses moved by some bytes."""
        return AccessLanes(
            self.address + distance, self.low, self.high, self.block, self.rows, self.columns, self.offset, self.unique
        )

    def units(self, size: int, unit: int) -> AccessLanes:
        """Return one entry per unit of memory instead of one per access of `size` bytes."""
        count = size // unit
        if count == 1:
            return self
        made = self._each(lambda field: np.repeat(field, count))
        step = np.tile(np.arange(count) * unit, self.address.size)
        return replace(made, address=made.address + step, offset=step)

    def _each(self, change: Callable[[Array], Array]) -> AccessLanes:
        high = change(self.high)
        low = high if self.low is self.high else change(self.low)
        address, block, offset = change(self.address), change(self.block), change(self.offset)
        return AccessLanes(address, low, high, block, change(self.rows), change(self.columns), offset, self.unique)


def lanes_in_sample(access: Access, sample: Array, info: ChunkInfo, by_lane: bool = False) -> AccessLanes | None:
    """Return the lanes of an access to shared memory in the sampled blocks. Lanes count from the chunk's
    first block. `by_lane`: each lane by itself."""
    mask, address = access.mask, plain(access.address)
    position = np.searchsorted(mask.columns_at(), sample)
    inside = position < mask.width
    inside[inside] = mask.columns_at()[position[inside]] == sample[inside]
    if not inside.any():
        return None
    taken, block = position[inside], inside.nonzero()[0]
    shape = (mask.height, taken.size)
    picked = address[:, taken] if address.shape[1] > 1 else address
    places = spread(picked.astype(np.int64), shape)
    row = spread(mask.rows_at()[:, None], shape)
    column = spread(sample[inside][None, :], shape)
    lane = row + column * info.rows
    at_row = spread(np.arange(mask.height)[:, None], shape)
    at_column = spread(taken[None, :], shape)
    fields = [places, lane, spread(block[None, :], shape), at_row, at_column]
    if mask.dense is not None:
        chosen = mask.dense[:, taken]
        fields = [field[chosen] for field in fields]
    if not fields[0].size:
        return None
    return _by_address([field.ravel() for field in fields], sample.size, by_lane)


def lanes_in_all_blocks(access: Access, info: ChunkInfo, by_lane: bool = False) -> AccessLanes:
    """Return one entry per address; the first and last lane represent a row or column with one address. `by_lane`: each
    lane by itself, of many lanes those of each block."""
    mask, address = access.mask, plain(access.address).astype(np.int64)
    rows, columns = mask.rows_at(), mask.columns_at()
    if mask.dense is not None or (by_lane and mask.height * mask.width <= _MOST_BY_LANE):
        address = spread(address, (mask.height, mask.width))
    elif by_lane and address.shape[0] * mask.width <= _MOST_BY_LANE:
        address = spread(address, (address.shape[0], mask.width))
    shape = address.shape
    low_row, high_row = (rows[:, None], rows[:, None]) if shape[0] > 1 else (rows[:1, None], rows[-1:, None])
    low_column, high_column = columns[None, :], columns[None, :]
    if shape[1] == 1:
        low_column, high_column = columns[None, :1], columns[None, -1:]
    size = info.rows
    low = spread(low_row + (low_column + info.first) * size, shape)
    high = spread(high_row + (high_column + info.first) * size, shape)
    at_row = spread(np.arange(shape[0])[:, None], shape)
    at_column = spread(np.arange(shape[1])[None, :], shape)
    fields = [address, low, high, low * 0, at_row, at_column]
    if mask.dense is not None:
        fields = [field[mask.dense] for field in fields]
    flat = [field.ravel() for field in fields]
    address, low, high, none, at_row, at_column = flat
    return AccessLanes(address, high if (low == high).all() else low, high, none, at_row, at_column, none)


def _by_address(fields: list[Array], blocks: int, by_lane: bool) -> AccessLanes:
    """Return one entry per address and block; the first and last lane represent all lanes that share it. `by_lane`: one
    entry per lane. The lanes of a block are in their order."""
    place = fields[0] * blocks + fields[2]
    order = np.argsort(place, kind="stable")
    address, lane, block, rows, columns, place = (field[order] for field in (*fields, place))
    starts = starts_of(place)
    if by_lane or starts.size == address.size:
        return AccessLanes(address, lane, lane, block, rows, columns, lane * 0, starts.size == address.size)
    ends = np.append(starts[1:], address.size) - 1
    low, high = lane[starts], lane[ends]
    return AccessLanes(address[starts], low, high, block[starts], rows[ends], columns[ends], low * 0, True)


def joined(several: Sequence[AccessLanes]) -> AccessLanes:
    """Return the lanes of several accesses behind one another."""
    if len(several) == 1:
        return several[0]

    def all_of(name: str) -> Array:
        return np.concatenate([getattr(lanes, name) for lanes in several])

    high = all_of("high")
    low = high if all(lanes.low is lanes.high for lanes in several) else all_of("low")
    rows, columns, offset = all_of("rows"), all_of("columns"), all_of("offset")
    return AccessLanes(all_of("address"), low, high, all_of("block"), rows, columns, offset)


_MOST_REMEMBERED = 1 << 20  # addresses of cached accesses


class SharedLanes:
    """The lanes of a launch's accesses to shared memory, in the checked blocks, with a cache.

    `unit`: the granularity in bytes; `sample`: the checked blocks of the chunk; `by_lane`: as for `lanes_in_sample`;
    `in_order`: as for `sample_of`.
    """

    def __init__(self, unit: int, by_lane: bool, in_order: bool) -> None:
        self.unit, self.by_lane, self._in_order = unit, by_lane, in_order
        self._first: dict[tuple[bytes, bytes, int, bytes], tuple[AccessLanes | None, int]] = {}
        self._known: dict[tuple[int, bytes, bytes, int, bytes], AccessLanes | None] = {}
        self._of_patterns: dict[tuple[LoadPattern, bytes], tuple[AccessLanes | None, int]] = {}
        self._remembered = 0

    def start_chunk(self, info: ChunkInfo) -> None:
        """Start a chunk: the first block represents all as long as they do the same."""
        self._info = info
        self._of_patterns.clear()
        self.sample = np.zeros(1, np.int64)

    def start_sampling(self) -> bool:
        """Start sampling, as the blocks differ now. False if there is one block, or several were sampled already."""
        if self.sample.size > 1 or self._info.blocks == 1:
            return False
        self.sample = sample_of(self._info, self._in_order)
        return True

    def units(self, lanes: AccessLanes) -> Array:
        """Return the shadow's units that lanes access."""
        return lanes.address // self.unit * self.sample.size + lanes.block

    def lanes_of(self, access: Access) -> AccessLanes | None:
        """Return the lanes of an access in the checked blocks; None if there are none."""
        lanes = lanes_in_sample(access, self.sample, self._info, self.by_lane)
        return lanes.units(access.site.size, self.unit) if lanes else None

    def cached_lanes_of(self, access: Access) -> AccessLanes | None:
        """Return the same from a cache, if all blocks do the same: loops repeat addresses, or move all of
        them alike."""
        address = plain(access.address)
        start = int(address.flat[0]) // access.site.size * access.site.size
        key = (address - start).tobytes(), access.mask.row_key, access.site.size, self.sample.tobytes()
        exact = start, *key
        if exact not in self._known:
            self._remembered += address.size
            if self._remembered > _MOST_REMEMBERED:
                self._known.clear()
                self._first.clear()
                self._remembered = address.size
            if key not in self._first:
                self._first[key] = self.lanes_of(access), start
            lanes, before = self._first[key]
            self._known[exact] = lanes if lanes is None or start == before else lanes.moved(start - before)
        return self._known[exact]

    def cached_lanes_of_loads(self, loads: Loads) -> AccessLanes | None:
        """Return the lanes of several loads behind one another, which all read as many units; None if they do not."""
        key = loads.pattern, self.sample.tobytes()
        if key not in self._of_patterns:
            each = [lanes for lanes in map(self.cached_lanes_of, loads.accesses) if lanes is not None]
            alike = len(each) == len(loads.accesses) and len({lanes.address.size for lanes in each}) == 1
            self._of_patterns[key] = joined(each) if alike else None, loads.distance
        lanes, before = self._of_patterns[key]
        return lanes if lanes is None or before == loads.distance else lanes.moved(loads.distance - before)
