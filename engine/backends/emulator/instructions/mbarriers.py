"""Barriers in shared memory, used by cuda::barrier: mbarrier.init, arrive, expect_tx, try_wait and others.

A thread waits in a loop around test_wait or try_wait. In the emulator its lanes stop before that instruction until the
phase has ended or no other lane can run: the number of iterations depends on timing and is not counted. Where no wait
follows, an unfinished phase is not waited for, because both instructions may return at once. For the race checks an
arrival sets a flag with a fence, and a lane that sees the phase end has read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.backends.emulator.instructions.memory_port import Port, address_reader, as_signed
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.block_order import reached_blocks
from engine.backends.emulator.ptx.program import NO_REQUEST, Program
from engine.backends.emulator.ptx.syntax import Address, Immediate, Instruction, InvalidPtx, Operand, PtxError, Sink
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Reader, Registers, constant, numbers_of, reader, writer
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.resident import (
    MOST_ARRIVALS,
    BarrierStates,
    are_initialised,
    count_arrivals,
    parity_of,
    pending_of,
    unpack_states,
)
from engine.records import Array

_BYTES = 8
_KEY_BITS = 20  # of a byte offset in shared memory
_ORDERS = frozenset(("acquire", "release", "relaxed", "acq_rel"))
# (states, the index of each lane's barrier in them, the lanes) -> words
Change = Callable[[BarrierStates, Array, "BarrierLanes"], Array | None]

describe(Traits("mbarrier", writes=False))


@dataclass(frozen=True)
class BarrierLanes:
    """The active lanes of an instruction, block by block: row and column in the mask, and the key of the lane's
    barrier."""

    rows: Array
    columns: Array
    keys: Array

    def of(self, values: Array, shape: tuple[int, int]) -> Array:
        """Return one value per lane from values that broadcast to (height, width)."""
        made: Array = np.broadcast_to(values, shape)[self.rows, self.columns]
        return made


class BarrierAddress:
    """The barrier operand of an instruction."""

    def __init__(self, machine: Machine, item: Instruction, op: str, order: str = "") -> None:
        address = next((operand for operand in item.operands if isinstance(operand, Address)), None)
        if address is None:
            raise InvalidPtx(f"{item.opcode} names no barrier")
        # The race checks need the manual's defaults spelled out.
        opcode = item.opcode if not order or _ORDERS & set(item.words) else f"{item.opcode}.{order}.cta"
        self.machine, self.item = machine, item
        self._get, offset = address_reader(machine, address, item.line)
        site = Site(machine.next_site(), item.line, opcode, op, item.space, _BYTES, 1, not order, request=NO_REQUEST)
        self._port = Port(machine, site, offset)

    def keys(self, registers: Registers, mask: Mask) -> Array:
        """Return int64 (height, width): the column of each lane combined with the byte offset of its barrier."""
        raw = self._get(registers)
        space, inside = self._port.space_of(as_signed(raw), mask)
        if space != "shared":
            raise PtxError(f"{self.item.opcode} names a place that is not in shared memory", self.item.line)
        at = self._port.offsets(raw, inside, mask, self.machine.words("shared"), "shared")
        made: Array = np.broadcast_to(at, (mask.height, mask.width)) + (mask.columns_at()[None, :] << _KEY_BITS)
        return made

    def report_use(self, registers: Registers, mask: Mask) -> None:
        """Report to the observers that these lanes use their barriers."""
        raw = self._get(registers)
        space, inside = self._port.space_of(as_signed(raw), mask)
        self._port.observe(space, inside, mask, None, (constant(0, "u64"),))

    def report_keys(self, keys: Array, mask: Mask) -> None:
        """Report the same by keys, when the registers are no longer available."""
        offset = self._port.offset
        self._port.observe("shared", (keys & ((1 << _KEY_BITS) - 1)) - offset, mask, None, (constant(0, "u64"),))

    def words(self, keys: Array) -> Array:
        """Return the words of some barriers, uint64."""
        at, column = keys & ((1 << _KEY_BITS) - 1), keys >> _KEY_BITS
        return self.machine.words("shared").load(at, _BYTES, (column,)).astype(np.uint64)

    def put(self, keys: Array, words: Array) -> None:
        """Store new words; each barrier occurs once."""
        at, column = keys & ((1 << _KEY_BITS) - 1), keys >> _KEY_BITS
        self.machine.words("shared").store(at, _BYTES, (column,), words)
        self.machine.resident.phases.changes += 1

    def change(self, lanes: BarrierLanes, mask: Mask, how: Change) -> Array | None:
        """Change the barriers that the lanes name; all must be initialised."""
        keys, which = np.unique(lanes.keys, return_inverse=True)
        words = self.words(keys)
        self.check(are_initialised(words)[which], lanes, mask, "that is not initialised")
        state = unpack_states(words)
        found = how(state, which, lanes)
        self.check((state.pending >= 0)[which], lanes, mask, "which expects no further arrival in this phase")
        state.complete()
        self.put(keys, state.packed())
        if np.any(state.ended):
            at, columns = keys & ((1 << _KEY_BITS) - 1), keys >> _KEY_BITS
            for hook in self.machine.hooks.on_phase_end:
                hook(at[state.ended > 0], columns[state.ended > 0])
        return found

    def check(self, good: Array, lanes: BarrierLanes, mask: Mask, flaw: str) -> None:
        """Raise RunFailed if a lane's barrier is not good."""
        if not good.all():
            lane = int(np.flatnonzero(~good)[0])
            row, column = int(lanes.rows[lane]), int(lanes.columns[lane])
            what = f"executes {self.item.opcode.split('::')[0]} on a barrier {flaw}"
            raise self.machine.lane_failure("crashed", self.item.line, mask, row, column, what)


def lanes_of(keys: Array, mask: Mask) -> BarrierLanes:
    """Return the active lanes of a mask, block by block."""
    active = np.ones(keys.shape, bool) if mask.dense is None else mask.dense
    columns, rows = np.nonzero(active.T)
    return BarrierLanes(rows, columns, keys[rows, columns])


# ---- in one step: lanes that name the same barrier count once


@executes(Traits("mbarrier.init", "av", writes=False, memory="store"))
def initialise(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that starts a first phase with the given number of arrivals."""
    place = BarrierAddress(machine, item, "st")
    count = reader(item.operands[1], "u32", machine.program.widths, item.line)

    def step(registers: Registers, mask: Mask) -> None:
        lanes = lanes_of(place.keys(registers, mask), mask)
        counts = lanes.of(count(registers), (mask.height, mask.width)).astype(np.int64)
        place.check(
            (counts > 0) & (counts <= MOST_ARRIVALS), lanes, mask, f"for 0 or more than {MOST_ARRIVALS:,} arrivals"
        )
        place.report_use(registers, mask)
        keys, first = np.unique(lanes.keys, return_index=True)
        none = np.zeros(keys.size, np.int64)
        place.put(keys, BarrierStates(counts[first], counts[first], none, none).packed())

    return step


@executes(Traits("mbarrier.inval", "a", writes=False, memory="store"))
def invalidate(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that removes a barrier."""
    place = BarrierAddress(machine, item, "st")

    def step(registers: Registers, mask: Mask) -> None:
        lanes = lanes_of(place.keys(registers, mask), mask)
        place.report_use(registers, mask)
        keys = np.unique(lanes.keys)
        place.put(keys, np.zeros(keys.size, np.uint64))

    return step


# ---- arrivals


@executes(
    Traits("mbarrier.arrive", "da?v", memory="atomic", varies=True, called="arrive()"),
    Traits("mbarrier.arrive_drop", "da?v", memory="atomic", varies=True, called="arrive_and_drop()"),
)
def arrive(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of an arrival, which yields the phase. With expect_tx the phase expects more bytes."""
    if "noComplete" in item.words:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    place = BarrierAddress(machine, item, "red", "release")
    widths, line = machine.program.widths, item.line
    expects, drops = "expect_tx" in item.words, item.words[1] == "arrive_drop"
    amount: Reader = _count(machine, item.operands[2] if len(item.operands) > 2 else Immediate(1), line)
    put = None if isinstance(item.operands[0], Sink) else writer(item.operands[0], "b64", widths, line)

    def step(registers: Registers, mask: Mask) -> None:
        shape = (mask.height, mask.width)
        lanes = lanes_of(place.keys(registers, mask), mask)
        place.report_use(registers, mask)
        amounts = lanes.of(amount(registers), shape).astype(np.int64)

        def change(state: BarrierStates, which: Array, lanes: BarrierLanes) -> Array:
            if expects:
                np.add.at(state.missing, which, amounts)
            counts = np.ones(which.size, np.int64) if expects else amounts
            if drops:
                np.subtract.at(state.expected, which, counts)
            return count_arrivals(state, which, counts)

        found = place.change(lanes, mask, change)
        if put is not None and found is not None:
            made = np.zeros(shape, np.uint64)
            made[lanes.rows, lanes.columns] = found
            put(registers, made)

    return step


@executes(
    Traits("mbarrier.expect_tx", "av", writes=False, memory="atomic"),
    Traits("mbarrier.complete_tx", "av", writes=False, memory="atomic"),
)
def count_bytes(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that raises or lowers the bytes that a phase expects."""
    place = BarrierAddress(machine, item, "red", "relaxed")
    sign = 1 if item.words[1] == "expect_tx" else -1
    amount = _count(machine, item.operands[1], item.line)

    def step(registers: Registers, mask: Mask) -> None:
        lanes = lanes_of(place.keys(registers, mask), mask)
        place.report_use(registers, mask)
        amounts = lanes.of(amount(registers), (mask.height, mask.width)).astype(np.int64)
        place.change(lanes, mask, lambda state, which, _: np.add.at(state.missing, which, sign * amounts))

    return step


def _count(machine: Machine, operand: Operand, line: int) -> Reader:
    return reader(operand, "u32", machine.program.widths, line)


@executes(Traits("mbarrier.pending_count", "dv"))
def count_pending(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that reads the pending arrivals from an arrival's result."""
    widths, line = machine.program.widths, item.line
    get, put = reader(item.operands[1], "b64", widths, line), writer(item.operands[0], "u32", widths, line)
    return lambda registers, mask: put(registers, pending_of(get(registers)))


# ---- waits


class PhaseGate:
    """The condition of test_wait and try_wait: the phase of each lane has ended."""

    def __init__(self, machine: Machine, item: Instruction) -> None:
        self.place = BarrierAddress(machine, item, "ld", "acquire")
        self._patient = not _is_last_wait(machine.program, item)
        widths, line = machine.program.widths, item.line
        by_parity = "parity" in item.words
        get = reader(item.operands[2], "u32" if by_parity else "b64", widths, line)
        one = np.uint32(1)

        def parity(registers: Registers) -> Array:
            value = get(registers)
            return (value & one).astype(np.int64) if by_parity else parity_of(value)

        self._parity = parity

    def passed(self, registers: Registers, mask: Mask) -> Array:
        """Return which phases have ended, bool (height, width). If waits may follow, arrivals in flight are completed
        one after the other until they have."""
        keys, shape = self.place.keys(registers, mask), (mask.height, mask.width)
        lanes = lanes_of(keys, mask)
        self.place.check(are_initialised(self.place.words(lanes.keys)), lanes, mask, "that is not initialised")
        awaited = lanes.of(self._parity(registers), shape)

        def ended() -> Array:
            made: Array = parity_of(self.place.words(lanes.keys)) != awaited
            return made

        if self._patient:
            self.place.machine.resident.phases.deliver(lambda: lanes.keys[~ended()])
        made = np.zeros(shape, bool)
        made[lanes.rows, lanes.columns] = ended()
        return made

    def lacking(self, registers: Registers, mask: Mask) -> str:
        """Return the missing arrivals or bytes of the first lane's phase, in words."""
        lanes = lanes_of(self.place.keys(registers, mask), mask)
        state = unpack_states(self.place.words(lanes.keys[:1]))
        pending, expected, missing = (int(each[0]) for each in (state.pending, state.expected, state.missing))
        if pending:
            return f"{expected - pending} of {expected} arrivals came"
        return (
            f"{missing} of the expected bytes are not copied"
            if missing
            else "the phase has ended, and so has the next one"
        )


@executes(*(Traits(f"mbarrier.{name}", "pav?v", memory="load", varies=True, waits=True)
            for name in ("test_wait", "try_wait")))  # fmt: skip
def wait(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that reads whether a phase has ended; a lane that sees the end is ordered after
    all arrivals."""
    gate = PhaseGate(machine, item)
    put = writer(item.operands[0], "pred", machine.program.widths, item.line)

    def step(registers: Registers, mask: Mask) -> None:
        passed = gate.passed(registers, mask)
        active = passed if mask.dense is None else passed & mask.dense
        if active.any():
            whole = mask.dense is None and active.all()
            gate.place.report_use(registers, mask if whole else Mask(mask.rows, mask.columns, active))
        put(registers, passed)

    return step


def phase_gate_of(machine: Machine, item: Instruction) -> PhaseGate | None:
    """Return the gate of a waiting instruction; None for others, and for a wait that no other follows."""
    return PhaseGate(machine, item) if _waits(item) and not _is_last_wait(machine.program, item) else None


def _waits(item: Instruction) -> bool:
    return item.words[0] == "mbarrier" and item.words[1] in ("test_wait", "try_wait")


def _is_last_wait(program: Program, item: Instruction) -> bool:
    """Return whether no path leads from a wait to it again or to another one. A called function has no such wait: its
    caller may repeat it."""
    first = [block.body[0] if block.body else None for block in program.blocks]
    here = next((number for number, each in enumerate(first) if each is item), None)
    if program.callees or here is None:
        return False
    after = [block.successors for block in program.blocks]
    ahead = {place for start in after[here] for place in numbers_of(reached_blocks(after, start))}
    return not any((each := first[place]) is not None and _waits(each) for place in ahead)
