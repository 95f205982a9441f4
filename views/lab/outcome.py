"""The results of a draft beside and below the editor, and the marks in the editor."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.catalogue import KERNELS, Ladder
from engine.history import history
from engine.lectures import changes
from engine.plan import plan
from engine.records import NotRunnable, Settled
from engine.records.counters import COUNTERS
from engine.records.words import STATUS_WORDS, text_of
from views.editor import component
from views.html import lines
from views.html.estimate import estimate_html
from views.html.source import source_html
from views.lab import drafts, results
from views.lab.attempts import added, attempt_of
from views.lab.work import DraftWork, current, name_of
from views.shared import work
from views.shared.slots import NOTHING, Slot

Container = st.delta_generator.DeltaGenerator


def show(id: str, ladder: Ladder | None, position: int, timed: Settled | None, counter: str, right: Container) -> None:
    """Wait for the running check and draw its results: in `right` beside the editor, and the attempts below."""
    rung = ladder.rungs[position] if ladder else None
    with right:
        changed = st.expander("What I changed", key="draftchanges") if rung else None
        with st.container(key="labresults"):  # as high as most results, so nothing moves when one arrives
            found, told, numbers, estimated, elements, printed, log = (
                Slot(f"draft {name}")
                for name in ("verdict", "told", "numbers", "estimate", "elements", "printed", "log")
            )
    st.html('<h2 class="sweeptitle">My attempts</h2>')
    rows = Slot("draft attempts")
    marks = st.container(key="draftmarks")
    sent: list[object] = []

    def draw() -> None:
        keep_attempt(id)
        made, draft = current(id), drafts.draft_of(id)
        if draft is None:
            return
        with work.RENDER:
            if made is not None and made.checked is not None:
                checked, run = made.checked, made.checked.measurement
                verdict = results.verdict(checked, schedule_line(parse_schedule(run.choice.schedule)))
                found.html(verdict + results.gpu_refusal(made.ran))
                marked = results.marks_html(checked.marks, run.reason or "")
                told.html(marked + results.steps_html(run, _array(made)) or NOTHING)
                beside = (made.beside, history.look_up(timed) if timed else None, rung.label if rung else "")
                numbers.html(results.comparison(run, made.ran, *beside) or NOTHING)
                estimated.html(estimate_html(made.estimate) or NOTHING)
                elements.html(results.elements(checked) or NOTHING)
                printed.html(lines.printed(run.printed) or NOTHING)
                log.html(results.log(run) or NOTHING)
                if (now := marks_of(id, made, counter)) not in sent:
                    sent.append(now)
                    with marks:
                        component.mark(now, f"marks {len(sent)}")
            elif made is None:
                found.html(results.NOTHING_YET)
            rows.html(results.attempts_html(draft.attempts, st.context.timezone))

    work.follow(name_of(id), draw)
    draw()
    draft = drafts.draft_of(id)
    if changed is not None and rung is not None and draft is not None:
        kernel = KERNELS[rung.kernel]
        with changed:
            st.html(source_html(draft.text, kernel.name, kernel.text, kernel.name, slide=True, what_before="the rung"))


def decline(id: str, number: int) -> None:
    """Tell the editor that a press of Check or Run starts nothing, because the page refuses what it describes."""
    nothing: dict[str, object] = {"counter": "", "marks": [], "heat": [], "tries": []}
    said = "Not checked: the page says why."
    component.mark({"draft": id, "number": number, "digest": -1, "said": said, **nothing}, f"marks of press {number}")


STEP = "step through"  # where the debugger is to open


def stepping(id: str) -> dict[str, Callable[[], None]]:
    """Return the callbacks of the buttons that open the debugger at a finding or at a wrong element."""

    def open_at(number: int | None) -> None:
        made = current(id)
        if made is None or made.checked is None:
            return
        run = made.checked.measurement
        if number is None and run.check is not None:
            st.session_state[STEP] = {"element": f"{_array(made)}:{run.check.at}"}
        elif number is not None and number < len(run.findings):
            found = run.findings[number]
            lines = [line for line in (found.line, found.other_line) if line]
            st.session_state[STEP] = {"lines": "-".join(map(str, lines))}

    steps = {f"step finding {number}": partial(open_at, number) for number in range(results.MOST_STEPS)}
    return {**steps, "step element": partial(open_at, None)}


def _array(made: DraftWork) -> str:
    """Return the name of the array that has the answer, "" if none is known."""
    asked = made.asked
    if asked.setup is not None:
        return asked.setup.right.out if asked.setup.right else ""
    try:
        return plan(asked.rung).result if asked.rung is not None else ""
    except NotRunnable:
        return ""


def keep_attempt(id: str) -> None:
    """Add the check that has just ended to the draft's attempts; its estimate may come later, or never."""
    made, draft = current(id), drafts.draft_of(id)
    if made is None or draft is None or made.kept or not made.tried or made.checked is None:
        return
    made.kept = True
    checked = made.checked.measurement
    run = made.ran if made.ran is not None and made.ran.status != "refused" else checked
    if run.status == "refused":
        return
    number = 1 + max((one.number for one in draft.attempts), default=0)
    new = attempt_of(
        number, made.asked.text, run, checked.counters, run.reason or STATUS_WORDS[run.status].capitalize()
    )
    drafts.keep(replace(draft, attempts=added(draft.attempts, new)))


def marks_of(id: str, made: DraftWork, counter: str) -> dict[str, object]:
    """Return the editor's marks: see `views/editor/marks.js`."""
    checked, draft = made.checked, drafts.draft_of(id)
    assert checked is not None
    values = changes.line_values(checked.measurement, counter)
    shares = changes.shares(values, counter)
    heat = [(line, text_of(counter, value), round(shares.get(line, 0.0), 3)) for line, value in values.items() if value]
    count = len({mark.line for mark in checked.marks})
    return {
        "draft": id,
        "number": made.asked.number,
        "digest": zlib.crc32(made.asked.text.encode()),
        "counter": COUNTERS[counter].label,
        "marks": [{"line": mark.line, "kind": mark.kind, "message": mark.message} for mark in checked.marks],
        "heat": heat,
        "said": "" if not count else "1 line is marked." if count == 1 else f"{count} lines are marked.",
        "tries": [one.record for one in draft.attempts[-1:]] if draft else [],
    }
