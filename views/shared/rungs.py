"""The menus of ladder and rung, with the same names in the address on every page that shows a rung."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape

import streamlit as st

from engine.catalogue import LADDERS, TOPICS, Ladder
from views.shared import address, presentation
from views.shared.menus import AUTO
from views.shared.messages import shown_instead

MENU = 396  # pixels of the ladder menu: the longest title
MOST_LABELS = 14  # with more rungs the buttons show numbers; labels would push the page down


def names(ladder: Ladder) -> list[str]:
    """Return the rungs' names in the address: the kernel, with its way of combining if the ladder has the
    kernel twice."""
    kernels = [rung.kernel for rung in ladder.rungs]
    return [
        rung.kernel if kernels.count(rung.kernel) == 1 else f"{rung.kernel}.{rung.combine or i}"
        for i, rung in enumerate(ladder.rungs, 1)
    ]


def chosen() -> Ladder:
    """Return the ladder of the address or the menu, and set its rung; an unknown name is reported and the first one
    shown.

    An old address of a rung that has moved to another ladder opens that ladder, with a message.
    """
    name, rung = st.session_state.get("ladder"), st.session_state.get("rung")
    no_ladder, no_rung, moved = "", "", False
    if name not in LADDERS:
        if name:
            no_ladder = f"There is no ladder {name!r} in this catalogue. Shown instead: the first one."
        st.session_state["ladder"] = next((n for n, it in LADDERS.items() if rung in names(it)), next(iter(LADDERS)))
    ladder = LADDERS[st.session_state["ladder"]]
    elsewhere = next((one for one in LADDERS.values() if rung in names(one)), None)
    if elsewhere and rung not in names(ladder) and address.given("ladder", "rung"):
        no_rung = f"{rung} is no rung of {ladder.title!r}. Shown instead: the ladder that has it."
        moved = True
        st.session_state["ladder"], ladder = elsewhere.name, elsewhere
    elif rung not in names(ladder):
        if rung:
            no_rung = f"There is no rung {rung!r} on this ladder. Shown instead: the first one."
        st.session_state["rung"] = names(ladder)[0]
    shown_instead("ladder", ladder.name, no_ladder)
    shown_instead("rung", st.session_state["rung"], no_rung, moved)
    return ladder


def step(ladder: Ladder, by: int) -> None:
    """Step `by` rungs; the ends of the ladder hold. For callbacks."""
    every = names(ladder)
    at = every.index(st.session_state["rung"]) + by
    st.session_state["rung"] = every[min(max(at, 0), len(every) - 1)]


def stepping(ladder: Ladder) -> dict[str, Callable[[], None]]:
    """Return the callbacks of the keys that step, on every page that shows a rung."""
    return {
        "previous": lambda: step(ladder, -1),
        "next": lambda: step(ladder, 1),
        "first": lambda: step(ladder, -len(ladder.rungs)),
        "last": lambda: step(ladder, len(ladder.rungs)),
        **{f"rung {i}": partial(_take_rung, name) for i, name in enumerate(names(ladder))},
    }


def own_choices(ladder: Ladder) -> dict[str, str]:
    """Return the lecture's own N, block size and type."""
    return {"n": str(ladder.n), "block": str(ladder.block_size), "dtype": ladder.dtype}


def by_subject() -> list[str]:
    """Return the names of all ladders, those of one topic together."""
    return [name for topic in TOPICS for name, ladder in LADDERS.items() if ladder.topic == topic]


def pickers(ladder: Ladder) -> int:
    """Show the menus for the ladder and the rung; return the rung's position."""
    every = names(ladder)
    position = every.index(st.session_state["rung"])
    row = st.container(horizontal=True, vertical_alignment="center", key="pickers")
    row.selectbox("Ladder", by_subject(), by_subject().index(ladder.name), key="ladder", width=MENU,
                  format_func=lambda name: LADDERS[name].title, on_change=_take_ladder,
                  label_visibility="collapsed")  # fmt: skip
    # Buttons instead of a menu: with two quick key presses the browser would send the menu's old value along.
    with row.container(horizontal=True, vertical_alignment="center", key="stepper", gap="xsmall"):
        # The arrows come first, so they stay in place however many lines the rungs take.
        st.button("←", key="previous", on_click=step, args=(ladder, -1), disabled=position == 0,
                  help="Previous rung (arrow left)")  # fmt: skip
        st.button("→", key="next", on_click=step, args=(ladder, 1), disabled=position == len(every) - 1,
                  help="Next rung (arrow right)")  # fmt: skip
        st.html(_buttons(ladder))
        # In a container of its own, so the buttons stay and keep the focus.
        st.html(f'<i class="at" data-rung="{position}"></i>{presentation.mark()}')
    return position


def _buttons(ladder: Ladder) -> str:
    """Return a button for each rung as one piece of HTML, at a tenth of the cost of Streamlit's buttons. The browser
    sends a pressed button like a key, and `views/html/browser.js` marks the rung on the page."""
    buttons = []
    for i, (rung, label) in enumerate(zip(ladder.rungs, labels(ladder), strict=True)):
        whole = f' title="{escape(rung.label)}"' if label != rung.label else ""
        buttons.append(f'<button type="button" data-press="rung {i}"{whole}>{escape(label)}</button>')
    return f'<div class="rungs">{"".join(buttons)}</div>'


def labels(ladder: Ladder) -> list[str]:
    """Return the labels of the rungs' buttons; for many rungs, their numbers."""
    many = len(ladder.rungs) > MOST_LABELS
    return [str(i) if many else rung.label for i, rung in enumerate(ladder.rungs, 1)]


def _take_ladder() -> None:
    """Open the ladder of the menu: its first rung, its own plot, and the lecture's own N, block size and type."""
    ladder = LADDERS[st.session_state["ladder"]]
    st.session_state.update(rung=names(ladder)[0], combine=AUTO, grid=AUTO)
    address.forget("show", "counter", "reveal", "stage")
    address.forget_parameters()
    address.keep(ladder.topic, own_choices(ladder))


def _take_rung(name: str) -> None:
    st.session_state["rung"] = name
