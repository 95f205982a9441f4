"""The plots of the ladder page: bars of rates, times, speedups or a counter, pictures of a topic, and animations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from textwrap import wrap
from typing import Any, Literal

import streamlit as st
from plotly import graph_objects

from engine import tables
from engine.catalogue import TOPICS
from engine.figures.ladder import metric_bars, speedup_bars, time_bars
from engine.figures.look import CONFIG, ON_PAGE, Figure, Look
from engine.history.history import not_recorded
from views.ladder.panels import (
    arithmetic,
    claims,
    complexity,
    counters,
    floats,
    law,
    motion,
    occupancy,
    paper,
    reasons,
    roofline,
    trapezoids,
)
from views.ladder.panels.entries import Picture, Scene, Section
from views.ladder.view import KEPT, Facts, Page

PICTURES: tuple[Picture, ...] = (
    law.PICTURE,
    roofline.PICTURE,
    trapezoids.TRAPEZOIDS,
    trapezoids.ERRORS,
    complexity.PICTURE,
    floats.ANSWERS,
    floats.PICTURE,
    floats.REPEATS,
    paper.PICTURE,
)
SCENES: tuple[Scene, ...] = (motion.SCENE,)
SECTIONS: tuple[Section, ...] = (
    arithmetic.SECTION,
    paper.SECTION,
    claims.SECTION,
    complexity.SECTION,
    floats.SECTION,
    occupancy.SECTION,
    reasons.SECTION,
)


@lru_cache(maxsize=KEPT)
def pictures_of(page: Page) -> Mapping[str, Picture]:
    """The pictures that are offered on this page, by their name in the address."""
    return {picture.name: picture for picture in PICTURES if picture.offered(page)}


@lru_cache(maxsize=KEPT)
def scenes_of(page: Page) -> Mapping[str, Scene]:
    """The scenes that are offered on this page, by their name in the address."""
    return {scene.name: scene for scene in SCENES if scene.offered(page)}


@lru_cache(maxsize=KEPT)
def sections_of(page: Page) -> Mapping[str, Section]:
    """The sections that are offered on this page, by their name in the address."""
    return {section.name: section for section in SECTIONS if section.offered(page)}


CONTROL = 150  # pixels that a picture's own button takes
RATES = {"bandwidth_gb_s": "Bandwidth", "gflop_s": "Throughput"}


class Drawing:
    """The place of the plot that is chosen, or of the scene."""

    def __init__(self, page: Page, look: Look, height: int | Literal["stretch"]) -> None:
        """`height`: in pixels, or what is left of the place around it."""
        self._page, self._look = page, look
        self._place = st.container(key="drawing", height=height, border=False)
        if look.pane:
            self._place = self._place.container(key="longer")
        self._drawn: list[str] = []
        self._scene = scenes_of(page).get(plot_shown(page))
        if self._scene is not None:
            with self._place:
                self._scene.show(page)

    def show(self, facts: Facts) -> None:
        """Draw the plot in the place of the one before. One that has not changed is left alone, as each new one is
        built up from nothing."""
        if self._scene is not None:
            return
        figure = figure_of(self._page, facts, self._look)
        # The same figure has the same key in the next run of the script: the browser then keeps what it has drawn.
        if self._drawn[-1:] == [figure.key]:
            return
        self._drawn.append(figure.key)
        self._place = self._place.plotly_chart(
            figure,
            key=f"{figure.key} {self._drawn.count(figure.key)}",
            config=CONFIG,
            height=self._look.height if self._look.pane and self._look.height else "stretch",
            alt=f"{plots_of(self._page)[plot_shown(self._page)]}: {self._page.ladder.title}",
        )


@lru_cache(maxsize=KEPT)
def plots_of(page: Page) -> Mapping[str, str]:
    """What the plots are called that the page offers, by their name in the address."""
    words = {"rate": RATES[page.topic.metric], "time": "Time", "speedup": "Speedup", "counters": "Counters"}
    words |= {name: picture.title for name, picture in pictures_of(page).items()}
    return words | {name: scene.title for name, scene in scenes_of(page).items()}


@lru_cache(maxsize=KEPT)
def plot_shown(page: Page) -> str:
    """Which plot is drawn: the one that was asked for, else the rung's own, else the ladder's, else the times."""
    words = plots_of(page)
    return next(name for name in (page.plot, page.rung.picture, page.ladder.picture, "time") if name in words)


def rows_of(page: Page) -> int:
    """How many bars stand below each other: a rung's speedup has the lecture's below it."""
    rungs = page.ladder.rungs
    return len(rungs) * (1 + (plot_shown(page) == "speedup" and any(rung.published for rung in rungs)))


def lines_above(page: Page) -> int:
    """How many lines the names of what the bars are measured against take above them: a rate has several such."""
    return 2 if plot_shown(page) == "rate" else 1


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
        counters.menu(page)
    picture = pictures_of(page).get(shown)
    if picture is not None and picture.controls is not None:
        picture.controls(page)


def controls_of(page: Page) -> list[int]:
    """How wide, in pixels, the widgets are that stand beside the names of the plots."""
    if plot_shown(page) == "counters":
        return [counters.WIDTH]
    picture = pictures_of(page).get(plot_shown(page))
    return [CONTROL] if picture is not None and picture.controls is not None else []


def _ask() -> None:
    st.session_state["show"] = st.session_state["plot"]


def figure_of(page: Page, facts: Facts, look: Look = ON_PAGE) -> Validated:
    """The plot that was chosen."""
    which = plot_shown(page)
    if picture := pictures_of(page).get(which):
        return validated(json.dumps(picture.figure(page, facts.frame, facts.known, look)))
    if which == "counters":
        return validated(json.dumps(counters.figure(page, facts, look)))
    return timed_bars(facts, which, page.topic.name, "<br>".join(folded(not_recorded(page.choice))), look)


@lru_cache(maxsize=KEPT)
def timed_bars(facts: Facts, which: str, topic: str, nothing: str, look: Look) -> Validated:
    """The bars of times ("time"), of speedups ("speedup") or of the topic's rate; `nothing`: what stands for none."""
    return validated(json.dumps(_bars(facts, which, topic, nothing, look)))


def _bars(facts: Facts, which: str, topic: str, nothing: str, look: Look) -> Figure:
    if which == "time":
        return time_bars(facts.frame, look, nothing)
    if which == "speedup":
        return speedup_bars(facts.frame, look, nothing)
    marks = tables.marks(TOPICS[topic], facts.known)
    return metric_bars(facts.frame, TOPICS[topic].metric, marks, look, nothing)


class Validated(graph_objects.Figure):
    """A figure that Plotly has checked, and that nobody changes: what is sent of it is made once for all browsers. Of
    all that it takes to send one that is nine tenths."""

    def __init__(self, text: str) -> None:
        """`text`: the figure as JSON."""
        super().__init__(json.loads(text))
        self._sent = super().to_dict()
        self._key = sha256(text.encode()).hexdigest()

    @property
    def key(self) -> str:
        """The name of this figure, which another one with the same contents has as well."""
        return self._key

    def to_dict(self) -> dict[str, Any]:
        """What it is made of."""
        return self._sent


@lru_cache(maxsize=KEPT)
def validated(figure: str) -> Validated:
    """A figure, as JSON, that can be sent."""
    return Validated(figure)


def folded(sentences: Sequence[str]) -> list[str]:
    """The sentences on lines that fit a plot."""
    return [line for sentence in sentences for line in wrap(sentence, 36)]


def words_of(page: Page, facts: Facts) -> str:
    """What the counters, or a picture of the topic's own, say below themselves."""
    if plot_shown(page) == "counters":
        return counters.words(page, facts)
    picture = pictures_of(page).get(plot_shown(page))
    return picture.words(page, facts.known) if picture is not None and picture.words is not None else ""
