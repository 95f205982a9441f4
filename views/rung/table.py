"""The ladder's table, and the small print below it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine import tables
from engine.history.history import Known, device_line, environment_line
from views.html import grid, rung_html
from views.session.page import Page


def show_table(page: Page, frame: pd.DataFrame, facts: list[Known], drawn: int) -> None:
    """The lecture's table, the line that says where its numbers come from, and the file."""
    timed = [fact.timed for fact in facts if fact.timed]
    origins = sorted({device_line(m) for m in timed})
    headings = {
        "times": f"Times: {' and '.join(origins)}" if origins else "Times: none measured or recorded for these choices",
        "counters": "Counted by the emulator, live",
    }
    with_counters = page.counting or any(fact.counted for fact in facts)
    st.html(grid.ladder_html(frame, page.topic.metric, page.position, with_counters, headings))
    lectures = sorted({str(line) for line in frame["lecture_origin"] if line is not None})
    with st.container(horizontal=True, vertical_alignment="top"):
        st.html(rung_html.under_table(lectures, environment(facts, page.position), page.topic.data_note))
        st.download_button("CSV", tables.frame_csv(frame), f"{page.ladder.name}.csv", "text/csv", on_click="ignore",
                           icon=":material/download:", key=f"csv {drawn}")  # fmt: skip


def environment(facts: list[Known], position: int) -> list[str]:
    """The environment lines of the rung on the page, or of the first one that has any."""
    order = [facts[position], *facts]
    timed = next((fact.timed for fact in order if fact.timed), None)
    counted = next((fact.counted for fact in order if fact.counted), None)
    return [environment_line(m) for m in (timed, counted) if m is not None]
