"""What machine code of sm_90 says of when its instructions start: cycles that it asks for, waits, banks of registers.

An estimate without a GPU: how long a wait takes, and which other warps fill it, the code does not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_NOP, _FFMA = 0x118, 0x023
_FREE = 255  # the register that is 0 has no bank
_REGISTERS = 1  # the form of an instruction whose three operands are registers


@dataclass(frozen=True)
class Issue:
    """Of a piece of code that a warp walks through once.

    `cycles`: those that pass at least from its first instruction to the next after it, as each says how long the one
    behind it is held; without the waits. `waits`: the instructions that wait until something of no fixed duration is
    done, as loads are. `bank_conflicts`: the multiply-adds of floats (FFMA) that fetch two operands from one of the two
    banks of registers, even and odd, and take a cycle more; an operand that the FFMA before them kept is not fetched.
    The banks are a model fitted to a profiler's counters (docs/notes/fast-products.md). None: there is no FFMA.
    """

    cycles: int
    waits: int
    bank_conflicts: int | None


def issue_of(code: Sequence[int]) -> Issue:
    """What these instructions, each as a number of 16 bytes, say."""
    real = [one for one in code if one & 0x1FF != _NOP]
    return Issue(
        cycles=sum(max(1, one >> 105 & 15) for one in real),
        waits=sum(one >> 116 & 0x3F != 0 for one in real),
        bank_conflicts=_bank_conflicts([one for one in real if one & 0x1FF == _FFMA]),
    )


def _bank_conflicts(multiply_adds: Sequence[int]) -> int | None:
    """Those that fetch two operands or three from one bank; None of none. Bits 122 to 124 say which operands are kept
    for the next one that wants them in the same place."""
    kept: dict[int, int] = {}
    found = 0
    for one in multiply_adds:
        places = (0, 1, 2) if one >> 9 & 7 == _REGISTERS else (0, 2)  # else the second factor is no register
        operands = {place: one >> (24, 32, 64)[place] & 0xFF for place in places}
        fetched = {own for place, own in operands.items() if own not in (_FREE, kept.get(place))}
        found += max(Counter(own & 1 for own in fetched).values(), default=0) > 1
        kept = {place: own for place, own in operands.items() if one >> 122 + place & 1}
    return found if multiply_adds else None
