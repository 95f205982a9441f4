"""Check the heap: malloc gives memory with undefined contents, and free ends its use by all threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.backends.emulator.registers.values import UNSIGNED
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.state.heap import Heap
from engine.backends.emulator.watching.races.access_lanes import AccessLanes
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.shadow import Shadow
from engine.records import Array


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
