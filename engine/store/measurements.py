"""Measurements in the order in which they were made.

A key, a record and the counters of its source lines are JSON text, which engine.history understands. The lines would be
most of the file, so they are compressed and read only with their own record.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from sqlite3 import Connection

from engine.store.database import now, read, shrink, write

_BATCH = 500  # rows removed in one transaction, so no other writer waits for long


@dataclass(frozen=True)
class Row:
    """`id` grows with every measurement; `utc` is when it was kept."""

    id: int
    key: str
    utc: str
    record: str


def add(key: str, record: str, lines: str | None = None) -> int:
    """Append a measurement; returns its id."""
    values = (key, now(), record, None if lines is None else zlib.compress(lines.encode()))
    insert = "INSERT INTO measurements (key, utc, record, lines) VALUES (?, ?, ?, ?)"
    return write(lambda connection: int(connection.execute(insert, values).lastrowid or 0))


def last_of(key: str) -> tuple[str, str | None] | None:
    """Return the record and the lines of the key's last measurement, or None."""
    found = read("SELECT record, lines FROM measurements WHERE key = ? ORDER BY id DESC LIMIT 1", key)
    if not found:
        return None
    record, lines = found[0]
    return str(record), None if lines is None else zlib.decompress(lines).decode()


def keys_since(id: int) -> list[tuple[int, str]]:
    """Return (id, key) of every measurement after `id`, in order."""
    return [
        (int(each), str(key)) for each, key in read("SELECT id, key FROM measurements WHERE id > ? ORDER BY id", id)
    ]


def last_id() -> int:
    """Return the id of the last measurement; 0 if there is none."""
    found = read("SELECT max(id) FROM measurements")
    return int(found[0][0] or 0) if found else 0


def all_rows() -> list[Row]:
    """Return every measurement, the earliest first."""
    return [Row(*row) for row in read("SELECT id, key, utc, record FROM measurements ORDER BY id")]


def count() -> int:
    """Return the number of measurements."""
    found = read("SELECT count(*) FROM measurements")
    return int(found[0][0]) if found else 0


def prune(keep: int | None = None, before: str | None = None) -> int:
    """Remove all but the last `keep`, and all before `before` (UTC, ISO form); returns the number removed."""
    removed = 0
    if before is not None:
        removed += _remove("utc < ?", before)
    if keep is not None:
        removed += _remove("id <= (SELECT id FROM measurements ORDER BY id DESC LIMIT 1 OFFSET ?)", keep)
    shrink()
    return removed


def _remove(condition: str, value: str | int) -> int:
    which = f"SELECT id FROM measurements WHERE {condition} ORDER BY id LIMIT {_BATCH}"

    def remove(connection: Connection) -> int:
        return connection.execute(f"DELETE FROM measurements WHERE id IN ({which})", (value,)).rowcount

    removed = 0
    while gone := write(remove):
        removed += gone
    return removed
