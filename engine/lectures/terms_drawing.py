"""Small drawings for terms: SVG of 200 x 60 units, in the colours of the text around them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

WIDE, HIGH = 200, 60
LANES = 8  # drawn instead of a warp's 32
_PITCH, _SIZE, _HEAD = 23, 14, 4


def drawing(alt: str, *parts: str) -> str:
    """Return an SVG of these parts; `alt`: its words for a reader who does not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape(alt)}" '
        f'fill="none" stroke="currentColor" stroke-width="1.4" font-size="12">{"".join(parts)}</svg>'
    )


def box(x: float, y: float, wide: float, high: float, marked: bool = False, text: str = "") -> str:
    """Return a rectangle, filled if it is marked, with a text in its middle."""
    filled = ' fill="currentColor" fill-opacity=".35"' if marked else ""
    said = label(x + wide / 2, y + high / 2 + 4, text, "middle") if text else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="1.5"{filled}/>{said}'


def label(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Return a text; `anchor`: the part of it that stands at x: "start", "middle" or "end"."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="currentColor" stroke="none">{escape(text)}</text>'


def line(*points: tuple[float, float], dotted: bool = False) -> str:
    """Return a line through points."""
    dashes = ' stroke-dasharray="2 3"' if dotted else ""
    return f'<polyline points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"{dashes}/>'


def arrow(x0: float, y0: float, x1: float, y1: float) -> str:
    """Return an arrow."""
    long = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    dx, dy = _HEAD * (x1 - x0) / long, _HEAD * (y1 - y0) / long
    left, right = (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)
    return line((x0, y0), (x1, y1)) + line(left, (x1, y1), right)


def middle(place: int) -> float:
    """Return x of the middle of a place in a row."""
    return 10 + _PITCH * place + _SIZE / 2


def row(y: float, marked: Collection[int] = (), texts: Sequence[str] = (), places: Iterable[int] = range(LANES)) -> str:
    """Return a row of boxes for lanes or words, some of them marked."""
    return "".join(
        box(10 + _PITCH * place, y, _SIZE, _SIZE, place in marked, texts[place] if texts else "") for place in places
    )


def arrows(y0: float, y1: float, pairs: Iterable[tuple[int, int]]) -> str:
    """Return an arrow for each pair of places of two rows."""
    return "".join(arrow(middle(a), y0, middle(b), y1) for a, b in pairs)


def bars(y: float, lengths: Sequence[tuple[float, float]], marked: Collection[int] = (), texts: Sequence[str] = (),
         high: float = 12, apart: float = 18) -> str:  # fmt: skip
    """Return horizontal bars below each other, from (x, width)."""
    return "".join(
        box(x, y + apart * at, wide, high, at in marked, texts[at] if texts else "")
        for at, (x, wide) in enumerate(lengths)
    )
