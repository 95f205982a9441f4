"""A kernel's source as HTML: C++ colours, real line numbers, the lines that changed since the rung before."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from html import escape
from math import ceil

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer
from pygments.token import Keyword, Name

# A slide, in percent of the window's height: the room of the source, and how small and large its type may get.
SLIDE_WIDTH, SLIDE_HEIGHT, LINE_HEIGHT, GLYPH = 88.0, 60.0, 1.36, 0.602
SMALLEST, SMALL, LARGEST = 1.6, 2.1, 3.0
SHORTEST_FOLD = 3
_CUDA_NAMES = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}
_CUDA_KEYWORDS = {"__global__", "__shared__", "__device__", "__restrict__", "__launch_bounds__", "__forceinline__"}


class CudaLexer(CppLexer):
    """C++ with CUDA's own words."""

    def get_tokens_unprocessed(self, text, stack=("root",)):
        """The tokens of C++, CUDA's words among them renamed."""
        for index, token, value in super().get_tokens_unprocessed(text, stack):
            if value in _CUDA_KEYWORDS:
                token = Keyword
            elif value in _CUDA_NAMES:
                token = Name.Builtin
            elif token in Name and (value.startswith("__") or value.startswith("atomic")):
                token = Name.Function
            yield index, token, value


@lru_cache(maxsize=256)
def source_html(text: str, name: str, before: str | None = None, before_name: str | None = None,
                found: tuple[int, ...] = (), fold: bool = False) -> str:  # fmt: skip
    """The kernel's lines below its header comment as one HTML block.

    `before`, `before_name`: the source and kernel of the rung before; lines that are new or changed since are marked,
    and how many were removed is said. `found`: lines (of the file) with a finding or an error. `fold`: a source
    too long to be read from the back row is folded where nothing changed.
    """
    lines = text.splitlines()
    start = header_length(lines)
    changed, removed = (set(), 0) if before is None else changes(text, name, before, before_name or "")
    rows = []
    shown = _unfolded(lines, start, changed | set(found), fold)
    size = slide_size([lines[number - 1] for number in sorted(shown)])
    folded = 0
    for number, code in enumerate(coloured_lines(text)[start:], start + 1):
        if number not in shown:
            folded += 1
            if number + 1 in shown or number == len(lines):
                rows.append(f'<div class="fold">⋯ {folded} lines as before</div>')
                folded = 0
            continue
        marks = [mark for mark, there in (("changed", number in changed), ("found", number in found)) if there]
        rows.append(
            f'<div class="line {" ".join(marks)}"><span class="number">{number}</span>'
            f'<span class="code">{code or " "}</span></div>'
        )
    say = ""
    if before is not None:
        gone = f", {removed} removed" if removed else ""
        say = f'<div class="legend"><i></i>{len(changed)} lines new or changed{gone} since the rung before</div>'
    return f'<div class="source" style="--slide:{size:.2f}vh"><div class="lines">{"".join(rows)}</div>{say}</div>'


def slide_size(lines: Collection[str]) -> float:
    """The largest type, in percent of the window's height, in which the lines fit a slide; long ones wrap."""
    size = LARGEST
    while size > SMALLEST:
        columns = SLIDE_WIDTH / (GLYPH * size)
        filled = sum(max(1, ceil(len(line) / columns)) for line in lines)
        if filled * LINE_HEIGHT * size <= SLIDE_HEIGHT:
            break
        size -= 0.05
    return size


def _unfolded(lines: list[str], start: int, marked: set[int], fold: bool) -> set[int]:
    """The lines to show: all, or those near a marked one and the heads of functions."""
    every = set(range(start + 1, len(lines) + 1))
    if not fold or not marked or slide_size(lines[start:]) >= SMALL:
        return every
    heads = {number for number in every if "__global__" in lines[number - 1]}
    for context in (12, 9, 7, 5, 4, 3, 2, 1):
        shown = every & (heads | {number + by for number in marked for by in range(-context, context + 1)})
        for run in _runs(sorted(every - shown)):
            shown |= set(run) if len(run) < SHORTEST_FOLD else set()
        if slide_size([lines[number - 1] for number in sorted(shown)]) >= SMALL:
            break
    return shown


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Neighbouring numbers together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def changes(text: str, name: str, before: str, before_name: str) -> tuple[set[int], int]:
    """The file's lines that are new or changed since `before` (1-based), and how many lines were removed.

    Header comments, the kernels' names and white space do not count.
    """
    lines, old = text.splitlines(), before.splitlines()
    start, old_start = header_length(lines), header_length(old)
    now = [_plain(line, name) for line in lines[start:]]
    then = [_plain(line, before_name) for line in old[old_start:]]
    changed: set[int] = set()
    removed = 0
    for what, i0, i1, j0, j1 in SequenceMatcher(None, then, now, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        changed |= {start + 1 + j for j in range(j0, j1) if now[j]}
        removed += max(0, sum(map(bool, then[i0:i1])) - sum(map(bool, now[j0:j1])))
    return changed, removed


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


def coloured_lines(text: str) -> list[str]:
    """The lines of a source as HTML, in C++ colours."""
    lexer = CudaLexer(stripnl=False, ensurenl=False)
    html = highlight(text, lexer, HtmlFormatter(nowrap=True))
    lines = html.splitlines()
    if len(lines) != len(text.splitlines()):  # a token over several lines: colours are not worth a wrong number
        return [escape(line) for line in text.splitlines()]
    return _closed(lines)


def _closed(lines: list[str]) -> list[str]:
    """Pygments closes its spans at line ends only outside of multi-line comments."""
    closed, open_tag = [], ""
    for line in lines:
        line = open_tag + line
        opened = re.findall(r"<span[^>]*>|</span>", line)
        stack: list[str] = []
        for tag in opened:
            if tag == "</span>":
                if stack:
                    stack.pop()
            else:
                stack.append(tag)
        open_tag = "".join(stack)
        closed.append(line + "</span>" * len(stack))
    return closed
