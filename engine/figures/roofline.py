"""The roofline as a figure: FLOP per byte against GFLOP/s, both logarithmic, with the name of every rung."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

from engine.figures.ladder import NO_TIMES
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
    centred,
    height_above,
    letters_of_line,
    log_ticks,
)
from engine.lectures.arithmetic.roofline import PEER, Roofline, Roofs, Spot

HEIGHT = 450
MOST_TICKS = 6
LINE = 1.3  # lines of type between two names
MOST_NAMED = 0.75  # of the plot's height: the largest part that the rungs' names may take
NAMES = 0.36  # of the width: for the names of the rungs at the right
BEFORE = 8  # letters left of the plot: its axis
AWAY = 30  # pixels from a point to its name


def roofline_figure(found: Roofline, position: int, look: Look = ON_PAGE) -> Figure:
    """Draw FLOP per byte against GFLOP/s, both logarithmic; the rung on the page stands out."""
    layout = base_layout(look)
    layout["height"] = look.height or HEIGHT
    layout["margin"] |= {"l": 78, "r": 16, "t": 14, "b": 24 + 2 * look.font}
    if found.roofs is None:
        layout["xaxis"]["visible"] = layout["yaxis"]["visible"] = False
        layout["annotations"] = [centred(NO_TIMES, look.font + 1)]
        return {"data": [{"type": "scatter", "x": [], "y": []}], "layout": layout}  # Plotly needs a trace
    roofs = found.roofs
    names = above(_roof_names(found, roofs), look, look.font - 1)
    layout["margin"] |= {"t": height_above(names, look.font - 1)}
    across, upright = _range(found, roofs)
    high = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    layout["xaxis"] |= _log_axis(across, "FLOP per byte read, log scale", look, MOST_TICKS)
    layout["yaxis"] |= _log_axis(upright, "GFLOP/s, log", look, round(high / (2 * look.font)))
    layout["annotations"] = [*names, *_spot_names(found.spots, position, across, upright, layout, look)]
    return {"data": [*_roof_lines(found, roofs, across), _marks(found.spots, position)], "layout": layout}


def _range(found: Roofline, roofs: Roofs) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: all rungs, the ridge and the peak, with room at the right for names."""
    xs = [spot.flop_per_byte for spot in found.spots] + [roofs.peak_gflop_s / roofs.bandwidth_gb_s]
    ys = [spot.gflop_s for spot in found.spots if spot.gflop_s is not None]
    left, low = min(xs) / 2.2, min([*ys, roofs.at(min(xs))])
    return (left, left * (max(xs) / left) ** (1 / (1 - NAMES))), (low / 2.2, roofs.peak_gflop_s * 2.6)


def _log_axis(ends: tuple[float, float], title: str, look: Look, most: int) -> dict[str, Any]:
    low, high = ends
    return {"type": "log", "range": [log10(low), log10(high)], "zeroline": False, **log_ticks(low, high, most),
            "title": {"text": title, "font": {"size": look.font}}}  # fmt: skip


def _roof_names(found: Roofline, roofs: Roofs) -> list[tuple[str, str | None]]:
    """Return the lines above the plot, each in the colour of the roof that it names."""
    names: list[tuple[str, str | None]] = [
        (f"— memory {roofs.bandwidth_gb_s:,.0f} GB/s, FP32 peak {roofs.peak_gflop_s:,.0f} GFLOP/s", ORANGE)
    ]
    if found.peer_gflop_s is not None:
        names.append((f"- - {PEER} {found.peer_gflop_s:,.0f} GFLOP/s", GREEN))
    return names


def _roof_lines(found: Roofline, roofs: Roofs, across: tuple[float, float]) -> list[dict[str, Any]]:
    ridge = roofs.peak_gflop_s / roofs.bandwidth_gb_s
    line = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    xs = [across[0], ridge, across[1]]
    lines = [{**line, "x": xs, "y": [roofs.at(x) for x in xs], "line": {"color": ORANGE, "width": 3}}]
    if found.peer_gflop_s is not None:
        lines.append({**line, "x": list(across), "y": [found.peer_gflop_s] * 2,
                      "line": {"color": GREEN, "width": 2, "dash": "dash"}})  # fmt: skip
    return lines


def _marks(spots: Sequence[Spot], position: int) -> dict[str, Any]:
    shown = [(i, spot) for i, spot in enumerate(spots) if spot.gflop_s is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [spot.flop_per_byte for _, spot in shown],
        "y": [spot.gflop_s for _, spot in shown],
        "marker": {
            "color": BLUE,
            "size": [17 if i == position else 11 for i, _ in shown],
            "symbol": ["circle" if spot.live else "circle-open" for _, spot in shown],
            "line": {"width": [4 if i == position else 2 for i, _ in shown], "color": BLUE},
        },
        "customdata": [f"{spot.title}: {spot.gflop_s:,.0f} GFLOP/s, {spot.origin}" for _, spot in shown],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _spot_names(
    spots: Sequence[Spot],
    position: int,
    across: tuple[float, float],
    upright: tuple[float, float],
    layout: Mapping[str, Any],
    look: Look,
) -> list[dict[str, Any]]:
    """Place the names of the rungs at the right of their points, pushed apart and tied to close points.

    If there are too many names, only the rung on the page shows its name; the others show theirs under the pointer.
    """
    height = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    scale = height / log10(upright[1] / upright[0])
    shown = sorted(
        ((spot.flop_per_byte, spot.gflop_s, i, spot) for i, spot in enumerate(spots) if spot.gflop_s is not None),
        key=lambda entry: (entry[0], entry[1]),
    )
    if len(shown) * look.font * LINE > MOST_NAMED * height:
        shown = [entry for entry in shown if entry[2] == position]
    # Rungs that are nearer to each other than the longest name is wide share a column of names.
    letters = max((len(spot.label) for _, _, _, spot in shown), default=0) + 2
    near = 10 ** (log10(across[1] / across[0]) * letters / (letters_of_line(look) - BEFORE))
    columns: list[list[tuple[float, float, int, Spot]]] = []
    for entry in shown:
        if columns and entry[0] / columns[-1][0][0] < near:
            columns[-1].append(entry)
        else:
            columns.append([entry])
    names = []
    for column in columns:
        column.sort(key=lambda entry: entry[1])
        at = _apart([scale * log10(y / upright[0]) for _, y, _, _ in column], look.font * LINE)
        for (x, y, i, spot), pixels in zip(column, at, strict=True):
            shift = pixels - scale * log10(y / upright[0])
            bold = f"<b>{spot.label}</b>" if i == position else spot.label
            size = look.font + (1 if i == position else 0)
            if len(column) == 1:  # below the point there is room, away from the roof
                at_edge = log10(x / across[0]) < 0.2 * log10(across[1] / across[0])
                names.append({"text": bold, "x": log10(x), "y": log10(y), "showarrow": False, "yanchor": "top",
                              "xanchor": "left" if at_edge else "center",
                              "yshift": -9, "font": {"size": size, "color": BLUE}})  # fmt: skip
                continue
            names.append(
                {"text": bold, "x": log10(x), "y": log10(y), "ax": AWAY, "ay": -shift, "xanchor": "left",
                 "showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": GREY, "standoff": 8,
                 "font": {"size": size, "color": BLUE}}
            )  # fmt: skip
    return names


def _apart(wanted: Sequence[float], step: float) -> list[float]:
    """Move the rising heights at least `step` apart: the highest stays, lower ones move down, away from the roof."""
    placed: list[float] = []
    for height in reversed(wanted):
        placed.append(min(height, placed[-1] - step) if placed else height)
    return placed[::-1]
