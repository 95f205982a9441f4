"""Tables as HTML: the lecture's figure under ours, a failed rung as a sentence, the rung on the page marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from engine.history.tables import COLUMNS, counted_text
from engine.records.counters import IN_TABLE
from engine.records.words import STATUS_WORDS, text_of
from views.html.parts import code_in

# Ours -> the lecture's figure that stands below it in the same cell.
_PAIRS = {
    "time_us": "lecture_time_us",
    "bandwidth_gb_s": "lecture_bandwidth_gb_s",
    "step": "lecture_step",
    "cumulative": "lecture_cumulative",
}
_SIGNS = {"ok": "✓", None: ""}


def ladder_html(
    ladder: Sequence[Mapping[str, Any]], metric: str, current: int, counters: bool, headings: Mapping[str, str]
) -> str:
    """A ladder's table, of the rows that `engine.history.tables` makes. `metric`: its rate column; `counters`:
    whether to show the emulator's; `headings`: group -> where its numbers come from."""
    numbers = ["time_us", metric, "step", "cumulative", "percent_of_peak"]
    numbers += ["ratio"] if any(row["ratio"] is not None for row in ladder) else []
    known = ["same_bits"] if any(row["same_bits"] == "no" for row in ladder) else []
    counted = IN_TABLE if counters else ()
    head = "".join(_heading(key) for key in (*numbers, *known, *counted))
    groups = f'<td colspan="3"></td><th class="group" colspan="{len(numbers)}">{escape(headings["times"])}</th>'
    groups += "<td></td>" * len(known)
    if counted:
        groups += f'<th class="group" colspan="{len(counted)}">{escape(headings["counters"])}</th>'
    rows = "".join(_ladder_row(row, numbers, (*known, *counted), i == current) for i, row in enumerate(ladder))
    return (
        f'<div class="scroll"><table class="ladder"><thead><tr>{groups}</tr>'
        f'<tr><th class="text">Rung</th><th class="text">What it does</th><th class="text">Correct?</th>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _heading(key: str) -> str:
    column = COLUMNS[key]
    unit = f"<small>{escape(column.unit)}</small>" if column.unit and key != "time_us" else ""
    return f'<th title="{escape(column.meaning)}">{escape(column.title)}{unit}</th>'


def _ladder_row(row: Mapping[str, Any], numbers: Sequence[str], beside: Sequence[str], current: bool) -> str:
    """`numbers`: of its time, which a failed rung has none of; `beside`: what is known of it all the same."""
    status = row["status"]
    failed, timed = status not in (None, "ok"), row["time_us"] is not None
    why, whole = code_in(row["reason"] or ""), escape(row["reason"] or "")
    failure = f'<small class="why" title="{whole}">{why}</small>' if failed and timed else ""
    cells = [
        f'<td class="rung">{escape(row["rung"])}</td>',
        f'<td class="text"><b>{escape(row["title"])}</b><code>{escape(row["kernel"])}</code>{failure}</td>',
        f'<td class="text status {status or ""}">{_status(row)}</td>',
    ]
    if failed and not timed:
        said = f'<div class="two" title="{whole}">{why}{_paper_line(row)}</div>'
        cells.append(f'<td class="why" colspan="{len(numbers)}">{said}</td>')
    else:
        cells += [_number(row, key) for key in numbers]
    why = f' title="{escape(row["caveats"])}"' if row["caveats"] else ""
    cells += [f"<td{why}>{escape(counted_text(row, key)) or '<i>·</i>'}</td>" for key in beside]
    return f'<tr class="{"current" if current else ""}">{"".join(cells)}</tr>'


def _status(row: Mapping[str, Any]) -> str:
    if row["status"] is None:
        return '<span class="dim">not run</span>'
    words = f"{_SIGNS.get(row['status'], '✗')} {STATUS_WORDS[row['status']]}"
    return f"{escape(words)}<small>{escape(row['checked'] or '')}</small>"


def _number(row: Mapping[str, Any], key: str) -> str:
    ours = escape(text_of(key, row[key]))
    paper_key = _PAIRS.get(key)
    paper = text_of(paper_key, row[paper_key]) if paper_key else ""
    title = escape(str(row["origin"] or ""))
    below = f'<span class="paper" title="{escape(str(row["lecture_origin"]))}">{escape(paper)}</span>' if paper else ""
    if key == "ratio" and row["library"]:
        below = f"<small>{escape(row['library'])}</small>"
    return f'<td title="{title}">{ours or "<i>–</i>"}{below}</td>'


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
    """Heidelberg's table: variants x swept values, the darker the larger, each row's best framed and told at its end.

    `rows`: (kernel, title); `values`, `titles`: what is swept and what its columns are called; `cells`: (kernel, value)
    -> (number or None, text, why); `best`: kernel -> (value, text); `headings`: over the swept columns, the
    best one, its number.
    """
    numbers = [number for number, _, _ in cells.values() if number is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    by = dict(zip(values, titles, strict=True))
    body = []
    for kernel, title in rows:
        at, most = best.get(kernel, (None, "–"))
        line = [f'<td class="text"><b>{escape(title)}</b><code>{escape(kernel)}</code></td>']
        for value in values:
            number, text, why = cells.get((kernel, value), (None, "", ""))
            if number is None:
                kind = "bad" if text else "pending"
                line.append(f'<td class="{kind}" title="{escape(why)}">{escape(text) or "·"}</td>')
                continue
            share = 0.0 if high == low else (number - low) / (high - low)
            style = f"--share:{share:.3f}"
            line.append(f'<td class="heat {"best" if value == at else ""}" style="{style}">{escape(text)}</td>')
        total = escape(by[at]) if at is not None else "–"
        body.append(f'<tr>{"".join(line)}<td class="total">{total}</td><td class="total">{escape(most)}</td></tr>')
    heads = "".join(f"<th>{escape(title)}</th>" for title in titles)
    texts = {number: text for number, text, _ in cells.values() if number is not None}
    return _ramp(texts.get(low, ""), texts.get(high, "")) + (
        f'<div class="scroll"><table class="ladder heatmap"><thead><tr><td></td><th class="group" '
        f'colspan="{len(values)}">{escape(headings[0])}</th><td colspan="2"></td></tr>'
        f'<tr><th class="text">Variant</th>{heads}<th>{escape(headings[1])}</th><th>{escape(headings[2])}</th></tr>'
        f"</thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _ramp(low: str, high: str) -> str:
    """The legend of the heat; before there is any, its place."""
    if low == high:
        return '<div class="ramp">&nbsp;</div>'
    return (
        f'<div class="ramp"><span>{escape(low)}</span><i></i><span>{escape(high)}</span>'
        "<b></b><span>the best of its row</span></div>"
    )


def reasons_html(reasons: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """Why cells have no number: (status, sentence, the cells it concerns)."""
    lines = "".join(
        f"<p><b>{escape(status)}</b> {escape(', '.join(cells[:4]))}"
        f"{f' and {len(cells) - 4} more' if len(cells) > 4 else ''}: {code_in(reason)}</p>"
        for status, reason, cells in reasons
    )
    return f'<div class="smallprint reasons">{lines}</div>'
