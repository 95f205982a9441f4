"""Bars of a ladder: one row per rung, its number behind the bar, on an axis that shows every bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from engine.figures.look import (
    BLUE,
    GREY,
    LINES,
    ORANGE,
    RED,
    Figure,
    Look,
    base_layout,
    centred,
    legend,
    scaled,
    ticks,
)
from engine.history.tables import COLUMNS, COUNTED, MEASURED, counted_text
from engine.records.words import text_of

LOG_FROM = 30  # longest over shortest bar; above this ratio a linear axis hides the short bars
FAR = 2.5  # a mark beyond FAR times the longest bar has no line
Row = Mapping[str, Any]
HELD = "held back"  # in a row of names only: the whole row
ROWS = "rungs"  # views/html/browser.js marks the row of the rung on the page
BAR = 0.35  # half a bar's height, in rows
NUMBER, STATUS = 0.27, 0.48  # parts of the axis: for the number behind the longest bar; for a number with a status
COLOURS = (GREY, *LINES[1:6])  # of marks; none is the blue of bars


def bars(
    rows: Sequence[Row],
    key: str,
    look: Look,
    nothing: str,
    *,
    title: str | None = None,
    may_be_log: bool = True,
    marks: Sequence[tuple[str, float]] = (),
    published: Sequence[float | None] = (),
    colours: str | Sequence[str] = BLUE,
    recorded: Sequence[bool] | None = None,
) -> Figure:
    """Return bars of column `key` of a ladder's rows, the first rung on top.

    The figure is the same on every rung: its `meta` says that its rows are rungs, and the browser marks the row of the
    rung on the page. A row that is held back has "?" in place of its bar, for which the axis has room.

    `nothing`: the text of an empty plot. The axis is logarithmic, and says so, if the longest bar is more than LOG_FROM
    times the shortest. `marks`: (name, value), vertical lines with names above the plot. `published`: the lecture's
    numbers, as bars below ours. `recorded`: the bars to hatch; None: follow the rows.
    """
    values = values_of(rows, key)
    texts = [_text(key, row, value) for row, value in zip(rows, values, strict=True)]
    if recorded is None and COLUMNS[key].group == MEASURED:
        recorded = ["recorded" in str(row["origin"]) for row in rows]
    own = _trace(values, texts, look.font) | {
        # Recorded bars are hatched, so nobody takes them for measurements of this machine.
        "marker": {"color": colours, "line": {"width": 0}, "pattern": hatched(recorded or ())},
        "hovertext": [f"{row['rung']} {row['title']}" for row in rows],
        "hovertemplate": "%{hovertext}: %{text}<extra></extra>",
        "showlegend": False,
    }
    data = [own]
    whole = [row.get(HELD, row) for row in rows]
    ours, theirs = values_of(whole, key), values_of(whole, f"lecture_{key}") if published else []
    if any(value is not None for value in theirs):
        words = [text_of(f"lecture_{key}", value) for value in published]
        data.append(
            _trace(published, words, look.font - 1)
            | {"marker": {"color": ORANGE, "opacity": 0.85}, "name": "published by the lecture",
               "hovertemplate": "%{text} in the lecture<extra></extra>"}
        )  # fmt: skip
    known = [value for value in (*ours, *theirs) if value is not None]
    log = may_be_log and bool(known) and 0 < min(known) * LOG_FROM < max(known)
    near = [mark for mark in marks if known and (log or mark[1] < FAR * max(known))]
    lines = [
        (name, text_of(key, value), (name, value) in near, COLOURS[i % len(COLOURS)])
        for i, (name, value) in enumerate(marks if known else ())
    ]
    notes = _notes(rows, values, look.font)
    if not known:
        notes.append(centred(nothing, look.font + 1) | ({"x": 1, "xanchor": "right"} if notes else {}))
    layout = base_layout(look) | {
        "meta": ROWS,
        "height": look.height or max(220, round(len(rows) * look.font * (2.9 if len(data) > 1 else 2.1)) + 100),
        "bargap": 0.22 if len(data) > 1 else 1 - 2 * BAR,
        "bargroupgap": 0.08 if len(data) > 1 else 0,
        "annotations": notes,
        "shapes": [
            {"type": "line", "layer": "below", "x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": colour, "width": 2}}
            for (_, value), (_, _, drawn, colour) in zip(marks, lines, strict=False) if drawn
        ],
        **legend(look),
    }  # fmt: skip
    statuses = any(_failure(row) and value is not None for row, value in zip(whole, ours, strict=True))
    axis = _axis(known, near, statuses, log)
    if any(HELD in row for row in rows) and known:
        axis["range"] = rounded(axis["range"], log)
    layout["xaxis"] |= axis | {
        "title": {"text": scaled(title or COLUMNS[key].heading, log), "font": {"size": look.font}}
    }
    layout["yaxis"] |= {
        "tickvals": list(range(len(rows))),
        "ticktext": [str(row["rung"]) for row in rows],
        "ticklabelstandoff": 6,
        "showgrid": False,
        "range": [len(rows) - 0.4, -0.6],
    }
    return {"data": [*data, *(_legend_entry(*line) for line in lines)], "layout": layout}


def _trace(values: Sequence[float | None], texts: Sequence[str], size: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": list(range(len(values))),
        "text": list(texts),
        "textposition": "outside",
        "constraintext": "none",
        "textfont": {"size": size},
        "cliponaxis": False,
    }


def _legend_entry(name: str, text: str, near: bool, colour: str) -> dict[str, Any]:
    """Return a trace without points that puts a mark's name into the legend; ▸: the mark is far to the right."""
    return {"type": "scatter", "mode": "lines", "x": [None], "y": [None], "line": {"color": colour, "width": 2},
            "name": f"<b>{name}</b> {text}{'' if near else ' ▸'}"}  # fmt: skip


def _axis(known: Sequence[float], marks: Sequence[tuple[str, float]], statuses: bool, log: bool) -> dict[str, Any]:
    """Return an axis that shows every bar and has room for the number behind the longest."""
    if not known:
        return {"showticklabels": False, "showgrid": False, "zeroline": False, "range": [0, 1]}
    room = 1 - (STATUS if statuses else NUMBER)
    furthest = max((value for _, value in marks), default=0.0)
    if not log:
        high = max(max(known) / room, 1.04 * furthest) or 1.0
        return {"type": "linear", "zeroline": True, "range": [0, high], **ticks(high)}
    low = log10(min(known)) - 0.35
    high = max(low + (log10(max(known)) - low) / room, log10(furthest) + 0.05 if furthest else low)
    return {"type": "log", "zeroline": False, "range": [low, high], **ticks(10**high)}


def _text(key: str, row: Row, value: float | None) -> str:
    """Return the number behind a bar, and the status of a failed run here beside a recorded number."""
    if value is None:
        return ""
    number = counted_text(row, key) if COLUMNS[key].group == COUNTED else text_of(key, row[key])
    failure = _failure(row)
    return f'{number} <span style="color:{RED}">{failure}</span>' if failure else number


def _failure(row: Row) -> str:
    """Return how a rung failed: "✗ wrong", or "⚠ hazard: emulated, ✗ wrong: recorded" if a run was recorded too."""
    both = {row["checked"]: row["status"], "recorded": row["recorded_status"]}
    return ", ".join(
        f"{'⚠' if status == 'hazard' else '✗'} {text_of('status', status)}{f': {origin}' if both['recorded'] else ''}"
        for origin, status in both.items()
        if status not in (None, "ok")
    )


def _notes(rows: Sequence[Row], values: Sequence[float | None], size: int) -> list[dict[str, Any]]:
    """Return the words in place of bars: how a rung failed, or "?" if its numbers are held back."""
    words = ["<b>?</b>" if HELD in row else _failure(row) for row in rows]
    return [
        {"text": words[i], "x": 0, "xref": "paper", "xanchor": "left", "xshift": 4 * (HELD in row), "y": i,
         "showarrow": False, "font": {"size": size, "color": GREY if HELD in row else RED}}
        for i, row in enumerate(rows)
        if values[i] is None and words[i]
    ]  # fmt: skip


def with_column(rows: Sequence[Row], key: str, values: Sequence[float | None], **more: object) -> list[Row]:
    """Return the rows with other values of a column, and with `more` columns."""
    return [
        {**row, key: None, HELD: {**row[HELD], key: value, **more}} if HELD in row else {**row, key: value, **more}
        for row, value in zip(rows, values, strict=True)
    ]


def held_back(row: Row) -> Row:
    """Return a ladder's row without its numbers."""
    return {**dict.fromkeys(row), **{name: row[name] for name in ("rung", "title", "kernel")}, HELD: row}


def rounded(ends: Sequence[float], log: bool) -> list[float]:
    """Return the range of an axis, a little wider: its ends tell no number that is held back."""
    if log:
        return [floor(ends[0] * 10) / 10, ceil(ends[1] * 10) / 10]
    step = 10 ** (floor(log10(ends[1])) - 1)
    return [ends[0], ceil(ends[1] / step) * step]


def hatched(recorded: Sequence[bool]) -> dict[str, Any]:
    """Return the pattern of bars, hatched where they are recorded."""
    return {
        "shape": ["/" if each else "" for each in recorded],
        "fillmode": "overlay",
        "fgcolor": "rgba(255,255,255,0.5)",
        "size": 7,
        "solidity": 0.18,
    }


def values_of(rows: Sequence[Row], key: str) -> list[float | None]:
    """Return a column as numbers, None for what was not measured."""
    return [None if row[key] is None or row[key] != row[key] else float(row[key]) for row in rows]
