"""The ladder's table, and the small print below it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.history import tables
from engine.history.history import Known, device_line, environment_line
from engine.records.words import size_text
from views.html import table
from views.ladder.view import Facts, Page, facts_of
from views.shared.slots import Slot


class Table:
    """Draw the lecture's table, the line with the sources of its numbers, and the file."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._rows = Slot("table")
        with st.container(horizontal=True, vertical_alignment="top"):
            self._print = Slot("undertable")
            st.download_button("CSV", self._file, f"{page.ladder.name}.csv", "text/csv", on_click="ignore",
                               icon=":material/download:", key="csv")  # fmt: skip

    def _file(self) -> str:
        """Return the table's contents at the moment of a click."""
        page = self._page
        return tables.frame_csv(tables.ladder_table(page.ladder, page.choices, facts_of(page).known))

    def show(self, facts: Facts) -> None:
        """Draw the known measurements."""
        page = self._page
        counts, headings = _counts(page, facts), _headings(page, facts)
        lectures = sorted({str(row["lecture_origin"]) for row in facts.rows if row["lecture_origin"] is not None})
        below = under_table(lectures, environment(facts.known, page.position), page.topic.data_note)
        self._rows.html(table.ladder_html(facts.rows, page.topic.metric, page.position, counts, headings))
        self._print.html(below)


def _counts(page: Page, facts: Facts) -> bool:
    return page.counting or any(fact.counted for fact in facts.known)


def _headings(page: Page, facts: Facts) -> dict[str, str]:
    """Return the sources of the times and the counters, and their N if they differ."""
    times = sorted({device_line(fact.timed) for fact in facts.known if fact.timed})
    headings = {
        "times": f"Times: {' and '.join(times)}" if times else "Times: none measured or recorded for these choices",
        "counters": "Counted by the emulator, live",
    }
    if page.run.n != page.choice.n:
        headings["times"] += f", N = {size_text(page.choice.n)}"
        headings["counters"] += f", N = {size_text(page.run.n)}"
    return headings


def environment(known: Sequence[Known], position: int) -> list[str]:
    """Return the environment lines of the rung on the page, or of the first one that has any."""
    order = [known[position], *known]
    timed = next((fact.timed for fact in order if fact.timed), None)
    counted = next((fact.counted for fact in order if fact.counted), None)
    return [environment_line(m) for m in (timed, counted) if m is not None]


def under_table(lectures: Sequence[str], environment: Sequence[str], data_note: str) -> str:
    """Return the small print below the table: the sources, devices and data of the figures."""
    lines = []
    if lectures:
        lines.append(f'<span class="paper"></span>published by the lecture for {escape("; ".join(lectures))}')
    lines += [escape(line) for line in environment]
    lines.append(escape(f"Data: {data_note}"))
    return f'<div class="smallprint">{"".join(f"<p>{line}</p>" for line in lines)}</div>'
