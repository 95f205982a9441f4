"""A course gives a sheet a deadline and a number of attempts; progress says where students are stuck."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.commands import main
from engine.sheets import folder, progress
from engine.sheets.folder import ELSEWHERE, faults, load
from engine.sheets.grading import Grade, feedback, points
from engine.sheets.sheet import Verdict
from engine.sheets.submissions import Student
from tests.sentences import says

NAME = "heidelberg-2"


def course(monkeypatch: pytest.MonkeyPatch, path: Path, text: str) -> None:
    (path / "course.toml").write_text(text)
    monkeypatch.setenv(ELSEWHERE, str(path))
    folder._listed_at.cache_clear()


def moment(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")


def test_no_more_attempts_are_begun_than_the_course_allows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert all(progress.begin_attempt("anna", load(NAME)) for _ in range(5))  # without a course, any number
    course(monkeypatch, tmp_path, f"[{NAME}]\nattempts = 2\n")
    sheet = load(NAME)
    assert [progress.begin_attempt("ben", sheet) for _ in range(3)] == [True, True, False]
    assert progress.of("ben", sheet).attempts == 2
    assert not progress.begin_attempt("anna", sheet)


@pytest.mark.parametrize(("hours", "late", "share"), [(1, 0.5, 1.0), (-1, 0.5, 0.5), (-1, 0.0, 0.0)])
def test_what_is_passed_late_counts_as_the_course_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hours: float, late: float, share: float
) -> None:
    course(monkeypatch, tmp_path, f"[{NAME}]\ndeadline = {moment(hours)}\nlate = {late}\n")
    sheet = load(NAME)
    first = sheet.checks[0]
    progress.remember("anna", sheet, [Verdict(first.name, True, "Yes.")])
    known = progress.of("anna", sheet)
    assert known.points(sheet) == share * first.points
    assert known.is_late(sheet, first.name) == (hours < 0)


def test_a_submission_that_the_platform_calls_late_loses_points_if_there_is_a_deadline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = tuple(Verdict(check.name, True, "Yes.") for check in load(NAME).checks)
    grade = Grade("Ada", (), found, student=Student("Ada", late=True))
    assert points(load(NAME), grade) == load(NAME).points
    course(monkeypatch, tmp_path, f"[{NAME}]\ndeadline = {moment(-1)}\nlate = 0.5\n")
    assert points(load(NAME), grade) == load(NAME).points / 2
    assert "50% of the points count" in feedback(load(NAME), grade)


def test_progress_says_at_which_check_students_are_stuck(capsys: pytest.CaptureFixture[str]) -> None:
    sheet = load(NAME)
    first, second = (check.name for check in sheet.checks[:2])
    for owner in ("anna", "ben", "clara"):
        progress.begin_attempt(owner, sheet)
        progress.remember(owner, sheet, [Verdict(first, owner != "anna", "."), Verdict(second, False, ".")])
    progress.remember("clara", sheet, [Verdict(second, True, "Yes.")])
    everybody = progress.of_everybody(sheet)
    assert {owner: one.stuck_at(sheet) for owner, one in everybody.items()} == {
        "anna": first, "ben": second, "clara": None,
    }  # fmt: skip
    assert dict(progress.stuck(sheet, everybody.values())) == {first: 1, second: 1}
    assert main(["progress", NAME]) == 0
    told = capsys.readouterr().out
    assert f"1 attempt, stuck at {first}" in told and f"stuck at: {first} (1), {second} (1)" in told
    assert main(["progress", NAME, "--json"]) == 0
    rows = {row["student"]: row for row in json.loads(capsys.readouterr().out)["students"]}
    assert rows["ben"]["stuck_at"] == second and rows["ben"]["attempts"] == 1
    assert rows["clara"]["points"] == sum(check.points for check in sheet.checks[:2])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[heidelberg-2]\nattempts = 0\n", "course.attempts"),
        ("[heidelberg-2]\nlate = 2\n", "course.late"),
        ('[heidelberg-2]\ndeadline = "Friday"\n', "course.deadline"),
        ("[heidelberg-2]\npasses = 3\n", "course.entry"),
        ("[homework]\nattempts = 3\n", "course.sheet"),
        ("[heidelberg-2\n", "course.toml"),
    ],
)
def test_a_fault_of_the_file_is_named_and_no_sheet_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, key: str
) -> None:
    course(monkeypatch, tmp_path, text)
    assert says(key, next(iter(faults().values())))
    assert NAME in folder.names() and load(NAME).rules.attempts is None


def test_the_points_of_a_sheet_are_written_as_a_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course(monkeypatch, tmp_path, f"[{NAME}]\ndeadline = {moment(-1)}\nlate = 0.5\n")
    sheet = load(NAME)
    first, second = (check.name for check in sheet.checks[:2])
    progress.remember("=Ada", sheet, [Verdict(first, True, "."), Verdict(second, False, ".")])
    assert main(["progress", NAME, "--csv", str(tmp_path / "points.csv")]) == 0
    (row,) = csv.DictReader((tmp_path / "points.csv").read_text().splitlines())
    assert row["student"] == "'=Ada" and row["late"] == "late"
    assert float(row["points"]) == sheet.checks[0].points / 2 and float(row["of"]) == sheet.points
    assert (row[first], row[second], row[sheet.checks[2].name]) == ("late", "no", "-")
    assert row["feedback"] == f"stuck at {second}"
    assert main(["progress", "--csv", str(tmp_path / "points.csv")]) == 2
    assert main(["progress", NAME, "--csv", str(tmp_path / "none" / "points.csv")]) == 2
    assert "cannot be written" in capsys.readouterr().err
