"""Bars of a ladder: one row per rung, its number behind the bar, on an axis that shows every bar.

On a logarithmic axis a length means nothing, so it has dots instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from textwrap import wrap
from typing import Any

from engine.catalogue import libraries
from engine.figures.look import (
    ABOVE_AND_BELOW,
    AMBER,
    BLUE,
    EDGES,
    GREEN,
    GREY,
    LINE,
    PURPLE,
    RED,
    ROW,
    Figure,
    Look,
    base_layout,
    centred,
    height_above,
    legend,
    letters_of_line,
    log_ticks,
    scaled,
    ticks,
)
from engine.history.tables import COLUMNS, COUNTED, MEASURED, counted_text
from engine.records.words import text_of

LOG_FROM = 30  # longest over shortest bar; above this ratio a linear axis hides the short bars
FAR = 2.5  # a mark beyond FAR times the longest bar has no line
Row = Mapping[str, Any]
HELD = "held back"  # in a row of names only: the whole row
LETTERS, NAMED = 15, 4  # letters of a line of a rung's name; lines of type that the names of marks may take
MARK, SPACE = "mark", " &nbsp; "
ROWS = "rungs"  # views/html/browser.js marks the row of the rung on the page
BAR = 0.35  # half a bar's height, in rows
NUMBER, STATUS = 0.27, 0.48  # parts of the axis: for the number behind the longest bar; for a number with a status
# Of marks: a library has the same colour in every plot, and a peak is grey.
COLOURS = {
    libraries.CUB: GREEN,
    libraries.NVCC_CUB: "#6b8f23",
    libraries.TORCH: PURPLE,
    libraries.CUBLAS: "#4aa5c9",
    libraries.CUBLAS_BFLOAT16: "#4aa5c9",
    libraries.CUPY: AMBER,
}


@dataclass(frozen=True)
class Second:
    """A second bar of each rung, below the first. `name`: in the legend; `texts`: behind the bars; `every`: the values
    with those that are held back."""

    name: str
    values: Sequence[float | None]
    texts: Sequence[str]
    colour: str
    every: Sequence[float | None]


def bars(
    rows: Sequence[Row],
    key: str,
    look: Look,
    nothing: str,
    *,
    title: str | None = None,
    may_be_log: bool = True,
    marks: Sequence[tuple[str, float]] = (),
    second: Second | None = None,
    colours: str | Sequence[str] = BLUE,
    recorded: Sequence[bool] | None = None,
    name: str = "",
) -> Figure:
    """Return bars of column `key` of a ladder's rows, the first rung on top.

    The figure is the same on every rung: its `meta` says that its rows are rungs, and the browser marks the row of the
    rung on the page. A row that is held back has "?" in place of its bar, for which the axis has room.

    `nothing`: the text of an empty plot. The axis is logarithmic, and says so, if the longest bar is more than LOG_FROM
    times the shortest. `marks`: (name, value), vertical lines with names above the plot. `recorded`: the bars to hatch;
    None: follow the rows. `name`: of the bars, in the legend.
    """
    values = values_of(rows, key)
    texts = [_text(key, row, value) for row, value in zip(rows, values, strict=True)]
    if recorded is None and COLUMNS[key].group == MEASURED:
        recorded = ["recorded" in str(row["origin"]) for row in rows]
    whole = [row.get(HELD, row) for row in rows]
    if second is not None and all(value is None for value in second.every):
        second = None
    every = [*zip(values_of(whole, key), whole, strict=True)]
    numbers = [(value, _text(key, row, value)) for value, row in every]  # also those that are held back
    numbers += zip(second.every, second.texts, strict=True) if second else ()
    known = [value for value, _ in numbers if value is not None]
    log = may_be_log and second is None and bool(known) and 0 < min(known) * LOG_FROM < max(known)
    own = (_dots if log else _trace)(values, texts, look.font) | {
        # Recorded bars are hatched and recorded dots open, so nobody takes them for measurements of this machine.
        "marker": _open_dots(colours, recorded or (), look.font) if log
        else {"color": colours, "line": {"width": 0}, "pattern": hatched(recorded or ())},
        "hovertext": [f"{row['rung']} {row['title']}" for row in rows],
        "hovertemplate": "%{hovertext}: %{text}<extra></extra>",
        "showlegend": bool(name),
        "name": name,
    }  # fmt: skip
    data = [own]
    if second is not None:
        data.append(
            _trace(second.values, second.texts, look.font - 1)
            | {"marker": {"color": second.colour, "opacity": 0.85}, "name": second.name,
               "hovertemplate": f"%{{text}}, {second.name}<extra></extra>"}
        )  # fmt: skip
    near = [mark for mark in marks if known and (log or mark[1] < FAR * max(known))]
    lines = [
        (mark, text_of(key, value), (mark, value) in near, COLOURS.get(mark, GREY))
        for mark, value in (marks if known else ())
    ]
    named = _names_of_marks(lines, look, above_legend=bool(name))
    notes = _notes(rows, values, look.font) + named
    if not known:
        notes.append(centred(nothing, look.font + 1) | ({"x": 1, "xanchor": "right"} if notes else {}))
    layout = base_layout(look) | {
        "meta": ROWS,
        "height": look.height or max(220, round(len(rows) * look.font * (2.9 if len(data) > 1 else 2.1)) + 100),
        "bargap": 0.1 if len(data) > 1 else 1 - 2 * BAR,
        "bargroupgap": 0.08 if len(data) > 1 else 0,
        "annotations": notes,
        "shapes": [
            {"type": "line", "layer": "below", "x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": colour, "width": 2}}
            for (_, value), (_, _, drawn, colour) in zip(marks, lines, strict=False) if drawn
        ],
        **legend(look),
    }  # fmt: skip
    layout["margin"] |= {"t": height_above(named, look.font - 1) + (round(LINE * look.font) if named and name else 0)}
    if look.pane is not None:  # it scrolls, so more lines of names need not press the rows together
        layout["height"] += round(LINE * look.font) * max(0, len(named) - 1)
    axis = _axis(numbers, near, log)
    if any(HELD in row for row in rows) and known:
        axis["range"] = rounded(axis["range"], log)
    labels = _labels(rows, look)
    said = scaled(title or COLUMNS[key].heading, log) + key_of(recorded or (), log)
    if len(said) > letters_of_line(look) - max(len(line) for label in labels for line in label.split("<br>")):
        said = said.replace(" · ", "<br>")  # it stands below the bars only, not below their names
    layout["xaxis"] |= axis | {"title": {"text": said, "font": {"size": look.font}}}
    layout["yaxis"] |= {
        "tickvals": list(range(len(rows))),
        "ticktext": labels,
        "ticklabelstandoff": 6,
        "showgrid": False,
        "range": [len(rows) - 0.4, -0.6],
    }
    return only_rows({"data": data, "layout": layout}, look.rows, len(data))


def only_rows(figure: Figure, rows: range | None, bars: int = 1) -> Figure:
    """Return the figure with the bars of these rows only, on the axis of all; words in place of the others say how many
    there are. None: the figure itself. `bars`: of a row; the words take as much room as one."""
    if rows is None:
        return figure
    every = len(figure["layout"]["yaxis"]["tickvals"])

    def only(trace: dict[str, Any], name: str, otherwise: Any) -> dict[str, Any]:
        if name not in trace:
            return {}
        pairs = zip(trace[name], trace["y"], strict=True)
        return {name: [value if y is not None and round(y) in rows else otherwise for value, y in pairs]}

    data = [trace | only(trace, "x", None) | only(trace, "text", "") for trace in figure["data"]]
    layout, axis = dict(figure["layout"]), figure["layout"]["yaxis"]
    layout["annotations"] = [one for one in layout["annotations"] if one.get("yref") == "paper" or one["y"] in rows]
    names = [(float(i), axis["ticktext"][i]) for i in rows]
    if rows.start:
        names = [(rows.start - 0.5 - 0.5 / bars, f"⋯ {rows.start} before"), *names]
    if rows.stop < every:
        names = [*names, (rows.stop - 0.5 + 0.5 / bars, f"⋯ {every - rows.stop} more")]
    ends = [names[-1][0] + 0.6, names[0][0] - 0.6]
    layout["yaxis"] = axis | {
        "tickvals": [at for at, _ in names],
        "ticktext": [name for _, name in names],
        "range": ends,
    }
    return {"data": data, "layout": layout}


def key_of(recorded: Sequence[bool], log: bool) -> str:
    """Return the meaning of hatched bars or open dots, behind the title of an axis that has some."""
    return f" · {'○' if log else '▨'} recorded" if any(recorded) else ""


def _labels(rows: Sequence[Row], look: Look) -> list[str]:
    """Return the names of the rungs; a long one takes two lines if the rows are far enough apart."""
    apart = ((look.height or 0) - EDGES) / look.font - ABOVE_AND_BELOW - NAMED >= 2.2 * ROW * len(look.rows or rows)
    return ["<br>".join(wrap(str(row["rung"]), LETTERS)) if apart else str(row["rung"]) for row in rows]


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


def _dots(values: Sequence[float | None], texts: Sequence[str], size: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": list(values),
        "y": list(range(len(values))),
        "text": [f"  {text}" for text in texts],
        "textposition": "middle right",
        "textfont": {"size": size},
        "cliponaxis": False,
    }


def _open_dots(colours: str | Sequence[str], recorded: Sequence[bool], size: int) -> dict[str, Any]:
    symbols = ["circle-open" if each else "circle" for each in recorded] or "circle"
    return {"color": colours, "size": 0.75 * size, "symbol": symbols, "line": {"width": 3, "color": colours}}


def _names_of_marks(
    lines: Sequence[tuple[str, str, bool, str]], look: Look, above_legend: bool
) -> list[dict[str, Any]]:
    """Return the names of the marks above the plot: (name, its number, whether it has a line, colour); ▸: the mark is
    far to the right."""
    size, rows, letters = look.font - 1, [""], 0
    most = letters_of_line(look) * look.font / size
    for name, number, drawn, colour in lines:
        more = len(name) + len(number) + 6
        if rows[-1] and letters + more > most:
            rows, letters = [*rows, ""], 0
        rows[-1] += f'{SPACE if rows[-1] else ""}<span style="color:{colour}">▌</span><b>{name}</b> {number}'
        rows[-1] += "" if drawn else " ▸"
        letters += more
    up = round(LINE * size)
    return [
        {"name": MARK, "text": row, "x": 1, "xref": "paper", "xanchor": "right", "y": 1, "yref": "paper",
         "yanchor": "bottom", "yshift": 4 + up * (len(rows) - 1 - i + above_legend), "showarrow": False,
         "font": {"size": size}}
        for i, row in enumerate(rows) if row
    ]  # fmt: skip


def _axis(bars: Sequence[tuple[float | None, str]], marks: Sequence[tuple[str, float]], log: bool) -> dict[str, Any]:
    """Return an axis that shows every bar and has room for the text behind it. `bars`: (value, text)."""
    known = [(value, 1 - (STATUS if RED in text else NUMBER)) for value, text in bars if value is not None]
    if not known:
        return {"showticklabels": False, "showgrid": False, "zeroline": False, "range": [0, 1]}
    furthest = max((value for _, value in marks), default=0.0)
    if not log:
        high = max(*(value / part for value, part in known), 1.04 * furthest) or 1.0
        return {"type": "linear", "zeroline": True, "range": [0, high], **ticks(high)}
    low = log10(min(value for value, _ in known)) - 0.35
    high = max(low + (log10(value) - low) / part for value, part in known)
    high = max(high, log10(furthest) + 0.05 if furthest else low)
    return {"type": "log", "zeroline": False, "range": [low, high], **log_ticks(10**low, 10**high, 5)}


def _text(key: str, row: Row, value: float | None) -> str:
    """Return the number behind a bar, and the status of a failed run here beside a recorded number."""
    if value is None:
        return ""
    number = counted_text(row, key) if COLUMNS[key].group == COUNTED else text_of(key, row[key])
    failure = failure_text(row)
    return f'{number} <span style="color:{RED}">{failure}</span>' if failure else number


def failure_text(row: Row) -> str:
    """Return how a rung failed: "✗ wrong", or "⚠ hazard: emulated, ✗ wrong: recorded" if a run was recorded too."""
    both = {row["checked"]: row["status"], "recorded": row["recorded_status"]}
    return ", ".join(
        f"{'⚠' if status == 'hazard' else '✗'} {text_of('status', status)}{f': {origin}' if both['recorded'] else ''}"
        for origin, status in both.items()
        if status not in (None, "ok")
    )


def _notes(rows: Sequence[Row], values: Sequence[float | None], size: int) -> list[dict[str, Any]]:
    """Return the words in place of bars: how a rung failed, or "?" if its numbers are held back."""
    words = ["<b>?</b>" if HELD in row else failure_text(row) for row in rows]
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
        "solidity": 0.2,
    }


def values_of(rows: Sequence[Row], key: str) -> list[float | None]:
    """Return a column as numbers, None for what was not measured."""
    return [None if row[key] is None or row[key] != row[key] else float(row[key]) for row in rows]
