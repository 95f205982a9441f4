"""The page at the bare address: what the program is, a question, a moving picture, and every ladder by subject."""

from __future__ import annotations

from functools import lru_cache, partial
from html import escape

import streamlit as st

from engine.catalogue import LADDERS, TOPICS
from engine.history.history import device_line
from engine.records.words import text_of
from engine.service import service
from views.ladder.panels import motion
from views.ladder.resolve import USUAL, page_of
from views.ladder.view import Page, facts_of
from views.picture import component
from views.shared import address, keyboard, rungs
from views.shared.menus import LOCKSTEP

FIRST = next(iter(LADDERS.values()))
COMPARED = 1  # the rung whose block moves beside that of the rung before
PICTURE = 0.64  # height, as a part of the window's


def asked() -> bool:
    """Return whether the reader has chosen nothing yet, neither in the address nor on another page, or went back to
    that moment."""
    if keyboard.gone_back() == {}:
        address.forget("ladder", "rung", "present")
        return True
    return not st.query_params and not any(st.session_state.get(name) for name in ("ladder", "rung", "present"))


def show() -> None:
    """Draw the page; its button, its keys and the names of the ladders lead on."""
    address.publish("", {})
    begin = partial(_open, FIRST.name, COMPARED)
    keyboard.on_key({"next": begin, "present": _present,
                     **{f"ladder {name}": partial(_open, name, 0) for name in LADDERS}})  # fmt: skip
    page = compared()
    left, right = st.columns(2, gap="large")
    with left:
        st.html(_words())
        st.button("Next rung", key="begin", type="primary", icon=":material/arrow_forward:", on_click=begin,
                  help="The second kernel, with its changed lines (arrow right)")  # fmt: skip
    with right:
        st.html(question(page))
    high = component.room(round(PICTURE * keyboard.window()[1]), both=True)
    with st.container(key="drawing", height=high, border=False):
        motion.show_block(page, beside=True, choosable=False)
    st.html(subjects())


def compared() -> Page:
    """Return the page of the compared rung with the lecture's own choices."""
    chosen = rungs.own_choices(FIRST) | USUAL
    return page_of(FIRST.name, COMPARED, tuple(chosen.items()), LOCKSTEP, False, len(FIRST.rungs), "motion",
                   service.gpus())  # fmt: skip


def _words() -> str:
    return (
        '<header class="opening"><h1>Kernel Ladder</h1><p>Step through the famous lectures on faster CUDA kernels. '
        "Each rung of a ladder is one kernel: read the lines that changed, run it here, and see what they gain.</p>"
        "</header>"
    )


def question(page: Page) -> str:
    """Return the question of the ladder, with its largest known speedup and the GPU that was timed."""
    ladder, facts = page.ladder, facts_of(page)
    gains = [(row["cumulative"], fact.timed) for row, fact in zip(facts.rows, facts.known, strict=True)]
    gain, timed = max(((gain, run) for gain, run in gains if gain and run), key=lambda it: it[0], default=(0, None))
    fastest = ""
    if timed is not None:
        times = text_of("cumulative", gain)
        fastest = f" The fastest is <b>{times}</b> as fast as the first ({escape(device_line(timed))})."
    return (
        f'<div class="question"><h2>{escape(ladder.title)}</h2><p>{len(ladder.rungs)} kernels compute the same result '
        f"from {ladder.n:,} numbers.{fastest} Which lines make the difference? "
        f"{escape(ladder.rungs[page.position].label)} beside {escape(ladder.rungs[page.position - 1].label)}: "
        f"{escape(page.rung.lead or '')}</p></div>"
    )


@lru_cache(maxsize=1)
def subjects() -> str:
    """Return the names of all ladders, grouped by subject, as buttons that work like keys."""
    parts = []
    for topic in TOPICS.values():
        names = "".join(
            f'<li><button type="button" data-press="ladder {ladder.name}">{escape(ladder.title)}</button></li>'
            for ladder in LADDERS.values()
            if ladder.topic == topic.name
        )
        parts.append(f"<section><h3>{escape(topic.title)}</h3><ul>{names}</ul></section>")
    return f'<nav class="subjects" aria-label="Ladders">{"".join(parts)}</nav>'


def _open(ladder: str, position: int) -> None:
    """Open a ladder at a rung. For callbacks."""
    st.session_state.update(ladder=ladder, rung=rungs.names(LADDERS[ladder])[position])


def _present() -> None:
    """Present the first ladder from its first rung. For callbacks."""
    _open(FIRST.name, 0)
    st.session_state["present"] = "1"
