"""The menu of sheets, with how far its reader is in each."""

from __future__ import annotations

import streamlit as st

from engine.sheets import progress
from engine.sheets.folder import load, names, titles
from engine.sheets.sheet import Sheet
from views.sheet import student

_BETWEEN = " · "  # a title and what follows it
_DONE = f"{_BETWEEN}done ✓"
_SHOWN = "labels of sheets"


def chosen() -> Sheet:
    """The sheet that is chosen; the address's, if there is one of that name."""
    listed = names()
    labels = st.session_state[_SHOWN] = _labels()
    now = str(st.session_state.get("sheet") or "")
    # A browser knows a choice by its label, which may have been another one when it was made.
    now = next((name for name, title in titles().items() if now.split(_BETWEEN)[0] == title), now)
    if now not in listed:
        if now:
            st.error(f"There is no sheet {now!r}. Shown instead: {listed[0]}.")
        now = listed[0]
    st.session_state["sheet"] = now  # and so the browser gets its label anew
    done = sum(label.endswith(_DONE) for label in labels.values())
    st.selectbox(f"Lab sheet ({done} of {len(listed)} done)" if done else "Lab sheet", listed, listed.index(now),
                 key="sheet", format_func=lambda name: labels.get(name, name))  # fmt: skip
    return load(now)


def is_old() -> bool:
    """Whether it says less than is known by now, as a check has ended."""
    return bool(st.session_state.get(_SHOWN) != _labels())


def _labels() -> dict[str, str]:
    """The titles; of a sheet that was begun, with how many of its checks are passed."""
    begun = progress.of_all(student.owner(), load, names())
    far = {
        sheet.name: _DONE if known.done(sheet) else f"{_BETWEEN}{known.passed} of {len(sheet.checks)}"
        for sheet, known in begun.items()
    }
    return {name: title + far.get(name, "") for name, title in titles().items()}
