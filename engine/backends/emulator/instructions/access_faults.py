"""What ends a run at a memory instruction: an address outside its array, or one that is not aligned.

`address` and `lanes` have the shape (height, width) of the mask; the first of `lanes`, by block and then by thread, is
the one that is named.
"""

from __future__ import annotations

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import DeviceArray, Words
from engine.compile.names import readable
from engine.records import Array, RunFailed

_VERBS = {"ld": "reads", "st": "writes", "atom": "updates", "red": "updates"}


def outside(
    machine: Machine, site: Site, address: Array, lanes: Array, mask: Mask, array: DeviceArray | None
) -> RunFailed:
    """A lane misses its array in device memory; None: it means no array at all."""
    row, column = first_lane(lanes)
    at, verb = int(address[row, column]), _VERBS[site.op]
    if array is None:
        what = f"{verb} at address {hex(at % (1 << 64))}, where there is no array"
    else:
        size = machine.element_bytes_of(array)
        element, count = (at - array.base) // size, array.size // size
        what = f"{verb} element {element} of `{readable(array.name)}`, which has {count} elements"
    return machine.lane_failure("out-of-bounds", site.line, mask, row, column, what, "out-of-bounds")


def misaligned(machine: Machine, site: Site, lanes: Array, mask: Mask) -> RunFailed:
    """A lane's address is no multiple of the size of the access."""
    row, column = first_lane(lanes)
    size = site.size
    what = f"{_VERBS[site.op]} {size} bytes at a place that is not a multiple of {size} bytes (misaligned)"
    return machine.lane_failure("crashed", site.line, mask, row, column, what, "misaligned")


def outside_block(
    machine: Machine, site: Site, address: Array, lanes: Array, mask: Mask, words: Words, space: str
) -> RunFailed:
    """A lane's byte offset lies outside the shared or local memory `words`, or is not aligned."""
    row, column = first_lane(lanes)
    place = int(address[row, column])
    if 0 <= place <= words.size - site.size:
        return misaligned(machine, site, lanes, mask)
    places = machine.places(space)
    below = [(start, name) for name, start in places.items() if start <= max(place, 0)]
    verb = _VERBS[site.op]
    if not below:
        what = f"{verb} {space} memory at byte {place}, but the block has {words.size} bytes"
    else:
        start, name = max(below)
        part = machine.element_bytes(name) or site.part
        length = min([other for other in places.values() if other > start], default=words.size) - start
        element, count = (place - start) // part, length // part
        what = f"{verb} element {element} of the {space} array `{readable(name)}`, which has {count} elements"
        if count == 0 and any(one.external and one.name == name for one in machine.program.shared):
            what += ": the launch gives an extern array its size, and this launch gives none"
    return machine.lane_failure("out-of-bounds", site.line, mask, row, column, what, "out-of-bounds")


def first_lane(lanes: Array) -> tuple[int, int]:
    """The first set lane, by block and then by thread."""
    column = int(lanes.any(axis=0).argmax())
    return int(lanes[:, column].argmax()), column
