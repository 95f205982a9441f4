"""Execute a launch chunk by chunk: as many blocks at a time as fit, in the order of blocks.

Lanes at one place of the program form a group. The group with the smallest program counter runs one basic block; groups
that reach the same place become one. Lanes at a barrier wait for all living lanes of their block. Lanes at a gate (a
wait for an mbarrier phase) wait until the phase ends or no other lane can run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from engine.backends.emulator.ptx.dataflow import blocks_behind, in_other_branches
from engine.backends.emulator.ptx.program import BasicBlock, Program, polls
from engine.backends.emulator.ptx.traits import check_barrier_value
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import fetch, put_back
from engine.backends.emulator.running.calling import enter_function, leave_function
from engine.backends.emulator.running.code import Code, Codes
from engine.backends.emulator.running.lanes import Key, Lanes, Waiting
from engine.backends.emulator.running.loops import LoopWatch
from engine.backends.emulator.state.machine import EXPECTED_ERRORS, EmulatorFault, Machine
from engine.catalogue.gpu_models import GPU, MULTIPROCESSORS
from engine.compile.names import readable
from engine.records import Array, Progress, RunFailed

_PATIENCE = 64  # futile attempts before the run ends: the program may change course after some


class Gates:
    """The gates of a chunk. `shut`: the places where lanes are parked at a gate."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.shut: set[int] = set()
        self._seen = self._vain = 0

    def admit(self, code: Code, place: int, mask: Mask) -> Mask | None:
        """Return the lanes that need not wait, and park the others."""
        assert code.gate is not None
        lanes = self._lanes
        lanes.registers = lanes.frames.of(place).registers
        parked = lanes.parked.pop(place, None)
        if parked is not None:
            mask = lanes.masks.union(parked, mask)
        on, waiting = lanes.masks.split(mask, code.gate.passed(lanes.inside(code, mask), mask))
        self.shut.discard(place)
        if waiting is not None:
            lanes.parked[place] = waiting
            self.shut.add(place)
        return on

    def may_open(self) -> bool:
        """Return whether a barrier has changed since the last call."""
        changes, before = self._lanes.machine.resident.phases.changes, self._seen
        self._seen = changes
        return changes != before

    def opened(self) -> Iterator[tuple[int, Mask]]:
        """Yield the waiting lanes, to test their gates again."""
        self._vain = 0
        for place in sorted(self.shut):
            yield place, self._lanes.parked.pop(place)
        self.shut.clear()

    def pass_anyway(self, code: Code, place: int, mask: Mask) -> None:
        """Let lanes pass without their condition, as no other lane can run. RunFailed after too many attempts."""
        assert code.gate is not None
        self.shut.discard(place)
        self._vain += 1
        if self._vain > _PATIENCE:
            lanes, item = self._lanes, code.block.body[0]
            lanes.registers = lanes.frames.of(place).registers
            lacking = code.gate.lacking(lanes.inside(code, mask), mask)
            clause = f"{lanes.name(mask)} waits for a barrier phase that never ends: {lacking}"
            raise lanes.machine.failure("deadlock", clause, item.line, "divergent-barrier")


_ASSIGNS = r"(?:<<|>>|[-+*/%&|^])?=(?!=)"
_CONSTANT = re.compile(r"\b__constant__\s+[^;=(){}]*?(\w+)\s*(?:\[[^;=]*\]\s*)?[;=]")
_ATOMIC = re.compile(r"\batomic\w+\s*\(\s*&?\s*(\w+)")
_ELSEWHERE = re.compile(r"__(?:shared|device|managed|constant)__|\b(?:return|extern)\b")


def trap_failure(machine: Machine, line: int) -> RunFailed:
    """Return the failure of a trap; `line`: 0 if unknown."""
    text = machine.source.text if machine.source and not line else ""
    if stored := constant_store(text):
        line, name = stored
        clause = (
            f"a kernel cannot write to `{name}`, which is __constant__; host code sets it with cudaMemcpyToSymbol, and "
            "a variable that kernels write is __device__"
        )
    elif found := local_atomic(text):
        line, name = found
        clause = (
            f"an atomic cannot be used on the local variable `{name}`: each thread has its own copy, which no other "
            "thread can access; use shared or global memory, or add without an atomic"
        )
    else:
        uses_grid = any("%envreg" in str(item) for block in machine.program.blocks for item in block.body)
        hint = "; grid.sync() needs a cooperative launch" if uses_grid and not machine.cooperative else ""
        clause = f"the kernel stops itself here (trap){hint}"
    return machine.failure("crashed", clause, line)


def constant_store(text: str) -> tuple[int, str] | None:
    """Return (line, name) of the first store to a variable that the .cu text declares as `__constant__`.

    The compiler turns it and the code after it into a trap without a line.
    """
    for name in _CONSTANT.findall(text):
        element = rf"(?<![\w.>]){name}\b(?:\s*\[[^;=]*\]|\.\w+)*"
        stores = re.compile(rf"(?:\+\+|--)\s*{element}|{element}\s*(?:{_ASSIGNS}|\+\+|--)")
        for found in stores.finditer(text):
            if "__constant__" not in text[text.rfind(";", 0, found.start()) + 1 : found.start()]:
                return text.count("\n", 0, found.start()) + 1, name
    return None


def local_atomic(text: str) -> tuple[int, str] | None:
    """Return (line, name) of the first atomic on a variable that the .cu text declares as local.

    The compiler turns the code after such an atomic into a trap without a line.
    """
    for call in _ATOMIC.finditer(text):
        name = call[1]
        declared = re.compile(rf"^[ \t]*(?:[\w:]+[ \t]+)+{name}\s*(?:\[[^;]*|=[^;]*|\{{[^;]*)?;", re.MULTILINE)
        found = [match[0] for match in declared.finditer(text) if not re.match(r"\s*\w+\s*\(", match[0])]
        if found and not any(_ELSEWHERE.search(declaration) for declaration in found):
            return text.count("\n", 0, call.start()) + 1, name
    return None


_MANY_LANES = 256  # that repeat a compare-and-swap together
_HELD_BACK = 1 << 20  # added to the crew of lanes that wait for others to repeat theirs
_HALF, _LOW_HALF = 32, (1 << 32) - 1  # bits of an operand
_CHECKED_STEPS = 128  # basic blocks between two checks of the clock


class Chunk:
    """The execution of a machine's resident blocks."""

    def __init__(self, machine: Machine, codes: Codes) -> None:
        self.machine, self.codes = machine, codes
        self.lanes = Lanes(machine)
        self.watch = LoopWatch(self.lanes)
        self.gates = Gates(self.lanes)
        self.steps = 0
        self.hooks = machine.hooks
        self.calls = bool(machine.program.callees)

    def close(self) -> None:
        """Release the registers now: the traceback of a failure would keep them."""
        self.lanes.close()

    def run(self) -> None:
        """Run until every lane has ended."""
        lanes, groups, watch, stores = self.lanes, self.lanes.groups, self.watch, self.machine.resident.stores
        self._resume_converged(0, [lanes.masks.start])
        while groups or self._unblock():
            if not groups:
                continue
            key = self._next()
            code, mask = self.codes.at(key[0]), groups.pop(key)
            if stores is not None:
                stores.step(code.block, watch.settles)
            if code.members is not None:
                lanes.registers = lanes.frames.of(key[0]).registers
                ready = lanes.converged(code, key[0], mask)
                if ready is None:
                    self._meet(key[0])
                    continue
                mask = ready
            if code.gate is not None:
                ready = self.gates.admit(code, key[0], mask)
                if ready is None:
                    continue
                mask = ready
            if watch.watching and watch.stalls(key, mask):
                groups.add(key, mask)
                continue
            if lanes.parked:
                self._pass_by(code, mask)
            self._execute(code, key, mask)
            self._count_step(code)
            if self.gates.shut and self.gates.may_open():
                self._open_gates()
        self.machine.drain()
        if lanes.barriers.entries():
            self._deadlock()

    def _next(self) -> Key:
        groups, crews = self.lanes.groups, self.lanes.crews
        if len(groups) == 1:
            return next(iter(groups))
        detour = self.watch.detour()
        if detour is not None:
            return detour
        if crews is None:
            return min(groups)
        return crews.choose([key for key in groups if key[1] < _HELD_BACK] or list(groups))

    def _execute(self, code: Code, key: Key, mask: Mask) -> None:
        lanes, step = self.lanes, None
        frame = lanes.frames.of(key[0]) if self.calls else lanes.frames.kernel
        lanes.registers = self.machine.registers = frame.registers
        registers = lanes.registers if mask.whole else lanes.scratch
        try:
            for hook in self.hooks.on_basic_block:
                hook(code.block, mask)
            if not mask.whole:
                fetch(code.used, lanes.registers, registers, mask)
            for step in code.steps:
                step(registers, mask)
            decided = code.decide(registers) if code.decide else None
            self.machine.tick(code.issued)
            if mask.whole:
                zeros = self.machine.zeros
                for index in code.dropped:
                    registers[index] = zeros[index]
            elif code.kept:
                put_back(code.kept, lanes.registers, registers, mask, lanes.live(frame))
            self._leave(code, key, mask, decided)
            if lanes.crews is not None and lanes.crews.turns is not None:
                again = (key[0] - code.block.index + code.block.successors[0], key[1]) if code.polls else None
                lanes.crews.turns.note(again if again and again in lanes.groups else None, code.flag)
        except EXPECTED_ERRORS:
            raise
        except Exception as error:
            raise EmulatorFault(code.line_of(step)) from error

    def _count_step(self, code: Code) -> None:
        """Count a basic block; at intervals check the limits of time and steps."""
        self.steps += 1
        if self.steps % _CHECKED_STEPS:
            return
        machine = self.machine
        self.watch.check(self.steps)
        if machine.late():
            after = f"{machine.options.seconds:g} s"
            clause = (
                f"the emulator was stopped after {after} while this line was running: its loop may never end, or the "
                "launch is too large for the emulator"
            )
            raise machine.failure("timeout", clause, code.block.line)
        if self.steps >= machine.options.step_limit:
            clause = f"the loop here did not end within {self.steps} steps of the emulator"
            raise machine.failure("timeout", clause, code.block.line, "step-limit")

    # ---- leaving a block

    def _leave(self, code: Code, key: Key, mask: Mask, decided: Any) -> None:
        block, lanes = code.block, self.lanes
        here = key[0] - block.index  # negative in a call
        if code.kind == "branch":
            taken, other = lanes.masks.split(mask, decided)
            if code.counted:
                for hook in self.hooks.on_branch:
                    hook(block, taken, other)
            crew = key[1] % _HELD_BACK
            if taken is not None and code.swaps:
                taken = self._hold_back(taken, other, (here + block.successors[0], crew))
            for place, part in zip(block.successors, (taken, other), strict=True):
                if part is not None and code.members is not None:
                    self._resume_converged(here + place, [part])
                elif part is not None:
                    lanes.groups.add((here + place, crew), part)
            if code.polls and taken is mask:
                self.watch.turn(here + block.successors[0], mask)
        elif code.kind in ("fall", "jump"):
            if code.members is not None:
                self._resume_converged(here + block.successors[0], [mask])
            else:
                lanes.groups.add((here + block.successors[0], key[1]), mask)
            if code.polls:
                self.watch.turn(here + block.successors[0], mask)
        elif code.kind == "barrier":
            self._arrive(code, here + block.successors[0], mask, decided)
        elif code.kind == "switch":
            self._switch(block, key, mask, decided)
        elif code.kind == "call":
            assert block.terminator is not None
            enter_function(lanes, block.terminator, key, here + block.successors[0], mask)
        elif code.kind == "return":
            leave_function(lanes, key, mask, decided)
        elif code.kind == "trap":
            raise trap_failure(self.machine, block.line)
        else:
            self._end(mask)

    def _hold_back(self, failed: Mask, passed: Mask | None, key: Key) -> Mask:
        """Return the lanes that repeat a compare-and-swap at once. If a few of many lanes have succeeded, the lanes of
        later blocks wait until these are through: all together would need as many turns, with more lanes each."""
        if passed is None or failed.lanes < _MANY_LANES or passed.lanes * _MANY_LANES > failed.lanes:
            return failed  # if none has succeeded, perhaps none ever will
        masks = self.lanes.masks
        columns = np.zeros(masks.shape[1], bool)
        columns[failed.columns_at()[: max(1, _MANY_LANES // masks.shape[0])]] = True
        now = masks.common(failed, masks.rectangle(masks.all_rows, columns))
        later = None if now is None else masks.minus(failed, now)
        if now is None or later is None:
            return failed
        self.lanes.groups.add((key[0], key[1] + _HELD_BACK), later)
        return now

    def _switch(self, block: BasicBlock, key: Key, mask: Mask, index: Array) -> None:
        left: Mask | None = mask
        masks = self.lanes.masks
        for number, place in enumerate(block.successors):
            if left is None:
                return
            full = np.zeros(masks.shape, bool)
            full[np.ix_(mask.rows, mask.columns)] = index == number
            full &= left.full_dense()
            part = masks.from_dense(masks.all_rows, masks.all_columns, full)
            if part is not None:
                self.lanes.groups.add((key[0] - block.index + place, key[1]), part)
                left = masks.minus(left, part)

    def _end(self, mask: Mask) -> None:
        for hook in self.hooks.on_exit:
            hook(mask)
        self.lanes.end(mask)
        if self.lanes.barriers:
            self._go_on(self.lanes.barriers.release_any(self.lanes.alive))
        for place in self.lanes.parked.keys() - self.gates.shut:  # nobody waits for lanes that have ended
            self.lanes.groups.add((place, 0), self.lanes.parked.pop(place))

    # ---- where lanes converge

    def _resume_converged(self, place: int, masks: list[Mask]) -> None:
        """Let converged lanes continue at `place`; under "independent" they split into crews again."""
        lanes = self.lanes
        if lanes.crews is None:
            for mask in masks:
                lanes.groups.add((place, 0), mask)
            return
        if self.watch.watching and lanes.alive and sum(mask.lanes for mask in masks) == lanes.alive.lanes:
            self.watch.note_convergence(place, lanes.alive)
        for mask in masks:
            for number, (rows, columns) in enumerate(lanes.crews.deal()):
                columns = lanes.masks.all_columns if columns is None else columns
                part = lanes.masks.common(mask, lanes.masks.rectangle(rows, columns))
                if part is not None:
                    lanes.groups.add((place, number), part)

    def _arrive(self, code: Code, place: int, mask: Mask, vote: Array | None) -> None:
        """Let lanes arrive at a barrier, to continue at `place`."""
        item, lanes = code.block.terminator, self.lanes
        self.machine.drain()
        self._end_leavers()
        assert item is not None and lanes.alive is not None
        for hook in self.hooks.on_barrier:
            hook(code.block, mask, lanes.alive)
        if vote is not None:
            self.machine.resident.votes.cast(mask, np.broadcast_to(vote, (mask.height, mask.width)))
        stays = "arrive" not in item.words
        gone: list[Waiting] = []
        for number, count, part in self._parts(code, mask):
            for part_hook in () if count is None else self.hooks.on_part_arrives:
                part_hook(number, part)
            entry = Waiting(part, place, number, count, item.line, stays)
            other = lanes.barriers.contradicted(entry)
            if other is not None:
                clause = (
                    f"{lanes.name(part)} comes to barrier {number} for {count} threads, but line {other.line} uses "
                    f"the same barrier for {other.count}"
                )
                raise self.machine.failure("deadlock", clause, item.line, "divergent-barrier")
            gone += lanes.barriers.arrive(entry, lanes.alive)
            if count is not None:  # the next warp may belong to the next phase
                self._go_on(gone)
                gone = []
        self._go_on(gone)
        if not stays:
            self._resume_converged(place, [mask])

    def _parts(self, code: Code, mask: Mask) -> list[tuple[int, int | None, Mask]]:
        """Return the lanes that arrive at a barrier by its number and thread count, warp by warp if more come than it
        counts."""
        item, lanes = code.block.terminator, self.lanes
        registers = lanes.registers if mask.whole else lanes.scratch
        values = [read(registers) for read in code.numbers]
        assert item is not None
        parts: list[tuple[int, int | None, Mask]] = []
        if not values:
            parts = [(0, None, mask)]
        elif len(values) == 1:
            parts = [(number, None, part) for number, part in lanes.by_value(values[0], mask)]
        else:
            both = values[0].astype(np.int64) << _HALF | values[1]
            for pair, part in lanes.by_value(both, mask):
                number, threads = pair >> _HALF, pair & _LOW_HALF
                apart = lanes.barriers.overfilled(number, threads, part)
                parts += [(number, threads, one) for one in (lanes.masks.warps(part) if apart else (part,))]
        for number, count, _ in parts:
            check_barrier_value(item, "number", number & _LOW_HALF)
            check_barrier_value(item, "count", count or 0)
        return parts

    def _end_leavers(self) -> None:
        """End lanes that have only jumps and the exit left, before others wait for them at a barrier."""
        groups = self.lanes.groups
        while leaving := [key for key in groups if self._only_leaves(key[0])]:
            for key in leaving:
                self._execute(self.codes.at(key[0]), key, groups.pop(key))

    def _only_leaves(self, place: int) -> bool:
        """Return whether nothing but jumps stands between a place and the exit."""
        code, passed = self.codes.at(place), set[int]()
        while code.kind in ("fall", "jump") and not code.steps and code.block.index not in passed:
            passed.add(code.block.index)
            code = self.codes.at(code.block.successors[0])
        return code.kind == "exit" and not code.steps

    def _go_on(self, entries: list[Waiting]) -> None:
        """Let lanes continue after a barrier; the observers see all releases before any lane runs."""
        for entry in entries:
            for hook in self.hooks.on_release if entry.count is None else ():
                hook(entry.mask)
            for part_hook in () if entry.count is None else self.hooks.on_part_released:
                part_hook(entry.number, entry.mask)
        for place, there in groupby(entries, lambda entry: entry.place):
            self._resume_converged(place, [entry.mask for entry in there])

    # ---- when no lane can run

    def _open_gates(self) -> None:
        """Let waiting lanes test their gates again."""
        for place, mask in self.gates.opened():
            self._resume_converged(place, [mask])

    def _pass_by(self, code: Code, mask: Mask) -> None:
        """Report the parked lanes that name lanes which are about to change memory behind that place."""
        if not self.hooks.on_incomplete:
            return
        program = self.machine.program
        for place in self.lanes.parked.keys() - self.gates.shut:
            block = program.block_at(place)
            if code.block.index in blocks_behind(program, block.index):
                left_alone = self.lanes.passed_by(self.codes.at(place), place, mask)
                if left_alone is not None:
                    for hook in self.hooks.on_incomplete:
                        hook(block.body[0].line, block.body[0].opcode, left_alone)

    def _meet(self, place: int) -> None:
        """Let lanes continue that wait for each other at a __syncwarp() and at those of other branches: since Volta
        each lane may execute another one. Where all lanes come to one of them later, it is none of another branch."""
        lanes, own = self.lanes, self.codes.at(place)
        if len(lanes.parked) < 2 or not own.syncs:
            return
        program = self.machine.program
        codes = {
            other: code
            for other, code in ((other, self.codes.at(other)) for other in sorted(lanes.parked))
            if code is own or (code.syncs and in_other_branches(program, own.block.index, code.block.index))
        }
        met = lanes.meeting(codes) if len(codes) > 1 else None
        if met is None:
            return
        item = own.block.body[0]
        for hook in self.hooks.on_warp_meeting:
            hook(item.line, item.opcode, *met)
        for place, code in codes.items():
            waiting = lanes.parked.pop(place, None)  # they run already if all others have ended
            part = waiting and lanes.masks.common(waiting, met[0])
            rest = waiting and lanes.masks.minus(waiting, met[0])
            if rest is not None:
                lanes.parked[place] = rest
            if part is not None:
                self._execute(code, (place, 0), part)
                self._count_step(code)

    def _unblock(self) -> bool:
        """Let lanes continue without the lanes they name; False if no lane is left that could."""
        lanes = self.lanes
        if not lanes.parked:
            return False
        if self.gates.shut and self.gates.may_open():
            self._open_gates()
            return True
        place = min(lanes.parked, key=lambda place: (place in self.gates.shut, place))
        mask, code = lanes.parked.pop(place), self.codes.at(place)
        if code.gate is not None:
            self.gates.pass_anyway(code, place, mask)
        else:
            for hook in self.hooks.on_incomplete:
                hook(code.block.body[0].line, code.block.body[0].opcode, mask)
        self._execute(code, (place, 0), mask)
        self._count_step(code)
        return True

    def _deadlock(self) -> None:
        entries = self.lanes.barriers.entries()
        lines = sorted({entry.line for entry in entries})
        name = self.lanes.name(entries[0].mask)
        where = " and ".join(f"line {line}" for line in lines)
        clause = f"{name} waits at the barrier of {where} for threads that never come there"
        raise self.machine.failure("deadlock", clause, lines[0], "divergent-barrier")


LANES_PER_CHUNK = 1 << 17
_RESIDENT_LANES = MULTIPROCESSORS * GPU.threads  # blocks may wait for any blocks that the GPU holds at the same time
_SHARED_BYTES_PER_CHUNK = 1 << 26
_LOCAL_BYTES_PER_CHUNK = 1 << 28
_STATIC_SHARED = 48 << 10  # bytes that a block may declare
_MOST_SHARED = 227 << 10  # bytes of a block in total, on sm_90
_MOST_LOCAL = 512 << 10
_MOST_CONSTANT = 64 << 10  # bytes of all variables of a file


def run(machine: Machine, progress: Progress | None = None) -> None:
    """Execute all blocks of a launch. RunFailed or PtxError if it fails."""
    _check_memory_limits(machine)
    codes = Codes(machine)
    begun = 0  # blocks
    with np.errstate(all="ignore"):
        for first, count in _chunks(machine):
            if (begun or machine.launch) and machine.late():  # a chunk itself may be too short to look at the clock
                clause = f"the emulator was stopped after {machine.options.seconds:g} s and {begun:,} of "
                clause += f"{machine.blocks:,} blocks of {readable(machine.program.name)}; choose fewer of them"
                raise machine.failure("timeout", clause, 0)
            begun += count
            resident = machine.admit(first, count)
            for started in machine.hooks.on_chunk:
                started(resident.info)
            chunk = Chunk(machine, codes)
            try:
                chunk.run()
            finally:
                chunk.close()
            for ended in machine.hooks.on_chunk_end:
                ended()
            if progress is not None:
                done = first + count
                progress(done / machine.blocks, f"{readable(machine.program.name)}: {done} of {machine.blocks} blocks")


def _check_memory_limits(machine: Machine) -> None:
    """Refuse sizes that no GPU runs."""
    name, shared, local = readable(machine.program.name), machine.shared_size, machine.local_size
    static = shared - machine.dynamic_shared
    if static > _STATIC_SHARED or shared > _MOST_SHARED:
        size, limit = (static, _STATIC_SHARED) if static > _STATIC_SHARED else (shared, _MOST_SHARED)
        clause = f"{name} uses {size:,} bytes of shared memory; a block can have {limit:,}"
        raise machine.failure("crashed", clause, 0)
    constant = sum(variable.size for variable in machine.program.constants.values() if variable.space == "const")
    if constant > _MOST_CONSTANT:
        clause = f"the file has {constant:,} bytes of __constant__ memory; {_MOST_CONSTANT:,} are possible"
        raise machine.failure("crashed", clause, 0)
    if local > _MOST_LOCAL:
        clause = f"{name} uses {local:,} bytes of local memory; a thread can have {_MOST_LOCAL:,}"
        raise machine.failure("crashed", clause, 0)


def _chunks(machine: Machine) -> Iterator[tuple[int, int]]:
    """Yield (first block, number of blocks). The last block of a row may be partial and gets its own chunk; it runs
    last in lockstep, and first under "independent"."""
    blocks, schedule = machine.blocks, machine.schedule
    if machine.cooperative:
        yield 0, blocks
        return
    if schedule.kind == "waves" and schedule.blocks_per_wave:
        size = schedule.blocks_per_wave
        yield from ((first, min(size, blocks - first)) for first in range(0, blocks, size))
        return
    waiting = any(polls(machine.program, block) for block in machine.program.blocks)
    lanes = machine.options.lanes or (_RESIDENT_LANES if waiting else _lanes_for(machine.program))
    size = max(1, lanes // machine.rows)
    size = min(size, max(1, _SHARED_BYTES_PER_CHUNK // max(1, machine.shared_size)))
    size = min(size, max(1, _LOCAL_BYTES_PER_CHUNK // max(1, machine.local_size * machine.rows)))
    # In a grid of rows and columns a whole side may be partial; blocks that wait for each other stay together.
    apart = blocks == machine.grid[0] > 1 and not waiting
    whole = blocks - apart
    found = [*((first, min(size, whole - first)) for first in range(0, whole, size)), *([(whole, 1)] if apart else [])]
    yield from reversed(found) if schedule.kind == "independent" and not waiting else found


def _lanes_for(program: Program) -> int:
    """Return the lanes per chunk: fewer for double precision, whose registers would leave the cache, and for recursion,
    with registers per call."""
    if program.deepest is None:
        return LANES_PER_CHUNK >> 4
    items = [item.opcode for block in program.blocks for item in block.body]
    doubles = sum(opcode.endswith(".f64") for opcode in items)
    return LANES_PER_CHUNK >> 2 if doubles > 40 and doubles > len(items) / 3 else LANES_PER_CHUNK
