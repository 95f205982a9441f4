"""Which lines of a long source are folded on a slide, so that what is left is seen at once, and from the back row."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import wrap
from typing import Any

MOST_GONE = 8  # lines that are no longer there, shown at once; more unfold
# Rows of a slide that a blank line takes, and a place where folded lines stood that are gone; a fold takes one.
BLANK = STRIP = 0.5
STEPS = 2  # of a row: all heights are multiples of a half
# What it is worth to see a line: that a kernel begins, what is new, what was there before it, what is near to that.
HEAD, NEW, GONE, NEAR, KERNEL, HELPER = 100.0, 10.0, 4.0, (5.0, 4.0, 3.0), 2.0, 1.0
BARE, COMMENT, OPENS = 0.3, 0.6, 1.5  # of that, where a line has no word, only words, or begins a block
LOOP, DECLARED = 1.5, 0.5  # of that again in a loop of the kernel, where its work is done, and outside of all functions
LONG = 0.6  # of that again for each further row
LATER = 0.01  # less for each line further down, so that of equals the first are seen
FOLD = 3.0  # what it costs to read a fold


@dataclass(frozen=True)
class Room:
    """What of a source is seen at once, in the smallest type that the back row can read."""

    rows: int = 21
    columns: int = 64


_DECLARED = re.compile(r"#|(constexpr|struct|union|typedef|using)\b")
SLIDE = Room()  # of a window that is 16 wide and 9 high, beside a plot


@dataclass(frozen=True)
class Shown:
    """What is not folded, by numbers from 1: `lines`, and the `places` where the lines that are gone are shown, too.

    `rows`: how many rows that takes, the folds included.
    """

    lines: frozenset[int]
    places: frozenset[int]
    rows: float


def rows_of(lines: Collection[str], columns: int = SLIDE.columns) -> float:
    """How many rows of a slide the lines take."""
    return sum(_height(line, columns) for line in lines)


def all_shown(lines: Sequence[str], start: int, gone: Mapping[int, Sequence[str]], room: Room = SLIDE) -> Shown:
    """All lines below the first `start`; `gone`: the lines that are no longer there, by the line above which they
    stood. Many of those are folded all the same."""
    few = sum(map(len, gone.values())) <= MOST_GONE
    was = [line for place in gone.values() for line in place]
    rows = rows_of(lines[start:], room.columns) + (rows_of(was, room.columns) if few else STRIP * len(gone))
    return Shown(frozenset(range(start + 1, len(lines) + 1)), frozenset(gone if few else ()), rows)


@lru_cache(maxsize=4096)
def _height(line: str, columns: int) -> float:
    """Rows of one line, which is broken between words and goes on further right."""
    if not line.strip():
        return BLANK
    return 1 if len(line) <= columns else len(wrap(line, columns, subsequent_indent="    ", break_on_hyphens=False))


def unfolded(
    lines: Sequence[str], start: int, marked: Collection[int], gone: Mapping[int, Sequence[str]], room: Room
) -> Shown:
    """What to show of the lines below the first `start`, of which those in `marked` are new: all of them if there is
    `room`, else those that are worth most together.

    A knapsack: `best` has for each number of half rows, and whether the last line is folded, the most that the lines so
    far can be worth, and which of them are seen for that: a number, negative where what is gone above it is, too.
    """
    whole = all_shown(lines, start, gone, room)
    if whole.rows <= room.rows and len(whole.places) == len(gone):
        return whole
    worth = _worth(lines, start, marked, room)
    best: dict[tuple[int, bool], tuple[float, _Seen]] = {(0, False): (0.0, ())}
    for number in range(start + 1, len(lines) + 1 + (len(lines) + 1 in gone)):
        high = _steps(lines[number - 1 : number], room)  # nothing behind the last line
        was, value = gone.get(number, ()), worth.get(number, 0.0)
        ways = [(high + (round(STRIP * STEPS) if was else 0), value, number)]
        if 0 < len(was) <= MOST_GONE:
            ways.append((high + _steps(was, room), value + sum(GONE * _weight(line, room) for line in was), -number))
        following: dict[tuple[int, bool], tuple[float, _Seen]] = {}
        for (used, folded), (so_far, seen) in best.items():
            fold = 0 if folded else 1
            hidden = (used + fold * STEPS, True, so_far - fold * FOLD, seen)
            for rows, last, now, kept in (
                hidden,
                *((used + rows, False, so_far + more, (which, seen)) for rows, more, which in ways),
            ):
                if rows <= room.rows * STEPS and now > following.get((rows, last), _NOTHING)[0]:
                    following[rows, last] = now, kept
        best = following
    (used, _), (_, seen) = max(best.items(), key=lambda entry: entry[1][0])
    numbers = _numbers(seen)
    return Shown(
        frozenset(abs(number) for number in numbers if abs(number) <= len(lines)),
        frozenset(-number for number in numbers if number < 0),
        used / STEPS,
    )


_Seen = tuple[Any, ...]  # (the last line that is seen, those before it), or ()
_NOTHING = (float("-inf"), ())


def _steps(lines: Sequence[str], room: Room) -> int:
    return round(rows_of(lines, room.columns) * STEPS)


def _numbers(seen: _Seen) -> list[int]:
    numbers = []
    while seen:
        last, seen = seen
        numbers.append(last)
    return numbers


def _worth(lines: Sequence[str], start: int, marked: Collection[int], room: Room) -> dict[int, float]:
    """What it is worth to see each line."""
    helpers = {number for body in _helpers(lines, start) for number in body}
    heads = {n for n in range(start + 1, len(lines) + 1) if _begins_kernel(lines[n - 1], lines[n - 2])}
    looped, declared = _looped(lines, start) - helpers, _declared(lines, start)
    # A new line by itself tells more than one of many.
    alone = {number: 1 + 1 / len(run) for run in runs(sorted(marked)) for number in run}
    worth = {}
    for number in range(start + 1, len(lines) + 1):
        line = lines[number - 1]
        away = min((abs(number - each) for each in marked), default=len(lines))
        plain = HELPER if number in helpers else KERNEL
        value = (
            HEAD
            if number in heads
            else NEW * alone[number]
            if not away
            else NEAR[away - 1]
            if away <= len(NEAR)
            else plain
        )
        where = LOOP if number in looped else DECLARED if number in declared else 1
        worth[number] = value * where * _weight(line, room) - LATER * number
    return worth


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Neighbouring numbers together."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


def _weight(line: str, room: Room) -> float:
    words = line.strip()
    if not any(map(str.isalnum, words)):
        return BARE
    kind = COMMENT if words.startswith("//") else OPENS if words.endswith("{") else 1
    return kind * (1 + LONG * (_height(line, room.columns) - 1))


def _helpers(lines: Sequence[str], start: int) -> list[range]:
    """The bodies of the functions that the kernel calls, their closing braces included."""
    found, opened = [], None
    for number, line in enumerate(lines[start:], start + 1):
        if "__device__" in line and line[0] != " " and not line.rstrip().endswith(";"):
            opened = number + 1
        elif line.startswith("}") and opened is not None:
            found.append(range(opened, number + 1))
            opened = None
    return found


def _looped(lines: Sequence[str], start: int) -> set[int]:
    """Loops with their heads: a head, and what stands further right below it."""
    found, loops = set(), list[int]()  # `loops`: how far right the heads stand of those that are open
    for number, line in enumerate(lines[start:], start + 1):
        indent = len(line) - len(line.lstrip())
        while line.strip() and loops and indent <= loops[-1]:
            loops.pop()
        if line.lstrip().startswith(("for (", "while (", "do ")):
            loops.append(indent)
        if loops:
            found.add(number)
    return found


def _begins_kernel(line: str, before: str) -> bool:
    """It says __global__, or it is the line below, where the kernel's name stands behind its launch bounds."""
    return "__global__" in line or ("__launch_bounds__" in before and line[:1] != "{")


def _declared(lines: Sequence[str], start: int) -> set[int]:
    """Lines that stand in no function: constants, records and macros."""
    return {number for number in range(start + 1, len(lines) + 1) if _DECLARED.match(lines[number - 1])}
