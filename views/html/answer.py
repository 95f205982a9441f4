"""The answer of a run as HTML: the first elements of an array above the reference's, and the time of the run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from engine.catalogue import KERNELS, Kernel
from engine.records import Check, Measurement
from engine.records.words import place_text

SHOWN, SHOWN_IN_HALL = 16, 8
WHOLE = 1e9  # smaller whole floats, such as counts, are shown with all digits
DIGITS = 6.5  # characters of a cell; longer numbers take double cells, half as many of them


def blank_html(kernel: Kernel, count: int, shown: int) -> str:
    """Return the empty strip for an answer of `count` elements, as high as the later full one."""
    bar = 0.0 if _counts(kernel.name) else None
    cells = "".join(_cell(str(place), "·", None, False, bar) for place in range(min(shown, count)))
    return _strip(f"The answer: {count:,} numbers, not run yet.", cells)


def strip_html(measurement: Measurement | None, shown: int = SHOWN) -> str:
    """Return the strip of elements; "" without a run, or if the answer is a single number.

    A histogram has bars. An element outside its bound is marked; if there are such elements, but none among the first
    ones, the strip begins at one of them.
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
            _place(begin + number, checked),
            _number(value),
            checked.first[begin - checked.begin + number] if checked.first else None,
            begin + number in off,
            None if bars is None else bars[number],
        )
        for number, value in enumerate(values)
    )
    return _strip(_caption(measurement, checked, len(values)), cells, wide)


def _place(place: int, checked: Check) -> str:
    """Return the label of an element: its index, or the row and the column in a wrong matrix."""
    if not checked.columns or checked.at is None:
        return str(place)
    return "{},{}".format(*divmod(place, checked.columns))


def _first(checked: Check, shown: int) -> tuple[int, Sequence[float | None]]:
    """Return (index of the first, the shown elements), with a wrong element if there is one."""
    answer, skipped = checked.answer or (), 0
    first_off = min(checked.off) - checked.begin if checked.off else 0
    if first_off >= shown:
        skipped = max(0, min(first_off, len(answer) - shown))
    return checked.begin + skipped, answer[skipped : skipped + shown]


def array_html(name: str, dtype: str, count: int, first: Sequence[float | int | None]) -> str:
    """Return the first elements of an array without a reference."""
    wide = _wide(first[:SHOWN])
    shown = SHOWN // 2 if wide else SHOWN
    words = f"{name}: {count:,} x {dtype}" + (f", the first {min(shown, len(first))}" if count > shown else "")
    cells = "".join(_cell(str(at), _number(value), None, False, None) for at, value in enumerate(first[:shown]))
    return _strip(words, cells, wide)


def _wide(values: Sequence[float | None]) -> bool:
    """Return whether a cell would cut one of the numbers."""
    texts = map(_number, values)
    return any(len(text) - 0.5 * sum(text.count(narrow) for narrow in "-.") > DIGITS for text in texts)


def _strip(caption: str, cells: str, wide: bool = False) -> str:
    said = f'<figcaption title="{escape(caption)}">{escape(caption)}</figcaption>'
    return f'<figure class="answer{" wide" if wide else ""}">{said}{cells}</figure>'


def _caption(m: Measurement, checked: Check, shown: int) -> str:
    count = checked.count or shown
    what = f"{count:,} counts" if _counts(m.kernel) else f"{count:,} numbers"
    if m.kernel in KERNELS and KERNELS[m.kernel].packed:
        what += f", packed by {m.choice.n:,} threads"
    first = f", the first {shown}" if count > shown else ""
    if checked.begin:
        first = f", {shown} from {place_text(checked, checked.begin)} on"
    if checked.first is None:
        return f"The answer: {what}{first}. Any other order is as right."
    return f"The answer: {what}{first}; below each, the reference."


def _counts(kernel: str) -> bool:
    """Return whether element i of the answer is the number of elements with value i."""
    own = KERNELS[kernel].parameter if kernel in KERNELS else None
    return own is not None and own.name == "BINS"


def _share(value: float | None, values: Sequence[float | None]) -> float:
    largest = max((v for v in values if v is not None), default=0)
    return max(0.0, value / largest) if value is not None and largest > 0 else 0.0


def _cell(place: str, value: str, expected: float | None, off: bool, bar: float | None) -> str:
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
    if abs(today - then) < NOW:
        return f"run just now, {then:%H:%M:%S}{named}"
    return f"run at {then:%H:%M}{named}" if then.date() == today.date() else f"run on {then:%Y-%m-%d}"
