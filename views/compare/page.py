"""The comparison page: any two of rung, N, block size, GPU and order side by side: code, numbers, a block of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from engine.records import NotRunnable, Settled
from views.compare import sides
from views.compare.numbers import code_html, numbers_html
from views.compare.sides import PLACES, Name, Side
from views.inside.work import InsideChoice, work_on
from views.picture import component
from views.server.navigation import toolbar
from views.shared import address, keyboard, messages, work
from views.shared.slots import RawHtml, Slot

WORK, MOTION = "compare work", "compare motion"
HEIGHT = "max(380px, 56vh, (700px - 100vw) * 2)"  # on a phone the blocks are below each other


def main() -> None:
    """Read both sides, show their code, their numbers and one block of each."""
    bar = toolbar()
    found, refused = sides.sides()
    for name, side in found.items():
        sides.draw(name, side)
    for sentence in refused:
        messages.error(sentence)
    address.publish("", {"a": st.session_state[PLACES["A"]], "b": st.session_state[PLACES["B"]],
                         "whole": st.session_state.get(component.WHOLE)})  # fmt: skip
    try:
        run = {name: side.run for name, side in found.items()}
        # Blocks of different sizes are drawn whole: at teaching size they would be equal.
        other = found["A"].block != found["B"].block
        drawn = {name: sides.drawn(side, other or component.whole()) for name, side in found.items()}
    except NotRunnable as why:
        keyboard.on_key({})
        messages.error(str(why))
        return

    def start() -> None:
        work.start(WORK, list(run.values()), [sides.named(found[name], each) for name, each in run.items()])

    keyboard.on_key({"run": start})
    with bar:
        st.button("Run both", key="run", type="primary", icon=":material/play_arrow:", on_click=start,
                  help="Checks and counts, and times on a GPU (R)")  # fmt: skip
        st.button("Swap", key="swap", icon=":material/swap_horiz:", on_click=sides.swapped, args=(found,))
    left, right = st.columns([1, 1.12], gap="medium")
    with left, work.RENDER:
        st.html(RawHtml(code_html(found)))
    with right:
        numbers = Slot("comparednumbers")

    def draw() -> None:
        with work.RENDER:
            known = {name: work.outcome(side.choice, run[name]) for name, side in found.items()}
            numbers.html(numbers_html(found, known))

    work.follow(WORK, draw)
    draw()
    motion(found, drawn, few=not (other or component.whole()), sizes=not other)


def motion(found: Mapping[Name, Side], drawn: Mapping[Name, Settled | None], few: bool, sizes: bool) -> None:
    """Draw one block of each side on one clock. `few`: at teaching size; `sizes`: a button changes that."""
    a, b = drawn["A"], drawn["B"]
    if a is None or b is None:
        lacking = " and ".join(name for name, choice in drawn.items() if choice is None)
        messages.info(f"The emulator runs no blocks of {lacking}, so there is no picture.")
        return
    inside = work_on(MOTION, InsideChoice(b, a, 0, 1, "motion"))
    work.follow(MOTION, lambda: None)
    shown = []
    for name, choice, picture in (("A", a, inside.picture_before), ("B", b, inside.picture)):
        if picture is None:
            messages.warning(f"{name}: {(inside.reason if name == 'B' else '') or 'No block of it could be drawn.'}")
        else:
            rung = found[name].step
            shown.append(component.Drawn(replace(rung, label=f"{name}: {rung.label}"), choice, picture))
    if shown:
        component.show(shown, HEIGHT, before=False, few=few, sizes=sizes)


main()
