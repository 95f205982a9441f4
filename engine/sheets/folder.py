"""Sheets from their folders: sheet.toml and the .cu files beside it. NotRunnable names the file and its fault.

load("heidelberg-1") -> Sheet            names() -> the readable sheets of the program            faults() -> the others
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import monotonic

from engine.catalogue import LADDERS, Kernel, Ladder, default_choice, kernel_named
from engine.lab.setups import Setup, setup_of
from engine.lectures.claim import STATUS, Counted, Findings, Quantity, Relation, TimeRatio
from engine.lectures.templates import Today, today
from engine.records import Choice, NotRunnable
from engine.records.counters import COUNTERS
from engine.records.shipped import shipped
from engine.records.words import reason_text, whole_number
from engine.sheets.course import FILE as COURSE
from engine.sheets.course import rules_in
from engine.sheets.sheet import (
    ATTEMPTS,
    HINTS,
    LETTERS,
    LEVELS,
    ORIGINS,
    SOLUTION,
    Check,
    Limit,
    Question,
    Rules,
    Runs,
    Sheet,
    Wrong,
)
from engine.sheets.table import Table, table_in

KINDS = ("answer", "findings", "counter", "time", "question")


def usual_runs(table: Table, kernel: Kernel | None, ladder: Ladder | None, launch: Setup | None) -> Runs:
    """Return the runs of a check that names none: those of the sheet's [runs], else those of the ladder or the kernel.
    A launch in the sheet has its own block size, if that is a number, and no N and no type."""
    if launch is not None:
        block = launch.block[0]
        return runs_of(table, Runs((), (int(block),) if block.isdecimal() else (), ("",)))
    if kernel is None:
        return Runs((), (), ())
    usual: Ladder | Choice = ladder or default_choice(kernel.name)
    return runs_of(table, Runs((usual.n,), (usual.block_size,), (usual.dtype,)))


def runs_of(table: Table, usual: Runs) -> Runs:
    """Return `usual` with the fields that the table names; each is one value or several."""
    return Runs(
        n=tuple(_size(table, n) for n in table.several("n", (int, str), "a whole number", usual.n)),
        block_size=table.several("block_size", int, "a whole number", usual.block_size),
        dtype=table.several("dtype", str, "a type", usual.dtype),
        grid_size=table.several("grid_size", int, "a whole number", usual.grid_size),
        schedule=table.several("schedule", str, "a schedule", usual.schedule),
        combine=table.several("combine", str, "a way to combine blocks", usual.combine),
        parameter=table.several("parameter", int, "a whole number", usual.parameter),
    )


def check_of(table: Table, usual: Runs, kernel: Kernel | None) -> Check | Question:
    """Return the check of one [[check]]; without runs of its own it has the `usual` ones. Only a text in the place of a
    `kernel` can be compared with others."""
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.refusal(f"`kind` is one of {', '.join(KINDS)}")
    name, aim, advice = table.text("name", kind), table.text("aim"), table.text("advice")
    if kind == "time" and kernel is None:
        raise table.refusal("only what takes the place of a `kernel` is timed beside another one")
    points = table.number("points", 1.0)
    if points < 0:
        raise table.refusal("`points` is not below 0")
    if kind == "question":
        question = replace(_question(table, name, aim, advice), points=points)
        table.end()
        return question
    # A GPU chooses its own order of execution.
    runs = runs_of(table, replace(usual, schedule=(None,)) if kind == "time" else usual)
    without = table.several("without", str, "a word", ())
    quantity: Quantity = STATUS
    limits: tuple[Limit, ...] = (Limit("one of", ("ok", "hazard")),)
    match kind:
        case "findings":
            allowed = table.several("allowed", str, "a kind of hazard", ())
            quantity, limits = Findings(allowed), (Limit("equals", 0),)
        case "counter":
            quantity, limits = _counted(table, kernel)
        case "time":
            quantity, limits = TimeRatio(medians=True), (_speedup(table),)
    if kind != "time" and not (runs.n and runs.block_size):
        raise table.refusal("it needs an `n` and a `block_size` to run at")
    table.end()
    return Check(name, aim, advice, quantity, limits, runs, points, without)


def _speedup(table: Table) -> Limit:
    against = kernel_named(table.text("against")).name
    return Limit("at least", table.number("times"), against)


def _counted(table: Table, kernel: Kernel | None) -> tuple[Counted, tuple[Limit, ...]]:
    counter = table.text("counter")
    bounds: tuple[tuple[Relation, float | str | None], ...] = (
        ("at least", _bound(table, "at_least")),
        ("at most", _bound(table, "at_most")),
    )
    if counter not in COUNTERS:
        raise table.refusal(f"there is no counter {counter!r}")
    if all(bound is None for _, bound in bounds):
        raise table.refusal("`at_least` or `at_most` is missing")
    if kernel is None and any(isinstance(bound, str) for _, bound in bounds):
        raise table.refusal("only what takes the place of a `kernel` is counted beside another one: give a number")
    times = table.number("times", 1.0)
    if times != 1 and not any(isinstance(bound, str) for _, bound in bounds):
        raise table.refusal("`times` goes with a kernel in `at_least` or `at_most`")
    limits = (
        Limit(relation, None, bound, times) if isinstance(bound, str) else Limit(relation, bound)
        for relation, bound in bounds
        if bound is not None
    )
    return Counted(counter), tuple(limits)


def _bound(table: Table, name: str) -> float | str | None:
    bound: float | str | None = table.one_of(name, (int, float, str), "a number or a kernel", None)
    return kernel_named(bound).name if isinstance(bound, str) else bound


def _question(table: Table, name: str, aim: str, advice: str) -> Question:
    choices = table.several("choices", str, "a text", ())
    answer = table.one_of("answer", (int, float, str), "a letter or a number")
    if choices and not (isinstance(answer, str) and answer in LETTERS[: len(choices)]):
        raise table.refusal(f"`answer` is the letter of a choice, {LETTERS[0]} to {LETTERS[len(choices) - 1]}")
    if not choices:
        answer = float(_size(table, answer)) if isinstance(answer, str) else float(answer)
    return Question(name, aim, advice, choices, answer, table.number("tolerance", 0.0), table.text("because"))


def _size(table: Table, words: int | str) -> int:
    try:
        return words if isinstance(words, int) else whole_number(words)
    except ValueError:
        raise table.refusal(f"{words!r} is not a whole number") from None


def text_of(table: Table, folder: Path, kernel: Kernel | None, own: str, base: str | None = None) -> str:
    """Return the text that a table describes: `file`, or `rung`, else `base`, else the file `own`, changed by
    `replace`: pairs of a text that occurs there once and its replacement. `kernel`: the one whose place it takes; None
    for any kernel. NotRunnable: there is no such text."""
    text = _base(table, folder, kernel, own, base)
    pairs = table.one_of("replace", (list,), "a list of pairs, [[old, new], ...]", [])
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)):
            raise table.refusal("`replace` is a list of pairs, [[old, new], ...]")
        if text.count(pair[0]) != 1:
            raise table.refusal(f"{pair[0]!r} occurs there {text.count(pair[0])} times, not once")
        text = text.replace(*pair)
    return text


def _base(table: Table, folder: Path, kernel: Kernel | None, own: str, base: str | None) -> str:
    if kernel is not None and "rung" in table:
        return of_rung(kernel_named(table.text("rung")), kernel)
    if "file" not in table and base is not None:
        return base
    if kernel is not None and "file" not in table and own == "solution.cu" and not (folder / own).is_file():
        return of_rung(kernel, kernel)
    path = folder / table.text("file", own)
    if path.parent not in (folder, folder / "wrong") or not path.is_file():
        raise table.refusal(f"there is no file {path.name}")
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise table.refusal(f"{path.name} cannot be read: {reason_text(error)}") from None


def of_rung(rung: Kernel, goal: Kernel) -> str:
    """Return a kernel of the catalogue without its header, under the name of the requested kernel."""
    body = re.sub(r"\A(?://[^\n]*\n)+", "", rung.text)
    return re.sub(rf"\b{rung.name}\b", goal.name, body)


FOLDER = shipped("sheets")
FILE = "sheet.toml"
ELSEWHERE = "KERNEL_LADDER_SHEETS"  # an environment variable: more folders of sheets, as PATH lists folders


def recorded(sheet: Sheet) -> Today:
    """Return the sentences of `sheet.today` with their figures, and the figures' origins; none if a figure is
    malformed."""
    try:
        return today(replace(LADDERS[sheet.ladder], today=sheet.today)) if sheet.ladder else Today((), ())
    except (ValueError, IndexError, KeyError, NotRunnable):
        return Today((), ())


def titles() -> dict[str, str]:
    """Return the titles of the readable sheets as plain text, by name, in the order of the menu."""
    return {name: sheet.title.replace("`", "") for name, sheet in _listed().sheets.items()}


def names() -> tuple[str, ...]:
    """Return the names of the readable sheets, in the order of the menu."""
    return tuple(_listed().sheets)


def faults() -> dict[str, str]:
    """Return why a listed sheet cannot be read, by name. Such a sheet is left out of every list."""
    return dict(_listed().faults)


def load(sheet: str | Path) -> Sheet:
    """Return the sheet of that name, or in that folder; if a listed sheet became unreadable, its last good version.

    NotRunnable: there is none, or its file has a fault.
    """
    listed = _listed()
    folder = listed.folders.get(str(sheet), Path(sheet))
    path = folder / FILE if folder.is_dir() else folder
    try:
        if not path.is_file():
            raise NotRunnable(f"There is no sheet {str(sheet)!r}: there are {', '.join(listed.folders)}.")
        found = replace(_read_at(path), rules=listed.rules.get(str(sheet), Rules()))
    except NotRunnable:
        if str(sheet) in _GOOD:
            return _GOOD[str(sheet)]
        raise
    if str(sheet) in listed.folders:
        _GOOD[str(sheet)] = found
    return found


def no_folder(place: str | Path) -> str:
    """Return the sentence about a missing folder of sheets."""
    return f"There is no folder {place}: look at --sheets, or at {ELSEWHERE}."


_LOOK_S = 10.0  # seconds between two searches for sheets: one takes as long as a page
_GOOD: dict[str, Sheet] = {}  # the last good version of each listed sheet


@dataclass(frozen=True)
class _Listed:
    """The sheets of the program and of the folders ELSEWHERE: their folders by name, those that can be read, in the
    order of the menu, the rules of a course, and why the others cannot."""

    folders: Mapping[str, Path]
    sheets: Mapping[str, Sheet]
    rules: Mapping[str, Rules]
    faults: Mapping[str, str]


def _listed() -> _Listed:
    return _listed_at(int(monotonic() / _LOOK_S), FOLDER, os.environ.get(ELSEWHERE, ""))


@lru_cache(maxsize=1)
def _listed_at(_: int, own: Path, elsewhere: str) -> _Listed:
    folders: dict[str, Path] = {}
    faults: dict[str, str] = {}
    rules: dict[str, Rules] = {}
    for place in (own, *(Path(each).expanduser() for each in elsewhere.split(os.pathsep) if each)):
        if not place.is_dir():
            faults[str(place)] = no_folder(place)
        try:
            rules.update(rules_in(place))
        except NotRunnable as refused:
            faults[str(place / COURSE)] = str(refused)
        for path in sorted(place.glob(f"*/{FILE}")):
            name = path.parent.name
            if name in folders:
                faults[str(path)] = f"{path}: there is a sheet named {name} already, in {folders[name].parent}."
            else:
                folders[name] = path.parent
    found = []
    for name, folder in folders.items():
        try:
            found.append(replace(_read_at(folder / FILE), rules=rules.get(name, Rules())))
        except NotRunnable as refused:
            faults[name] = str(refused)
            found += [_GOOD[name]] if name in _GOOD else []
    _GOOD.update({sheet.name: sheet for sheet in found})
    faults |= {
        name: f"{COURSE} has rules for {name!r}, and there is no such sheet." for name in rules if name not in folders
    }
    return _Listed(folders, {sheet.name: sheet for sheet in sorted(found, key=_place)}, rules, faults)


def _place(sheet: Sheet) -> tuple[int, int, int, str]:
    """Return the key of the menu's order: by level, then by origin, then by ladder."""
    listed = list(LADDERS)
    place = listed.index(sheet.ladder) if sheet.ladder else -1
    return list(LEVELS).index(sheet.level), list(ORIGINS).index(sheet.origin), place, sheet.name


def _read_at(path: Path) -> Sheet:
    """Return the sheet, read again if one of its files was written since. NotRunnable."""
    try:
        written = max(each.lstat().st_mtime_ns for each in path.parent.rglob("*"))
    except OSError as error:
        raise NotRunnable(f"{path.parent.name}/{path.name} cannot be read: {reason_text(error)}.") from None
    return _read(Path(os.path.abspath(path)), written)  # noqa: PTH100 - a link keeps its own name


@lru_cache(maxsize=256)
def _read(path: Path, _: int) -> Sheet:
    """Return the sheet of a file; `_`: the time of its last write, so a later write makes it read again."""
    folder, where = path.parent, f"{path.parent.name}/{path.name}"
    table = table_in(path, where)
    ladder, kernel, launch = _ladder_of(table), _kernel_of(table), _launch(table)
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
        origin=_one_of(table, "origin", ORIGINS, "ours"),
        level=_one_of(table, "level", LEVELS, "course"),
        text=table.text("text").strip(),
        checks=_without_luck([check_of(each, usual, kernel) for each in table.tables("check")]),
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


def _without_luck(checks: Sequence[Check | Question]) -> tuple[Check | Question, ...]:
    """Return the checks of a sheet. If none looks for hazards, an answer with a hazard is not right, unless the sheet
    asks for one order."""
    if any(isinstance(check, Check) and isinstance(check.quantity, Findings) for check in checks):
        return tuple(checks)
    return tuple(
        replace(check, limits=(Limit("one of", ("ok",)),))
        if isinstance(check, Check) and check.quantity == STATUS and None in check.runs.schedule
        else check
        for check in checks
    )


def _one_of(table: Table, name: str, known: Mapping[str, str], otherwise: str) -> str:
    word = table.text(name, otherwise)
    if word not in known:
        raise table.refusal(f"`{name}` is one of {', '.join(known)}")
    return word


def _ladder_of(table: Table) -> Ladder | None:
    name = table.text("ladder", "")
    if name and name not in LADDERS:
        raise table.refusal(f"there is no ladder {name!r}")
    return LADDERS.get(name)


def _kernel_of(table: Table) -> Kernel | None:
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
    if {HINTS, SOLUTION, ATTEMPTS} & {*named}:
        raise table.refusal(f"a check cannot be called {HINTS}, {SOLUTION} or {ATTEMPTS}")
    missing = [wrong.check for wrong in sheet.wrong if wrong.check not in named]
    if missing:
        raise table.refusal(f"there is no check {missing[0]!r}")
