"""Numbers, units and outcomes as a reader wants them, and a number as a reader types it: everywhere the same.

whole_number("4M") -> 4194304        size_text(4194304) -> "2^22"        text_of("time_us", 12.34) -> "12.3 µs"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import isnan

from engine.records.counters import COUNTERS
from engine.records.measurement import Check

STATUS_WORDS = {
    "ok": "correct",
    "wrong": "wrong",
    "hazard": "hazard",
    "refused": "refused",
    "compile-error": "does not compile",
    "out-of-bounds": "out of bounds",
    "deadlock": "deadlock",
    "timeout": "timeout",
    "crashed": "crashed",
}
_TIMES = ("time_us", "low_us", "high_us", "lecture_time_us")
_SPEEDUPS = ("step", "cumulative", "ratio", "lecture_step", "lecture_cumulative")
_CPU_BADGE = "on the CPU: "
_HALF = re.compile(r"[\ud800-\udfff]")
_UNITS = {"k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30}


def whole_number(text: str) -> int:
    """Return the number that a user typed: "1000", "4,194,304", "4_194_304", "2^22", "4M". ValueError: no number."""
    plain = text.strip().replace(",", "").replace("_", "").replace(" ", "")
    base, power, exponent = plain.partition("^")
    if power:
        if not 0 <= int(exponent) < 64:
            raise ValueError(f"{text!r} is too large a power")
        number: int = int(base) ** int(exponent)
        return number
    if plain[-1:] in _UNITS:
        return int(plain[:-1]) * _UNITS[plain[-1]]
    return int(plain)


def source_lines(text: str) -> list[str]:
    """Return the lines of a source as compilers and editors count them: `splitlines` also ends one at a form feed and
    at separators of Unicode."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def digits(text: str) -> int | None:
    """Return the number that a text of digits alone is; None for any other text, and for more than 18 digits."""
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def without_halves(text: str) -> str:
    """Return the text with a sign for each half of a letter that JavaScript keeps as two: no file can hold a half."""
    return _HALF.sub("\ufffd", text)


def reason_text(error: Exception) -> str:
    """Return why something failed, in one line without a number or a path of the system: "Is a directory"."""
    inner = getattr(error, "reason", None)  # of urllib
    if isinstance(inner, Exception):
        return reason_text(inner)
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 from byte {error.start:,} on"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(getattr(error, "strerror", None) or error).strip().partition("\n")[0]


def text_of(key: str, value: object) -> str:
    """Return the text of a table cell: "12.3 µs", "1,203", "2.33×"; "" for a value that was not measured."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if not isinstance(value, int | float):
        return STATUS_WORDS.get(str(value), str(value)) if key.endswith("status") else str(value)
    if key in _TIMES:
        return time_text(value)
    if key in _SPEEDUPS:
        return f"{three_digits(value)}×"
    if key == "percent_of_peak":
        return "< 0.1%" if 0 < value < 0.1 else f"{three_digits(value)}%"
    if key == "n":
        return f"{value:,}"
    if key == "answer":
        return f"{value:,.10g}"
    if key in COUNTERS and value == int(value):
        return count_text(int(value))
    return three_digits(value)


def time_text(us: float) -> str:
    """Return a time with a suitable unit: "8.05 ms", "12.3 µs"."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{three_digits(us / size)} {unit}"
    return f"{three_digits(us)} µs"


def count_text(count: int) -> str:
    """Return a count that is readable from afar: "1,234", "12.3 M"."""
    for size, unit in ((10**9, "G"), (10**6, "M")):
        if count >= size:
            return f"{three_digits(count / size)} {unit}"
    return f"{count:,}"


def many(count: int, noun: str) -> str:
    """Return a count with its noun: "1 line", "1,234 lines"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def one_text(noun: str) -> str:
    """Return a noun with its article: "a uint32", "an int32"."""
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"


def size_text(n: int) -> str:
    """Return N as the lectures write it: "2^22", "1,000"."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else f"{n:,}"


def number_text(value: float) -> str:
    """Return an answer: an integer in full, "2,073,687,720"; a float with nine digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.9g}"


def place_text(check: Check, at: int) -> str:
    """Return where an element stands: "element 777", or "row 3, column 9"."""
    return f"row {at // check.columns:,}, column {at % check.columns:,}" if check.columns else f"element {at:,}"


def wrong_text(check: Check) -> str:
    """Return what is wrong with an answer: its first wrong element, both values, and how many are wrong."""
    values = f"{number_text(check.result)} instead of {number_text(check.expected)}"
    if check.at is None:
        return values
    others = check.wrong - 1
    more = "" if not others else ", and 1 more is wrong" if others == 1 else f", and {others:,} more are wrong"
    return f"{place_text(check, check.at)} is {values}{more}"


def sizes_text(sizes: Sequence[int]) -> str:
    """Return several N: "256, 512, 1,000", or "2^10, 2^11, … 2^30" if their ratio is constant."""
    ratios = {later / earlier for earlier, later in pairwise(sizes)}
    texts = [size_text(n) for n in sizes]
    return f"{texts[0]}, {texts[1]}, … {texts[-1]}" if len(sizes) > 4 and len(ratios) == 1 else ", ".join(texts)


def three_digits(value: float) -> str:
    """Return a number with about three digits: "1,203", "45.7", "2.33", "0.012"."""
    if value >= 99.95:
        return f"{value:,.0f}"
    if 0 < value < 0.095:
        return f"{value:.2g}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def cpu_badge(cpu: str) -> str:
    """Return the label beside the numbers of a rung that ran on the CPU."""
    return f"{_CPU_BADGE}{cpu}, one thread"


def cpu_named_in(badges: Sequence[str]) -> str | None:
    """Return the CPU that such a label names; None if no label does."""
    return next(
        (badge.removeprefix(_CPU_BADGE).partition(", ")[0] for badge in badges if badge.startswith(_CPU_BADGE)), None
    )
