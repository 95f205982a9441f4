"""The page's state is its address: a reload or a shared link shows the same page.

Every choice is a widget whose key is also the name in the address. `restore` reads an address that somebody opened
(or went back to); `publish` writes the choices into it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import streamlit as st

# What may stand in the address. Values stay text until they are used: a wrong one is answered with a sentence.
NAMES = ("ladder", "rung", "n", "block", "grid", "dtype", "cache", "combine", "device", "show", "present",
         "topic", "sweep", "kernels", "blocks", "sizes", "counter", "value")  # fmt: skip
_LISTS = ("kernels", "blocks", "sizes")
_OPTIONAL = ("present", "grid", "combine")  # left out of the address when they say nothing
_SENT, _IN_FLIGHT_S = "addresses sent", 2.0
_KEPT, _PAGE = "choices kept", "page shown"


def restore() -> None:
    """Take over what the address says, if it is not what this page itself wrote there."""
    asked = st.query_params.to_dict()
    sent: dict[str, float] = st.session_state.setdefault(_SENT, {})
    when = sent.get(_text(asked))
    newest = max(sent, key=sent.__getitem__, default=None)
    # A click that crosses an address on its way to the browser still carries the one before: that is no wish.
    if when is not None and (_text(asked) == newest or time.monotonic() - when < _IN_FLIGHT_S):
        return
    for name in NAMES:
        if asked and name in _OPTIONAL and name not in asked:
            forget(name)
        if name in asked:
            st.session_state[name] = asked[name].split(",") if name in _LISTS else asked[name]


def recall(page: str) -> None:
    """Bring along what was chosen on another page: to Streamlit, a widget of this page is another one.

    And what was chosen before presenting: while a widget is not shown, Streamlit forgets it.
    """
    another = st.session_state.get(_PAGE) != page
    for name, value in st.session_state.get(_KEPT, {}).items():
        if another or name not in st.session_state:
            st.session_state[name] = value
    st.session_state[_PAGE] = page


def forget(*names: str) -> None:
    """Let these choices go back to their defaults. For callbacks."""
    for name in names:
        st.session_state.pop(name, None)
        st.session_state.get(_KEPT, {}).pop(name, None)


def publish(values: Mapping[str, object]) -> None:
    """Write the page's choices into the address; None and "" are left out."""
    address = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in values.items()
        if value not in (None, "", [], ())
    }
    if st.query_params.to_dict() != address:
        st.query_params.from_dict(address)
    here = {name: st.session_state[name] for name in NAMES if name in st.session_state}
    st.session_state[_KEPT] = {**st.session_state.get(_KEPT, {}), **here}
    now = time.monotonic()
    sent = {text: when for text, when in st.session_state[_SENT].items() if now - when < _IN_FLIGHT_S}
    st.session_state[_SENT] = {**sent, _text(address): now}


def _text(address: Mapping[str, str]) -> str:
    return repr(sorted(address.items()))
