"""What all figures share: the colours of data, the size of type, the layout that each begins with.

A figure is a plain dict as Plotly reads it: building one costs microseconds. The page gives the figures its theme, so
that text and grid follow light and dark; the colours of the data are set here, from a palette that colour-blind readers
can tell apart and that stands out on both backgrounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

Figure = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE, AMBER, GREY = "#2f7fd1", "#d9622b", "#12a07a", "#a85fb0", "#c79200", "#8a93a3"
RED = "#dc4c44"
IDLE = "rgba(138,147,163,0.38)"  # a lane or a thread that does not take part
LINES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, "#c4457a", "#4aa5c9", "#7a6ff0", "#6b8f23", GREY)
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")


LETTER = 0.56  # of the size of the type: how wide a letter is
ROW = 1.15  # lines of type that a row of bars takes at least
EDGES = 28  # pixels above and below a plot that hold nothing
SLACK = 12  # pixels that rows may be closer than that before they scroll


@dataclass(frozen=True)
class Look:
    """How large a figure is drawn: the size of its type, its height in pixels (None: as its rows need), and how wide it
    is at least: at 1280 x 720, beside the code, unless something else is known. `pane`: pixels of its height that are
    seen at once where it is too high for its place; None: all of it."""

    font: int = 15
    height: int | None = None
    width: int = 480
    pane: int | None = None

    @classmethod
    def of_rows(cls, rows: int, pane: int, width: int, smallest: int, largest: int, marks: int = 1) -> Look:
        """That of bars in a `pane` of so many pixels: the largest type in which no row meets the next. Where not even
        the `smallest` leaves each row its line, the figure is higher than the pane, and scrolls in it. `marks`: lines
        of words above the bars."""
        lines = rows * ROW + 1.5 * marks + 2  # of type: the rows, the marks above them, the axis and its title below
        font = max(smallest, min(largest, int((pane - EDGES) / lines)))
        height = round(font * lines) + EDGES
        return cls(font, max(pane, height), width, pane if height > pane + SLACK else None)


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
    """The title of an axis, which says that its scale is logarithmic."""
    return f"{title}, log scale" if log else title


def upright(title: str, log: bool, height: float, font: int) -> str:
    """The title of an upright axis so many pixels high, on as many lines as it needs."""
    letters = max(8, int(height / (LETTER * font)))
    if len(scaled(title, log)) <= letters:
        return scaled(title, log)
    lines = wrap(title, letters)
    return "<br>".join([*lines[:-1], f"{lines[-1]},", "log scale"] if log else lines)


def centred(text: str, size: int) -> dict[str, Any]:
    """An annotation in the middle of a plot, in type of `size` pixels: for what has nothing to draw yet."""
    return {"text": text, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": size, "color": GREY}}  # fmt: skip
