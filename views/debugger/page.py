"""The debugger: a block of a draft is recorded once, then stepped through in both directions."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np
import streamlit as st

from engine.lab.debugger import Debugger, Touch
from engine.records import NotRunnable
from engine.records.words import digits
from views.debugger import drawn
from views.debugger.asked import CHOICES, WORK, DebuggerWork, asked_for, text, work_on
from views.debugger.drawn import ELEMENTS, Presses
from views.server.navigation import toolbar
from views.shared import address, keyboard, menus, messages, work
from views.shared.slots import NOTHING, Slot

HTML = Path(__file__).parents[1] / "html"
Container = st.delta_generator.DeltaGenerator
WIDTHS = (1.15, 1)
PICTURE = "picture"  # of a variable in all threads, in place of numbers
MOST_BLOCKS = 64  # in the menu
NOTHING_YET = (
    "There is no kernel to step through yet. Write one in the lab, then press `Step through` there, or the button of a "
    "finding."
)
UNOPTIMISED = (
    "The build is unoptimised, so every variable is there; the order of execution is that of the check, but a race may "
    "end otherwise than in the optimised build."
)


def main() -> None:
    """Read the address, record the block, and draw the moment."""
    for style in ("inside.css", "debugger.css"):
        st.html(HTML / style)
    keyboard.on_key({})
    with toolbar():
        if st.button("Back to the lab", key="to_lab", icon=":material/arrow_back:"):
            st.switch_page("views/lab/page.py")
    try:
        asked = asked_for()
    except NotRunnable as refused:
        messages.error(str(refused))
        asked = None
    publish()
    if asked is None and not text():
        messages.info(NOTHING_YET)
        return
    row = st.container(horizontal=True, vertical_alignment="bottom", key="debugmenus")
    made = work_on(asked) if asked is not None else None
    with row.container(width=116):
        blocks = made.found.recording.blocks if made and made.found else 1
        menus.select("Block", "inblock", [str(one) for one in range(min(blocks, MOST_BLOCKS))], "0", new=True,
                     help="Choose, or type the number of a block.")  # fmt: skip
    if made is None:
        return
    with st.container(key="debugwait"):  # so that its bar moves nothing below to another place in Streamlit's tree
        work.follow(WORK, lambda: None)
    if made.reason is not None:
        messages.error(made.reason)
    elif made.found is None:
        messages.warning("Stopped before the block was recorded.")
    else:
        show(made, made.found, row)
        publish()


def publish() -> None:
    """Write the choices into the address."""
    address.publish("debugger", {name: st.session_state.get(name) for name in CHOICES})


def show(made: DebuggerWork, found: Debugger, row: Container) -> None:
    """Draw the controls, in `row`, the time axis, the source, the variables, and the memory."""
    if not found.moments:
        messages.warning(found.recording.ended or "The block executes no line.")
        return
    if not made.opened:
        made.opened = True
        open_at(found, made)
    thread, now = number("thread", found.recording.threads - 1), number("at", found.moments)
    presses = Presses()
    go = moving(found)
    controls(found, thread, now, row)
    with work.RENDER:
        array, place = element_in_view(found)
        wanted = found.writing(array, place) if array else np.zeros(found.moments, bool)
        marks = np.flatnonzero(wanted).tolist()
        buttons = transport(found, thread, now, presses, wanted, made.pair(finding_lines()))
        Slot("debugtime").html(buttons + drawn.time_axis(found, thread, now, marks, presses, go))
        left, right = st.columns(WIDTHS, gap="medium")
        with left:
            Slot("debugsource").html(drawn.source_html(found, thread, now, presses, lambda line: run_to(found, line)))
            ended = found.recording.ended or ""
            Slot("debugbuild").html(f'<p class="smallprint">{UNOPTIMISED} {escape(ended)}</p>')
        with right:
            names = watched()
            Slot("debugvariables").html(drawn.variables_html(found, thread, now, names, presses, watching))
            as_picture = st.session_state.get("lanes") == PICTURE
            draw = drawn.picture_html if as_picture else drawn.lanes_html
            lanes = "".join(draw(found, name, thread, now, presses, choosing("thread")) for name in names)
            words = "as numbers" if as_picture else "as a picture"
            turn = presses.button("lanes", turn_lanes, words, tip="Show the threads of the block the other way")
            Slot("debuglanes").html(
                f'<div class="transport">{turn}</div><div class="watches">{lanes}</div>' if names else NOTHING
            )
            memory(found, now, array, place, presses)
    keyboard.on_key(presses.actions)


def open_at(found: Debugger, made: DebuggerWork) -> None:
    """Choose the moment to open at: the address's, a finding's, the last write to an element, or the first."""
    state, element = st.session_state, made.asked.element
    if element is not None and not state.get("at"):
        state["array"], state["place"] = element[0], str(element[1])
        writer = found.last_writer(*element, found.moments)
        if writer is not None and writer.block == found.recording.block:
            state["at"], state["thread"] = str(writer.moment), str(writer.thread)
    lines = finding_lines()
    if lines and not state.get("at"):
        pair = made.pair(lines)
        moment = found.search(found.at_line(lines[0]), -1)
        if pair is not None:
            at_access(pair[0])()
        elif moment is not None:
            state["at"], state["thread"] = str(moment), str(int(found.threads_in(moment)[0]))
    if not state.get("array") and (arrays := found.arrays()):
        shared = [one.name for one in found.recording.arrays if one.space == "shared"]
        state["array"] = (shared or list(arrays))[0]


def number(name: str, most: int) -> int:
    """Return a choice as a number from 0 to `most`; any other one is the nearest, and is put in its place."""
    words = str(st.session_state.get(name) or "0")
    value = min(digits(words) or 0, most)
    st.session_state[name] = str(value)
    return value


def controls(found: Debugger, thread: int, now: int, row: Container) -> None:
    """Show the fields of the thread, the launch, and the moment, and say where the thread is."""
    with row.container(width=116):
        st.text_input("Thread", key="thread", help=f"Of the block, from 0 to {found.recording.threads - 1}")
    if found.launches > 1:
        with row.container(width=106):
            menus.select("Launch", "inlaunch", [str(one) for one in range(1, found.launches + 1)], "1")
    with row.container(width=130):
        st.text_input("Moment", key="at", help=f"From 0 to {found.moments:,}, the end of the block")
    here = found.next_of(thread, now)
    where = "has ended" if here is None else f"is about to execute line {int(found.recording.lines[here])}"
    waits = "" if here in (None, now) else f" at moment {here:,}"
    said = f"Thread {thread} of block {found.recording.block} {where}{waits}."
    with row.container():
        Slot("debugwhere").html(f"<p>{said} Moment {now:,} of {found.moments:,}, {escape(found.order)}.</p>")


def transport(
    found: Debugger, thread: int, now: int, presses: Presses, writes: np.ndarray, pair: tuple[Touch, Touch] | None
) -> str:
    """Return the buttons that go from moment to moment, and the accesses of a finding."""
    steps, barriers = found.steps_of(thread), found.at_barrier()
    here = found.next_of(thread, now)
    same = found.at_line(int(found.recording.lines[here]) if here is not None else 0, thread)
    parts = [
        ("first", "start", "The first moment (Home)", 0),
        ("previous", "◀ line", "The line before, of this thread (←)", found.search(steps, now, back=True)),
        ("next", "line ▶", "The next line of this thread (→)", found.search(steps, now)),
        ("last", "end", "The end of the block (End)", found.moments),
        ("visit back", "◀ visit", "The last time that the thread was at this line", found.search(same, now, back=True)),
        ("visit", "visit ▶", "The next time that the thread comes to this line", found.search(same, now)),
        ("barrier back", "◀ barrier", "The barrier before", found.search(barriers, now, back=True)),
        ("barrier", "barrier ▶", "The next barrier", found.search(barriers, now)),
        ("write back", "◀ write", "The write before, to the element in view", found.search(writes, now, back=True)),
        ("write", "write ▶", "The next write to the element in view", found.search(writes, now)),
    ]
    if names := watched():
        differs = np.logical_or.reduce([found.diverging(name, thread, now) for name in names])
        which = " or ".join(names)
        parts += [
            ("differs back", "◀ differs", f"The moment before at which threads of a warp get another {which}",
             found.search(differs, now, back=True)),
            ("differs", "differs ▶", f"The next moment at which threads of a warp get another {which}",
             found.search(differs, now)),
        ]  # fmt: skip
    buttons = []
    for name, words, tip, moment in parts:
        if moment is None:
            buttons.append(f'<button type="button" disabled title="{escape(tip)}">{words}</button>')
        else:
            follow = writes if name.startswith("write") else None
            buttons.append(presses.button(name, moving(found, follow)(moment), words, tip=tip))
    beside = drawn.pair_html(found, pair, presses, at_access) if pair else ""
    return f'<div class="transport">{"".join(buttons)}</div>{beside}'


def finding_lines() -> list[int]:
    """Return the lines of the finding that the page was opened at; none without one."""
    found = map(digits, str(st.session_state.get("lines") or "").split("-"))
    return [line for line in found if line is not None]


def at_access(one: Touch) -> Callable[[], None]:
    """Return the callback that goes to an access, and shows its thread and its element."""

    def go() -> None:
        st.session_state.update({"at": str(one.moment), "thread": str(one.thread)})
        if one.array:
            st.session_state.update({"array": one.array, "place": str(one.index)})

    return go


def moving(found: Debugger, writes: np.ndarray | None = None) -> Callable[[int], Callable[[], None]]:
    """Return a function that makes the callbacks that go to a moment. `writes`: the thread that writes is chosen."""

    def to(moment: int) -> Callable[[], None]:
        def go() -> None:
            st.session_state["at"] = str(moment)
            if writes is not None and (threads := found.threads_in(moment)).size:
                st.session_state["thread"] = str(int(threads[0]))

        return go

    return to


def run_to(found: Debugger, line: int) -> Callable[[], None]:
    """Return the callback that runs to the next visit of a line; after the last one, to the first."""

    def go() -> None:
        thread, now = number("thread", found.recording.threads - 1), number("at", found.moments)
        wanted = found.at_line(line, thread)
        moment = found.search(wanted, now)
        moment = found.search(wanted, -1) if moment is None else moment
        if moment is not None:
            st.session_state["at"] = str(moment)

    return go


def watched() -> list[str]:
    """Return the names of the variables that are shown in all threads, in the order in which they were chosen."""
    return [name for name in str(st.session_state.get("watch") or "").split(",") if name]


def watching(name: str) -> Callable[[], None]:
    """Return the callback that shows a variable in all threads, or no longer."""

    def watch() -> None:
        names = watched()
        st.session_state["watch"] = ",".join([one for one in names if one != name] if name in names else [*names, name])

    return watch


def turn_lanes() -> None:
    """Show the threads as a picture, or as numbers again. For callbacks."""
    st.session_state["lanes"] = "" if st.session_state.get("lanes") == PICTURE else PICTURE


def choosing(choice: str) -> Callable[[int], Callable[[], None]]:
    """Return a function that makes the callbacks that set a choice."""

    def to(value: int) -> Callable[[], None]:
        return lambda: st.session_state.update({choice: str(value)})

    return to


def element_in_view(found: Debugger) -> tuple[str, int]:
    """Return the array and the element in view; "" without an array."""
    name = str(st.session_state.get("array") or "")
    known = next((one for one in found.recording.arrays if one.name == name and one.space != "local"), None)
    if known is None:
        return "", 0
    return name, number("place", max(known.size // max(known.element, 1) - 1, 0))


def memory(found: Debugger, now: int, array: str, place: int, presses: Presses) -> None:
    """Show the menus of the arrays, the elements in view, and who wrote the chosen one last."""
    arrays = list(found.arrays())
    if not arrays:
        return
    row = st.container(horizontal=True, vertical_alignment="bottom", key="debugarrays")
    with row.container(width=220):
        menus.select("Array", "array", arrays, arrays[0])
    with row.container(width=116):
        st.text_input("Element", key="place")
    if not array:
        return
    first = place - place % ELEMENTS
    seen = found.memory(array, now, first, ELEMENTS)
    Slot("debugmemory").html(drawn.memory_html(found, seen, first, place, presses, choosing("place")))
    writer = found.last_writer(array, place, now)
    said = "was not written before this moment by a block that runs here"
    if writer is not None:
        who = f"thread {writer.thread} of block {writer.block}"
        said = f"was written last by {who} at line {writer.line}, moment {writer.moment:,}"
    Slot("debugwriter").html(f'<p class="smallprint"><code>{escape(array)}[{place}]</code> {said}.</p>')


main()
