"""The page to sit before: text and source at the left, numbers and plot at the right, the table below."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from engine.catalogue import LADDERS, TOPICS
from engine.figures.look import Look
from engine.service.warm_up import run_of, timed_of
from views.ladder import results, source
from views.ladder.actions import follow_button, run_buttons, toggle_presenting
from views.ladder.panels import plot
from views.ladder.panels.entries import Section
from views.ladder.panels.plot import lines_above, plot_shown, rows_of, timed_bars
from views.ladder.results import WIDTHS, Results
from views.ladder.table import Table
from views.ladder.view import KEPT, WORK, Page, facts_of
from views.server.navigation import toolbar
from views.shared import address, work
from views.shared.slots import RawHtml, Slot

Container = st.delta_generator.DeltaGenerator
SMALLEST_PLOT, LARGEST_PLOT = 228, 640  # pixels of height
SMALLEST_SCENE, LARGEST_PICTURE, ROOMY = 320, 520, 360
ROW = 52  # pixels of a rung's bar and what is around it, at most
SMALLEST, LARGEST = 12, 15  # pixels of type


def show(page: Page, top: Container) -> None:
    """Draw the page, wait for what runs, and draw what comes in. `top`: where the page begins."""
    with top:
        buttons(page)
    left, right = st.columns(WIDTHS, gap="medium")
    with left, work.RENDER:
        st.html(_about(page))
    with right:
        look = plot_look(page)
        results = Results(page, look, look.pane or look.height or SMALLEST_PLOT)
    table = Table(page)
    section = section_chosen(page)
    below = Slot(f"section {section.name}") if section else None

    def draw() -> None:
        with work.RENDER:
            facts = facts_of(page)
            results.show(facts)
            table.show(facts)
            if section is not None and below is not None:
                below.html(section.html(page, facts.known))

    work.follow(WORK, draw)
    draw()


@lru_cache(maxsize=KEPT)
def _about(page: Page) -> RawHtml:
    """The rung's text and source, made once for all browsers."""
    return RawHtml(
        source.rung_text(page.rung, page.kernel)
        + source.rung_source(page.ladder, page.position)
        + source.rung_conditions(page.rung, page.kernel, page.ladder)
    )


def prepare() -> None:
    """Make what the first page would wait for: the recordings are read, the first ladder's sources coloured, and its
    plot, of which the first one of all loads most of Plotly."""
    ladder = next(iter(LADDERS.values()))
    times, runs = (tuple(of(ladder, rung) for rung in ladder.rungs) for of in (timed_of, run_of))
    page = Page(ladder, TOPICS[ladder.topic], 0, times, runs, presenting=False)
    timed_bars(facts_of(page), "time", page.topic.name, "", Look())
    for position in range(len(ladder.rungs)):
        source.rung_source(ladder, position)


def buttons(page: Page) -> None:
    """Run, run the ladder, present."""
    with toolbar():
        run_buttons(page)
        st.button("Present", key="present_on", icon=":material/slideshow:", on_click=toggle_presenting, args=(True,),
                  help="Only the rung, in large type (P). F fills the screen.")  # fmt: skip
        if st.button("Edit", key="edit", icon=":material/edit:", help="Edit this rung in the lab"):
            address.keep("", {"start": "rung"})
            st.switch_page("views/lab/page.py")
        follow_button()


def plot_look(page: Page) -> Look:
    """The plot stands beside the code: as high as the window leaves it, no higher than its bars need. More bars than it
    can hold with words that can be read scroll in its place."""
    rows, left, width = rows_of(page), results.plot_height(page), results.plot_width()
    if plot_shown(page) in plot.scenes_of(page):
        return Look(LARGEST, max(SMALLEST_SCENE, left), width)
    if plot_shown(page) in plot.pictures_of(page):
        height = max(SMALLEST_PLOT, min(left, LARGEST_PICTURE))
        return Look(LARGEST if height >= ROOMY else SMALLEST, height, width)
    pane = max(SMALLEST_PLOT, min(left, rows * ROW + 100, LARGEST_PLOT))
    return Look.of_rows(rows, pane, width, SMALLEST, LARGEST, lines_above(page))


def section_chosen(page: Page) -> Section | None:
    """The menu of the sections below the table, and the one that is chosen, with its widgets."""
    sections = plot.sections_of(page)
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
