"""A block's trace as a Plotly figure: lanes x steps."""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import Any, NamedTuple

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching.trace import Trace, TracedStep
from engine.figures.look import GREY, IDLE, LINES, ON_PAGE, RED, Figure, Look

MOST_CELLS = 40_000
MOST_ROWS = 256  # threads of a block that get a row each
MOST_RUNS = 12_000  # bars of a figure that a browser draws in a second


def line_colours(trace: Trace) -> dict[int, str]:
    """Return a colour for every executed line of the block; neighbouring lines differ."""
    lines = sorted({step.line for step in trace.steps if step.line})
    return {line: LINES[i % (len(LINES) - 1)] for i, line in enumerate(lines)}


def lane_figure(trace: Trace, warp: int | None, look: Look = ON_PAGE) -> Figure:
    """Draw lanes x steps: the colour is the line that a lane executes, grey a lane that waits for the rest of its warp.

    `warp`: 32 lanes; None: all threads of the block, up to MOST_ROWS. Red triangles mark divergent branches.
    """
    warps = range(min(trace.warps, MOST_ROWS // WARP)) if warp is None else range(warp, warp + 1)
    steps = shown_steps(trace, warp)
    colours = line_colours(trace)
    numbered = [(at, run) for at, step in enumerate(steps) for run in _runs(step, warps)]
    rows = WARP * len(warps)
    bars = {
        "type": "bar",
        "x": [at for at, _ in numbered],
        "y": [run.lanes for _, run in numbered],
        "base": [run.first - 0.5 for _, run in numbered],
        "width": 0.9 if len(steps) < 160 else 1,
        "marker": {"color": [colours.get(steps[at].line, IDLE) if run.active else IDLE for at, run in numbered],
                   "line": {"width": 0}},
        "customdata": [[run.words, steps[at].line] for at, run in numbered],
        "hovertemplate": f"step %{{x}}, {'thread' if warp is None else 'lane'} %{{customdata[0]}}: "
        "line %{customdata[1]}<extra></extra>",
    }  # fmt: skip
    split = [i for i, step in enumerate(steps) if any(0 < step.taken[w] != step.lanes[w] for w in warps if step.taken)]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": split,
        "y": [-0.5 - 0.8 * rows / WARP] * len(split),
        "marker": {"symbol": "triangle-down", "size": 10, "color": RED},
        "cliponaxis": False,
        "hovertemplate": "a branch splits the warp<extra></extra>",
    }
    size = look.font
    ticks = list(range(0, rows, max(8, rows // 8)))
    axis = {"fixedrange": True, "zeroline": False, "tickfont": {"size": size - 3}, "showgrid": False}
    layout: dict[str, Any] = {
        "height": look.height,
        "font": {"size": size},
        "margin": {"l": 48, "r": 8, "t": 4, "b": 44},
        "showlegend": False,
        "dragmode": False,
        "hoverlabel": {"font": {"size": size}},
        "xaxis": {**axis, "title": {"text": "time: steps of the block", "font": {"size": size - 2}, "standoff": 4}},
        "yaxis": {**axis, "range": [rows - 0.5, -0.5 - 1.6 * rows / WARP], "tickvals": ticks,
                  "title": {"text": "thread" if warp is None else "lane", "font": {"size": size - 2}, "standoff": 2}},
        "shapes": [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": i * WARP - 0.5, "y1": i * WARP - 0.5,
             "line": {"color": GREY, "width": 1}}
            for i in range(1, len(warps))
        ],
    }  # fmt: skip
    return {"data": [bars, marks], "layout": layout}


class _Run(NamedTuple):
    """Neighbouring rows of one step that all execute its line, or all wait."""

    first: int
    lanes: int
    active: bool

    @property
    def words(self) -> str:
        return str(self.first) if self.lanes == 1 else f"{self.first} to {self.first + self.lanes - 1}"


def _runs(step: TracedStep, warps: range) -> list[_Run]:
    """Return the runs of one step, from the first row down, without warps that take no part in the step."""
    lanes = [(step.lanes[w] >> lane & 1) if step.lanes[w] else None for w in warps for lane in range(WARP)]
    runs, first = [], 0
    for active, group in groupby(lanes):
        count = len(list(group))
        if active is not None:
            runs.append(_Run(first, count, bool(active)))
        first += count
    return runs


def shown_steps(trace: Trace, warp: int | None) -> list[TracedStep]:
    """Return the steps that `lane_figure` draws: the first steps of the shown warps."""
    warps = range(min(trace.warps, MOST_ROWS // WARP)) if warp is None else range(warp, warp + 1)
    steps = [step for step in trace.steps if any(step.lanes[w] for w in warps)]
    steps = steps[: MOST_CELLS // (WARP * len(warps))]
    runs = accumulate(len(_runs(step, warps)) for step in steps)
    return steps[: sum(drawn <= MOST_RUNS for drawn in runs)]


def active_lanes(trace: Trace, warp: int | None) -> float | None:
    """Return the mean of active lanes per warp instruction of one warp, or of all; None without a step."""
    warps = range(trace.warps) if warp is None else range(warp, warp + 1)
    issued = lanes = 0
    for step in trace.steps:
        for w in warps:
            if step.lanes[w]:
                issued += step.instructions
                lanes += step.instructions * step.lanes[w].bit_count()
    return lanes / issued if issued else None
