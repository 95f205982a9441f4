"""The figure of a law: counts and formula on the left axis, the GPU's times on the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from textwrap import wrap
from typing import Any

from engine.figures.look import (
    BLUE,
    GREEN,
    GREY,
    ON_PAGE,
    ORANGE,
    Figure,
    Look,
    above,
    base_layout,
    height_above,
    log_ticks,
    scaled,
    some,
    ticks,
)
from engine.lectures import laws
from engine.lectures.laws import Law, Point
from engine.records import Settled
from engine.records.words import size_text, time_text

HEIGHT = 430
UPRIGHT = 12  # letters of a line of an upright title: the words above leave little height
WORDS = 0.84  # size of the words above the plot, relative to the other type; their lines must fit a column
DENSE, SQUARE = 16, 13  # with more points the squares of times are smaller; pixels of a square

Times = Sequence[tuple[int, float]]


def law_figure(
    law: Law, choice: Settled, found: Sequence[Point], others: Mapping[str, Times], own: int, look: Look = ON_PAGE
) -> Figure:
    """Draw the law over the values of the parameter.

    `choice`: the rung on the page; `others`: label -> times of further rungs with the same parameter; `own`: the page's
    own value of the parameter, which is marked.
    """
    timed = [(point.value, point.time_us) for point in found if point.time_us is not None]
    layout = base_layout(look)
    every = {"": timed, **{label: list(times) for label, times in others.items() if times}} if timed else {}
    words = _words(law, choice, found, bool(timed))
    beside = [label for label in every if label]
    if beside:
        words.append((f"— GPU time of {', '.join(beside)}", GREY))
    notes = above(words, look, _words_type(look))
    top = height_above(notes, _words_type(look))
    layout["height"] = max(look.height or HEIGHT, top + 13 * look.font)  # leaves height for a plot below the words
    layout["margin"] |= {"t": top, "l": 66, "r": 74 if timed else 16, "b": 24 + 2 * look.font}
    layout["xaxis"] |= _across(law, choice, found, look)
    layout["yaxis"] |= _upright(law, found, look)
    layout["shapes"] = [
        {"type": "line", "x0": own, "x1": own, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
         "line": {"color": GREY, "width": 1, "dash": "dot"}}
    ]  # fmt: skip
    layout["annotations"] = notes
    data = _law_lines(law, found)
    if timed:
        layout["yaxis2"] = _times_axis(law, every, look)
        data += _time_lines(found, every)
    data.append(_counts(law, found))
    return {"data": data, "layout": layout}


def _words(law: Law, choice: Settled, found: Sequence[Point], timed: bool) -> list[tuple[str, str]]:
    """Return the lines above the plot, each in the colour of the curve that it names."""
    n = f"N up to {size_text(law.n)}" if law.values else f"N = {size_text(law.n)}"
    words = []
    if any(point.counted is not None for point in found):
        words.append((f"● counted by the emulator at {n}", BLUE))
    if law.lecture:
        words += [
            (f"— law of today: {law.rule(choice)}", BLUE),
            (f"- - lecture: {law.lecture_rule}", ORANGE),
        ]
    else:
        words.append((f"— law: {law.rule(choice)}", ORANGE))
    if timed:
        n = "" if law.values else f", N = {size_text(choice.n)}"
        words.append((f"□ GPU time{n}: {laws.origins(found)}", GREEN))
    return words


def _words_type(look: Look) -> int:
    return max(12, round(look.font * WORDS))


def _across(law: Law, choice: Settled, found: Sequence[Point], look: Look) -> dict[str, Any]:
    values = [point.value for point in found]
    axis: dict[str, Any] = {
        "title": {"text": scaled(laws.swept_label(choice.kernel), law.decades), "font": {"size": look.font}},
        "zeroline": False,
    }
    if law.decades:
        shown = some(values)
        room = 0.04 * log10(values[-1] / values[0])
        return axis | {"type": "log", "tickvals": shown, "ticktext": [size_text(value) for value in shown],
                       "range": [log10(values[0]) - room, log10(values[-1]) + room]}  # fmt: skip
    fourth = sorted({values[0], *(value for value in values if value % 4 == 0)})
    return axis | {"tickvals": fourth, "range": [values[0] - 0.8, values[-1] + 0.8], "showgrid": False}


def _upright(law: Law, found: Sequence[Point], look: Look) -> dict[str, Any]:
    most = max(max(point.expected, point.lecture or 0, point.counted or 0) for point in found)
    size = _words_type(look)
    title = {"text": _upright_title(law.unit[:1].upper() + law.unit[1:], law.decades), "font": {"size": size}}
    if not law.decades:
        return {"title": title, "range": [0, most * 1.08], "rangemode": "tozero", "zeroline": True}
    powers = [2**power for power in range(0, 6) if 2**power <= max(most, 2) * 1.01]
    return {"title": title, "type": "log", "range": [log10(0.8), log10(max(most, 2) * 1.3)], "tickvals": powers,
            "ticktext": [str(power) for power in powers]}  # fmt: skip


def _law_lines(law: Law, found: Sequence[Point]) -> list[dict[str, Any]]:
    values = [point.value for point in found]
    line = {"type": "scatter", "mode": "lines", "x": values, "hoverinfo": "skip"}
    today = {**line, "y": [point.expected for point in found], "line": {"color": ORANGE, "width": 3}}
    if law.lecture is None:
        return [today]
    theirs = {**line, "y": [point.lecture for point in found], "line": {"color": ORANGE, "width": 3, "dash": "dash"}}
    return [theirs, today | {"line": {"color": BLUE, "width": 2}}]


def _counts(law: Law, found: Sequence[Point]) -> dict[str, Any]:
    """Draw the counts on top of the other curves; a count that breaks the law is a cross."""
    known = [point for point in found if point.counted is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [point.value for point in known],
        "y": [point.counted for point in known],
        "marker": {"color": BLUE, "size": 9, "symbol": ["circle" if point.holds else "x" for point in known]},
        "customdata": [f"{point.counted:,.4g} {law.unit}; the law: {point.expected:,.4g}" for point in known],
        "hovertemplate": "%{x}: %{customdata}<extra></extra>",
    }


def _times_axis(law: Law, every: Mapping[str, Times], look: Look) -> dict[str, Any]:
    known = [time for times in every.values() for _, time in times]
    axis: dict[str, Any] = {
        "overlaying": "y", "side": "right", "showgrid": False, "tickmode": "auto",
        "fixedrange": True, "zeroline": False,
        "title": {"text": _upright_title("Time (µs)", law.decades),
                  "font": {"color": GREEN, "size": _words_type(look)}},
        "tickfont": {"size": look.font, "color": GREEN},
    }  # fmt: skip
    if not law.decades:  # times that do not follow the law get room of their own
        top = max(known) * (1.08 if max(known) > laws.SLIGHT * min(known) else 1.45)
        return axis | {"range": [0, top], **ticks(top)}
    low, high = log10(min(known)), log10(max(known))
    room = max(0.12, 0.1 * (high - low))
    ends = low - room, high + room
    return axis | {"type": "log", "range": list(ends), **log_ticks(10 ** ends[0], 10 ** ends[1], 4)}


def _time_lines(found: Sequence[Point], every: Mapping[str, Times]) -> list[dict[str, Any]]:
    """Draw this rung's times as squares around the points (open if recorded), and other rungs' times as thin lines."""
    live = {point.value: point.timed is not None and point.timed.origin == "live" for point in found}
    lines = []
    for label, times in reversed(list(every.items())):
        own = not label
        lines.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if own else "lines",
                "x": [value for value, _ in times],
                "y": [time for _, time in times],
                "yaxis": "y2",
                "line": {"color": GREEN if own else GREY, "width": 1.5},
                "marker": {"color": GREEN, "size": SQUARE if len(times) <= DENSE else SQUARE // 2 + 1,
                           "line": {"width": 2, "color": GREEN},
                           "symbol": ["square" if live.get(value) else "square-open" for value, _ in times]},
                "opacity": 1 if own else 0.8,
                "customdata": [f"{label} {time_text(time)}".strip() for _, time in times],
                "hovertemplate": "%{x}: %{customdata}<extra></extra>",
            }
        )  # fmt: skip
    return lines


def _upright_title(title: str, log: bool) -> str:
    """Return the title of a vertical axis in short lines, with "log scale" on a separate one."""
    lines = wrap(title, UPRIGHT)
    return "<br>".join([*lines[:-1], f"{lines[-1]},", "log scale"] if log else lines)
