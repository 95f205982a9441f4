"""The earlier texts of a draft, each with its time and its difference from the text now; a press brings one back."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from html import escape

import streamlit as st

from engine.records.json_text import read_json
from engine.records.words import many, source_lines
from engine.store import drafts as store
from views.access import visitor
from views.html import answer
from views.lab import drafts
from views.lab.drafts import Draft

SHOWN = 15


@dataclass(frozen=True)
class Version:
    """An earlier text. `number`: in the store; `utc`: when it was written."""

    number: int
    text: str
    utc: str


def of(draft: Draft) -> list[Version]:
    """Return the draft's earlier texts, the last one first; one that is the text now, or the next one, is left out."""
    owner, found, after = visitor.owner(), [], draft.text
    for number, raw, utc in store.versions(owner, draft.id) if owner else ():
        try:
            text = str(read_json(raw)["text"])
        except (ValueError, KeyError, TypeError):
            continue  # stored by another version of this program
        if text not in (draft.text, after):
            found.append(Version(number, text, utc))
        after = text
    return found[:SHOWN]


def presses(draft: Draft, found: Sequence[Version]) -> dict[str, Callable[[], None]]:
    """Return the names of the buttons -> what they do."""
    return {f"earlier {one.number}": partial(bring_back, draft.id, one.text) for one in found}


def bring_back(draft: str, text: str) -> None:
    """Make an earlier text that of the draft; the text before stays among the earlier ones. For callbacks."""
    now = drafts.draft_of(draft)
    if now is not None:
        drafts.save(drafts.replaced(now, text), keep=True)


def listed(draft: Draft, found: Sequence[Version]) -> str:
    """Return the list as HTML."""
    if not found:
        return '<p class="smallprint">There is no earlier text yet: one is kept for each minute of work.</p>'
    rows = []
    for one in found:
        when = answer.when_ran(one.utc, st.context.timezone).removeprefix("run ")
        counts, line = _difference(one.text, draft.text)
        rows.append(
            f'<li><button type="button" data-press="earlier {one.number}">Bring back</button> '
            f"{escape(when)}: {counts}<code>{escape(line)}</code></li>"
        )
    return f'<ul class="mydrafts">{"".join(rows)}</ul>'


@lru_cache(maxsize=1024)
def _difference(text: str, now: str) -> tuple[str, str]:
    """Return how many lines an earlier text adds to the text now and takes away, and the first one that differs."""
    lines = list(difflib.unified_diff(source_lines(now), source_lines(text), n=0, lineterm=""))[2:]
    more, fewer = ([line for line in lines if line.startswith(sign)] for sign in "+-")
    return f"adds {many(len(more), 'line')}, takes away {len(fewer):,}", next(iter(more or fewer), "")
