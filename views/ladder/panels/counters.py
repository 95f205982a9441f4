"""The plot of a counter down the ladder: the emulator's counts or, before it ran, a GPU profiler's."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.figures.ladder import counter_bars, hardware_bars
from engine.figures.look import Figure, Look
from engine.history import profiles
from engine.history.profiles import Hardware
from engine.history.tables import COLUMNS
from engine.lectures import changes
from engine.records import Settled
from engine.records.counters import IN_PLOTS
from engine.records.words import size_text
from views.html.parts import whole_dates
from views.ladder.view import Facts, Page

NAME = "counters"  # of the plot
WIDTH = 240  # pixels of the menu


def shown(page: Page) -> str:
    """Return the drawn counter: the requested one, else the rung's own, else the one that the rung is meant to change,
    else the ladder's."""
    asked, meant = st.session_state.get("counter"), changes.meant(page.ladder, page.position)
    if asked in IN_PLOTS:
        return str(asked)
    own = page.rung.counter or (meant[0] if meant else "")
    return own if own in IN_PLOTS else page.ladder.counter


def menu(page: Page) -> None:
    """Show the menu of the counters. It shows the drawn counter, even if the address has another one."""
    titles = {key: COLUMNS[key].title for key in IN_PLOTS}
    st.session_state["counted"] = shown(page)
    st.selectbox("Counter", list(titles), list(titles).index(st.session_state["counted"]), key="counted",
                 format_func=titles.get, on_change=_ask, label_visibility="collapsed", width=WIDTH)  # fmt: skip


def _ask() -> None:
    st.session_state["counter"] = st.session_state["counted"]


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the counter's bars."""
    counter, hardware = shown(page), _hardware(facts, page.choices)
    if any(entry is not None and counter in entry.counters for entry in hardware):
        return hardware_bars(facts.rows, counter, hardware, look)
    return counter_bars(facts.rows, counter, page.run.n, look, "<br>".join(_first_steps(page)))


def words(page: Page, facts: Facts) -> str:
    """Return the source of the counts, and how the emulator counts."""
    entry = next((entry for entry in _hardware(facts, page.choices) if entry is not None), None)
    if entry is not None:
        size = f"N = {size_text(entry.n)}, {page.topic.block_noun} {entry.block_size}"
        said = f"Counted by the {entry.device} itself at {size}, recorded {entry.date}. "
        said += " ".join(_first_steps(page)[1:])
    else:
        counted = any(fact.counted for fact in facts.known)
        said = f"Counted by the emulator at N = {size_text(page.run.n)}." if counted else ""
    return f'<div class="outcome">{whole_dates(escape(said))}</div>'


def _hardware(facts: Facts, choices: Sequence[Settled]) -> Sequence[Hardware | None]:
    """Return a GPU profiler's counts of each rung, unless the emulator has counted one."""
    return () if any(fact.counted for fact in facts.known) else profiles.counters_beside(choices)


def _first_steps(page: Page) -> tuple[str, ...]:
    """Return the lines of an empty plot."""
    if not page.counting:
        return "Nothing counted yet.", "To count, choose the emulator", "as the device and run the ladder (L)."
    return "Nothing counted yet.", "Run the ladder (L),", "and the emulator counts."
