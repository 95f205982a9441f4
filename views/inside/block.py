"""The pictures of one block on the page Inside: its lanes on the banks over time, and the instructions of its lanes."""

from __future__ import annotations

import streamlit as st

from engine.backends.emulator.watching.trace import Trace
from engine.figures.banks import bank_figure, busiest, moments, shown_moments, wave_colour
from engine.figures.lanes import active_lanes, lane_figure, shown_steps
from engine.figures.look import GREEN, RED, Look
from engine.plan import plan
from engine.records import Launch, NotRunnable
from engine.records.words import digits
from views.chart.component import chart
from views.inside.work import InsideChoice
from views.shared import menus, messages

ALL = "all"
ENDED_EARLY = '<p class="endedearly">The run ended early, as is said at the left. These are the steps up to there.</p>'
BANKS, LANES = "banks", "lanes"
LOOK = Look(14)


def which_block(asked: InsideChoice) -> None:
    """Show the menus for the launch, the block and the warp, behind a button that names them."""
    try:
        launches = [step for step in plan(asked.choice).steps if isinstance(step, Launch)]
    except NotRunnable:
        return
    if not 1 <= asked.launch <= len(launches):
        return
    grid, block = launches[asked.launch - 1].grid, launches[asked.launch - 1].block
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    with st.popover(f"Block {asked.block:,}"):
        if len(launches) > 1:
            menus.select("Launch", "launch", [str(i + 1) for i in range(len(launches))], "1")
        offered = list(dict.fromkeys(["0", str(min(1, blocks - 1)), str(blocks // 2), str(blocks - 1)]))
        menus.select(f"Block of {blocks:,}", "b", offered, "0", new=True)
        if asked.look in (BANKS, LANES):
            which_warp([str(warp) for warp in range(-(-threads // 32))], asked.look)


def which_warp(warps: list[str], look: str) -> None:
    """Show the menu for the warp; the picture of lanes can show all warps."""
    if look == BANKS and st.session_state.get("warp") == ALL:
        st.session_state["warp"] = "0"
    menus.select("Warp", "warp", [ALL, *warps] if look == LANES else warps, ALL if look == LANES else "0")


def show_block(trace: Trace, what: str) -> None:
    """Show the picture of one block."""
    text = str(st.session_state.get("warp") or ALL)
    chosen = digits(text)
    warp = 0 if chosen is None and what != "lanes" else chosen
    if warp is not None and warp >= trace.warps:
        messages.warning(f"There is no warp {warp}: the block has warps 0 to {trace.warps - 1}.")
        return
    if trace.ended:
        st.html(ENDED_EARLY)
    if what == "banks":
        show_banks(trace, warp or 0)
    else:
        show_lanes(trace, warp)


def show_banks(trace: Trace, warp: int) -> None:
    """Return the picture of lanes x banks over time."""
    found = moments(trace, warp)
    if not found:
        messages.info(f"Warp {warp} of this block touches no memory.")
        return
    words = ("1st pass", "2nd", "3rd", "4th", "5–8th", "later")
    names = "".join(f'<span><i style="background:{wave_colour(at)}"></i>{word}</span>'
                    for at, word in zip((1, 2, 3, 4, 8, 9), words, strict=True))  # fmt: skip
    shown = shown_moments(found)
    part = _part(trace, len(found), len(shown), "accesses")
    st.html(f'<div class="waves">{names}<span><i style="background:{GREEN}"></i>global</span>'
            f"<span>{part}, emulated</span></div>")  # fmt: skip
    figure = bank_figure(trace, warp, busiest(shown), LOOK)
    chart(figure, key="banks", alt=f"The memory accesses of warp {warp}, one after the other", origin=_origin(trace))


def show_lanes(trace: Trace, warp: int | None) -> None:
    """Return the picture of lanes x steps."""
    mean = active_lanes(trace, warp)
    whose = "the block" if warp is None else f"warp {warp}"
    steps = shown_steps(trace, warp)
    part = f", {_part(trace, len(steps), len(steps), 'steps')}" if len(steps) < trace.steps_in_all else ""
    st.html(
        '<div class="pictureof"><p>Colour: the line that a lane executes, as in the source. Grey: it waits. '
        f'<b style="color:{RED}">▼</b> A branch splits a warp. '
        f"On average <b>{mean or 0:.1f} of 32</b> lanes of {whose} are active."
        f"<small>emulated{part}</small></p></div>"
    )
    figure = lane_figure(trace, warp, LOOK)
    chart(figure, key="lanes", alt=f"What each lane of {whose} executes, step by step", origin=_origin(trace))


def _origin(trace: Trace) -> str:
    return f"{trace.kernel}, block {trace.block:,} of {trace.threads:,} threads, emulated, {trace.schedule}"


def _part(trace: Trace, found: int, most: int, what: str) -> str:
    """Return which part of the block is drawn, if it is not all of it."""
    if trace.steps_in_all > len(trace.steps):
        return f"first {min(found, most):,} {what}"
    return f"first {most:,} of {found:,} {what}" if found > most else f"{found:,} {what}"
