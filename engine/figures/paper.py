"""The lecture's figures against ours: speedups up the ladder, or bandwidths over the block sizes, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from textwrap import wrap
from typing import Any

from engine.figures.look import (
    BLUE,
    DASHES,
    GREY,
    LINES,
    ON_PAGE,
    ORANGE,
    SYMBOLS,
    Figure,
    Look,
    above,
    base_layout,
    height_above,
    letters_of_line,
    log_ticks,
    scaled,
    some,
)
from engine.history.history import device_line
from engine.lectures.published import Line
from engine.records.words import text_of

_PAPER, _HERE = "In the lecture", "Here"
BEFORE = 8  # letters left of the plot: its axis
NARROW = 22  # letters of a title above half of the plot


def speedup_lines(lines: Sequence[Line], look: Look = ON_PAGE) -> Figure:
    """Draw the lecture's speedups and ours on a logarithmic axis, both relative to the first line that has both.

    Only lines under the conditions of the first line are drawn; a rung without a right answer leaves a gap.
    """
    shown = [line for line in lines if _same(line, lines[0])]
    base = next((line for line in shown if _cost(line, True) and _cost(line, False)), None)
    rungs = [line.label for line in shown]
    data = []
    curves = {paper: _speedups(shown, base or shown[0], paper) for paper in (True, False)}
    for name, paper, colour, symbol in ((_PAPER, True, ORANGE, "diamond"), (_HERE, False, BLUE, "circle")):
        values = curves[paper]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": name,
                "x": list(range(len(shown))),
                "y": values,
                # the two curves share their first number
                "text": ["" if paper and value == 1 else text_of("step", value) for value in values],
                "textposition": _sides(values, curves[not paper], paper),
                "textfont": {"size": look.font - 1, "color": colour},
                "cliponaxis": False,
                "connectgaps": True,
                "line": {"color": colour, "width": 3, "dash": "dash" if paper else "solid"},
                "marker": {"size": 11, "symbol": symbol},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    known = [value for curve in curves.values() for value in curve if value]
    size = look.font
    layout = base_layout(look)
    layout["height"] = look.height or 400
    layout["annotations"] = above(_heading(shown), look, size - 1, bold=True)
    layout["margin"] |= {"t": height_above(layout["annotations"], size - 1) + size, "b": 16 + round(3.6 * size)}
    low, high = (log10(min(known)), log10(max(known))) if known else (0.0, 1.0)
    room = 0.16 * max(high - low, 0.5)
    upright = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    layout["yaxis"] |= {
        "type": "log",
        "range": [low - room, high + room],
        **log_ticks(10 ** (low - room), 10 ** (high + room), round(upright / (2.2 * size)), "×"),
    }
    layout["xaxis"] |= {
        "tickangle": 0 if _fit_side_by_side(rungs, look) else 90,
        "tickvals": list(range(len(rungs))),
        "ticktext": [_folded(rung) for rung in rungs],
        "range": [-0.45, len(rungs) - 0.55],
        "showgrid": False,
    }
    layout["yaxis"]["title"] = {
        "text": scaled(f"Speedup since {(base or shown[0]).label}"),
        "font": {"size": look.font},
    }
    if base is None:
        layout["annotations"].append(_nothing(look))
    return {"data": data, "layout": layout}


def block_panels(table: Mapping[str, Mapping[int, Line]], look: Look = ON_PAGE) -> Figure:
    """Draw bandwidth over the block size, one line per rung: the lecture's at the left, ours at the right."""
    data: list[dict[str, Any]] = []
    sizes = sorted({size for cells in table.values() for size in cells})
    every = [line for cells in table.values() for line in cells.values()]
    for paper in (True, False):
        for i, (rung, cells) in enumerate(table.items()):
            values = [_rate(cells.get(size), paper) for size in sizes]
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": rung.partition(",")[0],
                    "x": list(range(len(sizes))),
                    "y": values,
                    "xaxis": "x" if paper else "x2",
                    "yaxis": "y" if paper else "y2",
                    "legendgroup": rung,
                    "showlegend": paper,
                    "line": {"color": LINES[i % len(LINES)], "width": 3, "dash": DASHES[i % len(DASHES)]},
                    "marker": {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 9},
                    "hovertemplate": f"{rung}, %{{x}}: %{{y:.3g}} GB/s<extra></extra>",
                }
            )
    layout = base_layout(look)
    size = look.font
    shown = some(sizes, 3)
    axis = layout["xaxis"] | {
        "tickvals": [sizes.index(one) for one in shown],
        "ticktext": [str(one) for one in shown],
        "tickangle": 0,
        "showgrid": False,
        "title": {"text": "Threads per block", "font": {"size": size}},
    }
    side = layout["yaxis"] | {"rangemode": "tozero", "nticks": 4, "tickformat": ","}
    layout["xaxis"] = axis | {"domain": [0.0, 0.43]}
    layout["xaxis2"] = axis | {"domain": [0.57, 1.0], "anchor": "y2"}
    layout["yaxis"] = side | {"title": {"text": "GB/s", "font": {"size": size}}}
    layout["yaxis2"] = side | {"anchor": "x2"}
    layout["showlegend"] = True
    layout["legend"] = {"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0,
                        "yanchor": "bottom", "font": {"size": size - 1}}  # fmt: skip
    titles = [wrap(_gpu(every, paper), NARROW) for paper in (True, False)]
    layout["margin"] |= {"b": 10 + round(7 * size), "t": 14 + round(1.4 * size * max(map(len, titles)))}
    layout["height"] = look.height or 400
    layout["annotations"] = [
        _title("<br>".join(lines), at, colour, look)
        for at, lines, colour in zip((0.21, 0.79), titles, (ORANGE, BLUE), strict=True)
    ]
    if not any(value for line in data if line["yaxis"] == "y2" for value in line["y"]):
        layout["annotations"].append(_nothing(look) | {"x": 0.78})
    return {"data": data, "layout": layout}


def _same(line: Line, other: Line) -> bool:
    one, two = line.choice, other.choice
    return (one.n, one.dtype, one.block_size) == (two.n, two.dtype, two.block_size)


def _cost(line: Line, paper: bool) -> float | None:
    """Return a line's cost: its time, or the inverse of its bandwidth."""
    numbers = line.published if paper else line.here_numbers
    if line.published.time_us is not None:
        return numbers.time_us
    return 1 / numbers.bandwidth_gb_s if numbers.bandwidth_gb_s else None


def _rate(line: Line | None, paper: bool) -> float | None:
    if line is None:
        return None
    return (line.published if paper else line.here_numbers).bandwidth_gb_s


def _speedups(shown: Sequence[Line], base: Line, paper: bool) -> list[float | None]:
    if paper and base is shown[0]:  # as printed, in the lecture's own rounding
        return [1.0, *(line.published.cumulative for line in shown[1:])]
    first = _cost(base, paper)
    costs = [_cost(line, paper) for line in shown]
    return [first / cost if first and cost else None for cost in costs]


def _sides(values: Sequence[float | None], others: Sequence[float | None], first: bool) -> list[str]:
    """Return the place of each number: above the higher point of a rung, below the lower one, so numbers never meet."""
    upper = [(value or 0) > (other or 0) or (value == other and first)
             for value, other in zip(values, others, strict=True)]  # fmt: skip
    return ["top center" if above else "bottom center" for above in upper]


def _heading(shown: Sequence[Line]) -> list[tuple[str, str]]:
    return [(_gpu(shown, True), ORANGE), (_gpu(shown, False), BLUE)]


def _gpu(lines: Sequence[Line], paper: bool) -> str:
    """Name the GPU of the numbers: "◆ In the lecture: G80", "● Here: NVIDIA H200, recorded 2026-11-21"."""
    if paper:
        names = sorted({line.figure.gpu or "GPU not named" for line in lines})
        return f"◆ {_PAPER}: {', '.join(names)}"
    ours = [(line, line.here, device_line(line.here)) for line in lines if line.here is not None]
    gpus = sorted({words for _, here, words in ours if str(here.device.get("name")) in words})
    by_cpu = [line.label for line, here, words in ours if words not in gpus]
    cpu = f" ({', '.join(by_cpu)}: on a CPU)" if by_cpu else ""
    return f"● {_HERE}: {' and '.join(gpus) or 'not measured'}{cpu}"


def _title(text: str, at: float, colour: str, look: Look) -> dict[str, Any]:
    return {"text": f"<b>{text}</b>", "x": at, "xref": "paper", "xanchor": "center", "y": 1, "yref": "paper",
            "yanchor": "bottom", "yshift": 8, "showarrow": False,
            "font": {"size": look.font - 1, "color": colour}}  # fmt: skip


def _nothing(look: Look) -> dict[str, Any]:
    return {"text": "No times here yet<br>under the lecture's conditions.<br>Press Run these on a GPU.", "x": 0.98,
            "y": 0.04, "xanchor": "right", "yanchor": "bottom", "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": look.font + 1, "color": GREY}}  # fmt: skip


def _fit_side_by_side(labels: Sequence[str], look: Look) -> bool:
    """Return whether the folded labels fit below a plot without turning them."""
    letters = sum(1 + max(map(len, _folded(label).split("<br>"))) for label in labels)
    return letters <= letters_of_line(look) - BEFORE


def _folded(label: str) -> str:
    """Break a rung's label into lines of about a dozen letters."""
    rows = [""]
    for word in label.replace(",", "").split():
        if rows[-1] and len(rows[-1]) + len(word) > 10:
            rows.append(word)
        else:
            rows[-1] = f"{rows[-1]} {word}".strip()
    return "<br>".join(rows)
