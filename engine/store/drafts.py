"""The last text of each of an owner's drafts.

All drafts together have a size limit, because they share one disk. A draft that no browser can know any more is
removed. If there is no room, drafts untouched for weeks are removed too; recent ones stay.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from sqlite3 import Connection

from engine.store.database import now, read, write

MOST_BYTES = 512 << 20  # of all owners together: 200 owners with ten drafts of the longest source
KEPT_DAYS = 400  # the lifetime of a browser's name, which is the longest of any cookie
AT_WORK_DAYS = 30  # drafts touched since are never removed for another owner
_OLDEST = (
    "DELETE FROM drafts WHERE owner = ? AND name NOT IN"
    " (SELECT name FROM drafts WHERE owner = ? ORDER BY utc DESC, name LIMIT ?)"
)
_BEFORE = "DELETE FROM drafts WHERE utc < ?"
_TOTAL = "SELECT COALESCE(SUM(bytes), 0) FROM drafts"


class Full(Exception):
    """There is no room for another draft."""


def save(owner: str, name: str, text: str, most: int | None = None) -> None:
    """Save `text` as the owner's draft of that name. `most`: the owner's number of drafts; the oldest beyond it are
    removed.

    Full: the drafts of all owners reach the limit; the earlier draft stays.
    """
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
    """Return the owner's draft of that name, or None."""
    found = read("SELECT text FROM drafts WHERE owner = ? AND name = ?", owner, name)
    return str(found[0][0]) if found else None


def kept(owner: str) -> list[tuple[str, str, str]]:
    """Return (name, text, time in UTC) of each of the owner's drafts, the last one first."""
    found = read("SELECT name, text, utc FROM drafts WHERE owner = ? ORDER BY utc DESC, name", owner)
    return [(str(name), str(text), str(utc)) for name, text, utc in found]
