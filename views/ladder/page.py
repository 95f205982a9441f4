"""The ladder page: step through a lecture, see the changed lines, run the rung, compare with the lecture's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from engine.catalogue import KERNELS, TOPICS, Kernel, Ladder, Rung, Topic
from engine.history import history
from engine.history.records import records
from engine.history.tables import COLUMNS
from engine.plan import strides
from engine.records import CACHE_STATES, NotRunnable
from engine.records.counters import IN_PLOTS
from engine.service import service
from views.ladder import actions, desk, opening, reveal, slide
from views.ladder.panels import trapezoids
from views.ladder.resolve import PLOT_TITLES, USUAL, page_of
from views.ladder.view import WORK, Page
from views.report import report
from views.room import card, question, window
from views.shared import address, keyboard, menus, messages, presence, presentation, rungs, work
from views.shared.menus import AUTO, LOCKSTEP
from views.shared.messages import replace_unknown, shown_instead

COUNTER_TITLES = {name: COLUMNS[name].title for name in IN_PLOTS}

# The menus in the drawer, and their names in a list of what was changed.
DRAWER = {"dtype": "type", "cache": "L2 cache", "combine": "combined by", "schedule": "order", "grid": "blocks",
          "device": "device", "record": "recorded on"}  # fmt: skip


def settings(ladder: Ladder, topic: Topic, rung: Rung) -> None:
    """Draw N and block size, and the drawer with the other menus."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="settings"):
        menus.size(topic)
        menus.block_size(topic)
        with st.popover("Settings", icon=":material/tune:", key="drawer"):
            drawer(topic, rung)
        st.html(changed_settings(ladder, KERNELS[rung.kernel]))


def drawer(topic: Topic, rung: Rung) -> None:
    """Draw the menus that a first look at a ladder does not need."""
    kernel = KERNELS[rung.kernel]
    menus.element_type(topic)
    menus.cache_state()
    # A kernel with a parameter never has several ways to combine its blocks, so one place serves both menus.
    if menus.has_parameters(topic) and len(kernel.combines) == 1 and st.session_state.get("combine") in (None, AUTO):
        menus.parameter(kernel)
    else:
        menus.combining(kernel, rung.combine)
    if in_order(kernel):
        menus.schedule()
    else:
        menus.grid_size(kernel)
    menus.device()
    menus.record()


def changed_settings(ladder: Ladder, kernel: Kernel) -> str:
    """Return the device that runs, and the choices in the drawer that differ from the lecture's."""
    usual = {
        "record": next(iter(records()), AUTO),
        "dtype": ladder.dtype,
        "cache": CACHE_STATES[0],
        "schedule": LOCKSTEP,
    }
    values = {name: str(st.session_state.get(name) or AUTO) for name in DRAWER}
    changed = [f"{DRAWER[name]} {value}" for name, value in values.items() if value not in (AUTO, usual.get(name))]
    if kernel.parameter and (value := menus.chosen_parameter(kernel)):
        changed.append(f"{kernel.parameter.label} {value}")
    here = "a GPU of this computer" if menus.has_gpu() else "an emulator of a GPU, as this computer has no GPU"
    words = f"Changed: <b>{escape(', '.join(changed))}</b>." if changed else f"<b>Run</b> starts the kernel on {here}."
    return f'<p class="smallprint">{words}</p>'


def lectures_choices(topic: Topic, chosen: Mapping[str, str]) -> str:
    """Return a line instead of the menus while a page follows a lecture: seven menus are a quarter of a step's cost."""
    size, block = (label.partition(" (")[0] for label in (topic.size_label, topic.block_label))
    words = [f"{size} = {chosen['n']}", f"{block.lower()} {chosen['block']}", chosen["dtype"], chosen["cache"]]
    words += [chosen[name] for name in ("combine", "grid", "parameter", "record") if chosen[name] not in ("", AUTO)]
    found = presentation.now()
    lecture = "as in the lecture" if found and found.going else "as the lecture left it; it is over"
    return (
        f'<p class="smallprint">{escape(", ".join(words))}: {lecture}. '
        "Press <b>Following</b> to stop, and choose yourself.</p>"
    )


def in_order(kernel: Kernel) -> bool:
    """Return whether the page offers the order of execution instead of the grid size (on the emulator, if N fixes the
    grid)."""
    device, grid = st.session_state.get("device"), st.session_state.get("grid")
    emulated = device == "emulator" or (device in (None, AUTO) and not menus.has_gpu())
    return emulated and not strides(kernel) and grid in (None, "", AUTO)


def main() -> None:
    """Draw the page; if it was just opened to follow a lecture, under the lock of followers."""
    with presentation.turn(waiting=work.busy(WORK)):
        show()


def show() -> None:
    """Read the choice, show the rung, run the requested choices, show the numbers."""
    if opening.asked():
        opening.show()
        return
    ladder = rungs.chosen()
    topic = TOPICS[ladder.topic]
    own = rungs.own_choices(ladder)
    address.recall_for(topic.name, own)
    presenting = st.session_state.get("present") == "1"
    top = st.container()  # for elements that the Tab key should reach before the menus
    if presenting:
        position = rungs.names(ladder).index(st.session_state["rung"])
    else:
        position = rungs.pickers(ladder)
        if not presentation.is_followed():
            settings(ladder, topic, ladder.rungs[position])
    shown = reveal.shown(ladder, presenting)
    replace_unknown("show", "plot", PLOT_TITLES, "")
    replace_unknown("counter", "counter", COUNTER_TITLES, "")
    replace_unknown(trapezoids.SLIDER, "number of trapezoids", trapezoids.COUNTS, "")
    order = str(st.session_state.get("schedule") or LOCKSTEP)
    chosen = own | USUAL
    chosen |= {name: str(st.session_state[name]) for name in chosen if st.session_state.get(name)}
    chosen["record"] = menus.chosen_record()
    chosen["parameter"] = menus.chosen_parameter(KERNELS[ladder.rungs[position].kernel])
    if presentation.is_followed() and not presenting:
        st.html(lectures_choices(topic, chosen))
    address.publish(
        topic.name,
        {"ladder": ladder.name, "rung": st.session_state["rung"], **{k: v for k, v in chosen.items() if v != AUTO},
         "device": chosen["device"], "show": st.session_state.get("show"), "below": st.session_state.get("below"),
         "counter": st.session_state.get("counter"), "partitions": st.session_state.get("partitions"),
         "gpu": st.session_state.get("gpu"), "schedule": order if order != LOCKSTEP else None,
         "beside": st.session_state.get("beside"), "whole": st.session_state.get("whole"),
         "present": st.session_state.get("present"),
         **reveal.in_address(presenting), "follow": st.session_state.get("follow")}
    )  # fmt: skip
    try:
        menus.known_record(chosen["record"])
        page = page_of(ladder.name, position, tuple(chosen.items()), order, presenting, shown,
                       reveal.asked_plot(presenting), service.gpus())  # fmt: skip
    except NotRunnable as refused:
        messages.error(str(refused))
        keyboard.on_key({})
        return
    if not presenting:  # a slide may hold the plot back
        say_which_plot(page, str(st.session_state.get("show") or ""))
        if page.sections:
            titles = {name: section.title for name, section in page.sections.items()}
            replace_unknown("below", "section", titles, next(iter(titles)))
    keys(page)
    if presenting:
        tell_followers(page)
        card.show()
        question.show(page)
        window.prepare(page)
        slide.show(page)
        tell_followers(page)  # again, with the results of the runs
    else:
        desk.show(page, top)
        st.download_button("Report", lambda: report.ladder_report(page), f"{ladder.name}.html", "text/html",
                           key="report", on_click="ignore", icon=":material/description:", disabled=not page.tells_all,
                           help="The whole ladder in one file, to read or to print")  # fmt: skip


def say_which_plot(page: Page, asked: str) -> None:
    """Say that the plot of the address is not one of this rung's, until the reader steps or chooses another plot."""
    said = ""
    if asked and asked != page.plot.name and address.given("show"):
        said = f"This rung has no plot {PLOT_TITLES[asked]!r}. Shown instead: {page.plot.title}."
    shown_instead("plot of the rung", (page.rung.kernel, asked), said, moved=True)


def tell_followers(page: Page) -> None:
    """Publish the page's place for the browsers that follow, if it presents the lecture."""
    if work.is_presenting() and not presentation.is_followed():
        known = history.latest(page.run)
        presentation.show(st.query_params.to_dict(), str(known.environment.get("utc") or "") if known else "",
                          presence.session())  # fmt: skip


def keys(page: Page) -> None:
    """Assign the page's keys."""
    keyboard.on_key(
        {
            **(reveal.stepping(page.ladder) if page.presenting else rungs.stepping(page.ladder)),
            **actions.choosing(page),
            "run": lambda: actions.run_rung(page),
            "ladder": lambda: actions.run_ladder(page),
            "present": lambda: actions.toggle_presenting(not page.presenting),
            "leave": lambda: card.close() or actions.toggle_presenting(False),
            "room": card.toggle,
            "question": lambda: question.press(page),
            "hands": lambda: question.count_hands(page),
        }
    )


main()
