"""The code and the numbers of a comparison as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from engine.catalogue import KERNELS
from engine.history.history import Known, device_line
from engine.history.tables import COLUMNS, value_of
from engine.records import Measurement
from engine.records.counters import COUNTERS, IN_PLOTS
from engine.records.words import STATUS_WORDS, size_text, text_of
from views.compare.sides import Name, Side
from views.html.source import source_html
from views.html.table import Cell, cell, code_in, heading, table, with_small

TIMED = ("time_us", "bandwidth_gb_s", "gflop_s", "percent_of_peak")


def code_html(found: Mapping[Name, Side]) -> str:
    """Return the source of B with the lines that differ from A."""
    a, b = (KERNELS[side.step.kernel] for side in found.values())
    if a.text == b.text:
        return f'<div class="filename">A and B: {escape(b.file_name)}</div>{source_html(b.text, b.name)}'
    shown = source_html(b.text, b.name, a.text, a.name, what_before="A")
    return f'<div class="filename">B: {escape(b.file_name)}</div>{shown}'


def numbers_html(found: Mapping[Name, Side], known: Mapping[Name, Known]) -> str:
    """Return the table: each number of A and of B with its origin, and B's over A's."""
    heads = [heading("Number", "text"), *(heading(with_small(name, side.title)) for name, side in found.items()),
             heading("B / A")]  # fmt: skip
    sizes = [side.n for side in found.values()]
    answers = (_answer(fact, n) for fact, n in zip(known.values(), sizes, strict=True))
    rows: list[list[str]] = [[cell("Answer", "text"), *answers, ""]]
    for key in (*TIMED, *IN_PLOTS):
        used = [fact.timed if key in TIMED else fact.counted for fact in known.values()]
        values = [value_of(each, key) if each is not None else None for each in used]
        if not any(values):
            continue
        column = COLUMNS[key]
        title = COUNTERS[key].label if key in COUNTERS else column.title
        name = with_small(title, "" if key == "time_us" else column.unit)
        cells = [_number(key, *each) for each in zip(values, used, sizes, strict=True)]
        rows.append([cell(name, "text", title=column.meaning), *cells, escape(_ratio(*values)) or "<i>–</i>"])
    return table(heads, rows, kind="ladder compared")


def _number(key: str, value: float | None, used: Measurement | None, n: int) -> Cell:
    """Return a number with its origin."""
    if value is None or used is None:
        return cell("<i>–</i>")
    about = "≈ " if key not in TIMED and value and used.caveats else ""
    return cell(with_small(f"{about}{text_of(key, value)}", _origin(used, n)))


def _origin(measurement: Measurement, n: int) -> str:
    """Return the device of a measurement, and its N if that is not the side's."""
    ran = measurement.choice.n
    return device_line(measurement) + (f", N = {size_text(ran)}" if ran != n else "")


def _ratio(a: float | None, b: float | None) -> str:
    return "" if not a or b is None else text_of("step", b / a)


def _answer(fact: Known, n: int) -> Cell:
    """Return the verdicts of a side, the live one first, each with its device."""
    verdicts = [each for each in (fact.live, fact.recorded) if each is not None]
    lines = [
        f'<div class="status {each.status}">{with_small(STATUS_WORDS[each.status], _origin(each, n))}'
        f"{f'<small>{code_in(each.reason)}</small>' if each.reason else ''}</div>"
        for each in verdicts
    ]
    return cell("".join(lines) or '<span class="dim">not run</span>')
