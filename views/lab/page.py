"""The lab page: a kernel is edited, checked on the emulator, run on a GPU, and compared with its start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from engine.catalogue import TOPICS, Ladder, emulated_n
from engine.lab.setups import Setup
from engine.lab.templates import TEMPLATES
from engine.lectures import changes
from engine.plan import settle
from engine.records import Choice, NotRunnable, Settled
from engine.records.counters import COUNTERS, ON_LINES
from engine.service import service
from views.debugger.asked import open_draft
from views.editor import component
from views.lab import drafts, form, outcome, results, slides, versions, work
from views.lab.drafts import RUNG, Draft
from views.lab.versions import Version
from views.lab.work import Press
from views.server.navigation import toolbar
from views.shared import address, keyboard, menus, messages, rungs
from views.shared.menus import AUTO, LOCKSTEP
from views.shared.messages import replace_unknown

HTML = Path(__file__).parents[1] / "html"
REQUEST = "draft request"
HEAT = "warp_instructions"  # for a draft without a rung
WIDE, SMALL, MIDDLE, LONG = 172, 106, 150, 210  # pixels of menus: N and its power, a word, an order, a counter
LABELS = {name: COUNTERS[name].label for name in ON_LINES}


def main() -> None:
    """Read the choice, show the editor, start the check of a press, and show its results."""
    for style in ("inside.css", "lab.css"):
        st.html(HTML / style)
    tools = toolbar()
    started = drafts.start()
    ladder = rungs.chosen() if started == RUNG else None
    own = rungs.own_choices(ladder) if ladder else {"n": str(TEMPLATES[started].n)}
    topic = TOPICS[ladder.topic].name if ladder else f"lab {started}"
    address.recall_for(topic, own)
    presenting = st.session_state.get("present") == "1"
    position = rungs.names(ladder).index(st.session_state["rung"]) if ladder else 0
    if not presenting:
        position = start_row(ladder)
    draft = drafts.opened(ladder, position)
    if presenting:
        publish(topic, draft, ladder, own)
        slides.show(draft)
        return
    with tools:
        steps = st.container(width="content")  # first, so no button comes into the place of the ladder's Edit
        earlier = versions.of(draft)
        buttons(draft, earlier)
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        kept = component.EditorDraft(
            draft.id,
            draft.text,
            draft.at,
            draft.reset,
            draft.file,
            len(draft.attempts),
            bool(service.gpus()),
            drafts.compiling(draft.id, typed_for(ladder, position)),
        )
        component.show(kept, last_press(draft.id), drafts.take_draft, take_request)
        drafts.warn_unkept()
    with right:
        asked = settings(draft, ladder, position)
    keyboard.on_key({**(rungs.stepping(ladder) if ladder else {}), "run": lambda: request(draft.id, "check"),
                     "present": slides.begin, **outcome.stepping(draft.id),
                     **versions.presses(draft, earlier)})  # fmt: skip
    publish(topic, drafts.draft_of(draft.id) or draft, ladder, own)
    if asked:
        with steps:
            step_button(asked)
    wanted = st.session_state.pop(REQUEST, None)
    wanted = wanted if wanted and wanted["draft"] == draft.id else None
    if wanted and asked:
        work.start(replace(asked, number=wanted["number"], action=wanted["action"]))
    timed = asked.timed if asked else None
    outcome.show(draft.id, ladder, position, timed, counter_of(ladder, position), right)
    if wanted and not asked:
        outcome.decline(draft.id, wanted["number"])


def buttons(draft: Draft, earlier: Sequence[Version]) -> None:
    """Show the buttons for the attempts; Check and Run belong to the editor, as they send its text."""
    with st.popover(
        "My drafts", icon=":material/history:", key="mydrafts", help="Every text that you have changed here"
    ):
        st.html(results.my_drafts(drafts.kept_drafts(), draft.id))
        st.html(f"<h2>Earlier texts of this draft</h2>{versions.listed(draft, earlier)}")
    st.button("Present", key="present_tries", icon=":material/slideshow:", on_click=slides.begin,
              help="My attempts, one a slide (P)")  # fmt: skip
    st.button("Start over", key="start_over", icon=":material/restart_alt:", on_click=drafts.begin_anew,
              args=(draft,), help="A new draft; Back brings this one back")  # fmt: skip


def step_button(asked: Press) -> None:
    """Open the debugger, by its button, or by one beside a finding or a wrong element."""
    pressed = st.button("Step through", key="step_through", icon=":material/step_over:",
                        help="Run it in the debugger, which also goes back")  # fmt: skip
    where = st.session_state.pop(outcome.STEP, None)
    launched = asked.rung or asked.setup
    if (pressed or where is not None) and launched is not None:
        schedule = asked.rung.schedule if asked.rung else asked.schedule
        open_draft(asked.text, asked.file, launched, asked.n if asked.setup else launched.n, schedule, **(where or {}))
        st.switch_page("views/debugger/page.py")


def start_row(ladder: Ladder | None) -> int:
    """Show the menus of the draft's start; return the position of the rung."""
    words = {RUNG: "a rung of a ladder", **{name: one.title for name, one in TEMPLATES.items()}}
    left, right = st.columns([1, 4.6], vertical_alignment="center")
    with left:
        st.selectbox("Start from", list(words), list(words).index(str(st.session_state["start"])), key="start",
                     format_func=words.__getitem__, label_visibility="collapsed",
                     help="The start of the source. Each start has a draft of its own.")  # fmt: skip
    with right:
        return rungs.pickers(ladder) if ladder else 0


def settings(draft: Draft, ladder: Ladder | None, position: int) -> Press | None:
    """Show the menus beside the editor, and return the press that they describe. None, with a sentence, if it cannot
    run."""
    replace_unknown("heat", "counter", LABELS | {AUTO: "the usual one"}, AUTO)
    # On several rows if necessary, so no menu is too narrow for its words.
    row = st.container(horizontal=True, vertical_alignment="bottom", key="labmenus")
    with row.container(width=WIDE if ladder else SMALL):
        if ladder:
            menus.size(TOPICS[ladder.topic])
        else:
            sizes = [str(4**power) for power in range(3, 11)]
            menus.select("N", "n", sizes, str(TEMPLATES[draft.start].n), {n: f"{int(n):,}" for n in sizes}, new=True,
                           help="The number n in the launch. Choose, or type any: 1000, 2^20 or 4M.")  # fmt: skip
    if ladder:
        with row.container(width=SMALL):
            menus.block_size(TOPICS[ladder.topic])
        with row.container(width=SMALL):
            menus.element_type(TOPICS[ladder.topic])
    with row.container(width=MIDDLE):
        menus.schedule()
    with row.container(width=LONG):
        label = "Counter" if st.session_state.get("heat") in ON_LINES else LABELS[counter_of(ladder, position)]
        menus.select(label, "heat", [AUTO, *ON_LINES], AUTO, {AUTO: "automatic", **LABELS},
                       help="The counter shown at each line: darker means more.")  # fmt: skip
    try:
        if ladder:
            timed = choice_of(ladder, position)
            return Press(draft.id, draft.text, draft.file, timed.n, rung=emulated(timed, ladder), timed=timed)
        setup = form.ask(draft)
        if setup is None:
            return None
        drafts.keep(replace(draft, setup=setup))
        return own_asked(draft, setup)
    except NotRunnable as refused:
        messages.error(str(refused))
        return None


def choice_of(ladder: Ladder, position: int) -> Settled:
    """Return the rung with the menus' values, as a GPU times it. NotRunnable for text in place of a number."""
    rung = ladder.rungs[position]
    chosen = {name: str(st.session_state.get(name) or value) for name, value in rungs.own_choices(ladder).items()}
    return settle(Choice(
        kernel=rung.kernel,
        n=menus.number_of(chosen["n"], "N"),
        block_size=menus.number_of(chosen["block"], "The block size"),
        dtype=chosen["dtype"],
        device="gpu",
        combine=rung.combine,
    ))  # fmt: skip


def typed_for(ladder: Ladder | None, position: int) -> Settled | None:
    """Return the choice with which a text is compiled while it is typed; None: a kernel of one's own, or the menus hold
    no number."""
    if ladder is None:
        return None
    try:
        return emulated(choice_of(ladder, position), ladder)
    except NotRunnable:
        return None


def emulated(timed: Settled, ladder: Ladder) -> Settled:
    """Return the same choice on the emulator, at an N that it runs in a few seconds."""
    return replace(timed, device="emulator", n=emulated_n(ladder, timed.n), schedule=menus.chosen_schedule())


def own_asked(draft: Draft, setup: Setup) -> Press:
    """Return the press of a pasted kernel. NotRunnable if N is no number."""
    n = menus.number_of(str(st.session_state.get("n")), "N")
    return Press(draft.id, draft.text, draft.file, n, setup=setup, schedule=menus.chosen_schedule())


def counter_of(ladder: Ladder | None, position: int) -> str:
    """Return the counter at the lines: the chosen one, or the counter that the rung is about."""
    chosen = str(st.session_state.get("heat"))
    return chosen if chosen in ON_LINES else changes.shown_counter(ladder, position) if ladder else HEAT


def take_request(message: Mapping[str, Any]) -> None:
    """Handle a press of Check or Run. For callbacks."""
    if not drafts.take_draft(message):  # the editor says why
        return
    if message.get("action") in ("check", "run") and message.get("number") != last_press(str(message.get("draft"))):
        request(str(message["draft"]), str(message["action"]), int(message.get("number") or 0))


def last_press(draft: str) -> int:
    """Return the number of the last press that arrived; the browser sends later ones again."""
    made, wanted = work.current(draft), st.session_state.get(REQUEST) or {}
    return max(made.asked.number if made else 0, wanted.get("number", 0))


def request(draft: str, action: str, number: int = 0) -> None:
    """Check or run the draft in the next run of the script. For callbacks."""
    st.session_state[REQUEST] = {"draft": draft, "action": action, "number": number or last_press(draft) + 1}


def publish(topic: str, draft: Draft, ladder: Ladder | None, own: Mapping[str, str]) -> None:
    """Write the page's choices into the address."""
    here = st.session_state
    chosen: dict[str, object] = {name: here.get(name) or value for name, value in own.items()}
    if ladder:
        chosen |= {"ladder": ladder.name, "rung": here["rung"]}
    elif draft.setup:
        chosen |= {"call": draft.setup.call, "right": draft.setup.right}
    plain = {"schedule": LOCKSTEP, "heat": AUTO, "present": ""}
    special = {name: here.get(name) for name, value in plain.items() if here.get(name) != value}
    address.publish(topic, {"start": draft.start, "draft": draft.id, **chosen, **special})


main()
