"""Shared parts of all figures: the colours of data, the size of type, the common layout.

A figure is a plain dict in Plotly's form, because building a dict costs microseconds. The page gives a figure its
theme, so text and grid follow light and dark. The colours of data are set here: colour-blind readers can tell them
apart, and they stand out on both backgrounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from textwrap import wrap
from typing import Any

Figure = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE, AMBER, GREY = "#2f7fd1", "#d9622b", "#12a07a", "#a85fb0", "#c79200", "#8a93a3"
RED = "#dc4c44"
IDLE = "rgba(138,147,163,0.38)"  # an idle lane or thread
LINES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, "#c4457a", "#4aa5c9", "#7a6ff0", "#6b8f23", GREY)
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")


ROW = 1.15  # least height of a row of bars, in lines of type
ABOVE_AND_BELOW = 5  # lines of type for the names of marks above the bars, and for the axis and its title below
_LEGEND = 2  # lines of type for the names of two bars, on a narrow window
_OTHERS = 2  # bars' places for the words that say how many rungs are before, and how many come after
EDGES = 28  # empty pixels above and below a plot
SLACK = 12  # pixels by which rows may be too high before the figure scrolls


@dataclass(frozen=True)
class Look:
    """The size of a figure: its type (`font`) and its `height` in pixels; None: as high as its rows need.

    `pane`: the visible pixels of a figure that is too high for its container; None: all of it is visible. `rows`: the
    rungs whose bars are drawn; None: all of them.
    """

    font: int = 15
    height: int | None = None
    pane: int | None = None
    rows: range | None = None

    @classmethod
    def of_rows(cls, rows: int, pane: int, smallest: int, largest: int) -> Look:
        """Return the look of bars in a `pane` of so many pixels, with the largest type that keeps the rows apart.

        If even the `smallest` type is too large, the figure is higher than the pane and scrolls in it.
        """
        lines = rows * ROW + ABOVE_AND_BELOW
        font = max(smallest, min(largest, int((pane - EDGES) / lines)))
        height = round(font * lines) + EDGES
        return cls(font, height, pane) if height > pane + SLACK else cls(font, pane)

    @classmethod
    def around(cls, at: int, rows: int, bars: int, pane: int, font: int) -> Look:
        """Return the look of a `pane` that has no room for all rows of a ladder: it shows some of them, among these row
        `at` and the row before it. `bars`: of a row."""
        room = (pane - EDGES) / font - ABOVE_AND_BELOW - _OTHERS * ROW - _LEGEND * (bars - 1)
        count = min(rows, max(2, int(room / (bars * ROW))))
        first = min((at - 1) // (count - 1) * (count - 1), rows - count)
        return cls(font, pane, rows=range(max(0, first), max(0, first) + count))


ON_PAGE = Look()


def base_layout(look: Look) -> dict[str, Any]:
    """Return the common layout: type of the look's size, axes that cannot be dragged, no legend."""
    size = look.font
    axis = {"tickfont": {"size": size}, "fixedrange": True, "automargin": True}
    return {
        "font": {"size": size},
        "margin": {"l": 10, "r": 12, "t": 12, "b": 16 + 2 * size},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
        "showlegend": False,
        "hoverlabel": {"font": {"size": size}},
        "dragmode": False,
    }


def scaled(title: str, log: bool = True) -> str:
    """Return the title of an axis; that of a logarithmic axis says so."""
    return f"{title}, log scale" if log else title


def ticks(high: float, most: int = 6) -> dict[str, Any]:
    """Return at most `most` ticks of an axis up to `high`, with full numbers or, if they are long, "200k", "5M"."""
    return {"nticks": most, "tickformat": "~s" if high >= 100_000 else ","}


def log_ticks(low: float, high: float, most: int, unit: str = "") -> dict[str, Any]:
    """Return at most `most` ticks of a logarithmic axis from `low` to `high`: 1, 2 and 5, else every power of ten, or
    every second one, ... `unit`: behind each number."""
    first, last = ceil(log10(low) - 1e-3), ceil(log10(high))
    values: list[float] = []
    for digits, step in (((1, 2, 5), 1), *(((1,), step) for step in range(1, last - first + 2))):
        every = [digit * 10.0**power for power in range(first - len(digits) // 2, last + 1, step) for digit in digits]
        values = [value for value in every if 0.999 * low <= value <= 1.001 * high]
        if len(values) <= max(1, most):
            break
    if not values:  # a short axis between two of them
        return ticks(high, most) | {"ticksuffix": unit}
    return {"tickmode": "array", "tickvals": values, "ticktext": [f"{short_text(value)}{unit}" for value in values]}


def short_text(value: float) -> str:
    """Return a number of an axis: "0.5", "2,000", "50k", "10M"."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(size, 1e4):
            return f"{value / size:,.10g}{letter}"
    return f"{value:,.10g}"


LINE = 1.4  # distance of the lines above a plot, in lines of type
_SIGN = 7  # letters: the room of a sign in a legend, and the gap between two names
WIDE, WIDE_ON_PAGE = 46, 62  # letters of a line above a plot: on a slide of a narrow window, and on the page


def letters_of_line(look: Look) -> int:
    """Return how many letters of a figure's type its width holds at least."""
    return WIDE if look.font > ON_PAGE.font else WIDE_ON_PAGE


def legend_lines(names: Sequence[str], look: Look) -> int:
    """Return how many lines a horizontal legend of these names takes: its columns are as wide as the longest one."""
    beside = max(1, letters_of_line(look) // (max(map(len, names), default=0) + _SIGN))
    return ceil(len(names) / beside)


def above(lines: Sequence[tuple[str, str | None]], look: Look, size: int, bold: bool = False) -> list[dict[str, Any]]:
    """Return lines of text in type of `size` as annotations above a plot, from its left edge on.

    `lines`: (text, colour); None: the colour of the page's text. Long lines are broken; `height_above` is the height of
    the result.
    """
    letters = letters_of_line(look) * look.font / size
    rows = [(row, colour) for text, colour in lines for row in wrap(text, round(letters))]
    return [
        {"text": f"<b>{text}</b>" if bold else text, "x": 0, "xref": "paper", "xanchor": "left", "y": 1,
         "yref": "paper", "yanchor": "bottom", "yshift": 4 + round(LINE * size) * (len(rows) - 1 - i),
         "xshift": -AHEAD, "showarrow": False, "align": "left",
         "font": {"size": size} | ({"color": colour} if colour else {})}
        for i, (text, colour) in enumerate(rows)
    ]  # fmt: skip


AHEAD = 46  # pixels by which the lines above a plot begin left of it


def height_above(notes: Sequence[dict[str, Any]], size: int) -> int:
    """Return the pixels that `above` needs."""
    return 10 + round(LINE * size) * len(notes)


def some(values: Sequence[int], most: int = 8) -> list[int]:
    """Return at most `most` of the values, for the ticks of an axis; the last one is among them."""
    step = ceil(len(values) / most) if values else 1
    return list(values)[::-1][::step][::-1]


def legend(look: Look) -> dict[str, Any]:
    """Return the parts of a layout that put a legend above the plot."""
    place = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1.01,
        "yanchor": "bottom",
        "font": {"size": look.font - 1},
    }
    return {"showlegend": True, "legend": place | {"itemclick": False, "itemdoubleclick": False}}


def covered(look: Look) -> Figure:
    """Return a figure with "?" in place of a plot that is held back."""
    layout = base_layout(look) | {"annotations": [centred("<b>?</b>", 4 * look.font)], "height": look.height or 300}
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"visible": False}
    return {"data": [{"type": "bar", "x": [], "y": []}], "layout": layout}


def centred(text: str, size: int) -> dict[str, Any]:
    """Return an annotation in the middle of a plot that has nothing to draw, in type of `size` pixels."""
    return {"text": text, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": size, "color": GREY}}  # fmt: skip
