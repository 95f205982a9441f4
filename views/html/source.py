"""A kernel's source as HTML: C++ colours, real line numbers, what changed since the rung before and what it was."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from engine.records.words import many
from views.html.colours import coloured_lines
from views.html.difference import Difference, difference, header_length
from views.html.folds import Room, all_shown, unfolded

MARGIN = 5  # columns, of the line numbers


@lru_cache(maxsize=256)
def source_html(text: str, name: str, before: str | None = None, before_name: str | None = None,
                room: Room | None = None,
                what_before: str = "the rung before") -> str:  # fmt: skip
    """The kernel's lines below its header comment as one HTML block.

    `before`, `before_name`: the source and kernel of the rung before; lines that are new or changed since are marked,
    and what stood there before is shown. `room`: what is too long for it is folded, first where nothing changed.
    `what_before`: what `before` is called.
    """
    lines = text.splitlines()
    start = header_length(lines)
    since = Difference() if before is None else difference(text, name, before, before_name or "")
    shown = unfolded(lines, start, since.changed, since.gone, room) if room else all_shown(lines, start, since.gone)
    rows: list[str] = []
    folded: list[str] = []
    hidden: list[int] = []
    coloured = coloured_lines(text)
    for number in range(start + 1, len(lines) + 2):  # what is gone at the end stood above the line behind the last
        end = number > len(lines)
        seen = number in shown.lines or (end and (number in shown.places or len(lines) in shown.lines))
        if seen and hidden:
            rows.append(_hidden(hidden, since, before is not None, folded))
            folded, hidden = [], []
        there = rows if seen else folded
        if number in since.gone:
            there.append(_gone(since.gone[number], number not in shown.places, what_before))
        if end:
            break
        marks = {"changed": number in since.changed, "blank": not lines[number - 1].strip()}
        kind = " ".join(["line", *(mark for mark, so in marks.items() if so)])
        there.append(
            f'<div class="{kind}"><span class="number">{number}</span>'
            f'<span class="code">{coloured[number - 1] or " "}</span></div>'
        )
        if not seen:
            hidden.append(number)
    if hidden:
        rows.append(_hidden(hidden, since, before is not None, folded))
    # The type of a slide is as large as these rows allow.
    widest = [lines[number - 1] for number in shown.lines] + [was for at in shown.places for was in since.gone[at]]
    high, wide = shown.rows, max(map(len, widest), default=0) + MARGIN
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


def _hidden(numbers: Sequence[int], since: Difference, before: bool, rows: Sequence[str]) -> str:
    """Lines of this source that are not shown; the fold has the colour of new ones where some of them are new."""
    new = len(since.changed.intersection(numbers))
    if not new:
        return _fold("fold", f"⋯ {many(len(numbers), 'line')}{' as before' if before else ''}", rows)
    words = many(new, "more new line") if new == len(numbers) else f"{many(len(numbers), 'line')}, {new} of them new"
    return _fold("fold new", f"⋯ {words}", rows)


def _fold(kind: str, words: str, rows: Sequence[str]) -> str:
    return f'<details class="{kind}"><summary title="{words}">{words}</summary>{"".join(rows)}</details>'
