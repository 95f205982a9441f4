"""Bars down a ladder: a row a rung, its number behind the bar, an axis on which every bar can be seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import log10
from typing import Any

import pandas as pd

from engine.columns import COLUMNS, COUNTED, MEASURED
from engine.figures.look import BLUE, GREEN, GREY, LETTER, ORANGE, RED, Figure, Look, base_layout, centred, scaled
from engine.figures.ticks import fitting, linear_ticks, log_ticks
from engine.tables import counted_text
from engine.words import text_of

LOG_FROM = 30  # longest over shortest bar: from here on a linear axis would hide the short ones
FAR = 2.5  # a mark so many times as far as the longest bar stands at the edge, as a number
ROWS = "rungs"  # views/html/browser.js marks the row of the rung on the page
_BAR = 0.35  # half a bar's height, in rows


def bars(frame: pd.DataFrame, key: str, look: Look, nothing: str, may_be_log: bool = True) -> Figure:
    """Bars of column `key`, the first rung on top.

    The figure is the same on every rung: its `meta` says that its rows are rungs, and the page marks the one that it is
    on, without drawing the figure anew.

    `nothing`: what an empty plot says. The axis is logarithmic, and says so, where the longest bar is more than
    LOG_FROM times the shortest.
    """
    values = values_of(frame[key])
    known = [value for value in values if value is not None]
    size = look.font
    layout = {**base_layout(look), "meta": ROWS}
    layout["height"] = look.height or max(220, round(len(frame) * size * 2.1) + 90)
    log = may_be_log and bool(known) and 0 < min(known) * LOG_FROM < max(known)
    layout["xaxis"] |= {"title": {"text": scaled(COLUMNS[key].heading, log), "font": {"size": size}},
                        "type": "log" if log else "linear", "zeroline": not log}  # fmt: skip
    layout["yaxis"] |= {
        "tickvals": list(range(len(frame))),
        "ticktext": [str(rung) for rung in frame["rung"]],
        "ticklabelstandoff": 6,
        "showgrid": False,
        "range": [len(frame) - 0.4, -0.6],
    }
    layout["bargap"] = 1 - 2 * _BAR
    texts = [_text(key, row, value) for row, value in zip(frame.to_dict("records"), values, strict=True)]
    data = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(range(len(frame))),
        "text": texts,
        "textposition": "outside",
        "constraintext": "none",
        "textfont": {"size": size},
        "cliponaxis": False,
        "marker": {
            "color": BLUE,
            "opacity": 1.0,
            "line": {"width": 0},
            # Recorded bars are hatched, so that nobody takes them for what this machine just did.
            "pattern": hatched(["recorded" in str(origin) for origin in frame["origin"]])
            if COLUMNS[key].group == MEASURED
            else {},
        },
        "hovertext": [f"{rung} {title}" for rung, title in zip(frame["rung"], frame["title"], strict=True)],
        "hovertemplate": "%{hovertext}: %{text}<extra></extra>",
    }
    layout["annotations"] = _failures(frame, values, size)
    if not known:
        beside = {"x": 1, "xanchor": "right"} if layout["annotations"] else {}  # of what failed
        layout["annotations"].append(centred(nothing, size + 1) | beside)
        layout["xaxis"] |= {"showticklabels": False, "showgrid": False, "zeroline": False, "range": [0, 1]}
    figure = {"data": [data], "layout": layout}
    return with_room(figure, look) if known else figure


def with_room(figure: Figure, look: Look) -> Figure:
    """An axis that begins where every bar can be seen, and ends where the number behind each of them is not cut."""
    layout = figure["layout"]
    ends = [
        (float(value), len(re.sub("<[^>]*>", "", text)) * LETTER * look.font + 8)
        for trace in figure["data"]
        for value, text in zip(trace["x"], trace["text"], strict=True)
        if value is not None
    ]
    width = _width(layout, look)
    shares = [(value, min(0.7, words / width)) for value, words in ends]
    if layout["xaxis"]["type"] == "linear":
        layout["xaxis"]["range"] = [0, max(value / (1 - words) for value, words in shares) or 1.0]
        return _with_ticks(figure, look)
    low = log10(min(value for value, _ in shares)) - 0.35
    high = max(low + (log10(value) - low) / (1 - words) for value, words in shares)
    layout["xaxis"]["range"] = [low, high]
    return _with_ticks(figure, look)


def _width(layout: dict[str, Any], look: Look) -> float:
    """Pixels that the names of the rungs leave of the plot."""
    names = max(len(re.sub("<[^>]*>", "", text)) for text in layout["yaxis"]["ticktext"])
    return max(180.0, look.width - names * LETTER * look.font - 40)


def _with_ticks(figure: Figure, look: Look) -> Figure:
    axis = figure["layout"]["xaxis"]
    low, high = axis["range"]
    ticks = partial(linear_ticks, high) if axis["type"] == "linear" else partial(log_ticks, low, high)
    axis |= fitting(ticks, _width(figure["layout"], look), look.font)
    return figure


def mark(figure: Figure, key: str, marks: Sequence[tuple[str, float]], look: Look) -> None:
    """`marks` (name, value) as lines, with their numbers above the plot, beside each other where there is room.

    A line has a gap where it would meet the number of a bar. What is far off the longest bar stands at the right edge
    as a number alone.
    """
    layout = figure["layout"]
    known = [value for value in figure["data"][0]["x"] if value is not None]
    if not known or not marks:
        return
    log = layout["xaxis"]["type"] == "log"
    near = [value for _, value in marks if log or value < FAR * max(known)]
    low, high = layout["xaxis"]["range"]
    if near:
        furthest = (log10(max(near)) if log else max(near)) - low
        high = layout["xaxis"]["range"][1] = max(high, low + 1.04 * furthest)
        _with_ticks(figure, look)
    line, width = look.font * 1.5, _width(layout, look)
    places = [((log10(value) if log else value) - low) / (high - low) for _, value in marks]
    words = [f"{name} {text_of(key, value)}{'' if value in near else ' ▸'}" for name, value in marks]
    reach = [
        _reach(text, place if value in near else 1.0, width, look)
        for text, place, (_, value) in zip(words, places, marks, strict=True)
    ]
    rows = _stacked(reach, look.font)
    layout["margin"]["t"] = round(12 + (max(rows) + 1) * line)
    half, numbers = _half_row(len(figure["data"][0]["y"]), layout, look), _numbers(figure, look)
    for i, (name, value) in enumerate(marks):
        colour, place = (GREY, ORANGE, GREEN)[i % 3], places[i]
        text = f"<b>{name}</b>{words[i].removeprefix(name)}"
        note = {"y": 1, "yref": "paper", "yanchor": "bottom", "yshift": round(4 + rows[i] * line), "showarrow": False,
                "font": {"size": look.font - 1, "color": colour}}  # fmt: skip
        if value not in near:
            layout["annotations"].append(note | {"text": text, "x": 1, "xref": "paper", "xanchor": "right"})
            continue
        right = place > 0.5
        layout["annotations"].append(
            note | {"text": text, "x": log10(value) if log else value, "xanchor": "right" if right else "left",
                    "xshift": -4 if right else 4}
        )  # fmt: skip
        layout.setdefault("shapes", []).extend(
            {"type": "line", "layer": "below", "x0": value, "x1": value, "y0": top, "y1": bottom,
             "line": {"color": colour, "width": 2}}
            for top, bottom in _pieces([begin <= place <= end for begin, end in numbers], half)
        )  # fmt: skip


def _reach(text: str, place: float, width: float, look: Look) -> tuple[float, float]:
    """From where to where the words at a `place` of the axis, 0 to 1, reach, in pixels: on its side with more room."""
    long, at = len(text) * LETTER * look.font, place * width
    return (at - 4 - long, at - 4) if place > 0.5 else (at + 4, at + 4 + long)


def _stacked(reach: Sequence[tuple[float, float]], apart: float) -> list[int]:
    """On which line, from below, words stand that reach so far, so that none meets another."""
    rows: list[int] = []
    for begin, end in reach:
        others = list(zip(reach, rows, strict=False))
        meets = {row for (left, right), row in others if begin < right + apart and left < end + apart}
        rows.append(next(row for row in range(len(reach)) if row not in meets))
    return rows


def _half_row(rows: int, layout: dict[str, Any], look: Look) -> float:
    """Half of what a row and its number take in height, in rows."""
    if look.height is None:  # it fills what place there is
        return 0.42
    pitch = (layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]) / (rows + 0.2)
    return float(min(0.46, max(_BAR, 0.62 * look.font / pitch)))


def _numbers(figure: Figure, look: Look) -> list[tuple[float, float]]:
    """From where to where each row's number reaches, or the words that stand for it, as parts of the axis."""
    bars, axis = figure["data"][0], figure["layout"]["xaxis"]
    low, high = axis["range"]
    width = _width(figure["layout"], look)
    said = {note["y"]: len(note["text"]) for note in figure["layout"]["annotations"] if note.get("yref") != "paper"}
    found = []
    for row, (value, text) in enumerate(zip(bars["x"], bars["text"], strict=True)):
        if value is None:
            found.append((0.0, (said.get(row, 0) + 1) * LETTER * bars["textfont"]["size"] / width))
            continue
        end = ((log10(value) if axis["type"] == "log" and value > 0 else value) - low) / (high - low)
        letters = len(re.sub("<[^>]*>", "", text)) + 2  # and a distance before and behind it
        found.append((end - look.font / width, end + letters * LETTER * bars["textfont"]["size"] / width))
    return found


def _pieces(meets: Sequence[bool], half: float) -> list[tuple[float, float]]:
    """(top, bottom) of the pieces of a line past all rows but those whose number it `meets`, in rows."""
    edges = [
        -0.6,
        *(edge for row, met in enumerate(meets) if met for edge in (row - half, row + half)),
        len(meets) - 0.4,
    ]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _text(key: str, row: dict[Any, Any], value: float | None) -> str:
    """The number behind a bar, and what became of a run beside whose recorded number it stands."""
    if value is None:
        return ""
    number = counted_text(row, key) if COLUMNS[key].group == COUNTED else text_of(key, row[key])
    status = row["status"]
    if status in (None, "ok"):
        return number
    sign = "⚠" if status == "hazard" else "✗"
    return f'{number} <span style="color:{RED}">{sign} {text_of("status", status)}</span>'


def _failures(frame: pd.DataFrame, values: Sequence[float | None], size: int) -> list[dict[str, Any]]:
    """What stands where a failed rung would have a bar: its status."""
    return [
        {
            "text": f"✗ {text_of('status', status)}",
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": i,
            "showarrow": False,
            "font": {"size": size, "color": RED},
        }
        for i, status in enumerate(frame["status"])
        if status not in (None, "ok") and values[i] is None
    ]


def hatched(recorded: Sequence[bool]) -> dict[str, Any]:
    """The pattern of bars that were `recorded`."""
    return {
        "shape": ["/" if each else "" for each in recorded],
        "fillmode": "overlay",
        "fgcolor": "rgba(255,255,255,0.5)",
        "size": 7,
        "solidity": 0.18,
    }


def values_of(column: pd.Series) -> list[float | None]:
    """A column as numbers, None for what was not measured."""
    return [None if value is None or pd.isna(value) else float(value) for value in column]
