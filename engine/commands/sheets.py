"""The commands `sheets`, `grade` and `progress`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import randbits
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from engine.commands.lab import Answer, refused
from engine.commands.output import write_file
from engine.records import NotRunnable
from engine.records.words import many, reason_text
from engine.sheets import progress as kept
from engine.sheets.folder import faults, load, names
from engine.sheets.grading import (
    ANSWER_FILES,
    KERNEL_FILES,
    Grade,
    feedback,
    graded,
    handed_in,
    marks,
    record,
    run_of,
    table,
    trials,
)
from engine.sheets.progress import Progress
from engine.sheets.sheet import LEVELS, ORIGINS, Question, Sheet
from engine.sheets.submissions import ARCHIVE, PLATFORMS, Mark, Student, alike, grade_table, unpack
from engine.store import database


def list_sheets(name: str | None) -> Answer:
    """Return all sheets, or one: its text, its checks and the file to start from, without its solution."""
    try:
        found = [load(each) for each in ([name] if name else names())]
    except NotRunnable as error:
        return refused(error)
    rows = [
        {
            "sheet": sheet.name,
            "title": sheet.title,
            "lecture": sheet.lecture,
            "origin": sheet.origin,
            "level": sheet.level,
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
    left_out = {} if name else faults()
    text = _describe_sheet(found[0]) if name else "\n".join([*map(_describe_row, found), *_left_out(left_out)])
    return Answer("ok", {"status": "ok", "reason": None, "sheets": rows, "left_out": left_out}, text)


def _describe_row(sheet: Sheet) -> str:
    return f"{sheet.name:24} {LEVELS[sheet.level]:14} {ORIGINS[sheet.origin]:23} {sheet.title}"


def _left_out(faults: Mapping[str, str]) -> list[str]:
    """Return a line for each sheet that cannot be read."""
    return [f"Left out: {why}" for why in faults.values()]


def _describe_sheet(sheet: Sheet) -> str:
    checks = [
        "\n".join([f"  {check.name}: {check.aim}", *(f"    {letter}) {words}" for letter, words in _choices(check))])
        for check in sheet.checks
    ]
    return "\n".join([sheet.title, sheet.kind, "", sheet.text, "", "Checks:", *checks, "", sheet.start]).rstrip()


def _choices(check: object) -> list[tuple[str, str]]:
    return list(check.lettered.items()) if isinstance(check, Question) else []


def try_sheet(name: str) -> Answer:
    """Try the start, the solution and the wrong answers of a sheet. Status "wrong" if one ends as it must not."""
    try:
        sheet = load(name)
    except NotRunnable as error:
        return refused(error, {"sheet": name})
    found = list(trials(sheet, run_of(sheet, f"try {name}")))
    status = "ok" if all(trial.good for trial in found) else "wrong"
    wide = max(len(trial.name) for trial in found)
    told = [f"{'ok' if trial.good else 'no':4}{trial.name:{wide}}  {trial.sentence}" for trial in found]
    record = {"sheet": sheet.name, "status": status, "reason": None, "trials": [asdict(trial) for trial in found]}
    return Answer(status, record, "\n".join(told))


@dataclass(frozen=True)
class Files:
    """The files that `grade` writes: `table`, a CSV in the columns of `platform`; `feedback`, a folder of texts.

    `alike`: list the submissions that are alike, too.
    """

    table: Path | None = None
    platform: str = PLATFORMS[0]
    feedback: Path | None = None
    alike: bool = False


def grade(name: str, paths: Sequence[Path], seed: int | None = None, files: Files = Files()) -> Answer:
    """Grade the submissions at these paths, of which one may be an archive. Status "wrong" if one of them failed.

    `seed`: draws the runs at sizes that no sheet shows; by default it is new each time.
    """
    seed = randbits(32) if seed is None else seed
    unwritten: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        try:
            sheet = load(name)
            if len(paths) == 1 and paths[0].suffix == ARCHIVE and paths[0].is_file():
                unwritten = unpack(paths[0], Path(folder), (*KERNEL_FILES, *ANSWER_FILES))
                paths = [Path(folder)]
            found = handed_in(sheet, paths, unwritten)
        except NotRunnable as error:
            return refused(error, {"sheet": name})
        grades = graded(sheet, found, seed)
    status = "ok" if all(each.passed for each in grades) else "wrong"
    made, told = dict(record(sheet, grades, seed)), [table(sheet, grades)]
    if files.alike:
        texts = {each.name: each.text for each in grades if each.text}
        pairs = alike(texts, (sheet.start, sheet.solution))
        made["alike"] = [asdict(pair) for pair in pairs]
        told += [f"{pair.one} and {pair.other} are alike: {pair.share:.0%}" for pair in pairs] or ["No two are alike."]
    try:
        told += _written(sheet, grades, files)
    except NotRunnable as error:
        return refused(error, made, "\n".join(told))
    return Answer(status, made, "\n".join(told))


def _written(sheet: Sheet, grades: Sequence[Grade], files: Files) -> list[str]:
    """Write the files; return a line for each. NotRunnable."""
    told = []
    if files.table is not None:
        write_file(files.table, grade_table(sheet.title, marks(sheet, grades), files.platform))
        told.append(f"Written: {files.table}")
    if files.feedback is not None:
        for each in grades:
            place = files.feedback / each.entry.removesuffix(Path(each.entry).suffix)
            try:
                place.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise NotRunnable(f"{place} cannot be made: {reason_text(error)}.") from None
            write_file(place / "feedback.txt", feedback(sheet, each))
        told.append(f"Written: {len(grades)} texts in {files.feedback}")
    return told


def progress(name: str | None, csv: Path | None = None) -> Answer:
    """Return the progress of all students: in one sheet check by check; in all sheets the number of passed checks.

    `csv`: where to write one sheet's points as a table, in the columns of `grade --csv`.
    """
    try:
        sheets = [load(each) for each in ([name] if name else names())]
    except NotRunnable as error:
        return refused(error)
    everybody = {sheet.name: kept.of_everybody(sheet) for sheet in sheets}
    rows = [
        {"sheet": sheet.name, "student": owner, "passed": one.passed, "of": len(sheet.checks), "hints": one.hints,
         "solution": one.solution, "checks": dict(one.checks), "last": dict(one.last), "tried": one.tried,
         "times": dict(one.times), "attempts": one.attempts, "points": one.points(sheet),
         "stuck_at": one.stuck_at(sheet)}
        for sheet in sheets
        for owner, one in everybody[sheet.name].items()
    ]  # fmt: skip
    left_out = {} if name else faults()
    told = [line for sheet in sheets for line in _describe_course(sheet, everybody[sheet.name], bool(name))]
    trouble = database.trouble()
    status = "failed" if trouble else "ok"
    lines = [
        *(told or ["Nobody has begun yet."] * (not trouble)),
        *_left_out(left_out),
    ]
    if csv is not None and not trouble:
        try:
            write_file(csv, _points_table(sheets[0], everybody[sheets[0].name]))
            lines.append(f"Written: {csv}")
        except NotRunnable as error:
            status, trouble = "refused", str(error)
    record = {"status": status, "reason": trouble, "students": rows, "left_out": left_out}
    return Answer(status, record, "\n".join(lines), trouble or "")


def _points_table(sheet: Sheet, everybody: Mapping[str, Progress]) -> str:
    """Return the points of a sheet's students as CSV; a check that was passed after the deadline is "late"."""
    marks = {True: "ok", False: "no", None: "-"}
    found = []
    for owner, one in everybody.items():
        checks = {
            check.name: "late" if one.is_late(sheet, check.name) else marks[one.checks.get(check.name)]
            for check in sheet.checks
        }
        told = f"stuck at {at}" if (at := one.stuck_at(sheet)) else ""
        late = "late" in checks.values()
        found.append(Mark(Student(owner, late=late), one.points(sheet), sheet.points, checks, told))
    return grade_table(sheet.title, found, PLATFORMS[0])


def _describe_course(sheet: Sheet, everybody: Mapping[str, Progress], by_check: bool) -> list[str]:
    lines = [_describe_progress(sheet, owner, one, by_check) for owner, one in everybody.items()]
    at = kept.stuck_text(sheet, everybody.values())
    return [*lines, f"{sheet.name:24} stuck at: {at}"] if at else lines


def _describe_progress(sheet: Sheet, owner: str, one: Progress, by_check: bool) -> str:
    """Return a line, and `by_check` a line more for each check: the best attempt, the last one, and when."""
    line = f"{sheet.name:24} {owner:20} {one.passed} of {len(sheet.checks)}"
    line += f", {one.hints} hints" if one.hints else ""
    line += ", solution" if one.solution else ""
    line += f", {one.points(sheet):g} of {sheet.points:g} points"
    line += f", {many(one.attempts, 'attempt')}" if one.attempts else ""
    line += f", stuck at {at}" if (at := one.stuck_at(sheet)) else ""
    wide = max(len(check.name) for check in sheet.checks)
    checks = [f"    {check.name:{wide}}  {_describe_check(one, check.name)}" for check in sheet.checks]
    return "\n".join([line, *(checks if by_check else [])])


def _describe_check(one: Progress, name: str) -> str:
    best, last = (kept.WORDS[states[name]] if name in states else "not tried" for states in (one.checks, one.last))
    when = f", {one.times[name]}" if name in one.times else ""
    return f"{best}{when}" + ("" if best == last else f"; last attempt {last}, {one.tried}")


if TYPE_CHECKING:
    from engine.commands.lab import Answer

_NAMED = "a name, or a folder with a sheet.toml"
_NAME_ONE = "Name the sheet to try, or its folder."
_CSV_OF_ONE = "Name the sheet whose points are to be written."


def add_parsers(commands: Any, command: Callable[[argparse.Namespace], int]) -> None:
    """Add `sheets`, `grade` and `progress`. `command` gets options whose `answer(options)` is an Answer."""
    listed = commands.add_parser("sheets", help="the lab sheets; with a name, what it asks and what to start from")
    listed.add_argument("sheet", nargs="?", metavar="SHEET", help=_NAMED)
    listed.add_argument("--try", action="store_true", dest="trial", help="try the sheet's own start, solution and "
                        "wrong answers: each must end as the sheet says")  # fmt: skip
    listed.set_defaults(command=command, answer=_list)

    grade = commands.add_parser("grade", help="submissions of a lab sheet, checked one by one")
    grade.add_argument("sheet", metavar="SHEET", help=_NAMED)
    grade.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a folder with a file or folder for each "
                       "student, or its .zip; or files and folders, one each")  # fmt: skip
    grade.add_argument(
        "--seed", type=int, help="repeat the hidden runs of an earlier grading: its --json names the seed"
    )
    grade.add_argument("--csv", type=Path, metavar="FILE", help="write the points as a table")
    grade.add_argument("--for", dest="platform", choices=PLATFORMS, default=PLATFORMS[0], help="the columns of the "
                       "table: of the platform that imports it")  # fmt: skip
    grade.add_argument("--feedback", type=Path, metavar="FOLDER", help="write a text for each student")
    grade.add_argument("--alike", action="store_true", help="list submissions that are alike, for you to judge")
    grade.set_defaults(command=command, answer=_graded)
    progress = commands.add_parser("progress", help="who is where in the lab sheets, from what this server has kept")
    progress.add_argument("sheet", nargs="?", metavar="SHEET", help="one sheet, check by check")
    progress.add_argument("--csv", type=Path, metavar="FILE", help="write the points of that sheet as a table")
    progress.set_defaults(command=command, answer=_progress)
    for each in (listed, grade, progress):
        each.add_argument("--json", action="store_true")


def _list(options: argparse.Namespace) -> Answer:
    if options.trial and not options.sheet:
        return refused(_NAME_ONE)
    return try_sheet(options.sheet) if options.trial else list_sheets(options.sheet)


def _progress(options: argparse.Namespace) -> Answer:
    if options.csv and not options.sheet:
        return refused(_CSV_OF_ONE)
    return progress(options.sheet, options.csv)


def _graded(options: argparse.Namespace) -> Answer:
    files = Files(options.csv, options.platform, options.feedback, options.alike)
    return grade(options.sheet, options.files, options.seed, files)
