"""A ladder's table as Plotly figures: bars of a rate, of times, of speedups, of a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import pandas as pd

from engine.figures.look import BLUE, GREEN, GREY, ON_PAGE, ORANGE, RED, Figure, Look, base_layout, centred
from engine.tables import COLUMNS, COUNTED, MEASURED
from engine.words import text_of

NO_COUNTS = "Nothing counted yet.<br>Run the ladder on the emulator."
NO_TIMES = "No times for these choices yet.<br>Run the ladder on a GPU,<br>or choose N as it was recorded."


def metric_bars(
    frame: pd.DataFrame, metric: str, marks: Mapping[str, float], current: int, look: Look = ON_PAGE
) -> Figure:
    """Bars of `metric` down the ladder, best rung longest, with `marks` (name -> value: peak, peer) as lines.

    `frame` is a ladder's table; `current` the position of the rung on the page, which stands out; `look` its size.
    """
    figure = _bars(frame, metric, current, look)
    shapes, notes = [], []
    most = max(marks.values(), default=0.0)
    for i, (name, value) in enumerate(marks.items()):
        colour = (GREY, ORANGE, GREEN)[i % 3]
        shapes.append(
            {
                "type": "line",
                "layer": "below",
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "x0": value,
                "x1": value,
                "line": {"color": colour, "width": 2, "dash": "dash"},
            }
        )
        # Each mark has a line of its own above the plot, so that two that are close do not overlap.
        notes.append(
            {
                "text": f"<b>{name}</b> {text_of(metric, value)}",
                "x": value,
                "y": 1,
                "yref": "paper",
                "yshift": 14 + i * look.font * 1.5,
                "showarrow": False,
                "font": {"size": look.font - 1, "color": colour},
                "xanchor": "left" if value < 0.3 * most else "right",
                "xshift": 4 if value < 0.3 * most else -4,
            }
        )
    layout = figure["layout"]
    layout["shapes"], layout["annotations"] = shapes, [*layout.get("annotations", []), *notes]
    layout["margin"]["t"] = 12 + len(marks) * look.font * 1.5
    return _with_room(figure, frame[metric], list(marks.values()))


def time_bars(frame: pd.DataFrame, current: int, look: Look = ON_PAGE) -> Figure:
    """Time of each rung on a logarithmic axis: a lecture's ladder spans two orders of magnitude and more."""
    figure = _bars(frame, "time_us", current, look)
    known = [float(v) for v in frame["time_us"] if v is not None]
    axis = figure["layout"]["xaxis"]
    axis["type"] = "log"
    if known:
        low, high = log10(min(known)) - 0.35, log10(max(known))
        axis["range"] = [low, high + 0.18 * max(high - low, 0.5)]
    axis["dtick"] = 1
    return figure


def speedup_bars(frame: pd.DataFrame, current: int, look: Look = ON_PAGE) -> Figure:
    """Cumulative speedup of each rung here and, below it, as the lecture published it."""
    figure = _bars(frame, "cumulative", current, look)
    paper = _values(frame["lecture_cumulative"])
    if not any(value is not None for value in paper):
        return _with_room(figure, frame["cumulative"], [])
    figure["data"].append(
        {
            "type": "bar",
            "orientation": "h",
            "x": paper,
            "y": list(range(len(frame))),
            "text": [text_of("lecture_cumulative", value) for value in paper],
            "textposition": "outside",
            "constraintext": "none",
            "textfont": {"size": look.font - 1},
            "cliponaxis": False,
            "marker": {"color": ORANGE, "opacity": 0.85},
            "hovertemplate": "%{text} in the lecture<extra></extra>",
        }
    )
    layout = figure["layout"]
    layout["height"] = look.height or max(260, round(len(frame) * look.font * 2.9) + 100)
    layout["bargap"], layout["bargroupgap"] = 0.22, 0.08
    layout["annotations"] = [
        *layout.get("annotations", []),
        {
            "text": "■ published by the lecture",
            "x": 1,
            "xref": "paper",
            "y": 1,
            "yref": "paper",
            "yshift": 16,
            "xanchor": "right",
            "showarrow": False,
            "font": {"size": look.font - 1, "color": ORANGE},
        },
    ]
    layout["margin"]["t"] = 16 + round(1.5 * look.font)
    return _with_room(figure, pd.concat([frame["cumulative"], frame["lecture_cumulative"]]), [])


def counter_bars(frame: pd.DataFrame, counter: str, current: int, look: Look = ON_PAGE) -> Figure:
    """One counter of the emulator down the ladder."""
    figure = _bars(frame, counter, current, look)
    return _with_room(figure, frame[counter], [])


def _bars(frame: pd.DataFrame, key: str, current: int, look: Look) -> Figure:
    values = _values(frame[key])
    size = look.font
    layout = base_layout(look)
    layout["height"] = look.height or max(220, round(len(frame) * size * 2.1) + 90)
    layout["xaxis"] |= {"title": {"text": COLUMNS[key].heading, "font": {"size": size}}, "zeroline": True}
    layout["yaxis"] |= {
        "autorange": "reversed",
        "tickvals": list(range(len(frame))),
        "ticktext": [_tick(frame, i, i == current) for i in range(len(frame))],
        "ticklabelstandoff": 6,
        "automargin": True,
        "showgrid": False,
        "range": [len(frame) - 0.4, -0.6],
    }
    layout["yaxis"].pop("autorange")
    layout["bargap"] = 0.3
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(range(len(frame))),
        "text": [
            f"{text_of(key, value)}{' ⚠ hazard' if status == 'hazard' and value is not None else ''}"
            for value, status in zip(frame[key], frame["status"], strict=True)
        ],
        "textposition": "outside",
        "constraintext": "none",
        "textfont": {"size": size},
        "cliponaxis": False,
        "marker": {
            "color": BLUE,
            "opacity": [1.0 if i == current else 0.55 for i in range(len(frame))],
            "line": {"width": 0},
            # Recorded bars are hatched, so that nobody takes them for what this machine just did.
            "pattern": _hatched(frame) if COLUMNS[key].group == MEASURED else {},
        },
        "hovertext": [f"{frame['rung'].iloc[i]} {frame['title'].iloc[i]}" for i in range(len(frame))],
        "hovertemplate": "%{hovertext}: %{text}<extra></extra>",
    }
    layout["annotations"] = _failures(frame, values, size)
    if not any(value is not None for value in values):
        layout["annotations"].append(_nothing(key, size))
        layout["xaxis"] |= {"showticklabels": False, "showgrid": False, "zeroline": False}
    return {"data": [bars], "layout": layout}


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


def _hatched(frame: pd.DataFrame) -> dict[str, Any]:
    shapes = ["/" if "recorded" in str(origin) else "" for origin in frame["origin"]]
    return {"shape": shapes, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.5)", "size": 7, "solidity": 0.18}


def _nothing(key: str, size: int) -> dict[str, Any]:
    """What an empty plot says."""
    return centred(NO_COUNTS if COLUMNS[key].group == COUNTED else NO_TIMES, size + 1)


def _tick(frame: pd.DataFrame, i: int, current: bool) -> str:
    rung = str(frame["rung"].iloc[i])
    return f"<b>▸ {rung}</b>" if current else rung


def _values(column: pd.Series) -> list[float | None]:
    return [None if v is None or pd.isna(v) else float(v) for v in column]


def _with_room(figure: Figure, column: pd.Series, more: list[float]) -> Figure:
    """Room at the right for the number behind the longest bar."""
    known = [float(v) for v in column if v is not None and not pd.isna(v)]
    longest = max([*(v * 1.22 for v in known), *(v * 1.04 for v in more)], default=1.0)
    figure["layout"]["xaxis"]["range"] = [0, longest or 1.0]
    return figure
