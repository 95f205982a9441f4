"""Connections to the file, and what their errors mean."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

from engine.store.schema import NewerFileError, migrate

BUSY_S = 5.0  # how long a write waits for other processes', each of which takes milliseconds
_RETRY_S = 0.01
# What the file, its disk or its folder is to blame for; every other error is a mistake in this program.
_FILE_ERRORS = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_READONLY,
})  # fmt: skip


def of_the_file(error: Exception) -> bool:
    """Whether the file is to blame: it is damaged, full, locked, read-only, or of a later version."""
    if isinstance(error, OSError | NewerFileError):
        return True
    if isinstance(error, sqlite3.ProgrammingError) or not isinstance(error, sqlite3.DatabaseError):
        return False  # which Python's module raises itself, and without a code
    return error.sqlite_errorcode & 0xFF in _FILE_ERRORS


def connected(path: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """A connection to the file, which is made if need be, with this version's tables. sqlite3.Error, OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # drafts are their writers' own
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file: what is pruned makes it smaller
        _write_ahead(connection, busy_s)
        # Committed is safe from the end of a process at any moment; the last writes before a power cut may be missing.
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def in_memory(path: Path) -> sqlite3.Connection:
    """A database in memory, with all that can be read of the file."""
    for how in ("mode=ro", "mode=ro&immutable=1"):  # the first needs a folder that can be written to
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with contextlib.suppress(sqlite3.Error):
            with contextlib.closing(
                sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=0.5)
            ) as file:
                file.backup(connection)
            migrate(connection)
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok":
                return connection
        connection.close()
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(connection)
    return connection


def _write_ahead(connection: sqlite3.Connection, busy_s: float) -> None:
    """Readers and a writer at once. SQLite does not wait by itself where several processes make the file together."""
    end = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(_RETRY_S)
