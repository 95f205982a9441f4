"""The page for a hall: nothing but the rung, in large type."""

from __future__ import annotations

import streamlit as st

from engine.figures.look import Look
from views.html import answer, rung_html
from views.panels.plot import Drawing, facts_of, figure_of, show_words
from views.session import keyboard, work
from views.session.page import WORK, Page


def show(page: Page) -> None:
    """The page for a hall: nothing but the rung, in large type."""
    with work.RENDER:
        rung_html.presenting_title(page.ladder, page.position)
        left, right = st.columns([1.35, 1], gap="medium")
        with left:
            rung_html.rung_source(page.ladder, page.position, fold=True)
            rung_html.presenting_text(page.kernel)
    with right:
        numbers = st.empty()
        drawing, beneath = Drawing(), st.empty()
        found = st.empty()
    height = keyboard.window_height()
    rows = len(page.ladder.rungs)
    share = 0.46 if page.counting else 0.56  # of the window's height
    if answer.is_array(page.choice):
        share -= 0.17  # its first elements stand below
    look = Look(min(round(height * 0.026), round(height * (share - 0.1) / rows / 1.25)), round(height * share))

    def draw() -> None:
        with work.RENDER:
            facts, frame = facts_of(page)
            with numbers.container():
                row = frame.to_dict("records")[page.position]
                rung_html.numbers(row, facts[page.position], page.topic, page.counting)
            drawing.show(figure_of(page, frame, facts, look))
            show_words(page, facts, beneath)
            if strip := answer.strip_html(facts[page.position].live, answer.SHOWN_IN_HALL):
                found.html(strip)

    work.follow(WORK, draw)
    draw()
