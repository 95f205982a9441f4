"""The lecturer's notes: Markdown beside each ladder, `notes/<ladder>.md` with a heading for each rung's label.

An edited note is kept in the store and replaces the file's, until it is taken back.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from engine.catalogue import Ladder, Rung
from engine.records.shipped import shipped
from engine.store import presentation as store

FOLDER = shipped("notes")
LONGEST = 20_000  # characters


def note_of(ladder: Ladder, rung: Rung, folder: Path = FOLDER) -> tuple[str, bool]:
    """Return the note of a rung as Markdown, "" without one, and whether it was edited here."""
    kept = (store.load(_name(ladder, rung)) or {}).get("text")
    return (str(kept), True) if kept is not None else (shipped(folder / f"{ladder.name}.md").get(rung.label, ""), False)


def keep_note(ladder: Ladder, rung: Rung, text: str | None) -> None:
    """Keep an edited note; None takes it back. ValueError: it is too long."""
    if text is not None and len(text) > LONGEST:
        raise ValueError(f"A note has at most {LONGEST:,} characters.")
    store.save(_name(ladder, rung), {"text": text})


def shipped(path: Path) -> dict[str, str]:
    """Return the notes of a file by the label of their rung; none without the file."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=64)
def _read(path: Path, changed: int) -> dict[str, str]:
    """`changed`: the time of the file's last change."""
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {label.strip(): text.strip() for label, text in zip(parts[1::2], parts[2::2], strict=True)}


def _name(ladder: Ladder, rung: Rung) -> str:
    return f"note {ladder.name}~{rung.label}"
