"""A rung on a slide: its title and idea, its source, what it fixes and what still limits it, as large as the window."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import chain
from math import ceil

from engine.catalogue import KERNELS, Kernel, Ladder
from views.html.difference import header_length
from views.html.folds import Room, rows_of
from views.html.rung_html import rung_source, sentence_case, since_before, terms

ONE_LINE = 40  # characters of a slide's title in large type
LONG_IDEA = 270  # characters: what is longer needs a third line
SHORT = 13  # rows of a source that leaves room for larger words
WHOLE = 110  # characters of a rung's title and its ladder's, beyond which only the lecture's name stands there
PARTS = (("Fixes", "Fixes"), ("Still limits", "Limit"))
# What present.css says, in hundredths of the window's height: what stands above the source and below it, a line of the
# words below, the smallest type of a source.
TITLE, LONG_TITLE, IDEA, LEGEND, EDGES, TERM, BETWEEN, CODE = 8.2, 7.1, 3.25, 4.0, 3.9, 2.9, 0.4, 2.1
LEAST = 15  # pixels: the smallest type of a source
LETTER, CODE_LETTER = 0.45, 0.602  # of the type: how wide a letter is, in words on average
IDEA_LETTER = 1.17  # of the same hundredths: a letter of the idea, which is as wide as the slide
AROUND = 4.2  # of the type: the line numbers and the edges of a source


@dataclass(frozen=True)
class Place:
    """Where the source stands: the `width` of its column and the `window`'s width and height, in pixels."""

    width: int
    window: tuple[int, int]


def title(ladder: Ladder, position: int) -> str:
    """The top lines: the rung, and its idea."""
    rung = ladder.rungs[position]
    kernel = KERNELS[rung.kernel]
    idea = kernel.header.get("Idea", "")
    large = ' class="long"' if _long_title(ladder, position) else ""
    fits = len(rung.label) + len(kernel.title) + len(ladder.title) <= WHOLE
    where = ladder.title if fits else ladder.title.partition(":")[0]
    return (
        f'<header class="presenting" data-rung="{position}"><h1{large}><span>{escape(rung.label)}</span>'
        f"{escape(kernel.title)}</h1>"
        f"<p><span>{escape(where)}</span>&nbsp;· {position + 1} of {len(ladder.rungs)}"
        '<button class="leave" type="button" aria-label="Stop presenting" title="Stop presenting (Esc)">✕</button>'
        "</p></header>"
        f'<p class="idea{" long" if len(idea) > LONG_IDEA else ""}">{escape(sentence_case(idea))}</p>'
    )


def source(ladder: Ladder, position: int, n: int, launched: str, place: Place) -> str:
    """The source; below it what this rung fixes, what still limits it, and how large what is timed is: its N, and how
    the GPU is asked for it."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    size = f"N = {n:,}{': ' if launched else ''}{launched}"
    told = f"{terms(kernel, PARTS)}<dt>Size</dt><dd>{escape(size)}</dd>"
    lines, room = kernel.text.splitlines(), room_of(ladder, position, size, place)
    every = [*lines[header_length(lines) :], *chain.from_iterable(since_before(ladder, position).gone.values())]
    short = " short" if rows_of(every, room.columns) <= SHORT else ""
    shown = rung_source(ladder, position, room)
    return f'<div class="slide{short}">{shown}<dl class="hall">{told}</dl></div>'


def room_of(ladder: Ladder, position: int, size: str, place: Place) -> Room:
    """How much of the source is seen in the smallest type; `size`: what is said of it below."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    percent = place.window[1] / 100
    above = LONG_TITLE if _long_title(ladder, position) else TITLE
    idea = min(2, ceil(len(kernel.header.get("Idea", "")) * IDEA_LETTER * percent / place.window[0]))
    words = [*_words(kernel), size]
    letters = (place.width / percent - 12.5) / (2.3 * LETTER)  # of a line below
    below = sum(TERM * min(4, ceil(len(each) / letters)) for each in words) + BETWEEN * (len(words) - 1)
    left = 100 - above - IDEA * idea - below - LEGEND * (position > 0) - EDGES
    font = max(LEAST, CODE * percent)
    rows = (left * percent - 12) / (1.27 * font)
    columns = (place.width - AROUND * font) / (CODE_LETTER * font)
    return Room(int(rows - 0.6), int(columns))  # letters are no whole number of pixels high


def _words(kernel: Kernel) -> list[str]:
    return [kernel.header[name] for _, name in PARTS if kernel.header.get(name)]


def _long_title(ladder: Ladder, position: int) -> bool:
    rung = ladder.rungs[position]
    return len(rung.label) + len(KERNELS[rung.kernel].title) > ONE_LINE
