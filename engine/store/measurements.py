"""Measurements in the order in which they were made.

A key, a record and the counters of its source lines are JSON text, which history understands. The lines, which would be
most of the file, are kept packed and are read with their own record only.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from sqlite3 import Connection

from engine.store.database import now, read, shrink, write

_BATCH = 500  # removed in one transaction, so that nobody waits for long


@dataclass(frozen=True)
class Row:
    """`id` grows with every measurement; `utc` is when it was kept."""

    id: int
    key: str
    utc: str
    record: str


def add(key: str, record: str, lines: str | None = None) -> int:
    """Keep a measurement; returns its id."""
    values = (key, now(), record, None if lines is None else zlib.compress(lines.encode()))
    insert = "INSERT INTO measurements (key, utc, record, lines) VALUES (?, ?, ?, ?)"
    return write(lambda connection: int(connection.execute(insert, values).lastrowid or 0))


def last_of(key: str) -> tuple[str, str | None] | None:
    """The record and the lines of the key's last measurement, or None."""
    found = read("SELECT record, lines FROM measurements WHERE key = ? ORDER BY id DESC LIMIT 1", key)
    if not found:
        return None
    record, lines = found[0]
    return str(record), None if lines is None else zlib.decompress(lines).decode()


def keys_since(id: int) -> list[tuple[int, str]]:
    """(id, key) of every measurement after `id`, in order."""
    return [
        (int(each), str(key)) for each, key in read("SELECT id, key FROM measurements WHERE id > ? ORDER BY id", id)
    ]


def last_id() -> int:
    """The id of the last measurement; 0 where there is none."""
    found = read("SELECT max(id) FROM measurements")
    return int(found[0][0] or 0) if found else 0


def all_rows() -> list[Row]:
    """Every measurement, the earliest first."""
    return [Row(*row) for row in read("SELECT id, key, utc, record FROM measurements ORDER BY id")]


def count() -> int:
    """How many there are."""
    found = read("SELECT count(*) FROM measurements")
    return int(found[0][0]) if found else 0


def prune(keep: int | None = None, before: str | None = None) -> int:
    """Remove all but the last `keep`, and what was kept before `before` (UTC, in ISO form); returns how many went."""
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
