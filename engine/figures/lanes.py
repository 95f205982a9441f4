"""A block's trace as a Plotly figure: lanes x steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching.trace import Trace, TracedStep
from engine.figures.look import GREY, IDLE, LINES, ON_PAGE, RED, Figure, Look

MOST_CELLS = 40_000
MOST_ROWS = 256  # threads of a block that are drawn one row each


def line_colours(trace: Trace) -> dict[int, str]:
    """A colour for every line that the block executed; neighbours differ."""
    return colours_of({step.line for step in trace.steps if step.line})


def colours_of(lines: Collection[int]) -> dict[int, str]:
    """A colour for each of these lines; neighbours differ."""
    return {line: LINES[i % (len(LINES) - 1)] for i, line in enumerate(sorted(lines))}


def lane_figure(trace: Trace, warp: int | None, look: Look = ON_PAGE) -> Figure:
    """Lanes x steps: the colour is the line that a lane executes; grey is a lane that its warp leaves behind.

    `warp` None: all threads of the block (up to MOST_ROWS), else the 32 lanes of one warp. Red triangles: branches that
    split a warp.
    """
    warps = range(min(trace.warps, MOST_ROWS // WARP)) if warp is None else range(warp, warp + 1)
    steps = shown_steps(trace, warp)
    colours = line_colours(trace)
    order = list(colours)
    rows = [[_colour(step, w, lane, order) for step in steps] for w in warps for lane in range(WARP)]
    kinds = [IDLE, *colours.values()]
    scale = [[edge, colour] for i, colour in enumerate(kinds) for edge in (i / len(kinds), (i + 1) / len(kinds))]
    heat = {
        "type": "heatmap",
        "z": rows,
        "zmin": -0.5,
        "zmax": len(kinds) - 0.5,
        "colorscale": scale,
        "showscale": False,
        "xgap": 0.5 if len(steps) < 160 else 0,
        "ygap": 0.5 if len(rows) <= 64 else 0,
        "hoverongaps": False,
        "customdata": [[step.line for step in steps]] * len(rows) if len(rows) <= 64 else None,
        "hovertemplate": "step %{x}, thread %{y}" + (": line %{customdata}" if len(rows) <= 64 else "")
        + "<extra></extra>",
    }  # fmt: skip
    split = [i for i, step in enumerate(steps) if any(0 < step.taken[w] != step.lanes[w] for w in warps if step.taken)]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": split,
        "y": [-0.5 - 0.8 * len(rows) / WARP] * len(split),
        "marker": {"symbol": "triangle-down", "size": 10, "color": RED},
        "cliponaxis": False,
        "hovertemplate": "a branch splits the warp<extra></extra>",
    }
    size = look.font
    ticks = list(range(0, len(rows), max(8, len(rows) // 8)))
    axis = {"fixedrange": True, "zeroline": False, "tickfont": {"size": size - 3}, "showgrid": False}
    layout: dict[str, Any] = {
        "height": look.height,
        "font": {"size": size},
        "margin": {"l": 48, "r": 8, "t": 4, "b": 44},
        "showlegend": False,
        "dragmode": False,
        "hoverlabel": {"font": {"size": size}},
        "xaxis": {**axis, "title": {"text": "time: steps of the block", "font": {"size": size - 2}, "standoff": 4}},
        "yaxis": {**axis, "range": [len(rows) - 0.5, -0.5 - 1.6 * len(rows) / WARP], "tickvals": ticks,
                  "title": {"text": "thread" if warp is None else "lane", "font": {"size": size - 2}, "standoff": 2}},
        "shapes": [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": i * WARP - 0.5, "y1": i * WARP - 0.5,
             "line": {"color": GREY, "width": 1}}
            for i in range(1, len(warps))
        ],
    }  # fmt: skip
    return {"data": [heat, marks], "layout": layout}


def _colour(step: TracedStep, warp: int, lane: int, order: Sequence[int]) -> int | None:
    """Of a lane in a step: 1 + the place of its line in `order`, 0 where its warp leaves it behind, None where the warp
    takes no part."""
    lanes = step.lanes[warp]
    if not lanes:
        return None
    return 1 + _index(order, step.line) if lanes >> lane & 1 else 0


def shown_steps(trace: Trace, warp: int | None) -> list[TracedStep]:
    """The steps that `lane_figure` draws: those in which a shown warp takes part, as many as can be drawn."""
    warps = range(min(trace.warps, MOST_ROWS // WARP)) if warp is None else range(warp, warp + 1)
    steps = [step for step in trace.steps if any(step.lanes[w] for w in warps)]
    return steps[: MOST_CELLS // (WARP * len(warps))]


def active_lanes(trace: Trace, warp: int | None) -> float | None:
    """The mean of active lanes per warp instruction over the steps of one warp, or of all; None without a step."""
    warps = range(trace.warps) if warp is None else range(warp, warp + 1)
    issued = lanes = 0
    for step in trace.steps:
        for w in warps:
            if step.lanes[w]:
                issued += step.instructions
                lanes += step.instructions * step.lanes[w].bit_count()
    return lanes / issued if issued else None


def _index(order: Sequence[int], line: int) -> int:
    return order.index(line) if line in order else 0
