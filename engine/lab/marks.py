"""Marks at the lines of a draft: what the compiler objects to, what it warns of, and what the emulator found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.compile.nvrtc import meant
from engine.records import Finding

_LOGGED = r"^{}\((\d+)\): (?:catastrophic |internal )?(error|warning)(?: #[\w-]+)?: (.+)$"
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
    """The errors and warnings of the compiler's log that are in the file itself, in the order of its lines. `text`: the
    file's; with it an unknown word is followed by the word that was perhaps meant."""
    logged = re.findall(_LOGGED.format(re.escape(file_name)), log, re.MULTILINE)
    marks = {Mark(int(line), kind, _sentence(words + meant(words, text))) for line, kind, words in logged}
    return tuple(sorted(marks, key=_place))


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
