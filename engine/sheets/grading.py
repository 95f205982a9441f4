"""Many submissions of one sheet, read from files that may hold anything; each is judged by itself.

A submission is a file, or a folder with one. Answers to questions stand in comments, `// answer NAME: VALUE`, or in a
text file beside it with the same lines. Kernels run in the service's workers, one after the other for each student, and
a few students at once. `trials` tries a sheet on its own files: the start must miss a check, the solution none, a wrong
submission the check that it names.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from secrets import randbits
from typing import Any

from engine.compile.limits import SOURCE_BYTES, decode
from engine.lab.setups import Formula, Right, Setup
from engine.lab.signatures import Declared, bare, kernels_in
from engine.model.estimate import Estimate, gpu, no_estimate
from engine.plan import settle
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service
from engine.sheets.folder import load
from engine.sheets.judging import Answer, Asked, Estimation, Run, Submission, passed, verdicts
from engine.sheets.sheet import Sheet, Verdict
from engine.sheets.submissions import NOBODY, Mark, Student, student_of

KERNEL_FILES, ANSWER_FILES = (".cu", ".cuh", ".cpp"), (".txt", ".md")
_ANSWER = re.compile(r"^[ \t]*(?://|#|\*)?[ \t]*answer[ \t]+([\w-]+)[ \t]*[:=][ \t]*(.*?)[ \t]*$", re.I | re.M)


@dataclass(frozen=True)
class HandedIn:
    """The files of one student. `name`: the student's; `submission`, or the `reason` why there is none; `notes`: on
    files that are not plain UTF-8; `entry`: the name of the file or folder; `student`: as the platform names it."""

    name: str
    files: tuple[str, ...]
    submission: Submission | None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    entry: str = ""
    student: Student = NOBODY


def handed_in(sheet: Sheet, paths: Sequence[Path], refused: Mapping[str, str] = {}) -> list[HandedIn]:
    """Return the submissions at these paths: one per entry of a single folder, or one per path. NotRunnable: none.

    `refused`: sentences on files that an archive has and that could not be unpacked, by the name of an entry.
    """
    for path in paths:
        if not path.exists():
            raise NotRunnable(f"There is no file or folder {path}.")
    entries = list(paths)
    if len(entries) == 1 and entries[0].is_dir():
        entries = sorted(
            path for path in entries[0].iterdir() if path.is_dir() or path.suffix in KERNEL_FILES + ANSWER_FILES
        )
        entries = [path for path in entries if not path.name.startswith(".")]
    found = [_read(sheet, path, refused.get(path.name)) for path in entries]
    if not found:
        raise NotRunnable(f"There is no submission in {paths[0]}: a .cu file, or a folder with one, for each student.")
    return found


def answers_in(text: str) -> dict[str, str]:
    """Return the answers in a text, by the question's name; the last one counts."""
    return dict(_ANSWER.findall(text))


def with_answers(text: str, answers: Mapping[str, str]) -> str:
    """Return a kernel's file with answers above it, as `grade` reads them."""
    lines = [f"// answer {name}: {' '.join(value.split())}\n" for name, value in answers.items()]
    return "".join(lines) + text


def _read(sheet: Sheet, path: Path, unpacked: str | None = None) -> HandedIn:
    student, _ = student_of(path.name)
    student = replace(student, name=_printable(path.name if path.is_dir() and not student.id else student.name))
    name = student.name
    files: tuple[str, ...] = ()
    try:
        kernels, others = _files(sheet, path)
        files = tuple(_printable(each.name) for each in (*kernels, *others))
        read = [_text(each) for each in (*kernels, *others)]
        texts = [text for text, _ in read]
        answers = [answers_in(text) for text in texts]
    except NotRunnable as refused:
        return HandedIn(name, files, None, _printable(unpacked or str(refused)), entry=path.name, student=student)
    notes = tuple(filter(None, (*(said for _, said in read), _printable(unpacked or ""))))
    joined = {question: value for found in answers for question, value in found.items()}
    file_name = files[0] if kernels else "kernel.cu"
    submission = Submission(texts[0] if kernels else None, joined, file_name)
    return HandedIn(name, files, submission, notes=notes, entry=path.name, student=student)


def _files(sheet: Sheet, path: Path) -> tuple[list[Path], list[Path]]:
    """Return the kernel's file and the files of answers. Of several files with kernels, the one with the sheet's name
    counts."""
    found = sorted(_inside(path)) if path.is_dir() and not path.is_symlink() else [path]
    kernels = [each for each in found if each.suffix in KERNEL_FILES]
    notes = [each for each in found if each.suffix in ANSWER_FILES]
    if len(kernels) > 1:
        kernels = [each for each in kernels if each.stem == sheet.name]
        if len(kernels) > 1:
            places = " and ".join(_printable(str(each.relative_to(path))) for each in kernels[:2])
            raise NotRunnable(f"There are several files of the name {sheet.name}: {places}. Hand in one of them.")
        if not kernels:
            raise NotRunnable(f"There are several kernels: name one {sheet.name}.cu.")
    if not kernels and not notes:
        raise NotRunnable("There is no .cu file.")
    return kernels, notes


def _inside(folder: Path) -> Iterator[Path]:
    """Return the files of a folder and of its own folders, without hidden ones."""
    for path in folder.rglob("*"):
        own = path.relative_to(folder).parts
        if not any(part.startswith((".", "__MACOSX")) for part in own) and (path.is_symlink() or not path.is_dir()):
            yield path


def _text(path: Path) -> tuple[str, str | None]:
    """Return the text of a plain file of at most SOURCE_BYTES, and a sentence on its encoding. Links could lead
    anywhere, and a pipe has no end, so both are refused."""
    name = _printable(path.name)
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotRunnable(f"{name} is no plain file.")
        with path.open("rb") as file:
            raw = file.read(SOURCE_BYTES + 1)
        if len(raw) > SOURCE_BYTES:
            raise NotRunnable(f"{name} has more than {SOURCE_BYTES >> 10} kB.")
        return decode(name, raw)
    except OSError as error:
        raise NotRunnable(f"{name} cannot be read: {error.strerror}.") from None


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name)


DEADLINE_S = 20.0  # of one run; those of the sheets' own solutions take at most two seconds on a slow core


def submit(sheet: Sheet, asked: Asked, session: str, deadline: float = DEADLINE_S) -> service.Handle:
    """Run a choice of a sheet: a kernel of the catalogue or a text in its place, or the sheet's own launch of a text.

    Or estimate its time on the H200. NotRunnable: it cannot run.
    """
    if isinstance(asked, Estimation):
        return service.submit_estimate(settle(asked.choice), "", session)
    choice = asked
    if sheet.launch is None or choice.source is None:
        return service.submit(settle(choice), session, deadline=deadline)
    file, setup = choice.source_name or "kernel.cu", launch_for(sheet, choice)
    return service.submit_own(setup, choice.n, choice.source, file, choice.schedule, session, again=False)


def launch_for(sheet: Sheet, choice: Choice) -> Setup:
    """Return the sheet's own launch of the text of a choice, whose parameters may have other names than in the
    solution."""
    assert sheet.launch is not None and choice.source is not None
    setup = replace(sheet.launch, block=(str(choice.block_size), *sheet.launch.block[1:]))
    texts = (sheet.solution, choice.source)
    ours, theirs = (kernels_in(text).get(bare(setup.kernel), Declared(())).parameters for text in texts)
    if setup.right is None or len(ours) != len(theirs):
        return setup  # the launch itself says what is missing
    return replace(setup, right=with_names(setup.right, dict(zip(ours, theirs, strict=True))))


def with_names(right: Right | Formula, names: Mapping[str, str]) -> Right | Formula:
    """Return what is right with other names for the parameters. `names`: {old name: new name}."""
    out = names.get(right.out, right.out)
    if isinstance(right, Right):
        return replace(right, out=out, given=tuple(names.get(name, name) for name in right.given))
    return Formula(out, _VARIABLE.sub(lambda found: names.get(found[0], found[0]), right.line))


_VARIABLE = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\()")  # neither a function nor an attribute


def answer_of(sheet: Sheet, handle: service.Handle, asked: Asked) -> Answer:
    """Wait for the run; its Measurement, or the reason of its Estimate, holds any failure."""
    if isinstance(asked, Estimation):
        try:
            estimate: Estimate = handle.result()
        except Exception as error:
            return no_estimate(str(error), gpu())
        return estimate
    choice = asked
    if sheet.launch is None or choice.source is None:
        return service.measurement_of(handle, choice)
    try:
        found: Measurement = handle.result().measurement
    except Exception as error:
        return service.failure_of(choice, error)
    return found


@dataclass(frozen=True)
class Grade:
    """The grade of one submission: its verdicts, or the `reason` why there are none. `notes`: on its files; `entry`,
    `student`, `text`: of the submission."""

    name: str
    files: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    reason: str | None = None
    notes: tuple[str, ...] = ()
    entry: str = ""
    student: Student = NOBODY
    text: str = ""

    @property
    def passed(self) -> bool:
        """Return whether the submission passed every check that could be made."""
        return self.reason is None and passed(self.verdicts)


def refused_answer(asked: Asked, refused: NotRunnable) -> Answer:
    """Return the answer to what is refused."""
    return no_estimate(str(refused), gpu()) if isinstance(asked, Estimation) else service.failure_of(asked, refused)


def run_of(sheet: Sheet, session: str, deadline: float = DEADLINE_S) -> Run:
    """Return a function that runs a choice in a worker and waits for it; its Measurement holds any failure."""

    def run(asked: Asked) -> Answer:
        try:
            handle = submit(sheet, asked, session, deadline)
        except NotRunnable as refused:
            return refused_answer(asked, refused)
        return answer_of(sheet, handle, asked)

    return run


def graded(sheet: Sheet, found: Sequence[HandedIn], seed: int) -> list[Grade]:
    """Return the grades, in the order of the submissions. `seed`: draws the same hidden runs for all of them."""
    at_once = max(1, len(service.connect().slots))
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda one: _grade(sheet, one, seed), found))


def _grade(sheet: Sheet, one: HandedIn, seed: int) -> Grade:
    if one.submission is None:
        return Grade(one.name, one.files, (), one.reason, entry=one.entry, student=one.student)
    run = run_of(sheet, f"grade {one.name}", DEADLINE_S)
    found = tuple(verdicts(sheet, one.submission, run, bool(service.gpus()), seed))
    return Grade(one.name, one.files, found, None, one.notes, one.entry, one.student, one.submission.text or "")


@dataclass(frozen=True)
class Graded:
    """The grade of one text, for a notebook."""

    sheet: Sheet
    grade: Grade

    @property
    def passed(self) -> bool:
        """Return whether every check that could be made is passed."""
        return self.grade.passed

    @property
    def points(self) -> float:
        """Return the points of the passed checks."""
        return points(self.sheet, self.grade)

    def __str__(self) -> str:
        return feedback(self.sheet, self.grade).rstrip()

    def _repr_html_(self) -> str:
        marks = {True: "✓", False: "✗", None: "–"}
        found = {one.check: one for one in self.grade.verdicts}
        rows = "".join(
            f"<tr><td>{marks[one.passed]}</td><td style='text-align:left'>{escape(check.aim)}</td>"
            f"<td style='text-align:left'>{escape(one.sentence)}</td><td>{check.points:g}</td></tr>"
            for check in self.sheet.checks
            if (one := found.get(check.name)) is not None
        )
        head = f"{self.sheet.title}: {self.points:g} of {self.sheet.points:g} points"
        return f"<b>{escape(head)}</b><table>{rows}</table>"


def grade(name: str, source: str | None, answers: Mapping[str, str]) -> Graded:
    """Grade one text in the sheet of that name, with a hidden run drawn anew. `source`: the kernel's file; `answers`:
    to the questions, by the check's name. NotRunnable: there is no such sheet."""
    sheet = load(name)
    joined = {**answers_in(source or ""), **answers}
    one = HandedIn(name, (), Submission(source, joined, f"{name}.cu"))
    return Graded(sheet, graded(sheet, [one], randbits(32))[0])


def points(sheet: Sheet, grade: Grade) -> float:
    """Return the points of a submission: those of the checks that it passed; of one that the platform calls late, the
    share that the course gives."""
    good = {verdict.check for verdict in grade.verdicts if verdict.passed}
    return _share(sheet, grade) * sum(check.points for check in sheet.checks if check.name in good)


def _share(sheet: Sheet, grade: Grade) -> float:
    return sheet.rules.late if grade.student.late and sheet.rules.deadline else 1.0


def marks(sheet: Sheet, grades: Sequence[Grade]) -> list[Mark]:
    """Return the grades for a platform's table."""
    return [
        Mark(grade.student, points(sheet, grade), sheet.points, {check.name: _mark(_verdict(grade, check.name))
             for check in sheet.checks}, feedback(sheet, grade, short=True))
        for grade in grades
    ]  # fmt: skip


def feedback(sheet: Sheet, grade: Grade, short: bool = False) -> str:
    """Return what a student is told: a line for each check with its points, and why it was missed; `short`: only the
    missed checks."""
    if grade.reason is not None:
        return grade.reason
    lines = []
    for check in sheet.checks:
        found = _verdict(grade, check.name)
        good = found is not None and bool(found.passed)
        told = found.sentence if found is not None else "Not checked."
        if not (short and good):
            lines.append(f"{check.name} ({check.points if good else 0:g} of {check.points:g}): {told}")
    if _share(sheet, grade) < 1:
        lines.append(f"Handed in after the deadline: {_share(sheet, grade):.0%} of the points count.")
    if short:
        return " ".join(lines)
    head = f"{sheet.title}: {points(sheet, grade):g} of {sheet.points:g} points"
    return "\n".join([head, "", *lines, *grade.notes, ""])


def _verdict(grade: Grade, check: str) -> Verdict | None:
    return next((one for one in grade.verdicts if one.check == check), None)


def record(sheet: Sheet, grades: Sequence[Grade], seed: int) -> Mapping[str, Any]:
    """Return the record that --json prints."""
    return {
        "sheet": sheet.name,
        "title": sheet.title,
        "seed": seed,
        "status": "ok" if all(grade.passed for grade in grades) else "wrong",
        "reason": None,
        "points": sheet.points,
        "checks": [{"check": check.name, "aim": check.aim, "points": check.points} for check in sheet.checks],
        "submissions": [
            {
                "name": grade.name,
                "files": list(grade.files),
                "passed": grade.passed,
                "id": grade.student.id,
                "late": grade.student.late,
                "points": points(sheet, grade),
                "reason": grade.reason,
                "notes": list(grade.notes),
                "checks": [asdict(verdict) for verdict in grade.verdicts],
            }
            for grade in grades
        ],
    }


def table(sheet: Sheet, grades: Sequence[Grade]) -> str:
    """Return a line for each submission: a mark for each check, and the sentence of the first missed one."""
    names = [check.name for check in sheet.checks]
    wide = max([len("submission"), *(len(grade.name) for grade in grades)])
    head = "  ".join([f"{'submission':{wide}}", "points", *names])
    rows = [_row(sheet, grade, wide) for grade in grades]
    good = sum(grade.passed for grade in grades)
    notes = [f"{grade.name}: {note}" for grade in grades for note in grade.notes]
    return "\n".join([sheet.title, head, *rows, *notes, f"{good} of {len(grades)} passed."])


def _row(sheet: Sheet, grade: Grade, wide: int) -> str:
    marks = [f"{_mark(_verdict(grade, check.name)):{len(check.name)}}" for check in sheet.checks]
    missed = grade.reason or next((one.sentence for one in grade.verdicts if one.passed is False), "")
    return "  ".join([f"{grade.name:{wide}}", f"{points(sheet, grade):6g}", *marks, missed]).rstrip()


def _mark(verdict: Verdict | None) -> str:
    if verdict is None or verdict.passed is None:
        return "-"
    return "ok" if verdict.passed else "no"


START, SOLUTION = "the start", "the solution"
SEED = 0  # of the drawn runs, so every trial of a sheet runs the same ones


@dataclass(frozen=True)
class Trial:
    """The result of one file of the sheet. `name`: START, SOLUTION or that of a wrong submission; `good`: it passed or
    was rejected, as it must be; `sentence`: why it was rejected, or the sheet's fault."""

    name: str
    good: bool
    sentence: str


def trials(sheet: Sheet, run: Run) -> Iterator[Trial]:
    """Yield the trials of start, solution and wrong submissions, each as soon as it is known. `run`: as for
    `verdicts`."""
    if sheet.function:
        missed = next(_missed(sheet, sheet.start, run), None)
        yield Trial(START, missed is not None, missed.sentence if missed else "It passes every check of a file.")
    missed = next(_missed(sheet, sheet.solution, run, questions=True), None)
    yield Trial(SOLUTION, missed is None, f"{missed.check}: {missed.sentence}" if missed else "It passes.")
    for wrong in sheet.wrong:
        checks = tuple(check for check in sheet.checks if check.name == wrong.check)
        missed = next(_missed(replace(sheet, checks=checks), wrong.text, run), None)
        yield Trial(wrong.name, missed is not None, missed.sentence if missed else f"It passes {wrong.check}.")


def _missed(sheet: Sheet, text: str, run: Run, questions: bool = False) -> Iterator[Verdict]:
    """Yield the missed checks of a text; its questions get the right answers, or are left out."""
    answers = {question.name: str(question.answer) for question in sheet.questions}
    checks = sheet.checks if questions else tuple(check for check in sheet.checks if check not in sheet.questions)
    submission = Submission(text or None, answers, f"{sheet.name}.cu")
    found = verdicts(replace(sheet, checks=checks), submission, run, seed=SEED)
    return (verdict for verdict in found if not passed([verdict]))
