"""The plots of every ladder: bars of rates, times, speedups, or a counter.

A counter's bars are a GPU profiler's recorded counts and, after a run, the emulator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from textwrap import wrap

import streamlit as st

from engine.figures.ladder import counter_bars, metric_bars, speedup_bars, time_bars
from engine.figures.look import Figure, Look
from engine.history import profiles
from engine.history.history import not_recorded
from engine.history.tables import COLUMNS, marks
from engine.records.counters import IN_PLOTS
from engine.records.words import size_text
from views.html.table import whole_dates
from views.ladder.view import Bars, Facts, Page, all_known

COUNTERS = "counters"  # of the plot
WIDTH = 240  # pixels of the menu


def _rates(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the bars of the rates; the reference lines rest on all rungs, so they stay when a rung is shown."""
    return metric_bars(facts.rows, page.topic.metric, marks(page.topic, all_known(page)), look, _no_times(page))


def _times(page: Page, facts: Facts, look: Look) -> Figure:
    return time_bars(facts.rows, look, _no_times(page))


def _speedups(page: Page, facts: Facts, look: Look) -> Figure:
    return speedup_bars(facts.rows, look, _no_times(page))


def _no_times(page: Page) -> str:
    """Return why there are no times, in lines that fit a plot."""
    return "<br>".join(line for sentence in not_recorded(page.choice) for line in wrap(sentence, 36))


def counter_shown(page: Page) -> str:
    """Return the drawn counter: the requested one, else the rung's own, else the one that the rung is meant to change,
    else the ladder's."""
    asked, meant = st.session_state.get("counter"), page.ladder.meant(page.position)
    if asked in IN_PLOTS:
        return str(asked)
    own = page.rung.counter or (meant[0] if meant else "")
    return own if own in IN_PLOTS else page.ladder.counter


def counter_menu(page: Page) -> None:
    """Show the menu of the counters. It shows the drawn counter, even if the address has another one."""
    titles = {key: COLUMNS[key].title for key in IN_PLOTS}
    st.session_state["counted"] = counter_shown(page)
    st.selectbox("Counter", list(titles), list(titles).index(st.session_state["counted"]), key="counted",
                 format_func=titles.get, on_change=_ask, label_visibility="collapsed", width=WIDTH)  # fmt: skip


def _ask() -> None:
    st.session_state["counter"] = st.session_state["counted"]


def _counters(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the counter's bars."""
    nothing = "<br>".join(_first_steps(page))
    return counter_bars(
        facts.rows, counter_shown(page), page.run.n, look, nothing, profiles.counters_beside(page.choices)
    )


def counter_words(page: Page, facts: Facts) -> str:
    """Return the sources of the counts, and how the emulator counts."""
    return f'<div class="outcome">{whole_dates(escape(" ".join(_sources(page, facts))))}</div>'


def _sources(page: Page, facts: Facts) -> Iterator[str]:
    entry = next(filter(None, profiles.counters_beside(page.choices)), None)
    counted = any(fact.counted for fact in facts.known)
    if entry is not None:
        size = f"N = {size_text(entry.n)}, {page.topic.block_noun} {entry.block_size}"
        yield f"Counted by the {entry.device} itself at {size}, recorded {entry.date}."
    if counted:
        yield f"Counted by the emulator at N = {size_text(page.run.n)}."
    elif entry is not None:
        yield " ".join(_first_steps(page)[1:])


def _is_counted(page: Page) -> bool:
    """Return whether each rung has room for two bars: a profiler's and the emulator's."""
    return any(profiles.counters_beside(page.choices))


def _first_steps(page: Page) -> tuple[str, ...]:
    """Return the lines of an empty plot."""
    if not page.counting:
        return "Nothing counted yet.", "To count, choose the emulator", "as the device and run the ladder (L)."
    return "Nothing counted yet.", "Run the ladder (L),", "and the emulator counts."


TIMES = Bars("time", "Time", lambda page: True, _times)
BARS = (
    Bars("rate", "Bandwidth", lambda page: page.topic.metric == "bandwidth_gb_s", _rates),
    Bars("rate", "Throughput", lambda page: page.topic.metric == "gflop_s", _rates),
    TIMES,
    Bars(
        "speedup",
        "Speedup",
        lambda page: True,
        _speedups,
        paired=lambda page: any(rung.published for rung in page.ladder.rungs),
    ),
    Bars(
        COUNTERS,
        "Counters",
        lambda page: True,
        _counters,
        counter_menu,
        counter_words,
        paired=_is_counted,
    ),
)
