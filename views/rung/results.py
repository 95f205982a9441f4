"""What is drawn anew with each result: the numbers of the rung, and what came of its run."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.history.history import Known
from views.html import rung_html, when
from views.session.page import Page


def numbers(page: Page, frame: pd.DataFrame, facts: list[Known]) -> str:
    """The big numbers of the rung on the page."""
    known = facts[page.position]
    ran = when.ran(str(known.live.environment.get("utc") or ""), st.context.timezone) if known.live else ""
    return rung_html.numbers(frame.to_dict("records")[page.position], known, page.choice, page.run, ran)
