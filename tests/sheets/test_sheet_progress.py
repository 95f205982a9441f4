"""Progress is kept by student and sheet, and told to who gives the lab."""

from __future__ import annotations

import json

import pytest

from engine.commands import main
from engine.sheets import progress
from engine.sheets.folder import load
from engine.sheets.sheet import Verdict

SHEET = load("heidelberg-2")


def test_nobody_has_begun(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.of("anna", SHEET) == progress.Progress({})
    assert main(["progress"]) == 0 and "Nobody has begun yet." in capsys.readouterr().out


def test_the_last_check_counts_and_hints_open_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    progress.remember("anna", SHEET, [Verdict("answer", False, "No."), Verdict("compare", None, "No GPU.")])
    progress.remember("anna", SHEET, [Verdict("answer", True, "Yes.")])
    for _ in range(5):
        progress.open_hint("anna", SHEET)
    progress.open_solution("ben", SHEET)
    anna = progress.of("anna", SHEET)
    assert anna.checks == {"answer": True, "compare": None} and anna.passed == 1
    assert (anna.hints, anna.solution) == (len(SHEET.hints), False)
    assert progress.of_everybody(SHEET) == {"anna": anna, "ben": progress.Progress({}, 0, True)}
    assert main(["progress", SHEET.name, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["students"]
    assert [(row["student"], row["passed"], row["of"]) for row in rows] == [("anna", 1, 4), ("ben", 0, 4)]
    assert main(["progress"]) == 0
    assert "anna                 1 of 4, 3 hints" in capsys.readouterr().out
    assert main(["progress", "homework"]) == 2


def test_what_a_sheet_no_longer_asks_is_not_counted() -> None:
    progress.remember("anna", SHEET, [Verdict("gone", True, "Yes.")])
    assert progress.of("anna", SHEET).passed == 0
