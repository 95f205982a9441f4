"""The page for a lecture hall: one rung on a slide, in large type, exactly as large as the window."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from engine.figures.look import Look
from engine.history.history import Known
from views.html import source
from views.html.table import sentence_case
from views.html.terms import mark_terms
from views.ladder import handout, reveal
from views.ladder.actions import run_buttons
from views.ladder.results import Results, bars_of, has_strip, menu, shows_counters
from views.ladder.view import WORK, Bars, Page, Scene, facts_of
from views.picture import component
from views.shared import keyboard, menus, work
from views.shared.slots import Slot

LONG_TITLE, LONG_IDEA = 40, 270  # characters; a longer title or idea gets smaller type
WHOLE = 110  # characters of a rung's title and its ladder's; beyond that only the lecture's name is shown
# Size of a plot's type, as a part of the window's height: of bars at least and at most, and of other plots. A narrow
# window has no room for long names in the largest type.
SMALLEST, LARGEST, OTHER = 0.0236, 0.028, 0.0265
LARGEST_OF_WIDTH = 0.018
STYLE = Path(__file__).parents[1] / "html" / "present.css"


def show(page: Page) -> None:
    """Draw the slide, wait for its runs, and draw their results."""
    st.html(STYLE)
    launch, order = page.launch, page.run.schedule
    size = f"N = {page.choice.n:,}{': ' if launch else ''}{launch}{f'; order {order}' if order else ''}"
    wide = [1.3, 1] if not isinstance(page.plot, Scene) else [1, 1.9] if component.beside() else [1, 1.35]
    with work.RENDER, st.container(key="hall"):
        st.html(slide_title(page))
        left, right = st.columns(wide, gap="medium")
        with left:
            code = Slot("slidesource")
        with right:
            results = Results(page, look_of(page), "stretch")
    bar(page)

    def draw() -> None:
        with work.RENDER:
            facts = facts_of(page)
            text = source.slide_source(page.ladder, page.position, size, named_lines(facts.known[page.position]))
            code.html(text)
            drawn = results.show(facts)
            handout.publish(page, text, *drawn, origin=" · ".join(facts.sources.values()))

    work.follow(WORK, draw)
    draw()


def named_lines(known: Known) -> frozenset[int]:
    """Return the lines that the outcome of a run names."""
    runs = (run for run in (known.live, known.recorded) if run is not None)
    return frozenset(line for run in runs for one in run.findings for line in (one.line, one.other_line) if line)


def look_of(page: Page) -> Look:
    """Return the size of the plot: the height that the numbers leave of the window, and the largest type that its bars
    allow. If even the smallest type has no room for all bars, the slide shows those around its rung."""
    wide, high = keyboard.window()
    height = round(high * ((0.51 if shows_counters(page) else 0.64) - 0.13 * has_strip(page)))
    if not isinstance(page.plot, Bars):
        return Look(round(high * OTHER), height)
    smallest, largest = round(high * SMALLEST), round(min(high * LARGEST, wide * LARGEST_OF_WIDTH))
    bars, rungs = bars_of(page), len(page.ladder.rungs)
    look = Look.of_rows(bars, height, smallest, largest)
    return look if look.pane is None else Look.around(page.position, rungs, bars // rungs, height, smallest)


def slide_title(page: Page) -> str:
    """Return the top lines: the rung, its step from the rung before, and its idea."""
    ladder, position, rung, kernel = page.ladder, page.position, page.rung, page.kernel
    step, idea = rung.lead, sentence_case(kernel.header.get("Idea", ""))
    large = ' class="long"' if len(rung.label) + len(kernel.title) > LONG_TITLE else ""
    fits = len(rung.label) + len(kernel.title) + len(ladder.title) <= WHOLE
    where = ladder.title if fits else ladder.title.partition(":")[0]
    told = f'<p class="idea{" long" if len(step + idea) > LONG_IDEA else ""}"><b>{escape(step)}</b> {escape(idea)}</p>'
    return (
        f'<header class="presenting" data-rung="{position}" data-covered="{page.covered}">'
        f"<h1{large}><span>{escape(rung.label)}</span>{escape(kernel.title)}</h1>"
        f"<p><span>{escape(where)}</span>&nbsp;· {position + 1} of {len(ladder.rungs)}"
        '<button class="leave" type="button" aria-label="Stop presenting" title="Stop presenting (Esc)">✕</button>'
        f"</p></header>{mark_terms(told)}"
    )


def bar(page: Page) -> None:
    """Draw the bar of buttons, which appears when the mouse moves and then fades."""
    with st.container(key="bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button("←", key="previous", on_click=reveal.back, args=(page.ladder,), disabled=page.position == 0,
                  help="Previous rung (arrow left)")  # fmt: skip
        st.button("→", key="next", on_click=reveal.on, args=(page.ladder,),
                  help="The numbers, then the next rung (arrow right)",
                  disabled=page.position == len(page.ladder.rungs) - 1 and not page.covered)  # fmt: skip
        menus.size(page.topic)
        menus.block_size(page.topic)
        menu(page, slide=True)
        run_buttons(page)
        st.html('<button class="showkeys" type="button" title="Keys (?)">Keys</button>')
