"""What changed in a source since the rung before."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache


@dataclass(frozen=True)
class Difference:
    """`changed`: the file's lines that are new or changed (1-based). `gone`: what stood there before, by the line above
    which it stood."""

    changed: frozenset[int] = frozenset()
    gone: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def removed(self) -> int:
        """How many lines are no longer there."""
        return sum(map(len, self.gone.values()))


@lru_cache(maxsize=512)
def difference(text: str, name: str, before: str, before_name: str) -> Difference:
    """What is new in `text`, the source of the kernel `name`, since `before`.

    Header comments, the kernels' names and white space do not count.
    """
    lines, old = text.splitlines(), before.splitlines()
    start, old_start = header_length(lines), header_length(old)
    now = [_plain(line, name) for line in lines[start:]]
    then = [_plain(line, before_name) for line in old[old_start:]]
    changed: set[int] = set()
    gone: dict[int, tuple[str, ...]] = {}
    for what, i0, i1, j0, j1 in SequenceMatcher(None, then, now, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        changed |= {start + 1 + j for j in range(j0, j1) if now[j]}
        if left := tuple(old[old_start + i] for i in range(i0, i1) if then[i]):
            gone[start + 1 + j0] = left
    return Difference(frozenset(changed), gone)


def header_length(lines: Collection[str]) -> int:
    """How many lines the header comment takes, blank lines after it included."""
    count = 0
    for line in lines:
        if not line.startswith("//") and line.strip():
            break
        count += 1
    return count


def _plain(line: str, name: str) -> str:
    return re.sub(r"\s+", " ", re.sub(rf"\b{re.escape(name)}\b", "KERNEL", line)).strip() if name else line.strip()
