"""The pictures of one block on the page Inside: its lanes on the banks over time, and what its lanes execute."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.backends.emulator.watching.trace import Trace
from engine.figures.banks import bank_figure, busiest, moments, shown_moments, wave_colour
from engine.figures.lanes import active_lanes, lane_figure, shown_steps
from engine.figures.look import CONFIG, GREEN, Look
from engine.plan import plan
from engine.records import Launch, NotRunnable
from views.session import choices
from views.session.inside_work import InsideChoice

Place = st.delta_generator.DeltaGenerator
ALL = "all"
LOOK = Look(14)


def which_block(asked: InsideChoice, places: Sequence[Place]) -> None:
    """The menus for the launch, the block and the warp of the picture."""
    try:
        launches = [step for step in plan(asked.choice).steps if isinstance(step, Launch)]
    except NotRunnable:
        return
    if not 1 <= asked.launch <= len(launches):
        return
    grid, block = launches[asked.launch - 1].grid, launches[asked.launch - 1].block
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    if len(launches) > 1:
        with places[0]:
            choices.select("Launch", "launch", [str(i + 1) for i in range(len(launches))], "1")
    with places[1]:
        offered = list(dict.fromkeys(["0", str(min(1, blocks - 1)), str(blocks // 2), str(blocks - 1)]))
        choices.select(f"Block of {blocks:,}", "b", offered, "0", new=True)
    with places[2]:
        warps = [str(warp) for warp in range(-(-threads // 32))]
        choices.select("Warp", "warp", [*warps, ALL] if st.session_state["look"] == "lanes" else warps, "0")


def show_block(trace: Trace, what: str) -> None:
    """The picture of one block."""
    text = str(st.session_state.get("warp") or "0")
    warp = None if text == ALL and what == "lanes" else int(text) if text.isdecimal() else 0
    if warp is not None and warp >= trace.warps:
        st.warning(f"There is no warp {warp}: the block has warps 0 to {trace.warps - 1}.", icon=":material/block:")
        return
    if trace.ended:
        st.html(
            '<p class="endedearly">The run ended early, as is said at the left. These are the steps up to there.</p>'
        )
    if what == "banks":
        show_banks(trace, warp or 0)
    else:
        show_lanes(trace, warp)


def show_banks(trace: Trace, warp: int) -> None:
    """Lanes x banks over time."""
    found = moments(trace, warp)
    if not found:
        st.info(f"Warp {warp} of this block touches no memory.")
        return
    words = ("1st pass", "2nd", "3rd", "4th", "5–8th", "later")
    names = "".join(f'<span><i style="background:{wave_colour(at)}"></i>{word}</span>'
                    for at, word in zip((1, 2, 3, 4, 8, 9), words, strict=True))  # fmt: skip
    shown = shown_moments(found)
    part = _part(trace, len(found), len(shown), "accesses")
    st.html(f'<div class="waves">{names}<span><i style="background:{GREEN}"></i>global</span>'
            f"<span>{part}, emulated</span></div>")  # fmt: skip
    figure = bank_figure(trace, warp, busiest(shown), LOOK)
    st.plotly_chart(figure, key="banks", height="stretch", config=CONFIG)


def show_lanes(trace: Trace, warp: int | None) -> None:
    """Lanes x steps."""
    mean = active_lanes(trace, warp)
    whose = "the block" if warp is None else f"warp {warp}"
    steps = shown_steps(trace, warp)
    part = f", {_part(trace, len(steps), len(steps), 'steps')}" if len(steps) < trace.steps_in_all else ""
    st.html(
        '<div class="pictureof"><p>Colour: the line that a lane executes, as in the source. Grey: it waits. '
        f"On average <b>{mean or 0:.1f} of 32</b> lanes of {whose} are active."
        f"<small>emulated{part}</small></p></div>"
    )
    figure = lane_figure(trace, warp, LOOK)
    st.plotly_chart(figure, key="lanes", height="stretch", config=CONFIG)


def _part(trace: Trace, found: int, most: int, what: str) -> str:
    """How much of the block is shown, where it is not all."""
    if trace.steps_in_all > len(trace.steps):
        return f"first {min(found, most):,} {what}"
    return f"first {most:,} of {found:,} {what}" if found > most else f"{found:,} {what}"
