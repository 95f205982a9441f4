"""Marks beside bars: a peak, a library, all that a counter can have, as lines with their words above the plot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from math import log10
from typing import Any

from engine.figures.bars import BAR, width_of, with_ticks
from engine.figures.look import GREY, LETTER, LINES, Figure, Look
from engine.records.words import text_of

FAR = 2.5  # a mark so many times as far as the longest bar stands at the edge, as a number
COLOURS = (GREY, *LINES[1:6])  # no bar's blue
WORD_LETTER = 0.5  # of the type: how wide a letter of a name is
_DOT = 0.4  # rows: a shorter piece of a line is none


def mark(figure: Figure, key: str, marks: Sequence[tuple[str, float]], look: Look) -> None:
    """`marks` (name, value) as lines, with their numbers above the plot, beside each other where there is room.

    A line has a gap where it would meet the number of a bar. What is far off the longest bar stands at the right edge
    as a number alone.
    """
    layout = figure["layout"]
    known = [value for value in figure["data"][0]["x"] if value is not None]
    if not known or not marks:
        return
    log = layout["xaxis"]["type"] == "log"
    near = [value for _, value in marks if log or value < FAR * max(known)]
    low, high = layout["xaxis"]["range"]
    if near:
        furthest = (log10(max(near)) if log else max(near)) - low
        high = layout["xaxis"]["range"][1] = max(high, low + 1.04 * furthest)
        with_ticks(figure, look)
    line, width = look.font * 1.5, width_of(layout, look)
    places = [((log10(value) if log else value) - low) / (high - low) for _, value in marks]
    words = [f"{name} {text_of(key, value)}{'' if value in near else ' ▸'}" for name, value in marks]
    at = [place if value in near else None for place, (_, value) in zip(places, marks, strict=True)]
    rows, lefts = _beside_lines(words, at, width, look)
    layout["margin"]["t"] = round(12 + (max(rows) + 1) * line)
    half, numbers = _half_row(len(figure["data"][0]["y"]), layout, look), _numbers(figure, look)
    for i, (name, value) in enumerate(marks):
        colour, place = COLOURS[i % len(COLOURS)], places[i]
        text = f"<b>{name}</b>{words[i].removeprefix(name)}"
        note = {"y": 1, "yref": "paper", "yanchor": "bottom", "yshift": round(4 + rows[i] * line), "showarrow": False,
                "font": {"size": look.font - 1, "color": colour}}  # fmt: skip
        if value not in near:
            layout["annotations"].append(note | {"text": text, "x": 1, "xref": "paper", "xanchor": "right"})
            continue
        layout["annotations"].append(
            note | {"text": text, "x": log10(value) if log else value, "xanchor": "right" if lefts[i] else "left",
                    "xshift": -4 if lefts[i] else 4}
        )  # fmt: skip
        layout.setdefault("shapes", []).extend(
            {"type": "line", "layer": "below", "x0": value, "x1": value, "y0": top, "y1": bottom,
             "line": {"color": colour, "width": 2}}
            for top, bottom in _pieces([begin <= place <= end for begin, end in numbers], half)
        )  # fmt: skip


def _beside_lines(
    words: Sequence[str], places: Sequence[float | None], width: float, look: Look
) -> tuple[list[int], list[bool]]:
    """On which line, from below, the words of each mark stand, and whether at the left of their own line: so that none
    meets another on as few lines as that takes. `places`: parts of the axis; None: at its end."""
    sides = [(True,) if place is None else (place > 0.5, place <= 0.5) for place in places]
    ways = []
    for lefts in product(*sides):
        reach = [_reach(text, place, left, width, look) for text, place, left in zip(words, places, lefts, strict=True)]
        moved = sum(left != side[0] for left, side in zip(lefts, sides, strict=True))
        if not moved or all(begin >= look.font - (look.width - width) and end <= width for begin, end in reach):
            rows = _stacked(reach, 0.7 * look.font)
            ways.append((max(rows), moved, rows, list(lefts)))
    return min(ways)[2:]


def _reach(text: str, place: float | None, left: bool, width: float, look: Look) -> tuple[float, float]:
    """From where to where the words beside a `place` of the axis, 0 to 1, reach, in pixels; None: those at its end."""
    long = len(text) * WORD_LETTER * (look.font - 1)
    if place is None:
        return width - long, width
    return (place * width - 4 - long, place * width - 4) if left else (place * width + 4, place * width + 4 + long)


def _stacked(reach: Sequence[tuple[float, float]], apart: float) -> list[int]:
    """On which line, from below, words stand that reach so far, so that none meets another."""
    rows, ends = [0] * len(reach), list[float]()
    for begin, end, which in sorted((*each, which) for which, each in enumerate(reach)):
        row = next((row for row, last in enumerate(ends) if last + apart <= begin), len(ends))
        ends[row : row + 1] = [end]
        rows[which] = row
    return rows


def _half_row(rows: int, layout: dict[str, Any], look: Look) -> float:
    """Half of what a row and its number take in height, in rows."""
    if look.height is None:  # it fills what place there is
        return 0.42
    pitch = (layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]) / (rows + 0.2)
    return float(min(0.46, max(BAR, 0.62 * look.font / pitch)))


def _numbers(figure: Figure, look: Look) -> list[tuple[float, float]]:
    """From where to where each row's number reaches, or the words that stand for it, as parts of the axis."""
    bars, axis = figure["data"][0], figure["layout"]["xaxis"]
    low, high = axis["range"]
    width = width_of(figure["layout"], look)
    said = {note["y"]: len(note["text"]) for note in figure["layout"]["annotations"] if note.get("yref") != "paper"}
    found = []
    for row, (value, text) in enumerate(zip(bars["x"], bars["text"], strict=True)):
        if value is None:
            found.append((0.0, (said.get(row, 0) + 1) * LETTER * bars["textfont"]["size"] / width))
            continue
        end = ((log10(value) if axis["type"] == "log" and value > 0 else value) - low) / (high - low)
        letters = len(re.sub("<[^>]*>", "", text)) + 2  # and a distance before and behind it
        found.append((end - look.font / width, end + letters * LETTER * bars["textfont"]["size"] / width))
    return found


def _pieces(meets: Sequence[bool], half: float) -> list[tuple[float, float]]:
    """(top, bottom) of the pieces of a line past all rows but those whose number it `meets`, in rows. What would be a
    dot between two of them is left out, but not the end below the line's own words."""
    edges = [
        -0.6,
        *(edge for row, met in enumerate(meets) if met for edge in (row - half, row + half)),
        len(meets) - 0.4,
    ]
    first, *others = zip(edges[::2], edges[1::2], strict=True)
    return [first, *((top, bottom) for top, bottom in others if bottom - top > _DOT)]
