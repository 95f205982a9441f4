"""Steps, work and cost as Plotly figures: over the elements per thread with the times, and step by step."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2, log10
from typing import Any

from engine.figures.look import (
    AMBER,
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
    log_ticks,
    scaled,
    some,
)
from engine.lectures.arithmetic.complexity import Level, cost_of, logarithm, steps_of, work
from engine.lectures.arithmetic.elements import CLAIM, Division
from engine.records.words import count_text, many, time_text

MOST_STEPS = 64  # more bars have no room
SMALL = 28  # lines of type; a lower plot shows only the necessary parts
_BAND = "rgba(199,146,0,0.16)"


def sweep_figure(
    points: Sequence[Division], automatic: Division | None, look: Look = ON_PAGE, recorded: Sequence[int] = ()
) -> Figure:
    """Draw Brent's steps and cost per element over the elements per thread, and below them the measured times.

    The band is the lecture's claim, the dashed line Brent's log2 N. `automatic`: the kernel's own choice of grid, drawn
    as a star. `recorded`: other block sizes that have times.
    """
    size = look.font
    n = points[0].choice.n
    elements = [point.elements for point in points]
    layout = base_layout(look)
    layout["height"] = look.height or 540
    layout["margin"] |= {"l": 74, "t": 12 + round(3.2 * size), "r": 16}
    small = layout["height"] < SMALL * size
    shown = some(elements, 5 if small else 8)
    layout["xaxis"] |= {
        "tickangle": 0,
        "type": "log",
        "range": [log10(0.72), log10(max(elements) * 1.4)],
        "tickvals": shown,
        "ticktext": [f"{e:,}" for e in shown],
        "title": _title("elements per thread, all axes log scale", size),
        "anchor": "free",
        "position": 0,
    }
    timed = [point for point in points if point.time_us is not None]
    counts = [value for point in points for value in (point.steps, point.cost / n)]
    times = [point.time_us or 0.0 for point in timed]
    high = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    rows = round(0.43 * high / (2 * size))  # ticks that fit one of the two plots
    layout["yaxis"] |= {"type": "log", "domain": [0.57, 1], "title": _title("steps", size),
                        **_log_axis(counts, rows)}  # fmt: skip
    layout["yaxis2"] = {**layout["yaxis"], "domain": [0, 0.43], "title": _title("µs", size),
                        **_log_axis(times or [1.0], rows)}  # fmt: skip
    layout["showlegend"] = True
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": size - 2}}
    layout["shapes"], layout["annotations"] = _marks(n, max(elements), size)
    data = [
        _line(
            "steps" if small else "steps T = N/P + log₂ P", elements, [point.steps for point in points], BLUE, "circle"
        ),
        _line(
            "cost / N" if small else "cost P·T, per element",
            elements,
            [point.cost / n for point in points],
            ORANGE,
            "square",
        ),
    ]
    blocks = " and ".join(map(str, recorded))
    if timed:
        data += _times(timed, automatic, small)
    else:
        layout["yaxis2"] |= {"showticklabels": False, "showgrid": False}
        said = f"No times with these blocks:<br>{f'{blocks} have some' if blocks else 'run the sweep on a GPU'}."
        layout["annotations"] = [centred(said, size) | {"y": 0.2}]
    return {"data": data, "layout": layout}


def _log_axis(values: Sequence[float], most: int) -> dict[str, Any]:
    """Return the range of an axis around the values, and its ticks."""
    low, high = min(values) / 1.5, max(values) * 1.5
    return {"range": [log10(low), log10(high)], **log_ticks(low, high, most)}


def _title(text: str, size: int) -> dict[str, Any]:
    return {"text": text, "font": {"size": size - 1}}


def _marks(n: int, most: int, size: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw the claim's band and Brent's line, with their names, in the upper plot."""
    shapes, notes = [], []
    if most >= CLAIM[0]:
        shapes.append({"type": "rect", "layer": "below", "x0": CLAIM[0], "x1": min(CLAIM[1], most), "y0": 0, "y1": 1,
                       "yref": "paper", "fillcolor": _BAND, "line": {"width": 0}})  # fmt: skip
        notes.append({"text": "<b>the lecture:<br>best</b>", "x": log10(2048), "y": 0.5, "yref": "paper",
                      "showarrow": False, "font": {"size": size - 2, "color": AMBER}})  # fmt: skip
    brent = ceil(log2(n)) if n > 1 else 1
    if brent <= most:
        shapes.append({"type": "line", "x0": brent, "x1": brent, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
                       "line": {"color": GREY, "width": 2, "dash": "dash"}})  # fmt: skip
        notes.append({"text": f"Brent:<br>{logarithm(n)} = {brent}", "x": log10(brent), "y": 0.5, "yref": "paper",
                      "showarrow": False, "font": {"size": size - 2, "color": GREY}, "xanchor": "left", "xshift": 5,
                      "align": "left"})  # fmt: skip
    return shapes, notes


def _line(name: str, x: list[int], y: Sequence[float], colour: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": list(y),
        "line": {"color": colour, "width": 3},
        "marker": {"symbol": symbol, "size": 7},
        "hovertemplate": f"{name}<br>%{{x:,}} per thread: %{{y:,.4g}}<extra></extra>",
    }


def _times(timed: Sequence[Division], automatic: Division | None, small: bool) -> list[dict[str, Any]]:
    recorded = any("recorded" in (point.origin or "") for point in timed)
    origin = timed[0].origin
    drawn: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "time" if small else f"time: {origin}",
            "yaxis": "y2",
            "x": [point.elements for point in timed],
            "y": [point.time_us for point in timed],
            "customdata": [[time_text(point.time_us or 0.0), point.origin, f"{point.threads:,}"] for point in timed],
            "line": {"color": GREEN, "width": 3},
            "marker": {"symbol": "diamond-open" if recorded else "diamond", "size": 10, "line": {"width": 2}},
            "hovertemplate": "%{x:,} per thread, %{customdata[2]} threads: %{customdata[0]}<br>%{customdata[1]}"
            "<extra></extra>",
        }
    ]
    if automatic is not None and automatic.time_us is not None:
        drawn.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "its own grid",
                "showlegend": not small,
                "yaxis": "y2",
                "x": [automatic.choice.n / automatic.threads],
                "y": [automatic.time_us],
                "marker": {"symbol": "star", "size": 15, "color": AMBER},
                "hovertemplate": f"the kernel's own choice: {time_text(automatic.time_us)}<extra></extra>",
            }
        )
    return drawn


def _in_a_row(made: Sequence[Level]) -> str:
    last = made[-1]
    return last.tail_by if last.tail_by and not last.tail else f"{many(steps_of(made), 'step')} in a row"


def _bars(level: Level) -> list[tuple[int, int, str, int]]:
    """Return (working threads, allotted threads, their action, number of such steps) for each bar of a launch."""
    loads = [(level.threads, level.threads, "take an element", 1)] * level.loads
    if level.loads > MOST_STEPS:
        loads = [(level.threads, level.threads, "take an element", level.loads)]
    tree = [
        (threads, level.threads, f"add, step {step} of the tree", 1)
        for step, threads in enumerate(level.working()[level.loads :], 1)
    ]
    tail = [(1, 1, level.tail_by, level.tail)] if level.tail else []
    return [*loads, *tree, *tail]


def tree_figure(made: Sequence[Level], n: int, time: str, look: Look = ON_PAGE) -> Figure:
    """Draw for each step the working threads (bars) and the allotted threads (line).

    The work is the area of the bars, the cost the area below the line. `time`: the measured time with its origin, or
    "".
    """
    size = look.font
    layout = base_layout(look)
    layout["height"] = look.height or 430
    cost = cost_of(made)
    lines = [
        f"{_in_a_row(made)}; {logarithm(n)} = {ceil(log2(n)) if n > 1 else 0}",
        f"work {count_text(work(n))}; cost {count_text(cost)} = {cost / n:.3g} N",
        *([f"time {time}"] if time else []),
    ]
    notes = above([(line, None) for line in lines], look, size)
    layout["margin"] |= {"l": 74, "t": height_above(notes, size)}
    x: list[int] = []
    working: list[int] = []
    allotted: list[int] = []
    words: list[str] = []
    times: list[str] = []  # "× 12" at a bar that stands for 12 equal steps
    shapes: list[dict[str, Any]] = []
    for number, level in enumerate(made, 1):
        first = len(x)
        for threads, of, doing, count in _bars(level):
            x.append(len(x) + 1)
            working.append(threads)
            allotted.append(of)
            words.append(doing)
            times.append(f"× {count_text(count)}" if count > 1 else "")
        if first:
            shapes.append({"type": "line", "x0": first + 0.5, "x1": first + 0.5, "y0": 0, "y1": 1, "yref": "paper",
                           "line": {"color": GREY, "width": 1, "dash": "dot"}})  # fmt: skip
        if len(made) > 1:
            notes.append({"text": f"launch {number}", "x": (first + 1 + len(x)) / 2, "y": 1, "yref": "paper",
                          "yanchor": "top", "showarrow": False, "font": {"size": size - 2, "color": GREY}})  # fmt: skip
    layout["xaxis"] |= {"title": _title("step (×: so many like this one)" if any(times) else "step", size),
                        "range": [0.4, len(x) + 0.6], "dtick": max(1, len(x) // 12)}  # fmt: skip
    most = log10(max(allotted))
    # Pixels left by the words above and the axis.
    plot = max(2.8 * size, layout["height"] - layout["margin"]["t"] - layout["margin"]["b"])
    room = (
        max(0.45, (most + 0.15) * 1.6 * size / (plot - 1.6 * size)) if len(made) > 1 else 0.45
    )  # pixels left for their names
    layout["yaxis"] |= {"type": "log", "title": _title(scaled("threads"), size), "range": [-0.15, most + room],
                        **log_ticks(0.9, max(allotted), round(plot / (2 * size)))}  # fmt: skip
    layout["bargap"], layout["shapes"] = 0.15, shapes
    layout["annotations"] = notes
    bars = {"type": "bar", "x": x, "y": working, "marker": {"color": BLUE, "opacity": 0.85}, "customdata": words,
            "text": times, "textposition": "outside", "textfont": {"size": size}, "cliponaxis": False,
            "hovertemplate": "step %{x}: %{y:,} threads %{customdata}<extra></extra>"}  # fmt: skip
    area = {"type": "bar", "x": x, "y": allotted, "marker": {"color": GREY, "opacity": 0.28}, "width": 1.0,
            "hovertemplate": "%{y:,} threads allotted<extra></extra>"}  # fmt: skip
    layout["barmode"] = "overlay"
    return {"data": [area, bars], "layout": layout}
