"""Every sheet of the program: its start misses something, its solution passes, and each wrong answer is rejected by the
check that is meant for it. They grow from the folder: a new sheet is tested at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.backends.measure import failed, measure
from engine.catalogue import LADDERS, default_choice, kernel_named
from engine.history import history
from engine.lab.checking import check_own
from engine.plan import settle
from engine.records import Choice, CompileError, Measurement, NotRunnable, RunFailed
from engine.sheets.folder import load, names, recorded
from engine.sheets.judging import Run, Submission, passed, verdicts
from engine.sheets.sheet import Faster, Question, RightAnswer, Sheet, Verdict
from engine.sheets.texts import of_rung

SAMPLE = ("crovella-row-sums",)
SHEETS = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.thorough) for name in names()]


def run_of(sheet: Sheet) -> Run:
    def run(choice: Choice) -> Measurement:
        if sheet.launch is not None:
            setup = replace(sheet.launch, block=(str(choice.block_size), *sheet.launch.block[1:]))
            return check_own(setup, choice.n, str(choice.source), "mine.cu", choice.schedule).measurement
        try:
            return measure(settle(choice))
        except (NotRunnable, CompileError, RunFailed) as error:
            return failed(choice, error)

    return run


def right_answers(sheet: Sheet) -> dict[str, str]:
    return {question.name: str(question.answer) for question in sheet.questions}


def judged(sheet: Sheet, text: str, *names: str) -> Iterator[Verdict]:
    """The verdicts on a file with the right answers beside it, of all checks or of those that are named."""
    checks = tuple(check for check in sheet.checks if check.name in names or not names)
    submission = Submission(text or None, right_answers(sheet), f"{sheet.name}.cu")
    return verdicts(replace(sheet, checks=checks), submission, run_of(sheet))


@pytest.mark.parametrize("name", SHEETS)
def test_the_start_misses_something_and_the_solution_nothing(name: str) -> None:
    """Of a sheet with a file it is the file that misses something, whatever is answered."""
    sheet = load(name)
    if sheet.function:
        missed = next((verdict for verdict in judged(sheet, sheet.start) if verdict.passed is False), None)
        assert missed is not None and missed.sentence[-1] in ".?`"
    solved = list(judged(sheet, sheet.solution))
    assert passed(solved), [verdict.sentence for verdict in solved if verdict.passed is False]


@pytest.mark.parametrize("name", SHEETS)
def test_a_wrong_answer_is_rejected_by_the_check_that_is_meant_for_it(name: str) -> None:
    sheet = load(name)
    for wrong in sheet.wrong:
        (verdict,) = judged(sheet, wrong.text, wrong.check)
        assert verdict.passed is False, (wrong.name, verdict)
        assert "so its counts say nothing" not in verdict.sentence, wrong.name


@pytest.mark.parametrize("name", names())
def test_a_sheet_is_complete(name: str) -> None:
    """It has words, hints and a solution; its own wrong answers reach every check that a file can miss here."""
    sheet = load(name)
    assert sheet.text and sheet.title and sheet.lecture and sheet.hints and sheet.afterwards
    texts = [sheet.text, sheet.afterwards, *sheet.hints, *(check.aim for check in sheet.checks)]
    assert all(text.rstrip()[-1] in ".?!`*)" for text in texts), "a text ends as a sentence does"
    meant = {wrong.check for wrong in sheet.wrong}
    for check in sheet.checks:
        if isinstance(check, Question):
            assert all(check.choices.count(choice) == 1 for choice in check.choices)
        elif isinstance(check, RightAnswer):
            assert len(check.runs.n) > 1 and len([*check.runs.of(str(sheet.function), None, None, "emulator")]) > 2
            assert check.name in meant
        elif not isinstance(check, Faster):
            assert check.name in meant or not sheet.exercise, f"no wrong answer is meant for {check.name}"


@pytest.mark.thorough
def test_what_is_to_be_faster_was_faster_where_it_was_recorded() -> None:
    """A ratio that a sheet asks for is one that its solution reached on a named GPU, where it is a kernel of ours."""
    found = 0
    for sheet in map(load, names()):
        for check in sheet.checks:
            if isinstance(check, Faster) and sheet.solution == of_rung(*[kernel_named(str(sheet.kernel))] * 2):
                (choice,) = check.runs.of(str(sheet.kernel), None, None, "gpu")
                own, other = (_recorded(choice, kernel) for kernel in (choice.kernel, check.against))
                assert other / own >= check.times, sheet.name
                found += 1
    assert found


def _recorded(choice: Choice, kernel: str) -> float:
    usual = default_choice(kernel)
    wanted = Choice(kernel, choice.n, choice.block_size, dtype=choice.dtype, cache=usual.cache, device="gpu")
    measurement = history.recorded_for(settle(wanted))
    assert measurement is not None and measurement.time_us is not None
    return measurement.time_us


def test_every_ladder_has_a_sheet() -> None:
    ladders = {name for name in LADDERS if not name.startswith("all-")}
    assert ladders == {load(name).ladder for name in names()} - {""}


@pytest.mark.thorough
def test_whatever_a_sheet_says_of_today_was_recorded() -> None:
    for sheet in map(load, names()):
        assert len(recorded(sheet).sentences) == len(sheet.today), sheet.name


def test_the_lectures_own_exercises_come_first() -> None:
    listed = [load(name).exercise for name in names()]
    assert listed == sorted(listed, reverse=True) and any(listed)
