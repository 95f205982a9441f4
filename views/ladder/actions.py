"""The buttons that run, and the callbacks of the buttons and keys of the ladder page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import streamlit as st

from engine.catalogue import KERNELS
from engine.records.counters import IN_PLOTS
from views.access import visitor
from views.ladder import handout, reveal
from views.ladder.panels import bars, change, motion
from views.ladder.view import WORK, Page, Scene
from views.picture import component
from views.room import question
from views.shared import address, menus, presence, presentation, work

ORDERS = menus.SCHEDULES[:4]  # the lockstep of a warp, and three independent orders


def toggle_presenting(on: bool) -> None:
    """Start or stop presenting. For callbacks."""
    if not on and work.is_presenting() and presentation.may_be_ended_by(presence.session()):
        presentation.end()
        handout.end()
    question.forget()
    reveal.forget()
    st.session_state["present"] = "1" if on else ""


def follow() -> None:
    """Follow the presentation. For callbacks."""
    found = presentation.now()
    if found is not None:
        address.lead({**found.choices, "follow": "1"})


def stop_following() -> None:
    """Stay on this page instead of following. For callbacks."""
    address.forget("follow")


def follow_button() -> None:
    """Show the button to follow, while somebody presents."""
    if presentation.is_followed():
        st.button("Following", key="follow_off", icon=":material/sensors:", type="primary", on_click=stop_following,
                  help="This page follows the presentation. Press to stop.")  # fmt: skip
    elif not visitor.rights().goes_first and (found := presentation.now()) and found.going:
        st.button("Follow", key="follow_on", icon=":material/sensors:", on_click=follow,
                  help="Follow the presentation with this page")  # fmt: skip


def run_rung(page: Page) -> None:
    """Run the rung on the page, and measure it anew. On a slide, show its numbers; the comparison with the rung before
    also needs the counts of that rung."""
    asked = [page.position]
    if page.presenting:
        if page.covered:
            reveal.uncover(page.ladder)
        if page.counting and page.plot is change.PICTURE and page.position and not change.counted_before(page):
            asked.insert(0, page.position - 1)
    names = [KERNELS[page.ladder.rungs[at].kernel].title for at in asked]
    work.start(WORK, [page.runs[at] for at in asked], names, fresh=True)


def run_ladder(page: Page) -> None:
    """Run every rung with these choices, from the first to the last."""
    work.start(WORK, page.runs, [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in page.ladder.rungs])


def choosing(page: Page) -> dict[str, Callable[[], None]]:
    """Return the callbacks of the keys that choose a plot, a counter, the order of execution, or two rungs."""
    names = list(page.plots)
    after = names[(names.index(page.plot.name) + 1) % len(names)]
    return {
        **{f"plot {i}": partial(show_plot, name) for i, name in enumerate(names, 1)},
        "next plot": partial(show_plot, after),
        "counter": partial(next_counter, page),
        "order": next_order,
        "beside": partial(turn_beside, page),
    }


def show_plot(name: str) -> None:
    """Show a plot. For callbacks."""
    address.forget(reveal.STAGE)
    st.session_state["show"] = name


def next_counter(page: Page) -> None:
    """Show the next counter in the plot; if the plot is of no counter, the rung's own. For callbacks."""
    if page.plot.name not in (bars.COUNTERS, change.PICTURE.name):
        show_plot(change.PICTURE.name if change.PICTURE.name in page.plots else bars.COUNTERS)
        return
    every = list(IN_PLOTS)
    now = bars.counter_shown(page) if page.plot.name == bars.COUNTERS else change.shown(page)
    st.session_state["counter"] = every[(every.index(now) + 1) % len(every)] if now in every else every[0]


def next_order() -> None:
    """Choose the next order of execution. For callbacks."""
    now = str(st.session_state.get("schedule") or menus.LOCKSTEP)
    st.session_state["schedule"] = ORDERS[(ORDERS.index(now) + 1) % len(ORDERS)] if now in ORDERS else ORDERS[0]


def turn_beside(page: Page) -> None:
    """Show the block in motion beside that of the rung before, or alone again. For callbacks."""
    moving, beside = isinstance(page.plot, Scene), component.beside()
    address.forget(component.BESIDE)
    if not moving and motion.is_drawn(page.kernel):
        reveal.show_picture() if page.presenting else show_plot(motion.SCENE.name)
    if page.position and not (moving and beside):
        address.keep("", {component.BESIDE: "1"})


def run_buttons(page: Page) -> None:
    """Show Run and Run the ladder, which page and slide share."""
    kind: Literal["primary", "secondary"] = "secondary" if presentation.is_followed() else "primary"
    st.button("Run", key="run", type=kind, icon=":material/play_arrow:", on_click=run_rung, args=(page,),
              help="Check this rung's answer, then measure it (R)")  # fmt: skip
    st.button("Run the ladder", key="run_ladder", icon=":material/stairs:", on_click=run_ladder, args=(page,),
              help="Every rung with these choices, one after the other (L)")  # fmt: skip
