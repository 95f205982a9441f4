"""Blocks of a launch that run together, and who of their lanes runs next.

Lanes that stand at one place of the program form a group. The group with the smallest program counter runs one basic
block; groups that meet become one. Lanes at a barrier wait until all living lanes of their block have come.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.parts import fetch, put_back
from engine.backends.emulator.running.barriers import Waiting
from engine.backends.emulator.running.calling import call, give_back
from engine.backends.emulator.running.code import Code, Codes
from engine.backends.emulator.running.endless.loops import Watch
from engine.backends.emulator.running.gates import Gates
from engine.backends.emulator.running.groups import Key
from engine.backends.emulator.running.lanes import Lanes
from engine.backends.emulator.running.traps import trapped
from engine.backends.emulator.state.faults import FORESEEN, EmulatorFault
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_CHECKED_STEPS = 128  # basic blocks between two looks at the clock


class Chunk:
    """The resident blocks of a machine while they run."""

    def __init__(self, machine: Machine, codes: Codes) -> None:
        self.machine, self.codes = machine, codes
        self.lanes = Lanes(machine)
        self.watch = Watch(self.lanes)
        self.gates = Gates(self.lanes)
        self.steps = 0
        self.hooks = machine.hooks
        self.calls = bool(machine.program.callees)

    def close(self) -> None:
        """Let the registers go now: the traceback of a failure would keep them."""
        self.lanes.close()

    def run(self) -> None:
        """Until every lane has ended."""
        lanes, groups, watch = self.lanes, self.lanes.groups, self.watch
        self._meet(0, [lanes.masks.start])
        while groups or self._unblock():
            if not groups:
                continue
            key = self._next()
            code, mask = self.codes.at(key[0]), groups.pop(key)
            if code.members is not None:
                lanes.registers = lanes.frames.of(key[0]).registers
                ready = lanes.met(code, key[0], mask)
                if ready is None:
                    continue
                mask = ready
            if code.gate is not None:
                ready = self.gates.let_on(code, key[0], mask)
                if ready is None:
                    continue
                mask = ready
            if watch.watching and watch.look(key, mask):
                groups.add(key, mask)
                continue
            self._execute(code, key, mask)
            self._count_step(code)
            if self.gates.shut and self.gates.may_open():
                self._open_gates()
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
        crew = min(key[1] for key in groups)
        if crews.switch():
            crew = max(key[1] for key in groups)
        return min(key for key in groups if key[1] == crew)

    def _execute(self, code: Code, key: Key, mask: Mask) -> None:
        lanes, step = self.lanes, None
        frame = lanes.frames.of(key[0]) if self.calls else lanes.frames.kernel
        lanes.registers = frame.registers
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
        except FORESEEN:
            raise
        except Exception as error:
            raise EmulatorFault(code.line_of(step)) from error

    def _count_step(self, code: Code) -> None:
        """One more basic block is done; now and then, is there time for another?"""
        self.steps += 1
        if self.steps % _CHECKED_STEPS:
            return
        machine = self.machine
        self.watch.check(self.steps)
        if machine.late():
            after = f"{machine.options.seconds:g} s"
            clause = f"the emulator was stopped after {after} while this line was running; choose a smaller N"
            raise machine.failure("timeout", clause, code.block.line)
        if self.steps >= machine.options.step_limit:
            clause = f"the loop here did not end within {self.steps} steps of the emulator"
            raise machine.failure("timeout", clause, code.block.line, "step-limit")

    # ---- leaving a block

    def _leave(self, code: Code, key: Key, mask: Mask, decided: Any) -> None:
        block, lanes = code.block, self.lanes
        here = key[0] - block.index  # less than zero in a call
        if code.kind == "branch":
            taken, other = lanes.masks.split(mask, decided)
            if code.counted:
                for hook in self.hooks.on_branch:
                    hook(block, taken, other)
            if taken is not None:
                lanes.groups.add((here + block.successors[0], key[1]), taken)
            if other is not None:
                lanes.groups.add((here + block.successors[1], key[1]), other)
            if code.polls and taken is mask:
                self.watch.turn(here + block.successors[0], mask)
        elif code.kind in ("fall", "jump"):
            if code.members is not None:
                self._meet(here + block.successors[0], [mask])
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
            call(lanes, block.terminator, key, here + block.successors[0], mask)
        elif code.kind == "return":
            give_back(lanes, key, mask, decided)
        elif code.kind == "trap":
            raise trapped(self.machine, block.line)
        else:
            self._end(mask)

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

    # ---- where lanes meet

    def _meet(self, place: int, masks: list[Mask]) -> None:
        """Lanes go on at `place` after a point where they met: under "independent" they part again."""
        lanes = self.lanes
        if lanes.crews is None:
            for mask in masks:
                lanes.groups.add((place, 0), mask)
            return
        if self.watch.watching and lanes.alive and sum(mask.lanes for mask in masks) == lanes.alive.lanes:
            self.watch.all_met(place, lanes.alive)
        for mask in masks:
            for number, crew in enumerate(lanes.crews.deal()):
                part = lanes.masks.common(mask, lanes.masks.rectangle(crew, lanes.masks.all_columns))
                if part is not None:
                    lanes.groups.add((place, number), part)

    def _arrive(self, code: Code, place: int, mask: Mask, vote: Array | None) -> None:
        """Lanes come to a barrier, to go on at `place`."""
        item, lanes = code.block.terminator, self.lanes
        self._end_leavers()
        assert item is not None and lanes.alive is not None
        for hook in self.hooks.on_barrier:
            hook(item.line, mask, lanes.alive)
        registers = lanes.registers if mask.whole else lanes.scratch
        numbers, counts, *_ = *(read(registers) for read in code.numbers), None, None
        if vote is not None:
            self.machine.resident.votes.cast(mask, np.broadcast_to(vote, (mask.height, mask.width)))
        count = None if counts is None else int(counts.flat[0])
        stays = "arrive" not in item.words
        if count is not None:
            for hook in self.hooks.on_part_arrives:
                hook(mask)
        gone: list[Waiting] = []
        for number, part in [(0, mask)] if numbers is None else lanes.by_value(numbers, mask):
            entry = Waiting(part, place, count, item.line, stays)
            other = lanes.barriers.contradicted(number, entry)
            if other is not None:
                clause = (
                    f"{lanes.name(part)} comes to barrier {number} for {count} threads, but at line {other.line} the "
                    f"same barrier is for {other.count}"
                )
                raise self.machine.failure("deadlock", clause, item.line, "divergent-barrier")
            gone += lanes.barriers.arrive(number, entry, lanes.alive)
        self._go_on(gone)
        if not stays:
            self._meet(place, [mask])

    def _end_leavers(self) -> None:
        """Lanes that have nothing left to do but to end do so before others wait for them at a barrier."""
        for key in list(self.lanes.groups):
            code = self.codes.at(key[0])
            if code.kind == "exit" and not code.steps:
                self._execute(code, key, self.lanes.groups.pop(key))

    def _go_on(self, entries: list[Waiting]) -> None:
        """Lanes that a barrier let go run again; the observers hear of all before any of them runs."""
        for entry in entries:
            for hook in self.hooks.on_release if entry.count is None else self.hooks.on_part_released:
                hook(entry.mask)
        for place, there in groupby(entries, lambda entry: entry.place):
            self._meet(place, [entry.mask for entry in there])

    # ---- when nobody can run

    def _open_gates(self) -> None:
        """What lanes wait for may have come: they look again."""
        for place, mask in self.gates.opened():
            self._meet(place, [mask])

    def _unblock(self) -> bool:
        """Let lanes go on though others that they name never came; False when nobody is left who can."""
        lanes = self.lanes
        if not lanes.parked:
            return False
        if self.gates.shut and self.gates.may_open():
            self._open_gates()
            return True
        place = min(lanes.parked, key=lambda place: (place in self.gates.shut, place))
        mask, code = lanes.parked.pop(place), self.codes.at(place)
        if code.gate is not None:
            self.gates.give_up(code, place, mask)
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
