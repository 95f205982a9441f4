"""Blocks of a launch that run together, and who of their lanes runs next.

Lanes that stand at one place of the program form a group. The group with the smallest program counter runs one basic
block; groups that meet become one. Lanes at a barrier wait until all living lanes of their block have come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.syntax import Immediate, Register
from engine.backends.emulator.registers.masks import WARP, Mask, Masks
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.registers.parts import expanded, fetch, put_back
from engine.backends.emulator.registers.values import Part, restrict
from engine.backends.emulator.running.barriers import Barriers, Waiting
from engine.backends.emulator.running.code import Code, compile_block
from engine.backends.emulator.running.endless.loops import Spinning
from engine.backends.emulator.running.groups import Groups, Key
from engine.backends.emulator.state.schedule import Crews
from engine.records import Array

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

_CHECKED_STEPS = 128  # basic blocks between two looks at the clock


class Chunk:
    """The running state of some blocks."""

    def __init__(self, machine: Machine, blocks: int) -> None:
        self.machine = machine
        self.masks = Masks(machine.threads, machine.rows, blocks)
        self.registers: Registers = list(machine.zeros)
        self.scratch: Registers = list(machine.zeros)
        self.alive: Mask | None = self.masks.start
        self.groups = Groups(self.masks)
        self.barriers = Barriers(self.masks)
        self.parked: dict[int, Mask] = {}
        self.crews = Crews(machine.schedule, machine.rows) if machine.schedule.kind == "independent" else None
        self.spinning = Spinning(self)
        self.steps = 0
        self._whole: dict[tuple[int, int], tuple[bool, Mask, Mask]] = {}
        self.hooks = machine.hooks

    def close(self) -> None:
        """Let the registers go now: the chunk and its parts refer to each other and would linger."""
        self.registers.clear()
        self.scratch.clear()
        self.spinning.close()

    # ---- the loop

    def run(self) -> None:
        """Until every lane has ended."""
        self.meet(0, self.masks.start)
        groups, code_at, spinning = self.groups, self.machine.code, self.spinning
        while True:
            if not groups:
                if self._unblock():
                    continue
                if self.barriers:
                    self._deadlock()
                return
            key = self._next()
            mask = groups.pop(key)
            code = code_at[key[0]] or compile_block(self.machine, key[0])
            if code.members is not None:
                ready = self._gathered(code, key[0], mask)
                if ready is None:
                    continue
                mask = ready
            if spinning.watching and spinning.look(key, mask):
                groups.add(key, mask)
                continue
            self._execute(code, key, mask)
            self._count_step(code)

    def meet(self, place: int, mask: Mask) -> None:
        """Lanes go on at `place` after a point where all met: under "independent" they part again."""
        if self.crews is None:
            self.groups.add((place, 0), mask)
            return
        if self.spinning.watching:
            self.spinning.met(place, mask)
        for number, crew in enumerate(self.crews.deal()):
            part = self.masks.common(mask, self.masks.rectangle(crew, self.masks.all_columns))
            if part is not None:
                self.groups.add((place, number), part)

    def _next(self) -> Key:
        groups = self.groups
        if len(groups) == 1:
            return next(iter(groups))
        detour = self.spinning.detour()
        if detour is not None:
            return detour
        if self.crews is None:
            return min(groups)
        crew = min(key[1] for key in groups)
        if self.crews.switch():
            crew = max(key[1] for key in groups)
        return min(key for key in groups if key[1] == crew)

    def _execute(self, code: Code, key: Key, mask: Mask) -> None:
        for hook in self.hooks.on_basic_block:
            hook(code.block, mask)
        if mask.whole:
            registers = self.registers
            for step in code.steps:
                step(registers, mask)
            decided = code.decide(registers) if code.decide else None
            zeros = self.machine.zeros
            for index in code.dropped:
                registers[index] = zeros[index]
        else:
            registers = self.scratch
            fetch(code.used, self.registers, registers, mask)
            for step in code.steps:
                step(registers, mask)
            decided = code.decide(registers) if code.decide else None
            if code.kept:
                put_back(code.kept, self.registers, registers, mask, self._live_elsewhere())
        self._leave(code, key, mask, decided)

    def _live_elsewhere(self) -> int:
        """Registers that lanes of other groups will read."""
        blocks, live = self.machine.program.blocks, 0
        for place, _ in self.groups:
            live |= blocks[place].live_in
        for place in self.parked:
            live |= blocks[place].live_in
        for entry in self.barriers.entries():
            live |= blocks[entry.place].live_in
        return live

    # ---- leaving a block

    def _leave(self, code: Code, key: Key, mask: Mask, decided: Any) -> None:
        block = code.block
        if code.kind == "branch":
            taken, other = self.masks.split(mask, decided)
            if code.counted:
                for hook in self.hooks.on_branch:
                    hook(block, taken, other)
            if taken is not None:
                self.groups.add((block.successors[0], key[1]), taken)
            if other is not None:
                self.groups.add((block.successors[1], key[1]), other)
            if code.polls and taken is mask:
                self.spinning.turn(block, mask)
        elif code.kind in ("fall", "jump"):
            place = block.successors[0]
            if code.members is not None:
                self.meet(place, mask)
            else:
                self.groups.add((place, key[1]), mask)
            if code.polls:
                self.spinning.turn(block, mask)
        elif code.kind == "barrier":
            self._arrive(code, mask, decided)
        elif code.kind == "switch":
            self._switch(block, key, mask, decided)
        elif code.kind == "trap":
            raise self.machine.failure("crashed", "the kernel stops itself here (trap)" + self._trap_hint(), block.line)
        else:
            self._end(mask)

    def _trap_hint(self) -> str:
        uses_grid = any("%envreg" in str(item) for block in self.machine.program.blocks for item in block.body)
        return "; grid.sync() needs a cooperative launch" if uses_grid and not self.machine.cooperative else ""

    def _switch(self, block: BasicBlock, key: Key, mask: Mask, index: Array) -> None:
        left: Mask | None = mask
        for number, place in enumerate(block.successors):
            if left is None:
                return
            full = np.zeros(self.masks.shape, bool)
            full[np.ix_(mask.rows, mask.columns)] = index == number
            full &= left.full_dense()
            part = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, full)
            if part is not None:
                self.groups.add((place, key[1]), part)
                left = self.masks.minus(left, part)

    def _end(self, mask: Mask) -> None:
        for hook in self.hooks.on_exit:
            hook(mask)
        assert self.alive is not None
        self.alive = self.masks.minus(self.alive, mask)
        if self.barriers:
            self.go_on(self.barriers.release_any(self.alive))

    def _end_leavers(self) -> None:
        """Lanes that have nothing left to do but to end do so before others wait for them at a barrier."""
        for key in list(self.groups):
            code = self.machine.code[key[0]] or compile_block(self.machine, key[0])
            if code.kind == "exit" and not code.steps:
                self._execute(code, key, self.groups.pop(key))

    # ---- barriers

    def _arrive(self, code: Code, mask: Mask, vote: Array | None) -> None:
        item = code.block.terminator
        self._end_leavers()
        assert item is not None and self.alive is not None
        for hook in self.hooks.on_barrier:
            hook(item.line, mask, self.alive)
        registers = self.registers if mask.whole else self.scratch
        numbers = []
        for operand in item.operands:
            if isinstance(operand, Immediate):
                numbers.append(operand.value)
            elif isinstance(operand, Register) and self.machine.program.widths[operand.index] == 32:
                numbers.append(int(reader(operand, "u32", self.machine.program.widths, item.line)(registers).flat[0]))
        if vote is not None:
            shape = (mask.height, mask.width)
            self.barriers.vote(mask, np.broadcast_to(vote, shape))
        count = numbers[1] if len(numbers) > 1 else None
        entry = Waiting(mask, code.block.successors[0], count, item.line)
        self.go_on(self.barriers.arrive(numbers[0] if numbers else 0, entry, self.alive))

    def go_on(self, entries: list[Waiting]) -> None:
        """Lanes that a barrier let go run again; the observers hear of all before any of them runs."""
        for entry in entries:
            for hook in self.hooks.on_release:
                hook(entry.mask)
        for entry in entries:
            self.meet(entry.place, entry.mask)

    # ---- lanes of a warp that must meet

    def _gathered(self, code: Code, place: int, mask: Mask) -> Mask | None:
        """The lanes that can execute the warp-synchronous instruction: all lanes that it names have come. The others
        are parked."""
        parked = self.parked.pop(place, None)
        if parked is not None:
            mask = self.masks.union(parked, mask)
        alive = self.alive
        assert alive is not None
        if mask is alive or self._has_whole_warps(mask, alive):
            return mask
        lacking = self._lacking(code, mask, alive)
        if not lacking.any():
            return mask
        full = mask.full_dense()
        late = full & np.repeat(lacking, WARP, axis=0)
        waits = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, late)
        if waits is not None:
            self.parked[place] = waits
        return self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, full & ~late)

    def _has_whole_warps(self, mask: Mask, alive: Mask) -> bool:
        """Quickly: the mask holds every living lane of the warps that it touches (else they have to be looked at)."""
        key = (id(mask), id(alive))
        found = self._whole.get(key)
        if found is None:
            whole = False
            if mask.dense is None and alive.dense is None and not (mask.columns & ~alive.columns).any():
                touched = np.repeat(mask.warp_bits[:, 0], WARP)
                whole = not (alive.rows & touched & ~mask.rows).any()
            if len(self._whole) > 1000:
                self._whole.clear()
            found = self._whole[key] = (whole, mask, alive)
        return found[0]

    def _lacking(self, code: Code, mask: Mask, alive: Mask) -> Array:
        """bool[warps, B]: warps of which a named living lane has not come."""
        assert code.members is not None
        index, local = code.members_of, self.scratch
        if index >= 0:
            value = self.registers[index]
            value = expanded(value) if value.__class__ is Part else value
            local[index] = restrict(value, mask.row_index, mask.column_index)
        members = np.broadcast_to(code.members(local), (mask.height, mask.width))
        named = np.zeros(self.masks.shape, np.uint32)
        named[np.ix_(mask.rows, mask.columns)] = members if mask.dense is None else members & mask.words(4)
        wanted = np.bitwise_or.reduce(named.reshape(-1, WARP, named.shape[1]), axis=1)
        missing = (alive.full_dense() & ~mask.full_dense()).reshape(-1, WARP, named.shape[1])
        bits = (np.uint32(1) << np.arange(WARP, dtype=np.uint32))[None, :, None]
        absent = np.bitwise_or.reduce(np.where(missing, bits, np.uint32(0)), axis=1)
        return (wanted & absent) != 0  # type: ignore[no-any-return]

    # ---- when nobody can run

    def _unblock(self) -> bool:
        """Let someone go on; False when nobody is left who can."""
        released = self.barriers.release_any(self.alive)
        self.go_on(released)
        if released or not self.parked:
            return bool(released)
        place = min(self.parked)
        mask = self.parked.pop(place)
        code = self.machine.code[place] or compile_block(self.machine, place)
        for hook in self.hooks.on_incomplete:
            hook(code.block.body[0].line, code.block.body[0].opcode, mask)
        self._execute(code, (place, 0), mask)
        self._count_step(code)
        return True

    def _deadlock(self) -> None:
        entries = self.barriers.entries()
        lines = sorted({entry.line for entry in entries})
        mask = entries[0].mask
        name = self.machine.lane_name(int(mask.rows_at()[0]), int(mask.columns_at()[0]))
        where = " and ".join(f"line {line}" for line in lines)
        clause = f"{name} waits at the barrier of {where} for threads that never come there"
        raise self.machine.failure("deadlock", clause, lines[0], "divergent-barrier")

    def _count_step(self, code: Code) -> None:
        """One more basic block is done; now and then, is there time for another?"""
        self.steps += 1
        if self.steps % _CHECKED_STEPS:
            return
        machine = self.machine
        machine.steps_done += _CHECKED_STEPS
        self.spinning.check(self.steps)
        if machine.late():
            clause = "the time was up while this line was running; look for a loop that does not end"
            raise machine.failure("timeout", clause, code.block.line, "step-limit")
        if self.steps >= machine.options.step_limit:
            clause = f"the loop here did not end within {self.steps} steps of the emulator"
            raise machine.failure("timeout", clause, code.block.line, "step-limit")
