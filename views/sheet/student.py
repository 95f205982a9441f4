"""Who works on a sheet: the account that somebody signed in with; else the name that a student typed, which stands in
the address, else a number of the browser."""

from __future__ import annotations

from hashlib import sha256
from html import escape

import streamlit as st

from engine.sheets.progress import LONGEST
from views.access import visitor
from views.session import presence

NAME = "student"
_MARK = 4  # letters of a browser's name beside the student's


def field() -> None:
    """Where a student types a name."""
    if st.session_state.get(NAME) is None:
        st.session_state[NAME] = ""
    if visitor.account():
        st.html(f'<p class="smallprint">Your progress is kept as {escape(owner())}.</p>')
        return
    # A run that is cut short may never reach the browser: so each says the name, and not only the first.
    st.text_input("Your name", st.session_state[NAME], key=NAME, max_chars=LONGEST,
                  placeholder="as your lecturer knows you",
                  help="Under this name your progress is kept, and your lecturer sees it.")  # fmt: skip


def owner() -> str:
    """What progress is kept under. A name is typed and proves nothing: where students share a key, each browser's is
    its own, so that nobody comes upon another's answers by typing a name."""
    account = visitor.account()
    if account:
        short = f"{account[: LONGEST - 9]} {sha256(account.encode()).hexdigest()[:8]}"
        return account if len(account) <= LONGEST else short
    typed = "".join(letter if letter.isprintable() else " " for letter in str(st.session_state.get(NAME) or ""))
    name, browser = " ".join(typed.split())[:LONGEST], visitor.browser()
    if not name:
        return f"browser {(browser or presence.session())[:6]}"
    return name if browser is None or visitor.rights().sees_students else f"{name} ({browser[:_MARK]})"
