"""An estimated time as HTML: its sentences, and a bar of what takes it."""

from __future__ import annotations

from html import escape

from engine.figures.estimate import COLOURS
from engine.model.estimate import PARTS, WHAT_IFS, Estimate
from engine.records.words import three_digits
from views.html.table import cell, table

_SMALLEST = 0.02  # share of the time of a part that has a piece of the bar


def estimate_html(found: Estimate | str | None) -> str:
    """Return an estimate, or the sentence that says why there is none; "" for None."""
    if found is None:
        return ""
    if isinstance(found, str) or found.time_us is None:
        return f'<p class="smallprint">{escape(found if isinstance(found, str) else found.reason or "")}</p>'
    first, *more = found.sentences
    anchor = " The recorded time of the rung, changed as the model says." if found.anchored else ""
    return (
        f'<section class="estimate"><p><b>{escape(first)}</b>{anchor} {escape(more[0] if more else "")}</p>'
        f"{_bar(found, found.time_us)}{_what_ifs(found, found.time_us)}</section>"
    )


def _bar(found: Estimate, time: float) -> str:
    pieces = "".join(
        f'<i style="flex:{100 * value / time:.1f};background:{COLOURS[name]}"></i>'
        for name, value in _large(found, time)
    )
    return f'<div class="pieces">{pieces}</div><div class="partnames">{part_names(found)}</div>'


def part_names(found: Estimate) -> str:
    """Return the names of the parts with their colours and shares, as HTML."""
    time = found.time_us or 1.0
    return " ".join(
        f'<span title="{escape(PARTS[name][1])}"><i style="background:{COLOURS[name]}"></i>'
        f"{escape(PARTS[name][0])} {value / time:.0%}</span>"
        for name, value in _large(found, time)
    )


def _large(found: Estimate, time: float) -> list[tuple[str, float]]:
    return [(name, value) for name, value in found.parts.items() if value >= _SMALLEST * time]


def _what_ifs(found: Estimate, time: float) -> str:
    rows = [
        [cell(escape(WHAT_IFS[name]), "text"), f"{three_digits(saved)} µs", f"{three_digits(time / saved)}×"]
        for name, saved in sorted(found.what_ifs.items(), key=lambda item: item[1])
    ]
    return table(["What would pay", "estimated", "faster"], rows, kind="hardware") if rows else ""
