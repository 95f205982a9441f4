"""Who works on a sheet: the name that a student typed, which stands in the address, else a number of the browser."""

from __future__ import annotations

import streamlit as st

from engine.sheets.progress import LONGEST
from views.session import presence

NAME = "student"


def field() -> None:
    """Where a student types a name."""
    if st.session_state.get(NAME) is None:
        st.session_state[NAME] = ""
    st.text_input("Your name", key=NAME, max_chars=LONGEST, placeholder="as your lecturer knows you",
                  help="Under this name your progress is kept, and your lecturer sees it.")  # fmt: skip


def owner() -> str:
    """What progress is kept under."""
    typed = "".join(letter if letter.isprintable() else " " for letter in str(st.session_state.get(NAME) or ""))
    name = " ".join(typed.split())[:LONGEST]
    return name or f"browser {presence.session()[:6]}"
