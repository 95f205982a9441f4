"""What a rung changed, made for a slide: its counter and its time, each before and after as two bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.figures.bars import BAR, NUMBER, hatched, rounded
from engine.figures.look import BLUE, GREY, Figure, Look, base_layout
from engine.records.words import text_of

PAIR = "pair"  # views/html/browser.js marks the bars of the rung on the page, the second of each pair
# Characters of the figure's own type beside each other: a headline begins behind the rungs' labels; how much larger a
# short headline is.
WIDE, LARGE = 43, 1.7


@dataclass(frozen=True)
class Pair:
    """A number of the rung before and of this rung; None: not known, or no rung before. `key`: its column. `nothing`:
    the words in place of bars. `recorded`: hatched, as it was recorded."""

    title: str
    key: str
    before: float | None
    after: float | None
    nothing: str = ""
    recorded: bool = False


def change_figure(labels: tuple[str, str], pairs: Sequence[Pair], headline: str, held: bool, look: Look) -> Figure:
    """Draw the pairs below each other, under the headline.

    `labels`: of the two rungs; "" without a rung before. `held`: "?" stands in place of this rung's numbers; the axes
    have room for them.
    """
    layout = base_layout(look)
    room = WIDE - max(map(len, labels))
    size = round(look.font * min(LARGE, room / max(1, len(headline))))
    row = 1 / (look.height or 400)
    top = 1 - 2.2 * size * row
    part = top / len(pairs)
    layout["margin"] |= {"t": 4, "b": 4}
    layout |= {"meta": PAIR, "height": look.height or 400, "bargap": 1 - 2 * BAR}
    notes = [_note(f"<b>{headline}</b>", 1, "top", size)]
    data = []
    for i, pair in enumerate(pairs):
        ends = [top - part * (i + 1), top - part * i]
        name = str(i + 1) if i else ""
        notes.append(_note(pair.title, ends[1], "bottom", look.font) | {"yshift": -1.2 * look.font})
        known = [value for value in (pair.before, pair.after) if value is not None]
        if not known:
            notes.append(_note(pair.nothing, (ends[0] + ends[1]) / 2, "middle", look.font, GREY))
        most = max(known, default=0) or 1
        layout[f"xaxis{name}"] = {
            "range": rounded([0, most / (1 - NUMBER)], log=False), "anchor": f"y{name}", "visible": False,
            "fixedrange": True, "domain": [0, 1],
        }  # fmt: skip
        layout[f"yaxis{name}"] = layout["yaxis"] | {
            "domain": [ends[0] + 0.02, ends[1] - 1.5 * look.font * row], "anchor": f"x{name}",
            "tickvals": [0, 1], "ticktext": list(labels) if known else ["", ""], "range": [1.6, -0.6],
            "showgrid": False, "zeroline": False,
        }  # fmt: skip
        shown = [pair.before, None if held else pair.after]
        data.append({
            "type": "bar", "orientation": "h", "x": shown, "y": [0, 1], "xaxis": f"x{name}", "yaxis": f"y{name}",
            "text": [text_of(pair.key, value) for value in shown], "textposition": "outside",
            "textfont": {"size": look.font}, "constraintext": "none", "cliponaxis": False, "hoverinfo": "skip",
            "marker": {"color": BLUE, "opacity": [0.5, 1], "line": {"width": 0},
                       "pattern": hatched([pair.recorded] * 2)},
            "showlegend": False,
        })  # fmt: skip
        if held and known:
            place = {"xref": f"x{name}", "y": 1, "yref": f"y{name}", "xshift": 4}
            notes.append(_note("<b>?</b>", 1, "middle", look.font, GREY) | place)
    return {"data": data, "layout": layout | {"annotations": notes}}


def _note(text: str, y: float, anchor: str, size: int, colour: str = "") -> dict[str, Any]:
    """Return words at the left edge of the figure."""
    font: dict[str, object] = {"size": size, "color": colour} if colour else {"size": size}
    return {"text": text, "x": 0, "xref": "paper", "xanchor": "left", "y": y, "yref": "paper", "yanchor": anchor,
            "showarrow": False, "align": "left", "font": font}  # fmt: skip
