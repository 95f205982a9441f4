"""What the buttons and keys of the ladder page do. All for callbacks."""

from __future__ import annotations

import streamlit as st

from engine.catalogue import KERNELS
from views.session import work
from views.session.page import WORK, Page


def toggle_presenting(on: bool) -> None:
    """Present, or stop presenting."""
    st.session_state["present"] = "1" if on else ""


def run_rung(page: Page) -> None:
    """Run the rung on the page, anew."""
    work.start(WORK, [page.run], [page.kernel.title], fresh=True)


def run_ladder(page: Page) -> None:
    """Run every rung with these choices, from the bottom to the top."""
    work.start(WORK, page.runs, [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in page.ladder.rungs])
