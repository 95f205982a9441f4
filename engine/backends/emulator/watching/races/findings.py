"""The findings about hazards: threads, place, lines, and the missing synchronisation."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.state.events import Access, ChunkInfo, Site
from engine.backends.emulator.state.heap import Heap
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.watching.races.access_lanes import AccessLanes
from engine.backends.emulator.watching.races.clocks import Clocks
from engine.backends.emulator.watching.races.flags import Stamp
from engine.backends.emulator.watching.races.handovers import Handovers
from engine.backends.emulator.watching.races.shadow import StartedCopies
from engine.compile.names import readable
from engine.records import Array, Finding

_WORD = 4  # bytes
_HOW_TO_WAIT = "(__pipeline_wait_prior, cp.async.wait_group, or the barrier that the copy reports to)"
_MOST_FINDINGS = 50
_MOST_COUNTED = 10_000
_FAR = 2  # between blocks
STARTS_UNDEFINED = "a variable starts with an undefined value, not with zero."


class Findings:
    """The findings of a run: one per kind and pair of lines. `array`: None for shared memory in all methods.

    A race of threads that are farther apart takes the place of one between the same lines: its remedy ends both.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int], Finding] = {}
        self._apart: dict[tuple[str, int, int], int] = {}
        self._more: set[tuple[str, int, int]] = set()  # findings beyond the limit

    def in_order(self) -> tuple[Finding, ...]:
        """Return the findings in the order of lines, with the number of omitted ones.

        A race of lanes between lines where warps race, too, is left out: only a __syncthreads() ends both.
        """
        keys = (key for key in self._found if key[0] != "warp-race" or ("shared-race", *key[1:]) not in self._found)
        listed = [self._found[key] for key in sorted(keys, key=lambda key: (key[1], key[2], key[0]))]
        if self._more:
            count = f"{len(self._more):,}" if len(self._more) < _MOST_COUNTED else "Many"
            kind = next(iter(self._more))[0]
            listed.append(Finding(kind, None, None, f"{count} more findings at other lines are left out."))
        return tuple(listed)

    def start_launch(self, machine: Machine, clocks: Clocks) -> None:
        """Start a launch: `machine` names threads and places, `clocks` knows the order of accesses."""
        self._machine, self._clocks = machine, clocks

    def start_chunk(self, info: ChunkInfo, handovers: Handovers | None) -> None:
        """Start a chunk; lanes of accesses to shared memory count from its first block. `handovers`: None if no thread
        waits for another one by a flag."""
        self._info, self._handovers = info, handovers

    def report(self, kind: str, line: int, other: int | None, message: str, apart: int = _FAR) -> None:
        """Add a finding, unless there is one with its kind and lines, of threads that are as far apart.

        `other`: the line of the earlier access; `apart`: as of `_apart_of`; _FAR: no other takes its place.
        """
        key = (kind, line, other or 0)
        if key in self._found and apart <= self._apart[key]:
            return
        if key in self._found or len(self._found) < _MOST_FINDINGS:
            message = f"{message[0].upper()}{message[1:]}"
            self._found[key], self._apart[key] = Finding(kind, line or None, other, message), apart
        elif len(self._more) < _MOST_COUNTED:
            self._more.add(key)

    def of_block(self, lanes: AccessLanes) -> Array:
        """Return which lanes access the block's own shared memory. Behind it lies the GPU's, where cooperative groups
        lets warps meet by rules of its own; it starts as zeros."""
        return lanes.address < self._machine.shared_size

    def uninitialised(self, access: Access, lanes: AccessLanes, entry: int) -> None:
        """Report a read of a word of shared memory that no thread has written."""
        line, lane = access.site.line, self._name(int(lanes.low[entry]), None)
        place = self._place(access.site.part, int(lanes.address[entry]), None)
        self.report("uninitialised-shared", line, None,
                     f"line {line}: {lane} {_does(access)} {place}, which no thread of the block has written before; "
                     "shared memory starts with undefined values, not with zeros.")  # fmt: skip

    def uninitialised_local(self, site: Site, lane: str) -> None:
        """Report a read of local memory that its thread has not written."""
        own = self._machine.only_local_array()
        place = f"its local array `{own}`" if own else "its local arrays"
        self.report("uninitialised-local", site.line, None,
                     f"line {site.line}: {lane} reads an element of {place} that it has not written; "
                     "a local array starts with undefined values, and each thread has its own.")  # fmt: skip

    def unset_variable(self, line: int, use: str) -> None:
        """Report the use of a variable that its thread has not set. `use`: "thread 0 of block 0 decides by"."""
        message = f"line {line}: {use} a variable that it has not set; {STARTS_UNDEFINED}"
        self.report("uninitialised-variable", line, None, message)

    def zero_divisor(self, line: int, lane: str) -> None:
        """Report a division by zero; `lane`: the name of a thread that does it."""
        self.report("division-by-zero", line, None,
                    f"line {line}: {lane} divides an integer by zero; a GPU reports no error, but the results of / and "
                    "% are undefined then.")  # fmt: skip

    def address_of_another(self, line: int, lane: int, owner: int, other: int, local: bool) -> None:
        """Report a load of the address of a local or shared variable that the lane `owner` stored at line `other`."""
        kind, own, wider = ("local", "thread", "shared") if local else ("shared", "block", "global")
        one, two = (self._machine.grid_lane_name(each) for each in (lane, owner))
        self.report("address-of-another", line, other,
                    f"line {line}: {one} loads the address of a {kind} variable that {two} stored at line {other}; "
                    f"each {own} has its own {kind} memory, so this address never leads to the other's variable: a "
                    f"variable for both belongs in {wider} memory.")  # fmt: skip

    def uninitialised_heap(self, access: Access, lanes: AccessLanes, entry: int, heap: Heap) -> None:
        """Report a read of memory from malloc that no thread has written."""
        line, lane = access.site.line, self._name(int(lanes.low[entry]), heap)
        place = heap.place(int(lanes.address[entry]))
        self.report("uninitialised-heap", line, None,
                     f"line {line}: {lane} {_does(access)} {place}, which no thread has written before; "
                     "malloc and new do not set memory to zero.")  # fmt: skip

    def stale_read(
        self, access: Access, lanes: AccessLanes, entry: int, writer: int, other: int, array: DeviceArray
    ) -> None:
        """Report a read through the read-only cache of what this launch wrote, at line `other`."""
        line, place = access.site.line, self._place(access.site.part, int(lanes.address[entry]), array)
        mine = int(lanes.low[entry])
        who = "it" if mine == writer else self._name(writer, array)
        self.report("stale-read", line, other,
                     f"line {line}: {self._name(mine, array)} reads {place} through the read-only cache, but {who} "
                     f"wrote this number at line {other} of the same launch, and this cache may hold the number from "
                     "before; use no __ldg(), and no const with __restrict__, for what the kernel writes.")  # fmt: skip

    def copy_in_flight(self, access: Access, lanes: AccessLanes, copies: StartedCopies) -> None:
        """Report accesses to places with a copy in flight: one finding per line of a copy."""
        left = np.flatnonzero(copies.lane >= 0)
        while left.size:
            entry = int(left[0])
            mine, theirs, other = int(lanes.low[entry]), int(copies.lane[entry]), int(copies.line[entry])
            line, place = access.site.line, self._place(access.site.part, int(lanes.address[entry]), None)
            one, two = self._name(mine, None), self._name(theirs, None)
            if mine == theirs:
                head, order = (
                    f"its own asynchronous copy from line {other}",
                    f"it must wait for the copy first {_HOW_TO_WAIT}",
                )
            else:
                head = f"the asynchronous copy that {two} started at line {other}"
                order = f"{two} must wait for the copy first {_HOW_TO_WAIT}, and a __syncthreads() must follow"
            message = f"line {line}: {one} {_does(access)} {place} while {head} is still in flight; {order}."
            self.report("unawaited-copy", line, other, message)
            left = left[copies.line[left] != other]

    def unawaited_copy(self, line: int, address: int, lane: int) -> None:
        """Report a copy to shared memory that is still in flight when its block ends."""
        what = f"{self._name(lane, None)} starts an asynchronous copy to {self._place(_WORD, address, None)}"
        clause = f"and no thread ever waits for it {_HOW_TO_WAIT}: the block may end before its data arrives"
        self.report("unawaited-copy", line, None, f"line {line}: {what}, {clause}.")

    def report_races(
        self, access: Access, lanes: AccessLanes, bad: Array, now: Stamp, before: Stamp, other_lines: Array,
        writes: Array | None, array: DeviceArray | None,
    ) -> None:  # fmt: skip
        """Report races: one finding for each other line and kind, so a race inside a warp hides none between warps. In
        an array it is the one whose threads are farthest apart.

        `writes`: the kinds of the earlier writes, None if the earlier access was a read.
        """
        left = np.flatnonzero(bad if array is not None else bad & self.of_block(lanes))
        inside = before.lane // WARP == now.lane // WARP
        if array is not None:
            left = left[np.argsort(-self._apart_of(before.lane[left], now.lane[left]), kind="stable")]
        while left.size:
            entry = int(left[0])
            was = None if writes is None else int(writes[entry])
            self._race(access, lanes, entry, now, before, was, int(other_lines[entry]), array)
            told = other_lines[left] == other_lines[entry]
            if array is None:
                told &= inside[left] == inside[entry]
            left = left[~told]

    def _race(
        self, access: Access, lanes: AccessLanes, entry: int, now: Stamp, before: Stamp, was: int | None, other: int,
        array: DeviceArray | None,
    ) -> None:  # fmt: skip
        verb = "read" if was is None else "updated" if was & 3 == 2 else "wrote"
        line, mine, theirs = access.site.line, int(now.lane[entry]), int(before.lane[entry])
        place = self._place(access.site.part, int(lanes.address[entry]), array)
        one, two = self._name(mine, array), self._name(theirs, array)
        head = f"line {line}: {one} {_does(access)} {place}, which {two} {verb} at line {other}"
        kind, advice = self._verdict(access, mine, theirs, array)
        time = before.time if isinstance(before.time, int) else int(before.time[entry])
        if verb != "updated" and self._lacks_a_fence(theirs, time, mine, array):
            published = self._clocks.flags.is_published(before, entry, mine, array is None)
            advice = _fence_advice(
                verb, other, published, "__threadfence_block()" if array is None else "__threadfence()"
            )
        elif was and kind == "global-race" and (was > 2 or "cta" in access.site.words):
            advice = (
                "an atomic with the scope of a block orders nothing between blocks: use one with the scope of the "
                "device, for example atomicAdd() instead of atomicAdd_block()."
            )
        elif kind == "global-race" and (access.site.op in ("atom", "red") or verb == "updated"):
            advice = (
                "only one of these two accesses is atomic: make the other one an atomic, too, or put a barrier for all "
                "threads of both between them."
            )
        elif kind == "shared-race" and not access.site.weak and "mbarrier" not in access.site.words:
            advice = "there is no __syncthreads() between them; a flag needs a __threadfence_block() before it is set."
        elif mine // WARP == theirs // WARP:
            first = 0 if array is None else self._info.first * self._info.rows
            met = self._clocks.unordered_convergence(time, mine - first, theirs - first)
            if met is not None:
                advice = (
                    f"{traits_of(met[1]).called or 'a warp-wide function'} at line {met[0]} lies between them, but it "
                    "orders no memory: a GPU of today mostly reads the expected value, but neither the compiler nor "
                    "the next GPU has to; both lanes must reach a __syncwarp() between these two accesses."
                )
        apart = _FAR if array is None else int(self._apart_of(mine, theirs))
        self.report(kind, line, other, f"{head}; {advice}", apart)

    def _apart_of(self, one: Array | int, two: Array | int) -> Array:
        """Return for lanes of the grid: 0 in one warp, 1 in one block, _FAR in two blocks."""
        rows = self._info.rows
        return np.where(np.not_equal(one // rows, two // rows), _FAR, np.not_equal(one // WARP, two // WARP))

    def conflicting_store(self, access: Access, address: int, one: int, two: int, array: DeviceArray | None) -> None:
        """Report two lanes of one store that write different values to one place."""
        if array is None and address >= self._machine.shared_size:
            return
        line = access.site.line
        place = self._place(access.site.part, address, array)
        kind = "shared-race" if array is None else "global-race"
        both = f"{self._name(one, array)} and {self._name(two, array)}"
        message = f"line {line}: {both} write different values to {place} at the same time; only one of them stays."
        self.report(kind, line, line, message)

    def conflicting_init(self, access: Access, address: int, one: int, two: int) -> None:
        """Report two lanes that initialise one barrier."""
        line, place = access.site.line, self._place(access.site.part, address, None)
        both = f"{self._name(one, None)} and {self._name(two, None)}"
        clause = f"line {line}: {both} initialise the same barrier {place}; only one thread may"
        self.report("shared-race", line, line, f"{clause}, and a __syncthreads() must follow.")

    def unordered_arrival(self, line: int, one: int, other: int) -> None:
        """Report a warp that arrives at an mbarrier and may not know of another one's arrival in an earlier phase."""
        mine, theirs = (f"the warp of {self._machine.grid_lane_name(warp * WARP)}" for warp in (one, other))
        clause = f"line {line}: {mine} arrives at a barrier, and nothing orders it behind an earlier phase"
        harm = f"in another order it counts in place of {theirs}, and a wait ends too early"
        remedy = "a thread must wait for the phase of its arrival before it arrives again"
        self.report("shared-race", line, line, f"{clause}: {harm}; {remedy}.")

    def _verdict(self, access: Access, mine: int, theirs: int, array: DeviceArray | None) -> tuple[str, str]:
        rows = self._info.rows
        if mine // rows != theirs // rows:
            return "global-race", "blocks run in any order, and no atomic or grid-wide wait puts these two in order."
        inside, enough = mine // WARP == theirs // WARP, "."
        where = "a __syncthreads()"
        if inside and self._is_alone(access, mine - (0 if array is None else self._info.first * rows)):
            where = "a __syncwarp()"
        elif inside:
            enough = "; a __syncwarp() is enough only if no other warp uses these words, at any block size."
        if array is not None:
            return "global-race", f"these two accesses are not ordered: use an atomic, or {where} between them{enough}"
        if inside:
            both = f"both must reach {where} between these two accesses"
            return "warp-race", f"lanes of one warp need not run in step: {both}{enough}"
        return "shared-race", "there is no __syncthreads() between them."

    def _is_alone(self, access: Access, lane: int) -> bool:
        """Return whether the lane's block has further warps, and none of them executes this access."""
        rows = self._info.rows
        active = access.mask.full_dense()[:, lane // rows].reshape(-1, WARP).any(axis=1)
        return rows > WARP and int(active.sum()) == 1

    def _place(self, part: int, address: int, array: DeviceArray | None) -> str:
        if isinstance(array, Heap):
            return array.place(address)
        if array is not None:
            if array.name in self._machine.symbols and array.size == part:
                return f"`{readable(array.name)}`"
            told = self._machine.element_bytes(array.name) if array.name in self._machine.symbols else array.element
            return f"`{readable(array.name)}[{(address - array.base) // (told or part)}]`"
        places = self._machine.shared_places
        below = [(start, name) for name, start in places.items() if start <= address]
        if not below:
            return f"byte {address} of shared memory"
        start, name = max(below)
        if any(v.name == name and v.size == part for v in self._machine.program.shared):
            return f"`{readable(name)}`"
        element = self._machine.element_bytes(name) or part
        return f"`{readable(name)}[{(address - start) // element}]`"

    def _lacks_a_fence(self, before: int, time: int, after: int, array: DeviceArray | None) -> bool:
        first = 0 if array is None else self._info.first * self._info.rows
        if self._handovers is not None and self._handovers.passed(before - first, time, after - first):
            return True
        lanes = np.array([before, after]) + self._first_lane(array)
        return bool(self._clocks.flags.lacks_a_fence(lanes[:1], time, lanes[1:])[0])

    def _name(self, lane: int, array: DeviceArray | None) -> str:
        return self._machine.grid_lane_name(lane + self._first_lane(array))

    def _first_lane(self, array: DeviceArray | None) -> int:
        """Return the lane from which lanes of accesses to shared memory count: the chunk's first, else 0."""
        return self._info.first * self._info.rows if array is None else 0


def _fence_advice(verb: str, other: int, published: bool, fence: str) -> str:
    """Return which fence of a flag is missing. `verb`: the earlier access "wrote" or "read", at line `other`;
    `published`: a fence lies between it and the flag."""
    if published:
        what = "the value" if verb == "wrote" else "that the place is free"
        return (
            f"the atomic or flag between them announces {what}, but nothing keeps this access behind the read of that "
            f"flag: put a {fence} after that read."
        )
    made = ("the value is there, but does not make it visible" if verb == "wrote"
            else "the place is free, but may be seen before that read ends")  # fmt: skip
    return (
        f"the atomic or flag between them says that {made}: put a {fence} after line {other} and before that atomic or "
        "flag."
    )


def _does(access: Access) -> str:
    if access.site.arrives_later:
        return "starts a copy to"
    if access.site.opcode == "free":
        return "frees"
    return {"ld": "reads", "st": "writes"}.get(access.site.op, "updates")
