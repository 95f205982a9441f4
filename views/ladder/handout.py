"""The slide for phones: what the presenter's page has drawn goes to the room, once for all followers."""

from __future__ import annotations

from engine.figures.look import Figure
from views.html.table import sentence_case
from views.ladder.view import Page
from views.room import feed, plot, votes
from views.shared import presentation, work


def publish(page: Page, code: str, numbers: str, figure: Figure | None, words: str, origin: str) -> None:
    """Publish the slide, if this page presents the lecture. `code`, `numbers`, `words`: as HTML."""
    found = presentation.now()
    if found is None or not found.going or not work.is_presenting() or presentation.is_followed():
        return
    slide = {
        "label": page.rung.label,
        "title": page.kernel.title,
        "where": f"{page.ladder.title} · {page.position + 1} of {len(page.ladder.rungs)}",
        "step": page.rung.lead,
        "idea": sentence_case(page.kernel.header.get("Idea", "")),
        "covered": page.covered,
        "code": code,
        "numbers": numbers,
        "plot": "" if figure is None else plot.drawing(figure, page.position),
        "plotted": page.plot.title,
        "words": words,
        "origin": origin,
        "address": found.address,
    }
    before = feed.state()["slide"] or {}
    moment = {} if figure is None and before.get("address") == found.address else {"moment": None}
    feed.publish_parts({"lecture": str(found.lecture), "phase": "during", "ended": None, "slide": slide, **moment})


def end() -> None:
    """Tell the followers that the lecture is over, and where it ended."""
    votes.withdraw()
    slide, found = feed.state()["slide"], presentation.now()
    if slide is not None and found is not None:
        ended = {"label": slide["label"], "title": slide["title"], "address": found.address}
        feed.publish_parts({"phase": "after", "ended": ended, "slide": None, "moment": None})
