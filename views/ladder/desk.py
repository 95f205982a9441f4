"""The page at a desk: text and source at the left, numbers and plot at the right, the table below."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.catalogue import LADDERS
from engine.figures.look import Look
from engine.history import tables
from engine.history.history import Known, environment_line
from engine.service.warm_up import run_of, timed_of
from views.compare import sides
from views.html import source, table
from views.ladder.actions import follow_button, run_buttons, toggle_presenting
from views.ladder.panels.bars import TIMES
from views.ladder.resolve import resolved
from views.ladder.results import Results, bars_of, shows_counters
from views.ladder.view import WORK, Bars, Facts, Page, Scene, Section, facts_of
from views.picture import component
from views.server.navigation import toolbar
from views.shared import address, keyboard, work
from views.shared.rungs import MOST_LABELS
from views.shared.slots import RawHtml, Slot

Container = st.delta_generator.DeltaGenerator
WIDTHS = (1.12, 1)  # text and source; numbers and plot
SMALLEST_PLOT, LARGEST_PLOT = 228, 640  # pixels of height
SMALLEST_SCENE, LARGEST_PICTURE, ROOMY = 320, 520, 360
ROW = 52  # pixels: the largest distance between the bars of two rungs
SMALLEST, LARGEST = 12, 15  # pixels of type
# Pixels of the window above and below the plot; pixels for the counters, and for second lines of rungs and of plots.
AROUND, COUNTERS, RUNGS, PLOTS = 371, 67, 33, 49
ONE_LINE, SHORT_LABELS = 8, 80  # plots that fit on one line, and letters of the rungs' labels
BUTTON, MENU = 2, 4  # the width of the counters' menu, in buttons of plots


def show(page: Page, top: Container) -> None:
    """Draw the page, wait for its runs, and draw their results. `top`: the place where the page begins."""
    with top:
        buttons(page)
    left, right = st.columns(WIDTHS, gap="medium")
    with left, work.RENDER:
        st.html(RawHtml(source.about(page.ladder, page.position)))
    with right:
        look = look_of(page)
        results = Results(page, look, look.pane or look.height or SMALLEST_PLOT)
    below = Table(page)
    section = section_chosen(page)
    panel = Slot(f"section {section.name}") if section else None

    def draw() -> None:
        with work.RENDER:
            facts = facts_of(page)
            results.show(facts)
            below.show(facts)
            if section is not None and panel is not None:
                panel.html(section.html(page, facts.known))

    work.follow(WORK, draw)
    draw()


def prepare() -> None:
    """Read the recordings and colour the sources of the first ladder, so the first page need not wait for that."""
    ladder = next(iter(LADDERS.values()))
    times, runs = (tuple(of(ladder, rung) for rung in ladder.rungs) for of in (timed_of, run_of))
    page = resolved(Page(ladder, 0, times, runs, False, len(times), TIMES), "")
    TIMES.figure(page, facts_of(page), Look())
    for position in range(len(ladder.rungs)):
        source.about(ladder, position)


def buttons(page: Page) -> None:
    """Draw the buttons Run, Run the ladder, and Present."""
    with toolbar():
        follow_button()  # it comes and goes, and the others keep their places
        run_buttons(page)
        st.button("Present", key="present_on", icon=":material/slideshow:", on_click=toggle_presenting, args=(True,),
                  help="Only the rung, in large type (P). F fills the screen.")  # fmt: skip
        if st.button("Edit", key="edit", icon=":material/edit:", help="Edit this rung in the lab"):
            address.keep("", {"start": "rung"})
            st.switch_page("views/lab/page.py")
        if st.button("Compare", key="compare", icon=":material/compare_arrows:",
                     help="Any two rungs, N, block sizes, GPUs or orders side by side"):  # fmt: skip
            sides.set_sides(sides.side_on_page(1), sides.side_on_page())
            st.switch_page("views/compare/page.py")


def look_of(page: Page) -> Look:
    """Return the size of the plot beside the code: it fills the window, but is no higher than its bars need. If the
    bars need more height with readable words, the plot scrolls."""
    high = keyboard.window()[1]
    rungs = page.ladder.rungs
    letters = sum(len(rung.label) for rung in rungs) if len(rungs) <= MOST_LABELS else 0
    beside = 0 if page.plot.controls is None else MENU if isinstance(page.plot, Bars) else BUTTON
    second = RUNGS * (letters > SHORT_LABELS) + PLOTS * (len(page.plots) + beside > ONE_LINE)
    left = high - AROUND - COUNTERS * shows_counters(page) - second
    if isinstance(page.plot, Scene):
        return Look(LARGEST, component.room(max(SMALLEST_SCENE, left), both=component.beside() and page.position > 0))
    if not isinstance(page.plot, Bars):
        height = max(SMALLEST_PLOT, min(left, LARGEST_PICTURE))
        return Look(LARGEST if height >= ROOMY else SMALLEST, height)
    rows = bars_of(page)
    pane = max(SMALLEST_PLOT, min(left, rows * ROW + 100, LARGEST_PLOT))
    return Look.of_rows(rows, pane, SMALLEST, LARGEST)


def section_chosen(page: Page) -> Section | None:
    """Draw the menu of the sections below the table, and the chosen section with its widgets."""
    sections = page.sections
    if not sections:
        return None
    st.segmented_control("Beside the lecture", list(sections), default=st.session_state["below"], key="below",
                         format_func=lambda name: sections[name].title, required=True,
                         label_visibility="collapsed")  # fmt: skip
    section = sections[st.session_state["below"]]
    if section.controls is not None:
        section.controls(page)
    return section


class Table:
    """Draw the lecture's table, the line with the sources of its numbers, and the file."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._rows = Slot("table")
        with st.container(horizontal=True, vertical_alignment="top"):
            self._print = Slot("undertable")
            st.download_button("CSV", self._file, f"{page.ladder.name}.csv", "text/csv", on_click="ignore",
                               icon=":material/download:", key="csv", disabled=not page.tells_all)  # fmt: skip

    def _file(self) -> str:
        """Return the table's contents at the moment of a click."""
        page = self._page
        return tables.frame_csv(tables.ladder_table(page.ladder, page.choices, facts_of(page).known))

    def show(self, facts: Facts) -> None:
        """Draw the known measurements."""
        page = self._page
        lectures = sorted({str(row["lecture_origin"]) for row in facts.rows if row["lecture_origin"] is not None})
        below = under_table(lectures, environment(facts.known, page.position), page.topic.data_note)
        counts = _counts(page, facts)
        self._rows.html(table.ladder_html(facts.rows, page.topic.metric, page.position, counts, facts.sources))
        self._print.html(below)


def _counts(page: Page, facts: Facts) -> bool:
    return page.counting or any(fact.counted for fact in facts.known)


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
