"""Sentences that stay on a page although its script runs again."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from views.shared import address, messages

_KEPT = "shown instead"


def shown_instead(
    menu: str, now: object, said: str = "", moved: bool = False, place: messages.Place | None = None
) -> None:
    """Show why a menu has the value `now` and not the one of the address, until the reader chooses another value.

    `said`: the sentence, in the run of the script that replaced the value; "" in the later ones. `moved`: the address
    was right once.
    """
    kept: dict[str, tuple[object, str, bool]] = st.session_state.setdefault(_KEPT, {})
    if said:
        kept[menu] = now, said, moved
    value, sentence, moved = kept.get(menu, (None, "", False))
    if value != now:
        kept.pop(menu, None)
    elif sentence:
        (messages.info if moved else messages.error)(sentence, place)


def replace_unknown(
    name: str, what: str, known: Mapping[str, str], otherwise: str, place: messages.Place | None = None
) -> str:
    """Replace a value that is not known here, and say so if the address has it; return the value, or `otherwise`.

    `what`: the kind of value, in the sentence; `known`: the words of each value; `otherwise`: a value, or "" if the
    page chooses one itself.
    """
    asked, said = st.session_state.get(name), ""
    if asked not in known:
        if asked and address.given(name):
            said = f"There is no {what} {asked!r} here. Shown instead: {known.get(otherwise) or 'the usual one'}."
        if otherwise:
            st.session_state[name] = otherwise
        else:
            address.forget(name)
    now = st.session_state.get(name)
    shown_instead(name, now, said, place=place)
    return str(now or otherwise)
