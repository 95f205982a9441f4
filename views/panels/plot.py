"""The plot of the ladder page: the bars of a rate, of times, speedups or a counter, or a picture of the topic's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from textwrap import wrap
from typing import Literal

import pandas as pd
import streamlit as st

from engine import tables
from engine.columns import COLUMNS
from engine.counters import IN_PLOTS
from engine.figures.ladder import counter_bars, metric_bars, speedup_bars, time_bars
from engine.figures.look import CONFIG, ON_PAGE, Figure, Look
from engine.history.history import Known, not_recorded
from views import panels
from views.session import work
from views.session.page import Page

RATES = {"bandwidth_gb_s": "Bandwidth", "gflop_s": "Throughput"}


class Drawing:
    """The place of the plot that is chosen, or of the scene."""

    def __init__(self, page: Page, height: int | Literal["stretch"]) -> None:
        """`height`: in pixels, or what is left of the place around it."""
        self._page = page
        self._place = st.container(key="drawing", height=height, border=False)
        self._drawn: list[str] = []
        self._scene = panels.scenes_of(page).get(plot_shown(page))
        if self._scene is not None:
            with self._place:
                self._scene.show(page)

    def show(self, frame: pd.DataFrame, facts: list[Known], look: Look) -> None:
        """Draw the plot in the place of the one before. One that has not changed is left alone, as each new one is
        built up from nothing."""
        if self._scene is not None:
            return
        figure = figure_of(self._page, frame, facts, look)
        # The same figure has the same key in the next run of the script: the browser then keeps what it has drawn.
        key = sha256(json.dumps(figure, default=str).encode()).hexdigest()
        if self._drawn[-1:] == [key]:
            return
        self._drawn.append(key)
        shown = f"{key} {self._drawn.count(key)}"
        self._place = self._place.plotly_chart(
            figure,
            key=shown,
            config=CONFIG,
            height="stretch",
            alt=f"{plots_of(self._page)[plot_shown(self._page)]}: {self._page.ladder.title}",
        )


def plots_of(page: Page) -> dict[str, str]:
    """What the plots are called that the page offers, by their name in the address."""
    words = {"rate": RATES[page.topic.metric], "time": "Time", "speedup": "Speedup", "counters": "Counters"}
    words |= {name: picture.title for name, picture in panels.pictures_of(page).items()}
    return words | {name: scene.title for name, scene in panels.scenes_of(page).items()}


def plot_shown(page: Page) -> str:
    """Which plot is drawn: the one that was asked for, else the ladder's own, else the times."""
    words = plots_of(page)
    return next(name for name in (st.session_state.get("show"), page.ladder.picture, "time") if name in words)


def counter_shown(page: Page) -> str:
    """Which counter is drawn: the one that was asked for, else the ladder's own."""
    asked = st.session_state.get("counter")
    return asked if asked in IN_PLOTS else page.ladder.counter


def menu(page: Page, slide: bool = False) -> None:
    """The menu of the plots, and the widgets of the one that is drawn; on a `slide`, parts of its bar.

    What is drawn need not have been asked for: a rung that lacks a plot shows another one, and the next has it again.
    """
    words, shown = plots_of(page), plot_shown(page)
    st.session_state["plot"] = shown
    if slide:
        st.selectbox("Plot", list(words), list(words).index(shown), key="plot", on_change=_ask, format_func=words.get)
        _controls(page, shown)
        return
    with st.container(horizontal=True, key="plotchoice", vertical_alignment="center"):
        st.segmented_control("Plot", list(words), default=shown, key="plot", on_change=_ask, format_func=words.get,
                             required=True, label_visibility="collapsed")  # fmt: skip
        _controls(page, shown)


def _controls(page: Page, shown: str) -> None:
    if shown == "counters":
        counters = {key: COLUMNS[key].title for key in IN_PLOTS}
        st.session_state["counter"] = counter_shown(page)
        st.selectbox("Counter", list(counters), list(counters).index(st.session_state["counter"]), key="counter",
                     format_func=counters.get, label_visibility="collapsed", width=240)  # fmt: skip
    picture = panels.pictures_of(page).get(shown)
    if picture is not None and picture.controls is not None:
        picture.controls(page)


def _ask() -> None:
    st.session_state["show"] = st.session_state["plot"]


def facts_of(page: Page) -> tuple[list[Known], pd.DataFrame]:
    """What is known about every rung, and the table made of it."""
    facts = [work.outcome(choice, run) for choice, run in zip(page.choices, page.runs, strict=True)]
    return facts, tables.ladder_table(page.ladder, page.choices, facts)


def figure_of(page: Page, frame: pd.DataFrame, facts: list[Known], look: Look = ON_PAGE) -> Figure:
    """The plot that was chosen."""
    which = plot_shown(page)
    if picture := panels.pictures_of(page).get(which):
        return picture.figure(page, frame, facts, look)
    if which == "counters":
        return counter_bars(frame, counter_shown(page), page.position, page.run.n, look)
    nothing = "<br>".join(folded(not_recorded(page.choice)))
    if which == "time":
        return time_bars(frame, page.position, look, nothing)
    if which == "speedup":
        return speedup_bars(frame, page.position, look, nothing)
    return metric_bars(frame, page.topic.metric, tables.marks(page.topic, facts), page.position, look, nothing)


def folded(sentences: Sequence[str]) -> list[str]:
    """The sentences on lines that fit a plot."""
    return [line for sentence in sentences for line in wrap(sentence, 36)]


def words_of(page: Page, facts: list[Known]) -> str:
    """What a picture of the topic's own says below itself."""
    picture = panels.pictures_of(page).get(plot_shown(page))
    return picture.words(page, facts) if picture is not None and picture.words is not None else ""
