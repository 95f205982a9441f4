"""Terms in HTML: marked in texts, explained on cards, with the numbers of the run in view."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from typing import Any

from engine.lectures.terms import TERMS, Term, pattern, sentence, spellings

# In these elements nothing is marked.
_WHOLE = "code|a|button|summary|pre|h[1-6]"


@lru_cache(maxsize=1)
def _parts() -> re.Pattern[str]:
    """Return the pattern of an element or a tag to pass over, or of a term."""
    return re.compile(rf"<({_WHOLE})\b.*?</\1>|<[^>]*>|(?P<term>{pattern()})", re.DOTALL | re.IGNORECASE)


@lru_cache(maxsize=4096)
def mark_terms(html: str) -> str:
    """Return HTML in which the first occurrence of each term is a button that opens its card."""
    seen: set[str] = set()

    def marked(found: re.Match[str]) -> str:
        name = spellings().get((found["term"] or "").lower())
        if name is None or name in seen:
            return found[0]
        seen.add(name)
        return f'<button type="button" class="term" data-term="{escape(name)}">{found[0]}</button>'

    return _parts().sub(marked, html)


def here_html(values: Mapping[str, Any]) -> str:
    """Return the sentences of all terms with these values, hidden until a card shows them."""
    said = "".join(
        f'<i data-term="{escape(term.name)}">{escape(words)}</i>'
        for term in TERMS.values()
        if (words := sentence(term, values))
    )
    return f'<div class="here" hidden>{said}</div>' if said else ""


def cards() -> dict[str, str]:
    """Return the name of each term -> its card as HTML, with its drawing."""
    return {term.name: f"{_head(term)}{term.drawing}<p>{escape(term.text)}</p>" for term in TERMS.values()}


def all_html() -> str:
    """Return all terms in the order of the alphabet; the browser adds their drawings."""
    ordered = sorted(TERMS.values(), key=lambda term: term.name.strip("_").lower())
    listed = "".join(
        f'<article id="{term.anchor}">{_head(term)}<figure data-drawing="{escape(term.name)}"></figure>'
        f"<p>{escape(term.text)}</p></article>"
        for term in ordered
    )
    links = "".join(f'<li><a href="#{term.anchor}">{escape(term.name)}</a></li>' for term in ordered)
    return f'<ul class="termlinks">{links}</ul><div class="termcards">{listed}</div>'


def _head(term: Term) -> str:
    return f'<h2 data-anchor="{term.anchor}">{escape(term.name)}</h2>'
