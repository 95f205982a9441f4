"""HTML of the page Inside: the source as a heat map, the answer, before and after, and the GPU's own counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from engine.history.profiles import Hardware
from engine.history.tables import ASSEMBLED
from engine.lectures.changes import Change, line_values, shares
from engine.records import Caveat, Check, Finding, Measurement
from engine.records.counters import COUNTERS, FINDINGS
from engine.records.words import STATUS_WORDS, source_lines, text_of, wrong_text
from views.html.source import coloured_lines, header_length
from views.html.table import code_in, table
from views.html.terms import mark_terms

_PREDICATED = (
    "Instructions and branches are counted in the PTX. What the GPU runs is made from it, and may predicate instead of "
    "branching: its own counts differ."
)
_ASSEMBLED = f"Shared memory is counted {ASSEMBLED}, which joins neighbouring loads and stores into wider ones."
_KINDS = {"shared-race": "race", "global-race": "race", "warp-race": "race in a warp",
          "divergent-barrier": "divergent barrier", "uninitialised-shared": "not initialised",
          "uninitialised-heap": "not initialised", "uninitialised-local": "not initialised",
          "uninitialised-variable": "not initialised", "division-by-zero": "division by zero",
          "address-of-another": "another's address",
          "use-after-free": "used after free", "bad-free": "wrong free",
          "unawaited-copy": "copy not waited for", "stale-read": "stale cache", "not-restored": "not set to zero",
          "changed-input": "input changed",
          "out-of-bounds": "out of bounds", "misaligned": "misaligned", "step-limit": "endless"}  # fmt: skip
_HEADS = {"fall": "This rung is meant to lower", "rise": "This rung raises",
          "stay": "This rung leaves unchanged"}  # fmt: skip
_IN_PLACE = 1  # findings shown below a line; a click shows the others


def lines_html(
    text: str, file_name: str, counter: str, run: Measurement | None, colours: Mapping[int, str] | None
) -> str:
    """Return the source below its header comment, with the counter's value and heat at each executed line.

    Findings of the run stand below their line, with a link to the other line. `colours`: a mark at each line's number.
    """
    values = line_values(run, counter) if run else {}
    heats, findings = shares(values, counter), run.findings if run else ()
    lines = source_lines(text)
    start = header_length(lines)
    told = _by_line(findings)
    others = {f.other_line: f.line for f in findings if f.other_line and f.other_line != f.line}
    rows = []
    for number, code in enumerate(coloured_lines(text)[start:], start + 1):
        value = values.get(number)
        said = text_of(counter, value) if value else ""
        chip = f'<i style="background:{colours[number]}"></i>' if colours and number in colours else ""
        partner = others.get(number)
        back = f'<a class="partner" href="#L{partner}">with line {partner}</a>' if partner else ""
        marks = "found" if number in told or number in others else ""
        heat = f"--heat:{heats.get(number, 0.0):.3f}"
        rows.append(
            f'<div id="L{number}" class="line {marks}" style="{heat}"><span class="number">{chip}{number}</span>'
            f'<span class="value">{said}</span>'
            f'<span class="code" style="--in:{_indent(lines[number - 1])}">{code or " "}</span>{back}</div>'
        )
        rows.append(_told(told.get(number, [])))
    nowhere = ": none in this rung" if run and run.counters is not None and not any(values.values()) else ""
    where = (
        ", of the whole run, not counted by line"
        if COUNTERS[counter].whole_run
        else f" at each line, emulated{nowhere}"
    )
    words = f"<b>{escape(COUNTERS[counter].label)}</b>{where}"
    notes = (how_counted(counter), *_caveats(counter, run.caveats if run else ()))
    note = "".join(f"<p>{escape(words)}</p>" for words in notes if words)
    if run is not None and run.cpu is not None:
        words, note = "On one thread of the CPU, where nothing is counted", ""
    about = f"<div><p>{words}</p>{note}<p><code>{escape(file_name)}</code></p></div>"
    legend = f'<div class="legend"><span class="ramp"></span>{about}</div>'
    scroller = f'<div class="lines" tabindex="0" role="region" aria-label="Source">{"".join(rows)}</div>'
    return f'<div class="source inside">{scroller}{legend}</div>'


def how_counted(counter: str) -> str:
    """Return a sentence that names the counted code; "" if that makes no difference."""
    row = COUNTERS[counter]
    return _PREDICATED if row.in_ptx else _ASSEMBLED if row.assembled else ""


def _caveats(counter: str, caveats: Sequence[Caveat]) -> list[str]:
    """Return the caveats of a counter that has a value at each line."""
    return [] if COUNTERS[counter].whole_run or counter == FINDINGS else [caveat.message for caveat in caveats]


def _indent(line: str) -> int:
    """Return the indentation of the continuation of a wrapped line, in characters."""
    return len(line) - len(line.lstrip()) + 4


def _by_line(findings: Sequence[Finding]) -> dict[int, list[Finding]]:
    found: dict[int, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.line or finding.other_line or 0, []).append(finding)
    return found


def _told(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    told = [
        f'<div class="finding"><b>{mark_terms(escape(_KINDS.get(f.kind, f.kind)))}</b> {_sentence(f)}</div>'
        for f in findings
    ]
    more = told[_IN_PLACE:]
    if more:
        told[_IN_PLACE:] = [f"<details><summary>{len(more)} more at this line</summary>{''.join(more)}</details>"]
    return "".join(told)


def _sentence(finding: Finding) -> str:
    """Return the finding's sentence, with a link to the other line."""
    words = code_in(finding.message)
    other = finding.other_line
    if other and other != finding.line:
        words = words.replace(f"at line {other}", f'at <a href="#L{other}">line {other}</a>', 1)
    return words


def answer(run: Measurement, schedule: str, seen: Mapping[str, Measurement], hint: str = "") -> str:
    """Return whether the answer is right under this schedule, and the answers under the other tried schedules.

    `hint`: what to try if there is no answer.
    """
    found = run.check
    if found is None:
        word = STATUS_WORDS[run.status]
        said = f"{run.reason or ''} {hint}".strip()
        return f'<div class="insideanswer bad"><b>{escape(word)}</b> {code_in(said)}</div>'
    exact = found.error_bound == 0
    right = run.status != "wrong"
    told = f"{_number(found.result)} {'=' if exact else '≈'} {_number(found.expected)}"
    if right and found.count:  # one element of an array says little: the note says how all were checked
        note = str(found.note or "").partition(". ")[0].removeprefix("Checked: ")
        told = code_in(note.rstrip(".")) or told
    if not right:
        told = escape(wrong_text(found))
    head = f"<b>{'✓ Correct' if right else '✗ Wrong'}</b> {told}"
    lucky = ", but only by luck: see the marked lines" if run.status == "hazard" else ""
    told = ""
    if len(seen) > 1:
        cells = "".join(_seen(name, m.check) for name, m in seen.items() if m.check)
        told = f'<div class="seen">{cells}</div>'
    mood = "bad" if not right else "warn" if lucky else "good"
    how = "on one thread of the CPU" if run.cpu else f"{escape(schedule)}, emulated"
    return f'<div class="insideanswer {mood}">{head}{lucky} · {how}{told}</div>'


def _seen(order: str, checked: Check) -> str:
    return f'<span class="{"" if checked.ok else "off"}">{escape(order)} <b>{_number(checked.result)}</b></span>'


def printed(lines: Sequence[str]) -> str:
    """Return the kernel's printf output; "" without any."""
    if not lines:
        return ""
    count = "1 line" if len(lines) == 1 else f"{len(lines):,} lines"
    text = escape("\n".join(lines))
    return f'<div class="kernelprinted"><b>printf</b> {count}, emulated<pre>{text}</pre></div>'


def _number(value: float | int | None) -> str:
    if value is None:
        return "none"
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
    return f"{value:,.0f}" if whole else f"{value:.7g}"


def before_after(change: Change, labels: tuple[str, str], titles: tuple[str, str], meant: str | None, why: str) -> str:
    """Return two big numbers with bars, the previous rung's and this rung's, and the change in a sentence.

    `meant`: "fall", "rise" or "stay" for a counter that the rung is meant to change; None for another one.
    """
    most = max(change.before or 0, change.after or 0)
    rows = []
    for label, title, value, now in zip(labels, titles, (change.before, change.after), (False, True), strict=True):
        bar = f'<i style="width:{100 * value / most:.2f}%"></i>' if value else ""
        rows.append(
            f'<div class="side {"now" if now else ""}"><label><b>{escape(label)}</b> {escape(title)}</label>'
            f"<strong>{text_of(change.counter, value) or '–'}</strong>"
            f'<div class="bar">{bar}</div></div>'
        )
    head = _HEADS.get(meant or "", "The chosen counter, from rung to rung")
    other = meant and change.direction and change.direction != meant
    aside = " Here it goes the other way: choose the lecture's own N, and lockstep warps." if other else ""
    reason = f'<p class="why"><b>Fixes</b> {escape(why)}</p>' if why and meant else ""
    how = how_counted(change.counter)
    note = f'<p class="smallprint">{escape(how)}</p>' if how else ""
    return (
        f'<section class="change"><h3>{head}: {escape(change.title)} <small>emulated, whole run</small></h3>'
        f'<div class="sides">{"".join(rows)}</div><p class="verdict">{escape(change.sentence + aside)}</p>'
        f'<p class="why">{escape(COUNTERS[change.counter].meaning)}</p>{reason}{note}'
        "</section>"
    )


def _code(language: str, name: str) -> str:
    """Return the code that an instruction count belongs to: the GPU runs other instructions than the PTX."""
    return f"<small>{language}</small> " if COUNTERS[name].in_ptx else ""


def hardware(
    rows: Sequence[tuple[str, float | None, float | None]], of: Hardware, caveats: Sequence[Caveat] = ()
) -> str:
    """Return the emulator's counters beside a GPU profiler's for the same choice, with reasons for differences."""
    cells = [
        [
            escape(COUNTERS[name].title),
            _code("PTX", name) + text_of(name, ours),
            _code("SASS", name) + text_of(name, theirs),
        ]
        for name, ours, theirs in rows
    ]
    return table(
        ["Whole run", "emulated", f"{escape(of.device)}, recorded {escape(of.date)}"], cells, kind="hardware"
    ) + "".join(f'<p class="smallprint">{escape(caveat.message)}</p>' for caveat in caveats)
