"""The page for a hall: nothing but the rung, in large type, exactly as large as the window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from engine.figures.look import Look
from engine.plan import describe_launches
from views import panels
from views.html import slide
from views.panels.plot import lines_above, menu, plot_shown, rows_of
from views.picture import component
from views.rung.actions import run_buttons
from views.rung.results import Results, has_strip
from views.session import choices, keyboard, rungs, work
from views.session.facts import facts_of
from views.session.page import WORK, Page

SMALLEST, LARGEST = 0.019, 0.026  # of the window's height: the type in a plot
STYLE = Path(__file__).parents[1] / "html" / "present.css"


def show(page: Page) -> None:
    """Draw the slide, wait for what runs, and draw what comes in."""
    st.html(STYLE)
    with work.RENDER, st.container(key="hall"):
        st.html(slide.title(page.ladder, page.position))
        moving = plot_shown(page) in panels.scenes_of(page)
        wide = [1.3, 1] if not moving else [1, 1.9] if component.beside() else [1, 1.35]
        left, right = st.columns(wide, gap="medium")
        with left:
            place = slide.Place(column(wide[0] / sum(wide)), keyboard.window())
            st.html(slide.source(page.ladder, page.position, page.choice.n, describe_launches(page.choice), place))
        with right:
            results = Results(page, plot_look(page, wide), "stretch")
    bar(page)

    def draw() -> None:
        with work.RENDER:
            facts = facts_of(page)
            results.show(facts)

    work.follow(WORK, draw)
    draw()


def bar(page: Page) -> None:
    """What the mouse finds: it appears when the mouse moves, and fades."""
    with st.container(key="bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button("←", key="previous", on_click=rungs.step, args=(page.ladder, -1), disabled=page.position == 0,
                  help="The rung before (arrow left)")  # fmt: skip
        st.button("→", key="next", on_click=rungs.step, args=(page.ladder, 1), help="The next rung (arrow right)",
                  disabled=page.position == len(page.ladder.rungs) - 1)  # fmt: skip
        choices.size(page.topic)
        choices.block_size(page.topic)
        menu(page, slide=True)
        run_buttons(page)
        st.html('<button class="showkeys" type="button" title="Keys (?)">Keys</button>')


def column(share: float) -> int:
    """Pixels of a column that has a share of the slide's width."""
    return round(0.94 * keyboard.window()[0] * share)


def plot_look(page: Page, wide: Sequence[float]) -> Look:
    """Type as large as the rungs leave room for in what the numbers leave of the window. `wide`: the columns."""
    height = keyboard.window()[1]
    share = 0.56 if page.counting else 0.66
    if has_strip(page):
        share -= 0.11  # its first elements stand below
    beside = column(wide[1] / sum(wide))
    if plot_shown(page) in panels.pictures_of(page):
        return Look(round(height * LARGEST), round(height * share), beside)
    return Look.of_rows(rows_of(page), round(height * share), beside, round(height * SMALLEST),
                        round(height * LARGEST), lines_above(page))  # fmt: skip
