"""The buttons that run, and the callbacks of the buttons and keys of the ladder page."""

from __future__ import annotations

import streamlit as st

from engine.catalogue import KERNELS
from views.access import visitor
from views.ladder.view import WORK, Page
from views.shared import address, presentation, work


def toggle_presenting(on: bool) -> None:
    """Start or stop presenting. For callbacks."""
    if not on and work.is_presenting():
        presentation.end()
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
    """Run the rung on the page, and measure it anew."""
    work.start(WORK, [page.run], [page.kernel.title], fresh=True)


def run_ladder(page: Page) -> None:
    """Run every rung with these choices, from the first to the last."""
    work.start(WORK, page.runs, [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in page.ladder.rungs])


def run_buttons(page: Page) -> None:
    """Show Run and Run the ladder, which page and slide share."""
    st.button("Run", key="run", type="primary", icon=":material/play_arrow:", on_click=run_rung, args=(page,),
              help="Check this rung's answer, then measure it (R)")  # fmt: skip
    st.button("Run the ladder", key="run_ladder", icon=":material/stairs:", on_click=run_ladder, args=(page,),
              help="Every rung with these choices, one after the other (L)")  # fmt: skip
