"""Errors over N on logarithmic axes: measured answers as points, theory as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, inf, log10
from statistics import median
from typing import Any

from engine.figures.look import (
    DASHES,
    GREY,
    LINE,
    LINES,
    ON_PAGE,
    SYMBOLS,
    Figure,
    Look,
    base_layout,
    centred,
    legend_lines,
    scaled,
    some,
)
from engine.records.words import size_text

AROUND = 150  # pixels for the axis and one line of the legend
SPREAD = 0.7  # of the distance between two N: the largest distance between points of one N
Points = Sequence[tuple[int, float]]  # (N, error); 0: the answer was exact


@dataclass(frozen=True)
class Series:
    """Measured errors of one rung. `open`: drawn as rings, to tell two errors of one rung apart. `named`: in the
    legend, which has no room for the names of many."""

    name: str
    points: Points
    colour: int
    open: bool = False
    named: bool = True


@dataclass(frozen=True)
class Curve:
    """A computed line."""

    name: str
    points: Points


def error_lines(
    series: Sequence[Series], curves: Sequence[Curve], n: int, look: Look = ON_PAGE, nothing: str = ""
) -> Figure:
    """Draw `series` and `curves` over N, with the page's own `n` marked.

    Exact answers stand on a separate line at the bottom, because a logarithm has no zero. `nothing`: the text of an
    empty plot.
    """
    every: list[Points] = [part.points for part in series] + [part.points for part in curves]
    finite = [e for points in every for _, e in points if 0 < e < inf]
    low = floor(log10(min(finite, default=1e-16)))
    high = log10(max(finite, default=1.0))
    layout = base_layout(look)
    layout["height"] = look.height or 470
    named = [*(curve.name for curve in curves), *(part.name for part in series if part.named)]
    below = layout["height"] - AROUND - LINE * look.font * (legend_lines(named, look) - 1)
    rows = max(2.0, below / (1.5 * look.font))  # powers whose labels fit the axis
    zero = low - max(1.0, 1.6 * (high - low) / rows)  # keeps its word apart from the label of the lowest power
    exact = any(e == 0 for part in series for _, e in part.points)
    sizes = sorted({size for points in every for size, _ in points})
    data = [_line(curve, i) for i, curve in enumerate(curves)]
    drawn = [part for part in series if part.points]
    data += [_dots(part, 10**zero, look, _aside(i, len(drawn), sizes)) for i, part in enumerate(drawn)]
    shown = some(sizes, 7)
    layout["xaxis"] |= {
        "type": "log",
        "title": {"text": scaled("N"), "font": {"size": look.font - 1}},
        "tickvals": shown,
        "ticktext": [size_text(s) for s in shown],
    }
    powers = range(low, ceil(high) + 1, ceil((high - low) / max(2, min(8, rows // 2))) or 1)
    layout["yaxis"] |= {
        "type": "log",
        "title": {"text": scaled("error"), "font": {"size": look.font - 1}},
        "range": [zero - 0.5 * (low - zero) if exact else low - 0.3, high + 0.4],
        "tickvals": [*([10**zero] if exact else []), *(10.0**power for power in powers)],
        "ticktext": [*(["exact"] if exact else []), *(f"10<sup>{power}</sup>".replace("-", "−") for power in powers)],
    }
    layout["showlegend"] = True
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                        "font": {"size": look.font - 2}}  # fmt: skip
    layout["margin"] |= {"l": 64, "t": 20}
    layout["shapes"] = [{"type": "line", "x0": n, "x1": n, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
                         "line": {"color": GREY, "width": 1, "dash": "dot"}}]  # fmt: skip
    if nothing and not any(part.points for part in series):
        layout["annotations"] = [centred(nothing, look.font + 1)]
    return {"data": data, "layout": layout}


def _line(curve: Curve, number: int) -> dict[str, Any]:
    points = [(n, e) for n, e in curve.points if 0 < e < inf]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": curve.name,
        "x": [n for n, _ in points],
        "y": [e for _, e in points],
        "line": {"color": GREY, "width": 2.5, "dash": DASHES[1 + number % (len(DASHES) - 1)]},
        "hovertemplate": f"{curve.name}<br>N = %{{x:,}}: %{{y:.3g}}<extra></extra>",
    }


def _aside(place: int, of: int, sizes: Sequence[int]) -> float:
    """Return the factor by which a rung's points are shifted, so equal points stand side by side."""
    steps = [after / before for before, after in pairwise(sizes) if before > 0]
    apart = median(steps) if steps else 1.0
    return float(apart ** (SPREAD * (place / (of - 1) - 0.5))) if of > 1 else 1.0


def _dots(part: Series, zero: float, look: Look, aside: float) -> dict[str, Any]:
    symbol = SYMBOLS[part.colour % len(SYMBOLS)] + ("-open" if part.open else "")
    return {
        "type": "scatter",
        "mode": "markers" if part.open else "lines+markers",
        "name": part.name,
        "showlegend": part.named,
        "x": [n * aside for n, _ in part.points],
        "y": [e or zero for _, e in part.points],
        "customdata": [f"N = {n:,}: {f'{e:.3g}' if e else 'exact'}" for n, e in part.points],
        "line": {"color": LINES[part.colour % len(LINES)], "width": 1.5},
        "marker": {"symbol": symbol, "size": look.font - 4, "line": {"width": 2}},
        "hovertemplate": f"{part.name}<br>%{{customdata}}<extra></extra>",
    }
