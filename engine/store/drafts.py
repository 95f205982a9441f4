"""What somebody is writing: the last text of each name, an owner's own."""

from __future__ import annotations

from sqlite3 import Connection

from engine.store.database import now, read, write

_OLDEST = (
    "DELETE FROM drafts WHERE owner = ? AND name NOT IN"
    " (SELECT name FROM drafts WHERE owner = ? ORDER BY utc DESC, name LIMIT ?)"
)


def save(owner: str, name: str, text: str, most: int | None = None) -> None:
    """Keep `text` as the owner's draft of that name, in place of the one before. `most`: how many the owner may have;
    beyond, the oldest go."""
    row = (owner, name, text, now())

    def replace(connection: Connection) -> None:
        connection.execute("REPLACE INTO drafts VALUES (?, ?, ?, ?)", row)
        if most is not None:
            connection.execute(_OLDEST, (owner, owner, most))

    write(replace)


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
