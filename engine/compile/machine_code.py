"""Analysis of sm_90 machine code: loops, multiply-adds, bytes in flight.

An instruction has 16 bytes, read as one number. Bits 0 to 8 are the operation, 9 to 11 its form, 12 to 15 the
predicate; bits 105 to 125 hold the stall count and the barriers that it waits for or sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.compile.assembly import SIZES, instructions_of
from engine.compile.control_flow import branch_target, is_certain

_NO_OPERATION, _FFMA = 0x118, 0x023
_FREE = 255  # the zero register has no bank
_REGISTERS = 1  # the form with three register operands


@dataclass(frozen=True)
class Issue:
    """Issue timing of a piece of code that a warp executes once.

    `cycles`: the least from its first instruction to the one after it, from the stall counts alone. `waits`:
    instructions that wait for an operation without a fixed latency, such as a load. `bank_conflicts`: the FFMAs that
    fetch two operands from one of the two register banks (even, odd) and take one more cycle; an operand in the reuse
    cache is not fetched. The bank model was fitted to a profiler's counters (docs/notes/fast-products.md). None: no
    FFMA.
    """

    cycles: int
    waits: int
    bank_conflicts: int | None


def issue_of(code: Sequence[int]) -> Issue:
    """Return the issue timing of these instructions, each a number of 16 bytes."""
    real = [one for one in code if one & 0x1FF != _NO_OPERATION]
    return Issue(
        cycles=sum(max(1, one >> 105 & 15) for one in real),
        waits=sum(one >> 116 & 0x3F != 0 for one in real),
        bank_conflicts=_bank_conflicts([one for one in real if one & 0x1FF == _FFMA]),
    )


def _bank_conflicts(multiply_adds: Sequence[int]) -> int | None:
    """Count the FFMAs with two or three operands in one bank; None without FFMAs.

    Bits 122 to 124 say which operands stay in the reuse cache for the same slot of the next instruction.
    """
    kept: dict[int, int] = {}
    found = 0
    for one in multiply_adds:
        places = (0, 1, 2) if one >> 9 & 7 == _REGISTERS else (0, 2)  # otherwise the second factor is not a register
        operands = {place: one >> (24, 32, 64)[place] & 0xFF for place in places}
        fetched = {own for place, own in operands.items() if own not in (_FREE, kept.get(place))}
        found += max(Counter(own & 1 for own in fetched).values(), default=0) > 1
        kept = {place: own for place, own in operands.items() if one >> 122 + place & 1}
    return found if multiply_adds else None


_MULTIPLY_ADDS = {0x023: "FFMA", 0x02B: "DFMA", 0x031: "HFMA2", 0x035: "HFMA2", 0x024: "IMAD", 0x025: "IMAD",
                  0x027: "IMAD", 0x03C: "HMMA", 0x037: "IMMA", 0x03F: "DMMA", 0x1F0: "HGMMA"}  # fmt: skip
_LOADS = (0x181, 0x180)  # LDG; LD, for an address whose memory the compiler does not know
_COPY, _COPIES_DONE, _WAIT = 0x1AE, 0x1AF, 0x11A  # LDGSTS, LDGDEPBAR, DEPBAR.LE
_BOXES = (0x1B4, 0x1BA)  # copy-engine instructions: UTMALDG, UBLKCP
_BRANCH, _EXIT, _NOP = 0x147, 0x14D, 0x118
_IMMEDIATE, _ZERO = 4, 255  # the form with an immediate second factor; the zero register
_PASSES = 8  # passes through a loop, after which its loads in flight no longer grow


@dataclass(frozen=True)
class Mix:
    """The number of instructions, and of multiply-adds by kind ("FFMA", "HGMMA", ...)."""

    instructions: int
    multiply_adds: Mapping[str, int]


@dataclass(frozen=True)
class MachineCode:
    """The machine code of a kernel. `whole`: all of it. `loop`: its innermost loop with the most multiply-adds; else
    the longest.

    `loop` excludes inner loops; None: the kernel has no loop. `issue`: its issue timing. `widest_load`: the most bytes
    per thread of one load from global memory (LDG) or unnamed memory (LD). `bytes_in_flight`: the most bytes per thread
    that are loaded before something waits for them, on the path with the most. None: there is no load, or the code does
    not show it, as for the `copy_engine`.
    """

    whole: Mix
    loop: Mix | None
    issue: Issue | None
    widest_load: int | None
    bytes_in_flight: int | None
    copy_engine: bool


def machine_code(code: bytes, floats: bool = True) -> MachineCode:
    """Analyse the machine code of one kernel. `floats`: count multiply-adds of floats; otherwise those of integers."""
    read = instructions_of(code)
    loops = loops_of(read)
    owned = [[read[at] for at in places] for places in _own(loops, len(read))]
    hottest = max(owned, key=lambda own: _rank(_mix(own), floats)) if owned else None
    sizes = [_size(one) for one in read if one & 0x1FF in (*_LOADS, _COPY)]
    boxes = any(one & 0x1FF in _BOXES for one in read)
    spans = [(0, len(read) - 1, 1), *((first, last, _PASSES) for first, last in loops)]
    return MachineCode(
        whole=_mix(read),
        loop=None if hottest is None else _mix(hottest),
        issue=None if hottest is None else issue_of(hottest),
        widest_load=max(sizes, default=None),
        bytes_in_flight=None if boxes or not sizes else max(_in_flight(read, *span) for span in spans),
        copy_engine=boxes,
    )


def sought(mix: Mix, floats: bool) -> int:
    """Count the multiply-adds of floats, or of integers."""
    return sum(count for kind, count in mix.multiply_adds.items() if (kind not in ("IMAD", "IMMA")) == floats)


def _rank(mix: Mix, floats: bool) -> tuple[int, int]:
    """Rank loops: more multiply-adds first, then fewer instructions."""
    found = sought(mix, floats)
    return found, -mix.instructions if found else mix.instructions


def _mix(code: Iterable[int]) -> Mix:
    real = [one for one in code if one & 0x1FF != _NOP]
    kinds = (_MULTIPLY_ADDS[one & 0x1FF] for one in real if one & 0x1FF in _MULTIPLY_ADDS and not _disguised(one))
    return Mix(len(real), dict(Counter(kinds).most_common()))


def _disguised(one: int) -> bool:
    """Recognise a move, addition or shift written as a multiply-add: 0 * b + c, a * 1 + c, a * 2^k + 0."""
    if one & 0x1FF in (0x03C, 0x037, 0x03F, 0x1F0):
        return False
    factor = one >> 32 & 0xFFFFFFFF
    power = one >> 9 & 7 == _IMMEDIATE and factor & (factor - 1) == 0
    whole = one & 0x1FF in (0x024, 0x025)
    return one >> 24 & 0xFF == _ZERO or (whole and power and (factor == 1 or one >> 64 & 0xFF == _ZERO))


def _size(one: int) -> int:
    return SIZES[one >> 73 & 7]


def _certain(one: int) -> bool:
    """Return whether the instruction is an unconditional jump or exit."""
    return one & 0x1FF in (_BRANCH, _EXIT) and is_certain(one)


def loops_of(code: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, last instruction) of every loop: from a branch's target to the branch, if no other path leads to
    it.

    Out-of-line code jumps back too, but is no loop.
    """
    found: dict[int, int] = {}
    for at, one in enumerate(code):
        if one & 0x1FF == _BRANCH and 0 <= branch_target(code, at) <= at:
            first = branch_target(code, at)
            if _reached(code, at, None) and not _reached(code, at, first):
                found[first] = max(at, found.get(first, at))
    return sorted(found.items())


def _reached(code: Sequence[int], wanted: int, closed: int | None) -> bool:
    """Return whether a thread can reach `wanted` without passing `closed`."""
    seen, ways = set() if closed is None else {closed}, [0]
    while ways:
        at = ways.pop()
        while at not in seen and 0 <= at < len(code):
            if at == wanted:
                return True
            seen.add(at)
            if code[at] & 0x1FF == _BRANCH:
                ways.append(branch_target(code, at))
            if _certain(code[at]):
                break
            at += 1
    return False


def _own(loops: Sequence[tuple[int, int]], length: int) -> list[list[int]]:
    """Return for each loop the instructions that are in no inner loop."""
    owned: dict[tuple[int, int], list[int]] = {loop: [] for loop in loops}
    for at in range(length):
        around = [loop for loop in loops if loop[0] <= at <= loop[1]]
        if around:
            owned[min(around, key=lambda loop: loop[1] - loop[0])].append(at)
    return list(owned.values())


def _in_flight(code: Sequence[int], first: int, last: int, passes: int) -> int:
    """Return the most bytes in flight over several passes through the code. Where two paths join, the larger number
    counts."""
    now: _Flying | None = _Flying()
    most = 0
    for _ in range(passes):
        met: dict[int, _Flying] = {}
        for at in range(first, last + 1):
            ways = [way for way in (now, met.get(at)) if way is not None]
            now = max(ways, key=_Flying.total, default=_Flying()).after(code[at])
            most = max(most, now.total())
            if code[at] & 0x1FF == _BRANCH and at < (to := branch_target(code, at)) <= last:
                met[to] = max(now, met.get(to, now), key=_Flying.total)
            if _certain(code[at]) and at < last:
                now = None
    return most


@dataclass(frozen=True)
class _Flying:
    """Bytes in flight. A load names one of six scoreboards, and its consumer waits until that is clear.

    Asynchronous copies are `gathered` in groups; DEPBAR.LE leaves the last few groups in flight.
    """

    boards: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    gathered: int = 0

    def total(self) -> int:
        return self.gathered + sum(map(sum, self.boards.values()))

    def after(self, one: int) -> _Flying:
        """Return the bytes in flight after this instruction has waited and started."""
        operation, board, mask = one & 0x1FF, one >> 110 & 7, one >> 116 & 0x3F
        boards = {name: sizes for name, sizes in self.boards.items() if not mask >> name & 1} if mask else self.boards
        if operation in _LOADS:
            return _Flying({**boards, board: (*boards.get(board, ()), _size(one))}, self.gathered)
        if operation == _COPY:
            return _Flying(boards, self.gathered + _size(one))
        if operation == _COPIES_DONE:
            return _Flying({**boards, board: (*boards.get(board, ()), self.gathered)})
        if operation == _WAIT:
            left, waited = one >> 38 & 0x3F, one >> 44 & 7
            return _Flying({**boards, waited: boards.get(waited, ())[-left:] if left else ()}, self.gathered)
        return self if boards is self.boards else _Flying(boards, self.gathered)
