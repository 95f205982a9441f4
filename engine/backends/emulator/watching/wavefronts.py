"""The wavefronts or sectors of one warp's memory request: functions of (addresses, active lanes, size, operation).

The rules were fitted on an H200 (sm_90) and agree with Nsight Compute on tests/golden/access_patterns.json.

`unit`: the aligned piece of memory of one access, `size` bytes wide (a whole word for 1 and 2 bytes). `phase`: the
lanes that shared memory serves together: all 32 for words, half a warp for 8 bytes, a quarter for 16. `wavefront`: one
pass over the 32 four-byte banks. `sector`: 32 bytes of global memory.

A batch is a pair of arrays of shape (32, N): one column per request. Addresses are byte addresses, aligned to `size`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.records import Array

BANKS = 32
WORD = 4
SECTOR = 32
SIZES = (1, 2, 4, 8, 16)


def by_warp(value: Array) -> Array:
    """Reshape (T, columns) to (32, warps * columns): one column per warp request."""
    warps = value.reshape(-1, WARP, value.shape[1])
    return warps.transpose(1, 0, 2).reshape(WARP, -1)


def shared_wavefronts(address: Array, active: Array, size: int, op: str) -> tuple[int, int]:
    """Return (wavefronts, bank conflicts) of one shared request: `address`, `active` of shape (32,); op "ld", "st",
    "atom", "cas"."""
    wavefronts, conflicts = shared_wavefronts_batch(
        np.reshape(address, (WARP, 1)), np.reshape(active, (WARP, 1)), size, op
    )
    return int(wavefronts[0]), int(conflicts[0])


def global_sectors(address: Array, active: Array, size: int, op: str) -> int:
    """Return the sectors of one global request: `address`, `active` of shape (32,); op "ld", "st", "atom" or "red"."""
    return int(global_sectors_batch(np.reshape(address, (WARP, 1)), np.reshape(active, (WARP, 1)), size, op)[0])


def shared_wavefronts_batch(address: Array, active: Array, size: int, op: str) -> tuple[Array, Array]:
    """Return (wavefronts, bank conflicts), int64 of shape (N,), of N shared requests. ValueError for an unknown size or
    op.

    Conflicts are the wavefronts beyond one per phase with an active lane. Loads and stores of one word are served
    together; atomics are not. A compare-and-swap takes every wavefront twice.
    """
    _check(size, op, ("ld", "st", "atom", "cas"))
    address, active, copies = _one_if_alike(address, active, max(size, WORD))
    phases = max(1, size // WORD)
    units_per_row = BANKS // phases
    # 32 bits are enough for a shared address, and halve the time of the sort.
    unit = (address >> _log2(max(size, WORD))).astype(np.uint32)
    idle = active.astype(np.uint32) - np.uint32(1)  # all ones if the lane is inactive
    if op in ("atom", "cas"):
        served, used = _atomic_wavefronts(unit, active, phases, units_per_row)
    else:
        served, used = _merged_wavefronts(unit, active, idle, phases, units_per_row, op == "ld" and phases > 1)
    return _repeat(served * (2 if op == "cas" else 1), copies), _repeat(served - used, copies)


def spinning_wavefronts(address: Array, active: Array, size: int) -> tuple[Array, Array, Array, Array]:
    """Return (loads, their wavefronts, compare-and-swaps, their wavefronts), int64 of shape (N,), of N shared atomics
    that are loops in the machine code.

    In each turn the lanes that are left load their words, and the first of each bank swaps; its phase fails if an
    earlier phase has swapped the same word in this turn. A swap takes two wavefronts a phase. Every lane counts as one
    that changes its word, and as the only warp at it: warps that meet at a word take more turns.
    """
    address, active, copies = _one_if_alike(address, active, max(size, WORD))
    phases = max(1, size // WORD)
    unit = address >> _log2(max(size, WORD))
    phase = np.arange(WARP)[:, None] // (WARP // phases)
    bank = phase * BANKS + unit % (BANKS // phases)
    lower = np.tri(WARP, k=-1, dtype=bool)[:, :, None]
    behind = (bank[:, None] == bank[None, :]) & lower  # (lane, other, column): the other lane is served first
    same = (unit[:, None] == unit[None, :]) & lower & (phase[:, None] != phase[None, :])
    turns, loads, swaps = (np.zeros(address.shape[1], np.int64) for _ in range(3))
    left = active
    while left.any():
        turns += left.any(axis=0)
        loads += shared_wavefronts_batch(address, left, size, "ld")[0]
        swaps += 2 * left.reshape(phases, -1, left.shape[1]).any(axis=1).sum(axis=0)
        first = left & ~(behind & left[None]).any(axis=1)
        left = left & ~(first & ~(same & first[None]).any(axis=1))
    turns, loads, swaps = (_repeat(one, copies) for one in (turns, loads, swaps))
    return turns, loads, turns, swaps


def global_sectors_batch(address: Array, active: Array, size: int, op: str) -> Array:
    """Return the sectors, int64 of shape (N,), of N global requests. ValueError for an unknown size or op.

    Loads and stores touch each sector once. Atomics on one address are served one after the other, so a sector counts
    as often as its most frequent address; 8-byte atomics follow the rule measured for 4 bytes. Where lanes alternate
    between lines, an H200 may send a sector of an atomic twice: three lanes in two lines cost 2 sectors or 3, depending
    on where their array lies. This is the least number.
    """
    _check(size, op, ("ld", "st", "atom", "red"))
    address, active, copies = _one_if_alike(address, active, SECTOR)
    return _repeat(
        _distinct_sectors(address, active) if op in ("ld", "st") else _atomic_sectors(address, active), copies
    )


def _check(size: int, op: str, ops: tuple[str, ...]) -> None:
    if size not in SIZES or op not in ops:
        raise ValueError(f"No access rule for {op!r} of {size} bytes.")


def _log2(value: int) -> int:
    return value.bit_length() - 1


def _repeat(value: Array, copies: int) -> Array:
    return value if copies == 1 else np.repeat(value, copies)


def _one_if_alike(address: Array, active: Array, period: int) -> tuple[Array, Array, int]:
    """Return one column for the whole batch if all columns are the first one moved by a multiple of `period` bytes.

    Moving every lane by a whole unit only renames the banks, and by a whole sector only the sectors. Neighbouring warps
    of a kernel nearly always differ in this way.
    """
    address, active = np.asarray(address), np.asarray(active, dtype=bool)
    columns = address.shape[1]
    if columns > 1:
        shift = address[0] - address[0, 0]
        # The last column first: it usually reveals a varying pattern, without a pass over all lanes.
        alike = (
            not (shift & (period - 1)).any()
            and np.array_equal(address[:, -1] - shift[-1], address[:, 0])
            and bool((active == active[:, :1]).all())
            and bool((address - shift == address[:, :1]).all())
        )
        if alike:
            return address[:, :1], active[:, :1], columns
    return address, active, 1


def _merged_wavefronts(
    unit: Array, active: Array, idle: Array, phases: int, units_per_row: int, may_pair: bool
) -> tuple[Array, Array]:
    """Return (wavefronts, phases with an active lane) if equal units are served together."""
    columns = unit.shape[1]
    width = WARP // phases
    pairs = _pairs(unit, active) if may_pair else None
    # (phase, lane in phase, column)
    low = (unit | idle).reshape(phases, width, columns).min(axis=1)
    high = (unit & ~idle).reshape(phases, width, columns).max(axis=1)
    busy: Array = np.any(active.reshape(phases, width, columns), axis=1)
    if pairs is not None and pairs.any():
        # Two phases become one: the even one carries both.
        low[0::2, pairs] = np.minimum(low[0::2, pairs], low[1::2, pairs])
        high[0::2, pairs] = np.maximum(high[0::2, pairs], high[1::2, pairs])
        busy[0::2, pairs] |= busy[1::2, pairs]
        busy[1::2, pairs] = False
    used = busy.sum(axis=0, dtype=np.int64)
    # Units within one row of banks are in different banks: one wavefront per phase.
    crowded = np.flatnonzero((busy & (high - low >= units_per_row)).any(axis=0))
    served = used.copy()
    if crowded.size:
        phase = np.repeat(np.arange(phases, dtype=np.uint32), width)[:, None]
        if pairs is not None:
            phase = phase >> pairs[crowded].astype(np.uint32)
        # A unit of 8 or 16 bytes needs at most 29 or 28 of the 32 bits, which leaves room for the phase.
        key = ((unit[:, crowded] | phase << np.uint32(30)) | idle[:, crowded]).T
        served[crowded] = _fullest_banks(np.sort(key, axis=1), phases, units_per_row)
    return served, used


def _pairs(unit: Array, active: Array) -> Array:
    """Return the columns with paired loads: all active lanes t and t^1, or all t and t^2, read the same unit."""
    found = np.zeros(unit.shape[1], dtype=bool)
    for step in (1, 2):
        wanted = unit.reshape(WARP // (2 * step), 2, step, -1)
        awake = active.reshape(WARP // (2 * step), 2, step, -1)
        differs = (wanted[:, 0] != wanted[:, 1]) & awake[:, 0] & awake[:, 1]
        found |= ~differs.any(axis=(0, 1))
    return found


def _fullest_banks(key: Array, phases: int, units_per_row: int) -> Array:
    """Return the sum over phases of the most distinct units in one bank.

    `key` (columns, 32): phase << 30 | unit, rows sorted.
    """
    first = np.empty(key.shape, dtype=bool)
    first[:, 0] = True
    np.not_equal(key[:, 1:], key[:, :-1], out=first[:, 1:])
    first &= key != np.uint32(0xFFFFFFFF)
    column, lane = np.nonzero(first)
    chosen = key[column, lane]
    bins = phases * units_per_row
    bank = column * bins + (chosen & np.uint32(units_per_row - 1))
    if phases > 1:
        bank += (chosen >> np.uint32(30)).astype(np.intp) * units_per_row
    filled = np.bincount(bank, minlength=key.shape[0] * bins).reshape(-1, phases, units_per_row)
    total: Array = filled.max(axis=2).sum(axis=1)
    return total


def _atomic_wavefronts(unit: Array, active: Array, phases: int, units_per_row: int) -> tuple[Array, Array]:
    """Return (wavefronts, phases with an active lane) if every lane is served by itself."""
    columns = unit.shape[1]
    lane, column = np.nonzero(active)
    bins = phases * units_per_row
    bank = (
        column * bins + lane // (WARP // phases) * units_per_row + (unit[lane, column] & np.uint32(units_per_row - 1))
    )
    filled = np.bincount(bank, minlength=columns * bins).reshape(columns, phases, units_per_row).max(axis=2)
    return filled.sum(axis=1), np.count_nonzero(filled, axis=1)


def _distinct_sectors(address: Array, active: Array) -> Array:
    sector = address.astype(np.int64, copy=False) >> _log2(SECTOR)
    if active.all():
        highest = sector
        mixed = np.flatnonzero((sector[1:] < sector[:-1]).any(axis=0))
    else:
        sector |= active.astype(np.int64) - 1  # -1 if the lane is inactive: below every sector
        # Each lane's highest sector so far: its own for ascending lanes, the previous one for an inactive lane.
        highest = np.maximum.accumulate(sector, axis=0)
        mixed = np.flatnonzero(((highest != sector) & active).any(axis=0))
    # In ascending lanes every step up is a new sector.
    count: Array = (highest[1:] != highest[:-1]).sum(axis=0, dtype=np.int64) + (highest[0] >= 0)
    if mixed.size:
        rows = np.sort(_narrow(sector[:, mixed]).T, axis=1)
        count[mixed] = (rows[:, 1:] != rows[:, :-1]).sum(axis=1, dtype=np.int64) + (rows[:, 0] >= 0)
    return count


def _narrow(sector: Array) -> Array:
    """Convert to 32 bits with the same order and the same -1 if the range allows it: the sort is twice as fast."""
    lowest = int(sector.view(np.uint64).min())  # as unsigned, -1 is the largest
    if int(sector.max()) - lowest < 2**31:
        result: Array = np.maximum(sector - min(lowest, 2**62), -1).astype("i4")
        return result
    return sector


def _atomic_sectors(address: Array, active: Array) -> Array:
    columns = address.shape[1]
    rows = np.sort((address.astype(np.int64, copy=False) | (active.astype(np.int64) - 1)).T, axis=1)
    first = np.empty(rows.shape, dtype=bool)
    first[:, 0] = True
    np.not_equal(rows[:, 1:], rows[:, :-1], out=first[:, 1:])
    start = np.flatnonzero(first)
    wanted = rows.ravel()[start]
    times = np.diff(start, append=rows.size)  # lanes per distinct address
    column = start // WARP
    sector = wanted >> _log2(SECTOR)
    opens = np.empty(start.size, dtype=bool)
    opens[:1] = True
    opens[1:] = (sector[1:] != sector[:-1]) | (column[1:] != column[:-1])
    group = np.flatnonzero(opens)
    most = np.maximum.reduceat(times, group) * (sector[group] >= 0)
    count: Array = np.bincount(column[group], weights=most, minlength=columns).astype(np.int64)
    return count


def serving_wavefronts(address: Array, active: Array, size: int, op: str) -> tuple[int, ...]:
    """Return the wavefront, from 1, that serves each of the 32 lanes; 0 for an idle lane.

    `address`, `active` of shape (32,), byte addresses aligned to `size`; op "ld", "st", "atom" or "cas". The highest
    wavefront is the count of `shared_wavefronts`. A bank serves its units in the order of the lanes.
    """
    if op == "cas":
        return tuple(2 * wavefront for wavefront in serving_wavefronts(address, active, size, "atom"))
    wanted, _ = shared_wavefronts(address, active, size, op)
    phases = max(1, size // WORD)
    lanes = np.arange(WARP).reshape(phases, -1).tolist()
    units = (np.asarray(address, np.int64) // max(size, WORD)).tolist()
    awake = np.asarray(active, bool).tolist()
    served = _walk(lanes, units, awake, BANKS // phases, op == "atom")
    if max(served) != wanted:  # lanes with equal units let two phases be served as one
        merged = [one + two for one, two in zip(lanes[0::2], lanes[1::2], strict=True)]
        served = _walk(merged, units, awake, BANKS // phases, False)
    return tuple(served)


def _walk(
    phases: Sequence[Sequence[int]], units: Sequence[int], awake: Sequence[bool], row: int, alone: bool
) -> list[int]:
    """Serve phase after phase; in each wavefront a bank serves one unit. `alone`: lanes never share a wavefront of a
    bank."""
    served = [0] * WARP
    done = 0
    for lanes in phases:
        queues: dict[int, list[int]] = {}
        for lane in lanes:
            if not awake[lane]:
                continue
            queue = queues.setdefault(units[lane] % row, [])
            if alone or units[lane] not in queue:
                queue.append(units[lane])
                served[lane] = done + len(queue)
            else:
                served[lane] = done + 1 + queue.index(units[lane])
        done += max(map(len, queues.values()), default=0)
    return served
