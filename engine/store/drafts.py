"""The last text of each of an owner's drafts, and its earlier texts, about one a minute of work.

All texts together have a size limit, because they share one disk. A text that no browser can know any more is removed.
If there is no room, the oldest earlier texts are removed, then drafts untouched for weeks; recent ones stay. Nothing is
removed for its age before the store was written on some days of a month, as one day's clock may be wrong.
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
    " (SELECT name FROM drafts WHERE owner = ? ORDER BY name = ? DESC, utc DESC, name LIMIT ?)"
)  # not the one that was just saved, whatever the clock says
_BEFORE = "DELETE FROM {} WHERE utc < ?"
BELIEVED_DAYS = 4
_DAYS = (
    "SELECT substr(utc, 1, 10) AS day FROM (SELECT utc FROM drafts UNION ALL SELECT utc FROM versions)"
    f" WHERE utc > ? AND utc < ? GROUP BY day LIMIT {BELIEVED_DAYS}"
)
_TOTAL = "SELECT (SELECT COALESCE(SUM(bytes), 0) FROM drafts) + (SELECT COALESCE(SUM(bytes), 0) FROM versions)"
MOST_VERSIONS = 40  # of a draft
APART_S = 60  # between two versions of a draft, but for those that `keep` asks for
_OLDEST_VERSIONS = (
    "DELETE FROM versions WHERE owner = ? AND name = ? AND id NOT IN"
    " (SELECT id FROM versions WHERE owner = ? AND name = ? ORDER BY id DESC LIMIT ?)"
)
_OLDER_HALF = "DELETE FROM versions WHERE id IN (SELECT id FROM versions ORDER BY id LIMIT ?)"


class Full(Exception):
    """There is no room for another draft."""


def save(owner: str, name: str, text: str, most: int | None = None, keep: bool = False) -> None:
    """Save `text` as the owner's draft of that name. `most`: the owner's number of drafts; the oldest beyond it are
    removed. `keep`: the text before stays as a version, however new the last version is.

    Full: the drafts of all owners reach the limit; the earlier draft stays.
    """
    utc, size = now(), len(text.encode())

    def replace(connection: Connection) -> bool:
        if believed := _is_believed(connection, utc):
            for table in ("drafts", "versions"):
                connection.execute(_BEFORE.format(table), (_before(utc, days=KEPT_DAYS),))
        _add_version(connection, owner, name, text, utc, keep)
        while not _room(connection, owner, name, size):
            count = int(connection.execute("SELECT COUNT(*) FROM versions").fetchone()[0])
            if not count:
                break
            connection.execute(_OLDER_HALF, (count // 2 + 1,))
        if not _room(connection, owner, name, size):
            if believed:
                connection.execute(_BEFORE.format("drafts"), (_before(utc, days=AT_WORK_DAYS),))
            if not _room(connection, owner, name, size):
                return False
        connection.execute(
            "REPLACE INTO drafts (owner, name, text, utc, bytes) VALUES (?, ?, ?, ?, ?)", (owner, name, text, utc, size)
        )
        if most is not None:
            connection.execute(_OLDEST, (owner, owner, name, most))
        return True

    if not write(replace):
        raise Full(f"The {MOST_BYTES >> 20} MB for everybody's drafts are full.")


def _add_version(connection: Connection, owner: str, name: str, text: str, utc: str, keep: bool) -> None:
    """Make the stored text, which `text` replaces, a version, unless the last version is as new as that. A version
    from the future, of before the clock was set back, is not new."""
    stored = connection.execute("SELECT text, utc, bytes FROM drafts WHERE owner = ? AND name = ?", (owner, name))
    before = stored.fetchone()
    if before is None or before[0] == text:
        return
    newest = connection.execute(
        "SELECT text, utc FROM versions WHERE owner = ? AND name = ? ORDER BY id DESC LIMIT 1", (owner, name)
    ).fetchone()
    if newest and (newest[0] == before[0] or (_before(utc, seconds=APART_S) < newest[1] <= utc and not keep)):
        return
    connection.execute(
        "INSERT INTO versions (owner, name, text, utc, bytes) VALUES (?, ?, ?, ?, ?)", (owner, name, *before)
    )
    connection.execute(_OLDEST_VERSIONS, (owner, name, owner, name, MOST_VERSIONS))


def versions(owner: str, name: str) -> list[tuple[int, str, str]]:
    """Return (number, text, time in UTC) of the earlier texts of a draft, the last one first."""
    found = read("SELECT id, text, utc FROM versions WHERE owner = ? AND name = ? ORDER BY id DESC", owner, name)
    return [(int(number), str(text), str(utc)) for number, text, utc in found]


def _is_believed(connection: Connection, utc: str) -> bool:
    """Return whether texts of several other days are nearly as new as `utc`: a clock that is far ahead for a day makes
    every text look old, and must remove none."""
    return len(connection.execute(_DAYS, (_before(utc, days=AT_WORK_DAYS), utc[:10])).fetchall()) == BELIEVED_DAYS


def _room(connection: Connection, owner: str, name: str, size: int) -> bool:
    before = connection.execute("SELECT bytes FROM drafts WHERE owner = ? AND name = ?", (owner, name)).fetchone()
    return int(connection.execute(_TOTAL).fetchone()[0]) - (before[0] if before else 0) + size <= MOST_BYTES


def _before(utc: str, **time: int) -> str:
    """Return the moment that is a time before `utc`: days or seconds."""
    return (datetime.fromisoformat(utc).astimezone(UTC) - timedelta(**time)).isoformat(timespec="seconds")


def load(owner: str, name: str) -> str | None:
    """Return the owner's draft of that name, or None."""
    found = read("SELECT text FROM drafts WHERE owner = ? AND name = ?", owner, name)
    return str(found[0][0]) if found else None


def kept(owner: str) -> list[tuple[str, str, str]]:
    """Return (name, text, time in UTC) of each of the owner's drafts, the last one first."""
    found = read("SELECT name, text, utc FROM drafts WHERE owner = ? ORDER BY utc DESC, name", owner)
    return [(str(name), str(text), str(utc)) for name, text, utc in found]
