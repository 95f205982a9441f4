"""What came of a check, in HTML: the answer, what was found where, this against the rung, and the tries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from engine.history.history import Known, device_line
from engine.history.tables import COLUMNS
from engine.lab.checking import Checked
from engine.lab.marks import Mark
from engine.lectures.changes import values_of
from engine.records import Measurement
from engine.records.counters import COUNTERS, IN_TABLE, ON_LINES
from engine.records.words import STATUS_WORDS, size_text, text_of
from views.html import answer, lines
from views.html.parts import code_in
from views.lab.attempts import Try

NOTHING_YET = (
    '<p class="smallprint">Check compiles the source, runs it on the emulator, compares its answer, and marks what it '
    "finds at its line. Run does the same, and then times it on the GPU of this machine, if there is one.</p>"
)
MOST_MARKS = 12  # that are told beside the editor; the lines have all of them
_KINDS = {"error": "error", "warning": "warning", "finding": "found"}


def verdict(checked: Checked, order: str) -> str:
    """Whether it is right. A launch without a reference is not called right."""
    run = checked.measurement
    if run.check is None and run.counters is not None:
        found = run.reason or "Nothing says what is right: here are the first elements of the arrays."
        mood = "warn" if run.findings else ""
        return f'<div class="insideanswer {mood}"><b>Ran</b> {code_in(found)} · {escape(order)}, emulated</div>'
    return lines.answer(run, order, {})


def elements(checked: Checked) -> str:
    """The first elements of the answer; of a launch that nobody checked those of every array."""
    run = checked.measurement
    if run.check is None:
        return "".join(answer.array_html(one.name, one.dtype, one.count, one.first) for one in checked.arrays)
    return answer.strip_html(run)


def told(marks: Sequence[Mark]) -> str:
    """The marks as a list, each with the way to its line."""
    rows = "".join(
        f'<li class="{mark.kind}"><a href="#L{mark.line}">line {mark.line}</a> <b>{_KINDS[mark.kind]}</b> '
        f"{code_in(mark.message)}</li>"
        for mark in sorted(marks, key=lambda mark: mark.kind == "warning")[:MOST_MARKS]
    )
    more = f"<li>and {len(marks) - MOST_MARKS} more at their lines</li>" if len(marks) > MOST_MARKS else ""
    return f'<ul class="drafttold">{rows}{more}</ul>' if rows else ""


def refused(ran: Measurement | None) -> str:
    """Why the GPU has no time; "" where it has, or was not asked."""
    if ran is None or ran.status in ("ok", "hazard"):
        return ""
    return f'<div class="insideanswer bad"><b>{escape(STATUS_WORDS[ran.status])}</b> {code_in(ran.reason or "")}</div>'


def log(run: Measurement) -> str:
    """The compiler's whole log, on demand."""
    if not run.log:
        return ""
    return f"<details class='draftlog'><summary>The whole log</summary><pre>{escape(run.log)}</pre></details>"


def beside(mine: Measurement, ran: Measurement | None, rung: Measurement | None, known: Known | None, name: str) -> str:
    """Counts and time, this against the rung that it came from; alone where it came from none."""
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
    body = "".join(
        f"<tr><td>{escape(title)}</td>{f'<td>{was}</td>' if name else ''}<td>{now or '–'}</td>"
        f"{f'<td>{factor}</td>' if name else ''}</tr>"
        for title, was, now, factor in rows
    )
    heads = f"<th>{escape(name)}</th><th>mine</th><th>mine / {escape(name)}</th>" if name else "<th>mine</th>"
    counted = f"Counted at N = {size_text(mine.choice.n)}, emulated"
    where = f'<p class="smallprint">Time: {escape(device_line(timed))}</p>' if timed else ""
    return (
        f'<table class="hardware"><thead><tr><th>{counted}</th>{heads}</tr></thead><tbody>{body}</tbody></table>{where}'
    )


def _factor(before: float | None, after: float | None) -> str:
    if before is None or after is None or before == after:
        return "=" if before == after else ""
    return f"{text_of('step', after / before)}" if before and after else ""


def tries_html(tries: Iterable[Try], zone: str | None) -> str:
    """A small ladder of one's own, the newest first; a label brings its source back into the editor."""
    rows = [_row(one, zone, current=not place) for place, one in enumerate(reversed(list(tries)))]
    if not rows:
        return '<p class="smallprint">Every check becomes a rung of a ladder of your own.</p>'
    heads = "".join(f'<th title="{escape(COLUMNS[key].meaning)}">{escape(COLUMNS[key].title)}</th>' for key in IN_TABLE)
    return (
        '<div class="scroll"><table class="ladder tries"><thead><tr><th class="text">Try</th><th class="text">When</th>'
        f'<th class="text">Correct?</th><th>N</th>{heads}<th>Time</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(one: Try, zone: str | None, current: bool) -> str:
    counted = "".join(f"<td>{escape(text_of(key, one.counters.get(key))) or '<i>·</i>'}</td>" for key in IN_TABLE)
    time = escape(text_of("time_us", one.time_us)) or "<i>–</i>"
    at = escape(answer.when_ran(one.utc, zone).removeprefix("run ")) if one.utc else ""
    return (
        f'<tr class="{"current" if current else ""}">'
        f'<td class="rung"><a href="#T{one.number}" title="Bring this source back">{one.label}</a></td>'
        f'<td class="text">{at}</td><td class="text status {one.status if one.checked else ""}" '
        f'title="{escape(one.said)}">{escape(one.verdict)}</td><td>{escape(size_text(one.n))}</td>{counted}'
        f'<td title="{escape(one.device or "")}">{time}</td></tr>'
    )
