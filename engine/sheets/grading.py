"""Many submissions of one sheet: each judged by itself, so that none costs another one anything.

Kernels run in the service's workers, one after the other for each student, and a few students at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from engine.backends.measure import failed
from engine.machine.devices import gpus
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service
from engine.sheets.judging import passed, verdicts
from engine.sheets.runs import DEADLINE_S, measurement_of, submit
from engine.sheets.sheet import Sheet, Verdict
from engine.sheets.submissions import HandedIn


@dataclass(frozen=True)
class Grade:
    """What came of one submission: its verdicts, or the `reason` why there are none. `notes`: what is to be said of its
    files."""

    name: str
    files: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    reason: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every check that could be made was passed."""
        return self.reason is None and passed(self.verdicts)


def run_of(sheet: Sheet, session: str, deadline: float = DEADLINE_S) -> Callable[[Choice], Measurement]:
    """A function that runs a choice in a worker and waits for it; whatever goes wrong is in its Measurement."""

    def run(choice: Choice) -> Measurement:
        try:
            handle = submit(sheet, choice, session, deadline)
        except NotRunnable as refused:
            return failed(choice, refused)
        return measurement_of(sheet, handle, choice)

    return run


def graded(sheet: Sheet, found: Sequence[HandedIn]) -> list[Grade]:
    """The grades, in the order of the submissions."""
    at_once = max(1, len(service.connect().slots))
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda one: _grade(sheet, one), found))


def _grade(sheet: Sheet, one: HandedIn) -> Grade:
    if one.submission is None:
        return Grade(one.name, one.files, (), one.reason)
    run = run_of(sheet, f"grade {one.name}", DEADLINE_S)
    found = tuple(verdicts(sheet, one.submission, run, gpu=bool(gpus())))
    return Grade(one.name, one.files, found, notes=one.notes)


def record(sheet: Sheet, grades: Sequence[Grade]) -> Mapping[str, Any]:
    """What --json prints."""
    return {
        "sheet": sheet.name,
        "title": sheet.title,
        "status": "ok" if all(grade.passed for grade in grades) else "wrong",
        "reason": None,
        "checks": [{"check": check.name, "aim": check.aim} for check in sheet.checks],
        "submissions": [
            {
                "name": grade.name,
                "files": list(grade.files),
                "passed": grade.passed,
                "reason": grade.reason,
                "notes": list(grade.notes),
                "checks": [asdict(verdict) for verdict in grade.verdicts],
            }
            for grade in grades
        ],
    }


def table(sheet: Sheet, grades: Sequence[Grade]) -> str:
    """A line a submission: a mark a check, and what the first that it missed says."""
    names = [check.name for check in sheet.checks]
    wide = max([len("submission"), *(len(grade.name) for grade in grades)])
    head = "  ".join([f"{'submission':{wide}}", *names])
    rows = [_row(grade, names, wide) for grade in grades]
    good = sum(grade.passed for grade in grades)
    notes = [f"{grade.name}: {note}" for grade in grades for note in grade.notes]
    return "\n".join([sheet.title, head, *rows, *notes, f"{good} of {len(grades)} passed."])


def _row(grade: Grade, names: Sequence[str], wide: int) -> str:
    found = {verdict.check: verdict for verdict in grade.verdicts}
    marks = [f"{_mark(found.get(name)):{len(name)}}" for name in names]
    missed = grade.reason or next((one.sentence for one in grade.verdicts if one.passed is False), "")
    return "  ".join([f"{grade.name:{wide}}", *marks, missed]).rstrip()


def _mark(verdict: Verdict | None) -> str:
    if verdict is None or verdict.passed is None:
        return "-"
    return "ok" if verdict.passed else "no"
