"""The ladder's table, and the small print below it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine import tables
from engine.history.history import Known, device_line, environment_line
from engine.words import size_text
from views.html import grid, rung_html
from views.panels.plot import facts_of
from views.session.page import Page
from views.session.place import Place


class Table:
    """The lecture's table, the line that says where its numbers come from, and the file."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._rows = Place("table")
        with st.container(horizontal=True, vertical_alignment="top"):
            self._print = Place("undertable")
            # Asked for when somebody clicks: what the table says by then.
            st.download_button("CSV", lambda: tables.frame_csv(facts_of(page)[1]), f"{page.ladder.name}.csv",
                               "text/csv", on_click="ignore", icon=":material/download:", key="csv")  # fmt: skip

    def show(self, frame: pd.DataFrame, facts: list[Known]) -> None:
        """Draw it with what is known by now."""
        page = self._page
        timed = [fact.timed for fact in facts if fact.timed]
        origins = sorted({device_line(m) for m in timed})
        headings = {
            "times": f"Times: {' and '.join(origins)}"
            if origins
            else "Times: none measured or recorded for these choices",
            "counters": "Counted by the emulator, live",
        }
        if page.run.n != page.choice.n:
            headings["times"] += f", N = {size_text(page.choice.n)}"
            headings["counters"] += f", N = {size_text(page.run.n)}"
        with_counters = page.counting or any(fact.counted for fact in facts)
        self._rows.html(grid.ladder_html(frame, page.topic.metric, page.position, with_counters, headings))
        lectures = sorted({str(line) for line in frame["lecture_origin"] if line is not None})
        self._print.html(rung_html.under_table(lectures, environment(facts, page.position), page.topic.data_note))


def environment(facts: list[Known], position: int) -> list[str]:
    """The environment lines of the rung on the page, or of the first one that has any."""
    order = [facts[position], *facts]
    timed = next((fact.timed for fact in order if fact.timed), None)
    counted = next((fact.counted for fact in order if fact.counted), None)
    return [environment_line(m) for m in (timed, counted) if m is not None]
