"""Numbers as HTML: tiles, sentences with code in them, any table, and the tables of a ladder and of a sweep."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from engine.figures.bars import HELD
from engine.history.tables import COLUMNS, tile_text, tile_title
from engine.records.counters import IN_TILES
from engine.records.words import STATUS_WORDS, text_of
from views.html.terms import mark_terms

# our column -> the lecture's figure below it in the same cell
_PAIRS = {
    "time_us": "lecture_time_us",
    "bandwidth_gb_s": "lecture_bandwidth_gb_s",
    "step": "lecture_step",
    "cumulative": "lecture_cumulative",
}
_SIGNS = {"ok": "✓", None: ""}
_CODE = re.compile(r"(?<!\w)(?:&#x27;.*?&#x27;|&quot;.*?&quot;)(?!\w)|`([^`]+)`")


def tile(title: str, value: str, *, unit: str = "", below: str = "", tip: str = "", dim: bool = False) -> str:
    """Return a tile with one number; "" shows a dash. `dim`: in a lighter colour; `unit` and `below`: HTML."""
    kind = "tile none" if dim else "tile"
    said = f' title="{escape(tip)}"' if tip else ""
    shown = f"<label>{mark_terms(escape(title))}</label><strong>{escape(value) or '–'}{unit}</strong>{below}"
    return f'<div class="{kind}"{said}>{shown}</div>'


def tiles(many: Iterable[str], kind: str = "") -> str:
    """Return tiles in rows. `kind`: "counted" for counters."""
    return f'<div class="{f"tiles {kind}".strip()}">{"".join(many)}</div>'


def code_in(sentence: str) -> str:
    """Return the sentence as HTML; text between backticks is code, but quoted text, which a reader may have typed,
    stays as it is."""
    return _CODE.sub(lambda found: f"<code>{found[1]}</code>" if found[1] else found[0], escape(sentence))


def sentence_case(words: str) -> str:
    """Return the words with a capital letter, unless they begin with code: `threadIdx.x`, `h_k`, `atomicInc`."""
    first = words.partition(" ")[0].rstrip(".,:;")
    return words if re.search(r"[A-Z0-9_.()\[\]=*]", first[1:]) else words[:1].upper() + words[1:]


def whole_dates(words: str) -> str:
    """Return the words as HTML in which no date is broken over two lines."""
    return re.sub(r"\d{4}-\d\d-\d\d", r"<time>\g<0></time>", words)


class Cell(str):
    """A complete `<td>` or `<th>`."""


def cell(html: str, kind: str = "", *, title: str = "", span: int = 1, style: str = "", tag: str = "td") -> Cell:
    """Return a cell. `kind`: its CSS classes; `title`: its tooltip; `span`: columns."""
    said = {"class": kind, "title": escape(title), "colspan": str(span) if span > 1 else "", "style": style}
    attributes = "".join(f' {name}="{value}"' for name, value in said.items() if value)
    return Cell(f"<{tag}{attributes}>{html}</{tag}>")


def heading(html: str, kind: str = "", *, title: str = "", span: int = 1) -> Cell:
    """Return a heading: over words with the kind "text", over several columns with "group"."""
    return cell(html, kind, title=title, span=span, tag="th")


def with_small(text: str, small: str) -> str:
    """Return the text as HTML with a small line below it, if there is one."""
    return f"{escape(text)}{f'<small>{escape(small)}</small>' if small else ''}"


def unit_headings(names: Iterable[tuple[str, str]]) -> list[Cell]:
    """Return a heading with a unit below it for each column; the first stands over words."""
    return [heading(f"{name}<small>{unit}</small>", "" if i else "text") for i, (name, unit) in enumerate(names)]


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    marked: Collection[int] = (),
    groups: Sequence[str] = (),
    kind: str = "ladder",
) -> str:
    """Return a table that scrolls if the page is too narrow. Headings and cells are HTML, or a `Cell` with attributes.

    `marked`: the indices of the rows with the page's own colour; `groups`: cells of a row above the headings; `kind`:
    CSS classes.
    """
    head = _row(groups, "td") if groups else ""
    body = "".join(_row(row, "td", i in marked) for i, row in enumerate(rows))
    return (
        f'<div class="scroll"><table class="{kind}"><thead>{head}{_row(headings, "th")}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str], tag: str, marked: bool = False) -> str:
    whole = "".join(one if isinstance(one, Cell) else f"<{tag}>{one}</{tag}>" for one in cells)
    return f'<tr class="current">{whole}</tr>' if marked else f"<tr>{whole}</tr>"


def ladder_html(
    ladder: Sequence[Mapping[str, Any]], metric: str, current: int, counters: bool, headings: Mapping[str, str]
) -> str:
    """Return a ladder's table from the rows of `engine.history.tables`. `metric`: its rate column; `counters`: whether
    to show the emulator's; `headings`: group -> the source of its numbers."""
    numbers = ["time_us", metric, "step", "cumulative", "percent_of_peak"]
    numbers += ["ratio"] if any(row["ratio"] is not None for row in ladder) else []
    known = ["same_bits"] if any(row["same_bits"] == "no" for row in ladder) else []
    counted = IN_TILES if counters else ()
    groups = [cell("", span=3), heading(escape(headings["times"]), "group", span=len(numbers)), *([""] * len(known))]
    if counted:
        groups.append(heading(escape(headings["counters"]), "group", span=len(counted)))
    heads = [heading(title, "text") for title in ("Rung", "What it does", "Correct?")]
    heads += [_heading(key) for key in (*numbers, *known)]
    heads += [heading(escape(tile_title(names)), title=COLUMNS[names[0]].meaning) for names in counted]
    rows = [_ladder_row(row, numbers, known, counted) for row in ladder]
    return table(heads, rows, marked=[current], groups=groups)


def _heading(key: str) -> Cell:
    column = COLUMNS[key]
    unit = f"<small>{escape(column.unit)}</small>" if column.unit and key != "time_us" else ""
    return heading(escape(column.title) + unit, title=column.meaning)


def _ladder_row(
    row: Mapping[str, Any], numbers: Sequence[str], known: Sequence[str], counted: Sequence[tuple[str, ...]]
) -> list[Cell]:
    """Return a rung's cells. `numbers`: columns of its time, which a failed rung lacks; `known`, `counted`: its other
    columns, and those of its counters."""
    status = row["status"]
    failed, timed = status not in (None, "ok"), row["time_us"] is not None
    why, whole = code_in(row["reason"] or ""), escape(row["reason"] or "")
    failure = f'<small class="why" title="{whole}">{why}</small>' if failed and timed else ""
    cells = [
        cell(escape(row["rung"]), "rung"),
        cell(f"<b>{escape(row['title'])}</b><code>{escape(row['kernel'])}</code>{failure}", "text"),
        cell(_status(row), f"text status {status or ''}"),
    ]
    if HELD in row:
        return [*cells[:2], cell("?", "text status"), *(cell("?") for _ in (*numbers, *known, *counted))]
    if failed and not timed:
        said = f'<div class="two" title="{whole}">{why}{_paper_line(row)}</div>'
        cells.append(cell(said, "why", span=len(numbers)))
    else:
        cells += [_number(row, key) for key in numbers]
    beside = [*(text_of(key, row[key]) for key in known), *(tile_text(row, names) for names in counted)]
    return cells + [cell(escape(text) or "<i>·</i>", title=row["caveats"] or "") for text in beside]


def _status(row: Mapping[str, Any]) -> str:
    if row["status"] is None:
        return '<span class="dim">not run</span>'
    words = f"{_SIGNS.get(row['status'], '✗')} {STATUS_WORDS[row['status']]}"
    recorded = (
        f"<small>{escape(text_of('status', row['recorded_status']))}: recorded</small>"
        if row.get("recorded_status")
        else ""
    )
    return f"{escape(words)}<small>{escape(row['checked'] or '')}</small>{recorded}"


def _number(row: Mapping[str, Any], key: str) -> Cell:
    ours = escape(text_of(key, row[key]))
    paper_key = _PAIRS.get(key)
    paper = text_of(paper_key, row[paper_key]) if paper_key else ""
    below = f'<span class="paper" title="{escape(str(row["lecture_origin"]))}">{escape(paper)}</span>' if paper else ""
    if key == "ratio" and row["library"]:
        below = f"<small>{escape(row['library'])}</small>"
    return cell(f"{ours or '<i>–</i>'}{below}", title=str(row["origin"] or ""))


def _paper_line(row: Mapping[str, Any]) -> str:
    words = [text_of(key, row[key]) for key in _PAIRS.values() if row[key] is not None]
    return f'<span class="paper">{escape(" · ".join(words))}</span>' if words else ""


def sweep_html(
    rows: Sequence[tuple[str, str]],
    values: Sequence[int],
    titles: Sequence[str],
    cells: Mapping[tuple[str, int], tuple[float | None, str, str]],
    best: Mapping[str, tuple[int, str]],
    headings: tuple[str, str, str],
) -> str:
    """Return Heidelberg's table: variants x swept values, darker for larger numbers, with each row's best framed and
    repeated at its end.

    `rows`: (kernel, title); `values`, `titles`: the swept values and their columns' titles; `cells`: (kernel, value) ->
    (number or None, text, why); `best`: kernel -> (value, text); `headings`: over the swept columns, the best one, its
    number.
    """
    numbers = [number for number, _, _ in cells.values() if number is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    by = dict(zip(values, titles, strict=True))
    body = []
    for kernel, title in rows:
        at, most = best.get(kernel, (None, "–"))
        line = [cell(f"<b>{escape(title)}</b><code>{escape(kernel)}</code>", "text")]
        for value in values:
            number, text, why = cells.get((kernel, value), (None, "", ""))
            if number is None:
                line.append(cell(escape(text) or "·", "bad" if text else "pending", title=why))
                continue
            share = 0.0 if high == low else (number - low) / (high - low)
            line.append(cell(escape(text), f"heat {'best' if value == at else ''}", style=f"--share:{share:.3f}"))
        total = escape(by[at]) if at is not None else "–"
        body.append([*line, cell(total, "total"), cell(escape(most), "total")])
    heads = [heading("Variant", "text"), *map(escape, titles), *map(escape, headings[1:])]
    groups = ["", heading(escape(headings[0]), "group", span=len(values)), cell("", span=2)]
    texts = {number: text for number, text, _ in cells.values() if number is not None}
    return _ramp(texts.get(low, ""), texts.get(high, "")) + table(heads, body, groups=groups, kind="ladder heatmap")


def _ramp(low: str, high: str) -> str:
    """Return the legend of the heat, or an empty place."""
    if low == high:
        return '<div class="ramp">&nbsp;</div>'
    return (
        f'<div class="ramp"><span>{escape(low)}</span><i></i><span>{escape(high)}</span>'
        "<b></b><span>the best of its row</span></div>"
    )


def reasons_html(reasons: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """Return why cells have no number, from (status, sentence, the cells)."""
    lines = "".join(
        f"<p><b>{escape(status)}</b> {escape(', '.join(cells[:4]))}"
        f"{f' and {len(cells) - 4} more' if len(cells) > 4 else ''}: {code_in(reason)}</p>"
        for status, reason, cells in reasons
    )
    return f'<div class="smallprint reasons">{lines}</div>'
