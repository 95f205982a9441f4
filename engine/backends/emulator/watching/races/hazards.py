"""Find hazards while a kernel runs: races in shared and global memory, divergent barriers, uninitialised reads.

Shared memory is checked in one block that represents all, as long as all blocks of a chunk do the same, and then in a
sample of blocks. In global memory the arrays that the kernel writes are checked, in all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import UNSIGNED, plain
from engine.backends.emulator.state.events import Access, ChunkInfo, Loads, Site
from engine.backends.emulator.state.heap import Heap
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import RANGE_BITS, DeviceArray
from engine.backends.emulator.state.pointers import smallest_part, spaces_of_shared, written_arrays
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.races.access_lanes import AccessLanes, SharedLanes, lanes_in_all_blocks
from engine.backends.emulator.watching.races.accesses_between import orders_in_part
from engine.backends.emulator.watching.races.barrier_checks import BlockBarriers, called, is_for_whole_warps
from engine.backends.emulator.watching.races.causality import causality_of
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.handovers import Handovers, waits_for_flags
from engine.backends.emulator.watching.races.open_reads import OpenReads
from engine.backends.emulator.watching.races.own_addresses import OwnAddresses, takes_addresses
from engine.backends.emulator.watching.races.owned_units import OwnedUnits
from engine.backends.emulator.watching.races.rules import RaceRules
from engine.backends.emulator.watching.races.shadow import Shadow
from engine.backends.emulator.watching.races.warp_checks import UndefinedCheck, WarpMembers
from engine.records import Array, Finding


class Hazards(Observer):
    """The observer that collects the findings of all launches of a run."""

    def __init__(self) -> None:
        self._findings = Findings()

    def findings(self) -> tuple[Finding, ...]:
        """Return one finding per kind and pair of lines, in the order of lines."""
        return self._findings.in_order()

    # ---- events

    def on_launch(self, machine: Machine) -> None:
        """Start a launch; all earlier accesses are ordered before it."""
        self._machine = machine
        in_order = machine.schedule.kind != "independent"
        self._clocks = Clocks(machine.rows, machine.threads, machine.blocks, in_order, causality_of(machine))
        self._findings.start_launch(machine, self._clocks)
        self._members = WarpMembers(machine, self._findings)
        self._watched = written_arrays(machine)
        self._global: dict[int, Shadow] = {}
        self._owned: dict[int, OwnedUnits] = {}
        self._units: dict[int, int] = {}  # bytes that are checked together, of arrays that are accessed in parts
        self._unit = max(1, smallest_part(machine.program, spaces_of_shared(machine.program)))
        self._in_part = orders_in_part(machine.program)
        self._lanes = SharedLanes(self._unit, self._in_part, in_order)
        self._rules = RaceRules(machine, self._clocks, self._findings, self._lanes)
        self._written_soon: set[int] = set()
        self._waits = waits_for_flags(machine.program)
        self._addresses = OwnAddresses(machine, self._findings) if takes_addresses(machine.program) else None
        self._heap = HeapChecks(smallest_part(machine.program, ("global", "")), self._findings)

    def on_chunk(self, info: ChunkInfo) -> None:
        """Start a chunk of blocks with new shared memory."""
        self._info = info
        self._handovers = Handovers(info) if self._waits else None
        self._findings.start_chunk(info, self._handovers)
        self._clocks.start_chunk(info)
        self._undefined = UndefinedCheck(self._machine, self._findings, info)
        self._barriers = BlockBarriers(self._machine, self._findings)
        self._lanes.start_chunk(info)
        self._rules.start_chunk(info)
        if self._addresses is not None:
            self._addresses.start_chunk(info)
        units = -(-info.shared_bytes // self._unit)
        self._shared = Shadow(units, self._in_part) if units else None
        self._reads = OpenReads(self._clocks, self._written_soon)

    def on_release(self, mask: Mask) -> None:
        """Order accesses by a barrier of the block."""
        self._release(mask)
        self._barriers.release(mask)

    def _release(self, mask: Mask) -> None:
        self._reads.release(mask)
        if self._shared is not None and self._shared.between is not None and mask.blocks.all():
            self._shared.between.clear()
        self._clocks.release(mask)

    def on_part_arrives(self, number: int, mask: Mask) -> None:
        """Note the work of lanes that arrive at a barrier for some threads; they may not wait there."""
        self._reads.settle()
        self._clocks.flags.arrive_in_part(number, mask, self._clocks.tick())

    def on_part_released(self, number: int, mask: Mask) -> None:
        """Order the released lanes after the arrived ones."""
        self._reads.settle()
        self._clocks.flags.release_part(number, mask)

    def on_phase_end(self, at: Array, columns: Array) -> None:
        """Let those who wait for the phase of an mbarrier know of its arrivals."""
        self._clocks.flags.end_phase(at, columns)

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Check the member masks of lanes that converge; only __syncwarp() orders their accesses."""
        self._members.check(line, opcode, mask, members)
        if traits_of(opcode).head == "bar.warp.sync":
            if self._clocks.is_whole_block(mask, members):
                self._release(mask)
                return
            self._reads.settle()
            self._clocks.collect(mask, members)
        else:
            self._clocks.converge_unordered(line, opcode, mask)

    def on_warp_meeting(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Order the lanes of a warp that have met at different __syncwarp()."""
        self._members.check(line, opcode, mask, members)
        self._reads.settle()
        self._clocks.collect(mask, members)

    def on_fence(self, line: int, opcode: str, mask: Mask) -> None:
        """Record a fence."""
        self._reads.settle()
        self._clocks.fence(mask, "cta" in opcode.split("."))

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """Follow undefined values through a basic block, and check that nobody waits for its lanes."""
        self._undefined.enter(block, mask)
        self._barriers.enter(block, mask)

    def on_shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """Check a shuffle."""
        self._undefined.shuffle(line, mask, source)

    def on_zero_divisor(self, line: int, mask: Mask) -> None:
        """Report a division by zero."""
        self._findings.zero_divisor(line, self._machine.lane_name(*mask.first_lane()))

    def on_incomplete(self, line: int, opcode: str, mask: Mask) -> None:
        """Report a warp-synchronous instruction that names lanes which will never arrive."""
        self._members.incomplete(line, opcode, mask)

    def on_barrier(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Check that all living lanes of a warp reach a barrier together, and all threads of a block the same one."""
        if mask is not alive and self._machine.schedule.kind != "independent" and is_for_whole_warps(block):
            self._members.at_barrier(block.line, called(block), mask, alive)
        self._barriers.arrive(block, mask, alive)

    def on_access(self, access: Access) -> None:
        """Check a load, store or atomic before it takes effect, by the lanes that use its value."""
        checked = access if access.takers is None else access.of_takers()
        if checked is not None and self._addresses is not None:
            self._addresses.check(checked)
        if checked is not None and access.space == "shared":
            self._on_shared(checked)
        elif checked is not None and access.space == "global":
            self._on_global(checked)

    def on_loads(self, loads: Loads) -> None:
        """Check several loads of shared memory."""
        shadow = self._shared
        if shadow is None or not self._are_deferred(loads, shadow):
            for access in loads.accesses:
                self.on_access(access)

    def on_unwritten(self, site: Site, row: int, column: int) -> None:
        """Report a read of local memory that the thread has not written."""
        self._findings.uninitialised_local(site, self._machine.lane_name(row, column))

    def on_copy(self, access: Access) -> None:
        """Check the destination of an asynchronous copy that starts."""
        met = self._shared_units(access)
        if met is not None:
            self._rules.check(access, *met, None, 0)

    def on_chunk_end(self) -> None:
        """Report copies without a wait."""
        if self._shared is not None:
            for line, unit, lane in self._shared.copies.unawaited():
                self._findings.unawaited_copy(line, unit // self._lanes.sample.size * self._unit, lane)

    # ---- shared memory

    def _shared_units(self, access: Access) -> tuple[Shadow, Array, AccessLanes] | None:
        """Return the shadow, the units that an access touches, and its lanes; None if it is in no checked block."""
        site, shadow = access.site, self._shared
        if shadow is None or site.part < self._unit:
            return None
        every_block = plain(access.address).shape[1] == 1 and access.mask.column_index is None
        same_lanes = every_block and access.mask.dense is None
        alike = same_lanes and self._clocks.alike
        apart = alike and (site.op == "st" or (site.op == "ld" and site.weak))  # from open reads of other units
        if not apart:
            self._reads.settle()
        if not alike and self._lanes.start_sampling():
            shadow = self._shared = shadow.repeated(self._lanes.sample * self._info.rows)
        lanes = self._lanes.cached_lanes_of(access) if alike else self._lanes.lanes_of(access)
        if lanes is None:
            return None
        at = self._lanes.units(lanes)
        if apart and self._reads.touches(at):
            self._reads.settle()
        return shadow, at, lanes

    def _on_shared(self, access: Access) -> None:
        site, clocks, known = access.site, self._clocks, self._shared
        if known is not None and site.op == "ld" and site.weak and not site.guess and self._is_deferred(access, known):
            return
        met = self._shared_units(access)
        if met is None:
            return
        shadow, at, lanes = met
        fence = 0
        exchanges = self._exchanges(access)
        if site.arrives_later:
            shadow.write(at, clocks.stamp(lanes.high, True), site.line, 0)
            shadow.copies.arrive(at)
            return
        writes_flag = site.op in ("atom", "red") or (site.op == "st" and not site.weak)
        reads_flag = site.op == "ld" and not site.weak
        if self._handovers is not None and (writes_flag or reads_flag):
            self._handovers.note(access, clocks.tick())
        if "arrive" in site.words or "arrive_drop" in site.words:
            early = clocks.flags.unordered_arrival(access)
            if early is not None:
                self._findings.unordered_arrival(site.line, *early)
        if writes_flag:
            self._reads.settle()
            fence = clocks.publish(access, _fence_scope(site, "release"))
        strength = -1 if exchanges else 1 if site.guess or not site.weak else 0
        self._rules.check(access, shadow, at, lanes, None, 2 if site.op in ("atom", "red") else strength, fence)
        waits = reads_flag and site.may_wait
        acquires = site.op == "atom" or (reads_flag and clocks.flags.used)
        if not (waits or acquires):
            return
        late = self._late(access, lanes.address, self._lanes.sample[lanes.block])
        if waits:
            self._note_flag(shadow, at, lanes, late, True)
        if acquires:
            clocks.acquire(access, shadow.newest_fence(at, late), _fence_scope(site, "acquire"))

    def _note_flag(self, shadow: Shadow, at: Array, lanes: AccessLanes, late: Array, shared: bool) -> None:
        """Note whose stores a read of flags has seen. `late`: the units whose last store has not arrived."""
        writer = shadow.last_write(at[~late])
        for lane in {id(each): each for each in (lanes.low, lanes.high)}.values():
            self._clocks.flags.record_read(lane[~late], writer, shared)

    def _late(self, access: Access, address: Array, column: Array | None) -> Array:
        """Return which addresses have a store that has not arrived in memory yet, bool."""
        stores = self._machine.resident.stores
        return np.zeros(address.shape, bool) if stores is None else stores.covers(access.space, address, column)

    def _exchanges(self, access: Access) -> bool:
        """Return whether a volatile access exchanges data, and is no flag.

        A volatile store is a flag only directly after a fence, and a volatile load only if a branch depends on it:
        lanes of a warp that exchange sums set no flags.
        """
        site, clocks = access.site, self._clocks
        behind = site.op == "st" and clocks.flags.stores_behind_a_fence(access.mask, clocks.tick(), access.space)
        return "volatile" in site.words and not site.guess and not behind and not site.decides_branch

    def _is_deferred(self, access: Access, shadow: Shadow) -> bool:
        """Return whether the load could be recorded as an open read, without further checks."""
        if access.site.number in self._written_soon:
            return False
        if self._reads.defer(access.place, shadow):
            return True
        if access.place is None or access.mask.column_index is not None or not self._reads.possible():
            return False
        lanes = self._lanes.cached_lanes_of(access)
        if lanes is not None:
            self._reads.learn(access.place, (access.site,), shadow, self._lanes.units(lanes), lanes)
        return self._reads.defer(access.place, shadow)

    def _are_deferred(self, loads: Loads, shadow: Shadow) -> bool:
        """Return whether all loads could be recorded as open reads."""
        if self._reads.defer(loads, shadow):
            return True
        sites = loads.pattern.sites
        if loads.pattern.mask.column_index is not None or not self._reads.possible():
            return False
        if any(site.part < self._unit or site.number in self._written_soon for site in sites):
            return False
        lanes = self._lanes.cached_lanes_of_loads(loads)
        if lanes is not None:
            self._reads.learn(loads, sites, shadow, self._lanes.units(lanes), lanes)
        return self._reads.defer(loads, shadow)

    # ---- global memory

    def _on_global(self, access: Access) -> None:
        site, fence, heard = access.site, 0, [0]
        flag = not site.weak or site.op in ("atom", "red")
        acquires = flag and site.op in ("ld", "atom")  # a lane that ignores the old value does not
        if flag:
            self._reads.settle()
        if flag and self._handovers is not None:
            self._handovers.note(access, self._clocks.tick())
        if flag and site.op == "ld":
            self._clocks.tick()
        elif flag:
            fence = self._clocks.publish(access, _fence_scope(site, "release"))
        elif not site.guess and not site.read_only and self._has_owners(access):
            return
        exchanges = self._exchanges(access)
        for array, lanes in self._by_array(access):
            unit, shadow = self._shadow_for(array, site.part)
            units = lanes.units(site.size, unit)
            if access.sizes is not None:
                units = units.where(units.offset < access.sizes[units.rows, units.columns])
            strength = 2 if site.op in ("atom", "red") else -1 if exchanges else 1 if flag or site.guess else 0
            at = (units.address - array.base) // unit
            if isinstance(array, Heap):
                self._heap.check(access, lanes, array)
            self._rules.check(access, shadow, at, units, array, strength, fence)
            late = self._late(access, units.address, None) if acquires else None
            heard.append(0 if late is None else shadow.newest_fence(at, late))
            if late is not None and site.op == "ld" and site.may_wait:
                self._note_flag(shadow, at, units, late, False)
        if acquires:
            newest = max(heard) if heard[1:] else self._clocks.now  # a grid's barrier is in no array of the kernel
            self._clocks.acquire(access, newest, _fence_scope(site, "acquire"))

    def _has_owners(self, access: Access) -> bool:
        """Return whether each unit of the access's array still has one lane, so there is nothing to check."""
        array = access.array
        if array is None or array.base not in self._watched or array.base in self._global or array.sparse:
            return False
        owned, part = self._owned.get(array.base), access.site.part
        if owned is None and part < self._unit_of(array):
            self._units[array.base] = part
        unit = self._unit_of(array)
        if access.sizes is not None or part < unit:
            return False
        if owned is None:
            owned = self._owned[array.base] = OwnedUnits(array, unit, self._clocks)
        return owned.accept(access, self._info)

    def on_free(self, access: Access) -> None:
        """Check freed memory as if it were written where it was used; later allocations have no part in that use."""
        heap, sizes, unit = access.array, access.sizes, self._heap.unit
        assert heap is not None and sizes is not None
        shadow = self._shadow_of(heap, unit)
        at, lanes = freed_units(lanes_in_all_blocks(access, self._info), heap.base, sizes, unit, shadow)
        if at.size:
            self._rules.check(access, shadow, at, lanes, heap, 0)
            shadow.forget(at)

    def _shadow_for(self, array: DeviceArray, part: int) -> tuple[int, Shadow]:
        """Return the shadow of a device array for an access to parts of so many bytes, and its unit in bytes."""
        unit = self._unit_of(array)
        shadow = self._shadow_of(array, unit)
        if part < unit:  # two lanes may use different parts of an element
            shadow = self._global[array.base] = shadow.refined(unit // part)
            self._units[array.base] = unit = part
        return unit, shadow

    def _shadow_of(self, array: DeviceArray, unit: int) -> Shadow:
        """Return the shadow of a device array; the heap's grows with the heap."""
        shadow, units = self._global.get(array.base), -(-array.size // unit)
        if shadow is None:
            owned = self._owned.pop(array.base, None)
            shadow = self._global[array.base] = owned.shadow(self._in_part) if owned else Shadow(units, self._in_part)
        elif shadow.units < units:
            shadow = self._global[array.base] = shadow.grown(units)
        return shadow

    def _unit_of(self, array: DeviceArray) -> int:
        if array.sparse:
            return self._heap.unit
        return self._units.get(array.base) or (array.element if array.element in (4, 8) else 1)

    def _by_array(self, access: Access) -> Iterator[tuple[DeviceArray, AccessLanes]]:
        """Yield the lanes by checked array."""
        if access.array is not None:
            if access.array.base in self._watched or access.array.sparse:
                yield access.array, lanes_in_all_blocks(access, self._info, self._in_part)
            return
        lanes = lanes_in_all_blocks(access, self._info, self._in_part)
        numbers = lanes.address >> RANGE_BITS
        for number in np.unique(numbers):
            array = self._machine.space.at(int(number) << RANGE_BITS)
            if array is not None and (array.base in self._watched or array.sparse):
                here = numbers == number
                yield array, lanes.where(here)


def _fence_scope(site: Site, order: str) -> str | None:
    """Return the scope in which the access is a fence itself, by its "release" or "acquire": "block", "all" or None."""
    if not {order, "acq_rel"} & site.words:
        return None
    return "block" if "cta" in site.words else "all"


class HeapChecks:
    """The checks of a launch. `unit`: the granularity of its race checks on the heap, in bytes."""

    def __init__(self, unit: int, findings: Findings) -> None:
        self.unit, self._findings = max(1, unit), findings

    def check(self, access: Access, lanes: AccessLanes, heap: Heap) -> None:
        """Report a read of parts without any written byte, so a structure may be copied with its padding; note the
        bytes that the access writes."""
        site = access.site
        parts = lanes.units(site.size, site.part)
        if access.sizes is not None:
            parts = parts.where(parts.offset < access.sizes[parts.rows, parts.columns])
        known = heap.written.view(UNSIGNED[8 * site.part])
        at = (parts.address - heap.base) // site.part
        if site.op != "st" and "exch" not in site.opcode:
            unwritten = known[at] == 0
            if unwritten.any():
                entry = int(np.flatnonzero(unwritten)[0])
                self._findings.uninitialised_heap(access, parts, entry, heap)
        if site.op != "ld":
            known[at] = int.from_bytes(b"\1" * site.part, "little")


def freed_units(lanes: AccessLanes, base: int, sizes: Array, unit: int, shadow: Shadow) -> tuple[Array, AccessLanes]:
    """Return the used units of memory that lanes free, and for each the lane that frees it.

    `base`: the address of the heap; `sizes`: bytes per lane, in the rows and columns of the mask.
    """
    lanes = lanes.where(np.argsort(lanes.address))
    first = (lanes.address - base) // unit
    end = first - (-sizes[lanes.rows, lanes.columns] // unit)
    at = shadow.used(int(first[0]), int(end.max()))
    owner = np.searchsorted(first, at, "right") - 1
    inside = at < end[owner]
    at, owner = at[inside], owner[inside]
    return at, replace(lanes.where(owner), address=base + at * unit)
