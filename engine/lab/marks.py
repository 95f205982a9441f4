"""Marks at the lines of a draft: what the compiler objects to, what it warns of, and what the emulator found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.compile.errors import messages
from engine.records import CompileError, Finding
from engine.records.plan import compiler_name

_UNUSED = "never referenced"  # perhaps by lines that the compiler did not understand
Kind = Literal["error", "warning", "finding"]


@dataclass(frozen=True)
class CompilerWarning:
    """A warning about a draft. `line`: its line in the file, None for the whole file."""

    message: str
    line: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True)
class Mark:
    """One sentence at one line, which counts from 1."""

    line: int
    kind: Kind
    message: str


def compiler_marks(file_name: str, log: str, text: str = "") -> tuple[Mark, ...]:
    """Return the compiler's messages about the file itself, in the order of its lines: one error at a line, which the
    others follow from. `text`: the file's, for advice."""
    found = messages(compiler_name(file_name), log, text)
    errors: dict[int, str] = {}
    for one in sorted(found, key=lambda one: one.consequence):
        if one.kind == "error":
            errors.setdefault(one.line, one.words)
    marks = {Mark(line, "error", _sentence(words)) for line, words in errors.items()}
    warnings = (one for one in found if one.kind == "warning" and not (errors and _UNUSED in one.words))
    return tuple(sorted(marks | {Mark(one.line, one.kind, _sentence(one.words)) for one in warnings}, key=_place))


def error_marks(file_name: str, error: CompileError, text: str) -> tuple[Mark, ...]:
    """Return the marks of a text that does not compile: those of the log, with the error's own reason at its line."""
    others = compiler_marks(file_name, error.log, text)
    if error.line is None:
        return others
    reason = str(error).partition(f" does not compile: line {error.line}: ")[2] or str(error)
    own = Mark(error.line, "error", _sentence(reason))
    return tuple(sorted((own, *(one for one in others if one.line != error.line)), key=_place))


def warning_marks(warnings: Sequence[CompilerWarning]) -> tuple[Mark, ...]:
    """Return a mark for each warning with a line."""
    return tuple(Mark(each.line, "warning", _sentence(each.message)) for each in warnings if each.line)


def finding_marks(findings: Sequence[Finding]) -> tuple[Mark, ...]:
    """A mark at each line of each finding."""
    return tuple(sorted(set(_of(findings)), key=_place))


def _of(findings: Sequence[Finding]) -> Iterator[Mark]:
    for finding in findings:
        for line in (finding.line, finding.other_line):
            if line:
                yield Mark(line, "finding", finding.message)


def _sentence(words: str) -> str:
    words = words.strip().rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."


def _place(mark: Mark) -> tuple[int, str]:
    return mark.line, mark.message
