"""The panel of a sheet: its text, its checks with their verdicts, its questions, hints and solution."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from secrets import randbits

import streamlit as st

from engine.records import NotRunnable
from engine.records.words import many
from engine.service import service
from engine.sheets import progress
from engine.sheets.folder import recorded
from engine.sheets.grading import answer_of, refused_answer, with_answers
from engine.sheets.grading import submit as submit_run
from engine.sheets.judging import Answer, Asked, Estimation, Submission, judging
from engine.sheets.progress import Progress
from engine.sheets.sheet import Check, Question, Sheet, Verdict
from views.access import points, visitor
from views.editor import component
from views.html.table import code_in
from views.shared import work
from views.shared.slots import NOTHING, Slot
from views.shared.work import Work
from views.sheets import menu

_MARKS = {
    "ok": ("✓", "passed"),
    "bad": ("✗", "missed"),
    "none": ("–", "not checked here"),
    "todo": ("·", "not checked yet"),
}
_OF = {True: "ok", False: "bad", None: "none"}


def check_rows(sheet: Sheet, found: Mapping[str, Verdict], before: Progress, running: bool) -> str:
    """Return the list of checks without the questions: with the verdicts of this press, or those of the last one."""
    items = [
        _row(check, found.get(check.name), before, running) for check in sheet.checks if not isinstance(check, Question)
    ]
    return f'<ul class="sheetchecks">{"".join(items)}</ul>' if items else "<span></span>"


def answer_verdict(verdict: Verdict | None) -> str:
    """Return the verdict of an answer; an empty element before its check."""
    if verdict is None:
        return "<span></span>"
    mood = _OF[verdict.passed]
    return f'<div class="sheetanswer {mood}">{_mark(mood)} {code_in(verdict.sentence)}</div>'


def checks_summary(sheet: Sheet, found: Sequence[Verdict], before: Progress) -> str:
    """Return how many checks are passed, by this press or an earlier one."""
    states = {**before.checks, **{one.check: one.passed for one in found if before.checks.get(one.check) is not True}}
    passed = sum(state is True for state in states.values())
    left = sum(states.get(check.name, False) is None for check in sheet.checks)
    done = passed + left == len(sheet.checks)
    earlier = sum(one.passed is False and states[one.check] is True for one in found)
    more = (f", {left} not checked here" if left else "") + (f", {earlier} of them earlier" if earlier else "")
    return f'<p class="sheetsum {"ok" if done else ""}">{passed} of {len(sheet.checks)} passed{more}</p>'


def used_up(sheet: Sheet, known: Progress) -> bool:
    """Return whether the course allows no further attempt."""
    return sheet.rules.attempts is not None and known.attempts >= sheet.rules.attempts


def rules_text(sheet: Sheet, known: Progress, returned: str) -> str:
    """Return the course's rules for the sheet: until when, what counts later, and how many attempts are left.
    `returned`: what became of the points that a learning platform gets."""
    rules, said = sheet.rules, []
    if rules.deadline is not None:
        day = f"{rules.deadline:%-d %B %Y, %H:%M} ({rules.deadline:%Z})"
        later = "does not count" if not rules.late else f"counts {rules.late:.0%}"
        said.append(f"The deadline was {day}: what you pass now {later}." if rules.is_late() else f"Due {day}.")
    if rules.attempts is not None:
        left = rules.attempts - known.attempts
        said.append(f"{many(left, 'attempt')} left of {rules.attempts}." if left > 0 else
                    f"Your {many(rules.attempts, 'attempt')} are used. What you passed stays passed.")  # fmt: skip
    said += [escape(returned)] if returned else []
    return f'<p class="smallprint">{" ".join(said)}</p>' if said else NOTHING


def _row(check: Check, verdict: Verdict | None, before: Progress, running: bool) -> str:
    if verdict is not None:
        mood, said = _OF[verdict.passed], code_in(verdict.sentence)
        if verdict.line:
            said = f'<a href="#L{verdict.line}">line {verdict.line}</a> · {said}'
    elif check.name in before.last and not running:
        mood, said = _OF[before.last[check.name]], "at the last check"
    else:
        mood, said = "todo", ""
    below = f"<div>{said}</div>" if said else ""
    return f'<li class="{mood}">{_mark(mood)} <span>{code_in(check.aim)}</span>{below}</li>'


def _mark(mood: str) -> str:
    sign, word = _MARKS[mood]
    return f'<b role="img" aria-label="{escape(word)}" title="{escape(word)}">{sign}</b>'


ASKED = "sheet asked"  # in the session until the script has seen a press: the browser's number of the press
_ANSWERS = "answers to sheets"


def name_of(sheet: Sheet) -> str:
    """Return the name of a sheet's work in `views.shared.work`."""
    return f"work on sheet {sheet.name}"


def start(sheet: Sheet, text: str, file: str, number: int = 0) -> None:
    """Start all checks in place of the sheet's unfinished ones, if the course allows one more attempt."""
    if not progress.begin_attempt(menu.owner(), sheet):
        return
    submission, number = submission_of(sheet, text, file, answers(sheet)), number or last_press(sheet) + 1
    work.begin(name_of(sheet), lambda session: SheetWork(sheet, submission, session, number))


def current(sheet: Sheet) -> SheetWork | None:
    """Return the work of the last press, finished or not."""
    made = work.current(name_of(sheet))
    return made if isinstance(made, SheetWork) else None


def last_press(sheet: Sheet) -> int:
    """Return the number of the last press that arrived."""
    made = current(sheet)
    return made.number if made else 0


def answers(sheet: Sheet) -> dict[str, str]:
    """Return the answers typed on this page, with the stored ones for the other questions."""
    typed: dict[str, str] = st.session_state.setdefault(_ANSWERS, {}).setdefault(sheet.name, {})
    for question in sheet.questions:
        value = st.session_state.get(_key(sheet, question))
        if value is not None:
            typed[question.name] = str(value)
    return {**progress.of(menu.owner(), sheet).answers, **typed}


def show(sheet: Sheet, draft: str, text: str) -> None:
    """Draw the panel and follow its checks. `draft` and `text`: of the editor; "" for a sheet without a file."""
    owner = menu.owner()
    before = progress.of(owner, sheet)
    st.html(f'<h2 class="sheettitle">{code_in(sheet.title)}</h2><p class="smallprint">{code_in(sheet.kind)}</p>')
    st.markdown(sheet.text)
    with st.container(horizontal=True, vertical_alignment="center", key="sheetbar"):
        st.button("Check all", key="check_sheet", type="primary", icon=":material/fact_check:", on_click=ask,
                  disabled=used_up(sheet, before), help="All checks, one after the other (R)")  # fmt: skip
        summary = Slot("sheet summary")
    rules = Slot("sheet rules")
    rows = Slot("sheet rows")
    verdicts_at = {question.name: _question(sheet, question) for question in sheet.questions}
    marks = st.container(key="sheetmarks")
    sent: list[object] = []

    def draw() -> None:
        made = current(sheet)
        verdicts = list(made.found) if made else []
        found = {verdict.check: verdict for verdict in verdicts}
        with work.RENDER:
            summary.html(checks_summary(sheet, verdicts, before))
            rules.html(rules_text(sheet, before, points.said(visitor.owner(), sheet)))
            rows.html(check_rows(sheet, found, before, running=made is not None and not made.finished))
            for question in sheet.questions:
                verdicts_at[question.name].html(answer_verdict(found.get(question.name)))
            if made is not None and draft and made.finished and (now := _marks(made, draft)) not in sent:
                sent.append(now)
                with marks:
                    component.mark(now, f"sheet marks {len(sent)}")

    work.follow(name_of(sheet), draw)
    _keep(sheet, owner)
    draw()
    file = f"{sheet.name}{'.cu' if sheet.function else '.txt'}"
    st.download_button("Download to hand in", with_answers(text, answers(sheet)), file, key="hand_in",
                       icon=":material/download:", on_click="ignore",
                       help="The file with your answers above it, for your lecturer to grade")  # fmt: skip
    _hints(sheet, owner)
    _solution(sheet, owner)


def ask() -> None:
    """Ask for all checks in the next run of the script. For callbacks."""
    st.session_state[ASKED] = 0


def _question(sheet: Sheet, question: Question) -> Slot:
    """Show a question with the known answer; return the place of its verdict."""
    key, known = _key(sheet, question), answers(sheet).get(question.name)
    with st.container(key=f"question {question.name}"):
        if question.choices:
            letters = list(question.lettered)
            place = letters.index(known) if known in letters else None
            st.radio(question.aim, letters, place, key=key, format_func=question.lettered.__getitem__)
        else:
            if key not in st.session_state:
                st.session_state[key] = known or ""
            st.text_input(question.aim, st.session_state[key], key=key, placeholder="a number: 128, 2^20, 12.5")
        return Slot(f"answer to {question.name}")


def _key(sheet: Sheet, question: Question) -> str:
    return f"answer {sheet.name} {question.name}"


def _keep(sheet: Sheet, owner: str) -> None:
    """Store the verdicts of checks that have just ended."""
    made = current(sheet)
    if made is not None and made.finished and not made.stopped and not made.kept:
        made.kept = True
        progress.remember(owner, sheet, made.found, made.submission.answers)
        points.send(visitor.owner(), sheet, progress.of(owner, sheet))


def _hints(sheet: Sheet, owner: str) -> None:
    """Show the open hints, and a button for the next one."""
    opened = progress.of(owner, sheet).hints
    for number, hint in enumerate(sheet.hints[:opened], start=1):
        st.markdown(f"**Hint {number}.** {hint}")
    if opened < len(sheet.hints):
        st.button(f"Hint {opened + 1} of {len(sheet.hints)}", key="hint", icon=":material/lightbulb:",
                  on_click=progress.open_hint, args=(owner, sheet))  # fmt: skip


def _solution(sheet: Sheet, owner: str) -> None:
    """Show the solution to a student who has passed, or has opened all hints and asks for it."""
    known, due = progress.of(owner, sheet), sheet.rules.deadline
    if due is not None and not known.done(sheet) and not sheet.rules.is_late():
        st.caption("The solution opens when all checks are passed, or after the deadline and with all hints open.")
        return
    if not known.done(sheet) and not known.solution:
        if known.hints == len(sheet.hints):
            st.button("Show the solution", key="solution", icon=":material/lock_open:",
                      on_click=progress.open_solution, args=(owner, sheet))  # fmt: skip
        else:
            st.caption("The solution opens when all checks are passed, or all hints are open.")
        return
    with st.expander("The solution", expanded=True, key="sheetsolution"):
        if sheet.function:
            st.code(sheet.solution, language="cpp")
        for question in sheet.questions:
            right = f"{question.answer}) {question.lettered[str(question.answer)]}" if question.choices else (
                f"{question.answer:,.10g}")  # fmt: skip
            st.markdown(f"*{question.aim}*  \n**{right}** {question.because}")
        st.markdown(sheet.afterwards)
        today = recorded(sheet)
        if today.sentences:
            st.markdown(" ".join(today.sentences))
            st.caption(", ".join(today.origins))
        if sheet.ladder:
            st.page_link("views/ladder/page.py", label="The ladder of this sheet", icon=":material/stairs:",
                         query_params={"ladder": sheet.ladder})  # fmt: skip


def _marks(made: SheetWork, draft: str) -> Mapping[str, object]:
    """Return the editor's marks: see `views/editor/marks.js`."""
    lines: dict[int, Verdict] = {}
    for verdict in made.found:
        if verdict.line and verdict.passed is False:
            lines.setdefault(verdict.line, verdict)
    text = made.submission.text or ""
    return {
        "draft": draft,
        "number": made.number,
        "digest": zlib.crc32(text.encode()),
        "counter": "",
        "marks": [{"line": line, "kind": "finding", "message": one.sentence} for line, one in sorted(lines.items())],
        "heat": [],
        "said": "",
        "tries": [],
    }


class SheetWork(Work):
    """The checks of one press, one after the other. `found`: the verdicts so far; `number`: the browser's number of the
    press."""

    def __init__(self, sheet: Sheet, submission: Submission, session: str, number: int) -> None:
        super().__init__(session)
        self.sheet, self.submission, self.number = sheet, submission, number
        self.found: list[Verdict] = []
        self.kept = False  # in the progress
        self._judging = judging(sheet, submission, bool(service.gpus()), randbits(32))
        self._judge(None)

    def _counted(self) -> tuple[int, int]:
        return len(self.found), len(self.sheet.checks)

    def _judge(self, measurement: Answer | None) -> None:
        """Judge a run's measurement and the checks after it, up to the next run or the last verdict."""
        with suppress(StopIteration):
            while True:
                step = self._judging.send(measurement)
                if isinstance(step, Verdict):
                    self.found.append(step)
                    measurement = None
                    continue
                try:
                    self._run(step)
                    return
                except NotRunnable as refused:
                    measurement = refused_answer(step, refused)

    def _run(self, asked: Asked) -> None:
        """Start the run or the estimate of a choice. NotRunnable."""
        does = "Estimating its time" if isinstance(asked, Estimation) else "Running the kernel"
        submit = partial(submit_run, self.sheet, asked, self._session)
        self._start(f"{len(self.found) + 1} of {len(self.sheet.checks)}. {does}", submit,
                    lambda handle: self._judge(answer_of(self.sheet, handle, asked)))  # fmt: skip


def submission_of(sheet: Sheet, text: str, file: str, answers: Mapping[str, str]) -> Submission:
    """Return a page's submission; a sheet without a kernel has answers alone."""
    return Submission(text if sheet.function else None, answers, file)
