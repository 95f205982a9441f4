"""A ladder's table as Plotly figures: bars of a rate, of times, of speedups, of a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from engine.figures.bars import bars, hatched, values_of, with_room
from engine.figures.look import ON_PAGE, ORANGE, Figure, Look
from engine.figures.marks import mark
from engine.history.profiles import Hardware
from engine.history.tables import COLUMNS
from engine.records.counters import COUNTERS
from engine.records.words import size_text, text_of

NO_COUNTS = "Nothing counted yet."
NO_TIMES = "No times for these choices yet.<br>Run the ladder on a GPU,<br>or choose N as it was recorded."
OTHER_WORK = "These rungs do different work:<br>no time over another is a speedup."


def metric_bars(
    frame: pd.DataFrame,
    metric: str,
    marks: Mapping[str, float],
    look: Look = ON_PAGE,
    nothing: str = NO_TIMES,
) -> Figure:
    """Bars of `metric` down the ladder, best rung longest, with `marks` (name -> value: peak, peer).

    `frame` is a ladder's table; `look` the figure's size.
    """
    figure = bars(frame, metric, look, nothing)
    mark(figure, metric, list(marks.items()), look)
    return figure


def time_bars(frame: pd.DataFrame, look: Look = ON_PAGE, nothing: str = NO_TIMES) -> Figure:
    """Time of each rung."""
    return bars(frame, "time_us", look, nothing)


def speedup_bars(frame: pd.DataFrame, look: Look = ON_PAGE, nothing: str = NO_TIMES) -> Figure:
    """Cumulative speedup of each rung here and, below it, as the lecture published it."""
    timed = any(value is not None for value in frame["time_us"])
    paper = values_of(frame["lecture_cumulative"])
    printed = any(value is not None for value in paper)
    figure = bars(frame, "cumulative", look, "" if printed else OTHER_WORK if timed else nothing,
                  may_be_log=False)  # fmt: skip
    if not printed:
        return figure
    figure["data"].append(
        {
            "type": "bar",
            "orientation": "h",
            "x": paper,
            "y": list(range(len(frame))),
            "text": [text_of("lecture_cumulative", value) for value in paper],
            "textposition": "outside",
            "constraintext": "none",
            "textfont": {"size": look.font - 1},
            "cliponaxis": False,
            "marker": {"color": ORANGE, "opacity": 0.85},
            "hovertemplate": "%{text} in the lecture<extra></extra>",
        }
    )
    layout = figure["layout"]
    layout["height"] = look.height or max(260, round(len(frame) * look.font * 2.9) + 100)
    layout["bargap"], layout["bargroupgap"] = 0.22, 0.08
    layout["annotations"].append(
        {
            "text": "■ published by the lecture",
            "x": 1,
            "xref": "paper",
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "xanchor": "right",
            "showarrow": False,
            "font": {"size": look.font - 1, "color": ORANGE},
        }
    )
    layout["margin"]["t"] = 16 + round(1.5 * look.font)
    layout["xaxis"] |= {"showticklabels": True, "showgrid": True, "zeroline": True}
    return with_room(figure, look)


def counter_bars(frame: pd.DataFrame, counter: str, n: int, look: Look = ON_PAGE, nothing: str = NO_COUNTS) -> Figure:
    """One counter of the emulator down the ladder, counted at `n`."""
    figure = bars(frame, counter, look, nothing, may_be_log=False)
    figure["layout"]["xaxis"]["title"]["text"] += f", counted at N = {size_text(n)}"
    _mark_full(figure, counter, look)
    return figure


def hardware_bars(frame: pd.DataFrame, counter: str, found: Sequence[Hardware | None], look: Look = ON_PAGE) -> Figure:
    """The same counter as a GPU's profiler read it, of one size for all rungs: recorded, so hatched."""
    values = [None if entry is None else entry.counters.get(counter) for entry in found]
    own = pd.DataFrame({"rung": frame["rung"], "title": frame["title"], counter: values}, dtype=object)
    figure = bars(own.assign(status=None, caveats=None), counter, look, NO_COUNTS, may_be_log=False)
    first = next(entry for entry in found if entry is not None)
    axis = figure["layout"]["xaxis"]
    axis["title"]["text"] = f"{COLUMNS[counter].title}, by the {first.device} itself"
    figure["data"][0]["marker"]["pattern"] = hatched([True] * len(values))
    _mark_full(figure, counter, look)
    return figure


def _mark_full(figure: Figure, counter: str, look: Look) -> None:
    """A line where a counter has all that it can have, which only the active lanes of a warp can."""
    full = COUNTERS[counter].full
    if full is not None:
        mark(figure, counter, [("All lanes", full)], look)
