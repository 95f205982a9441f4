"""What came of the checks, a line each, in HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from engine.sheets.progress import Progress
from engine.sheets.sheet import Check, Question, Sheet, Verdict
from views.html.code import code_in

_MARKS = {
    "ok": ("✓", "passed"),
    "bad": ("✗", "missed"),
    "none": ("–", "not checked here"),
    "todo": ("·", "not checked yet"),
}
_OF = {True: "ok", False: "bad", None: "none"}


def rows(sheet: Sheet, found: Mapping[str, Verdict], before: Progress, running: bool) -> str:
    """All checks but the questions: what this press found, else what the last one did."""
    told = [
        _row(check, found.get(check.name), before, running) for check in sheet.checks if not isinstance(check, Question)
    ]
    return f'<ul class="sheetchecks">{"".join(told)}</ul>' if told else "<span></span>"


def answer_told(verdict: Verdict | None) -> str:
    """What came of an answer; nothing before it was checked."""
    if verdict is None:
        return "<span></span>"
    mood = _OF[verdict.passed]
    return f'<div class="sheetanswer {mood}">{_mark(mood)} {code_in(verdict.sentence)}</div>'


def summary(sheet: Sheet, found: Sequence[Verdict], before: Progress) -> str:
    """How many checks are passed."""
    states = {**before.checks, **{verdict.check: verdict.passed for verdict in found}}
    passed = sum(state is True for state in states.values())
    left = sum(states.get(check.name, False) is None for check in sheet.checks)
    done = passed + left == len(sheet.checks)
    more = f", {left} not checked here" if left else ""
    return f'<p class="sheetsum {"ok" if done else ""}">{passed} of {len(sheet.checks)} passed{more}</p>'


def _row(check: Check, verdict: Verdict | None, before: Progress, running: bool) -> str:
    if verdict is not None:
        mood, said = _OF[verdict.passed], code_in(verdict.sentence)
        if verdict.line:
            said = f'<a href="#L{verdict.line}">line {verdict.line}</a> · {said}'
    elif check.name in before.checks and not running:
        mood, said = _OF[before.checks[check.name]], "when it was checked last"
    else:
        mood, said = "todo", ""
    told = f"<div>{said}</div>" if said else ""
    return f'<li class="{mood}">{_mark(mood)} <span>{code_in(check.aim)}</span>{told}</li>'


def _mark(mood: str) -> str:
    sign, word = _MARKS[mood]
    return f'<b role="img" aria-label="{escape(word)}" title="{escape(word)}">{sign}</b>'
