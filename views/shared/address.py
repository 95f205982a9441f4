"""The page's state is its address: a reload or a shared link shows the same page.

Every choice is a widget whose key is also the name in the address. `restore` reads an address that somebody opened
(or went back to); `publish` writes the choices into it.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from views.shared import keyboard

# What may stand in the address. Values stay text until they are used: a wrong one is answered with a sentence.
NAMES = ("ladder", "rung", "n", "block", "grid", "parameter", "dtype", "cache", "combine", "device", "show", "below",
         "present",
         "topic", "sweep", "kernels", "blocks", "sizes", "knob", "values", "elements", "counter", "value",
         "heat", "look", "schedule", "launch", "b", "warp", "beside", "partitions", "gpu",
         "start", "draft", "call", "right", "source", "sheet", "student", "follow")  # fmt: skip
_LISTS = ("kernels", "blocks", "sizes", "values", "elements")
_TOPICAL = ("n", "block", "dtype")
# Left out of the address when plain.
OPTIONAL = ("present", "show", "counter", "grid", "parameter", "combine", "heat", "look", "schedule", "launch",
            "b", "warp", "beside", "partitions", "gpu", "student", "follow")  # fmt: skip
_KEPT, _PAGE, _TOPIC, _GIVEN = "choices kept", "page shown", "topic shown", "names in the address"
_OPENED, _LED = "page opened", "led to"
_KNOB, _KNOBS = "knob shown", "knobs kept"


def restore(page: str) -> None:
    """Take over what the address says: where a page is opened, and where the browser went back to.

    Between the two, what an address says is what this page wrote there, or an older one that a click still carries.
    What is taken over counts as answered when the page publishes it: a run of the script may be cut short.
    """
    asked = keyboard.gone_back() or st.session_state.get(_LED, {})
    if st.session_state.get(_OPENED) != page:
        st.session_state.pop(_OPENED, None)
        # Whoever goes back again while the page is still being opened wants the later address.
        asked = asked or st.query_params.to_dict()
    for name in NAMES:
        if asked and name in OPTIONAL and name not in asked:
            forget(name)
        if name in asked:
            st.session_state[name] = asked[name].split(",") if name in _LISTS else asked[name]
    st.session_state[_GIVEN] = tuple(asked)


def lead(address: Mapping[str, str]) -> None:
    """Let this page go to an address of its own, as if the browser went back to it. For callbacks."""
    st.session_state[_LED] = dict(address)


def recall(page: str) -> None:
    """Bring along what was chosen on another page: to Streamlit, a widget of this page is another one.

    And what was chosen before presenting: while a widget is not shown, Streamlit forgets it.
    """
    another = st.session_state.get(_PAGE) != page
    for name, value in _kept("").items():
        if another or name not in st.session_state:
            st.session_state[name] = value
    st.session_state[_PAGE] = page


def shown() -> str | None:
    """The address of the page that was shown last; None before the first."""
    return st.session_state.get(_PAGE)


def recall_for(topic: str, defaults: Mapping[str, str]) -> None:
    """The same for N, block size and type, which each topic has its own of; `defaults` where nothing was chosen yet."""
    here = (st.session_state[_PAGE], topic)
    another = st.session_state.get(_TOPIC) != here
    for name, default in defaults.items():
        given = name in st.session_state[_GIVEN]
        if name not in st.session_state or (another and not given):
            st.session_state[name] = _kept(topic).get(name, default)
    st.session_state[_TOPIC] = here


def recall_knob(name: str | None) -> None:
    """The same for "parameter": it belongs to the knob of that name, and each knob keeps a value of its own.

    None: the rung on the page has no knob.
    """
    another = st.session_state.get(_KNOB) != name
    given = "parameter" in st.session_state[_GIVEN]
    if "parameter" not in st.session_state or (another and not given):
        st.session_state["parameter"] = st.session_state.setdefault(_KNOBS, {}).get(name, "")
    st.session_state[_KNOB] = name


def forget_knobs() -> None:
    """Every knob goes back to its default. For callbacks."""
    forget("parameter")
    st.session_state[_KNOBS] = {}


def keep(topic: str, values: Mapping[str, str]) -> None:
    """Choose these for a topic. For callbacks."""
    _kept(topic).update(values)
    st.session_state.update(values)


def forget(*names: str) -> None:
    """Let these choices go back to their defaults. For callbacks."""
    for name in names:
        st.session_state.pop(name, None)
        _kept("").pop(name, None)


def given(*names: str) -> bool:
    """Whether the address that was just opened says all of these."""
    return set(names) <= set(st.session_state[_GIVEN])


def _kept(topic: str) -> dict[str, object]:
    return st.session_state.setdefault(_KEPT, {}).setdefault(topic, {})


def publish(topic: str, values: Mapping[str, object]) -> None:
    """Write the page's choices into the address; None and "" are left out."""
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
            if name in now and now.get(_KNOB):
                st.session_state.setdefault(_KNOBS, {})[now[_KNOB]] = now[name]
        elif name in now:
            (own if name in _TOPICAL else everywhere)[name] = now[name]
