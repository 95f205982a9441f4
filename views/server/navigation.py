"""The pages of the dashboard, its icon, and the buttons beside the names of the pages."""

from __future__ import annotations

from base64 import b64encode
from copy import copy
from functools import lru_cache
from pathlib import Path

import streamlit as st

_ICON = Path(__file__).parents[1] / "html" / "icon.svg"


@lru_cache(maxsize=1)
def icon() -> str:
    """Return the dashboard's icon as a data address."""
    return f"data:image/svg+xml;base64,{b64encode(_ICON.read_bytes()).decode()}"


def pages() -> list[st.Page]:
    """Return the pages, the ladder first, for one run of the script: Streamlit notes in each whether it may be
    drawn."""
    return [copy(page) for page in _pages()]


@lru_cache(maxsize=1)  # st.Page looks at its file
def _pages() -> tuple[st.Page, ...]:
    return (
        st.Page("views/ladder/page.py", title="Ladder", icon=":material/stairs:", url_path="ladder", default=True),
        st.Page("views/sweep/page.py", title="Sweep", icon=":material/grid_on:", url_path="sweep"),
        st.Page("views/inside/page.py", title="Inside", icon=":material/frame_inspect:", url_path="inside"),
        st.Page("views/lab/page.py", title="Lab", icon=":material/edit:", url_path="lab"),
        st.Page("views/sheets/page.py", title="Sheets", icon=":material/checklist:", url_path="sheets"),
        st.Page("views/debugger/page.py", title="Step through", icon=":material/step_over:", url_path="debugger",
                visibility="hidden"),  # the lab leads to it
        st.Page("views/compare/page.py", title="Compare", icon=":material/compare_arrows:", url_path="compare",
                visibility="hidden"),  # the ladder leads to it
        st.Page("views/terms/page.py", title="Terms", icon=":material/dictionary:", url_path="terms",
                visibility="hidden"),  # the cards of the terms lead to it
        st.Page("views/machine/page.py", title="This machine", icon=":material/memory:", url_path="machine"),
    )  # fmt: skip


def toolbar() -> st.delta_generator.DeltaGenerator:
    """Return the place of the buttons that run. A page makes it first, because the Tab key follows the order of the
    elements."""
    return st.container(horizontal=True, key="buttons", vertical_alignment="center")
