"""The submissions of a course: the archive that a learning platform hands out, the table of grades that it takes, and
submissions that are alike, for a person to judge.

Moodle names a student's folder or file "Ada Lovelace_4711_assignsubmission_file_..."; Canvas names a file
"lovelaceada_LATE_815_90210_mine.cu". Both are read as they come; any other name is the student's.

Two submissions are alike if they share long sequences of tokens. Names and numbers of the student's own do not count,
nor does what the sheet gave to everybody: the start and, as right answers look alike, the solution.
"""

from __future__ import annotations

import csv
import errno
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path, PurePosixPath

from engine.compile.limits import SOURCE_BYTES
from engine.records import NotRunnable
from engine.records.archive import UNREADABLE
from engine.records.words import reason_text

ARCHIVE = ".zip"
_ENCRYPTED = 1  # the bit of an entry that needs a password
MOST_FILES, MOST_BYTES = 5_000, 256 << 20  # of an archive; a file beyond SOURCE_BYTES is refused with its student
LONGEST, SHOWN = 240, 40  # bytes of a folder's name, and letters of a file's name in a sentence
PLATFORMS = ("plain", "moodle", "canvas")
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?")
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+(?:_(?P<file>.+))?")
GRAM = 16  # tokens of a sequence
LEAST = 0.5  # of the shorter file's own sequences: fewer in common are not listed
FEWEST = 8  # own sequences of a file that can be compared
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|"[^"\n]*"|[^\s\w]')
# Words that mean the same in every file; others are names.
_FIXED = re.compile(
    r"__\w+|(?:if|else|for|while|do|return|break|continue|switch|case|template|typename|struct|const|unsigned|int|float|"
    r"double|char|bool|void|long|short|auto|threadIdx|blockIdx|blockDim|gridDim|atomic\w+|min|max)"
)


@dataclass(frozen=True)
class Student:
    """`name`: as the platform writes it; `id`: its number there, "" if unknown; `late`: handed in after the deadline,
    as far as the name tells."""

    name: str
    id: str = ""
    late: bool = False


NOBODY = Student("")


def student_of(entry: str) -> tuple[Student, str]:
    """Return the student of a file's or folder's name, and the name of the student's own file, "" for a folder."""
    for pattern in (_MOODLE, _CANVAS):
        if found := pattern.fullmatch(entry):
            parts = found.groupdict()
            return Student(parts["name"], parts["id"], bool(parts.get("late"))), parts["file"] or ""
    return Student(entry.rpartition(".")[0] or entry), entry


def unpack(archive: Path, folder: Path, wanted: Sequence[str]) -> dict[str, str]:
    """Write the files of an archive to `folder`, in a folder for each student: those whose ending is `wanted`. Return a
    sentence on the files that could not be written, by the name of the student's folder.

    NotRunnable: it is no archive, or holds too much.
    """
    refused: dict[str, str] = {}
    try:
        with zipfile.ZipFile(archive) as packed:
            entries = [each for each in packed.infolist() if not each.is_dir() and _is_wanted(each, wanted)]
            if len(entries) > MOST_FILES or sum(min(each.file_size, SOURCE_BYTES) for each in entries) > MOST_BYTES:
                raise NotRunnable(f"{archive.name} holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MB.")
            if not entries:
                raise NotRunnable(
                    f"There is no submission in {archive.name}: a {wanted[0]} file, or a folder with one, for each "
                    "student."
                )
            if any(each.flag_bits & _ENCRYPTED for each in entries):
                raise NotRunnable(f"{archive.name} is encrypted: unpack it, and grade the folder.")
            whole = _common([_parts_of(each) for each in entries if not _fault_of(each)])
            for each in entries:
                parts = _parts_of(each)
                parts = parts[1:] if len(parts) > 2 and parts[0] == whole else parts
                entry = parts[0]
                own = parts[1:] if len(parts) > 1 else (student_of(entry)[1] or entry,)
                name = _folder_name(entry, len(parts) > 1).encode(errors="replace")[:LONGEST]
                place = folder / name.decode(errors="ignore")
                place.mkdir(exist_ok=True)
                why = _fault_of(each) or _unwritten(place.joinpath(*own), packed.open(each).read(SOURCE_BYTES + 1))
                if why:
                    refused[place.name] = f"{own[-1][:SHOWN]}{' …' * (len(own[-1]) > SHOWN)} {why}"
    except UNREADABLE as error:
        raise NotRunnable(f"{archive.name} cannot be unpacked: {reason_text(error)}.") from None
    return refused


def _unwritten(path: Path, content: bytes) -> str:
    """Write a new file, and return "", or why that one alone cannot be written. OSError: none can be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return "stands twice in the archive: the first one counts."
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.ENOTDIR):
            raise
        return f"cannot be unpacked: {error.strerror}."
    return ""


def _path_of(entry: zipfile.ZipInfo) -> PurePosixPath:
    return PurePosixPath(entry.filename.replace("\\", "/"))  # as old programs for Windows write it


def _parts_of(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    """Return the folders and the name of an entry, without what leads out of the archive's own folder."""
    return tuple(part for part in _path_of(entry).parts if part.strip("/") not in ("", ".."))


def _is_wanted(entry: zipfile.ZipInfo, wanted: Sequence[str]) -> bool:
    """Return whether an entry could be a student's file: by its ending, and not hidden."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in _parts_of(entry))
    return _path_of(entry).suffix in wanted and not hidden


def _fault_of(entry: zipfile.ZipInfo) -> str:
    """Return why an entry is not read, or ""."""
    path = _path_of(entry)
    if path.is_absolute() or ".." in path.parts:
        return "leads out of the archive's folder."
    return "is a link: hand in the file itself." if (entry.external_attr >> 16) & 0o170000 == 0o120000 else ""


def _common(paths: Sequence[tuple[str, ...]]) -> str:
    """Return the folder that all entries share, which is that of the archive; "" if there is none."""
    shared = len({parts[0] for parts in paths}) == 1 and all(len(parts) > 2 for parts in paths)
    return paths[0][0] if shared else ""


def _folder_name(entry: str, is_folder: bool) -> str:
    """Return a student's folder: of a file's name without the name of the student's own file, so two files meet."""
    if is_folder:
        return entry
    student, own = student_of(entry)
    return entry.removesuffix(f"_{own}") if student.id else student.name


@dataclass(frozen=True)
class Mark:
    """A student's grade for a platform's table. `points` of `most`; `checks`: name -> "ok", "no" or "-"."""

    student: Student
    points: float
    most: float
    checks: dict[str, str]
    feedback: str


def grade_table(title: str, marks: Sequence[Mark], platform: str) -> str:
    """Return the grades as CSV, in the columns that a platform imports; `plain` has every check."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    if platform == "moodle":
        write(["Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments"])
        for mark in marks:
            identifier = f"Participant {mark.student.id}" if mark.student.id else ""
            write(
                [identifier, _cell(mark.student.name), _number(mark.points), _number(mark.most), _cell(mark.feedback)]
            )
    elif platform == "canvas":
        write(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title])
        write(["    Points Possible", "", "", "", "", _number(max((mark.most for mark in marks), default=0))])
        for mark in marks:
            write([_cell(mark.student.name), mark.student.id, "", "", "", _number(mark.points)])
    else:
        names = list(marks[0].checks) if marks else []
        write(["student", "id", "late", "points", "of", *names, "feedback"])
        for mark in marks:
            checks = [mark.checks[name] for name in names]
            late = "late" if mark.student.late else ""
            write([_cell(mark.student.name), mark.student.id, late, _number(mark.points), _number(mark.most), *checks,
                   _cell(mark.feedback)])  # fmt: skip
    return out.getvalue()


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula or for two rows."""
    plain = text.replace("\r", " ")
    return f"'{plain}" if plain[:1] in ("=", "+", "-", "@", "\t") else plain


def _number(value: float) -> str:
    return f"{value:g}"


@dataclass(frozen=True)
class Alike:
    """Two submissions, and the share of the shorter one's own sequences that the other has, too."""

    one: str
    other: str
    share: float


def alike(texts: Mapping[str, str], given: Sequence[str] = ()) -> list[Alike]:
    """Return the pairs of submissions that share at least LEAST, the most alike first. `given`: texts of the sheet."""
    common = set().union(*map(_sequences, given)) if given else set()
    own = {name: _sequences(text) - common for name, text in texts.items()}
    compared = {name: found for name, found in own.items() if len(found) >= FEWEST}
    pairs = (
        Alike(one, other, len(compared[one] & compared[other]) / min(len(compared[one]), len(compared[other])))
        for one, other in combinations(compared, 2)
    )
    return sorted((pair for pair in pairs if pair.share >= LEAST), key=lambda pair: -pair.share)


def _sequences(text: str) -> set[tuple[str, ...]]:
    tokens = [_kind(token) for token in _TOKEN.findall(_COMMENT.sub(" ", text))]
    return {tuple(tokens[at : at + GRAM]) for at in range(len(tokens) - GRAM + 1)}


def _kind(token: str) -> str:
    if token[0].isdigit():
        return "0"
    if token[0].isalpha() or token[0] == "_":
        return token if _FIXED.fullmatch(token) else "x"
    return token[0]
