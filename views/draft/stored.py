"""The server's copy of drafts: a browser's own, there again where that browser has lost what it kept itself.

It is filed under the browser's name, so that an address that is passed on shows nobody another's text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

from engine.compile.limits import SOURCE_BYTES
from engine.lab.setups import setup_of
from engine.records import NotRunnable
from engine.store import drafts as store
from views.access import visitor
from views.draft.draft import Draft

KEPT = 40  # of a browser, as many as it keeps itself


def save(draft: Draft) -> str | None:
    """Keep the draft as it is now: its text, and how it is launched. A sentence where there is no room for it."""
    owner = _owner()
    if owner is None:
        return None
    setup = draft.setup
    kept = {"start": draft.start, "text": draft.text, "file": draft.file, "at": draft.at,
            "call": setup.call if setup else "", "right": str(setup.right or "") if setup else ""}  # fmt: skip
    try:
        store.save(owner, draft.id, json.dumps(kept), most=KEPT)
    except store.Full as full:
        return f"{full} This draft is kept by your browser alone: download it before you leave."
    return None


def load(begun: Draft) -> Draft:
    """The draft as it was kept, in the place of one that has just begun with the same number; else that."""
    owner = _owner()
    raw = store.load(owner, begun.id) if owner else None
    try:
        kept: dict[str, Any] = json.loads(raw or "{}")
        if kept["start"] != begun.start or len(kept["text"]) > SOURCE_BYTES:
            return begun
        setup = setup_of(kept["call"], kept["right"]) if kept["call"] else begun.setup
        return replace(begun, text=str(kept["text"]), file=str(kept["file"]), at=int(kept["at"]), setup=setup)
    except (ValueError, KeyError, TypeError, NotRunnable):
        return begun  # of another version of this program


def _owner() -> str | None:
    """Who finds it again. Whoever reads the store learns no cookie from it."""
    name = visitor.name()
    return f"browser {sha256(name.encode()).hexdigest()[:32]}" if name else None
