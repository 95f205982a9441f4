"""Terms are marked in texts without a change of their contents, and their sentences stand in the page's numbers."""

from __future__ import annotations

import re

import pytest

from engine.catalogue import LADDERS
from engine.lectures.terms import TERMS
from views.html.source import rung_text
from views.html.table import tile
from views.html.terms import all_html, cards, here_html, mark_terms

MARK = re.compile(r'<button type="button" class="term" data-term="([^"]*)">([^<]*)</button>')


def names(html: str) -> list[str]:
    return [found[0] for found in MARK.findall(html)]


def test_the_first_occurrence_in_a_text_is_marked_in_each_spelling() -> None:
    text = "<p>Warps wait; a warp diverges. Coalesced reads, 32 bank conflicts, Little&#x27;s law</p>"
    marked = mark_terms(text)
    assert names(marked) == ["warp", "divergence", "coalescing", "bank conflict", "Little&#x27;s law"]
    assert MARK.sub(r"\2", marked) == text


@pytest.mark.parametrize("text", ["<code>a warp</code>", '<a href="#warp">warp</a>', '<b title="a warp">x</b>',
                                  "<button>warp</button>", "<h2>Warp</h2>", "<pre>the\nwarp</pre>", "warped subwarp",
                                  "single-warp", "warp-wide", "warp.x", "tile[3]", "block(1)", "in.warp", "warp_size",
                                  "<summary><i>warp</i></summary>"])  # fmt: skip
def test_nothing_is_marked_in_code_tags_links_and_longer_words(text: str) -> None:
    assert mark_terms(text) == text


def test_marking_a_rungs_text_changes_none_of_its_words() -> None:
    seen: set[str] = set()
    for ladder in LADDERS.values():
        for position in range(len(ladder.rungs)):
            html = rung_text(ladder, position)
            found = names(html)
            assert len(found) == len({*found}) and not {*found} - TERMS.keys()
            plain = MARK.sub(r"\2", html)
            assert "<button" not in plain and mark_terms(plain).count("<button") == len(found)
            seen |= {*found}
    assert len(seen) >= 40


def test_a_tiles_name_is_marked_and_the_numbers_are_hidden_until_a_card_shows_them() -> None:
    assert names(tile("Bank conflicts", "5")) == ["bank conflict"]
    assert re.findall(r'data-term="([^"]*)">[^<]*\b5\b', here_html({"bank_conflicts": 5, "caveats": None})) == [
        "bank conflict"
    ]
    assert here_html({"bank_conflicts": None, "caveats": None}) == ""


def test_every_term_has_a_card_and_a_place_on_the_page_of_all() -> None:
    page = all_html()
    assert cards().keys() == TERMS.keys()
    for term in TERMS.values():
        assert term.drawing in cards()[term.name] and page.count(f'<article id="{term.anchor}">') == 1
