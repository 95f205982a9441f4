"""What the browser tells beside Streamlit's own widgets: keys, Back, the size of its window.

`views/html/browser.js` listens, which `views/server/entry.py` puts into the page; `views/server/keys.py` says which
keys there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

_CONNECT = "export default ({ data, setStateValue }) => window.kernelLadder.connect(data, setStateValue);"
_ACTIONS, _ANSWERED, _ARRIVED = "key actions", "last key answered", "last step back answered"
_PRESENT = "present asked"


def listen() -> None:
    """Connect the server with the browser's script. A page says what its keys do with `on_key`."""
    st.session_state[_ACTIONS] = st.session_state.get(_ACTIONS, {})
    _component()(
        key="keyboard",
        data={"window": window()},
        on_pressed_change=_pressed,
        on_window_change=lambda: None,
        on_popped_change=lambda: None,
        height=0,
    )


@lru_cache(maxsize=1)
def _component() -> Any:
    return st.components.v2.component("kernel_ladder_browser", js=_CONNECT)


def window() -> tuple[int, int]:
    """(width, height) of the browser's window in pixels; 1280 x 720 until they are told."""
    width, height = _told().get("window") or (1280, 720)
    return int(width), int(height)


def gone_back() -> Mapping[str, str]:
    """The address on this page that the browser went back to since the page last `arrived`; empty if it did not."""
    popped = _told().get("popped") or {}
    if popped.get("number", 0) <= st.session_state.get(_ARRIVED, 0):
        return {}
    return dict(parse_qsl(popped["search"].removeprefix("?")))


def arrived() -> None:
    """The page shows what the browser went back to."""
    st.session_state[_ARRIVED] = (_told().get("popped") or {}).get("number", 0)


def on_key(actions: dict[str, Callable[[], None]]) -> None:
    """What the page's keys do: an action's name -> a callback. Where a page says nothing else, P presents the rung."""
    st.session_state[_ACTIONS] = {"present": _ask_present, **actions}


def present_asked() -> bool:
    """Whether P was pressed on a page that has nothing to present of its own."""
    return bool(st.session_state.pop(_PRESENT, False))


def _ask_present() -> None:
    st.session_state[_PRESENT] = True


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
