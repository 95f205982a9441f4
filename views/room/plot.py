"""A plot for phones: the bars of a figure as HTML, a kilobyte in place of Plotly's script. Other figures have none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Any

from engine.figures.bars import MARK, ROWS
from engine.figures.change import PAIR
from engine.figures.look import GREY, Figure

_DOT = 2.5  # width of a dot, in parts of a hundred


def drawing(figure: Figure, at: int) -> str:
    """Return the bars of a figure as HTML, the rung `at` marked; "" if it has no bars of rungs."""
    layout = figure["layout"]
    kind = layout.get("meta")
    if kind not in (ROWS, PAIR) or not any(value is not None for trace in figure["data"] for value in trace["x"]):
        return ""
    if kind == ROWS:
        traces, axis, names = figure["data"], layout["xaxis"], layout["yaxis"]["ticktext"]
        named = [_plain(note["text"]) for note in layout["annotations"] if note.get("name") == MARK]
        marks = [words.replace(" ▌", " · ").lstrip("▌") for words in named]
        title = _plain(layout["xaxis"].get("title", {}).get("text", "")).replace("▨", "pale:")
        return _lines("marks", marks) + _bars(traces, axis, names, _notes(layout, "y"), at) + _lines("axis", [title])
    headline, *titles = [_plain(note["text"]) for note in layout["annotations"] if note.get("yanchor") != "middle"]
    made = [_lines("headline", [headline])]
    for trace, title in zip(figure["data"], titles, strict=True):
        axis, names = layout[f"xaxis{trace['xaxis'][1:]}"], layout[f"yaxis{trace['yaxis'][1:]}"]["ticktext"]
        made += [_lines("axis", [title]), _bars([trace], axis, names, _notes(layout, trace["yaxis"]), 1)]
    return "".join(made)


def _notes(layout: Mapping[str, Any], axis: str) -> dict[int, str]:
    """Return the words in place of bars, by row: how a rung failed, or "?"."""
    found = [note for note in layout["annotations"] if note.get("yref", "y") == axis and note.get("name") != MARK]
    return {int(note["y"]): _plain(note["text"]) for note in found}


def _bars(
    traces: Sequence[Mapping[str, Any]],
    axis: Mapping[str, Any],
    names: Sequence[str],
    notes: Mapping[int, str],
    at: int,
) -> str:
    """Return a row for each bar: its name, the bar, its number."""
    rows, stacked = [], any(trace.get("mode") == "text" for trace in traces)
    bars = [trace for trace in traces if trace["type"] == "bar"] if stacked else traces
    known = [i for trace in bars for i, value in enumerate(trace["x"]) if value is not None]
    last = max([*known, *(i for i, words in notes.items() if words != "?")], default=-1)
    for i, name in enumerate(names[: max(last, at) + 1 if known else 0]):  # without the rungs that are held back
        current = ' class="current"' if i == at else ""
        drawn = _stack(traces, axis, i) if stacked else "".join(_bar(trace, axis, i) for trace in traces)
        row = drawn or f"<p>{escape(notes.get(i, ''))}</p>"
        rows.append(f"<dt{current}>{escape(_plain(name))}</dt><dd{current}>{row}</dd>")
    if stacked:
        return f'<dl class="bars">{"".join(rows)}</dl>'
    legend = [str(trace["name"]) for trace in traces if trace.get("name")] if len(traces) > 1 else []
    return f'<dl class="bars">{"".join(rows)}</dl>' + _lines(
        "axis", [f"Upper bar: {legend[0]}; lower bar: {legend[-1]}."] if legend else []
    )


def _bar(trace: Mapping[str, Any], axis: Mapping[str, Any], row: int) -> str:
    value = trace["x"][row]
    if value is None:
        return ""
    colour, dot = trace["marker"].get("color", GREY), trace["type"] == "scatter"
    colour = colour if isinstance(colour, str) else colour[row]
    low, high = axis["range"]
    share = 100 * ((log10(value) if axis.get("type") == "log" else value) - low) / (high - low)
    begin = f'x="{share - _DOT:.1f}%" width="{_DOT}%"' if dot else f'width="{share:.1f}%"'
    shape = trace["marker"].get("pattern", {}).get("shape", "")
    pale = ' opacity=".6"' if (shape[row : row + 1] == ["/"]) else ""
    return (f'<p><svg role="presentation"><rect {begin} height="100%" fill="{colour}"{pale}/></svg>'
            f"<span>{escape(_plain(trace['text'][row]))}</span></p>")  # fmt: skip


def _stack(traces: Sequence[Mapping[str, Any]], axis: Mapping[str, Any], row: int) -> str:
    """Return a bar of parts, and its number."""
    pieces, at, high = [], 0.0, axis["range"][1]
    for trace in traces:
        if trace["type"] == "bar" and trace["x"][row]:
            share = 100 * trace["x"][row] / high
            pieces.append(f'<rect x="{at:.1f}%" width="{share:.1f}%" height="100%" fill="{trace["marker"]["color"]}"/>')
            at += share
    number = next(trace["text"][row] for trace in traces if trace.get("mode") == "text")
    return f'<p><svg role="presentation">{"".join(pieces)}</svg><span>{escape(number)}</span></p>' if pieces else ""


def _lines(kind: str, lines: Sequence[str]) -> str:
    return "".join(f'<p class="{kind}">{escape(line)}</p>' for line in lines if line)


def _plain(text: str) -> str:
    """Return the text of an annotation without its elements."""
    return re.sub(r"[\s▸]+", " ", re.sub(r"<br>|&nbsp;", " ", re.sub(r"<(?!br>)[^>]*>", "", text))).strip()
