"""The shape of a picture and of a section of the ladder page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from engine.figures.look import Figure, Look
from engine.history.history import Known
from views.ladder.view import Page


@dataclass(frozen=True)
class Picture:
    """A plot of a topic's own. `name`: in the address. `title`: on the button.

    `figure(page, table of the ladder, what is known of each rung, look)`; it is drawn anew with every result that
    comes in, so it must hold no widget. `controls(page)`: its widgets, drawn once, above the plot. `words(page, what is
    known of each rung)`: HTML that stands below the plot and says what it shows.
    """

    name: str
    title: str
    offered: Callable[[Page], bool]
    figure: Callable[[Page, pd.DataFrame, Sequence[Known], Look], Figure]
    controls: Callable[[Page], None] | None = None
    words: Callable[[Page, Sequence[Known]], str] | None = None


@dataclass(frozen=True)
class Scene:
    """A picture that moves, in the place of the plot, while presenting as well. `name`: in the address. `title`: on the
    button.

    `show(page)` draws it, its widgets included, once a run of the script; the place around it has a fixed height.
    """

    name: str
    title: str
    offered: Callable[[Page], bool]
    show: Callable[[Page], None]


@dataclass(frozen=True)
class Section:
    """A part of the page below the table. `html(page, what is known of each rung)` is drawn anew with every result;
    `controls(page)`: its widgets, drawn once, above it."""

    name: str
    title: str
    offered: Callable[[Page], bool]
    html: Callable[[Page, Sequence[Known]], str]
    controls: Callable[[Page], None] | None = None
