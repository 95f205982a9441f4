"""Loads that the compiler makes ahead of a condition: it loads in all threads, and drops the value where the condition
is false.

    int r = -1; if (t == 0) r = s[0];                    // setp.eq p, t, 0;  ld.shared v, [s];  selp r, v, -1, p
    int v; if (t == 0) v = s[0]; ... if (t == 0) f(v);   // ld.shared v, [s];  ...  @p bra

No lane reads s[0] in the source where the condition is false, and there the value has no effect. So only the lanes
that use the value take part in the checks of the load; nothing real is hidden. Memory is counted as the PTX has it.

Every use of the value, or of what a few instructions compute from it, has to stand behind a branch or a choice (selp,
and and or of predicates) by a predicate that is known at the load: it is set before, or behind the load from values
that are known before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Instruction, Register
from engine.backends.emulator.ptx.traits import (
    COMPUTING,
    is_ordinary_load,
    registers_of,
    traits_of,
    uses_and_defs,
    writes,
)

_MOST_COMPUTED = 8  # instructions on the value: the compiler moves only a few ahead of a condition
_MOST_VISITS, _MOST_VISITS_BEYOND = 50, 20  # of blocks, if the walk ends at a choice and if not
_MOST_USES = 8  # with conditions of their own


@dataclass(frozen=True)
class Condition:
    """That a predicate register `holds` or does not. `made`: what sets it, if that stands behind the load."""

    index: int
    holds: bool
    made: Instruction | None = None


# The lanes that use a loaded value: each use has the conditions that all hold for its lanes.
Guard = tuple[tuple[Condition, ...], ...]


class _Used(Exception):
    """A lane may use the value whatever the predicate says."""


@lru_cache(maxsize=64)
def guarded_loads(program: Program) -> Mapping[Instruction, Guard]:
    """Return the loads of a program whose value only some lanes use."""
    found = {}
    wanted = _lead_to_a_choice(program)
    for block in program.blocks:
        for number, item in enumerate(block.body):
            loaded = _flow(item, program.carry)[1] if _may_be_guarded(item) else 0
            guard = _Walk(program, block, number, True).guard() if loaded & (wanted | block.live_out) else None
            if guard is None and loaded & wanted:
                guard = _Walk(program, block, number, False).guard()
            if guard is not None:
                found[item] = guard
    return found


def guarding_registers(program: Program, block: BasicBlock) -> int:
    """Return the bit set of registers that the guards of a block's loads are read from."""
    known = guarded_loads(program)
    found = 0
    for guard in (known[item] for item in block.body if item in known) if known else ():
        for one in (condition for use in guard for condition in use):
            found |= _flow(one.made, program.carry)[0] if one.made else 1 << one.index
    return found


def _may_be_guarded(item: Instruction) -> bool:
    return is_ordinary_load(item) and item.space in ("global", "shared", "")


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


_Known = frozenset[Condition]
_NOTHING: _Known = frozenset()


@dataclass(frozen=True)
class _State:
    """What holds behind an instruction. `values`: the registers with the value, each with conditions of the load
    without which it has another one; `known`: conditions that hold here. `written`: the bit set of registers that were
    written since the load; `implied`: what holds if a predicate among them is true, and if it is false."""

    values: Mapping[int, _Known]
    written: int
    known: _Known
    implied: Mapping[int, tuple[_Known, _Known]]

    @cached_property
    def followed(self) -> int:
        """Return the bit set of registers of which something is known here."""
        return sum(1 << index for index in self.values.keys() | self.implied.keys())

    def joined(self, other: _State | None) -> _State:
        """Return what holds where two ways meet."""
        if other is None:
            return self
        values = {index: each | self.known for index, each in self.values.items()}
        for index, each in other.values.items():
            values[index] = (each | other.known) & values.get(index, each | other.known)
        implied = {}
        for index in self.implied.keys() & other.implied.keys():
            (yes, no), (true, false) = self.implied[index], other.implied[index]
            implied[index] = yes & true, no & false
        return _State(values, self.written | other.written, self.known & other.known, implied)

    def restricted(self, registers: int) -> _State:
        """Return the same for the values in some registers, given as a bit set."""
        return replace(self, values={index: each for index, each in self.values.items() if registers >> index & 1})

    def conditions_of(self, registers: int) -> _Known | None:
        """Return the conditions under which any of these registers has the value; None if none has."""
        found = [each for index, each in self.values.items() if registers >> index & 1]
        return self.known | frozenset.intersection(*found) if found else None

    def implied_by(self, predicate: Register, holds: bool) -> _Known:
        """Return the conditions that hold if a predicate does, or does not."""
        index, holds = predicate.index, holds != predicate.negated
        if self.written >> index & 1:
            return self.implied.get(index, (_NOTHING, _NOTHING))[not holds]
        return frozenset((Condition(index, holds),))


class _Walk:
    """The ways of one load's value through the program. `beyond`: also behind a choice."""

    def __init__(self, program: Program, block: BasicBlock, number: int, beyond: bool) -> None:
        self._program, self._block, self._start, self._beyond = program, block, number + 1, beyond
        self._loaded = writes(block.body[number], program.carry)
        self._computed = set[int]()
        self._uses: dict[int, _Known] = {}  # the conditions of each use, by the instruction's identity

    def guard(self) -> Guard | None:
        """Return the conditions of all uses; None if there is a use without any, or none at all."""
        start = _State(dict.fromkeys(self._loaded, _NOTHING), 0, _NOTHING, {})
        ahead, seen = [(self._block, self._start, start)], dict[int, _State]()
        try:
            for block, first, state in ahead:  # the list grows meanwhile
                for place, after in self._through(block, first, state):
                    there, before = self._program.blocks[place], seen.get(place)
                    joined = after.restricted(there.live_in).joined(before)
                    if joined.values and joined != before:
                        seen[place] = joined
                        ahead.append((there, 0, joined))
                if len(ahead) > (_MOST_VISITS_BEYOND if self._beyond else _MOST_VISITS):
                    return None
        except _Used:
            return None
        uses = set(self._uses.values())
        least = [use for use in uses if not any(other < use for other in uses)]
        if len(least) > _MOST_USES:
            return None
        return tuple(tuple(sorted(use, key=lambda one: (one.index, one.holds))) for use in least) or None

    def _through(self, block: BasicBlock, start: int, state: _State) -> list[tuple[int, _State]]:
        """Return the blocks behind a block, each with what holds at its start."""
        for item in block.body[start:]:
            state = self._behind(item, state)
        end = block.terminator
        if end is None or not state.values:
            return [(place, state) for place in block.successors]
        leaves = block.live_out if traits_of(end.opcode).control in ("call", "return") else 0
        self._use(end, state.conditions_of(_flow(end, self._program.carry)[0] | leaves))
        if end.guard is None or len(block.successors) != 2:
            return [(place, state) for place in block.successors]
        return [
            (place, replace(state, known=state.known | state.implied_by(end.guard, taken)))
            for place, taken in zip(block.successors, (True, False), strict=True)
        ]

    def _behind(self, item: Instruction, state: _State) -> _State:
        """Return what holds behind an instruction."""
        uses, defs = _flow(item, self._program.carry)
        if not (uses | defs) & state.followed and item.words[-1] != "pred" and item.words[0] != "setp":
            return _State(state.values, state.written | defs, state.known, state.implied)
        conditions, values, implied = state.conditions_of(uses), dict(state.values), dict(state.implied)
        if defs & state.followed:
            values = {index: each for index, each in values.items() if not defs >> index & 1}
            implied = {index: each for index, each in implied.items() if not defs >> index & 1}
        implied |= _implications(item, state, uses)
        choice = None if conditions is None else _choice(item, state.values)
        if conditions is not None and choice is not None:
            conditions |= state.implied_by(choice, True)
        if conditions is not None and (choice is None or self._beyond) and self._is_followed(item):
            values |= dict.fromkeys(writes(item, self._program.carry), conditions)
        else:
            self._use(item, conditions)
        return _State(values, state.written | defs, state.known, implied)

    def _is_followed(self, item: Instruction) -> bool:
        """Return whether an instruction computes something from the value, and is one of the first to do so."""
        if not _computes(item):
            return False
        if len(self._computed) < _MOST_COMPUTED:
            self._computed.add(id(item))
        return id(item) in self._computed

    def _use(self, item: Instruction, conditions: _Known | None) -> None:
        """Note a use of the value under some conditions; None: it is none."""
        if conditions is None:
            return
        conditions &= self._uses.get(id(item), conditions)
        if not conditions:
            raise _Used
        self._uses[id(item)] = conditions


def _implications(item: Instruction, state: _State, uses: int) -> dict[int, tuple[_Known, _Known]]:
    """Return what the predicate that an instruction sets implies, by its register; nothing for other instructions."""
    target = item.operands[0] if item.operands else None
    if not isinstance(target, Register):
        return {}
    if _sets_predicate(item) and not uses & state.written:
        index = target.index
        return {index: (frozenset((Condition(index, True, item),)), frozenset((Condition(index, False, item),)))}
    if item.words[-1] != "pred" or not all(isinstance(each, Register) for each in item.operands):
        return {}
    sources = [(state.implied_by(each, True), state.implied_by(each, False))
               for each in item.operands[1:] if isinstance(each, Register)]  # fmt: skip
    if item.words[0] in ("mov", "not"):
        yes, no = sources[0]
        return {target.index: (yes, no) if item.words[0] == "mov" else (no, yes)}
    if item.words[0] not in ("and", "or"):
        return {}
    (one, other), (first, second) = sources
    return {target.index: (one | first, other & second) if item.words[0] == "and" else (one & first, other | second)}


def _choice(item: Instruction, values: Mapping[int, object]) -> Register | None:
    """Return the predicate without which an instruction drops the value; None if there is none."""
    if not _is_choice(item):
        return None
    one, two = (any(index in values for index in registers_of(each)) for each in item.operands[1:3])
    if one == two:
        return None
    if item.words[0] == "selp":
        other, negated = item.operands[3], two
    else:
        other, negated = item.operands[2 if one else 1], item.words[0] == "or"
    if not isinstance(other, Register) or other.index in values:
        return None
    return Register(other.index, other.negated != negated)
