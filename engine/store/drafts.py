"""What somebody is writing: the last text of each name, an owner's own.

All drafts together have a bound, as they are on one disk. What nobody has touched for so long that no browser knows it
any more goes by itself; where there is no room, so does what has lain for weeks; what is worked at stays.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from sqlite3 import Connection

from engine.store.database import now, read, write

MOST_BYTES = 512 << 20  # of all owners together: 200 with ten drafts of the longest source
KEPT_DAYS = 400  # as long as a browser keeps its name, which is as long as any cookie
AT_WORK_DAYS = 30  # what was touched since goes for nobody else's
_OLDEST = (
    "DELETE FROM drafts WHERE owner = ? AND name NOT IN"
    " (SELECT name FROM drafts WHERE owner = ? ORDER BY utc DESC, name LIMIT ?)"
)
_BEFORE = "DELETE FROM drafts WHERE utc < ?"
_TOTAL = "SELECT COALESCE(SUM(bytes), 0) FROM drafts"


class Full(Exception):
    """There is no room for another draft."""


def save(owner: str, name: str, text: str, most: int | None = None) -> None:
    """Keep `text` as the owner's draft of that name, in place of the one before. `most`: how many the owner may have;
    beyond, the oldest go. Full: all owners together have as much as they may, and what was there before stays."""
    utc, size = now(), len(text.encode())

    def replace(connection: Connection) -> bool:
        connection.execute(_BEFORE, (_days_before(utc, KEPT_DAYS),))
        if not _room(connection, owner, name, size):
            connection.execute(_BEFORE, (_days_before(utc, AT_WORK_DAYS),))
            if not _room(connection, owner, name, size):
                return False
        connection.execute(
            "REPLACE INTO drafts (owner, name, text, utc, bytes) VALUES (?, ?, ?, ?, ?)", (owner, name, text, utc, size)
        )
        if most is not None:
            connection.execute(_OLDEST, (owner, owner, most))
        return True

    if not write(replace):
        raise Full(f"The {MOST_BYTES >> 20} MB for everybody's drafts are full.")


def _room(connection: Connection, owner: str, name: str, size: int) -> bool:
    before = connection.execute("SELECT bytes FROM drafts WHERE owner = ? AND name = ?", (owner, name)).fetchone()
    return int(connection.execute(_TOTAL).fetchone()[0]) - (before[0] if before else 0) + size <= MOST_BYTES


def _days_before(utc: str, days: int) -> str:
    return (datetime.fromisoformat(utc).astimezone(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


def load(owner: str, name: str) -> str | None:
    """The owner's draft of that name, or None."""
    found = read("SELECT text FROM drafts WHERE owner = ? AND name = ?", owner, name)
    return str(found[0][0]) if found else None
