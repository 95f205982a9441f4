"""The results of a check as HTML: the answer, the marks, the comparison with the rung, and the attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import streamlit as st

from engine.history.history import Known, device_line
from engine.history.tables import COLUMNS, tile_text, tile_title
from engine.lab.marks import Mark
from engine.lab.own_launch import Checked
from engine.lab.templates import TEMPLATES
from engine.lectures.changes import values_of
from engine.records import Measurement
from engine.records.counters import COUNTERS, IN_TABLE, IN_TILES, ON_LINES
from engine.records.words import STATUS_WORDS, size_text, text_of
from views.html import answer, lines
from views.html.table import cell, code_in, heading, table
from views.lab.attempts import Attempt
from views.lab.drafts import RUNG, Kept

NOTHING_YET = (
    '<p class="smallprint">Check compiles the source, runs it on the emulator, compares its answer, and marks each '
    "finding at its line. On a machine with a GPU, Run does the same and then times it.</p>"
)
MOST_MARKS = 12  # listed beside the editor; the lines have all of them
MOST_STEPS = 8  # findings at which the debugger can be opened
_KINDS = {"error": "error", "warning": "warning", "finding": "found"}


def verdict(checked: Checked, order: str) -> str:
    """Return whether the answer is right. A launch without a reference is not called right."""
    run = checked.measurement
    if run.check is None and run.counters is not None:
        found = run.reason or "No reference to check against: here are the first elements of the arrays."
        mood = "warn" if run.findings else ""
        told = f'<div class="insideanswer {mood}"><b>Ran</b> {code_in(found)} · {escape(order)}, emulated</div>'
    else:
        told = lines.answer(run, order, {})
    return told + (f'<div class="insideanswer warn">{code_in(checked.remark)}</div>' if checked.remark else "")


def elements(checked: Checked) -> str:
    """Return the first elements of the answer; without a reference, of every array."""
    run = checked.measurement
    if run.check is None:
        return "".join(answer.array_html(one.name, one.dtype, one.count, one.first) for one in checked.arrays)
    return answer.strip_html(run)


def marks_html(marks: Sequence[Mark], said: str = "") -> str:
    """Return the marks as a list with links to their lines: a sentence stands there once, and not at all if the answer
    `said` it."""
    lines: dict[tuple[str, str], list[int]] = {}
    for mark in sorted(marks, key=lambda mark: mark.kind == "warning"):
        lines.setdefault((mark.kind, mark.message), []).append(mark.line)
    rows = "".join(
        f'<li class="{kind}">{", ".join(map(_link, at))} <b>{_KINDS[kind]}</b> '
        f"{'' if message.rstrip('.').lower() in said.lower() else code_in(message)}</li>"
        for (kind, message), at in list(lines.items())[:MOST_MARKS]
    )
    more = f"<li>and {len(lines) - MOST_MARKS} more at their lines</li>" if len(lines) > MOST_MARKS else ""
    return f'<ul class="drafttold">{rows}{more}</ul>' if rows else ""


def steps_html(run: Measurement, array: str) -> str:
    """Return buttons that open the debugger: at each finding, and at the write of the first wrong element."""
    buttons = []
    if run.status == "wrong" and run.check is not None and run.check.at is not None and array:
        buttons.append(
            f'<button type="button" data-press="step element">Who wrote {escape(array)}[{run.check.at:,}]?</button>'
        )
    seen = set()
    for number, one in enumerate(run.findings[:MOST_STEPS]):
        lines = [line for line in dict.fromkeys((one.line, one.other_line)) if line]
        if lines and tuple(lines) not in seen:
            seen.add(tuple(lines))
            words = f"line{'s' if len(lines) > 1 else ''} {' and '.join(map(str, lines))}"
            buttons.append(f'<button type="button" data-press="step finding {number}">Step through {words}</button>')
    return f'<div class="stepthrough">{"".join(buttons)}</div>' if buttons else ""


def _link(line: int) -> str:
    return f'<a href="#L{line}">line {line}</a>'


def gpu_refusal(ran: Measurement | None) -> str:
    """Return why the GPU has no time; "" if it has one, or was not asked."""
    if ran is None or ran.status in ("ok", "hazard"):
        return ""
    return f'<div class="insideanswer bad"><b>{escape(STATUS_WORDS[ran.status])}</b> {code_in(ran.reason or "")}</div>'


def log(run: Measurement) -> str:
    """Return the compiler's whole log, folded."""
    if not run.log:
        return ""
    return f"<details class='draftlog'><summary>The whole log</summary><pre>{escape(run.log)}</pre></details>"


def comparison(
    mine: Measurement, ran: Measurement | None, rung: Measurement | None, known: Known | None, name: str
) -> str:
    """Return the counts and the time of the draft beside those of its rung; alone without a rung."""
    if mine.counters is None:
        return ""
    own, theirs = values_of(mine), values_of(rung)
    rows = [
        (COUNTERS[counter].label, text_of(counter, theirs[counter]), text_of(counter, own[counter]),
         _factor(theirs[counter], own[counter]))
        for counter in ON_LINES
        if (own[counter] or theirs[counter]) and (counter in IN_TABLE or own[counter] != theirs[counter])
    ]  # fmt: skip
    timed = known.timed if known else None
    before, after = timed.time_us if timed else None, ran.time_us if ran else None
    if before is not None or after is not None:
        same = timed is not None and ran is not None and timed.device.get("name") == ran.device.get("name")
        rows.append(("Time", text_of("time_us", before), text_of("time_us", after),
                     text_of("step", before / after) if same and before and after else ""))  # fmt: skip
    if not rows:
        return ""
    cells = [[escape(title), was, now or "–", factor] if name else [escape(title), now or "–"]
             for title, was, now, factor in rows]  # fmt: skip
    counted = f"Counted at N = {size_text(mine.choice.n)}, emulated"
    heads = [counted, escape(name), "mine", f"mine / {escape(name)}"] if name else [counted, "mine"]
    where = f'<p class="smallprint">Time: {escape(device_line(timed))}</p>' if timed else ""
    return table(heads, cells, kind="hardware") + where


def _factor(before: float | None, after: float | None) -> str:
    if before is None or after is None or before == after:
        return "=" if before == after else ""
    return f"{text_of('step', after / before)}" if before and after else ""


def attempts_html(attempts: Iterable[Attempt], zone: str | None) -> str:
    """Return the attempts as a ladder, the newest first; a label brings its source back into the editor."""
    rows = [_row(one, zone) for one in reversed(list(attempts))]
    if not rows:
        return '<p class="smallprint">Every check becomes a rung of a ladder of your own.</p>'
    counted = [heading(escape(tile_title(names)), title=COLUMNS[names[0]].meaning) for names in IN_TILES]
    heads = [*(heading(title, "text") for title in ("Attempt", "When", "Correct?")), "N", *counted, "Time"]
    return table(heads, rows, marked=[0], kind="ladder tries")


def _row(one: Attempt, zone: str | None) -> list[str]:
    row = {**dict.fromkeys(IN_TABLE), "caveats": None, **one.counters}
    counted = [escape(tile_text(row, names)) or "<i>·</i>" for names in IN_TILES]
    time = escape(text_of("time_us", one.time_us)) or "<i>–</i>"
    at = escape(answer.when_ran(one.utc, zone).removeprefix("run ")) if one.utc else ""
    return [
        cell(f'<a href="#T{one.number}" title="Bring this source back">{one.label}</a>', "rung"),
        cell(at, "text"),
        cell(escape(one.verdict), f"text status {one.status if one.checked else ''}", title=one.said),
        escape(size_text(one.n)),
        *counted,
        cell(time, title=one.device or ""),
    ]


def my_drafts(found: Sequence[Kept], now: str) -> str:
    """Return the list of the reader's drafts, each a link. `now`: the number of the draft on the page."""
    if not found:
        return "<p>No draft is kept yet: a text is kept as soon as you change it.</p>"
    words = {RUNG: "of a rung", **{name: f"from {one.title}" for name, one in TEMPLATES.items()}}
    rows = []
    for one in found:
        when = answer.when_ran(one.utc, st.context.timezone).removeprefix("run ")
        here = " · on this page" if now in one.address else ""
        rows.append(
            f'<li><a href="./{escape(one.address)}" target="_self">{escape(one.file)}</a> {escape(words[one.start])}, '
            f"changed {escape(when)}{here}<br><code>{escape(one.line)}</code></li>"
        )
    return f'<ul class="mydrafts">{"".join(rows)}</ul>'
