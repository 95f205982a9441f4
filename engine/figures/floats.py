"""The answers of repeated float sums as a Plotly figure: the frequency of each answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from engine.figures.bars import Row, bars, with_column
from engine.figures.look import BLUE, GREEN, GREY, ON_PAGE, RED, Figure, Look, base_layout
from engine.history.history import device_line
from engine.lectures.arithmetic.float_sums import Repeats
from engine.records import Measurement
from engine.records.words import size_text

MOST_BARS = 40
NO_ANSWERS = "Nothing has run yet.<br>Run the ladder (L)."


def repeats_figure(found: Repeats | None, current: str, look: Look = ON_PAGE) -> Figure:
    """Draw bars over the distance from the exact sum, which is the line at 0. None: nothing was repeated."""
    layout = base_layout(look)
    layout["height"] = look.height or 400
    if found is None:
        layout["annotations"] = [_words(f"Not repeated yet: {current}.", 0.5, 0.5, look.font + 1)]
        layout["xaxis"] |= {"visible": False}
        layout["yaxis"] |= {"visible": False}
        return {"data": [{"type": "bar", "x": [], "y": []}], "layout": layout}
    places, counts, width, words = _bars(found)
    lines = [f"{origin(found)},", f"N = {size_text(found.choice.n)}, {found.choice.dtype}"]
    layout["margin"] |= {"l": 56, "t": 14 + round(1.4 * look.font * len(lines))}
    size = {"size": look.font - 1}
    layout["xaxis"] |= {"title": {"text": "answer − exact sum", "font": size}, "exponentformat": "power", "nticks": 6,
                        "zeroline": False}  # fmt: skip
    layout["yaxis"] |= {"title": {"text": "runs", "font": size}, "rangemode": "tozero"}
    layout["xaxis"]["range"] = _around(places, width)
    layout["bargap"] = 0.05
    layout["shapes"] = [{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper",
                         "line": {"color": GREEN, "width": 3, "dash": "dash"}}]  # fmt: skip
    title = _words("<br>".join(lines), 0, 1, look.font)
    layout["annotations"] = [title | {"xanchor": "left", "align": "left", "yanchor": "bottom", "yshift": 4}]
    bars = {"type": "bar", "x": places, "y": counts, "width": width, "customdata": words,
            "marker": {"color": BLUE, "line": {"width": 0}},
            "hovertemplate": "%{y} runs: %{customdata}<extra></extra>"}  # fmt: skip
    return {"data": [bars], "layout": layout}


def answers_bars(
    rows: Sequence[Row], answers: Sequence[float | None], recorded: Sequence[bool], exact: float | None, look: Look
) -> Figure:
    """Draw bars of the rungs' `answers`, hatched if `recorded`, and a line at the `exact` sum.

    `rows`: of the ladder's table. None: not run.
    """
    own = with_column(rows, "answer", answers, status=None, origin=None)
    colours = [RED if row["answer"] not in (None, exact) else BLUE for row in own]
    return bars(own, "answer", look, NO_ANSWERS, may_be_log=False, colours=colours,
                recorded=recorded, marks=[] if exact is None else [("exact", exact)])  # fmt: skip


def origin(found: Repeats) -> str:
    """Return the origin of the answers."""
    return device_line(Measurement(found.choice, found.device, "ok", environment=found.environment or {},
                                   origin="live" if found.environment is None else "recorded"))  # fmt: skip


def _bars(found: Repeats) -> tuple[list[float], list[int], float, list[str]]:
    """Return (position, runs, width, words) of each bar: one per answer, or per interval if there are over 40."""
    answers = found.distribution
    off = [answer - found.exact for answer, _ in answers]
    reach = max(max(off) - min(off), *(abs(value) for value in off)) or 1.0
    if len(answers) <= MOST_BARS // 2:
        return off, [count for _, count in answers], reach / MOST_BARS, [f"{answer:.9g}" for answer, _ in answers]
    counts, edges = np.histogram(np.array(found.results) - found.exact, MOST_BARS)
    middles = ((edges[:-1] + edges[1:]) / 2).tolist()
    words = [f"from {low:+.2g} to {high:+.2g}" for low, high in pairwise(edges)]
    return middles, counts.tolist(), float(edges[1] - edges[0]), words


def _around(places: list[float], width: float) -> list[float]:
    """Return a range that contains 0, the exact sum, and every bar."""
    low, high = min(0.0, *places), max(0.0, *places)
    room = 0.08 * (high - low) + width
    return [low - room, high + room]


def _words(text: str, x: float, y: float, size: int) -> dict[str, Any]:
    return {"text": text, "x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": size, "color": GREY}}  # fmt: skip
