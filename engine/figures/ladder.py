"""DataFrame -> Plotly figure, as a plain dict: building one costs microseconds.

The page gives the figures its theme, so that text and grid follow light and dark; the colours of the data are set
here, from a palette that colour-blind readers can tell apart and that stands out on both backgrounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import pandas as pd

from engine.tables import COLUMNS, COUNTED, MEASURED
from engine.words import size_text, text_of

Figure = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE, AMBER, GREY = "#2f7fd1", "#d9622b", "#12a07a", "#a85fb0", "#c79200", "#8a93a3"
RED = "#dc4c44"
LINES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, "#c4457a", "#4aa5c9", "#7a6ff0", "#6b8f23", GREY)
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")


@dataclass(frozen=True)
class Look:
    """How large a figure is drawn: the size of its type and its height in pixels (None: as its rows need)."""

    font: int = 15
    height: int | None = None


ON_PAGE = Look()
NO_COUNTS = "Nothing counted yet.<br>Run the ladder on the emulator."
NO_TIMES = "No times for these choices yet.<br>Run the ladder on a GPU,<br>or choose N as it was recorded."

# What st.plotly_chart should be told: a chart in a lecture is looked at, not edited.
CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False}


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


def size_lines(
    frame: pd.DataFrame,
    metric: str,
    names: Mapping[str, str],
    look: Look = ON_PAGE,
    over: tuple[str, str] = ("n", "N"),
    band: tuple[float, float, str] | None = None,
) -> Figure:
    """`metric` over n, one line a kernel; each line carries its name at its end.

    `frame` is a table of measurements; `names` kernel -> what to call it. `over`: another column in the place of n, and
    its title; the axis is logarithmic where it runs over powers of two, from 1 on. `band`: (from, to, words), the part
    of the axis that somebody claims something about.
    """
    column, title = over
    data: list[dict[str, Any]] = []
    ends: list[tuple[float, float, str, str]] = []
    for i, (kernel, name) in enumerate(names.items()):
        part = frame[(frame["kernel"] == kernel) & frame[metric].notna()].sort_values(column)
        if part.empty:
            continue
        colour = LINES[i % len(LINES)]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [int(n) for n in part[column]],
                "y": [float(v) for v in part[metric]],
                "line": {"color": colour, "width": 3, "dash": DASHES[(i // len(LINES)) % len(DASHES)]},
                "marker": {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 8},
                "customdata": [text_of(metric, v) for v in part[metric]],
                "hovertemplate": f"{name}<br>{title} = %{{x:,}}: %{{customdata}}<extra></extra>",
            }
        )
        ends.append((float(part[column].iloc[-1]), float(part[metric].iloc[-1]), name, colour))
    sizes = sorted({int(n) for n in frame[column]}) if len(frame) else []
    log = column == "n" or all(n > 0 and n & (n - 1) == 0 for n in sizes)
    layout = base_layout(look)
    layout["height"] = look.height or 460
    layout["showlegend"] = False
    layout["xaxis"] |= {
        "type": "log" if log else "linear",
        "title": {"text": title},
        "tickvals": spread(sizes, 9),
        "ticktext": [size_text(n) for n in spread(sizes, 9)],
    }
    top = 1.05 * max((value for line in data for value in line["y"]), default=0.0) or 1.0
    layout["yaxis"] |= {"title": {"text": COLUMNS[metric].heading}, "range": [0, top]}
    longest = max((len(name) for _, _, name, _ in ends), default=0)
    layout["margin"] |= {"l": 70, "r": 24 + round(longest * look.font * 0.5), "t": 16}
    layout["annotations"] = _end_labels(ends, top, layout["height"] - 80, look)
    if band is not None and data:
        _mark_band(layout, band, look)
    return {"data": data, "layout": layout}


def _mark_band(layout: dict[str, Any], band: tuple[float, float, str], look: Look) -> None:
    """A part of a logarithmic axis shaded over the whole height, with its words at the bottom."""
    low, high, words = band
    edges = {"x0": low, "x1": high, "xref": "x", "y0": 0, "y1": 1, "yref": "paper"}
    layout["shapes"] = [{"type": "rect", **edges, "fillcolor": ORANGE, "opacity": 0.13, "line": {"width": 0}}]
    middle = (log10(low) + log10(high)) / 2
    text = {"text": words, "x": middle, "y": 0.02, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    layout["annotations"].append(text | {"font": {"size": look.font - 1, "color": ORANGE}})


def _end_labels(
    ends: Sequence[tuple[float, float, str, str]], top: float, height: int, look: Look
) -> list[dict[str, Any]]:
    """The names of the lines at the right edge of an axis up to `top`, pushed apart where they end close together."""
    step = look.font * 1.35
    labels = []
    below = -1e9  # pixels from the bottom that are taken
    for _, value, name, colour in sorted(ends, key=lambda end: end[1]):
        at = max(value / top * height, below + step)
        below = at
        labels.append(
            {
                "text": name,
                "x": 1.01,
                "xref": "paper",
                "xanchor": "left",
                "y": at / height,
                "yref": "paper",
                "yanchor": "middle",
                "showarrow": False,
                "font": {"size": look.font - 1, "color": colour},
            }
        )
    return labels


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


def centred(text: str, size: int) -> dict[str, Any]:
    """An annotation in the middle of a plot, in type of `size` pixels: for what has nothing to draw yet."""
    return {"text": text, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": size, "color": GREY}}  # fmt: skip


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


def base_layout(look: Look) -> dict[str, Any]:
    """What every figure's layout begins with: type as large as `look` says, axes that cannot be dragged, no legend."""
    size = look.font
    axis = {"tickfont": {"size": size}, "fixedrange": True, "automargin": True}
    return {
        "font": {"size": size},
        "margin": {"l": 10, "r": 12, "t": 12, "b": 16 + 2 * size},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
        "showlegend": False,
        "hoverlabel": {"font": {"size": size}},
        "dragmode": False,
    }


def spread(values: Sequence[int], most: int) -> list[int]:
    """At most `most` of the values, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = -(-(len(values) - 1) // (most - 1))
    return sorted({*values[::step], values[-1]})
