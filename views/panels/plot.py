"""The plot of the ladder page: the bars of a rate, of times, speedups or a counter, or a picture of the topic's own."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Literal

import pandas as pd
import streamlit as st

from engine import tables
from engine.counters import IN_PLOTS
from engine.figures.ladder import counter_bars, metric_bars, speedup_bars, time_bars
from engine.figures.look import CONFIG, ON_PAGE, Figure, Look
from engine.history.history import Known
from views import panels
from views.session import work
from views.session.page import Page

RATES = {"bandwidth_gb_s": "Bandwidth", "gflop_s": "Throughput"}


class Drawing:
    """The place of a plot. A figure that has not changed is left alone, as each new one is built up from nothing."""

    def __init__(self, height: int | Literal["stretch"]) -> None:
        """`height`: in pixels, or what is left of the place around it."""
        self._place = st.container(key="drawing", height=height, border=False)
        self._drawn: list[str] = []

    def show(self, figure: Figure) -> None:
        """Draw `figure` in the place of the one before, unless it stands there already."""
        # The same figure has the same key in the next run of the script: the browser then keeps what it has drawn.
        key = sha256(json.dumps(figure, default=str).encode()).hexdigest()
        if self._drawn[-1:] == [key]:
            return
        self._drawn.append(key)
        shown = f"{key} {self._drawn.count(key)}"
        self._place = self._place.plotly_chart(figure, key=shown, config=CONFIG, height="stretch")


def plots_of(page: Page) -> dict[str, str]:
    """What the plots are called that the page offers, by their name in the address; one of them is chosen."""
    words = {"rate": RATES[page.topic.metric], "time": "Time", "speedup": "Speedup", "counters": "Counters"}
    words |= {name: picture.title for name, picture in panels.pictures_of(page).items()}
    if st.session_state.get("show") not in words:
        st.session_state["show"] = "rate"
    return words


def choices_of_counter() -> None:
    """The menu for the counter that is plotted."""
    words = {key: tables.COLUMNS[key].title for key in IN_PLOTS}
    if st.session_state.get("counter") not in words:
        st.session_state["counter"] = "bank_conflicts"
    now = list(words).index(st.session_state["counter"])
    st.selectbox("Counter", list(words), now, key="counter", format_func=words.get,
                 label_visibility="collapsed", width=240)  # fmt: skip


def facts_of(page: Page) -> tuple[list[Known], pd.DataFrame]:
    """What is known about every rung, and the table made of it."""
    facts = [work.outcome(choice) for choice in page.choices]
    return facts, tables.ladder_table(page.ladder, page.choices, facts)


def figure_of(page: Page, frame: pd.DataFrame, facts: list[Known], look: Look = ON_PAGE) -> Figure:
    """The plot that was chosen."""
    which = st.session_state.get("show", "rate")
    if picture := panels.pictures_of(page).get(which):
        return picture.figure(page, frame, facts, look)
    if which == "time":
        return time_bars(frame, page.position, look)
    if which == "speedup":
        return speedup_bars(frame, page.position, look)
    if which == "counters":
        return counter_bars(frame, st.session_state.get("counter", "bank_conflicts"), page.position, look)
    return metric_bars(frame, page.topic.metric, tables.marks(page.topic, facts), page.position, look)


def words_of(page: Page, facts: list[Known]) -> str:
    """What a picture of the topic's own says below itself."""
    picture = panels.pictures_of(page).get(st.session_state.get("show", "rate"))
    return picture.words(page, facts) if picture is not None and picture.words is not None else ""
