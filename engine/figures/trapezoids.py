"""The trapezoids under Cooper's function as a Plotly figure, their points coloured by the block that computes them."""

from __future__ import annotations

from typing import Any

from engine.figures.look import BLUE, GREY, LINES, ON_PAGE, ORANGE, Figure, Look, above, base_layout, height_above
from engine.lectures.arithmetic.trapezoids import INTEGRAL_TEXT, Trapezoids, blocks, curve, polygons

MOST_DRAWN = 256  # more trapezoids would be narrower than a pixel
MOST_POINTS = 65
MOST_NAMED = 9  # more blocks have no room for a name
_LOWEST, _HIGHEST = -2.4, 1.7  # of f and a little room
_OF_BLOCKS = LINES[2:-1]  # different from the colours of the areas and from grey


def trapezoid_figure(found: Trapezoids, block_size: int, look: Look = ON_PAGE) -> Figure:
    """Draw f with its trapezoids, blue above the axis and orange below; the sum, the integral and both errors on top.

    At the bottom a strip shows the blocks of threads, each below its points.
    """
    layout = base_layout(look)
    layout["height"] = look.height or 430
    numbers = _numbers(found, look)
    layout["margin"] |= {"t": height_above(numbers, look.font), "l": 44, "r": 16}
    layout["xaxis"] |= {
        "range": [-1.06, 1.06],
        "title": {"text": "x", "font": {"size": look.font - 1}},
        "zeroline": False,
        "tickvals": [-1, -0.5, 0, 0.5, 1],
    }
    # The strip of the blocks is as high as its words, at any height of the plot.
    room = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"] - 2 * look.font
    high = 1.7 * look.font * (_HIGHEST - _LOWEST) / max(60, room - 1.7 * look.font)
    layout["yaxis"] |= {"range": [_LOWEST - high, _HIGHEST], "tickvals": [-2, -1, 0, 1], "zeroline": True}
    strip, names = _strip(found, block_size, high, look)
    layout["shapes"] = strip
    layout["annotations"] = [*numbers, *names]
    return {"data": [*_areas(found), _curve(), *_points(found, block_size)], "layout": layout}


def _areas(found: Trapezoids) -> list[dict[str, Any]]:
    if found.partitions > MOST_DRAWN:
        return []
    drawn = []
    for pieces, colour, name in zip(
        polygons(found.x, found.values), (BLUE, ORANGE), ("counts +", "counts −"), strict=True
    ):
        corners = [corner for piece in pieces for corner in (*piece, piece[0], (None, None))]
        drawn.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [x for x, _ in corners],
                "y": [y for _, y in corners],
                "fill": "toself",
                "fillcolor": _tint(colour, 0.28),
                "line": {"color": colour, "width": 1.5 if found.partitions <= MOST_POINTS else 0.5},
                "hoverinfo": "skip",
                "name": name,
            }
        )
    return drawn


def _curve() -> dict[str, Any]:
    x, y = curve()
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": {"color": GREY, "width": 3},
            "hoverinfo": "skip", "name": "f"}  # fmt: skip


def _points(found: Trapezoids, block_size: int) -> list[dict[str, Any]]:
    if len(found.x) > MOST_POINTS:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [float(found.x[i]) for i in part],
            "y": [float(found.values[i]) for i in part],
            "marker": {"size": 10, "color": _colour(number), "line": {"width": 1, "color": "white"}},
            "customdata": list(part),
            "hovertemplate": f"point %{{customdata}}, block {number}<br>f(%{{x:.3f}}) = %{{y:.4f}}<extra></extra>",
            "name": f"block {number}",
        }
        for number, part in enumerate(blocks(len(found.x), block_size))
    ]


def _strip(
    found: Trapezoids, block_size: int, high: float, look: Look
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw a coloured piece for each block, as wide as its points, with a name if there is room."""
    points = len(found.x)
    every = blocks(points, block_size)
    names: list[dict[str, Any]] = []
    if len(every) > MOST_POINTS:
        text = f"{len(every):,} blocks of {block_size} threads, one point a thread"
        return [], [_words(0, _LOWEST - high / 2, text, look, GREY)]
    shapes = []
    half = 1 / max(1, points - 1)
    for number, part in enumerate(every):
        left, right = float(found.x[part[0]]) - half, float(found.x[part[-1]]) + half
        left, right = max(left, -1.05), min(right, 1.05)
        shapes.append({"type": "rect", "x0": left, "x1": right, "y0": _LOWEST - high, "y1": _LOWEST,
                       "fillcolor": _tint(_colour(number), 0.35),
                       "line": {"width": 1, "color": _colour(number)}})  # fmt: skip
        if len(every) <= MOST_NAMED:
            threads = f": {len(part)} threads" if len(every) <= 2 else ""
            names.append(
                _words((left + right) / 2, _LOWEST - high / 2, f"<b>block {number}</b>{threads}", look, _colour(number))
            )
    return shapes, names


def _words(x: float, y: float, text: str, look: Look, colour: str) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": look.font - 2, "color": colour}}


def _tint(colour: str, share: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


def _colour(block: int) -> str:
    return _OF_BLOCKS[block % len(_OF_BLOCKS)]


def _numbers(found: Trapezoids, look: Look) -> list[dict[str, Any]]:
    """Return sum, integral and error, one line each, above the plot."""
    h = 2 / found.partitions
    width = f"{h:.3g}" if h >= 1e-3 else f"{h:.2e}"
    words = "trapezoid" if found.partitions == 1 else "trapezoids"
    lines = (
        f"{_minus(f'{found.total:.15f}')}  {found.partitions:,} {words}, h = {width}",
        f"{_minus(INTEGRAL_TEXT)}  the integral",
        f"{_minus(f'{found.error:+.3e}')}  error;  the h² law says {_minus(f'{found.law:+.3e}')}",
    )
    return above([(line, None) for line in lines], look, look.font)


def _minus(number: str) -> str:
    return number.replace("-", "−")
