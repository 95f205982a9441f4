"""The page Inside: why a kernel is slow or wrong. Counts at every line, the change since the previous rung, one block
step by step."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path

import streamlit as st

from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.catalogue import KERNELS, TOPICS, Ladder, Topic
from engine.figures.lanes import line_colours
from engine.history import profiles
from engine.lectures import changes
from engine.plan import settle
from engine.records import Choice, Counts, Measurement, NotRunnable, Settled
from engine.records.counters import COUNTERS, FINDINGS, LAUNCHES, ON_LINES
from views.html import lines
from views.inside.block import ALL, ENDED_EARLY, show_block, which_block
from views.inside.work import InsideChoice, InsideWork, work_on
from views.ladder.panels.motion import drawn_pictures
from views.picture import component
from views.server.navigation import toolbar
from views.shared import address, keyboard, menus, messages, rungs, work
from views.shared.menus import AUTO, LOCKSTEP
from views.shared.messages import replace_unknown, shown_instead
from views.shared.slots import Slot

Element = st.delta_generator.DeltaGenerator
WORK, SEEN = "inside work", "answers seen"
LOOKS = {"picture": "In motion", "change": "Before / after", "banks": "Banks", "lanes": "Lanes"}
HEIGHT = "max(440px, calc(100vh - 240px))"  # the rest of the window
LABELS = {name: COUNTERS[name].label for name in ON_LINES}


def settings(topic: Topic, ladder: Ladder, position: int) -> None:
    """Show the row of menus."""
    parameters = menus.has_parameters(topic)
    told = st.container()
    columns = st.columns([1.15, 0.95, 0.85, *([0.9] if parameters else []), 1.45, 1.5], vertical_alignment="bottom")
    meant = LABELS[changes.shown_counter(ladder, position)]
    with columns[0]:
        menus.size(topic)
    with columns[1]:
        menus.block_size(topic)
    with columns[2]:
        menus.element_type(topic)
    if parameters:
        with columns[3]:
            menus.parameter(KERNELS[ladder.rungs[position].kernel])
    with columns[-2]:
        menus.schedule()
    replace_unknown("heat", "counter", LABELS | {AUTO: "the usual one"}, AUTO, told)
    with columns[-1]:
        menus.select(f"Counter: {meant}" if chosen_counter(AUTO) == AUTO else "Counter", "heat",
                       [AUTO, *ON_LINES], AUTO, {AUTO: "what this rung changes", **LABELS},
                       help="The counter at the lines, and in the comparison with the previous rung.")  # fmt: skip


def again() -> None:
    """Stop the work, so the script runs the choice anew."""
    work.stop(WORK)
    st.session_state["run anew"] = True


def chosen_counter(otherwise: str) -> str:
    """Return the counter of the menu, or `otherwise`."""
    name = str(st.session_state.get("heat") or AUTO)
    return name if name in ON_LINES else otherwise


def choice_of(ladder: Ladder, position: int, chosen: dict[str, str], on_page: int) -> Settled:
    """Return the choice of one rung on the emulator. `on_page`: the rung whose parameter the menu shows."""
    rung, shown = ladder.rungs[position], ladder.rungs[on_page]
    schedule = menus.chosen_schedule()
    asked = Choice(
        kernel=rung.kernel,
        n=menus.number_of(chosen["n"], "N"),
        block_size=menus.number_of(chosen["block"], "The block size"),
        dtype=chosen["dtype"],
        device="emulator",
        combine=rung.combine,
        parameter=menus.parameter_for(KERNELS[rung.kernel], KERNELS[shown.kernel], chosen["parameter"]),
        schedule=schedule,
    )
    return settle(asked)


def main() -> None:
    """Read the choice, run it, show the lines and the picture."""
    st.html(Path(__file__).parents[1] / "html" / "inside.css")
    with toolbar():
        st.button("Run", key="run", type="primary", icon=":material/play_arrow:", on_click=again,
                  help="Run it anew (R)")  # fmt: skip
    ladder = rungs.chosen()
    topic = TOPICS[ladder.topic]
    own = {**rungs.own_choices(ladder), "n": str(ladder.emulator_n or min(ladder.n, topic.emulator_max_n // 4))}
    address.recall_for(topic.name, own)
    if st.session_state.setdefault("ladder looked into", ladder.name) != ladder.name:
        address.keep(topic.name, own)  # the menu took the lecture's own N, which may be too large for the emulator
    st.session_state["ladder looked into"] = ladder.name
    position = rungs.pickers(ladder)
    keyboard.on_key({**rungs.stepping(ladder), "run": again})
    settings(topic, ladder, position)
    said = ""
    if (look := st.session_state.get("look")) not in LOOKS:
        said = look and f"There is no picture {look!r}. Shown instead: {LOOKS['picture']}."
        st.session_state["look"] = "picture"
    shown_instead("look", st.session_state["look"], said or "")
    chosen = {name: str(st.session_state.get(name) or default) for name, default in own.items()}
    chosen["parameter"] = menus.chosen_parameter(KERNELS[ladder.rungs[position].kernel])
    plain = {"schedule": LOCKSTEP, "heat": AUTO, "look": "picture", "launch": "1", "b": "0", "beside": None}
    plain["warp"] = ALL if st.session_state["look"] == "lanes" else "0"
    special = {name: st.session_state.get(name) for name, value in plain.items() if st.session_state.get(name) != value}
    written = {"ladder": ladder.name, "rung": rungs.names(ladder)[position], **chosen, **special}
    try:
        show(ladder, position, asked_for(ladder, position, chosen))
    except NotRunnable as refused:
        messages.error(str(refused))
    address.publish(topic.name, written)


def asked_for(ladder: Ladder, position: int, chosen: dict[str, str]) -> InsideChoice:
    """Return the work that the page needs. NotRunnable for text in place of a number."""
    wanted = position > 0 and (st.session_state["look"] == "change" or component.beside())
    return InsideChoice(
        choice=choice_of(ladder, position, chosen, position),
        before=choice_of(ladder, position - 1, chosen, position) if wanted else None,
        block=menus.number_of(str(st.session_state.get("b") or "0"), "The number of the block"),
        launch=menus.number_of(str(st.session_state.get("launch") or "1"), "The number of the launch"),
        look=st.session_state["look"],
    )


def show(ladder: Ladder, position: int, asked: InsideChoice) -> None:
    """Show the lines at the left; the answer and the chosen picture at the right."""
    inside = work_on(WORK, asked, fresh=bool(st.session_state.pop("run anew", False)))
    moving = asked.look == "picture"
    wide = [1.12, 1] if not moving else [1, 1.3] if asked.before is None else [1, 1.6]
    left, right = st.columns(wide, gap="medium")
    with left:
        verdict, source = Slot("verdict"), Slot("insidelines")
    with right:
        with st.container(horizontal=True, vertical_alignment="center", key="looks", gap="small"):
            st.segmented_control("Picture", list(LOOKS), default=st.session_state["look"], key="look",
                                 format_func=LOOKS.get, required=True, label_visibility="collapsed")  # fmt: skip
            if asked.look != "change":
                which_block(asked)
        picture = st.container(key="picture")
    # The old picture stays until the new one is complete, and the new one is drawn once.
    drawn: list[object] = []
    compared: list[Element] = []

    def draw() -> None:
        with work.RENDER:
            draw_lines(ladder, position, inside, source, verdict)
            there = inside.picture or inside.trace
            if asked.look == "change":
                if not compared:
                    compared.append(picture.empty())
                with compared[0].container():
                    show_change(ladder, position, inside, counter_of(ladder, position))
            elif there is not None and inside.finished and not drawn:
                drawn.append(there)
                with picture:
                    if inside.trace is None:
                        show_motion(ladder, position, inside)
                    else:
                        show_block(inside.trace, asked.look)
            elif there is None and inside.reason:
                messages.warning(inside.reason, picture)

    work.follow(WORK, draw)
    draw()


def counter_of(ladder: Ladder, position: int) -> str:
    """Return the chosen counter, or the rung's own."""
    return chosen_counter(changes.shown_counter(ladder, position))


def draw_lines(ladder: Ladder, position: int, inside: InsideWork, source: Slot, verdict: Slot) -> None:
    """Draw the lines with the counts so far, and the answer."""
    asked, run = inside.asked, inside.run
    kernel = KERNELS[ladder.rungs[position].kernel]
    counter = counter_of(ladder, position)
    lanes = asked.look == "lanes" and inside.trace is not None
    colours = line_colours(inside.trace) if lanes and inside.trace else None
    source.html(lines.lines_html(kernel.text, kernel.file_name, counter, run, colours))
    order = schedule_line(parse_schedule(asked.choice.schedule))
    if run is None:  # at the place of the answer, so nothing moves when it arrives
        waiting = "Stopped" if inside.stopped else "Running …"
        verdict.html(f'<div class="insideanswer">{waiting} · {escape(order)}</div>')
    else:
        luckless = kernel.expect == "deadlock" and run.status == "deadlock"
        hint = (
            "Since Volta lanes run independently: choose such an order of execution, and it ends." if luckless else ""
        )
        verdict.html(lines.answer(run, order, remembered(asked, order, run), hint) + lines.printed(run.printed))


def remembered(asked: InsideChoice, order: str, run: Measurement) -> dict[str, Measurement]:
    """Return this choice's answers under every schedule that was tried in this browser."""
    seen = st.session_state.setdefault(SEEN, {}).setdefault(replace(asked.choice, schedule=None), {})
    if run.check is not None:
        seen[order] = run
    return seen


def show_motion(ladder: Ladder, position: int, inside: InsideWork) -> None:
    """Show the animated block, beside the previous rung's if that has such a block."""
    if inside.picture is not None and inside.picture.ended:
        st.html(ENDED_EARLY)
    component.show(drawn_pictures(ladder, position, inside), HEIGHT, before=position > 0)


def show_change(ladder: Ladder, position: int, inside: InsideWork, counter: str) -> None:
    """Show the counter before and after, and the GPU's own counters beside the emulator's."""
    if not position:
        first = f"The lines show: {LABELS[counter]}."
        on_cpu = inside.run is not None and inside.run.cpu is not None
        if on_cpu:
            first = "It runs on one thread of the CPU, where nothing is counted."
        meaning = "" if on_cpu else f"<p class='why'>{escape(COUNTERS[counter].meaning)}</p>"
        limit = KERNELS[ladder.rungs[0].kernel].header.get("Limit", "")
        more = f"<p class='why'><b>What limits it</b> {escape(limit)}</p>" if limit else ""
        st.html(f'<section class="change"><h3>The first rung: nothing came before</h3><p class="verdict">'
                f"{escape(first)}</p>{meaning}{more}</section>")  # fmt: skip
    else:
        rung, before = ladder.rungs[position], ladder.rungs[position - 1]
        kernel = KERNELS[rung.kernel]
        change = changes.change(inside.before, inside.run, counter)
        if not inside.finished and None in (inside.run, inside.before):
            change = replace(change, sentence="Still running …")
        told = ladder.meant(position)
        meant = told[1] if told and told[0] == counter else None
        st.html(lines.before_after(change, (before.label, rung.label), (KERNELS[before.kernel].title, kernel.title),
                                  meant, rung.fixes))  # fmt: skip
    show_hardware(inside)


def show_hardware(inside: InsideWork) -> None:
    """Show a GPU profiler's counts of the same choice; if only another size was recorded, a button to that size."""
    choice, run = inside.asked.choice, inside.run
    found = profiles.hardware_counters(choice)
    if run is None or run.counters is None:
        return
    if found is not None:
        ours, theirs = (
            changes.values_of(run),
            changes.values_of(replace(run, counts=Counts(found.counters), findings=())),
        )
        both = [(name, ours[name], theirs[name]) for name in ON_LINES if name not in (FINDINGS, LAUNCHES)]
        st.html(lines.hardware([row for row in both if row[2] is not None and (row[1] or row[2])], found,
                               run.caveats))  # fmt: skip
        return
    sizes = profiles.hardware_counters_by_size(choice)
    if sizes and inside.finished:  # drawn again with each result
        topic = KERNELS[choice.kernel].topic
        with st.container(horizontal=True, vertical_alignment="center"):
            block = TOPICS[topic].block_noun
            st.caption(f"Counted by the {sizes[0].device} itself at N = {sizes[0].n:,} and {block}")
            for entry in sizes:
                there = {"n": str(entry.n), "block": str(entry.block_size)}
                st.button(f"{entry.block_size}", key=f"recorded {entry.block_size}", on_click=address.keep,
                          args=(topic, there))  # fmt: skip


main()
