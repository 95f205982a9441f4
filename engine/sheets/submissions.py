"""What students handed in, read from files that nobody has looked at: bounded, no links, nothing but text.

A submission is a file, or a folder with one. Answers to questions stand in comments, `// answer NAME: VALUE`, or in a
text file beside it with the same lines.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.compile.encodings import decode
from engine.compile.limits import SOURCE_BYTES
from engine.records import NotRunnable
from engine.sheets.judging import Submission
from engine.sheets.sheet import Sheet

_KERNELS, _ANSWERS = (".cu", ".cuh", ".cpp"), (".txt", ".md")
_ANSWER = re.compile(r"^[ \t]*(?://|#|\*)?[ \t]*answer[ \t]+([\w-]+)[ \t]*[:=][ \t]*(.*?)[ \t]*$", re.I | re.M)


@dataclass(frozen=True)
class HandedIn:
    """One student's: `name` of the file or folder, without its ending; `submission`, or the `reason` why there is
    none; `notes`: a word on files that are no plain UTF-8."""

    name: str
    files: tuple[str, ...]
    submission: Submission | None
    reason: str | None = None
    notes: tuple[str, ...] = ()


def handed_in(sheet: Sheet, paths: Sequence[Path]) -> list[HandedIn]:
    """The submissions at these paths: a single folder holds one each, several paths are one each. NotRunnable: none."""
    for path in paths:
        if not path.exists():
            raise NotRunnable(f"There is no file or folder {path}.")
    entries = list(paths)
    if len(entries) == 1 and entries[0].is_dir():
        entries = sorted(path for path in entries[0].iterdir() if path.is_dir() or path.suffix in _KERNELS + _ANSWERS)
        entries = [path for path in entries if not path.name.startswith(".")]
    found = [_read(sheet, path) for path in entries]
    if not found:
        raise NotRunnable(f"There is no submission in {paths[0]}: a .cu file, or a folder with one, for each student.")
    return found


def answers_in(text: str) -> dict[str, str]:
    """The answers that stand in a text, by the question's name; the last one counts."""
    return dict(_ANSWER.findall(text))


def with_answers(text: str, answers: Mapping[str, str]) -> str:
    """A kernel's file with answers above it, as `grade` reads them."""
    lines = [f"// answer {name}: {' '.join(value.split())}\n" for name, value in answers.items()]
    return "".join(lines) + text


def _read(sheet: Sheet, path: Path) -> HandedIn:
    name = _printable(path.stem if not path.is_dir() else path.name)
    files: tuple[str, ...] = ()
    try:
        kernels, notes = _files(sheet, path)
        files = tuple(_printable(each.name) for each in (*kernels, *notes))
        read = [_text(each) for each in (*kernels, *notes)]
        texts = [text for text, _ in read]
        answers = [answers_in(text) for text in texts]
    except NotRunnable as refused:
        return HandedIn(name, files, None, str(refused))
    joined = {question: value for found in answers for question, value in found.items()}
    file_name = files[0] if kernels else "kernel.cu"
    submission = Submission(texts[0] if kernels else None, joined, file_name)
    return HandedIn(name, files, submission, notes=tuple(said for _, said in read if said))


def _files(sheet: Sheet, path: Path) -> tuple[list[Path], list[Path]]:
    """The kernel's file and the files of answers. Of several kernels the one that is called as the sheet is."""
    found = sorted(path.iterdir()) if path.is_dir() and not path.is_symlink() else [path]
    kernels = [each for each in found if each.suffix in _KERNELS]
    notes = [each for each in found if each.suffix in _ANSWERS]
    if len(kernels) > 1:
        kernels = [each for each in kernels if each.stem == sheet.name]
        if len(kernels) != 1:
            raise NotRunnable(f"There are several kernels: name one {sheet.name}.cu.")
    if not kernels and not notes:
        raise NotRunnable("There is no .cu file.")
    return kernels, notes


def _text(path: Path) -> tuple[str, str | None]:
    """The text of a plain file of at most SOURCE_BYTES, and a word on its encoding. A link could lead anywhere, and a
    pipe has no end."""
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
