"""Warm up before a lecture: run every rung of a ladder once, and show which are ready."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.catalogue import KERNELS, LADDERS, Ladder
from engine.service.warm_up import RungReadiness, readiness, run_of
from views.access import visitor
from views.html.table import cell, code_in, heading, table
from views.shared import presentation, work
from views.shared.slots import Slot

WORK = "warm up work"
LADDER = "ladder to warm up"
_WORDS = {"ready": "✓ ready", "recorded": "≈ only a record", "failed": "✗ failed", "waiting": "not run yet"}
_MOODS = {"ready": "ok", "failed": "bad"}  # states with a colour


def show() -> None:
    """Show the menu, the button and the table."""
    st.subheader("Warm up before a lecture")
    st.write(
        "Compiles and runs every rung once. A rung that cannot run here shows its recorded run, marked as recorded."
    )
    if (last := presentation.now()) is not None:
        link = f'<a href="./?{escape(last.address)}&amp;present=1" target="_self">resume it</a>'
        st.html(f'<p class="lecturekept">There is an earlier presentation: {link}.</p>')
    names = list(LADDERS)
    now = st.session_state.get(LADDER) or st.session_state.get("ladder")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox("Ladder", names, names.index(now) if now in names else 0, key=LADDER, width=420,
                     format_func=lambda name: LADDERS[name].title)  # fmt: skip
        st.button("Warm up", key="warm_up", type="primary", icon=":material/local_fire_department:", on_click=start,
                  help="Every rung, one after the other (R)")  # fmt: skip
    place = Slot("warm")

    def draw() -> None:
        place.html(_table(readiness(_ladder())))

    work.follow(WORK, draw)
    draw()


def start() -> None:
    """Run every rung of the chosen ladder, if the visitor's role allows it. For callbacks."""
    if not visitor.rights().prepares:
        return
    ladder = _ladder()
    work.start(WORK, [run_of(ladder, rung) for rung in ladder.rungs],
               [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in ladder.rungs])  # fmt: skip


def _ladder() -> Ladder:
    return LADDERS[st.session_state[LADDER]]


def _table(found: tuple[RungReadiness, ...]) -> str:
    rows = [
        [
            cell(escape(ready.rung), "rung"),
            cell(_WORDS[ready.state], f"text status {_MOODS.get(ready.state, 'waiting')}"),
            cell(f"<b>{escape(KERNELS[ready.kernel].title)}</b>{code_in(ready.sentence)}", "text"),
        ]
        for ready in found
    ]
    count = {state: sum(ready.state == state for ready in found) for state in _WORDS}
    said = ", ".join(f"{number} {_WORDS[state].lstrip('✓≈✗ ')}" for state, number in count.items() if number)
    heads = [heading(title, "text") for title in ("Rung", "State", "What will be shown")]
    return f"<p>{len(found)} rungs: {said}.</p>{table(heads, rows)}"
