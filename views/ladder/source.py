"""The text and the source of a rung as HTML, on the page and on a slide."""

from __future__ import annotations

from html import escape

from engine.catalogue import KERNELS, Kernel, Ladder, Rung
from views.html.source import Difference, difference, source_html, source_rows
from views.html.table import sentence_case
from views.html.terms import mark_terms

SHORT = 13  # lines; with a shorter source the words on its slide are larger


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
    short = " short" if source_rows(kernel.text, since) <= SHORT else ""
    return f'<div class="slide{short}">{rung_source(ladder, position, True, named)}<dl class="hall">{told}</dl></div>'


def _before(ladder: Ladder, position: int) -> Kernel | None:
    return KERNELS[ladder.rungs[position - 1].kernel] if position else None
