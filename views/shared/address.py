"""The page's state is its address: a reload or a shared link shows the same page.

Every choice is a widget whose key is also its name in the address. `restore` reads a newly opened address, or one that
Back returned to; `publish` writes the choices into it.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from views.shared import keyboard

# Names in the address. Values stay text until they are used: a wrong one is refused with a sentence.
NAMES = ("ladder", "rung", "n", "block", "grid", "parameter", "dtype", "cache", "combine", "device", "record",
         "show", "below", "present", "reveal", "stage", "theme",
         "topic", "sweep", "kernels", "blocks", "sizes", "knob", "values", "elements", "counter", "value",
         "heat", "look", "schedule", "launch", "b", "warp", "beside", "whole", "partitions", "gpu",
         "a", "start", "draft", "call", "right", "source", "sheet", "student", "follow",
         "text", "file", "launched", "size", "order", "inblock", "inlaunch", "thread", "at", "watch", "lanes",
         "array", "place", "lines", "element")  # fmt: skip
_LISTS = ("kernels", "blocks", "sizes", "values", "elements")
_TOPICAL = ("n", "block", "dtype")
# Left out of the address if they have their default.
OPTIONAL = ("present", "reveal", "stage", "show", "counter", "grid", "parameter", "combine", "record", "heat",
            "look", "schedule", "launch", "b", "warp", "beside", "whole", "partitions", "gpu", "student",
            "follow", "at", "watch", "lanes", "array", "place", "lines", "element")  # fmt: skip
QUIET = ("at", "reveal", "stage", "theme")  # a change of these alone is no step that Back would undo
_RENAMED = {("compare", "b"): "other"}  # a name that another page uses: (page, name) -> its name in the session
_KEPT, _PAGE, _TOPIC, _GIVEN = "choices kept", "page shown", "topic shown", "names in the address"
_OPENED, _LED = "page opened", "led to"
_PARAMETER, _PARAMETERS = "parameter shown", "parameters kept"


def restore(page: str) -> None:
    """Take over the address of a page that was just opened, or that Back returned to.

    Otherwise the address is our own, or a stale one sent with a click, and is ignored. A taken-over address counts as
    answered once the page publishes it, as a run of the script may be cut short.
    """
    asked = keyboard.gone_back() or st.session_state.get(_LED, {})
    if st.session_state.get(_OPENED) != page:
        st.session_state.pop(_OPENED, None)
        # A reader who goes back again while the page still opens wants the later address.
        asked = asked or st.query_params.to_dict()
    for name in NAMES:
        key = _RENAMED.get((page, name), name)
        if asked and name in OPTIONAL and name not in asked:
            forget(key)
        if name in asked:
            st.session_state[key] = asked[name].split(",") if name in _LISTS else asked[name]
    st.session_state[_GIVEN] = tuple(asked)


def lead(address: Mapping[str, str]) -> None:
    """Open an address of this page as if the browser had gone back to it. For callbacks."""
    st.session_state[_LED] = dict(address)


def recall(page: str) -> None:
    """Restore the choices of another page, as Streamlit keeps widgets per page, and those from before presenting, as
    Streamlit forgets a widget that is not shown."""
    another = st.session_state.get(_PAGE) != page
    for name, value in _kept("").items():
        if another or name not in st.session_state:
            st.session_state[name] = value
    st.session_state[_PAGE] = page


def shown() -> str | None:
    """Return the path of the last shown page; None before the first."""
    return st.session_state.get(_PAGE)


def recall_for(topic: str, defaults: Mapping[str, str]) -> None:
    """Restore N, block size and type, which are kept per topic; `defaults` before the first choice."""
    here = (st.session_state[_PAGE], topic)
    another = st.session_state.get(_TOPIC) != here
    for name, default in defaults.items():
        given = name in st.session_state[_GIVEN]
        if name not in st.session_state or (another and not given):
            st.session_state[name] = _kept(topic).get(name, default)
    st.session_state[_TOPIC] = here


def recall_parameter(name: str | None) -> None:
    """Restore the parameter, which is kept per parameter name. None: the rung has no parameter."""
    another = st.session_state.get(_PARAMETER) != name
    given = "parameter" in st.session_state[_GIVEN]
    if "parameter" not in st.session_state or (another and not given):
        st.session_state["parameter"] = st.session_state.setdefault(_PARAMETERS, {}).get(name, "")
    st.session_state[_PARAMETER] = name


def forget_parameters() -> None:
    """Reset every parameter to its default. For callbacks."""
    forget("parameter")
    st.session_state[_PARAMETERS] = {}


def keep(topic: str, values: Mapping[str, str]) -> None:
    """Store these choices for a topic. For callbacks."""
    _kept(topic).update(values)
    st.session_state.update(values)


def forget(*names: str) -> None:
    """Reset these choices to their defaults. For callbacks."""
    for name in names:
        st.session_state.pop(name, None)
        _kept("").pop(name, None)


def given(*names: str) -> bool:
    """Return whether the address that was just opened has all of these names."""
    return set(names) <= set(st.session_state[_GIVEN])


def _kept(topic: str) -> dict[str, object]:
    return st.session_state.setdefault(_KEPT, {}).setdefault(topic, {})


def publish(topic: str, values: Mapping[str, object]) -> None:
    """Write the page's choices and the theme into the address, without None and ""."""
    theme = st.session_state.get("theme")
    values = {**values, "theme": theme if theme in keyboard.THEMES else None}
    address = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in values.items()
        if value not in (None, "", [], ())
    }
    asked = st.query_params.to_dict()
    if asked != address:
        st.query_params.from_dict(address)
    st.session_state[_OPENED] = st.session_state[_PAGE]
    keyboard.arrived()
    st.session_state.pop(_LED, None)
    now, everywhere, own = st.session_state.to_dict(), _kept(""), _kept(topic)
    for name in NAMES:
        if name == "parameter":
            if name in now and now.get(_PARAMETER):
                st.session_state.setdefault(_PARAMETERS, {})[now[_PARAMETER]] = now[name]
        elif name in now:
            (own if name in _TOPICAL else everywhere)[name] = now[name]
