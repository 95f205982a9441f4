"""The commands about sheets: `sheets` shows them, `grade` judges submissions, `progress` tells who is where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.commands.lab import Answer
from engine.records import NotRunnable
from engine.sheets import progress as kept
from engine.sheets.folder import load, names
from engine.sheets.grading import graded, handed_in, record, table
from engine.sheets.sheet import Question, Sheet


def listed(name: str | None) -> Answer:
    """All sheets, or one: its text, its checks and the file to start from. The solution is not told."""
    try:
        found = [load(each) for each in ([name] if name else names())]
    except NotRunnable as refused:
        return Answer("refused", {"status": "refused", "reason": str(refused)}, str(refused))
    rows = [
        {
            "sheet": sheet.name,
            "title": sheet.title,
            "lecture": sheet.lecture,
            "ladder": sheet.ladder,
            "kernel": sheet.function,
            "text": sheet.text,
            "checks": [
                {
                    "check": check.name,
                    "aim": check.aim,
                    "choices": check.lettered if isinstance(check, Question) else {},
                }
                for check in sheet.checks
            ],
            "hints": len(sheet.hints),
            "start": sheet.start,
        }
        for sheet in found
    ]
    text = _told(found[0]) if name else "\n".join(f"{sheet.name:24} {sheet.title}" for sheet in found)
    return Answer("ok", {"status": "ok", "reason": None, "sheets": rows}, text)


def _told(sheet: Sheet) -> str:
    checks = [
        "\n".join([f"  {check.name}: {check.aim}", *(f"    {letter}) {words}" for letter, words in _choices(check))])
        for check in sheet.checks
    ]
    return "\n".join([sheet.title, "", sheet.text, "", "Checks:", *checks, "", sheet.start]).rstrip()


def _choices(check: object) -> list[tuple[str, str]]:
    return list(check.lettered.items()) if isinstance(check, Question) else []


def grade(name: str, paths: Sequence[Path]) -> Answer:
    """The submissions at these paths. Status "wrong" where one of them did not pass."""
    try:
        sheet = load(name)
        found = handed_in(sheet, paths)
    except NotRunnable as refused:
        return Answer("refused", {"sheet": name, "status": "refused", "reason": str(refused)}, str(refused))
    grades = graded(sheet, found)
    return Answer("ok" if all(each.passed for each in grades) else "wrong", record(sheet, grades), table(sheet, grades))


def progress(name: str | None) -> Answer:
    """Who is where: everybody in one sheet, check by check; or in all sheets, how many checks they have passed."""
    try:
        sheets = [load(each) for each in ([name] if name else names())]
    except NotRunnable as refused:
        return Answer("refused", {"status": "refused", "reason": str(refused)}, str(refused))
    everybody = {sheet.name: kept.of_everybody(sheet) for sheet in sheets}
    rows = [
        {"sheet": sheet.name, "student": owner, "passed": one.passed, "of": len(sheet.checks), "hints": one.hints,
         "solution": one.solution, "checks": dict(one.checks)}
        for sheet in sheets
        for owner, one in everybody[sheet.name].items()
    ]  # fmt: skip
    told = [
        f"{row['sheet']:24} {row['student']:20} {row['passed']} of {row['of']}"
        + (f", {row['hints']} hints" if row["hints"] else "")
        + (", solution" if row["solution"] else "")
        for row in rows
    ]
    return Answer("ok", {"status": "ok", "reason": None, "students": rows}, "\n".join(told) or "Nobody has begun yet.")
