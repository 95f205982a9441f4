"""The page for a hall: nothing but the rung, in large type, exactly as large as the window."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.figures.look import Look
from views.html import answer, rung_html
from views.panels.plot import Drawing, facts_of, figure_of, words_of
from views.rung import results
from views.session import keyboard, work
from views.session.page import WORK, Page
from views.session.place import Place

STYLE = Path(__file__).parents[1] / "html" / "present.css"


def show(page: Page) -> None:
    """Draw the slide, wait for what runs, and draw what comes in."""
    st.html(STYLE)
    with work.RENDER, st.container(key="hall"):
        st.html(rung_html.presenting_title(page.ladder, page.position))
        left, right = st.columns([1.3, 1], gap="medium")
        with left:
            st.html(rung_html.presenting_source(page.ladder, page.position))
        with right:
            numbers = Place("numbers")
            drawing, beneath = Drawing("stretch"), Place("plotwords")
            found = Place("answer" if answer.is_array(page.choice) else "noanswer")
    look = plot_look(page)

    def draw() -> None:
        with work.RENDER:
            facts, frame = facts_of(page)
            numbers.html(results.numbers(page, frame, facts))
            drawing.show(figure_of(page, frame, facts, look))
            beneath.html(words_of(page, facts))
            found.html(answer.strip_html(facts[page.position].live, answer.SHOWN_IN_HALL))

    work.follow(WORK, draw)
    draw()


def plot_look(page: Page) -> Look:
    """Type as large as the rungs leave room for in what the numbers leave of the window."""
    height = keyboard.window_height()
    share = 0.56 if page.counting else 0.66
    if answer.is_array(page.choice):
        share -= 0.17  # its first elements stand below
    return Look(min(round(height * 0.026), round(height * (share - 0.12) / len(page.ladder.rungs) / 1.2)))
