"""Plain loads whose value is only a guess: a compare-and-swap at the same address confirms it before it counts.

    old = *address;                                            // any value will do
    do { assumed = old; old = atomicCAS(address, assumed, f(assumed)); } while (assumed != old);

The value may be the compare operand itself, take part in the new value, and decide whether the thread tries at all. Any
other use is one of a value that nothing has confirmed: a store, an address, a shuffle, a branch around other memory
accesses. Behind a branch that found the comparison equal the value is confirmed and may be used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from engine.backends.emulator.ptx.block_order import postdominators
from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Address, Immediate, Instruction, Operand, Register, Symbol
from engine.backends.emulator.ptx.traits import is_ordinary_load, reads, traits_of, writes

Place = tuple[object, int]  # what an address is computed from, and a number of bytes


class Held(Enum):
    """What a register holds."""

    SWAP = "the result of the compare-and-swap"
    COPY = "the loaded value, or the result of an earlier compare-and-swap in its place"
    EQUAL = "whether both are equal"
    UNEQUAL = "whether they differ"
    DERIVED = "anything computed from the loaded value"


# What a register holds, and of which value: (-1, -1) for the loaded one, (block, register) for one of several values
# that the register takes where paths meet, None if unknown.
Value = tuple[Held, tuple[int, int] | None]
State = dict[int, Value]
_LOADED = (-1, -1)
_MOST_VISITS = 50  # of a block


class _Used(Exception):
    """The value is used without a confirmation."""


@lru_cache(maxsize=64)
def guesses(program: Program) -> frozenset[Instruction]:
    """Return the plain loads of a program whose value is only a guess."""
    swaps = [item for block in program.blocks for item in block.body if _swaps(item)]
    if not swaps:
        return frozenset()
    places = _Places(program)
    swapped = {places.of(item) for item in swaps}
    loads = [(block, number) for block in program.blocks for number, item in enumerate(block.body)
             if _may_guess(item) and places.of(item) in swapped]  # fmt: skip
    meets = postdominators([block.successors for block in program.blocks]) if loads else []
    return frozenset(
        block.body[number] for block, number in loads if _Guess(program, places, meets, block, number).holds()
    )


def _swaps(item: Instruction) -> bool:
    return item.words[0] == "atom" and "cas" in item.words


def _may_guess(item: Instruction) -> bool:
    plain = is_ordinary_load(item) and "nc" not in item.words and item.space in ("global", "shared", "")
    return plain and item.count == 1 and isinstance(item.operands[0], Register)


class _Places:
    """The places that addresses name, followed back to the last register with several values."""

    def __init__(self, program: Program) -> None:
        self._made: dict[int, list[Instruction]] = {}
        for item in program.instructions:
            for index in writes(item, program.carry):
                self._made.setdefault(index, []).append(item)

    def of(self, item: Instruction) -> Place:
        """Return the place of a load or an atomic."""
        address = next(operand for operand in item.operands if isinstance(operand, Address))
        return self._of(address.base, address.offset)

    def _of(self, base: Operand | None, offset: int) -> Place:
        while isinstance(base, Register):
            made = self._made.get(base.index, [])
            if len(made) != 1 or made[0].guard or made[0].words[0] not in ("mov", "cvta", "add"):
                return base.index, offset
            source, *more = made[0].operands[1:]
            if not isinstance(source, Register | Symbol) or not all(isinstance(each, Immediate) for each in more):
                return base.index, offset
            base, offset = source, offset + sum(each.value for each in more if isinstance(each, Immediate))
        return (base.name, base.offset + offset) if isinstance(base, Symbol) else (None, offset)


class _Guess:
    """The value of one load, followed through the program."""

    def __init__(self, program: Program, places: _Places, meets: list[int], block: BasicBlock, number: int) -> None:
        self._program, self._places, self._meets = program, places, meets
        self._start, self._load = (block, number), block.body[number]
        self._place = places.of(self._load)
        self._coming: dict[int, dict[int, State]] = {}  # the states at the start of a block, by the block before
        self._states: dict[int, State] = {}
        # Registers that differ where the paths of a branch on the value meet, by that place and the branch's block.
        self._chosen: dict[int, dict[int, State]] = {}
        self._ahead: list[int] = []
        self._confirmed = False

    def holds(self) -> bool:
        """Return whether every use of the value is confirmed, and one is."""
        visits = Counter[int]()
        try:
            self._follow(*self._start, {})
            while self._ahead:
                place = self._ahead.pop()
                visits[place] += 1
                if visits[place] > _MOST_VISITS:
                    return False
                self._follow(self._program.blocks[place], 0, dict(self._states[place]))
        except _Used:
            return False
        return self._confirmed

    def _follow(self, block: BasicBlock, start: int, state: State) -> None:
        """Follow the value through a block, from instruction `start` on."""
        for item in block.body[start:]:
            if item is self._load:
                assert isinstance(item.operands[0], Register)
                _forget(state, _LOADED)
                state[item.operands[0].index] = Held.COPY, _LOADED
            else:
                self._step(item, state)
        self._leave(block, state)

    def _step(self, item: Instruction, state: State) -> None:
        """Follow the value through an instruction."""
        used = _tainted(item, state, self._program.carry)
        made: Value | None = None
        if _swaps(item) and self._places.of(item) == self._place:
            made = self._swap(item, used, state)
        elif item.words[0] == "mov" and isinstance(item.operands[1], Register) and not item.guard:
            made = state.get(item.operands[1].index)
        elif used:
            traits = traits_of(item.opcode)
            if traits.memory or traits.converges or traits.waits:
                raise _Used
            made = _compared(item, state) or (Held.DERIVED, _common(used))
        for index in writes(item, self._program.carry):
            if index == self._place[0]:  # from now on the address is another one
                state.update(dict.fromkeys(state, (Held.DERIVED, None)))
            if made is None:
                state.pop(index, None)
            else:
                state[index] = made

    def _swap(self, item: Instruction, used: list[Value], state: State) -> Value:
        """Return what a compare-and-swap at the load's address yields; its operands may be one value only."""
        expected = item.operands[2]
        if used:
            held, value = state.get(expected.index, (None, None)) if isinstance(expected, Register) else (None, None)
            if held is not Held.COPY or value is None or _common(used) != value:
                raise _Used
            self._confirmed = True
        return Held.SWAP, None

    # ---- branches

    def _leave(self, block: BasicBlock, state: State) -> None:
        """Follow the value to the blocks behind a block."""
        last = block.terminator
        used = _tainted(last, state, self._program.carry) if last else []
        if last is not None and used:
            if traits_of(last.opcode).control != "branch" or last.guard is None:
                raise _Used
            held, value = used[0]
            if held in (Held.EQUAL, Held.UNEQUAL) and value is not None:
                equal = (held is Held.EQUAL) != last.guard.negated
                confirmed = {index: each for index, each in state.items() if each[1] != value}
                self._reach(block.index, block.successors[0 if equal else 1], confirmed)
                self._reach(block.index, block.successors[1 if equal else 0], state)
                return
            self._choose(block, used[0])
        for place in block.successors:
            self._reach(block.index, place, state)

    def _choose(self, block: BasicBlock, value: Value) -> None:
        """Follow a branch on the value: between its paths there is nothing but this compare-and-swap."""
        meet = self._meets[block.index]
        between = [self._program.blocks[place] for place in self._between(block)]
        items = [item for each in between for item in each.body]
        for item in (*items, *(each.terminator for each in between if each.terminator)):
            traits = traits_of(item.opcode)
            if _swaps(item) and self._places.of(item) == self._place:
                continue
            if traits.control not in ("", "branch", "exit") or traits.memory not in ("", "load"):
                raise _Used
            if traits.converges or traits.waits:
                raise _Used
        if meet >= 0:
            live = self._program.blocks[meet].live_in
            written = {index for item in items for index in writes(item, self._program.carry)}
            differ = {index: (Held.DERIVED, value[1]) for index in written if live >> index & 1}
            self._chosen.setdefault(meet, {})[block.index] = differ

    def _between(self, block: BasicBlock) -> set[int]:
        """Return the blocks between a branch and the place where its paths meet."""
        meet, seen, ahead = self._meets[block.index], set[int](), list(block.successors)
        while ahead:
            place = ahead.pop()
            if place != meet and place not in seen:
                seen.add(place)
                ahead += self._program.blocks[place].successors
        return seen

    def _reach(self, before: int, place: int, state: State) -> None:
        """Join a state at the end of block `before` into the state at the start of block `place`."""
        coming = self._coming.setdefault(place, {})
        coming[before] = state
        chosen, joined = self._chosen.get(place, {}).values(), {}
        for index in {index for each in (*chosen, *coming.values()) for index in each}:
            values = {each.get(index) for each in coming.values()} | {each[index] for each in chosen if index in each}
            made = _joined(values, place, index)
            if made is not None:
                joined[index] = made
        if self._states.get(place) != joined:
            self._states[place] = joined
            self._ahead.append(place)


def _tainted(item: Instruction, state: State, carry: int) -> list[Value]:
    """Return the values of the load that an instruction reads."""
    held = (state[index] for index in reads(item, carry) if index in state)
    return [value for value in held if value[0] is not Held.SWAP]


def _common(values: Iterable[Value]) -> tuple[int, int] | None:
    """Return the value that all of them are computed from, None if they have several."""
    several = {value for _, value in values}
    return several.pop() if len(several) == 1 else None


def _forget(state: State, value: tuple[int, int]) -> None:
    """Make unknown what depends on a value that a register takes anew."""
    state.update({index: (held, None) for index, (held, of) in state.items() if of == value})


def _compared(item: Instruction, state: State) -> Value | None:
    """Return what a comparison of the value with the result of the compare-and-swap yields; None for others."""
    if item.words[0] == "not" and isinstance(item.operands[1], Register):
        held, value = state[item.operands[1].index]
        opposite = {Held.EQUAL: Held.UNEQUAL, Held.UNEQUAL: Held.EQUAL}.get(held)
        return (opposite, value) if opposite else None
    if item.words[0] != "setp" or len(item.operands) != 3 or not isinstance(item.operands[0], Register):
        return None
    both = [state[each.index] for each in item.operands[1:] if isinstance(each, Register) and each.index in state]
    if {held for held, _ in both} != {Held.SWAP, Held.COPY}:
        return None
    made = {"eq": Held.EQUAL, "equ": Held.EQUAL, "ne": Held.UNEQUAL, "neu": Held.UNEQUAL}.get(item.words[1])
    return (made, next(value for held, value in both if held is Held.COPY)) if made else None


def _joined(values: set[Value | None], place: int, index: int) -> Value | None:
    """Return what a register holds at the start of a block, from its values at the ends of the blocks before."""
    old = {(held, None if of and of[0] == place and of[1] != index else of)
           for held, of in (each for each in values if each)}  # fmt: skip
    kinds = {held for held, _ in old}
    if kinds <= {Held.SWAP}:
        return (Held.SWAP, None) if kinds and None not in values else None
    if len(old) == 1 and (None not in values or kinds == {Held.DERIVED}):
        return old.pop()
    return (Held.COPY, (place, index)) if kinds <= {Held.SWAP, Held.COPY} else (Held.DERIVED, _common(old))
