"""A ladder's table as Plotly figures: bars of a rate, of times, of speedups, or of a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.figures.bars import HELD, Row, Second, bars, failure_text, values_of, with_column
from engine.figures.look import GREEN, ON_PAGE, ORANGE, Figure, Look
from engine.history.profiles import Hardware
from engine.history.tables import COLUMNS, counted_text
from engine.records.counters import COUNTERS
from engine.records.words import size_text, text_of

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
    texts = [text_of("lecture_cumulative", row["lecture_cumulative"]) for row in rows]
    second = _second("published by the lecture", rows, "lecture_cumulative", texts, ORANGE)
    return bars(rows, "cumulative", look, OTHER_WORK if timed else nothing, may_be_log=False, second=second)


def counter_bars(
    rows: Sequence[Row],
    counter: str,
    n: int,
    look: Look = ON_PAGE,
    nothing: str = NO_COUNTS,
    hardware: Sequence[Hardware | None] = (),
) -> Figure:
    """Return bars of one counter of the emulator, counted at `n`.

    `hardware`: the same counter as recorded by a GPU's profiler at one size; its bars are hatched, and the emulator's
    are below them.
    """
    emulated = f"counted at N = {size_text(n)}"
    first = next((entry for entry in hardware if entry is not None and counter in entry.counters), None)
    if first is None:
        title = f"{COLUMNS[counter].heading}, {emulated}"
        return bars(rows, counter, look, nothing, title=title, may_be_log=False, marks=_full(counter))
    values = [None if entry is None else entry.counters.get(counter) for entry in hardware]
    own = with_column(rows, counter, values, status=None, caveats=None)
    texts = [counted_text(row, counter) or failure_text(row) for row in rows]
    return bars(own, counter, look, nothing, may_be_log=False, marks=_full(counter), recorded=[True] * len(values),
                name=f"{first.device}'s profiler, N = {size_text(first.n)}",
                second=_second(f"emulator, N = {size_text(n)}", rows, counter, texts, GREEN))  # fmt: skip


def _second(name: str, rows: Sequence[Row], key: str, texts: Sequence[str], colour: str) -> Second:
    """Return a column as second bars."""
    whole = values_of([row.get(HELD, row) for row in rows], key)
    return Second(name, values_of(rows, key), texts, colour, whole)


def _full(counter: str) -> list[tuple[str, float]]:
    """Return a mark at a counter's largest possible value, which only the active lanes of a warp have."""
    full = COUNTERS[counter].full
    return [] if full is None else [("All lanes", full)]
