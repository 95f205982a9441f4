"""The page to sit before: text and source at the left, numbers and plot at the right, the table below."""

from __future__ import annotations

import streamlit as st

from views import panels
from views.html import answer, rung_html
from views.panels.entries import Section
from views.panels.plot import Drawing, choices_of_counter, facts_of, figure_of, show_words
from views.rung.actions import run_ladder, run_rung, toggle_presenting
from views.rung.table import show_table
from views.session import work
from views.session.page import WORK, Page

RUNG_ROWS = {"bandwidth_gb_s": "Bandwidth", "gflop_s": "Throughput"}


def show(page: Page) -> None:
    """The page to sit before: text and source at the left, numbers and plot at the right, the table below."""
    left, right = st.columns([1.12, 1], gap="medium")
    with left, work.RENDER:
        rung_html.rung_text(page.rung, page.kernel)
        rung_html.rung_source(page.ladder, page.position)
        rung_html.rung_conditions(page.rung, page.kernel, page.ladder)
    with right:
        buttons(page)
        numbers = st.empty()
        pictures = panels.pictures_of(page)
        words = {"rate": RUNG_ROWS[page.topic.metric], "time": "Time", "speedup": "Speedup", "counters": "Counters"}
        words |= {name: picture.title for name, picture in pictures.items()}
        if st.session_state.get("show") not in words:
            st.session_state["show"] = "rate"
        shown = st.session_state["show"]
        with st.container(horizontal=True, key="plotchoice", vertical_alignment="center"):
            st.segmented_control("Plot", list(words), default=shown, key="show",
                                 format_func=words.get, required=True, label_visibility="collapsed")  # fmt: skip
            if shown == "counters":
                choices_of_counter()
        if shown in pictures and (controls := pictures[shown].controls):
            controls(page)
        drawing, beneath = Drawing(), st.empty()
        found = st.empty()
    table = st.empty()
    section = section_chosen(page)
    below = st.empty()
    drawn = 0

    def draw() -> None:
        nonlocal drawn
        drawn += 1
        with work.RENDER:
            facts, frame = facts_of(page)
            with numbers.container():
                row = frame.to_dict("records")[page.position]
                rung_html.numbers(row, facts[page.position], page.topic, page.counting)
            drawing.show(figure_of(page, frame, facts))
            show_words(page, facts, beneath)
            if strip := answer.strip_html(facts[page.position].live):
                found.html(strip)
            with table.container():
                show_table(page, frame, facts, drawn)
            if section is not None:
                below.html(section.html(page, facts))

    work.follow(WORK, draw)
    draw()


def buttons(page: Page) -> None:
    """Run, run the ladder, present."""
    with st.container(horizontal=True, key="buttons", vertical_alignment="center"):
        st.button("Run", key="run", type="primary", icon=":material/play_arrow:", on_click=run_rung, args=(page,),
                  help="Check this rung's answer, then measure it (R)")  # fmt: skip
        st.button("Run the ladder", key="run_ladder", icon=":material/stairs:", on_click=run_ladder, args=(page,),
                  help="Every rung with these choices, one after the other (L)")  # fmt: skip
        st.button("Present", key="present_on", icon=":material/slideshow:", on_click=toggle_presenting, args=(True,),
                  help="Only the rung, in large type (P). F fills the screen.")  # fmt: skip


def section_chosen(page: Page) -> Section | None:
    """The menu of the sections below the table, and the one that is chosen, with its widgets."""
    sections = panels.sections_of(page)
    if not sections:
        return None
    if st.session_state.get("below") not in sections:
        st.session_state["below"] = next(iter(sections))
    st.segmented_control("Beside the lecture", list(sections), default=st.session_state["below"], key="below",
                         format_func=lambda name: sections[name].title, required=True,
                         label_visibility="collapsed")  # fmt: skip
    section = sections[st.session_state["below"]]
    if section.controls is not None:
        section.controls(page)
    return section
