"""A kernel's source as HTML: C++ colours, real line numbers, what changed since the rung before and what it was."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from engine.words import many
from views.html.colours import coloured_lines
from views.html.difference import Difference, difference, header_length
from views.html.folds import rows_of, unfolded

MARGIN = 5  # columns, of the line numbers
MOST_GONE = 8  # lines that are no longer there, shown at once; more unfold


@lru_cache(maxsize=256)
def source_html(text: str, name: str, before: str | None = None, before_name: str | None = None,
                found: tuple[int, ...] = (), fold: bool = False,
                what_before: str = "the rung before") -> str:  # fmt: skip
    """The kernel's lines below its header comment as one HTML block.

    `before`, `before_name`: the source and kernel of the rung before; lines that are new or changed since are marked,
    and what stood there before is shown. `found`: lines (of the file) with a finding or an error. `fold`: a source
    too long to be read from the back row is folded where nothing changed. `what_before`: what `before` is called.
    """
    lines = text.splitlines()
    start = header_length(lines)
    since = Difference() if before is None else difference(text, name, before, before_name or "")
    shown = unfolded(lines, start, since.changed | set(found) | set(since.gone)) if fold else None
    rows: list[str] = []
    folded: list[str] = []
    for number, code in enumerate(coloured_lines(text)[start:], start + 1):
        if number in since.gone:
            rows.append(_gone(since.gone[number], since.removed > MOST_GONE, what_before))
        marks = [mark for mark, there in (("changed", number in since.changed), ("found", number in found)) if there]
        row = (
            f'<div class="line {" ".join(marks)}"><span class="number">{number}</span>'
            f'<span class="code">{code or " "}</span></div>'
        )
        if shown is None or number in shown:
            rows.append(row)
            continue
        folded.append(row)
        if number + 1 in shown or number == len(lines):
            rows.append(_fold("fold", f"⋯ {many(len(folded), 'line')}{' as before' if before else ''}", folded))
            folded = []
    if len(lines) + 1 in since.gone:
        rows.append(_gone(since.gone[len(lines) + 1], since.removed > MOST_GONE, what_before))
    # The type of a slide is as large as these rows allow.
    seen = [lines[number - 1] for number in shown or range(start + 1, len(lines) + 1)]
    if since.removed <= MOST_GONE:
        seen += [line for gone in since.gone.values() for line in gone]
    high, wide = (
        rows_of(seen) + sum(row.startswith("<details") for row in rows),
        max(map(len, seen), default=0) + MARGIN,
    )
    scroller = f'<div class="lines" tabindex="0" role="region" aria-label="Source">{"".join(rows)}</div>'
    legend = _legend(since, what_before) if before is not None else ""
    return (
        f'<div class="source" style="--rows:{high};--columns:{wide}"><div class="pane">{scroller}</div>{legend}</div>'
    )


def _legend(since: Difference, what_before: str) -> str:
    changed = f"<span><i></i>{many(len(since.changed), 'line')} new or changed since {what_before}</span>"
    gone = f'<span><i class="gone"></i>{many(since.removed, "old line")}</span>' if since.removed else ""
    return f'<div class="legend">{changed}{gone}</div>'


def _gone(lines: Sequence[str], folded: bool, what_before: str) -> str:
    """Lines that are no longer there."""
    rows = [
        f'<div class="line gone"><span class="number">−</span><span class="code">{escape(line)}</span></div>'
        for line in lines
    ]
    return _fold("gone fold", f"− {many(len(lines), 'line')} of {what_before}", rows) if folded else "".join(rows)


def _fold(kind: str, words: str, rows: Sequence[str]) -> str:
    return f'<details class="{kind}"><summary>{words}</summary>{"".join(rows)}</details>'
