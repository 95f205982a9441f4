"""What each result changes beside the code: the numbers of the rung, the plot, what it says, and the answer."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from engine.figures.look import Look
from engine.lectures.judge import unkept
from views.html import answer, rung_html, when
from views.panels.plot import Drawing, menu, rows_of, words_of
from views.rung import room
from views.session import work
from views.session.facts import Facts
from views.session.page import WORK, Page
from views.session.place import Place

_ANSWERED: dict[work.Answer, str] = {
    "another browser's": "{} by another browser; Run again measures anew",
    "emulated before": "emulated before: {}, and the same every time",
}


MANY = 12  # bars


class Results:
    """Their places, one below the other; `show` draws what is known by now."""

    def __init__(self, page: Page, look: Look, height: int | Literal["stretch"]) -> None:
        """`look`, `height`: of the plot. Its menu stands above it, but on a slide in the bar."""
        self._page = page
        self._numbers = Place("numbers")
        if not page.presenting:
            menu(page)
        self._drawing, self._words, self._answer = Drawing(page, look, height), Place("plotwords"), Place("answer")

    def show(self, facts: Facts) -> None:
        """Draw each of them that has changed."""
        self._numbers.html(_numbers(self._page, facts))
        self._drawing.show(facts)
        self._words.html(words_of(self._page, facts))
        self._answer.html(_strip(self._page, facts))


def _numbers(page: Page, facts: Facts) -> str:
    """The big numbers of the rung on the page."""
    known = facts.known[page.position]
    ran = when.ran(str(known.live.environment.get("utc") or ""), st.context.timezone) if known.live else ""
    if ran and (why := work.answer(WORK, page.run)):
        ran = _ANSWERED[why].format(ran)
    said = ""
    if page.position:
        before = facts.known[page.position - 1].timed
        said = unkept(page.ladder.rungs[page.position], before, known.timed, page.topic.metric)
    return rung_html.numbers(facts.rows[page.position], known, page.choice, page.run, room.counters(page), ran, said)


def has_strip(page: Page) -> bool:
    """Whether the answer's first elements stand below the plot: on a slide many bars need their place."""
    return answer.is_array(page.run) and not (page.presenting and rows_of(page) > MANY)


def _strip(page: Page, facts: Facts) -> str:
    """The first elements of the answer, or their places before there is one."""
    if not has_strip(page):
        return ""
    shown = answer.SHOWN_IN_HALL if page.presenting else answer.SHOWN
    return answer.strip_html(facts.known[page.position].live, shown) or answer.blank_html(page.run, shown)
