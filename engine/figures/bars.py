"""Bars down a ladder: a row a rung, its number behind the bar, an axis on which every bar can be seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import log10
from typing import Any

import pandas as pd

from engine.figures.look import BLUE, LETTER, RED, Figure, Look, base_layout, centred, scaled
from engine.figures.ticks import fitting, linear_ticks, log_ticks
from engine.history.tables import COLUMNS, COUNTED, MEASURED, counted_text
from engine.records.words import text_of

LOG_FROM = 30  # longest over shortest bar: from here on a linear axis would hide the short ones
ROWS = "rungs"  # views/html/browser.js marks the row of the rung on the page
BAR = 0.35  # half a bar's height, in rows


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
    layout["bargap"] = 1 - 2 * BAR
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
    width = width_of(layout, look)
    shares = [(value, min(0.7, words / width)) for value, words in ends]
    if layout["xaxis"]["type"] == "linear":
        layout["xaxis"]["range"] = [0, max(value / (1 - words) for value, words in shares) or 1.0]
        return with_ticks(figure, look)
    low = log10(min(value for value, _ in shares)) - 0.35
    high = max(low + (log10(value) - low) / (1 - words) for value, words in shares)
    layout["xaxis"]["range"] = [low, high]
    return with_ticks(figure, look)


def width_of(layout: dict[str, Any], look: Look) -> float:
    """Pixels that the names of the rungs leave of the plot."""
    names = max(len(re.sub("<[^>]*>", "", text)) for text in layout["yaxis"]["ticktext"])
    return max(180.0, look.width - names * LETTER * look.font - 40)


def with_ticks(figure: Figure, look: Look) -> Figure:
    """With ticks on its axis that do not meet."""
    axis = figure["layout"]["xaxis"]
    low, high = axis["range"]
    ticks = partial(linear_ticks, high) if axis["type"] == "linear" else partial(log_ticks, low, high)
    axis |= fitting(ticks, width_of(figure["layout"], look), look.font)
    return figure


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
