"""Where an axis has its numbers, and how they are written: the same in every figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import ceil, floor, log10
from typing import Any

from engine.figures.look import LETTER
from engine.records.words import count_text


def log_ticks(low: float, high: float, most: int = 6, unit: str = "") -> dict[str, Any]:
    """At most `most` ticks between two powers of ten, for a logarithmic axis; `unit` behind each.

    At 1, 2 and 5 where there is room for them, else at powers of ten, of which every second, third... may be left out.
    """
    every = [_between(low, high, digits) for digits in ((1, 2, 5), (1,))]
    shown = next((ticks for ticks in every if 1 < len(ticks) <= most), every[1] if len(every[1]) > 1 else every[0])
    return _axis(shown[:: max(1, ceil(len(shown) / most))], unit)


def linear_ticks(high: float, most: int = 6) -> dict[str, Any]:
    """From 0 up to `high`, at most `most` ticks that are 1, 2, 2.5 or 5 times a power of ten apart."""
    steps = (digit * 10.0**power for power in count(floor(log10(high)) - 1) for digit in (1, 2, 2.5, 5))
    step = next(step for step in steps if high / step < most)
    return _axis([step * i for i in range(int(high / step * 1.000001) + 1)])


def fitting(ticks: Callable[[int], dict[str, Any]], width: float, font: int) -> dict[str, Any]:
    """As many of the `ticks`, a function of their number, as find room beside each other on `width` pixels."""
    for most in (6, 5, 4):
        axis = ticks(most)
        if sum(len(text) + 2 for text in axis["ticktext"]) * LETTER * font <= width:
            return axis
    return ticks(3)


def spread(values: Sequence[int], most: int, log: bool) -> list[int]:
    """Those of the values, in order, that can carry a tick: the last and, where there is room, the first and others.

    There is room for `most` ticks on the axis, which is logarithmic or not.
    """
    values = [value for value in values if value > 0 or not log]
    if len(values) < 2:
        return values
    places = [log10(value) if log else float(value) for value in values]
    apart = (places[-1] - places[0]) / most * 0.999
    kept = [0]
    for i in range(1, len(values) - 1):
        if places[i] - places[kept[-1]] >= apart and places[-1] - places[i] >= apart:
            kept.append(i)
    return [values[i] for i in (*kept, len(values) - 1)]


def tick_text(value: float) -> str:
    """ "0.05", "20,000", "5 M"; far from 1 as a power of ten: "10⁻⁹"."""
    if value and not 1e-4 < value < 1e12:
        power = floor(log10(value) + 1e-9)
        digit = round(value / 10.0**power)
        return f"{'' if digit == 1 else f'{digit}·'}10<sup>{str(power).replace('-', '−')}</sup>"
    if value < 1e6:
        return f"{value:,.10g}"
    number, _, unit = count_text(round(value)).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def _between(low: float, high: float, digits: Sequence[int]) -> list[float]:
    every = (digit * 10.0**power for power in range(floor(low), ceil(high) + 1) for digit in digits)
    return [tick for tick in every if low - 1e-9 <= log10(tick) <= high + 1e-9]


def _axis(ticks: Sequence[float], unit: str = "") -> dict[str, Any]:
    return {"tickvals": list(ticks), "ticktext": [f"{tick_text(tick)}{unit}" for tick in ticks]}
