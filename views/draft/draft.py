"""What a draft is: a source that somebody edits, and how it is launched."""

from __future__ import annotations

from dataclasses import dataclass

from engine.lab.setups import Setup
from views.draft.tries import Try


@dataclass(frozen=True)
class Draft:
    """`start`: "rung", "sheet", or a template's name; `at`: when the text was kept, in ms since 1970, 0 as it started;
    `setup`: how a kernel of one's own is launched, None of a rung's."""

    id: str
    start: str
    text: str
    file: str
    at: int = 0
    setup: Setup | None = None
    tries: tuple[Try, ...] = ()
