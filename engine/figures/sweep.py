"""Measurements over what is swept, one line a kernel, as a Plotly figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import pandas as pd

from engine.figures.look import DASHES, LETTER, LINES, ON_PAGE, ORANGE, SYMBOLS, Figure, Look, base_layout, scaled
from engine.figures.ticks import spread
from engine.history.tables import COLUMNS
from engine.records.words import size_text, text_of

WIDE = 100  # last over first value: from here on a linear axis would hide the first ones


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
    its title; the axis is logarithmic where it is WIDE or runs over powers of two, from 1 on.
    `band`: (from, to, words), the part of the axis that somebody claims something about.
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
    positive = bool(sizes) and sizes[0] > 0
    log = positive and (sizes[-1] >= WIDE * sizes[0] or all(n & (n - 1) == 0 for n in sizes))
    ticks = spread(sizes, 9, log)
    layout = base_layout(look)
    layout["height"] = look.height or 460
    layout["xaxis"] |= {
        "type": "log" if log else "linear",
        "title": {"text": scaled(title, log)},
        "tickvals": ticks,
        "ticktext": [size_text(n) for n in ticks],
    }
    top = 1.05 * max((value for line in data for value in line["y"]), default=0.0) or 1.0
    layout["yaxis"] |= {"title": {"text": COLUMNS[metric].heading}, "range": [0, top], "tickformat": ","}
    longest = max((len(name) for _, _, name, _ in ends), default=0)
    layout["margin"] |= {"l": 70, "r": 30 + round(longest * (look.font - 1) * LETTER), "t": 16}
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
    order = sorted(ends, key=lambda end: end[1])
    places: list[float] = []  # in pixels from the bottom
    for i, (_, value, _, _) in enumerate(order):
        highest = height - (len(order) - 1 - i) * step  # there must be room for those above
        places.append(max(min(value / top * height, highest), places[-1] + step if places else -step))
    for at, (_, _, name, colour) in zip(places, order, strict=True):
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
