"""What is drawn anew with each result: the numbers of the rung, and what came of its run."""

from __future__ import annotations

import streamlit as st

from engine.lectures.promises import unkept
from views.html import answer, rung_html, when
from views.session import work
from views.session.facts import Facts
from views.session.page import WORK, Page


def numbers(page: Page, facts: Facts) -> str:
    """The big numbers of the rung on the page."""
    known = facts.known[page.position]
    ran = when.ran(str(known.live.environment.get("utc") or ""), st.context.timezone) if known.live else ""
    if ran and work.taken_over(WORK, page.run):
        ran += " by another browser; Run again measures anew"
    said = ""
    if page.position:
        before = facts.known[page.position - 1].timed
        said = unkept(page.ladder.rungs[page.position], before, known.timed, page.topic.metric)
    return rung_html.numbers(facts.rows[page.position], known, page.choice, page.run, ran, said)


def strip(page: Page, facts: Facts, shown: int) -> str:
    """The first elements of the answer, or their places before there is one."""
    return answer.strip_html(facts.known[page.position].live, shown) or answer.blank_html(page.run, shown)
