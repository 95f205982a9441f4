"""What somebody is writing: the last text of each name, an owner's own."""

from __future__ import annotations

from engine.store.database import now, read, write


def save(owner: str, name: str, text: str) -> None:
    """Keep `text` as the owner's draft of that name, in place of the one before."""
    row = (owner, name, text, now())
    write(lambda connection: connection.execute("REPLACE INTO drafts VALUES (?, ?, ?, ?)", row))


def load(owner: str, name: str) -> str | None:
    """The owner's draft of that name, or None."""
    found = read("SELECT text FROM drafts WHERE owner = ? AND name = ?", owner, name)
    return str(found[0][0]) if found else None


def names(owner: str) -> dict[str, str]:
    """The names of the owner's drafts and when each was saved (UTC), the latest first."""
    found = read("SELECT name, utc FROM drafts WHERE owner = ? ORDER BY utc DESC, name", owner)
    return {str(name): str(utc) for name, utc in found}


def remove(owner: str, name: str) -> None:
    """Forget the draft, if there is one."""
    write(lambda connection: connection.execute("DELETE FROM drafts WHERE owner = ? AND name = ?", (owner, name)))
