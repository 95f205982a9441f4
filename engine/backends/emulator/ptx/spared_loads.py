"""Loads from shared memory that may take bytes which no thread has set: padding, unused fields, bits beside a field.

    float4 p = s[t]; out[t] = p.x + p.y;    // ld.shared.v4: nobody reads the register of p.w
    Point q = s[t]; other[t] = q;           // the compiler copies the padding as bytes or words of their own
    s[t].bits = v;                          // ld.shared, and with a mask, or, st.shared: the other bits stay

A value that is only copied is still a mistake if nothing beside it was set, as in a copy of a whole structure that
nobody has filled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import WIDTHS, Address, Immediate, Instruction, Vector
from engine.backends.emulator.ptx.traits import reads, registers_of

_BITWISE = frozenset(("and", "or", "xor", "lop3", "bfi", "cvt"))
_MOST_STEPS = 8  # instructions from a load to a store
_ALL = (1 << 64) - 1  # the bits of a register


class Use(Enum):
    """What a program does with one byte of a loaded value."""

    COUNTED = "anything else: an unset value is a mistake"
    COPIED = "it is only stored, beside other parts"
    NONE = "nobody reads it, or its bits stay where they are"


@lru_cache(maxsize=64)
def spared_loads(program: Program) -> Mapping[Instruction, tuple[Use, ...]]:
    """Return the uses of the bytes of the loads of which not every byte counts."""
    loads = [
        item
        for block in program.blocks
        for item in block.body
        if item.words[0] == "ld" and item.space in ("shared", "") and "volatile" not in item.words
    ]
    if not loads:
        return {}
    readers, alike, found = _Readers(program), Counter(map(_family, loads)), {}
    for item in loads:
        parts = item.operands[0].items if isinstance(item.operands[0], Vector) else (item.operands[0],)
        beside = len(parts) > 1 or (item.words[-1] in ("u8", "s8", "b8") and alike[_family(item)] > 1)
        size = WIDTHS[item.words[-1]] // 8
        uses = tuple(use for part in parts for use in readers.uses(item, [*registers_of(part)], beside, size))
        if set(uses) != {Use.COUNTED}:
            found[item] = uses
    return found


def _family(item: Instruction) -> tuple[int, object]:
    """Return what the loads of one copy of a structure have in common: the line and the base address."""
    return item.line, _address(item).base


def _address(item: Instruction) -> Address:
    return next(operand for operand in item.operands if isinstance(operand, Address))


class _Readers:
    """The instructions of a program by the registers that they read."""

    def __init__(self, program: Program) -> None:
        self._of: dict[int, list[Instruction]] = defaultdict(list)
        ends = (block.terminator for block in program.blocks if block.terminator)
        for item in (*program.instructions, *ends):
            for index in set(reads(item, program.carry)):
                self._of[index].append(item)

    def uses(self, load: Instruction, part: list[int], beside: bool, size: int) -> list[Use]:
        """Return the uses of the `size` bytes of a part of a load. `beside`: as of `use`."""
        use, taken = self.use(load, part, beside), _ALL
        if use is Use.COUNTED and len(part) == 1:
            taken = self._taken(part[0], _MOST_STEPS)
        return [use if taken >> 8 * byte & 255 else Use.NONE for byte in range(size)]

    def _taken(self, index: int, steps: int) -> int:
        """Return the bits of a register that its readers take: some mask or shift it first."""
        bits = 0
        for item in self._of[index]:
            number = next((each.value for each in item.operands[1:] if isinstance(each, Immediate)), -1)
            if item.words[0] == "and":
                bits |= number & _ALL
            elif item.words[0] == "shr" and item.words[-1][0] in "ub" and number >= 0 and steps:
                bits |= self._taken(next(registers_of(item.operands[0])), steps - 1) << number
            else:
                return _ALL
        return bits

    def use(self, load: Instruction, part: Iterable[int], beside: bool) -> Use:
        """Return the use of a part of a load. `beside`: the load, or one of its line, has other parts."""
        readers = [(item, index) for index in part for item in self._of[index]]
        if all(_clears_bits(item) and self._stays(load, item, _MOST_STEPS) for item, _ in readers):
            return Use.NONE
        return Use.COPIED if beside and all(_copies(item, index) for item, index in readers) else Use.COUNTED

    def _stays(self, load: Instruction, item: Instruction, steps: int) -> bool:
        """Return whether the result of a bitwise instruction only goes back to the place of the load."""
        readers = [(each, index) for index in registers_of(item.operands[0]) for each in self._of[index]]
        return bool(steps and readers) and all(
            (_copies(each, index) and _is_place_of(load, each))
            or (each.words[0] in _BITWISE and each.words[-1] != "pred" and self._stays(load, each, steps - 1))
            for each, index in readers
        )


def _clears_bits(item: Instruction) -> bool:
    """Return whether an instruction makes room for a bit field."""
    return item.words[0] == "and" and any(isinstance(each, Immediate) for each in item.operands[1:])


def _copies(item: Instruction, index: int) -> bool:
    """Return whether an instruction is an ordinary store of a register, which is no part of its address."""
    ordinary = item.words[0] == "st" and "volatile" not in item.words
    return ordinary and index not in registers_of(_address(item))


def _is_place_of(load: Instruction, store: Instruction) -> bool:
    one, two = _address(load), _address(store)
    return one.base == two.base and 0 <= two.offset - one.offset < WIDTHS[load.words[-1]] // 8
