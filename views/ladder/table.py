"""The ladder's table, and the small print below it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

import streamlit as st

from engine import tables
from engine.catalogue import TOPICS
from engine.history.history import Known, device_line, environment_line
from engine.words import size_text
from views.html import table
from views.ladder.view import KEPT, Facts, Page, facts_of
from views.shared.slots import Slot


class Table:
    """The lecture's table, the line with the sources of its numbers, and the file."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._rows = Slot("table")
        with st.container(horizontal=True, vertical_alignment="top"):
            self._print = Slot("undertable")
            # called at a click, with the table's contents at that moment
            st.download_button("CSV", lambda: tables.frame_csv(facts_of(page).frame), f"{page.ladder.name}.csv",
                               "text/csv", on_click="ignore", icon=":material/download:", key="csv")  # fmt: skip

    def show(self, facts: Facts) -> None:
        """Draw the known measurements."""
        page = self._page
        rows, below = drawn(facts, page.topic.name, page.position, page.choice.n, page.run.n, page.counting)
        self._rows.html(rows)
        self._print.html(below)


@lru_cache(maxsize=KEPT)
def drawn(facts: Facts, topic: str, position: int, n: int, run_n: int, counting: bool) -> tuple[str, str]:
    """Return the table and the lines below it as HTML, cached for all browsers.

    `n`: of the times; `run_n`: of the counters, if there are any; `counting`: Run counts.
    """
    times = sorted({device_line(fact.timed) for fact in facts.known if fact.timed})
    headings = {
        "times": f"Times: {' and '.join(times)}" if times else "Times: none measured or recorded for these choices",
        "counters": "Counted by the emulator, live",
    }
    if run_n != n:
        headings["times"] += f", N = {size_text(n)}"
        headings["counters"] += f", N = {size_text(run_n)}"
    with_counters = counting or any(fact.counted for fact in facts.known)
    rows = table.ladder_html(facts.rows, TOPICS[topic].metric, position, with_counters, headings)
    lectures = sorted({str(row["lecture_origin"]) for row in facts.rows if row["lecture_origin"] is not None})
    return rows, under_table(lectures, environment(facts.known, position), TOPICS[topic].data_note)


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
