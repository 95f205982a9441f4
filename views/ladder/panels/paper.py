"""The lecture's figures beside ours under the same conditions, and why the shape differs today."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

import streamlit as st

from engine.catalogue import LADDERS
from engine.figures.look import Figure, Look
from engine.figures.paper import block_panels, speedup_lines
from engine.history.history import Known, device_line, look_up
from engine.history.tables import checked_by, published_line
from engine.lectures import published
from engine.lectures.published import Line, Numbers
from engine.lectures.templates import today
from engine.records import Settled
from engine.records.words import STATUS_WORDS, size_text, text_of
from views.html.table import cell, heading, table
from views.ladder.view import KEPT, WORK, Facts, Page, Picture, Section, shared
from views.shared import work

_NUMBERS = (("time_us", "Time"), ("bandwidth_gb_s", "GB/s"), ("step", "Step"), ("cumulative", "In all"))


def run_these(page: Page) -> None:
    """Run every rung under the conditions of its published figures."""
    asked = published.choices(page.ladder, page.choice.device)
    work.start(WORK, [choice for choice, _ in asked], [name for _, name in asked])


def controls(page: Page) -> None:
    """Show the button, if there is something to run."""
    if not published.has_figures(page.ladder):
        return
    several = len(_asked(page.ladder.name, page.choice.device, page.choice.record))
    words = "An emulator checks and counts; it has no times." if page.counting else "Each is checked, then timed."
    st.button("Run these", key="run_paper", icon=":material/play_arrow:", on_click=run_these, args=(page,),
              help=f"{several} runs with the lecture's N, block size and type. {words}")  # fmt: skip


def section(page: Page, facts: Sequence[Known]) -> str:
    """Return the table, if the lecture prints figures, and the paragraph."""
    name, device, record = page.ladder.name, page.choice.device, page.choice.record
    return _drawn([look_up(choice) for choice in _asked(name, device, record)], name, device, record)


@lru_cache(maxsize=KEPT)
def _asked(ladder: str, device: str, record: str | None) -> tuple[Settled, ...]:
    """Return the runs under the lecture's published conditions."""
    return tuple(choice for choice, _ in published.choices(LADDERS[ladder], device, record))


@shared
def _drawn(known: Sequence[Known], ladder: str, device: str, record: str | None) -> str:
    """Return the section, cached for all browsers until another run is known."""
    shown = LADDERS[ladder]
    lines = published.lines(shown, device, record) if published.has_figures(shown) else ()
    table = ""
    if lines:
        table = _block_table(lines) if published.varies_block(shown) else _line_table(lines)
    return f'<section class="papers">{table}{_paragraph(ladder, bool(lines))}</section>'


@lru_cache(maxsize=2 * len(LADDERS))
def _paragraph(ladder: str, compared: bool) -> str:
    """Return the paragraph, made from recorded runs."""
    told = today(LADDERS[ladder])
    if not told.sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in told.sentences)
    origins = f'<p class="origin">Figures: {escape("; ".join(told.origins))}.</p>' if told.origins else ""
    title = "Why the shape differs today" if compared else "What is different today"
    return f"<h3>{title}</h3><ul>{items}</ul>{origins}"


def _line_table(lines: Sequence[Line]) -> str:
    """Return a table with a row for each figure: its conditions, the lecture's numbers, ours."""
    shown = [(key, title) for key, title in _NUMBERS if any(getattr(line.published, key) is not None for line in lines)]
    groups = [("In the lecture", "published")]
    recorded = sorted({device_line(line.recorded) for line in lines if line.recorded is not None})
    groups.append((f"Here: {' and '.join(recorded) or 'nothing recorded for these conditions'}", "recorded_numbers"))
    live = sorted({device_line(line.live) for line in lines if line.live is not None and line.live.time_us is not None})
    if live:
        groups.append((f"Here: {' and '.join(live)}", "live_numbers"))
    above = [cell("", span=2), *(heading(escape(title), "group", span=len(shown)) for title, _ in groups), ""]
    heads = [heading("Rung", "text"), heading("Published for", "text"), *(title for _ in groups for _, title in shown),
             "Here<small>times as fast</small>"]  # fmt: skip
    rows = [_row(line, [source for _, source in groups], [key for key, _ in shown]) for line in lines]
    computed = (
        " Grey: not printed, computed from the lecture's figures." if any(line.computed for line in lines) else ""
    )
    return (
        f'{table(heads, rows, groups=above)}<div class="smallprint"><p>Step: against the figure before; in all: '
        "against the first, of the same N, type and block size. A blank was not "
        f"published or not measured.{computed}</p></div>"
    )


def _row(line: Line, sources: Sequence[str], keys: Sequence[str]) -> list[str]:
    cells: list[str] = [cell(escape(line.label) + _checked(line), "rung")]
    unsaid = "" if line.figure.block_size else ", threads not stated"
    note = f"<small>{escape(line.note)}</small>" if line.note else ""
    grid = f", {line.figure.grid_size} blocks" if line.figure.grid_size else ""
    cells.append(cell(escape(published_line(line.figure) + unsaid + grid) + note, "text"))
    for source in sources:
        numbers: Numbers = getattr(line, source)
        for key in keys:
            kind = ("dim" if key in line.computed else "papernumber") if source == "published" else ""
            text = escape(text_of(key, getattr(numbers, key)))
            if not text and key == "time_us" and source == "recorded_numbers" and line.recorded is not None:
                text = f'<small class="bad">{escape(STATUS_WORDS[line.recorded.status])}</small>'
            cells.append(cell(text, kind))
    return [*cells, f"<b>{escape(text_of('step', line.faster))}</b>"]


def _checked(line: Line) -> str:
    """Return the outcome of our run, below the rung's name."""
    live = line.live
    if live is None:
        return ""
    sign = "✓" if live.status == "ok" else "✗"
    return f"<small>{sign} {escape(STATUS_WORDS[live.status])}, {checked_by(live)}</small>"


def _block_table(lines: Sequence[Line]) -> str:
    """Return a table of rungs x block sizes: ours above, the lecture's below, and how many times as fast."""
    rungs = published.by_block(lines)
    sizes = sorted({line.choice.block_size for line in lines})
    rows = []
    for label, cells in rungs.items():
        here, lecture = (_best(list(cells.values()), source) for source in ("here_numbers", "published"))
        best = f'{here}<span class="paper">{lecture}</span>'
        rows.append([cell(escape(label), "rung"), *(_cell(cells.get(size)) for size in sizes), best])
    figure = lines[0].figure
    origins = sorted({device_line(line.here) for line in lines if line.here is not None})
    title = f"Bandwidth (GB/s) by threads per block, N = {escape(size_text(figure.n))}, {escape(figure.dtype)}"
    groups = ["", heading(title, "group", span=len(sizes)), ""]
    return (
        table([heading("Rung", "text"), *map(str, sizes), "Best with"], rows, groups=groups)
        + f'<div class="smallprint"><p>Above: here, {escape(" and ".join(origins) or "not measured")}. '
        f'<span class="paper"></span>in the lecture, {escape(figure.gpu or "GPU not named")}. '
        f"Small: how many times as fast it is here.</p></div>"
    )


def _cell(line: Line | None) -> str:
    if line is None:
        return ""
    ours = escape(text_of("bandwidth_gb_s", line.here_numbers.bandwidth_gb_s))
    theirs = escape(text_of("lecture_bandwidth_gb_s", line.published.bandwidth_gb_s))
    faster = escape(text_of("step", line.faster))
    return f'<b>{ours or "<i>–</i>"}</b><span class="paper">{theirs}</span><small>{faster}</small>'


def _best(lines: Sequence[Line], source: str) -> str:
    known = {line.choice.block_size: getattr(line, source).bandwidth_gb_s for line in lines}
    rates = {size: rate for size, rate in known.items() if rate is not None}
    return str(max(rates, key=lambda size: rates[size])) if rates else ""


def offered(page: Page) -> bool:
    """Return whether the lecture prints figures; the plot tells those of all rungs."""
    return page.tells_all and published.has_figures(page.ladder)


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the speedups of both, or Heidelberg's lines over the block sizes."""
    lines = published.lines(page.ladder, page.choice.device, page.choice.record)
    if published.varies_block(page.ladder):
        return block_panels(published.by_block(lines), look)
    return speedup_lines(lines, look)


PICTURE = Picture("paper", "The lecture", offered, figure)
SECTION = Section("paper", "Then and now", lambda page: bool(page.ladder.today), section, controls)
