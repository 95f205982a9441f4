"""A ladder's table as Plotly figures: bars of a rate, of times, of speedups, or of a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.figures.bars import Row, bars, values_of, with_column
from engine.figures.look import ON_PAGE, Figure, Look
from engine.history.profiles import Hardware
from engine.history.tables import COLUMNS
from engine.records.counters import COUNTERS
from engine.records.words import size_text

NO_COUNTS = "Nothing counted yet."
NO_TIMES = "No times for these choices yet.<br>Run the ladder on a GPU,<br>or choose N as it was recorded."
OTHER_WORK = "These rungs do different work:<br>no time over another is a speedup."


def metric_bars(
    rows: Sequence[Row],
    metric: str,
    marks: Mapping[str, float],
    look: Look = ON_PAGE,
    nothing: str = NO_TIMES,
) -> Figure:
    """Return bars of `metric`, the best rung longest, with `marks` (name -> value: peak, library).

    `rows`: of a ladder's table.
    """
    return bars(rows, metric, look, nothing, marks=list(marks.items()))


def time_bars(rows: Sequence[Row], look: Look = ON_PAGE, nothing: str = NO_TIMES) -> Figure:
    """Return the time of each rung."""
    return bars(rows, "time_us", look, nothing)


def speedup_bars(rows: Sequence[Row], look: Look = ON_PAGE, nothing: str = NO_TIMES) -> Figure:
    """Return the cumulative speedup of each rung here and, below it, the lecture's."""
    timed = any(row["time_us"] is not None for row in rows)
    return bars(rows, "cumulative", look, OTHER_WORK if timed else nothing, may_be_log=False,
                published=values_of(rows, "lecture_cumulative"))  # fmt: skip


def counter_bars(rows: Sequence[Row], counter: str, n: int, look: Look = ON_PAGE, nothing: str = NO_COUNTS) -> Figure:
    """Return bars of one counter of the emulator, counted at `n`."""
    title = f"{COLUMNS[counter].heading}, counted at N = {size_text(n)}"
    return bars(rows, counter, look, nothing, title=title, may_be_log=False, marks=_full(counter))


def hardware_bars(rows: Sequence[Row], counter: str, found: Sequence[Hardware | None], look: Look = ON_PAGE) -> Figure:
    """Return bars of the same counter as recorded by a GPU's profiler at one size; hatched, because it is recorded."""
    values = [None if entry is None else entry.counters.get(counter) for entry in found]
    own = with_column(rows, counter, values, status=None, caveats=None)
    first = next(entry for entry in found if entry is not None)
    title = f"{COLUMNS[counter].title}, by the {first.device} itself"
    return bars(own, counter, look, NO_COUNTS, title=title, may_be_log=False,
                marks=_full(counter), recorded=[True] * len(values))  # fmt: skip


def _full(counter: str) -> list[tuple[str, float]]:
    """Return a mark at a counter's largest possible value, which only the active lanes of a warp have."""
    full = COUNTERS[counter].full
    return [] if full is None else [("All lanes", full)]
