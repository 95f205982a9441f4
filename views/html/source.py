"""A kernel's source as HTML: C++ colours, real line numbers, the changed lines and the lines that they replace; and a
rung's source with the words about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from html import escape
from itertools import pairwise
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer
from pygments.token import STANDARD_TYPES, Keyword, Name, Text

from engine.catalogue import KERNELS, Kernel, Ladder, Rung
from engine.records.words import many, source_lines
from views.html.table import sentence_case
from views.html.terms import mark_terms


@dataclass(frozen=True)
class Difference:
    """`changed`: the new or changed lines of the file, from 1. `gone`: the deleted lines, by the line above them."""

    changed: frozenset[int] = frozenset()
    gone: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def removed(self) -> int:
        """Return the number of deleted lines."""
        return sum(map(len, self.gone.values()))


@lru_cache(maxsize=512)
def difference(text: str, name: str, before: str, before_name: str) -> Difference:
    """Return the change from `before` to `text`, the source of the kernel `name`.

    Header comments, the kernels' names and white space do not count.
    """
    lines, old = source_lines(text), source_lines(before)
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
    """Return the number of lines of the header comment, with blank lines after it."""
    count = 0
    for line in lines:
        if not line.startswith("//") and line.strip():
            break
        count += 1
    return count


def _plain(line: str, name: str) -> str:
    return re.sub(r"\s+", " ", re.sub(rf"\b{re.escape(name)}\b", "KERNEL", line)).strip() if name else line.strip()


_CUDA_NAMES = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}
_CUDA_KEYWORDS = {"__global__", "__shared__", "__device__", "__restrict__", "__launch_bounds__", "__forceinline__"}
_STYLED = set(re.findall(r"\.source \.(\w+)", Path(__file__).with_name("style.css").read_text()))
# An element for each of the other words would double the HTML, and take a third of the browser's time
# for a step to a long source.
_COLOURED = {token for token, name in STANDARD_TYPES.items() if name in _STYLED}


class CudaLexer(CppLexer):
    """C++ with the words of CUDA."""

    def get_tokens_unprocessed(self, text, stack=("root",)):
        """Yield the tokens of C++, with CUDA's words renamed; a token without a colour in the style sheet is plain
        text."""
        for index, token, value in super().get_tokens_unprocessed(text, stack):
            if value in _CUDA_KEYWORDS:
                token = Keyword
            elif value in _CUDA_NAMES:
                token = Name.Builtin
            elif token in Name and (value.startswith("__") or value.startswith("atomic")):
                token = Name.Function
            yield index, token if token in _COLOURED else Text, value


@lru_cache(maxsize=256)
def coloured_lines(text: str) -> list[str]:
    """Return the lines of a source as HTML, in C++ colours."""
    lexer = CudaLexer(stripnl=False, ensurenl=False)
    html = highlight(text, lexer, HtmlFormatter(nowrap=True))
    lines = source_lines(html)
    if len(lines) != len(source_lines(text)):  # a token spans lines: right numbers matter more than colours
        return [escape(line) for line in source_lines(text)]
    return _closed(lines)


def _closed(lines: list[str]) -> list[str]:
    """Return the tokens, with multi-line comments cut at line ends, where Pygments leaves its spans open."""
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


CONTEXT = 3  # lines shown on a slide before and after a change
SMALLEST_FOLD = 3  # lines
SLIDE_ROWS = 18  # lines that fit a slide in the smallest type that the back row can read
MOST_OLD = 8  # old lines shown at once; a click shows more


@lru_cache(maxsize=256)
def source_html(text: str, name: str, before: str | None = None, before_name: str | None = None,
                slide: bool = False, what_before: str = "the rung before",
                named: frozenset[int] = frozenset()) -> str:  # fmt: skip
    """Return the kernel's lines below its header comment as one HTML block.

    `before`, `before_name`: the source and kernel of the previous rung; new and changed lines are marked, and the old
    lines are shown. `slide`: in a long source, lines far from every change are folded, and each line has its distance
    from a change, by which views/html/browser.js folds more until the source fits. `what_before`: the name of `before`
    for a reader. `named`: lines that an outcome names; they are marked, and never folded.
    """
    lines = source_lines(text)
    start = header_length(lines)
    since = Difference() if before is None else difference(text, name, before, before_name or "")
    old_folded = since.removed > MOST_OLD
    shown = set(range(start + 1, len(lines) + 1))
    near = _distances(lines, start, since, named) if slide and before is not None else {}
    if near and source_rows(text, since) > SLIDE_ROWS:
        shown = _without_small_gaps({n for n, far in near.items() if far <= CONTEXT}, start, len(lines))
    rows: list[str] = []
    folded: list[str] = []
    hidden: list[int] = []
    coloured = coloured_lines(text)
    for number in range(start + 1, len(lines) + 2):  # the old lines at the end come below the last line
        end = number > len(lines)
        seen = number in shown or end
        if seen and hidden:
            rows.append(_hidden(hidden, folded))
            folded, hidden = [], []
        there = rows if seen else folded
        if number in since.gone:
            there.append(_gone(since.gone[number], old_folded, what_before))
        if end:
            break
        marks = {"changed": number in since.changed, "found": number in named, "blank": not lines[number - 1].strip()}
        kind = " ".join(["line", *(mark for mark, so in marks.items() if so)])
        far = f' data-far="{near[number]}"' if near.get(number) else ""
        there.append(
            f'<div class="{kind}"{far}><span class="number">{number}</span>'
            f'<span class="code">{coloured[number - 1] or " "}</span></div>'
        )
        if not seen:
            hidden.append(number)
    scroller = f'<div class="lines" tabindex="0" role="region" aria-label="Source">{"".join(rows)}</div>'
    legend = _legend(since, what_before) if before is not None else ""
    return f'<div class="source"><div class="pane">{scroller}</div>{legend}</div>'


def source_rows(text: str, since: Difference) -> int:
    """Return the number of lines below the header comment, with the old ones."""
    lines = source_lines(text)
    return sum(map(bool, map(str.strip, lines[header_length(lines) :]))) + min(since.removed, MOST_OLD)


def _distances(lines: Sequence[str], start: int, since: Difference, named: Collection[int]) -> dict[int, int]:
    """Return line -> its distance from the nearest change, at most CONTEXT + 1; 0 also for the head of the kernel and
    for lines that an outcome names."""
    heads = [n + i for n, line in enumerate(lines[start:], start + 1) if "__global__" in line for i in (0, 1)]
    edges = {*since.changed, *since.gone, *(n - 1 for n in since.gone)}
    far = {n: min((abs(n - edge) + (edge not in since.changed) for edge in edges), default=CONTEXT + 1)
           for n in range(start + 1, len(lines) + 1)}  # fmt: skip
    return {n: 0 if n in heads or n in named else min(away, CONTEXT + 1) for n, away in far.items()}


def _without_small_gaps(shown: set[int], start: int, last: int) -> set[int]:
    """Return the lines to show, with those of gaps too small for a fold."""
    edges = [start, *sorted(shown), last + 1]
    gaps = (range(low + 1, high) for low, high in pairwise(edges) if high - low - 1 < SMALLEST_FOLD)
    return shown.union(*gaps)


def _legend(since: Difference, what_before: str) -> str:
    changed = f"<span><i></i>{many(len(since.changed), 'line')} new or changed since {what_before}</span>"
    gone = f'<span><i class="gone"></i>{many(since.removed, "old line")}</span>' if since.removed else ""
    return f'<div class="legend">{changed}{gone}</div>'


def _gone(lines: Sequence[str], folded: bool, what_before: str) -> str:
    """Return deleted lines as HTML."""
    rows = [
        f'<div class="line gone"><span class="number">−</span><span class="code">{escape(line)}</span></div>'
        for line in lines
    ]
    return (
        _fold("gone fold", f"−<span> {many(len(lines), 'line')} of {what_before}</span>", rows)
        if folded
        else "".join(rows)
    )


def _hidden(numbers: Sequence[int], rows: Sequence[str]) -> str:
    return _fold("fold", f"⋯<span> {many(len(numbers), 'line')} as before</span>", rows)


def _fold(kind: str, words: str, rows: Sequence[str]) -> str:
    return f'<details class="{kind}"><summary>{words}</summary>{"".join(rows)}</details>'


SHORT, SHORTEST = 13, 7  # lines; with a shorter source the words on its slide are larger


def about(ladder: Ladder, position: int) -> str:
    """Return the text, the source and the conditions of a rung, as HTML."""
    rung = ladder.rungs[position]
    kernel = KERNELS[rung.kernel]
    return rung_text(ladder, position) + rung_source(ladder, position) + rung_conditions(rung, kernel, ladder)


def rung_text(ladder: Ladder, position: int) -> str:
    """Return the rung's title and lead, the fault of the previous rung, the idea, and what still limits this rung."""
    rung = ladder.rungs[position]
    kernel = KERNELS[rung.kernel]
    lead = f'<p class="lead">{escape(rung.lead)}</p>' if rung.lead and rung.lead != kernel.title else ""
    told = labelled(("What was wrong", rung.fixes), ("The idea", kernel.header["Idea"]),
                    ("What still limits it", kernel.header["Limit"]))  # fmt: skip
    return (
        f'<section class="rungtext"><h2><span>{escape(rung.label)}</span>{escape(kernel.title)}</h2>'
        f"{mark_terms(f'{lead}<dl>{told}</dl>')}</section>"
    )


def rung_conditions(rung: Rung, kernel: Kernel, ladder: Ladder) -> str:
    """The small print of a rung: its conditions, lecture and slide."""
    header = kernel.header
    small = [
        ("Requirements", header.get("Conditions", "")),
        ("Ladder", ladder.summary),
        ("Lecture", ladder.lecture),
        ("Slide", rung.slide),
        ("In the lectures", header.get("Lecture", "")),
    ]
    lines = "".join(f"<p><b>{name}</b> {escape(sentence_case(words))}</p>" for name, words in small if words)
    return f'<div class="smallprint">{lines}</div>'


def labelled(*parts: tuple[str, str]) -> str:
    """Return texts with their labels as the HTML of a list, without the empty ones."""
    return "".join(f"<dt>{label}</dt><dd>{escape(sentence_case(words))}</dd>" for label, words in parts if words)


def rung_source(ladder: Ladder, position: int, slide: bool = False, named: frozenset[int] = frozenset()) -> str:
    """Return the source with the lines that differ from the previous rung marked, and those that an outcome names; on a
    `slide`, long sources are folded."""
    kernel, before = KERNELS[ladder.rungs[position].kernel], _before(ladder, position)
    return f'<div class="filename">{escape(kernel.file_name)}</div>' + source_html(
        kernel.text, kernel.name, before.text if before else None, before.name if before else None, slide, named=named
    )


def slide_source(ladder: Ladder, position: int, size: str, named: frozenset[int]) -> str:
    """Return the source on a slide; below it the fault that this rung fixes, what still limits it, and its `size`: N
    and the launch. Beside a short source the words are larger. `named`: lines that the outcome names."""
    kernel, before = KERNELS[ladder.rungs[position].kernel], _before(ladder, position)
    words = labelled(("Fixes", ladder.rungs[position].fixes), ("Still limits", kernel.header["Limit"]))
    told = mark_terms(f"{words}<dt>Size</dt><dd>{escape(size)}</dd>")
    since = difference(kernel.text, kernel.name, before.text, before.name) if before else Difference()
    rows = source_rows(kernel.text, since)
    short = " short" * (rows <= SHORT) + " shortest" * (rows <= SHORTEST)
    return f'<div class="slide{short}">{rung_source(ladder, position, True, named)}<dl class="hall">{told}</dl></div>'


def _before(ladder: Ladder, position: int) -> Kernel | None:
    return KERNELS[ladder.rungs[position - 1].kernel] if position else None
