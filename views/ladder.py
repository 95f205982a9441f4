"""The ladder page: step through a lecture, see what changed, run it, see the numbers beside the lecture's."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from engine import tables
from engine.catalogue import KERNELS, TOPICS, Rung, Topic
from engine.choices import settle
from engine.figures.look import Look
from engine.history.history import Known, device_line, environment_line
from engine.records import Choice, NotRunnable, Settled
from views import panels
from views.html import answer, grid, rung_html
from views.panels.entries import Section
from views.panels.plot import Drawing, choices_of_counter, facts_of, figure_of, show_words
from views.session import choices, keyboard, rungs, state, work
from views.session.choices import AUTO
from views.session.page import WORK, Page

RUNG_ROWS = {"bandwidth_gb_s": "Bandwidth", "gflop_s": "Throughput"}


def toggle_presenting(on: bool) -> None:
    """Present, or stop presenting."""
    st.session_state["present"] = "1" if on else ""


def settings(topic: Topic, rung: Rung) -> None:
    """The row of menus."""
    kernel = KERNELS[rung.kernel]
    columns = st.columns([1.35, 1, 0.9, 1.05, 1.25, 0.95, 1.3], vertical_alignment="bottom")
    # No kernel with a knob can combine its blocks in several ways: one menu stands in the place of the other.
    knobs = choices.has_knobs(topic) and len(kernel.combines) == 1 and st.session_state.get("combine") in (None, AUTO)
    for column, menu in zip(
        columns,
        (
            lambda: choices.size(topic),
            lambda: choices.block_size(topic),
            lambda: choices.element_type(topic),
            choices.cache_state,
            lambda: choices.knob(kernel) if knobs else choices.combining(kernel, rung.combine),
            lambda: choices.grid_size(kernel),
            choices.device,
        ),
        strict=True,
    ):
        with column:
            menu()


def choice_of(rung: Rung, chosen: Mapping[str, str], on_page: Rung) -> Settled:
    """What the menus say, for one rung. Combining and grid size were chosen for the rung on the page only, its knob for
    every rung that has the same."""
    combine, blocks, this = chosen["combine"], chosen["grid"], rung is on_page
    asked = Choice(
        kernel=rung.kernel,
        n=choices.number_of(chosen["n"], "N"),
        block_size=choices.number_of(chosen["block"], "The block size"),
        grid_size=None if not this or blocks in ("", AUTO) else choices.number_of(blocks, "The number of blocks"),
        dtype=chosen["dtype"],
        cache=chosen["cache"],
        device=chosen["device"],
        combine=rung.combine if not this or combine in ("", AUTO) else combine,
        parameter=choices.parameter_for(KERNELS[rung.kernel], KERNELS[on_page.kernel], chosen["parameter"]),
    )
    return settle(asked)


def main() -> None:
    """Read the choice, show the rung, run what was asked for, show the numbers."""
    ladder = rungs.chosen()
    topic = TOPICS[ladder.topic]
    emulated = not choices.has_gpu()
    own = rungs.own_choices(ladder, emulated)
    state.recall_for(topic.name, own)
    presenting = st.session_state.get("present") == "1"
    if presenting:
        position = rungs.names(ladder).index(st.session_state["rung"])
    else:
        position = rungs.pickers(ladder, emulated)
        settings(topic, ladder.rungs[position])
    chosen = {**own, "cache": "cold-clean", "combine": AUTO, "grid": AUTO, "device": AUTO}
    chosen |= {name: str(st.session_state[name]) for name in chosen if st.session_state.get(name)}
    chosen["parameter"] = choices.knob_chosen(KERNELS[ladder.rungs[position].kernel])
    state.publish(
        topic.name,
        {"ladder": ladder.name, "rung": st.session_state["rung"], **{k: v for k, v in chosen.items() if v != AUTO},
         "device": chosen["device"], "show": st.session_state.get("show"), "below": st.session_state.get("below"),
         "counter": st.session_state.get("counter"), "partitions": st.session_state.get("partitions"),
         "gpu": st.session_state.get("gpu"),
         "present": st.session_state.get("present")}
    )  # fmt: skip
    try:
        asked = tuple(choice_of(rung, chosen, ladder.rungs[position]) for rung in ladder.rungs)
    except NotRunnable as refused:
        st.error(str(refused), icon=":material/block:")
        keyboard.on_key({})
        return
    page = Page(ladder, topic, position, asked, presenting)
    keys(page)
    if presenting:
        show_presenting(page)
    else:
        show_page(page)


def keys(page: Page) -> None:
    """What the keyboard does here."""
    keyboard.on_key(
        {
            "previous": lambda: rungs.step(page.ladder, -1),
            "next": lambda: rungs.step(page.ladder, 1),
            "run": lambda: run_rung(page),
            "ladder": lambda: run_ladder(page),
            "present": lambda: toggle_presenting(not page.presenting),
            "leave": lambda: toggle_presenting(False),
        }
    )


def run_rung(page: Page) -> None:
    """Run the rung on the page, anew."""
    work.start(WORK, [page.choice], [page.kernel.title], fresh=True)


def run_ladder(page: Page) -> None:
    """Run every rung with these choices, from the bottom to the top."""
    work.start(WORK, page.choices, [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in page.ladder.rungs])


def buttons(page: Page) -> None:
    """Run, run the ladder, present."""
    with st.container(horizontal=True, key="buttons", vertical_alignment="center"):
        st.button("Run", key="run", type="primary", icon=":material/play_arrow:", on_click=run_rung, args=(page,),
                  help="Check this rung's answer, then measure it (R)")  # fmt: skip
        st.button("Run the ladder", key="run_ladder", icon=":material/stairs:", on_click=run_ladder, args=(page,),
                  help="Every rung with these choices, one after the other (L)")  # fmt: skip
        st.button("Present", key="present_on", icon=":material/slideshow:", on_click=toggle_presenting, args=(True,),
                  help="Only the rung, in large type (P). F fills the screen.")  # fmt: skip


def show_page(page: Page) -> None:
    """The page to sit before: text and source at the left, numbers and plot at the right, the table below."""
    left, right = st.columns([1.12, 1], gap="medium")
    with left, work.RENDER:
        rung_html.rung_text(page.rung, page.kernel)
        rung_html.rung_source(page.ladder, page.position)
        rung_html.rung_conditions(page.rung, page.kernel, page.ladder)
    with right:
        buttons(page)
        numbers = st.empty()
        pictures = panels.pictures_of(page)
        words = {"rate": RUNG_ROWS[page.topic.metric], "time": "Time", "speedup": "Speedup", "counters": "Counters"}
        words |= {name: picture.title for name, picture in pictures.items()}
        if st.session_state.get("show") not in words:
            st.session_state["show"] = "rate"
        shown = st.session_state["show"]
        with st.container(horizontal=True, key="plotchoice", vertical_alignment="center"):
            st.segmented_control("Plot", list(words), default=shown, key="show",
                                 format_func=words.get, required=True, label_visibility="collapsed")  # fmt: skip
            if shown == "counters":
                choices_of_counter()
        if shown in pictures and (controls := pictures[shown].controls):
            controls(page)
        drawing, beneath = Drawing(), st.empty()
        found = st.empty()
    table = st.empty()
    section = section_chosen(page)
    below = st.empty()
    drawn = 0

    def draw() -> None:
        nonlocal drawn
        drawn += 1
        with work.RENDER:
            facts, frame = facts_of(page)
            with numbers.container():
                show_numbers(page, frame, facts)
            drawing.show(figure_of(page, frame, facts))
            show_words(page, facts, beneath)
            if strip := answer.strip_html(facts[page.position].live):
                found.html(strip)
            with table.container():
                show_table(page, frame, facts, drawn)
            if section is not None:
                below.html(section.html(page, facts))

    work.follow(WORK, draw)
    draw()


def section_chosen(page: Page) -> Section | None:
    """The menu of the sections below the table, and the one that is chosen, with its widgets."""
    sections = panels.sections_of(page)
    if not sections:
        return None
    if st.session_state.get("below") not in sections:
        st.session_state["below"] = next(iter(sections))
    st.segmented_control("Beside the lecture", list(sections), default=st.session_state["below"], key="below",
                         format_func=lambda name: sections[name].title, required=True,
                         label_visibility="collapsed")  # fmt: skip
    section = sections[st.session_state["below"]]
    if section.controls is not None:
        section.controls(page)
    return section


def show_numbers(page: Page, frame: pd.DataFrame, facts: list[Known]) -> None:
    """The big numbers of the rung on the page."""
    rung_html.numbers(frame.to_dict("records")[page.position], facts[page.position], page.topic, page.counting)


def show_table(page: Page, frame: pd.DataFrame, facts: list[Known], drawn: int) -> None:
    """The lecture's table, the line that says where its numbers come from, and the file."""
    timed = [fact.timed for fact in facts if fact.timed]
    origins = sorted({device_line(m) for m in timed})
    headings = {
        "times": f"Times: {' and '.join(origins)}" if origins else "Times: none measured or recorded for these choices",
        "counters": "Counted by the emulator, live",
    }
    with_counters = page.counting or any(fact.counted for fact in facts)
    st.html(grid.ladder_html(frame, page.topic.metric, page.position, with_counters, headings))
    lectures = sorted({str(line) for line in frame["lecture_origin"] if line is not None})
    with st.container(horizontal=True, vertical_alignment="top"):
        st.html(rung_html.under_table(lectures, environment(facts, page.position), page.topic.data_note))
        st.download_button("CSV", tables.frame_csv(frame), f"{page.ladder.name}.csv", "text/csv", on_click="ignore",
                           icon=":material/download:", key=f"csv {drawn}")  # fmt: skip


def environment(facts: list[Known], position: int) -> list[str]:
    """The environment lines of the rung on the page, or of the first one that has any."""
    order = [facts[position], *facts]
    timed = next((fact.timed for fact in order if fact.timed), None)
    counted = next((fact.counted for fact in order if fact.counted), None)
    return [environment_line(m) for m in (timed, counted) if m is not None]


def show_presenting(page: Page) -> None:
    """The page for a hall: nothing but the rung, in large type."""
    with work.RENDER:
        rung_html.presenting_title(page.ladder, page.position)
        left, right = st.columns([1.35, 1], gap="medium")
        with left:
            rung_html.rung_source(page.ladder, page.position, fold=True)
            rung_html.presenting_text(page.kernel)
    with right:
        numbers = st.empty()
        drawing, beneath = Drawing(), st.empty()
        found = st.empty()
    height = keyboard.window_height()
    rows = len(page.ladder.rungs)
    share = 0.46 if page.counting else 0.56  # of the window's height
    if answer.is_array(page.choice):
        share -= 0.17  # its first elements stand below
    look = Look(min(round(height * 0.026), round(height * (share - 0.1) / rows / 1.25)), round(height * share))

    def draw() -> None:
        with work.RENDER:
            facts, frame = facts_of(page)
            with numbers.container():
                show_numbers(page, frame, facts)
            drawing.show(figure_of(page, frame, facts, look))
            show_words(page, facts, beneath)
            if strip := answer.strip_html(facts[page.position].live, answer.SHOWN_IN_HALL):
                found.html(strip)

    work.follow(WORK, draw)
    draw()


main()
