"""Estimated times of a ladder as bars of parts, beside the measured time; and estimated against recorded times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.figures.bars import BAR, HELD, ROWS, Row, only_rows, rounded
from engine.figures.look import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    LINES,
    ORANGE,
    PURPLE,
    RED,
    Figure,
    Look,
    base_layout,
    centred,
    legend,
    log_ticks,
    scaled,
    ticks,
)
from engine.model.estimate import PARTS, Estimate
from engine.records.words import time_text

COLOURS = dict(zip(PARTS, (GREY, BLUE, "#4aa5c9", PURPLE, GREEN, AMBER, RED, ORANGE, "#6b8f23"), strict=True))
_ROOM = 0.77  # of the axis for the longest row, the rest for its number


@dataclass(frozen=True)
class Mark:
    """A measured or recorded time in microseconds, and its origin in words."""

    time_us: float
    origin: str


def parts_figure(
    rows: Sequence[Row],
    found: Sequence[Estimate | None],
    measured: Sequence[Mark | None],
    look: Look,
    title: str,
    nothing: str,
) -> Figure:
    """Draw the estimate of each rung as a bar of its parts with its band, and its measured or recorded time as a mark.

    `found`, `measured`: None for a rung without one. A row that is held back has "?" in place of its bar, and the axis
    has room for it. The page names the colours below the plot: a legend would leave little height for the bars.
    """
    estimates = [one if one and one.time_us else None for one in found]
    shown = [None if HELD in row else one for row, one in zip(rows, estimates, strict=True)]
    places = list(range(len(rows)))
    data: list[dict[str, Any]] = [
        {"type": "bar", "orientation": "h", "name": title, "x": values, "y": places,
         "marker": {"color": COLOURS[name], "line": {"width": 0}},
         "hovertemplate": f"{title}: %{{x:.3g}} µs, {meaning}<extra></extra>"}
        for name, (title, meaning) in PARTS.items()
        if any(values := [one and one.parts.get(name, 0.0) for one in shown])
    ]  # fmt: skip
    marks = [None if HELD in row else mark for row, mark in zip(rows, measured, strict=True)]
    data += [_bands(shown, look), _measured(marks, look), _numbers(shown, marks, look)]
    known = [one.high_us for one in estimates if one and one.high_us] + [mark.time_us for mark in measured if mark]
    notes = [
        {"text": words, "x": 0, "xanchor": "left", "xshift": 4, "y": i, "showarrow": False,
         "font": {"size": look.font - 1, "color": GREY}}
        for i, (row, one, drawn) in enumerate(zip(rows, found, shown, strict=True))
        if (words := "<b>?</b>" if HELD in row else "no estimate" if one and not drawn else "")
    ]  # fmt: skip
    if not any(shown) and not notes:
        notes.append(centred(nothing, look.font + 1))
    layout = base_layout(look) | {
        "meta": ROWS, "barmode": "stack", "bargap": 1 - 2 * BAR, "annotations": notes,
        "height": look.height or max(240, round(len(rows) * look.font * 2.1) + 100),
    }  # fmt: skip
    high = max(known, default=1.0) / _ROOM
    layout["xaxis"] |= {"range": rounded([0, high], False) if any(HELD in row for row in rows) else [0, high],
                        **ticks(high), "title": {"text": title, "font": {"size": look.font}}}  # fmt: skip
    layout["yaxis"] |= {
        "tickvals": places, "ticktext": [str(row["rung"]) for row in rows], "showgrid": False,
        "zeroline": False, "ticklabelstandoff": 6, "range": [len(rows) - 0.4, -0.6],
    }  # fmt: skip
    return only_rows({"data": data, "layout": layout}, look.rows)


def _bands(shown: Sequence[Estimate | None], look: Look) -> dict[str, Any]:
    """Return a line from the low to the high end of each estimate."""
    x: list[float | None] = []
    y: list[float | None] = []
    for i, one in enumerate(shown):
        if one and one.low_us and one.high_us:
            x += [one.low_us, one.high_us, None]
            y += [i + BAR + 0.06] * 2 + [None]
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": "band",
            "line": {"color": GREY, "width": max(2, look.font // 5)}, "hoverinfo": "skip"}  # fmt: skip


def _measured(marks: Sequence[Mark | None], look: Look) -> dict[str, Any]:
    return {"type": "scatter", "mode": "markers", "name": "measured", "x": [mark and mark.time_us for mark in marks],
            "y": list(range(len(marks))), "hovertemplate": "%{hovertext}<extra></extra>",
            "hovertext": [f"{time_text(mark.time_us)}, {mark.origin}" if mark else "" for mark in marks],
            "marker": {"symbol": "diamond", "size": 0.7 * look.font, "color": "#ffffff",
                       "line": {"color": "#111111", "width": 2}}}  # fmt: skip


def _numbers(shown: Sequence[Estimate | None], marks: Sequence[Mark | None], look: Look) -> dict[str, Any]:
    """Return the estimated times in words, behind all that stands in a row."""
    ends = [one and max(one.high_us or 0, mark.time_us if mark else 0) for one, mark in zip(shown, marks, strict=True)]
    texts = [f"   {time_text(one.time_us)}" if one and one.time_us else "" for one in shown]
    return {"type": "scatter", "mode": "text", "name": "estimate", "x": ends, "y": list(range(len(shown))),
            "text": texts, "textposition": "middle right", "textfont": {"size": look.font - 1}, "cliponaxis": False,
            "hoverinfo": "skip"}  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A recorded row: its topic, its recorded and its estimated time in microseconds, and its name for the hover."""

    topic: str
    recorded_us: float
    estimated_us: float
    name: str


def against_figure(points: Sequence[Point], titles: Mapping[str, str], look: Look) -> Figure:
    """Draw estimated against recorded times on logarithmic axes, a colour for each topic."""
    layout = base_layout(look) | {"height": look.height or 460, **legend(look)}
    data: list[dict[str, Any]] = []
    for i, topic in enumerate(dict.fromkeys(point.topic for point in points)):
        own = [point for point in points if point.topic == topic]
        data.append(
            {"type": "scatter", "mode": "markers", "name": titles.get(topic, topic), "x": [p.recorded_us for p in own],
             "y": [p.estimated_us for p in own], "hovertext": [p.name for p in own],
             "hovertemplate": "%{hovertext}: recorded %{x:.3g} µs, estimated %{y:.3g} µs<extra></extra>",
             "marker": {"size": 6, "color": LINES[i % len(LINES)], "opacity": 0.7}}
        )  # fmt: skip
    every = [value for point in points for value in (point.recorded_us, point.estimated_us)]
    low, high = 0.8 * min(every, default=1.0), 1.25 * max(every, default=10.0)
    data.append({"type": "scatter", "mode": "lines", "x": [low, high], "y": [low, high], "name": "equal",
                 "line": {"color": GREY, "width": 2, "dash": "dash"}, "hoverinfo": "skip"})  # fmt: skip
    for axis, title in (("xaxis", "recorded, µs"), ("yaxis", "estimated, µs")):
        layout[axis] |= {"type": "log", **log_ticks(low, high, 6),
                         "title": {"text": scaled(title), "font": {"size": look.font}}}  # fmt: skip
    layout["margin"] |= {"t": 3 * look.font, "l": 60}
    return {"data": data, "layout": layout}
