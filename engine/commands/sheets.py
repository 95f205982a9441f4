"""The commands `sheets`, `grade` and `progress`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.commands.lab import Answer
from engine.records import NotRunnable
from engine.sheets import progress as kept
from engine.sheets.folder import load, names
from engine.sheets.grading import graded, record, table
from engine.sheets.sheet import Question, Sheet
from engine.sheets.submissions import handed_in


def list_sheets(name: str | None) -> Answer:
    """Return all sheets, or one: its text, its checks and the file to start from, without its solution."""
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
    text = _describe_sheet(found[0]) if name else "\n".join(f"{sheet.name:24} {sheet.title}" for sheet in found)
    return Answer("ok", {"status": "ok", "reason": None, "sheets": rows}, text)


def _describe_sheet(sheet: Sheet) -> str:
    checks = [
        "\n".join([f"  {check.name}: {check.aim}", *(f"    {letter}) {words}" for letter, words in _choices(check))])
        for check in sheet.checks
    ]
    return "\n".join([sheet.title, "", sheet.text, "", "Checks:", *checks, "", sheet.start]).rstrip()


def _choices(check: object) -> list[tuple[str, str]]:
    return list(check.lettered.items()) if isinstance(check, Question) else []


def grade(name: str, paths: Sequence[Path]) -> Answer:
    """Grade the submissions at these paths. Status "wrong" if one of them failed."""
    try:
        sheet = load(name)
        found = handed_in(sheet, paths)
    except NotRunnable as refused:
        return Answer("refused", {"sheet": name, "status": "refused", "reason": str(refused)}, str(refused))
    grades = graded(sheet, found)
    return Answer("ok" if all(each.passed for each in grades) else "wrong", record(sheet, grades), table(sheet, grades))


def progress(name: str | None) -> Answer:
    """Return the progress of all students: in one sheet check by check; in all sheets the number of passed checks."""
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


if TYPE_CHECKING:
    from engine.commands.lab import Answer

_NAMED = "a name, or a folder with a sheet.toml"


def add_parsers(commands: Any, command: Callable[[argparse.Namespace], int]) -> None:
    """Add `sheets`, `grade` and `progress`. `command` gets options whose `answer(options)` is an Answer."""
    listed = commands.add_parser("sheets", help="the lab sheets; with a name, what it asks and what to start from")
    listed.add_argument("sheet", nargs="?", metavar="SHEET", help=_NAMED)
    listed.set_defaults(command=command, answer=_list)

    grade = commands.add_parser("grade", help="submissions of a lab sheet, checked one by one")
    grade.add_argument("sheet", metavar="SHEET", help=_NAMED)
    grade.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a folder with a file or folder for each "
                       "student; or files and folders, one each")  # fmt: skip
    grade.set_defaults(command=command, answer=_graded)
    progress = commands.add_parser("progress", help="who is where in the lab sheets, from what this server has kept")
    progress.add_argument("sheet", nargs="?", metavar="SHEET", help="one sheet, check by check")
    progress.set_defaults(command=command, answer=_progress)
    for each in (listed, grade, progress):
        each.add_argument("--json", action="store_true")


def _list(options: argparse.Namespace) -> Answer:

    return list_sheets(options.sheet)


def _progress(options: argparse.Namespace) -> Answer:

    return progress(options.sheet)


def _graded(options: argparse.Namespace) -> Answer:

    return grade(options.sheet, options.files)
