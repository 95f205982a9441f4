"""The parts of a rung on the screen: text, source, big numbers. HTML, so that type and layout are ours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from engine.catalogue import KERNELS, Kernel, Ladder, Rung
from views.html.folds import Room
from views.html.parts import sentence_case
from views.html.source import Difference, difference, source_html


def rung_text(rung: Rung, kernel: Kernel) -> str:
    """The rung's title and lead; what was wrong before it, the idea, what still limits it."""
    lead = f'<p class="lead">{escape(rung.lead)}</p>' if rung.lead and rung.lead != kernel.title else ""
    told = terms(kernel, (("What was wrong", "Fixes"), ("The idea", "Idea"), ("What still limits it", "Limit")))
    return (
        f'<section class="rungtext"><h2><span>{escape(rung.label)}</span>{escape(kernel.title)}</h2>{lead}'
        f"<dl>{told}</dl></section>"
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


def terms(kernel: Kernel, parts: Sequence[tuple[str, str]]) -> str:
    """Parts of the kernel's header comment as HTML of a list: what each is called, its name in the header."""
    return "".join(
        f"<dt>{label}</dt><dd>{escape(sentence_case(kernel.header[name]))}</dd>"
        for label, name in parts
        if kernel.header.get(name)
    )


def rung_source(ladder: Ladder, position: int, room: Room | None = None) -> str:
    """The source, what changed in it marked; `room`: on a slide."""
    kernel, before = KERNELS[ladder.rungs[position].kernel], _before(ladder, position)
    return f'<div class="filename">{escape(kernel.file_name)}</div>' + source_html(
        kernel.text, kernel.name, before.text if before else None, before.name if before else None, room=room
    )


def since_before(ladder: Ladder, position: int) -> Difference:
    """What changed since the rung before; nothing on the first one."""
    kernel, before = KERNELS[ladder.rungs[position].kernel], _before(ladder, position)
    return difference(kernel.text, kernel.name, before.text, before.name) if before else Difference()


def _before(ladder: Ladder, position: int) -> Kernel | None:
    return KERNELS[ladder.rungs[position - 1].kernel] if position else None
