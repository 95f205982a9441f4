"""The plot of the ladder page: bars of rates, times, speedups or a counter, a picture of the topic, or an animation."""

from __future__ import annotations

from textwrap import wrap
from typing import Literal

import streamlit as st

from engine.figures.ladder import metric_bars, speedup_bars, time_bars
from engine.figures.look import Figure, Look
from engine.history import tables
from engine.history.history import not_recorded
from views.chart.component import Chart
from views.ladder.panels import counters
from views.ladder.view import Bars, Facts, Page, Scene


class Drawing:
    """The place of the plot or of the animation."""

    def __init__(self, page: Page, look: Look, height: int | Literal["stretch"]) -> None:
        """`height`: in pixels, or what is left of the place around it."""
        self._page, self._look = page, look
        place = st.container(key="drawing", height=height, border=False)
        if look.pane:
            place = place.container(key="longer")
        self._chart = Chart(place, "plot")
        if isinstance(page.plot, Scene):
            with place:
                page.plot.show(page)

    def show(self, facts: Facts) -> None:
        """Draw the plot instead of the one before."""
        page, plot = self._page, self._page.plot
        if not isinstance(plot, Scene):
            figure = plot.figure(page, facts, self._look)
            height: Literal["content", "stretch"] = "content" if self._look.pane else "stretch"
            self._chart.draw(figure, alt=f"{plot.title}: {page.ladder.title}", height=height)


def menu(page: Page, slide: bool = False) -> None:
    """The menu of the plots, and the widgets of the one that is shown; on a `slide`, parts of its bar.

    The plot that is shown need not be the one that was asked for: a rung that lacks it shows another one, and the next
    rung shows it again.
    """
    titles = {name: plot.title for name, plot in page.plots.items()}
    st.session_state["plot"] = page.plot.name
    if slide:
        st.selectbox("Plot", list(titles), list(titles).index(page.plot.name), key="plot", on_change=_ask,
                     format_func=titles.get)  # fmt: skip
        _controls(page)
        return
    with st.container(horizontal=True, key="plotchoice", vertical_alignment="center"):
        st.segmented_control("Plot", list(titles), default=page.plot.name, key="plot", on_change=_ask,
                             format_func=titles.get, required=True, label_visibility="collapsed")  # fmt: skip
        _controls(page)


def _controls(page: Page) -> None:
    if page.plot.controls is not None:
        page.plot.controls(page)


def _ask() -> None:
    st.session_state["show"] = st.session_state["plot"]


def _rates(page: Page, facts: Facts, look: Look) -> Figure:
    marks = tables.marks(page.topic, facts.known)
    return metric_bars(facts.rows, page.topic.metric, marks, look, _no_times(page))


def _times(page: Page, facts: Facts, look: Look) -> Figure:
    return time_bars(facts.rows, look, _no_times(page))


def _speedups(page: Page, facts: Facts, look: Look) -> Figure:
    return speedup_bars(facts.rows, look, _no_times(page))


def _no_times(page: Page) -> str:
    """Return why there are no times, in lines that fit a plot."""
    return "<br>".join(line for sentence in not_recorded(page.choice) for line in wrap(sentence, 36))


TIMES = Bars("time", "Time", lambda page: True, _times)
BARS = (
    Bars("rate", "Bandwidth", lambda page: page.topic.metric == "bandwidth_gb_s", _rates),
    Bars("rate", "Throughput", lambda page: page.topic.metric == "gflop_s", _rates),
    TIMES,
    Bars("speedup", "Speedup", lambda page: True, _speedups, paired=True),
    Bars("counters", "Counters", lambda page: True, counters.figure, counters.menu, counters.words),
)
