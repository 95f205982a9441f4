"""Messages from the browser beside Streamlit's own widgets: keys, Back, the size of its window.

`views/html/browser.js` sends them; `views/server/entry.py` puts it into the page; `views/server/keys.py` lists the
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

_CONNECT = "export default ({ data, setStateValue }) => window.kernelLadder.connect(data, setStateValue);"
_ACTIONS, _ANSWERED, _ARRIVED = "key actions", "last key answered", "last step back answered"
_HEARD = "keys and steps back at the last run"
_PRESENT = "present asked"
THEMES = ("system", "light", "dark")


def listen() -> None:
    """Connect the server with the browser's script. A page assigns its keys with `on_key`."""
    st.session_state[_ACTIONS] = st.session_state.get(_ACTIONS, {})
    _component()(
        key="keyboard",
        data={"window": window()},
        on_pressed_change=_pressed,
        on_window_change=lambda: None,
        on_popped_change=lambda: None,
        height=0,
    )
    st.session_state[_HEARD] = _keys_and_back()


def has_spoken() -> bool:
    """Return whether this run answers a key or Back. For callbacks: the menus in the same message may still have the
    values of the page before."""
    return _keys_and_back() != st.session_state.get(_HEARD, (None, None))


def _keys_and_back() -> tuple[Any, Any]:
    return _told().get("pressed"), _told().get("popped")


@lru_cache(maxsize=1)
def _component() -> Any:
    return st.components.v2.component("kernel_ladder_browser", js=_CONNECT)


def window() -> tuple[int, int]:
    """Return (width, height) of the browser's window in pixels; 1280 x 720 until the browser has sent them."""
    width, height = _told().get("window") or (1280, 720)
    return int(width), int(height)


def gone_back() -> Mapping[str, str] | None:
    """Return the address on this page that the browser went back to since `arrived`; None if it did not."""
    popped = _told().get("popped") or {}
    if popped.get("number", 0) <= st.session_state.get(_ARRIVED, 0):
        return None
    return dict(parse_qsl(popped["search"].removeprefix("?")))


def arrived() -> None:
    """Mark the address that the browser went back to as shown."""
    st.session_state[_ARRIVED] = (_told().get("popped") or {}).get("number", 0)


def on_key(actions: dict[str, Callable[[], None]]) -> None:
    """Assign the page's keys: the name of an action -> a callback. Unless the page assigns P, it presents the rung. D
    tells every page the browser's new theme, for the address."""
    st.session_state[_ACTIONS] = {"present": _ask_present, **{f"theme {name}": _take_theme(name) for name in THEMES},
                                  **actions}  # fmt: skip


def present_asked() -> bool:
    """Return whether P was pressed on a page that assigns no callback to it."""
    return bool(st.session_state.pop(_PRESENT, False))


def _ask_present() -> None:
    st.session_state[_PRESENT] = True


def _take_theme(name: str) -> Callable[[], None]:
    def take() -> None:
        st.session_state["theme"] = "" if name == "system" else name

    return take


def _told() -> Mapping[str, Any]:
    return st.session_state.get("keyboard") or {}


def _pressed() -> None:
    for key in _told().get("pressed") or []:
        if key["number"] <= st.session_state.get(_ANSWERED, 0):
            continue
        st.session_state[_ANSWERED] = key["number"]
        action = st.session_state.get(_ACTIONS, {}).get(key["name"])
        if action:
            action()
