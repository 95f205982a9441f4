"""The buttons that run, and what the buttons and keys of the ladder page do."""

from __future__ import annotations

import streamlit as st

from engine.catalogue import KERNELS
from views.session import work
from views.session.page import WORK, Page


def toggle_presenting(on: bool) -> None:
    """Present, or stop presenting. For callbacks, as all that runs."""
    st.session_state["present"] = "1" if on else ""


def run_rung(page: Page) -> None:
    """Run the rung on the page, anew."""
    work.start(WORK, [page.run], [page.kernel.title], fresh=True)


def run_ladder(page: Page) -> None:
    """Run every rung with these choices, from the bottom to the top."""
    work.start(WORK, page.runs, [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in page.ladder.rungs])


def run_buttons(page: Page) -> None:
    """Run, and run the ladder: the same in the page and in the hall."""
    st.button("Run", key="run", type="primary", icon=":material/play_arrow:", on_click=run_rung, args=(page,),
              help="Check this rung's answer, then measure it (R)")  # fmt: skip
    st.button("Run the ladder", key="run_ladder", icon=":material/stairs:", on_click=run_ladder, args=(page,),
              help="Every rung with these choices, one after the other (L)")  # fmt: skip
