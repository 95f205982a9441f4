"""Measurements over the swept parameter, one line per kernel, as a Plotly figure."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10
from typing import Any

import pandas as pd

from engine.figures.look import (
    DASHES,
    LINES,
    ON_PAGE,
    ORANGE,
    SYMBOLS,
    Figure,
    Look,
    base_layout,
    scaled,
    some,
    ticks,
)
from engine.history.tables import COLUMNS
from engine.records.words import size_text, text_of

WIDE = 100  # last over first value; above this ratio a linear axis hides the first values


def size_lines(
    frame: pd.DataFrame,
    metric: str,
    names: Mapping[str, str],
    look: Look = ON_PAGE,
    over: tuple[str, str] = ("n", "N"),
    band: tuple[float, float, str] | None = None,
) -> Figure:
    """Draw `metric` over n, one line per kernel, with names at the right in the order of the lines' ends.

    `frame`: a table of measurements; `names`: kernel -> its name. `over`: another column instead of n, and its title;
    its axis is logarithmic if it is WIDE or runs over powers of two from 1 on. `band`: (from, to, words), the part of
    the axis that a claim is about.
    """
    column, title = over
    lines: list[dict[str, Any]] = []
    for i, (kernel, name) in enumerate(names.items()):
        part = frame[(frame["kernel"] == kernel) & frame[metric].notna()].sort_values(column)
        if part.empty:
            continue
        lines.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [int(n) for n in part[column]],
                "y": [float(v) for v in part[metric]],
                "line": {"color": LINES[i % len(LINES)], "width": 3, "dash": DASHES[(i // len(LINES)) % len(DASHES)]},
                "marker": {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 8},
                "customdata": [text_of(metric, v) for v in part[metric]],
                "hovertemplate": f"{name}<br>{title} = %{{x:,}}: %{{customdata}}<extra></extra>",
            }
        )
    lines.sort(key=lambda line: -line["y"][-1])  # the names follow the order of the lines' ends
    sizes = sorted({int(n) for n in frame[column]}) if len(frame) else []
    positive = bool(sizes) and sizes[0] > 0
    log = positive and (sizes[-1] >= WIDE * sizes[0] or all(n & (n - 1) == 0 for n in sizes))
    shown = some(sizes)
    top = 1.05 * max((value for line in lines for value in line["y"]), default=0.0) or 1.0
    layout = base_layout(look) | {
        "height": look.height or 460,
        "showlegend": True,
        "legend": {"itemclick": False, "itemdoubleclick": False, "font": {"size": look.font - 2}},
    }
    layout["xaxis"] |= {
        "type": "log" if log else "linear",
        "title": {"text": scaled(title, log)},
        "tickvals": shown,
        "ticktext": [size_text(n) for n in shown],
    }
    layout["yaxis"] |= {"title": {"text": COLUMNS[metric].heading}, "range": [0, top], **ticks(top)}
    if band is not None and lines:
        layout |= _band(band, look)
    return {"data": lines, "layout": layout}


def _band(band: tuple[float, float, str], look: Look) -> dict[str, Any]:
    """Shade a part of a logarithmic axis over the whole height, with its words at the top."""
    low, high, words = band
    edges = {"x0": low, "x1": high, "xref": "x", "y0": 0, "y1": 1, "yref": "paper"}
    middle = (log10(low) + log10(high)) / 2
    text = {"text": words, "x": middle, "y": 0.98, "yref": "paper", "yanchor": "top", "showarrow": False}
    return {
        "shapes": [{"type": "rect", **edges, "fillcolor": ORANGE, "opacity": 0.13, "line": {"width": 0}}],
        "annotations": [text | {"font": {"size": look.font - 1, "color": ORANGE}}],
    }
