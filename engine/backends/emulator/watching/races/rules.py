"""The rules of races: compare an access with the shadow of its place, and record it there."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.ptx.spared_loads import Use
from engine.backends.emulator.registers.values import plain, spread
from engine.backends.emulator.state.events import Access, ChunkInfo, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.watching.races.access_lanes import AccessLanes, SharedLanes
from engine.backends.emulator.watching.races.accesses_between import AccessesBetween
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.flags import Stamp
from engine.backends.emulator.watching.races.shadow import Shadow
from engine.records import Array

_LARGEST_ELEMENT = 16  # bytes: a structure's padding is beside one of its elements in a block of this size


def find_conflicting_lanes(
    access: Access, columns: Array, info: ChunkInfo, shared: bool
) -> tuple[int, int, int] | None:
    """Return (address, two lanes) if two lanes write different values to one place, so one value is lost; else None.

    `columns`: the columns of the mask to check. Lanes count in the grid, in shared memory from the chunk's first block.
    """
    mask = access.mask
    shape = (mask.height, mask.width)
    first = 0 if shared else info.first
    places = spread(mask.rows_at()[:, None] + (mask.columns_at() + first) * info.rows, shape)[:, columns]
    address = spread(plain(access.address).astype(np.int64), shape)[:, columns]
    if shared:  # the same offset in another block is another place
        address = address + (np.arange(address.shape[1]) << 32)
    active = slice(None) if mask.dense is None else mask.dense[:, columns].ravel()
    address, place = address.ravel()[active], places.ravel()[active]
    order = np.argsort(address, kind="stable")
    same = np.flatnonzero(address[order[1:]] == address[order[:-1]])
    for value in access.values:
        values = spread(value, shape)[:, columns].ravel()[active][order]
        differ = same[values[same] != values[same + 1]]
        if differ.size:
            one, two = order[differ[0]], order[differ[0] + 1]
            at = int(address[one]) & ((1 << 32) - 1) if shared else int(address[one])
            return at, int(place[one]), int(place[two])
    return None


class RaceRules:
    """The rules for a launch; results go to `findings`. `lanes`: the checked blocks of shared memory."""

    def __init__(self, machine: Machine, clocks: Clocks, findings: Findings, lanes: SharedLanes) -> None:
        self._machine, self._clocks, self._findings, self._lanes = machine, clocks, findings, lanes

    def start_chunk(self, info: ChunkInfo) -> None:
        """Start a chunk."""
        self._info = info

    def check(
        self, access: Access, shadow: Shadow, at: Array, lanes: AccessLanes, array: DeviceArray | None, strength: int,
        fence: int = 0,
    ) -> None:  # fmt: skip
        """Check an access to the units `at` of a shadow. `array` is None for shared memory.

        `strength`: 0 for an ordinary access, 1 for a flag, -1 for another volatile access, 2 for an atomic. A copy is
        checked when it starts. `fence`: the time of the last fence in front of a flag.
        """
        site, clocks, shared = access.site, self._clocks, array is None
        clocks.tick()
        high = clocks.stamp(lanes.high, shared)
        kinds = shadow.write_kind.take(at)
        copied = shadow.copies.started(at)
        if copied is not None:
            self._findings.copy_in_flight(access, lanes, copied)
        kind = strength + 4 * (not shared and strength > 0 and "cta" in site.words)
        simple = kind == 2 and not shadow.narrow and shadow.covered is None and kinds.all()
        if simple and not shadow.is_plainly_read(at):  # atomics and flags do not race with each other
            shadow.write(at, high, site.line, kind, fence)
            return
        low = high if lanes.high is lanes.low else clocks.stamp(lanes.low, shared)
        present = (low,) if high is low else (low, high)
        writer = shadow.last_write(at)
        if shared and site.op != "st" and "exch" not in site.opcode:
            unwritten = writer.lane < 0 if copied is None else (writer.lane < 0) & (copied.lane < 0)
            if site.uses and unwritten.any():
                unwritten = unwritten & self._counts(site, shadow, lanes)
            if unwritten.any() and (unwritten := unwritten & self._findings.of_block(lanes)).any():
                self._findings.uninitialised(access, lanes, int(np.flatnonzero(unwritten)[0]))
        if array is not None and site.read_only and (written := writer.lane >= 0).any():
            entry = int(written.argmax())
            other = int(shadow.write_line[at[entry]])
            self._findings.stale_read(access, lanes, entry, int(writer.lane[entry]), other, array)
        equal = np.zeros(at.shape, bool)
        met = kind if shared or site.op == "ld" else abs(kind)  # volatile stores of one value may arrive late
        for now in present:
            racing = self._conflict(met, kinds, now, writer) if kind else None
            if racing is not None:
                racing |= self._relies(site, now, writer, kinds, shared)
            if racing is not None and not racing.any():
                continue
            bad = clocks.unordered(writer, now, kinds & 3 == 2, shared)
            if racing is not None:
                bad &= racing
            if bad.any():
                if site.op == "st" and self._same_value(access, lanes, bad, array):
                    equal |= bad
                else:
                    self._findings.report_races(access, lanes, bad, now, writer, shadow.write_line[at], kinds, array)
        if kind > 2:
            self._look_for_other_blocks(access, at, lanes, high, kind, array)
        if shadow.covered is not None:
            self._compare_with_replaced(access, shadow.covered, at, lanes, present, array)
        if site.op == "ld":
            shadow.read(at, low, high, site.line, kind, clocks, lanes.unique, shared)
            shadow.keep(site.number, at, high, site.line, kind)
            return
        if shadow.read_at_all:
            self._compare_with_readers(access, shadow, at, lanes, present, array, kind)
        if shadow.between is not None and clocks.in_part:
            equal |= self._compare_with_those_between(access, shadow.between, at, lanes, high, array, kind)
        still = np.zeros(at.shape, bool)
        if shadow.hidden is not None:
            still = self._compare_with_replaced(access, shadow.hidden, at, lanes, present, array)
        if shared and site.op == "st" and kind == 0 and (equal.any() or high is not low or not lanes.unique):
            shadow.hide(at, low, site.line, equal, still)
        if site.arrives_later:
            shadow.copies.start(at, lanes.high, site.line)
        else:
            if kind:
                shadow.cover(at, high.epoch if shared else None)
            if equal.any():
                shadow.keep_last(site.number, at[equal])
            shadow.write(at, high, site.line, kind, fence, equal)
            if equal.any() or not lanes.unique:
                shadow.keep(site.number, at, high, site.line, kind, True)
        alone = high is low and (lanes.unique or (shadow.writer[at] == lanes.high).all())
        if site.op == "st" and (not kind or (kind < 0 and shared)) and not alone:
            self._look_for_a_clash(access, lanes, array)

    def _counts(self, site: Site, shadow: Shadow, lanes: AccessLanes) -> Array:
        """Return which units of a load of shared memory would be missed if nobody has set them: those with bytes that
        count, and with copied bytes without a neighbour that was set."""
        unit, blocks = self._lanes.unit, self._lanes.sample.size
        uses = [set(site.uses[start : start + unit]) for start in range(0, site.size, unit)]
        counted, copied = (
            np.array([use in each for each in uses])[lanes.offset // unit] for use in (Use.COUNTED, Use.COPIED)
        )
        beside = np.zeros(lanes.offset.shape, bool)
        size = site.size if site.part > 1 else _LARGEST_ELEMENT
        start = (lanes.address // size * size) // unit
        for number in range(size // unit):
            beside |= shadow.writer.take((start + number) * blocks + lanes.block, mode="clip") >= 0
        made: Array = counted | copied & ~beside
        return made

    def _compare_with_readers(
        self, access: Access, shadow: Shadow, at: Array, lanes: AccessLanes, present: tuple[Stamp, ...],
        array: DeviceArray | None, kind: int,
    ) -> None:  # fmt: skip
        """Report readers that are unordered with this write."""
        first, last, kinds = shadow.readers(at)
        for before, lines in (first, last):
            for now in present:
                racing = self._conflict(kind, kinds, now, before) if kind else None
                if racing is not None and not racing.any():
                    continue
                bad = self._clocks.unordered(before, now, None, array is None)
                if racing is not None:
                    bad &= racing
                if bad.any():
                    self._findings.report_races(access, lanes, bad, now, before, lines, None, array)

    def _compare_with_those_between(
        self, access: Access, between: AccessesBetween, at: Array, lanes: AccessLanes, present: Stamp,
        array: DeviceArray | None, kind: int,
    ) -> Array:  # fmt: skip
        """Report kept accesses that are unordered with this write. Return which units keep the value that an unordered
        store has set."""
        shared, equal = array is None, np.zeros(at.shape, bool)
        for one, mine, theirs in between.of(at):
            here, before, now = lanes.where(mine), one.by.at(theirs), present.at(mine)
            bad = self._clocks.unordered(before, now, None, shared)
            kinds = np.full(mine.shape, one.kind)
            if kind:
                bad &= self._conflict(kind, kinds, now, before)
            if not bad.any():
                continue
            if one.store and access.site.op == "st" and self._same_value(access, here, bad, array):
                equal[mine[bad]] = True
                continue
            lines = np.full(mine.shape, one.line)
            self._findings.report_races(access, here, bad, now, before, lines, kinds if one.store else None, array)
        return equal

    def _compare_with_replaced(
        self, access: Access, replaced: Shadow, at: Array, lanes: AccessLanes, present: tuple[Stamp, ...],
        array: DeviceArray | None,
    ) -> Array:  # fmt: skip
        """Report ordinary stores that are unordered with this access, though others have replaced them since. Return
        which of them are harmless, as this access stores the same value."""
        writer, shared, equal = replaced.last_write(at), array is None, np.zeros(at.shape, bool)
        for now in present:
            bad = self._clocks.unordered(writer, now, None, shared)
            if not bad.any():
                continue
            if access.site.op == "st" and self._same_value(access, lanes, bad, array):
                equal |= bad
            else:
                ordinary = np.zeros(at.shape, np.int8)
                self._findings.report_races(access, lanes, bad, now, writer, replaced.write_line[at], ordinary, array)
        return equal

    def _look_for_other_blocks(
        self, access: Access, at: Array, lanes: AccessLanes, now: Stamp, kind: int, array: DeviceArray | None
    ) -> None:
        """Report lanes of different blocks in one atomic with the scope of a block."""
        order = np.argsort(at, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(at[order]) != 0])
        first = np.minimum.reduceat(lanes.low[order], starts)
        last = order[np.r_[starts[1:], at.size] - 1]
        bad = np.zeros(at.shape, bool)
        bad[last] = first // self._info.rows != lanes.high[last] // self._info.rows
        if bad.any():
            others = np.array(lanes.high)
            others[last] = first
            before = Stamp(others, now.epoch, now.clock, now.time)
            same = np.full(at.shape, access.site.line), np.full(at.shape, kind)
            self._findings.report_races(access, lanes, bad, now, before, *same, array)

    def _conflict(self, kind: int, kinds: Array, now: Stamp, before: Stamp) -> Array:
        """Return with which earlier accesses, of these kinds, an atomic or volatile access races unless it is ordered,
        bool: with ordinary ones, volatile ones of the block if neither is a flag, and other blocks if one has the scope
        of a block."""
        rows = self._info.rows
        made: Array = (kinds == 0) & (before.lane >= 0)
        if kind < 0:
            made |= (kinds < 0) & (before.lane // rows == now.lane // rows)
        if kind > 2 or (kinds > 2).any():
            made |= ((kind > 2) | (kinds > 2)) & (before.lane // rows != now.lane // rows)
        return made

    def _look_for_a_clash(self, access: Access, lanes: AccessLanes, array: DeviceArray | None) -> None:
        """Report lanes of one store that write different values to one place."""
        shared = array is None
        if "init" in access.site.words:
            self._look_for_two_inits(access, lanes)
            return
        columns = np.unique(lanes.columns) if shared else np.arange(access.mask.width)
        lost = find_conflicting_lanes(access, columns, self._info, shared)
        if lost is not None:
            self._findings.conflicting_store(access, *lost, array)

    def _look_for_two_inits(self, access: Access, lanes: AccessLanes) -> None:
        """Report lanes that initialise the same barrier."""
        place = lanes.address * self._lanes.sample.size + lanes.block
        order = np.argsort(place, kind="stable")
        again = np.flatnonzero(place[order[1:]] == place[order[:-1]])
        if again.size:
            one, two = (int(lanes.high[order[again[0] + step]]) for step in (0, 1))
            self._findings.conflicting_init(access, int(lanes.address[order[again[0]]]), one, two)

    def _relies(self, site: Site, now: Stamp, writer: Stamp, kinds: Array, shared: bool) -> Array | bool:
        """Return whether a read depends on a volatile store as data, with a later flag that announces it, bool.

        No branch depends on such a read, so no thread waits for the value itself.
        """
        if site.op != "ld" or site.decides_branch or not (abs(kinds) == 1).any():
            return False
        first = self._info.first * self._info.rows if shared else 0
        told = self._clocks.flags.was_told(writer.lane + first, writer.time, now.lane + first)
        relied: Array = (abs(kinds) == 1) & told
        return relied

    def _same_value(self, access: Access, lanes: AccessLanes, bad: Array, array: DeviceArray | None) -> bool:
        """Return whether the store changes nothing: setting a flag twice is harmless."""
        if not access.values:
            return False
        site, mask, entries = access.site, access.mask, np.flatnonzero(bad)
        values = np.stack([np.broadcast_to(value, (mask.height, mask.width)) for value in access.values])
        new = values[lanes.offset[entries] // site.part, lanes.rows[entries], lanes.columns[entries]]
        address = lanes.address[entries] // site.part * site.part
        if array is not None:
            old = array.view(site.part)[(address - array.base) // site.part]
        else:
            old = self._machine.words("shared").load(address, site.part, (self._lanes.sample[lanes.block[entries]],))
        return bool((old == new).all())
