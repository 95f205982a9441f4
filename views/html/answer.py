"""The answer of a kernel that writes an array, as what it is: its first elements over the reference's."""

from __future__ import annotations

from html import escape

from engine.catalogue import KERNELS
from engine.plan import plan
from engine.records import Choice, HostSum, Measurement, NotRunnable

SHOWN, SHOWN_IN_HALL = 16, 8
# Kernels whose threads reserve their places: what they write lies packed, in the order in which they came.
_PACKED = {"filter_atomic", "filter_aggregated", "reserve_buffer"}


def is_array(choice: Choice) -> bool:
    """Whether the answer of a choice is an array, as far as that is known without running it."""
    try:
        made = plan(choice)
    except NotRunnable:
        return False
    return made.result_count > 1 and not isinstance(made.steps[-1], HostSum)


def strip_html(measurement: Measurement | None, shown: int = SHOWN) -> str:
    """The strip, or "" where nothing ran here or the answer is a single number.

    A histogram has bars. An element that misses by more than its bound is marked; all 32 kept elements are shown where
    that is so only behind the first ones.
    """
    if measurement is None or not measurement.answer:
        return ""
    off = set(measurement.answer_off)
    values = measurement.answer if off and min(off) >= shown else measurement.answer[:shown]
    bars = [_share(value, values) for value in values] if _counts(measurement.kernel) else None
    cells = "".join(
        _cell(
            place,
            value,
            measurement.answer_expected[place] if measurement.answer_expected else None,
            place in off,
            None if bars is None else bars[place],
        )
        for place, value in enumerate(values)
    )
    return (
        f'<figure class="answer"><figcaption>{escape(_caption(measurement, len(values)))}</figcaption>{cells}</figure>'
    )


def _caption(m: Measurement, shown: int) -> str:
    count = m.answer_count or shown
    what = f"{count:,} counts" if _counts(m.kernel) else f"{count:,} numbers"
    if m.kernel in _PACKED:
        what += f", packed by {m.n:,} threads"
    first = f", the first {shown}" if count > shown else ""
    if m.answer_expected is None:
        return f"The answer: {what}{first}. Another order is as right."
    return f"The answer: {what}{first}; below each, the reference."


def _counts(kernel: str) -> bool:
    """Whether element i of the answer is how often the value i was there."""
    own = KERNELS[kernel].parameter if kernel in KERNELS else None
    return own is not None and own.name == "BINS"


def _share(value: float | None, values: tuple[float | None, ...]) -> float:
    largest = max((v for v in values if v is not None), default=0)
    return max(0.0, value / largest) if value is not None and largest > 0 else 0.0


def _cell(place: int, value: float | None, expected: float | None, off: bool, bar: float | None) -> str:
    drawn = "" if bar is None else f'<i style="--share:{bar:.3f}"></i>'
    wanted = "" if expected is None else f"<s>{_number(expected)}</s>"
    return f'<span class="{"off" if off else ""}"><u>{place}</u>{drawn}<b>{_number(value)}</b>{wanted}</span>'


def _number(value: float | None) -> str:
    if value is None:
        return "NaN"
    return str(value) if isinstance(value, int) else f"{value:.4g}"
