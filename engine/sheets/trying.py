"""Try a sheet on its own files: the start must miss a check, the solution none, a wrong submission the check it
names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.sheets.judging import Run, Submission, passed, verdicts
from engine.sheets.sheet import Sheet, Verdict

START, SOLUTION = "the start", "the solution"
SEED = 0  # of the drawn runs, so every trial of a sheet runs the same ones


@dataclass(frozen=True)
class Trial:
    """The result of one file of the sheet. `name`: START, SOLUTION or that of a wrong submission; `good`: it passed or
    was rejected, as it must be; `sentence`: why it was rejected, or the sheet's fault."""

    name: str
    good: bool
    sentence: str


def trials(sheet: Sheet, run: Run) -> Iterator[Trial]:
    """Yield the trials of start, solution and wrong submissions, each as soon as it is known. `run`: as for
    `verdicts`."""
    if sheet.function:
        missed = next(_missed(sheet, sheet.start, run), None)
        yield Trial(START, missed is not None, missed.sentence if missed else "It passes every check of a file.")
    missed = next(_missed(sheet, sheet.solution, run, questions=True), None)
    yield Trial(SOLUTION, missed is None, f"{missed.check}: {missed.sentence}" if missed else "It passes.")
    for wrong in sheet.wrong:
        checks = tuple(check for check in sheet.checks if check.name == wrong.check)
        missed = next(_missed(replace(sheet, checks=checks), wrong.text, run), None)
        yield Trial(wrong.name, missed is not None, missed.sentence if missed else f"It passes {wrong.check}.")


def _missed(sheet: Sheet, text: str, run: Run, questions: bool = False) -> Iterator[Verdict]:
    """Yield the missed checks of a text; its questions get the right answers, or are left out."""
    answers = {question.name: str(question.answer) for question in sheet.questions}
    checks = sheet.checks if questions else tuple(check for check in sheet.checks if check not in sheet.questions)
    submission = Submission(text or None, answers, f"{sheet.name}.cu")
    found = verdicts(replace(sheet, checks=checks), submission, run, seed=SEED)
    return (verdict for verdict in found if not passed([verdict]))
