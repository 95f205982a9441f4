"""The buttons that run: beside the names of the pages, always seen, and the first that the Tab key comes to."""

from __future__ import annotations

import streamlit as st


def toolbar() -> st.delta_generator.DeltaGenerator:
    """Their place. To be made before all else on a page, whenever it is filled: the Tab key goes by that order."""
    return st.container(horizontal=True, key="buttons", vertical_alignment="center")
