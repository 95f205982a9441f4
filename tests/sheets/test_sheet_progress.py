"""Progress is kept by student and sheet, and told to who gives the lab."""

from __future__ import annotations

import json

import pytest

from engine.commands import main
from engine.sheets import progress
from engine.sheets.folder import load
from engine.sheets.sheet import Verdict
from engine.store import database
from engine.store import progress as store

SHEET = load("heidelberg-2")


def test_nobody_has_begun(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.of("anna", SHEET) == progress.Progress({})
    assert main(["progress"]) == 0 and "Nobody has begun yet." in capsys.readouterr().out


def test_a_passed_check_stays_passed_and_the_last_attempt_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    progress.remember("anna", SHEET, [Verdict("answer", True, "Yes."), Verdict("findings", True, "Yes.")])
    passed_at = progress.of("anna", SHEET).times["answer"]
    progress.remember("anna", SHEET, [Verdict("answer", False, "No."), Verdict("findings", None, "No GPU.")])
    anna = progress.of("anna", SHEET)
    assert anna.checks == {"answer": True, "findings": True} and anna.last == {"answer": False, "findings": None}
    assert anna.times["answer"] == passed_at <= anna.tried
    assert main(["progress", SHEET.name]) == 0
    by_check = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[0] for line in by_check] == [check.name for check in SHEET.checks]
    assert by_check[0][1].rstrip(",") == "passed" and "missed," in by_check[0]


def test_a_state_of_an_earlier_version_is_read() -> None:
    store.save("anna", SHEET.name, "answer", "passed")
    progress.remember("anna", SHEET, [Verdict("answer", False, "No.")])
    assert progress.of("anna", SHEET).checks == {"answer": True}


def test_a_damaged_store_is_said_with_an_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    progress.remember("anna", SHEET, [Verdict("answer", True, "Yes.")])
    database.close()
    (database.folder() / database.FILE).write_bytes(b"no database" * 999)
    assert main(["progress", "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert record["status"] == "failed" and database.FILE in record["reason"]


def test_the_best_result_counts_and_hints_open_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
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
    assert [(row["student"], row["passed"], row["of"]) for row in rows] == [
        ("anna", 1, len(SHEET.checks)),
        ("ben", 0, len(SHEET.checks)),
    ]
    assert main(["progress"]) == 0
    assert f"anna                 1 of {len(SHEET.checks)}, 3 hints" in capsys.readouterr().out
    assert main(["progress", "homework"]) == 2


def test_what_a_sheet_no_longer_asks_is_not_counted() -> None:
    progress.remember("anna", SHEET, [Verdict("gone", True, "Yes.")])
    assert progress.of("anna", SHEET).passed == 0
