"""What all figures share: the colours of data, the size of type, the layout that each begins with.

A figure is a plain dict as Plotly reads it: building one costs microseconds. The page gives the figures its theme, so
that text and grid follow light and dark; the colours of the data are set here, from a palette that colour-blind readers
can tell apart and that stands out on both backgrounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

Figure = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE, AMBER, GREY = "#2f7fd1", "#d9622b", "#12a07a", "#a85fb0", "#c79200", "#8a93a3"
RED = "#dc4c44"
IDLE = "rgba(138,147,163,0.38)"  # a lane or a thread that does not take part
LINES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, "#c4457a", "#4aa5c9", "#7a6ff0", "#6b8f23", GREY)
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")


ROW = 1.15  # lines of type that a row of bars takes at least
ABOVE_AND_BELOW = 5  # lines of type: the names of marks above the bars, the axis and its title below
EDGES = 28  # pixels above and below a plot that hold nothing
SLACK = 12  # pixels that rows may be closer than that before they scroll


@dataclass(frozen=True)
class Look:
    """The size of a figure: its type (`font`) and its `height` in pixels, None for as high as its rows need. `pane`:
    pixels of its height that are seen at once if it is too high for its place; None: all of it."""

    font: int = 15
    height: int | None = None
    pane: int | None = None

    @classmethod
    def of_rows(cls, rows: int, pane: int, smallest: int, largest: int) -> Look:
        """Return that of bars in a `pane` of so many pixels: the largest type in which no row meets the next. If not
        even the `smallest` leaves each row its line, the figure is higher than the pane, and scrolls in it."""
        lines = rows * ROW + ABOVE_AND_BELOW
        font = max(smallest, min(largest, int((pane - EDGES) / lines)))
        height = round(font * lines) + EDGES
        return cls(font, height, pane) if height > pane + SLACK else cls(font, pane)


ON_PAGE = Look()


def base_layout(look: Look) -> dict[str, Any]:
    """What every figure's layout begins with: type as large as `look` says, axes that cannot be dragged, no legend."""
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
    """Return the title of an axis, which says that its scale is logarithmic."""
    return f"{title}, log scale" if log else title


def ticks(high: float, most: int = 6) -> dict[str, Any]:
    """Return at most so many ticks of an axis up to `high`, with full numbers or, if they are long, "200k", "5M"."""
    return {"nticks": most, "tickformat": "~s" if high >= 100_000 else ","}


def some(values: Sequence[int], most: int = 8) -> list[int]:
    """Return at most so many of the values, for the ticks of an axis; the last one is among them."""
    step = ceil(len(values) / most) if values else 1
    return list(values)[::-1][::step][::-1]


def legend(look: Look) -> dict[str, Any]:
    """Return the parts of a layout that put the names of all traces above the plot, on as many lines as they need."""
    place = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1.01,
        "yanchor": "bottom",
        "font": {"size": look.font - 1},
    }
    return {"showlegend": True, "legend": place | {"itemclick": False, "itemdoubleclick": False}}


def centred(text: str, size: int) -> dict[str, Any]:
    """An annotation in the middle of a plot, in type of `size` pixels: for what has nothing to draw yet."""
    return {"text": text, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": size, "color": GREY}}  # fmt: skip
