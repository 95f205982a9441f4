"""Submissions that are alike, for a person to judge: files that share long sequences of tokens.

Names and numbers of the student's own do not count, nor does what the sheet gave to everybody: the start and, as right
answers look alike, the solution.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

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
