"""Blocks of a launch that run together, and who of their lanes runs next.

Lanes that stand at one place of the program form a group. The group with the smallest program counter runs one basic
block; groups that meet become one. Lanes at a barrier wait until all living lanes of their block have come.

A group that is not the whole chunk works on its own rows and columns of the registers. What it computes goes back
into a whole register only if lanes of another group will still read that register.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.ptx.masks import WARP, Mask, Masks
from engine.ptx.observe import hooks
from engine.ptx.operands import Reader, Registers, reader
from engine.ptx.program import Block, is_barrier
from engine.ptx.schedule import Crews
from engine.ptx.syntax import Immediate, Register, Symbol
from engine.ptx.values import OuterSum, Part, Value, plain, restrict, select
from engine.records import Array

if TYPE_CHECKING:
    from engine.ptx.machine import Machine

_PATIENCE = 64  # turns of a polling loop after which others get a chance
_HOPELESS = 300  # such chances without any other lane that could run
_DETOUR = 32  # basic blocks that the others may run before the polling loop is tried again
Key = tuple[int, int]  # (block of the program, crew)


@dataclass(frozen=True)
class Code:
    """A basic block made executable."""

    block: Block
    steps: tuple[Callable[[Registers, Mask], None], ...]
    kind: str  # "fall", "jump", "branch", "barrier", "exit", "trap", "switch"
    decide: Reader | None  # the predicate of a branch, the index of a switch
    used: tuple[int, ...]
    kept: tuple[int, ...]  # registers written here and read later
    dropped: tuple[int, ...]  # registers written here and not read later
    members: Reader | None  # of a block that starts with a warp-synchronous instruction
    members_of: int
    counted: bool  # False for the jump around a guarded instruction
    polls: bool  # a loop that ends here reads memory that others may change


@dataclass
class Waiting:
    """A group at a barrier: where it goes on, and how many threads the barrier wants (None: all that live)."""

    mask: Mask
    key: Key
    count: int | None
    line: int


class Chunk:
    """The running state of some blocks."""

    def __init__(self, machine: Machine, blocks: int) -> None:
        self.machine = machine
        self.masks = Masks(machine.threads, machine.rows, blocks)
        self.registers: Registers = list(machine.zeros)
        self.scratch: Registers = list(self.registers)
        self.alive: Mask | None = self.masks.start
        self.groups: dict[Key, Mask] = {}
        self.waiting: dict[int, list[Waiting]] = {}
        self.parked: dict[int, Mask] = {}
        self.results: Array = np.zeros((1, blocks), np.uint32)
        self.votes: Array | None = None
        self.crews = Crews(machine.schedule, machine.rows) if machine.schedule.kind == "independent" else None
        self.steps = 0
        self.spin: tuple[Any, ...] = ()
        self.turns = self.hopeless = self.detour = 0
        self.complete: dict[tuple[int, int], bool] = {}
        observers = machine.observers
        self.on_block, self.on_branch = hooks(observers, "on_block"), hooks(observers, "on_branch")
        self.on_barrier, self.on_release = hooks(observers, "on_barrier"), hooks(observers, "on_release")
        self.on_exit, self.on_incomplete = hooks(observers, "on_exit"), hooks(observers, "on_incomplete")

    # ---- the loop

    def run(self) -> None:
        """Until every lane has ended."""
        self.meet(0, self.masks.start)
        while True:
            if not self.groups and not self._unblock():
                if self.waiting:
                    self._deadlock()
                return
            key = self._next()
            mask = self.groups.pop(key)
            code = self.machine.code[key[0]] or compile_block(self.machine, key[0])
            if code.members is not None:
                ready = self._gathered(code, key, mask)
                if ready is None:
                    continue
                mask = ready
            self._execute(code, key, mask)
            self.steps += 1
            if not self.steps & 127:
                self._check_limits(code)

    def meet(self, place: int, mask: Mask) -> None:
        """Lanes go on at `place` after a point where all met: under "independent" they part again."""
        if self.crews is None:
            self.add((place, 0), mask)
            return
        for number, crew in enumerate(self.crews.deal()):
            part = self.masks.common(mask, self.masks.rectangle(crew, self.masks.all_columns))
            if part is not None:
                self.add((place, number), part)

    def add(self, key: Key, mask: Mask) -> None:
        """Lanes stand at a place; those that stand there already join them."""
        there = self.groups.get(key)
        self.groups[key] = mask if there is None else self.masks.union(there, mask)

    def _next(self) -> Key:
        if len(self.groups) == 1:
            return next(iter(self.groups))
        if self.detour:
            self.detour -= 1
            others = [key for key in self.groups if key[0] != self.spin[0]]
            if others:
                return min(others)
        if self.crews is None:
            return min(self.groups)
        crew = min(key[1] for key in self.groups)
        if self.crews.switch():
            crew = max(key[1] for key in self.groups)
        return min(key for key in self.groups if key[1] == crew)

    def _execute(self, code: Code, key: Key, mask: Mask) -> None:
        for hook in self.on_block:
            hook(code.block, mask)
        if mask.whole:
            registers = self.registers
            for step in code.steps:
                step(registers, mask)
            decided = code.decide(registers) if code.decide else None
            zero = self.machine.zeros
            for index in code.dropped:
                registers[index] = zero[index]
        else:
            registers = self.scratch
            self._fetch(code, registers, mask)
            for step in code.steps:
                step(registers, mask)
            decided = code.decide(registers) if code.decide else None
            self._put_back(code, registers, mask)
        self._leave(code, key, mask, decided)

    # ---- registers of a part of the lanes

    def _fetch(self, code: Code, local: Registers, mask: Mask) -> None:
        whole, rows, columns = self.registers, mask.row_index, mask.column_index
        for index in code.used:
            value = whole[index]
            if value.__class__ is Part:
                if value.mask is mask:
                    local[index] = value.value
                    continue
                value = whole[index] = _expanded(value)
            local[index] = restrict(value, rows, columns)

    def _put_back(self, code: Code, local: Registers, mask: Mask) -> None:
        if not code.kept:
            return
        others = self._live_elsewhere()
        whole = self.registers
        for index in code.kept:
            value = local[index]
            if others >> index & 1:
                whole[index] = _merged(whole[index], value, mask)
            else:
                whole[index] = value if _fits_whole(value, mask) else Part(value, mask)

    def _live_elsewhere(self) -> int:
        """Registers that lanes of other groups will read."""
        blocks, live = self.machine.program.blocks, 0
        for place, _ in self.groups:
            live |= blocks[place].live_in
        for place in self.parked:
            live |= blocks[place].live_in
        for entries in self.waiting.values():
            for entry in entries:
                live |= blocks[entry.key[0]].live_in
        return live

    # ---- leaving a block

    def _leave(self, code: Code, key: Key, mask: Mask, decided: Any) -> None:
        block = code.block
        if code.kind == "branch":
            taken, other = self.masks.split(mask, decided)
            if code.counted:
                for hook in self.on_branch:
                    hook(block, taken, other)
            for part, place in ((taken, block.successors[0]), (other, block.successors[1])):
                if part is not None:
                    self.add((place, key[1]), part)
            if code.polls and taken is mask and block.successors[0] <= block.index:
                self._polled(block, mask)
        elif code.kind in ("fall", "jump"):
            place = block.successors[0]
            if code.members is not None and self.crews is not None:
                self.meet(place, mask)
            else:
                self.add((place, key[1]), mask)
            if code.polls and place <= block.index:
                self._polled(block, mask)
        elif code.kind == "barrier":
            self._arrive(code, key, mask)
        elif code.kind == "switch":
            self._switch(code, key, mask, decided)
        elif code.kind == "trap":
            raise self.machine.failure("crashed", self._trap_clause(), block.line)
        else:
            self._end(mask)

    def _trap_clause(self) -> str:
        if self.machine.program.name and not self.machine.workspace:
            return "the kernel stops itself with a trap (grid.sync() needs a cooperative launch)"
        return "the kernel stops itself with a trap"

    def _switch(self, code: Code, key: Key, mask: Mask, index: Array) -> None:
        left: Mask | None = mask
        for number, place in enumerate(code.block.successors):
            if left is None:
                break
            chosen = np.broadcast_to(index == number, (mask.height, mask.width))
            full = np.zeros((self.masks.shape), bool)
            full[np.ix_(mask.rows, mask.columns)] = chosen if mask.dense is None else chosen & mask.dense
            part = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, full)
            if part is not None:
                self.add((place, key[1]), part)
                left = self.masks.minus(left, part)

    def _end(self, mask: Mask) -> None:
        for hook in self.on_exit:
            hook(mask)
        assert self.alive is not None
        self.alive = self.masks.minus(self.alive, mask)
        for number in list(self.waiting):
            self._try_release(number)

    # ---- barriers

    def _arrive(self, code: Code, key: Key, mask: Mask) -> None:
        item = code.block.terminator
        assert item is not None and self.alive is not None
        for hook in self.on_barrier:
            hook(item.line, mask, self.alive)
        number, count = self._barrier_operands(code, mask)
        if ".red." in item.opcode:
            if self.votes is None:
                self.votes = np.zeros(self.masks.shape, bool)
            vote = np.broadcast_to(code.decide(self._locals(mask)), (mask.height, mask.width)) if code.decide else False
            self.votes[np.ix_(mask.rows, mask.columns)] = vote
        entry = Waiting(mask, (code.block.successors[0], 0), count, item.line)
        if count is None and not self.waiting.get(number) and self.masks.same(mask, self.alive):
            self._release(code.block, [entry], mask)
            return
        self.waiting.setdefault(number, []).append(entry)
        self._try_release(number)

    def _locals(self, mask: Mask) -> Registers:
        return self.registers if mask.whole else self.scratch

    def _barrier_operands(self, code: Code, mask: Mask) -> tuple[int, int | None]:
        item = code.block.terminator
        assert item is not None
        numbers: list[int] = []
        for operand in item.operands:
            if isinstance(operand, Immediate):
                numbers.append(operand.value)
            elif isinstance(operand, Register) and self.machine.program.widths[operand.index] == 32:
                read = reader(operand, "u32", self.machine.program.widths, item.line)
                numbers.append(int(read(self._locals(mask)).flat[0]))
        return (numbers[0] if numbers else 0), (numbers[1] if len(numbers) > 1 else None)

    def _try_release(self, number: int) -> bool:
        """Let go the blocks of which all awaited lanes wait at barrier `number`."""
        entries = self.waiting.get(number)
        if not entries:
            return False
        arrived = entries[0].mask
        for entry in entries[1:]:
            arrived = self.masks.union(arrived, entry.mask)
        count = entries[0].count
        if count is None and self.alive is not None and self.masks.same(arrived, self.alive):
            del self.waiting[number]
            self._release(None, entries, arrived)
            return True
        lanes = arrived.full_dense()
        if count is None:
            living = self.alive.full_dense() if self.alive is not None else np.zeros(self.masks.shape, bool)
            ready = (lanes == living).all(axis=0) & lanes.any(axis=0)
        else:
            ready = lanes.sum(axis=0) >= count
        if not ready.any():
            return False
        columns = self.masks.rectangle(self.masks.all_rows, ready)
        gone, left = [], []
        for entry in entries:
            inside, outside = self.masks.common(entry.mask, columns), self.masks.minus(entry.mask, columns)
            gone += [Waiting(inside, entry.key, entry.count, entry.line)] if inside else []
            left += [Waiting(outside, entry.key, entry.count, entry.line)] if outside else []
        if left:
            self.waiting[number] = left
        else:
            del self.waiting[number]
        released = self.masks.common(arrived, columns)
        assert released is not None
        self._release(None, gone, released)
        return True

    def _release(self, block: Block | None, entries: list[Waiting], released: Mask) -> None:
        if self.votes is not None:
            votes = self.votes & released.full_dense()
            lanes, yes = released.full_dense().sum(axis=0), votes.sum(axis=0)
            self.results = np.where(released.columns, (yes | ((yes == lanes) << 30)), self.results)
            self.results = self.results.astype(np.uint32).reshape(1, -1)
        for hook in self.on_release:
            hook(released)
        for entry in entries:
            self.meet(entry.key[0], entry.mask)

    # ---- lanes of a warp that must meet

    def _gathered(self, code: Code, key: Key, mask: Mask) -> Mask | None:
        """The lanes that may execute the warp-synchronous instruction now: all that it names have come. The others
        are parked."""
        place = key[0]
        parked = self.parked.pop(place, None)
        if parked is not None:
            mask = self.masks.union(parked, mask)
        alive = self.alive
        assert alive is not None
        if mask is alive or self._whole_warps(mask, alive):
            return mask
        lacking = self._lacking(code, mask, alive)
        if not lacking.any():
            return mask
        full = mask.full_dense()
        late = full & np.repeat(lacking, WARP, axis=0)
        ready = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, full & ~late)
        waits = self.masks.from_dense(self.masks.all_rows, self.masks.all_columns, late)
        if waits is not None:
            self.parked[place] = waits
        return ready

    def _whole_warps(self, mask: Mask, alive: Mask) -> bool:
        """Quick: the mask holds every living lane of the warps that it touches."""
        key = (id(mask), id(alive))
        found = self.complete.get(key)
        if found is None:
            found = False
            if mask.dense is None and alive.dense is None and not (mask.columns & ~alive.columns).any():
                touched = np.repeat(mask.warp_bits[:, 0], WARP)
                found = not (alive.rows & touched & ~mask.rows).any()
                self.complete[key] = found
                self.kept_alive = [*getattr(self, "kept_alive", [])[-500:], mask, alive]
        return found

    def _lacking(self, code: Code, mask: Mask, alive: Mask) -> Array:
        """bool[warps, B]: warps of which a named living lane has not come."""
        assert code.members is not None
        index = code.members_of
        local: Registers = self.scratch
        if index >= 0:
            value = self.registers[index]
            local[index] = restrict(_expanded(value) if value.__class__ is Part else value,
                                    mask.row_index, mask.column_index)  # fmt: skip
        members = np.broadcast_to(code.members(local), (mask.height, mask.width))
        named = np.zeros(self.masks.shape, np.uint32)
        named[np.ix_(mask.rows, mask.columns)] = members if mask.dense is None else members & mask.words(4)
        wanted = np.bitwise_or.reduce(named.reshape(-1, WARP, named.shape[1]), axis=1)
        missing = alive.full_dense() & ~mask.full_dense()
        bits = (np.uint32(1) << np.arange(WARP, dtype=np.uint32))[None, :, None]
        absent = np.bitwise_or.reduce(np.where(missing.reshape(-1, WARP, missing.shape[1]), bits, np.uint32(0)), axis=1)
        return (wanted & absent) != 0  # type: ignore[no-any-return]

    # ---- when nobody can run

    def _unblock(self) -> bool:
        """Let someone go on; False when nobody is left who can."""
        if any([self._try_release(number) for number in list(self.waiting)]):
            return True
        if not self.parked:
            return False
        place = min(self.parked)
        mask = self.parked.pop(place)
        code = self.machine.code[place] or compile_block(self.machine, place)
        for hook in self.on_incomplete:
            hook(code.block.body[0].line, code.block.body[0].opcode, mask)
        self._execute(code, (place, 0), mask)
        return True

    def _deadlock(self) -> None:
        entries = [entry for entries in self.waiting.values() for entry in entries]
        lines = sorted({entry.line for entry in entries})
        assert self.alive is not None
        name = self.machine.lane_name(int(entries[0].mask.rows_at()[0]), int(entries[0].mask.columns_at()[0]))
        where = " and ".join(f"line {line}" for line in lines)
        raise self.machine.failure(
            "deadlock", f"{name} waits at the barrier of {where} for threads that never come there", lines[0]
        )

    def _polled(self, block: Block, mask: Mask) -> None:
        """A loop that reads memory went round again with all its lanes: after a while let others run."""
        place = block.successors[0]
        if self.spin[:2] != (place, mask):
            if not (self.spin and self.spin[0] == place and self.masks.same(self.spin[1], mask)):
                self.turns = self.hopeless = 0
            self.spin = (place, mask)
        self.turns += 1
        if self.turns < _PATIENCE:
            return
        self.turns = 0
        if self._let_others_run(mask):
            self.detour = _DETOUR
            return
        self.hopeless += 1
        if self.hopeless > _HOPELESS:
            raise self.machine.failure("deadlock", self._spin_clause(mask), block.line)

    def _let_others_run(self, mask: Mask) -> bool:
        """True when a lane other than those of `mask` can run. In lockstep a warp's other lanes must wait for it."""
        released = any([self._try_release(number) for number in list(self.waiting)])
        others = [key for key in self.groups if key[0] != self.spin[0]]
        if self.crews is not None or not others:
            return released or bool(others)
        busy = np.repeat(_any_per_warp(mask.full_dense()), WARP, axis=0)
        free = False
        for key in others:
            lanes = self.groups[key].full_dense()
            if not (lanes & busy).any():
                free = True
        return released or free

    def _spin_clause(self, mask: Mask) -> str:
        name = self.machine.lane_name(int(mask.rows_at()[0]), int(mask.columns_at()[0]))
        if self.groups and self.crews is None:
            return (f"{name} waits in a loop for another thread of its own warp, which cannot go on while the warp "
                    "runs in lockstep")  # fmt: skip
        if not self.machine.cooperative and self.machine.blocks > self.masks.shape[1]:
            return (f"{name} waits in a loop for a value that no running thread writes; a block that has not started "
                    "cannot write it either")  # fmt: skip
        return f"{name} waits in a loop for a value that no running thread writes"

    def _check_limits(self, code: Code) -> None:
        self.machine.steps_done += 128
        if self.machine.late():
            raise self.machine.failure(
                "timeout", "the time was up while this line was running; is this loop endless?", code.block.line
            )
        if self.steps >= self.machine.options.step_limit:
            raise self.machine.failure(
                "timeout", f"the loop here did not end within {self.steps} steps of the emulator", code.block.line
            )


def compile_block(machine: Machine, place: int) -> Code:
    """Make a block executable and remember it."""
    from engine.ptx.steps import steps_of

    block = machine.program.blocks[place]
    item, kind, decide, counted = block.terminator, "fall", None, True
    widths = machine.program.widths
    if item is not None:
        head = item.opcode.split(".", 1)[0]
        if head in ("bra", "skip"):
            kind, counted = ("branch" if item.guard else "jump"), head == "bra"
            decide = reader(item.guard, "pred", widths, item.line) if item.guard else None
        elif head == "brx":
            kind, decide = "switch", reader(item.operands[0], "u32", widths, item.line)
        elif is_barrier(item.opcode):
            kind = "barrier"
            last = item.operands[-1] if item.operands else None
            if ".red." in item.opcode and last is not None:
                decide = reader(last, "pred", widths, item.line)
        else:
            kind = "trap" if head == "trap" else "exit"
    members, members_of = None, -1
    if block.body and block.body[0].opcode.startswith(_synchronous()):
        from engine.ptx.collectives import members_reader

        last = block.body[0].operands[-1]
        members, members_of = members_reader(machine, block.body[0]), last.index if isinstance(last, Register) else -1
    code = machine.code[place] = Code(
        block, tuple(steps_of(machine, block)), kind, decide, _bits(block.uses), _bits(block.defs & block.live_out),
        _bits(block.defs & ~block.live_out), members, members_of, counted, _polls(machine, block),
    )  # fmt: skip
    return code


def _synchronous() -> tuple[str, ...]:
    from engine.ptx.collectives import SYNCHRONOUS

    return SYNCHRONOUS


def _polls(machine: Machine, block: Block) -> bool:
    """True when the block closes a loop in which memory is read that other lanes may change."""
    if not block.successors or block.successors[0] > block.index:
        return False
    loop = machine.program.blocks[block.successors[0] : block.index + 1]
    return any(
        item.words[0] == "atom" or (item.words[0] == "ld" and {"volatile", "acquire", "relaxed"} & set(item.words))
        for each in loop
        for item in each.body
    )


def _any_per_warp(lanes: Array) -> Array:
    return lanes.reshape(-1, WARP, lanes.shape[1]).any(axis=1)  # type: ignore[no-any-return]


def _bits(members: int) -> tuple[int, ...]:
    return tuple(index for index in range(members.bit_length()) if members >> index & 1)


def _fits_whole(value: Value, mask: Mask) -> bool:
    """True when a value in the mask's rows and columns reads the same in the whole chunk's."""
    if value.__class__ is OuterSum:
        rows, columns = value.rows.values.shape[0], value.columns.values.shape[1]
    else:
        rows, columns = value.shape
    return (rows == 1 or mask.row_index is None) and (columns == 1 or mask.column_index is None)


def _expanded(part: Part) -> Array:
    """A partial value in whole rows and columns; lanes outside its mask hold anything."""
    value, mask = plain(part.value), part.mask
    rows = mask.rows.size if value.shape[0] > 1 else 1
    columns = mask.columns.size if value.shape[1] > 1 else 1
    made = np.zeros((rows, columns), value.dtype)
    made[_at(mask, rows, columns)] = value
    return made


def _merged(old: Value, new: Value, mask: Mask) -> Array:
    """`new` for the lanes of `mask`, `old` for the others."""
    before = _expanded(old) if old.__class__ is Part else plain(old)
    after = plain(new)
    if before.dtype is not after.dtype:
        before = before.view(after.dtype)
    if mask.dense is not None:
        inside = restrict(before, mask.row_index, mask.column_index)
        after = select(mask.words(after.dtype.itemsize), after, inside)
        if mask.row_index is None and mask.column_index is None:
            return after
        rows, columns = mask.rows.size, mask.columns.size
    else:
        rows = 1 if before.shape[0] == after.shape[0] == 1 and mask.row_index is None else mask.rows.size
        columns = 1 if before.shape[1] == after.shape[1] == 1 and mask.column_index is None else mask.columns.size
    made = np.empty((rows, columns), after.dtype)
    made[...] = before
    made[_at(mask, rows, columns)] = after
    return made


def _at(mask: Mask, rows: int, columns: int) -> Any:
    """The index of the mask's rectangle in an array of that size (1: the side is not spread out)."""
    over_rows = slice(None) if rows == 1 or mask.row_index is None else mask.row_index
    over_columns = slice(None) if columns == 1 or mask.column_index is None else mask.column_index
    if isinstance(over_rows, slice) or isinstance(over_columns, slice):
        return over_rows, over_columns
    return over_rows[:, None], over_columns[None, :]


__all__ = ["Chunk", "Code", "Symbol", "compile_block"]
