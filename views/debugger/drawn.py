"""The debugger's page as HTML: the time axis, the source, the variables, one variable in all threads, the memory.

Each part that leads somewhere is a button; `Presses` collects what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from urllib.parse import quote

import numpy as np

from engine.lab.debugger import WARP, Debugger, Memory, Shown, Touch
from engine.records import NotRunnable
from engine.records.words import many, source_lines
from views.html.source import coloured_lines

COLUMNS = 240  # of the time axis that can be pressed
WIDE, HIGH, EDGE = 1000.0, 96.0, 6.0  # of the time axis, in its own units
MOST_DRAWN = 400  # barriers, and writes
ROW = 16  # cells in a row
WIDEST = 64  # cells of a picture's row: a wider block is drawn a warp a row
MOST_PARTS = 40  # parts of a struct or an array that are shown
ELEMENTS = 64  # of an array in view


class Presses:
    """The names of the page's buttons -> what they do."""

    def __init__(self) -> None:
        self.actions: dict[str, Callable[[], None]] = {}

    def button(self, name: str, action: Callable[[], None], body: str, kind: str = "", tip: str = "") -> str:
        """Return a button as HTML."""
        self.actions[name] = action
        title = f' title="{escape(tip)}"' if tip else ""
        return f'<button type="button" class="{kind}" data-press="{escape(name)}"{title}>{body}</button>'


Go = Callable[[int], Callable[[], None]]


def time_axis(found: Debugger, thread: int, now: int, marks: Sequence[int], presses: Presses, go: Go) -> str:
    """Return the lines of a thread over the moments of its block: a press goes there. `marks`: moments of the writes to
    the element in view."""
    count = max(found.moments, 1)
    own, lines = found.moments_of(thread), found.recording.lines
    low, high = int(lines.min()), int(lines.max())

    def x(moment: int) -> float:
        return WIDE * moment / count

    def y(line: int) -> float:
        return EDGE + (HIGH - 2 * EDGE) * (line - low) / max(high - low, 1)

    step = max(1, len(own) // 2000)
    points = " ".join(f"{x(at):.1f},{y(int(lines[at])):.1f}" for at in own[::step].tolist())
    bars = "".join(f"M{x(at):.1f} 0V{HIGH}" for at in np.flatnonzero(found.at_barrier()).tolist()[:MOST_DRAWN])
    dots = "".join(f"M{x(at):.1f} {y(int(lines[at])):.1f}v.1" for at in marks[:MOST_DRAWN])
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" preserveAspectRatio="none">'
        f'<g fill="none"><path d="{bars}" stroke="#8b98a8" stroke-opacity=".55" vector-effect="non-scaling-stroke"/>'
        f'<polyline points="{points}" stroke="#2f7fd6" stroke-width="1.5" vector-effect="non-scaling-stroke"/>'
        f'<path d="{dots}" stroke="#e0851b" stroke-width="7" stroke-linecap="round" '
        'vector-effect="non-scaling-stroke"/></g></svg>'
    )
    columns = min(COLUMNS, count)
    targets = []
    for column in range(columns):
        moment = column * count // columns
        presses.actions[f"at {moment}"] = go(moment)
        targets.append(f'<i data-press="at {moment}" title="moment {moment:,}"></i>')
    return (
        f'<div class="timeaxis"><img alt="The lines of thread {thread} over the {many(count, "moment")} of the block" '
        f'src="data:image/svg+xml,{quote(drawing)}"><b style="left:{100 * now / count:.3f}%"></b>'
        f'<div class="targets">{"".join(targets)}</div></div>'
    )


def source_html(found: Debugger, thread: int, now: int, presses: Presses, run_to: Go) -> str:
    """Return the source: the line that the thread executes next, the number of threads at each line, and how often the
    thread has been there of how often it comes there. A press on a line runs to its next visit."""
    own = np.flatnonzero(found.steps_of(thread))
    at = found.recording.lines[own]
    visits, so_far = np.bincount(at), np.bincount(at[own < now], minlength=int(at.max(initial=0)) + 1)
    others = np.bincount(found.lines_of_threads(now))
    here = found.next_of(thread, now)
    current = int(found.recording.lines[here]) if here is not None else 0
    rows = []
    lines = source_lines(found.text)
    for number, code in enumerate(coloured_lines(found.text), 1):
        times = int(visits[number]) if number < len(visits) else 0
        count = int(others[number]) if number < len(others) else 0
        said = f"{int(so_far[number])}/{times}" if times else ""
        shown = str(number)
        if times:
            shown = presses.button(f"line {number}", run_to(number), shown, tip="Run to the next visit of this line")
        there = f'<span class="threads">{count}</span>' if count else '<span class="threads"></span>'
        indent = len(lines[number - 1]) - len(lines[number - 1].lstrip()) + 4
        rows.append(
            f'<div id="L{number}" class="line{" next" if number == current else ""}">'
            f'<span class="number">{shown}</span>{there}<span class="value">{said}</span>'
            f'<span class="code" style="--in:{indent}">{code or " "}</span></div>'
        )
    return (
        '<div class="source inside debugger"><div class="lines" tabindex="0" role="region" aria-label="Source">'
        f'{"".join(rows)}</div><div class="legend"><p>A press on a line number runs to its next visit. Blue: threads '
        "that are about to execute the line; then the visits of the chosen thread, so far of all.</p></div></div>"
    )


def variables_html(
    found: Debugger,
    thread: int,
    now: int,
    names: Sequence[str],
    presses: Presses,
    watched: Callable[[str], Callable[[], None]],
) -> str:
    """Return the variables of a thread, by function; a press on a name shows it in all threads. `names`: those that are
    shown there."""
    frames = found.frames(thread, now)
    if not frames:
        return "<p>The thread has ended.</p>"
    rows, function = [], None
    for one in found.variables(thread, now):
        if one.function != function:
            function = one.function
            frame = next((each for each in reversed(frames) if each.function and each.function.name == function), None)
            where = f", line {frame.line}" if frame else ""
            rows.append(f'<tr><th colspan="3">{escape(function or found.kernel)}{where}</th></tr>')
        for depth, part, name in _parts(one):
            label = escape(part.name)
            if depth == 0:
                label = presses.button(f"watch {name}", watched(name), label, "on" if name in names else "",
                                       "Show it in all threads")  # fmt: skip
            value = escape(part.text) if part.text else f"<i>{escape(part.note)}</i>"
            rows.append(
                f'<tr><td style="--depth:{depth}">{label}</td><td>{value}</td>'
                f"<td><code>{escape(part.type)}</code></td></tr>"
            )
    return f'<table class="variables"><tbody>{"".join(rows)}</tbody></table>'


def _parts(one: Shown, depth: int = 0) -> Iterator[tuple[int, Shown, str]]:
    """Return a variable and its parts in the order of rows, with their depth."""
    yield depth, one, one.name
    for part in one.parts[:MOST_PARTS]:
        yield from _parts(part, depth + 1)


def lanes_html(found: Debugger, name: str, thread: int, now: int, presses: Presses, choose: Go) -> str:
    """Return one variable in all threads of the block, a warp a row; a value that differs from that of half its
    warp is marked. A press chooses the thread."""
    try:
        values = found.row(name, thread, now)
    except NotRunnable as refused:
        return f"<p>{escape(str(refused))}</p>"
    rows = []
    texts = [text.removesuffix(".0") or "·" for text in values]
    for first in range(0, len(values), WARP):
        warp = values[first : first + WARP]
        usual = max(warp, key=warp.count)
        alike = warp.count(usual) * 2 >= len(warp)
        cells = []
        for at, text in enumerate(warp, first):
            kind = "here " * (at == thread) + "other" * (alike and text != usual)
            cells.append(presses.button(f"thread {at}", choose(at), escape(texts[at]), kind, f"thread {at}"))
        rows += _rows(cells, first)
    return (
        f"<h2><code>{escape(name)}</code> in the {many(len(values), 'thread')} of the block</h2>"
        f'<div class="lanes" tabindex="0" role="region" aria-label="{escape(name)} in all threads" {_letters(texts)}>'
        f"{''.join(rows)}</div>"
    )


def picture_html(found: Debugger, name: str, thread: int, now: int, presses: Presses, choose: Go) -> str:
    """Return one variable in all threads as a picture of the block: a cell a thread in the block's own shape, the
    darker the larger its value. A press chooses the thread."""
    try:
        shown = found.in_all_threads(name, thread, now)
    except NotRunnable as refused:
        return f"<p>{escape(str(refused))}</p>"
    texts = [one.text if one is not None else "" for one in shown]
    levels = _levels(shown)
    known = {level: text.removesuffix(".0") for text, level in zip(texts, levels, strict=True) if level is not None}
    low, high = min(known, default=0.0), max(known, default=0.0)
    cells = []
    for at, (text, level) in enumerate(zip(texts, levels, strict=True)):
        share = "" if level is None else f"--share:{12 + 88 * (level - low) / (high - low or 1):.0f}%"
        tip = escape(f"thread {at}: {text or 'none'}")
        presses.actions[f"thread {at}"] = choose(at)
        kind = "here" * (at == thread)
        cells.append(f'<i class="{kind}" data-press="thread {at}" title="{tip}" style="{share}"></i>')
    ends = " (light) to ".join(dict.fromkeys(known[level] for level in (low, high) if known))
    scale = escape(f"{ends} (dark)" if high > low else ends or "no value")
    wide = found.recording.shape[0]
    return (
        f"<section><h2><code>{escape(name)}</code> in the {many(len(texts), 'thread')}: {scale}</h2>"
        f'<div class="blockpicture" style="--columns:{wide if wide <= WIDEST else WARP}" role="img" '
        f'aria-label="{escape(name)} in all threads: {scale}">{"".join(cells)}</div></section>'
    )


def _levels(shown: Sequence[Shown | None]) -> list[float | None]:
    """Return a number for each value, None without one: its own, or if they are no numbers, its place among them."""
    values = [None if one is None or not one.text else one for one in shown]
    if all(one is None or one.number is not None for one in values):
        numbers = [None if one is None else float(one.number or 0) for one in values]
        return [None if number is None or not np.isfinite(number) else number for number in numbers]
    places = {text: float(at) for at, text in enumerate(sorted({one.text for one in values if one}))}
    return [None if one is None else places[one.text] for one in values]


def _rows(cells: Sequence[str], first: int) -> list[str]:
    """Return cells in rows of ROW, each with the number of its first one."""
    return [
        f'<div class="warp"><span>{first + start}</span>{"".join(cells[start : start + ROW])}</div>'
        for start in range(0, len(cells), ROW)
    ]


def _letters(texts: Sequence[str]) -> str:
    """Return the style that makes all cells as wide as the longest text: a number that is cut is another number."""
    return f'style="--letters:{max(map(len, texts), default=1)}"'


def pair_html(
    found: Debugger, pair: tuple[Touch, Touch], presses: Presses, go: Callable[[Touch], Callable[[], None]]
) -> str:
    """Return both accesses of a race side by side: a press goes there."""
    sides = []
    for name, one in zip(("first", "second"), pair, strict=True):
        does = "writes" if one.writes else "reads"
        before, after = (_element(found, one, moment) for moment in (one.moment, one.moment + 1))
        values = f"{before} → {after}" if one.writes else before
        element = f"<code>{escape(one.array)}[{one.index}]</code>"
        words = (
            f"<b>thread {one.thread}</b> {does} {element} at line {one.line}"
            f"<small>{element} = {escape(values)} · moment {one.moment:,}</small>"
        )
        sides.append(presses.button(f"{name} access", go(one), words))
    return f'<div class="pair">{"".join(sides)}</div>'


def _element(found: Debugger, one: Touch, moment: int) -> str:
    seen = found.memory(one.array, moment, one.index, 1) if one.array else None
    value = seen.values[0] if seen and seen.values else None
    return "not set" if value is None else value_text(value)


def value_text(value: float | int) -> str:
    """Return an element of an array in few letters."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def memory_html(found: Debugger, seen: Memory, first: int, place: int, presses: Presses, choose: Go) -> str:
    """Return the elements of an array in view; those of the latest write are marked. A press chooses one."""
    cells = []
    texts = ["·" if value is None else value_text(value) for value in seen.values]
    latest = max((writer.moment for writer in seen.writers if writer is not None), default=-1)
    for at, (text, writer) in enumerate(zip(texts, seen.writers, strict=True), first):
        who = "not written yet"
        if writer is not None:
            who = f"thread {writer.thread} of block {writer.block}, line {writer.line}, moment {writer.moment:,}"
        kind = "here " * (at == place) + "other" * (writer is not None and writer.moment == latest)
        cells.append(presses.button(f"element {at}", choose(at), text, kind, f"{seen.name}[{at}] {who}"))
    rows = "".join(_rows(cells, first))
    return (
        f"<h2><code>{escape(seen.name)}</code> in {seen.space} memory</h2>"
        f'<div class="lanes memory" tabindex="0" role="region" aria-label="{escape(seen.name)}" {_letters(texts)}>'
        f"{rows}</div>"
    )
