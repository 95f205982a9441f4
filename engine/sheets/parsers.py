"""What the commands about sheets take on a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.lab.commands import Answer

_NAMED = "a name, or a folder with a sheet.toml"


def add_parsers(commands: Any, command: Callable[[argparse.Namespace], int]) -> None:
    """`sheets`, `grade` and `progress`: `command` is handed options whose `answer(options)` is an Answer."""
    listed = commands.add_parser("sheets", help="the lab sheets; with a name, what it asks and what to start from")
    listed.add_argument("sheet", nargs="?", metavar="SHEET", help=_NAMED)
    listed.set_defaults(command=command, answer=_listed)

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


def _listed(options: argparse.Namespace) -> Answer:
    from engine.sheets.commands import listed

    return listed(options.sheet)


def _progress(options: argparse.Namespace) -> Answer:
    from engine.sheets.commands import progress

    return progress(options.sheet)


def _graded(options: argparse.Namespace) -> Answer:
    from engine.sheets.commands import grade  # heavy: the workers

    return grade(options.sheet, options.files)
