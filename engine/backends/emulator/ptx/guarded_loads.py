"""Loads that the compiler makes ahead of a condition: it loads in all threads, and drops the value where the condition
is false.

    int r = -1; if (t == 0) r = s[0];    // setp.eq p, t, 0;  ld.shared v, [s];  selp r, v, -1, p

No lane reads s[0] in the source where the condition is false, and there the value has no effect. So only the lanes
that use the value take part in the checks of the load; nothing real is hidden. Memory is counted as the PTX has it.

Every use of the value, or of what a few instructions compute from it, has to choose by the same predicate: selp, or and
and or of predicates. The predicate must be known at the load: it is set before, or behind the load from values that are
known before it. Behind a branch that proves the condition (`if (t == 0 && s[0] > 3)`) the value may have any use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Instruction, Register
from engine.backends.emulator.ptx.traits import COMPUTING, registers_of, traits_of, uses_and_defs

_STRONG = frozenset(("volatile", "relaxed", "acquire", "mmio"))
_MOST_COMPUTED = 8  # instructions on the value: the compiler moves only a few ahead of a condition
_MOST_VISITS = 50  # of blocks


@dataclass(frozen=True)
class Guard:
    """The predicate with which a lane uses the loaded value. `made`: what sets it, if that stands behind the load."""

    predicate: Register
    made: Instruction | None = None


class _Used(Exception):
    """A lane may use the value whatever the predicate says."""


@lru_cache(maxsize=64)
def guarded_loads(program: Program) -> Mapping[Instruction, Guard]:
    """Return the loads of a program whose value only some lanes use."""
    found = {}
    wanted = _lead_to_a_choice(program)
    for block in program.blocks if wanted else ():
        for number, item in enumerate(block.body):
            if _may_be_guarded(item) and _flow(item, program.carry)[1] & wanted:
                guard = _Walk(program, block, number).guard()
                if guard is not None:
                    found[item] = guard
    return found


def guarding_registers(program: Program, block: BasicBlock) -> int:
    """Return the bit set of registers that the guards of a block's loads are read from."""
    known = guarded_loads(program)
    found = 0
    for guard in (known[item] for item in block.body if item in known) if known else ():
        found |= _flow(guard.made, program.carry)[0] if guard.made else 1 << guard.predicate.index
    return found


def _may_be_guarded(item: Instruction) -> bool:
    return item.words[0] == "ld" and not _STRONG & set(item.words) and item.space in ("global", "shared", "")


def _lead_to_a_choice(program: Program) -> int:
    """Return the bit set of registers from which a few instructions lead to a choice."""
    made = [(*_flow(item, program.carry), _is_choice(item)) for item in program.instructions if _computes(item)]
    wanted = 0
    for _ in range(_MOST_COMPUTED):
        before = wanted
        for uses, defs, chooses in made:
            wanted |= uses if chooses or defs & wanted else 0
        if wanted == before:
            break
    return wanted


def _is_choice(item: Instruction) -> bool:
    return item.words[0] == "selp" or (item.words[0] in ("and", "or") and item.words[-1] == "pred")


def _sets_predicate(item: Instruction) -> bool:
    return item.words[0] == "setp" and isinstance(item.operands[0], Register)


def _computes(item: Instruction) -> bool:
    traits = traits_of(item.opcode)
    return traits is COMPUTING or traits.head in ("mov", "setp")


@lru_cache(maxsize=1 << 14)
def _flow(item: Instruction, carry: int) -> tuple[int, int]:
    return uses_and_defs((item,), carry)


@dataclass(frozen=True)
class _State:
    """What holds behind an instruction, as bit sets: the registers with the `value`; those `written` since the load;
    of these the predicates that were `made` from values that are known at the load, and those that are a choice."""

    value: int
    written: int
    made: int
    chosen: int

    def joined(self, other: _State | None) -> _State:
        """Return what holds where two ways meet."""
        if other is None:
            return self
        value, written = self.value | other.value, self.written | other.written
        return _State(value, written, self.made & other.made, self.chosen & other.chosen)


class _Walk:
    """The ways of one load's value through the program."""

    def __init__(self, program: Program, block: BasicBlock, number: int) -> None:
        self._program, self._block, self._start = program, block, number + 1
        self._loaded = _flow(block.body[number], program.carry)[1]
        self._makers: dict[int, Instruction] = {}  # by the bit of the predicate, made or chosen
        self._computed = set[int]()
        self._guard: Guard | None = None

    def guard(self) -> Guard | None:
        """Return the guard by which all uses choose; None if there is none."""
        ahead, seen = [(self._block, self._start, _State(self._loaded, 0, 0, 0))], dict[int, _State]()
        try:
            for block, start, state in ahead:  # the list grows meanwhile
                after = self._through(block, start, state)
                for place in self._doubtful(block, after):
                    there, before = self._program.blocks[place], seen.get(place)
                    joined = replace(after, value=after.value & there.live_in).joined(before)
                    if joined.value and joined != before:
                        seen[place] = joined
                        ahead.append((there, 0, joined))
                if len(ahead) > _MOST_VISITS:
                    return None
        except _Used:
            return None
        return self._guard

    def _through(self, block: BasicBlock, start: int, state: _State) -> _State:
        """Return what holds at the end of a block."""
        for item in block.body[start:]:
            state = self._behind(item, state)
        end = block.terminator
        if end is not None and state.value:
            leaves = traits_of(end.opcode).control in ("call", "return") and state.value & block.live_out
            if leaves or _flow(end, self._program.carry)[0] & state.value:
                raise _Used
        return state

    def _doubtful(self, block: BasicBlock, state: _State) -> tuple[int, ...]:
        """Return the blocks behind a block that lanes without the condition may reach."""
        guard = block.terminator.guard if block.terminator else None
        if guard is None or not state.chosen >> guard.index & 1:
            return block.successors
        proved_if = self._makers[1 << guard.index].words[0] == "and"
        return block.successors[1:] if proved_if != guard.negated else block.successors[:1]

    def _behind(self, item: Instruction, state: _State) -> _State:
        uses, defs = _flow(item, self._program.carry)
        new, made, chosen = 0, state.made & ~defs, state.chosen & ~defs
        if uses & state.value:
            predicate = _choice(item, state.value)
            if predicate is None:
                new = self._computes(item, defs)
            else:
                self._choose(predicate, state)
                chosen |= defs if item.words[0] != "selp" and self._is_maker(item, defs) else 0
        elif _sets_predicate(item) and not uses & state.written and self._is_maker(item, defs):
            made |= defs
        return _State(state.value & ~defs | new, state.written | defs, made, chosen)

    def _is_maker(self, item: Instruction, predicate: int) -> bool:
        return self._makers.setdefault(predicate, item) is item

    def _choose(self, predicate: Register, state: _State) -> None:
        """Note a choice by a predicate."""
        bit = 1 << predicate.index
        guard = Guard(predicate, self._makers[bit] if state.made & bit else None)
        if state.written & ~state.made & bit or self._guard not in (None, guard):
            raise _Used
        self._guard = guard

    def _computes(self, item: Instruction, defs: int) -> int:
        """Return the registers in which an instruction puts what it computes from the value."""
        self._computed.add(id(item))
        if not _computes(item) or len(self._computed) > _MOST_COMPUTED:
            raise _Used
        return defs


def _choice(item: Instruction, value: int) -> Register | None:
    """Return the predicate with which an instruction uses the value, or without which it drops it; None: any."""
    if not _is_choice(item):
        return None
    one, two = (any(value >> index & 1 for index in registers_of(each)) for each in item.operands[1:3])
    if one == two:
        return None
    if item.words[0] == "selp":
        other, negated = item.operands[3], two
    else:
        other, negated = item.operands[2 if one else 1], item.words[0] == "or"
    if not isinstance(other, Register) or value >> other.index & 1:
        return None
    return Register(other.index, other.negated != negated)
