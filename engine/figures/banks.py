"""A block's trace as a Plotly figure: lanes x banks over time.

The steps are Plotly frames in the figure, so the browser steps and plays without asking the server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching.trace import Request, Trace, TracedStep
from engine.backends.emulator.watching.wavefronts import BANKS, WORD
from engine.figures.look import AMBER, BLUE, GREEN, GREY, IDLE, ON_PAGE, ORANGE, RED, Figure, Look
from engine.records.words import many

MOST_FRAMES = 240
MOST_SQUARES = 8_000  # of all frames together; every browser of a lecture loads and draws them
_LATE = (AMBER, ORANGE, RED, "#b3261e", "#8e1f4b")  # the 2nd, 3rd, 4th, up to 8th, later wavefronts
_GRID = "rgba(138,147,163,0.22)"
# Without a full redraw Plotly drops the lower bars at each step.
_NOW = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}

Moment = tuple[int, TracedStep, Request]  # the step's number in the trace, the step, the warp's request


def moments(trace: Trace, warp: int) -> list[Moment]:
    """Return the memory instructions of one warp, in order."""
    return [
        (number, step, request)
        for number, step in enumerate(trace.steps)
        for request in step.requests
        if request.warp == warp
    ]


def shown_moments(found: Sequence[Moment]) -> Sequence[Moment]:
    """Return the first of these moments, as many as `bank_figure` draws."""
    squares = accumulate(WARP * max(1, step.size // WORD if step.space == "shared" else 1) for _, step, _ in found)
    return found[: min(MOST_FRAMES, sum(sofar <= MOST_SQUARES for sofar in squares))]


def busiest(found: Sequence[Moment]) -> int:
    """Return the position of the access to show first: the shared access with the most bank conflicts.

    Without conflicts: the line that whole warps execute most often; without such a line, the access with most passes.
    """
    whole = [step.space == "shared" and min(request.places) >= 0 for _, step, request in found]
    times = Counter(step.line for (_, step, _), on in zip(found, whole, strict=True) if on)
    worth = [(request.conflicts or 0, times[step.line] if on else 0, request.passes)
             for (_, step, request), on in zip(found, whole, strict=True)]  # fmt: skip
    return worth.index(max(worth)) if worth else 0


def bank_figure(trace: Trace, warp: int, start: int = 0, look: Look = ON_PAGE) -> Figure:
    """Draw which lane accesses which bank (or sector), step by step, with a slider and a play button.

    A square is a lane's access, coloured by its wavefront; below are the passes of every memory instruction of the
    warp. `start`: the position among `moments` that is shown first. Without a height the figure fills its container.
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


def _frame(position: int, most: int, step: TracedStep, request: Request) -> list[dict[str, Any]]:
    """Return one frame: the squares, the column of active lanes, the sentence and the cursor."""
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
        "x": [-2] * WARP,
        "y": list(range(WARP)),
        "marker": {"color": [GREY if on else IDLE for on in awake],
                   "symbol": ["square" if on else "square-open" for on in awake]},
        "customdata": ["active" if on else "idle" for on in awake],
    }  # fmt: skip
    return [
        {"x": x, "y": y, "marker": {"color": colours, "line": {"color": colours, "width": 0.5}}, "customdata": told},
        beside,
        {"x": [0], "y": [0.5], "text": [moment_line(step, request)]},
        {"x": [position], "y": [request.passes + 0.18 * most]},
    ]


def _turns(step: TracedStep, request: Request) -> list[int]:
    """Return each lane's turn in a global access: lanes of an atomic wait for earlier lanes at the same address."""
    if step.kind != "atomic":
        return [1] * len(request.places)
    return [request.places[: lane + 1].count(place) for lane, place in enumerate(request.places)]


def moment_line(step: TracedStep, request: Request) -> str:
    """Describe the cost of a warp's memory instruction: "line 22: load of partial, 2 wavefronts, 1 bank conflict"."""
    lanes = sum(place >= 0 for place in request.places)
    what = {"load": "load of", "store": "store to", "atomic": "atomic on"}[step.kind]
    head = f"<b>line {step.line}</b>: {what} {step.array or step.space}, {many(lanes, 'lane')}"
    if step.space == "shared":
        conflicts = request.conflicts or 0
        wide = f", as {step.size} bytes a lane need" if step.size > WORD and request.passes > 1 else ", no conflict"
        tail = f", <b>{many(conflicts, 'bank conflict')}</b>" if conflicts else wide
        return f"{head}, {many(request.passes, 'wavefront')}{tail}"
    if step.kind == "atomic":
        most = max(request.places.count(place) for place in request.places if place >= 0)
        apart = "each at its own address" if most == 1 else f"{most} at one address"
        return f"{head}, <b>{apart}</b>" if lanes > 1 else head
    return f"{head}, <b>{many(request.passes, 'sector')}</b> of 32 bytes for {_asked(step, request):,} bytes"


def _asked(step: TracedStep, request: Request) -> int:
    return len({place for place in request.places if place >= 0}) * step.size


def wave_colour(served: int) -> str:
    """Return the colour of a lane in the `served`-th wavefront: blue for the first, redder for later ones."""
    if served <= 1:
        return BLUE
    return _LATE[served - 2] if served <= 4 else _LATE[3] if served <= 8 else _LATE[4]


def _passes(found: Sequence[Moment]) -> list[dict[str, Any]]:
    """Draw the passes of every memory instruction over time, with conflicts on top."""
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
