"""The page for a lecture hall: one rung on a slide, in large type, exactly as large as the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from math import ceil
from pathlib import Path

import streamlit as st

from engine.catalogue import KERNELS, Kernel, Ladder
from engine.figures.look import Look
from engine.plan import launched
from views.html import folds
from views.html.folds import Room
from views.html.parts import sentence_case
from views.html.source import header_length
from views.ladder.actions import run_buttons
from views.ladder.panels import plot
from views.ladder.panels.plot import lines_above, menu, plot_shown, rows_of
from views.ladder.results import Results, has_strip
from views.ladder.source import rung_source, since_before, terms
from views.ladder.view import WORK, Page, facts_of
from views.picture import component
from views.shared import keyboard, menus, rungs, work

ONE_LINE = 40  # characters of a slide's title in large type
LONG_IDEA = 270  # characters: what is longer needs a third line
SHORT = 13  # rows of a source that leaves room for larger words
WHOLE = 110  # characters of a rung's title and its ladder's, beyond which only the lecture's name stands there
PARTS = (("Fixes", "Fixes"), ("Still limits", "Limit"))
# What present.css says, in hundredths of the window's height: what stands above the source and below it, a line of the
# words below, the smallest type of a source.
TITLE, LONG_TITLE, IDEA, LEGEND, EDGES, TERM, BETWEEN, CODE = 8.2, 7.1, 3.25, 4.0, 3.9, 2.9, 0.4, 2.1
LEAST = 15  # pixels: the smallest type of a source
LETTER, CODE_LETTER = 0.45, 0.602  # of the type: how wide a letter is, in words on average
IDEA_LETTER = 1.17  # of the same hundredths: a letter of the idea, which is as wide as the slide
AROUND = 4.2  # of the type: the line numbers and the edges of a source


@dataclass(frozen=True)
class SourcePlace:
    """Where the source stands: the `width` of its column and the `window`'s width and height, in pixels."""

    width: int
    window: tuple[int, int]


def slide_title(ladder: Ladder, position: int) -> str:
    """The top lines: the rung, and its idea."""
    rung = ladder.rungs[position]
    kernel = KERNELS[rung.kernel]
    idea = kernel.header.get("Idea", "")
    large = ' class="long"' if _long_title(ladder, position) else ""
    fits = len(rung.label) + len(kernel.title) + len(ladder.title) <= WHOLE
    where = ladder.title if fits else ladder.title.partition(":")[0]
    return (
        f'<header class="presenting" data-rung="{position}"><h1{large}><span>{escape(rung.label)}</span>'
        f"{escape(kernel.title)}</h1>"
        f"<p><span>{escape(where)}</span>&nbsp;· {position + 1} of {len(ladder.rungs)}"
        '<button class="leave" type="button" aria-label="Stop presenting" title="Stop presenting (Esc)">✕</button>'
        "</p></header>"
        f'<p class="idea{" long" if len(idea) > LONG_IDEA else ""}">{escape(sentence_case(idea))}</p>'
    )


def slide_source(ladder: Ladder, position: int, n: int, launched: str, place: SourcePlace) -> str:
    """The source; below it what this rung fixes, what still limits it, and how large what is timed is: its N, and how
    the GPU is asked for it."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    size = f"N = {n:,}{': ' if launched else ''}{launched}"
    told = f"{terms(kernel, PARTS)}<dt>Size</dt><dd>{escape(size)}</dd>"
    lines, room = kernel.text.splitlines(), room_of(ladder, position, size, place)
    every = [*lines[header_length(lines) :], *chain.from_iterable(since_before(ladder, position).gone.values())]
    short = " short" if folds.rows_of(every, room.columns) <= SHORT else ""
    shown = rung_source(ladder, position, room)
    return f'<div class="slide{short}">{shown}<dl class="hall">{told}</dl></div>'


def room_of(ladder: Ladder, position: int, size: str, place: SourcePlace) -> Room:
    """How much of the source is seen in the smallest type; `size`: what is said of it below."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    percent = place.window[1] / 100
    above = LONG_TITLE if _long_title(ladder, position) else TITLE
    idea = min(2, ceil(len(kernel.header.get("Idea", "")) * IDEA_LETTER * percent / place.window[0]))
    words = [*_words(kernel), size]
    letters = (place.width / percent - 12.5) / (2.3 * LETTER)  # of a line below
    below = sum(TERM * min(4, ceil(len(each) / letters)) for each in words) + BETWEEN * (len(words) - 1)
    left = 100 - above - IDEA * idea - below - LEGEND * (position > 0) - EDGES
    font = max(LEAST, CODE * percent)
    rows = (left * percent - 12) / (1.27 * font)
    columns = (place.width - AROUND * font) / (CODE_LETTER * font)
    return Room(int(rows - 0.6), int(columns))  # letters are no whole number of pixels high


def _words(kernel: Kernel) -> list[str]:
    return [kernel.header[name] for _, name in PARTS if kernel.header.get(name)]


def _long_title(ladder: Ladder, position: int) -> bool:
    rung = ladder.rungs[position]
    return len(rung.label) + len(KERNELS[rung.kernel].title) > ONE_LINE


SMALLEST, LARGEST = 0.019, 0.026  # of the window's height: the type in a plot
STYLE = Path(__file__).parents[1] / "html" / "present.css"


def show(page: Page) -> None:
    """Draw the slide, wait for what runs, and draw what comes in."""
    st.html(STYLE)
    with work.RENDER, st.container(key="hall"):
        st.html(slide_title(page.ladder, page.position))
        moving = plot_shown(page) in plot.scenes_of(page)
        wide = [1.3, 1] if not moving else [1, 1.9] if component.beside() else [1, 1.35]
        left, right = st.columns(wide, gap="medium")
        with left:
            place = SourcePlace(column(wide[0] / sum(wide)), keyboard.window())
            st.html(slide_source(page.ladder, page.position, page.choice.n, launched(page.choice), place))
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
                  help="Previous rung (arrow left)")  # fmt: skip
        st.button("→", key="next", on_click=rungs.step, args=(page.ladder, 1), help="Next rung (arrow right)",
                  disabled=page.position == len(page.ladder.rungs) - 1)  # fmt: skip
        menus.size(page.topic)
        menus.block_size(page.topic)
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
    if plot_shown(page) in plot.pictures_of(page):
        return Look(round(height * LARGEST), round(height * share), beside)
    return Look.of_rows(rows_of(page), round(height * share), beside, round(height * SMALLEST),
                        round(height * LARGEST), lines_above(page))  # fmt: skip
