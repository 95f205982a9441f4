"""A block's trace as Plotly figures, plain dicts: lanes x banks over time, and lanes x steps.

The page gives them its theme. What moves with the slider is sent once, as Plotly's frames: the browser steps and plays
by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from engine.backends.emulator.watching.passes import BANKS, LANES, WORD
from engine.backends.emulator.watching.trace import Request, Step, Trace
from engine.figures.ladder import AMBER, BLUE, GREEN, GREY, LINES, ON_PAGE, ORANGE, RED, Figure, Look

MOST_FRAMES = 240
MOST_SQUARES = 8_000  # of all frames together: a browser draws them at once, and a hall of browsers loads them
MOST_CELLS = 40_000
MOST_ROWS = 256  # threads of a block that are drawn one row each
_LATE = (AMBER, ORANGE, RED, "#b3261e", "#8e1f4b")  # the 2nd, 3rd, 4th, up to 8th, later wavefronts
_IDLE = "rgba(138,147,163,0.38)"
_GRID = "rgba(138,147,163,0.22)"
# Without a full redraw Plotly would drop the bars below when a step is taken.
_NOW = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}

Moment = tuple[int, Step, Request]  # the step's number in the trace, the step, the warp's request


def moments(trace: Trace, warp: int) -> list[Moment]:
    """The memory instructions of one warp, in their order."""
    return [
        (number, step, request)
        for number, step in enumerate(trace.steps)
        for request in step.requests
        if request.warp == warp
    ]


def shown_moments(found: Sequence[Moment]) -> Sequence[Moment]:
    """As many of them, from the first on, as `bank_figure` draws."""
    squares = accumulate(LANES * max(1, step.size // WORD if step.space == "shared" else 1) for _, step, _ in found)
    return found[: min(MOST_FRAMES, sum(sofar <= MOST_SQUARES for sofar in squares))]


def busiest(found: Sequence[Moment]) -> int:
    """The position of the access to show first: the first shared one that conflicts most.

    Without conflicts that of the whole warp whose line comes most often; without such, the one with most passes.
    """
    whole = [step.space == "shared" and min(request.places) >= 0 for _, step, request in found]
    times = Counter(step.line for (_, step, _), on in zip(found, whole, strict=True) if on)
    worth = [(request.conflicts or 0, times[step.line] if on else 0, request.passes)
             for (_, step, request), on in zip(found, whole, strict=True)]  # fmt: skip
    return worth.index(max(worth)) if worth else 0


def bank_figure(trace: Trace, warp: int, start: int = 0, look: Look = ON_PAGE) -> Figure:
    """Which lane touches which bank (or sector), step by step, with a slider and a play button.

    A square is a lane's access, coloured by the wavefront that serves it; below, the passes of every memory instruction
    of the warp. `start`: the position among `moments` that is shown first. Without a height the figure fills its place.
    """
    found = shown_moments(moments(trace, warp))
    start = min(start, max(len(found) - 1, 0))
    most = max((request.passes for _, _, request in found), default=1)
    drawn = [_frame(i, most, step, request) for i, (_, step, request) in enumerate(found)]
    frames = [{"name": str(i), "data": data, "traces": [0, 1, 2, 3]} for i, data in enumerate(drawn)]
    first = drawn[start] if drawn else [{"x": [], "y": []} for _ in range(4)]
    looks: tuple[dict[str, Any], ...] = (
        {"marker": {"symbol": "square", "size": 7, "line": {"width": 0.5}}, "mode": "markers",
         "hovertemplate": "lane %{y}: %{customdata[0]}, served in pass %{customdata[1]}<extra></extra>"},
        {"marker": {"symbol": "square", "size": 5}, "mode": "markers",
         "hovertemplate": "lane %{y}: %{customdata}<extra></extra>"},
        {"mode": "text", "textposition": "middle right", "textfont": {"size": look.font}, "hoverinfo": "skip",
         "cliponaxis": False, "xaxis": "x3", "yaxis": "y3"},
        {"mode": "markers", "marker": {"symbol": "triangle-down", "size": 13, "color": RED}, "xaxis": "x2",
         "yaxis": "y2", "hoverinfo": "skip", "cliponaxis": False},
    )  # fmt: skip
    moving = [
        {"type": "scatter", **how, **{**data, "marker": {**how.get("marker", {}), **data.get("marker", {})}}}
        for how, data in zip(looks, first, strict=True)
    ]
    layout = _matrix_layout(look, len(found), most)
    layout["sliders"], layout["updatemenus"] = [_slider(found, start)], [_buttons(look)]
    return {"data": [*moving, *_passes(found)], "layout": layout, "frames": frames}


def _frame(position: int, most: int, step: Step, request: Request) -> list[dict[str, Any]]:
    """What moves: the squares, the column of active lanes, the sentence, the cursor."""
    x: list[int] = []
    y: list[int] = []
    colours: list[str] = []
    told: list[list[object]] = []
    turns = _turns(step, request)
    for lane, (place, served) in enumerate(zip(request.places, request.served, strict=True)):
        if place < 0:
            continue
        name = f"{step.array}[{(place - step.start) // step.size}]"
        if step.space == "shared":
            for word in range(max(1, step.size // WORD)):
                bank = (place // WORD + word) % BANKS
                x.append(bank)
                y.append(lane)
                colours.append(wave_colour(served))
                told.append([f"{name}, bank {bank}", served])
        else:
            x.append(served - 1)
            y.append(lane)
            colours.append(wave_colour(turns[lane]) if step.kind == "atomic" else GREEN)
            told.append([f"{name}, sector {served}", turns[lane]])
    awake = [place >= 0 for place in request.places]
    beside = {
        "x": [-2] * LANES,
        "y": list(range(LANES)),
        "marker": {"color": [GREY if on else _IDLE for on in awake],
                   "symbol": ["square" if on else "square-open" for on in awake]},
        "customdata": ["active" if on else "idle" for on in awake],
    }  # fmt: skip
    return [
        {"x": x, "y": y, "marker": {"color": colours, "line": {"color": colours, "width": 0.5}}, "customdata": told},
        beside,
        {"x": [0], "y": [0.5], "text": [moment_line(step, request)]},
        {"x": [position], "y": [request.passes + 0.18 * most]},
    ]


def _turns(step: Step, request: Request) -> list[int]:
    """When each lane of an access to global memory is served: lanes of an atomic wait for those at their address."""
    if step.kind != "atomic":
        return [1] * len(request.places)
    return [request.places[: lane + 1].count(place) for lane, place in enumerate(request.places)]


def moment_line(step: Step, request: Request) -> str:
    """What one memory instruction of a warp costs: "line 22: load of partial, 2 wavefronts, 1 bank conflict"."""
    lanes = sum(place >= 0 for place in request.places)
    what = {"load": "load of", "store": "store to", "atomic": "atomic on"}[step.kind]
    head = f"<b>line {step.line}</b>: {what} {step.array or step.space}, {_many(lanes, 'lane')}"
    if step.space == "shared":
        conflicts = request.conflicts or 0
        wide = f", as {step.size} bytes a lane need" if step.size > WORD and request.passes > 1 else ", no conflict"
        tail = f", <b>{_many(conflicts, 'bank conflict')}</b>" if conflicts else wide
        return f"{head}, {_many(request.passes, 'wavefront')}{tail}"
    if step.kind == "atomic":
        most = max(request.places.count(place) for place in request.places if place >= 0)
        apart = "each at its own address" if most == 1 else f"{most} at one address"
        return f"{head}, <b>{apart}</b>" if lanes > 1 else head
    return f"{head}, <b>{_many(request.passes, 'sector')}</b> of 32 bytes for {_asked(step, request):,} bytes"


def _asked(step: Step, request: Request) -> int:
    return len({place for place in request.places if place >= 0}) * step.size


def wave_colour(served: int) -> str:
    """The colour of a lane that the `served`-th wavefront serves: blue for the first, ever redder for later ones."""
    if served <= 1:
        return BLUE
    return _LATE[served - 2] if served <= 4 else _LATE[3] if served <= 8 else _LATE[4]


def _passes(found: Sequence[Moment]) -> list[dict[str, Any]]:
    """The strip of time: passes of every memory instruction, conflicts on top."""
    bars: list[dict[str, Any]] = []
    for colour, space, conflicts in ((BLUE, "shared", False), (ORANGE, "shared", True), (GREEN, "global", False)):
        part = [
            (i, (request.conflicts or 0) if conflicts else request.passes - (request.conflicts or 0), step)
            for i, (_, step, request) in enumerate(found)
            if step.space == space
        ]
        bars.append(
            {
                "type": "bar",
                "x": [i for i, _, _ in part],
                "y": [value for _, value, _ in part],
                "customdata": [step.line for _, _, step in part],
                "marker": {"color": colour, "line": {"width": 0}},
                "xaxis": "x2",
                "yaxis": "y2",
                "hovertemplate": "line %{customdata}: %{y} "
                + ("conflicts" if conflicts else "wavefronts" if space == "shared" else "sectors")
                + "<extra></extra>",
            }
        )
    return bars


def _matrix_layout(look: Look, frames: int, most: int) -> dict[str, Any]:
    size = look.font
    axis = {"fixedrange": True, "zeroline": False, "tickfont": {"size": size - 3}, "gridcolor": _GRID}
    every = list(range(BANKS))
    names = [str(i) if i % 4 == 0 else "" for i in every]
    return {
        "height": look.height,
        "font": {"size": size},
        "margin": {"l": 44, "r": 8, "t": 6, "b": 50},
        "showlegend": False,
        "dragmode": False,
        "barmode": "stack",
        "bargap": 0.15,
        "hoverlabel": {"font": {"size": size}},
        "xaxis": {**axis, "range": [-3, 31.8], "domain": [0, 1], "anchor": "y",
                  "tickvals": every, "ticktext": names, "showgrid": True, "ticks": "",
                  "side": "bottom", "title": {"text": "bank of shared memory, or sector of global memory",
                                              "font": {"size": size - 2}, "standoff": 2}},
        "yaxis": {**axis, "range": [31.7, -0.7], "domain": [0.27, 0.92],
                  "tickvals": every, "ticktext": names, "showgrid": True, "ticks": "",
                  "title": {"text": "lane", "font": {"size": size - 2}, "standoff": 2}},
        "xaxis3": {"domain": [0, 1], "range": [0, 1], "visible": False, "fixedrange": True, "anchor": "y3"},
        "yaxis3": {"domain": [0.93, 1], "range": [0, 1], "visible": False, "fixedrange": True, "anchor": "x3"},
        "xaxis2": {**axis, "range": [-0.6, max(frames, 1) - 0.4], "domain": [0, 1], "anchor": "y2",
                   "showticklabels": False, "showgrid": False},
        "yaxis2": {**axis, "domain": [0, 0.13], "nticks": 3, "range": [0, 1.45 * most],
                   "title": {"text": "passes", "font": {"size": size - 2}, "standoff": 2}},
    }  # fmt: skip


def _slider(found: Sequence[Moment], start: int) -> dict[str, Any]:
    return {
        "active": start,
        "x": 0,
        "len": 1,
        "y": 0,
        "pad": {"t": 8, "b": 0, "l": 0, "r": 0},
        "currentvalue": {"visible": False},
        "font": {"size": 1, "color": "rgba(0,0,0,0)"},
        "ticklen": 0,
        "minorticklen": 0,
        "bgcolor": _GRID,
        "activebgcolor": RED,
        "bordercolor": _GRID,
        "steps": [{"label": "", "method": "animate", "args": [[str(i)], _NOW]} for i in range(len(found))],
    }


def _buttons(look: Look) -> dict[str, Any]:
    play = {"mode": "immediate", "fromcurrent": True, "frame": {"duration": 700, "redraw": True},
            "transition": {"duration": 0}}  # fmt: skip
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "top",
        "pad": {"t": 0, "l": 0, "r": 0, "b": 0},
        "font": {"size": look.font - 1, "color": GREY},
        "bgcolor": "rgba(0,0,0,0)",
        "bordercolor": _GRID,
        "buttons": [
            {"label": "▶", "method": "animate", "args": [None, play]},
            {"label": "❚❚", "method": "animate", "args": [[None], _NOW]},
        ],
    }


# ---- lanes over time


def line_colours(trace: Trace) -> dict[int, str]:
    """A colour for every line that the block executed; neighbours differ."""
    lines = sorted({step.line for step in trace.steps if step.line})
    return {line: LINES[i % (len(LINES) - 1)] for i, line in enumerate(lines)}


def lane_figure(trace: Trace, warp: int | None, look: Look = ON_PAGE) -> Figure:
    """Lanes x steps: the colour is the line that a lane executes; grey is a lane that its warp leaves behind.

    `warp` None: all threads of the block (up to MOST_ROWS), else the 32 lanes of one warp. Red triangles: branches that
    split a warp.
    """
    warps = range(min(trace.warps, MOST_ROWS // LANES)) if warp is None else range(warp, warp + 1)
    steps = shown_steps(trace, warp)
    colours = line_colours(trace)
    order = list(colours)
    rows: list[list[int | None]] = []
    for w in warps:
        for lane in range(LANES):
            column: list[int | None] = []
            for step in steps:
                lanes = step.lanes[w]
                column.append(None if not lanes else 0 if not lanes >> lane & 1 else 1 + _index(order, step.line))
            rows.append(column)
    kinds = [_IDLE, *colours.values()]
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
        "y": [-0.5 - 0.8 * len(rows) / LANES] * len(split),
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
        "yaxis": {**axis, "range": [len(rows) - 0.5, -0.5 - 1.6 * len(rows) / LANES], "tickvals": ticks,
                  "title": {"text": "thread" if warp is None else "lane", "font": {"size": size - 2}, "standoff": 2}},
        "shapes": [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": i * LANES - 0.5, "y1": i * LANES - 0.5,
             "line": {"color": GREY, "width": 1}}
            for i in range(1, len(warps))
        ],
    }  # fmt: skip
    return {"data": [heat, marks], "layout": layout}


def shown_steps(trace: Trace, warp: int | None) -> list[Step]:
    """The steps that `lane_figure` draws: those in which a shown warp takes part, as many as can be drawn."""
    warps = range(min(trace.warps, MOST_ROWS // LANES)) if warp is None else range(warp, warp + 1)
    steps = [step for step in trace.steps if any(step.lanes[w] for w in warps)]
    return steps[: MOST_CELLS // (LANES * len(warps))]


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


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
