"""The answer of a run as HTML: the first elements of an array above the reference's, and the time of the run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from engine.catalogue import KERNELS, Kernel
from engine.records import Check, Measurement

SHOWN, SHOWN_IN_HALL = 16, 8
WHOLE = 1e9  # a whole float below it, such as a count, is shown with all its digits
DIGITS = 6.5  # that fit a cell; longer numbers take cells twice as wide, half as many of them
# Kernels whose threads reserve their places: their results lie packed, in the order of arrival.
_PACKED = {"filter_atomic", "filter_aggregated", "reserve_buffer"}


def blank_html(kernel: Kernel, count: int, shown: int) -> str:
    """Return the strip before there is an answer of `count` elements, as high as the one that will stand there."""
    bar = 0.0 if _counts(kernel.name) else None
    cells = "".join(_cell(place, "·", None, False, bar) for place in range(min(shown, count)))
    return _strip(f"The answer: {count:,} numbers, not run yet.", cells)


def strip_html(measurement: Measurement | None, shown: int = SHOWN) -> str:
    """Return the strip of elements; "" without a run, or if the answer is a single number.

    A histogram has bars. An element that misses by more than its bound is marked; if all of them lie behind the first
    ones, the strip begins there.
    """
    checked = measurement.check if measurement else None
    if measurement is None or checked is None or not checked.answer:
        return ""
    off = set(checked.off)
    begin, values = _first(checked, shown)
    if wide := _wide(values):
        begin, values = _first(checked, shown // 2)
    bars = [_share(value, values) for value in values] if _counts(measurement.kernel) else None
    cells = "".join(
        _cell(
            place,
            _number(value),
            checked.first[place] if checked.first else None,
            place in off,
            None if bars is None else bars[place - begin],
        )
        for place, value in enumerate(values, begin)
    )
    return _strip(_caption(measurement, checked, len(values)), cells, wide)


def _first(checked: Check, shown: int) -> tuple[int, Sequence[float | None]]:
    """Return (place of the first, the shown elements), with an element that misses, if one does."""
    answer, off = checked.answer, checked.off
    begin = max(0, min(min(off), len(answer) - shown)) if off and min(off) >= shown else 0
    return begin, answer[begin : begin + shown]


def array_html(name: str, dtype: str, count: int, first: Sequence[float | int | None]) -> str:
    """Return the first elements of an array without a reference."""
    wide = _wide(first[:SHOWN])
    shown = SHOWN // 2 if wide else SHOWN
    words = f"{name}: {count:,} x {dtype}" + (f", the first {min(shown, len(first))}" if count > shown else "")
    cells = "".join(_cell(at, _number(value), None, False, None) for at, value in enumerate(first[:shown]))
    return _strip(words, cells, wide)


def _wide(values: Sequence[float | None]) -> bool:
    """Whether a cell would cut one of the numbers."""
    texts = map(_number, values)
    return any(len(text) - 0.5 * sum(text.count(narrow) for narrow in "-.") > DIGITS for text in texts)


def _strip(caption: str, cells: str, wide: bool = False) -> str:
    said = f'<figcaption title="{escape(caption)}">{escape(caption)}</figcaption>'
    return f'<figure class="answer{" wide" if wide else ""}">{said}{cells}</figure>'


def _caption(m: Measurement, checked: Check, shown: int) -> str:
    count = checked.count or shown
    what = f"{count:,} counts" if _counts(m.kernel) else f"{count:,} numbers"
    if m.kernel in _PACKED:
        what += f", packed by {m.choice.n:,} threads"
    first = f", the first {shown}" if count > shown else ""
    if checked.first is None:
        return f"The answer: {what}{first}. Another order is as right."
    return f"The answer: {what}{first}; below each, the reference."


def _counts(kernel: str) -> bool:
    """Whether element i of the answer counts the value i."""
    own = KERNELS[kernel].parameter if kernel in KERNELS else None
    return own is not None and own.name == "BINS"


def _share(value: float | None, values: Sequence[float | None]) -> float:
    largest = max((v for v in values if v is not None), default=0)
    return max(0.0, value / largest) if value is not None and largest > 0 else 0.0


def _cell(place: int, value: str, expected: float | None, off: bool, bar: float | None) -> str:
    drawn = "" if bar is None else f'<i style="--share:{bar:.3f}"></i>'
    wanted = "&nbsp;" if expected is None else _number(expected)
    return f'<span class="{"off" if off else ""}"><u>{place}</u>{drawn}<b>{value}</b><s>{wanted}</s></span>'


def _number(value: float | None) -> str:
    if value is None:
        return "NaN"
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < WHOLE)
    return f"{value:.0f}" if whole else f"{value:.4g}"


NOW = timedelta(seconds=45)


def when_ran(utc: str, zone: str | None, now: datetime | None = None) -> str:
    """Return "run just now, 14:03:22", "run at 13:40" today, or "run on 2026-11-20"; "" without a time.

    `utc`: ISO 8601; `zone`: the reader's, such as "Europe/Berlin"; without one, UTC is named.
    """
    if not utc:
        return ""
    place = ZoneInfo(zone) if zone else UTC
    then, today = datetime.fromisoformat(utc).astimezone(place), (now or datetime.now(UTC)).astimezone(place)
    named = "" if zone else " UTC"
    if today - then < NOW:
        return f"run just now, {then:%H:%M:%S}{named}"
    return f"run at {then:%H:%M}{named}" if then.date() == today.date() else f"run on {then:%Y-%m-%d}"
