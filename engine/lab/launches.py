"""The block of threads with which a file itself launches a kernel, as far as its host code says it in numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from engine.catalogue.entries import MAX_BLOCK
from engine.lab.sizes import computed
from engine.lab.top_level import parts, uncommented
from engine.records import NotRunnable

_DEEPEST, _MOST_NAMES = 6, 60
_BYTES = {"char": 1, "bool": 1, "half": 2, "short": 2, "int": 4, "float": 4, "unsigned": 4, "double": 8, "long": 8}
_SIZEOF = re.compile(r"sizeof\s*\(\s*(\w+)[\w ]*\)")
_DIM3 = re.compile(r"(?:dim3\s*)?[({](.*)[)}]", re.DOTALL)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True)
class Launched:
    """`block`: one to three sizes; `shared`: bytes of dynamic shared memory, 0 where nothing says how many."""

    block: tuple[int, ...]
    shared: int


def launched(text: str, name: str) -> Launched | None:
    """How the first launch of the kernel `name` says it; None where it does not, in numbers."""
    code = _Code(uncommented(text))
    found = re.search(rf"(?<![\w.]){name}\s*(?:<(?!<)[^;{{}}]{{0,400}}?>\s*)?<<<([^;]{{1,400}}?)>>>", code.text)
    given = parts(found[1]) if found else []
    block = code.sizes(given[1].strip()) if len(given) > 1 else None
    if block is None or not 1 <= len(block) <= 3 or not 1 <= prod(block) <= MAX_BLOCK or min(block) < 1:
        return None
    while len(block) > 1 and block[-1] == 1:
        block = block[:-1]
    shared = code.sizes(given[2].strip()) if len(given) > 2 else None
    return Launched(block, shared[0] if shared else 0)


class _Code:
    def __init__(self, text: str) -> None:
        self.text = text
        self._looked_up = 0

    def sizes(self, words: str, depth: int = 0) -> tuple[int, ...] | None:
        """The numbers that the words stand for: one, or those of a dim3."""
        if depth > _DEEPEST:
            return None
        words = _SIZEOF.sub(lambda found: str(_BYTES.get(found[1], found[0])), words).strip()
        inner = _DIM3.fullmatch(words)
        if inner and (words.startswith(("dim3", "{")) or "," in inner[1]):
            each = [self.sizes(part, depth + 1) for part in parts(inner[1])]
            return tuple(one[0] for one in each if one) if all(each) else None
        if _WORD.fullmatch(words):
            meant = self._meant(words)
            return self.sizes(meant, depth + 1) if meant else None
        for word in dict.fromkeys(_WORD.findall(words)):
            value = self.sizes(word, depth + 1)
            if value is None:
                return None
            words = re.sub(rf"(?<![\w.]){word}\b", str(value[0]), words)
        try:
            return (computed(words, {}),)
        except NotRunnable:
            return None

    def _meant(self, word: str) -> str | None:
        """What a name is defined as: by a macro, as a dim3, or with the value that it has first."""
        self._looked_up += 1
        if self._looked_up > _MOST_NAMES:
            return None
        for pattern in (
            rf"^[ \t]*#[ \t]*define[ \t]+{word}[ \t]+([^\n]{{1,200}})$",
            rf"\bdim3\s+{word}\s*([({{][^;]{{1,200}}?[)}}])\s*[;,]",
            rf"(?<![\w.]){word}\s*=\s*(dim3\s*\([^;]{{1,200}}?\))\s*;",
            rf"(?<![\w.]){word}\s*=(?!=)\s*([^;,]{{1,100}})[;,]",
        ):
            found = re.search(pattern, self.text, re.MULTILINE)
            if found:
                return found[1].strip()
        return None
