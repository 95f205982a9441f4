"""Looks for hazards while a kernel runs: races in shared and global memory, divergent barriers, uninitialised reads.

An observer; the machine does not know it. Shared memory is watched in one block for all as long as all blocks of a
chunk do the same, in a sample of blocks after that. Of global memory the arrays that the kernel writes are watched,
in all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access, ChunkInfo, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.state.pointers import smallest_shared_part, written_arrays
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.races.access_lanes import AccessLanes, in_all_blocks
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.collisions import collision
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.members import Members, in_words
from engine.backends.emulator.watching.races.open_reads import OpenReads
from engine.backends.emulator.watching.races.shadow import Shadow
from engine.backends.emulator.watching.races.shared_lanes import SharedLanes
from engine.backends.emulator.watching.races.shuffles import Shuffles
from engine.backends.emulator.watching.races.stamps import Stamp
from engine.records import Array, Finding


class Hazards(Observer):
    """Findings over all launches of a run."""

    def __init__(self) -> None:
        self._findings = Findings()

    def findings(self) -> tuple[Finding, ...]:
        """One finding per kind and pair of lines, in the order of lines."""
        return self._findings.in_order()

    # ---- events

    def on_launch(self, machine: Machine) -> None:
        """A launch starts: everything before it is done."""
        self._machine = machine
        self._clocks = Clocks(machine.rows, machine.threads, machine.blocks)
        self._findings.start_launch(machine, self._clocks)
        self._members = Members(machine, self._findings)
        self._watched = written_arrays(machine)
        self._global: dict[int, Shadow] = {}
        self._unit = max(1, smallest_shared_part(machine.program))
        self._lanes = SharedLanes(self._unit)
        self._written_soon: set[int] = set()

    def on_chunk(self, info: ChunkInfo) -> None:
        """New blocks with new shared memory."""
        self._info = info
        self._findings.start_chunk(info)
        self._clocks.start_chunk(info.first, info.blocks)
        self._shuffles = Shuffles(self._machine, self._findings, info)
        self._lanes.start_chunk(info)
        self._shared = Shadow(-(-info.shared_bytes // self._unit)) if info.shared_bytes else None
        self._reads = OpenReads(self._clocks, self._written_soon)

    def on_release(self, mask: Mask) -> None:
        """Lanes pass a barrier."""
        self._reads.release(mask)
        self._clocks.release(mask)

    def on_part_arrives(self, mask: Mask) -> None:
        """Lanes tell others at a barrier what they did: some of them may not wait there."""
        self._reads.settle()
        self._clocks.publish(mask, "block")

    def on_part_released(self, mask: Mask) -> None:
        """Lanes have met those who arrived."""
        self._reads.settle()
        self._clocks.tick()
        self._clocks.acquire(mask)

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Lanes meet in their warps, each with those that its member mask names: itself among them."""
        self._reads.settle()
        self._members.look(line, opcode, mask, members)
        self._clocks.collect(mask, members)

    def on_fence(self, line: int, opcode: str, mask: Mask) -> None:
        """Lanes make their writes visible."""
        self._reads.settle()
        self._clocks.fence(mask, "cta" in opcode.split("."))

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Lanes go through a basic block, with what they hold."""
        self._shuffles.enter(block, mask)

    def on_shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """Lanes read each other's registers."""
        self._shuffles.shuffle(line, mask, source)

    def on_incomplete(self, line: int, opcode: str, mask: Mask) -> None:
        """A warp-synchronous instruction names lanes that never come."""
        self._members.incomplete(line, opcode, mask)

    def on_barrier(self, line: int, mask: Mask, alive: Mask) -> None:
        """Lanes come to a barrier: all living lanes of their warps should come with them."""
        if mask is alive or self._machine.schedule.kind == "independent":
            return
        here, living = mask.full_dense(), alive.full_dense()
        warps = (here.shape[0] // WARP, WARP, here.shape[1])
        some = here.reshape(warps).any(axis=1)
        lacking = (living & ~here).reshape(warps).any(axis=1) & some
        if not lacking.any():
            return
        warp, column = (int(i[0]) for i in np.nonzero(lacking))
        absent = np.flatnonzero((living & ~here)[warp * WARP : warp * WARP + WARP, column])
        block = self._machine.lane_name(0, column).split(" of ")[1]
        message = (
            f"line {line}: lanes of warp {warp} of {block} reach __syncthreads() while {in_words(absent)} of the "
            "same warp are somewhere else; all threads of a block must reach the same __syncthreads()."
        )
        self._findings.report("divergent-barrier", line, None, message)

    def on_access(self, access: Access) -> None:
        """Every load, store and atomic, before it takes effect."""
        if access.space == "shared":
            self._on_shared(access)
        elif access.space == "global":
            self._on_global(access)

    # ---- shared memory

    def _on_shared(self, access: Access) -> None:
        site, shadow = access.site, self._shared
        if shadow is None or site.part < self._unit:
            return
        if site.op == "ld" and site.weak and self._noted(access, shadow):
            return
        every_block = plain(access.address).shape[1] == 1 and access.mask.column_index is None
        same_lanes = every_block and access.mask.dense is None
        alike = same_lanes and self._clocks.alike
        if not (alike and site.op == "st"):
            self._reads.settle()
        if not alike and self._lanes.part():
            shadow = self._shared = shadow.repeated(self._lanes.sample * self._info.rows)
        lanes = self._lanes.known(access) if alike else self._lanes.of(access)
        if lanes is None:
            return
        clocks, mask = self._clocks, access.mask
        release = _release(site)
        behind = site.op == "st" and clocks.flags.stores_behind_a_fence(mask, clocks.tick())
        flag = site.op == "st" and not site.weak and (behind or release is not None)
        at = self._lanes.units(lanes)
        if flag or self._reads.meet(at):
            self._reads.settle()
        if flag or site.op in ("atom", "red"):
            clocks.publish(mask, release)
        # A volatile store is a flag only right behind a fence: lanes of a warp that exchange sums are no flags.
        strength = 2 if site.op in ("atom", "red") else 1 if flag or (site.op == "ld" and not site.weak) else 0
        self._check(access, shadow, at, lanes, None, strength)
        if site.op == "atom" or (strength and site.op == "ld" and clocks.flags.used):
            clocks.acquire(mask)

    def _noted(self, access: Access, shadow: Shadow) -> bool:
        """True when the load needs no more than to be noted as open."""
        if access.site.number in self._written_soon:
            return False
        if self._reads.note(access, shadow):
            return True
        if access.place is None or access.mask.column_index is not None or not self._reads.possible():
            return False
        lanes = self._lanes.known(access)
        if lanes is not None:
            self._reads.learn(access, shadow, self._lanes.units(lanes), lanes)
        return self._reads.note(access, shadow)

    # ---- global memory

    def _on_global(self, access: Access) -> None:
        site, mask = access.site, access.mask
        flag = not site.weak or site.op in ("atom", "red")
        if flag:
            self._reads.settle()
        if flag and site.op == "ld":
            self._clocks.tick()
        elif flag:
            self._clocks.publish(mask, _release(site))
        for array, lanes in self._by_array(access):
            unit = self._unit_of(array)
            if site.part >= unit:
                shadow = self._global.get(array.base)
                if shadow is None:
                    shadow = self._global[array.base] = Shadow(-(-array.size // unit))
                units = lanes.units(site.size, unit)
                if access.sizes is not None:
                    units = units.where(units.offset < access.sizes[units.rows, units.columns])
                strength = 2 if site.op in ("atom", "red") else 1 if flag else 0
                self._check(access, shadow, (units.address - array.base) // unit, units, array, strength)
        if flag and site.op in ("ld", "atom"):  # whoever does not look at the old value waits for nobody
            self._clocks.acquire(mask)

    def _unit_of(self, array: DeviceArray) -> int:
        return array.element if array.element in (4, 8) else 1

    def _by_array(self, access: Access) -> Iterator[tuple[DeviceArray, AccessLanes]]:
        """The lanes that meet each watched array."""
        if access.array is not None:
            if access.array.base in self._watched:
                yield access.array, in_all_blocks(access, self._info)
            return
        lanes = in_all_blocks(access, self._info)
        numbers = lanes.address >> 36
        for number in np.unique(numbers):
            array = self._machine.space.at(int(number) << 36)
            if array is not None and array.base in self._watched:
                here = numbers == number
                yield array, lanes.where(here)

    # ---- the rules

    def _check(
        self, access: Access, shadow: Shadow, at: Array, lanes: AccessLanes, array: DeviceArray | None, strength: int
    ) -> None:
        """The rules, for the units `at` of a shadow. `array` is None for shared memory.

        `strength`: 0 an ordinary access, 1 one of a flag, 2 an atomic.
        """
        site, clocks, shared = access.site, self._clocks, array is None
        clocks.tick()
        high = clocks.stamp(lanes.high, shared)
        kinds = shadow.write_kind.take(at)
        if strength == 2 and not shadow.read_at_all and kinds.all():  # atomics and flags do not race with each other
            shadow.write(at, high, site.line, strength)
            return
        low = high if lanes.high is lanes.low else clocks.stamp(lanes.low, shared)
        present = (low,) if high is low else (low, high)
        writer = shadow.last_write(at)
        if shared and site.op != "st" and "exch" not in site.opcode and (writer.lane < 0).any():
            self._findings.uninitialised(access, lanes, int(np.flatnonzero(writer.lane < 0)[0]))
        for now in present:
            bad = clocks.unordered(writer, now, kinds == 2, shared)
            if strength:
                bad &= (kinds == 0) | self._relies(site, now, writer, kinds)
            if bad.any() and not (site.op == "st" and self._same_value(access, lanes, bad, array)):
                self._findings.races(access, lanes, bad, now, writer, shadow.write_line[at], kinds, array)
        if site.op == "ld":
            for now in present if strength else ():
                clocks.flags.see(now.lane, writer, shared)
            shadow.read(at, low, high, site.line, strength, clocks, lanes.unique, shared)
            return
        if shadow.read_at_all:
            first, last, lines, reader_kinds = shadow.readers(at)
            for before in (first, last):
                for now in present:
                    bad = clocks.unordered(before, now, None, shared)
                    if strength:
                        bad &= reader_kinds == 0
                    if bad.any():
                        self._findings.races(access, lanes, bad, now, before, lines, None, array)
        shadow.write(at, high, site.line, strength)
        if site.op == "st" and (high is not low or not (lanes.unique or (shadow.writer[at] == lanes.high).all())):
            columns = np.unique(lanes.columns) if shared else np.arange(access.mask.width)
            lost = collision(access, columns, self._info, shared)
            if lost is not None:
                self._findings.clash(access, *lost, array)

    def _relies(self, site: Site, now: Stamp, writer: Stamp, kinds: Array) -> Array | bool:
        """bool: what is read was stored as a flag is (volatile), but as a number for others, which a later flag tells
        of: nothing that is done depends on it, so that nobody waits for it."""
        if site.op != "ld" or site.decides or not (kinds == 1).any():
            return False
        relied: Array = (kinds == 1) & self._clocks.flags.lacks_a_fence(writer.lane, writer.time, now.lane)
        return relied

    def _same_value(self, access: Access, lanes: AccessLanes, bad: Array, array: DeviceArray | None) -> bool:
        """True when the store changes nothing: that a flag is set twice harms nobody."""
        site, mask, entries = access.site, access.mask, np.flatnonzero(bad)
        values = np.stack([np.broadcast_to(value, (mask.height, mask.width)) for value in access.values])
        new = values[lanes.offset[entries] // site.part, lanes.rows[entries], lanes.columns[entries]]
        address = lanes.address[entries] // site.part * site.part
        if array is not None:
            old = array.view(site.part)[(address - array.base) // site.part]
        else:
            old = self._machine.words("shared").load(address, site.part, (self._lanes.sample[lanes.block[entries]],))
        return bool((old == new).all())


def _release(site: Site) -> str | None:
    """For whom the access is a fence by itself: "block", "all" or None."""
    if not {"release", "acq_rel"} & site.words:
        return None
    return "block" if "cta" in site.words else "all"
