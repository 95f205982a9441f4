"""Sheets from their folders: sheet.toml and the .cu files beside it. NotRunnable names the file and what is wrong.

load("heidelberg-1") -> Sheet            names() -> every sheet that comes with the program
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from engine.catalogue import LADDERS, Kernel, Ladder, kernel_named
from engine.lab.setups import Setup, setup_of
from engine.lectures.then_and_now import Today, today
from engine.records import NotRunnable
from engine.sheets.checks import check_of, usual_runs
from engine.sheets.sheet import HINTS, SOLUTION, Sheet, Wrong
from engine.sheets.table import Table
from engine.sheets.texts import text_of

FOLDER = Path(__file__).parents[2] / "sheets"
FILE = "sheet.toml"


def recorded(sheet: Sheet) -> Today:
    """The sentences of `sheet.today` with their figures, and where these come from."""
    return today(replace(LADDERS[sheet.ladder], today=sheet.today)) if sheet.ladder else Today((), ())


@lru_cache(maxsize=1)
def titles() -> dict[str, str]:
    """The sheets that come with the program, by name, with their titles as plain text: the lectures' own exercises
    first, then as their ladders come. Looked up once."""
    return {sheet.name: sheet.title.replace("`", "") for sheet in sorted(map(load, _folders()), key=_place)}


def names() -> tuple[str, ...]:
    """Their names, in this order."""
    return tuple(titles())


def load(sheet: str | Path) -> Sheet:
    """The sheet of that name, or in that folder. NotRunnable: there is none, or it says something that cannot be."""
    folder = FOLDER / sheet if str(sheet) in _folders() else Path(sheet)
    path = folder / FILE if folder.is_dir() else folder
    if not path.is_file():
        raise NotRunnable(f"There is no sheet {str(sheet)!r}: there are {', '.join(_folders())}.")
    return _read(path.resolve(), max(each.stat().st_mtime_ns for each in path.parent.rglob("*")))


@lru_cache(maxsize=1)
def _folders() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}")))


def _place(sheet: Sheet) -> tuple[bool, int, str]:
    listed = list(LADDERS)
    return not sheet.exercise, listed.index(sheet.ladder) if sheet.ladder else len(listed), sheet.name


@lru_cache(maxsize=256)
def _read(path: Path, _: int) -> Sheet:
    """The sheet of a file; `_`: when it was written, so that it is read again when it was written again."""
    folder, where = path.parent, f"{path.parent.name}/{path.name}"
    try:
        table = Table(where, tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise NotRunnable(f"{where} cannot be read: {error}.") from None
    ladder, kernel, launch = _ladder(table), _kernel(table), _launch(table)
    if kernel and launch:
        raise table.refusal("a sheet has a `kernel` or a `launch`")
    parts = {part: table.table(part) for part in ("solution", "start", "runs")}
    solution = start = ""
    if kernel or launch:
        solution = text_of(parts["solution"], folder, kernel, "solution.cu")
        start = text_of(parts["start"], folder, kernel, "start.cu", solution if "replace" in parts["start"] else None)
    usual = usual_runs(parts["runs"], kernel, ladder, launch)
    sheet = Sheet(
        name=folder.name,
        title=table.text("title"),
        lecture=table.text("lecture", ladder.lecture if ladder else ""),
        ladder=ladder.name if ladder else "",
        exercise=table.flag("exercise"),
        text=table.text("text").strip(),
        checks=tuple(check_of(each, usual, kernel) for each in table.tables("check")),
        hints=tuple(hint.strip() for hint in table.several("hints", str, "a text", ())),
        afterwards=table.text("afterwards", "").strip(),
        today=table.several("today", str, "a text", ()),
        kernel=kernel.name if kernel else None,
        launch=launch,
        start=start,
        solution=solution,
        wrong=tuple(_wrong(each, folder, kernel, solution) for each in table.tables("wrong")),
    )
    for each in (*parts.values(), table):
        each.end()
    _check_names(sheet, table)
    return sheet


def _ladder(table: Table) -> Ladder | None:
    name = table.text("ladder", "")
    if name and name not in LADDERS:
        raise table.refusal(f"there is no ladder {name!r}")
    return LADDERS.get(name)


def _kernel(table: Table) -> Kernel | None:
    name = table.text("kernel", "")
    return kernel_named(name) if name else None


def _launch(table: Table) -> Setup | None:
    call, right = table.text("launch", ""), table.text("right", "")
    if call and not right:
        raise table.refusal("`right` is missing: it says what the launch must give")
    try:
        return setup_of(call, right) if call else None
    except NotRunnable as refused:
        raise table.refusal(str(refused).rstrip(".")) from None


def _wrong(table: Table, folder: Path, kernel: Kernel | None, solution: str) -> Wrong:
    check = table.text("check")
    name = table.text("name")
    text = text_of(table, folder, kernel, f"wrong/{name}.cu", solution if "replace" in table else None)
    table.end()
    return Wrong(name, text, check)


def _check_names(sheet: Sheet, table: Table) -> None:
    named = [check.name for check in sheet.checks]
    if not named:
        raise table.refusal("a sheet needs a check")
    if len({*named}) < len(named):
        raise table.refusal("two checks have the same name")
    if {HINTS, SOLUTION} & {*named}:
        raise table.refusal(f"a check cannot be called {HINTS} or {SOLUTION}")
    missing = [wrong.check for wrong in sheet.wrong if wrong.check not in named]
    if missing:
        raise table.refusal(f"there is no check {missing[0]!r}")
