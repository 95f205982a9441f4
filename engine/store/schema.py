"""The tables, and how a file of an earlier version gets them."""

from __future__ import annotations

import sqlite3

# One entry a version of the file: what makes it from the version before. Entries are added, never changed: files that
# somebody has were made by them.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE measurements (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, utc TEXT NOT NULL,"
        " record TEXT NOT NULL)",
        "CREATE INDEX measurements_by_key ON measurements (key, id)",
        "CREATE INDEX measurements_by_utc ON measurements (utc)",
        "CREATE TABLE imported (name TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, digest))",
        "CREATE TABLE drafts (owner TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, utc TEXT NOT NULL,"
        " PRIMARY KEY (owner, name)) WITHOUT ROWID",
        "CREATE TABLE progress (owner TEXT NOT NULL, sheet TEXT NOT NULL, task TEXT NOT NULL, state TEXT NOT NULL,"
        " utc TEXT NOT NULL, PRIMARY KEY (sheet, owner, task)) WITHOUT ROWID",
        "CREATE TABLE lectures (name TEXT PRIMARY KEY, state TEXT NOT NULL, utc TEXT NOT NULL) WITHOUT ROWID",
    ),
    ("ALTER TABLE measurements ADD COLUMN lines BLOB",),
    (
        "ALTER TABLE drafts ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0",
        "UPDATE drafts SET bytes = length(CAST(text AS BLOB))",
        "CREATE INDEX drafts_by_utc ON drafts (utc, bytes)",
    ),
)


class NewerFileError(sqlite3.DatabaseError):
    """The file was made by a later version of this program, which alone knows what it means."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version. Any number of processes may try at once; NewerFileError."""
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _version(connection)  # now that nobody else can be at it
        if found > len(MIGRATIONS):
            raise NewerFileError(
                f"a later version of this program made it: {found}, and this one knows {len(MIGRATIONS)}"
            )
        for statements in MIGRATIONS[found:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
