"""The roofline of the matrix ladders: the limits of memory and arithmetic, and the rungs below them."""

from __future__ import annotations

from html import escape

from engine.figures.look import Figure, Look
from engine.figures.roofline import roofline_figure
from engine.lectures.arithmetic import roofline
from views.ladder.panels.arithmetic import offered
from views.ladder.view import Facts, Page, Picture


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return every timed rung under the roofs of its GPU."""
    return roofline_figure(_found(page, facts), page.position, look)


def words(page: Page, facts: Facts) -> str:
    """Return sentences on the rung and the roofs, on the sources of the numbers, and on the rungs that are not
    drawn."""
    found = _found(page, facts)
    lines = [roofline.sentence(found, page.position)]
    if page.presenting:  # otherwise the big numbers above name their source
        return f'<div class="outcome">{escape(lines[0])}</div>'
    if origins := sorted({spot.origin for spot in found.spots if spot.origin}):
        lines.append(f"Times: {' and '.join(origins)}. Filled: live; open: recorded.")
    if (left_out := roofline.missing(found)) and found.roofs is not None:
        lines.append(f"Not drawn: {left_out}.")
    return f'<div class="outcome">{"".join(f"<div>{escape(line)}</div>" for line in lines)}</div>'


def _found(page: Page, facts: Facts) -> roofline.Roofline:
    return roofline.roofline(page.ladder, page.choices, facts.known, page.position)


PICTURE = Picture("roofline", "Roofline", offered, figure, words=words)
