"""Sentences that stay on a page although its script runs again."""

from __future__ import annotations

import streamlit as st

from views.shared import messages

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
