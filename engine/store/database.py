"""Reading and writing the data that outlive the server, by any thread of any server process on this computer.

    read("SELECT text FROM drafts WHERE owner = ?", owner)        a list of rows
    write(lambda connection: connection.execute("INSERT ...", values).lastrowid)        one transaction

While the file cannot be used, everything goes on in memory with the rows that could be read, `trouble()` says so in a
sentence, and rows written meanwhile get into the file as soon as it can be used again.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

# One entry a version of the file: the statements that upgrade the version before. Entries are added, never changed,
# because users' files were made by them.
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
    (
        "CREATE TABLE questions (lecture TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL, utc TEXT NOT NULL,"
        " PRIMARY KEY (lecture, name)) WITHOUT ROWID",
        "CREATE TABLE votes (lecture TEXT NOT NULL, name TEXT NOT NULL, round INTEGER NOT NULL, voter TEXT NOT NULL,"
        " choice INTEGER NOT NULL, PRIMARY KEY (lecture, name, round, voter)) WITHOUT ROWID",
        "CREATE TABLE asked (id INTEGER PRIMARY KEY AUTOINCREMENT, lecture TEXT NOT NULL, guest TEXT NOT NULL,"
        " slide TEXT NOT NULL, text TEXT NOT NULL, utc TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0)",
        "CREATE INDEX asked_by_lecture ON asked (lecture, id)",
        "CREATE TABLE steps (id INTEGER PRIMARY KEY AUTOINCREMENT, lecture TEXT NOT NULL, address TEXT NOT NULL,"
        " utc TEXT NOT NULL)",
        "CREATE INDEX steps_by_lecture ON steps (lecture, id)",
    ),
    (
        "CREATE TABLE rounds (lecture TEXT NOT NULL, name TEXT NOT NULL, round INTEGER NOT NULL, counts TEXT NOT NULL,"
        " utc TEXT NOT NULL, PRIMARY KEY (lecture, name, round)) WITHOUT ROWID",
    ),
    ("CREATE TABLE names (browser TEXT PRIMARY KEY, name TEXT NOT NULL, utc TEXT NOT NULL) WITHOUT ROWID",),
    (
        "CREATE TABLE versions (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, name TEXT NOT NULL,"
        " text TEXT NOT NULL, utc TEXT NOT NULL, bytes INTEGER NOT NULL)",
        "CREATE INDEX versions_by_draft ON versions (owner, name, id)",
        "CREATE INDEX versions_by_utc ON versions (utc, bytes)",
        "CREATE TABLE returns (owner TEXT NOT NULL, sheet TEXT NOT NULL, record TEXT NOT NULL, utc TEXT NOT NULL,"
        " PRIMARY KEY (owner, sheet)) WITHOUT ROWID",
    ),
)


class NewerFileError(sqlite3.DatabaseError):
    """The file was made by a later version of this program."""


def migrate(connection: sqlite3.Connection) -> None:
    """Upgrade the file to this version. Any number of processes may try at once. NewerFileError."""
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _version(connection)  # checked again under the lock
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


BUSY_S = 5.0  # seconds that a write waits for other processes' writes, each of which takes milliseconds
_RETRY_S = 0.01
# Errors of the file, its disk or its folder; every other error is a bug of this program.
_FILE_ERRORS = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_READONLY,
})  # fmt: skip


def of_the_file(error: Exception) -> bool:
    """Return whether the file is the cause: it is damaged, full, locked, read-only, or of a later version."""
    if isinstance(error, OSError | NewerFileError):
        return True
    if isinstance(error, sqlite3.ProgrammingError) or not isinstance(error, sqlite3.DatabaseError):
        return False  # raised by Python's module itself, without a code
    return error.sqlite_errorcode & 0xFF in _FILE_ERRORS


def connected(path: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """Open the file, which is created if needed, with this version's tables. sqlite3.Error, OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # drafts are private to their writers
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # set on a new file, so pruning makes it smaller
        _write_ahead(connection, busy_s)
        # Commits survive the end of a process at any moment; a power cut may lose the last writes.
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def in_memory(path: Path) -> sqlite3.Connection:
    """Open a database in memory, with everything that is readable in the file."""
    for how in ("mode=ro", "mode=ro&immutable=1"):  # the first needs a writable folder
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
    """Switch the file to write-ahead logging. SQLite does not wait by itself if several processes create the file at
    once."""
    end = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(_RETRY_S)


_FAKE = '"name": "Test GPU"'  # in rows that this program's tests once wrote into the user's own file


def file_in(folder: Path) -> Path:
    """Return the path of the old history file, if there is one."""
    return folder / "history.jsonl"


def read_in(folder: Path, connection: sqlite3.Connection) -> None:
    """Import the old file's measurements, then rename it to history.jsonl.imported. sqlite3.Error.

    A line that cannot be read is left out, and so is one that no device measured.
    """
    file = file_in(folder)
    try:
        content = file.read_bytes()
    except OSError:
        return
    digest = hashlib.sha256(content).hexdigest()
    # Before the lock, because a large file takes seconds.
    rows = [row for line in content.decode(errors="replace").splitlines() if (row := _row(line))]
    connection.execute("BEGIN IMMEDIATE")
    try:  # a crash between the two, or another process, must not import a line twice
        added = connection.execute("INSERT OR IGNORE INTO imported VALUES (?, ?)", (file.name, digest)).rowcount
        if added:
            connection.executemany("INSERT INTO measurements (key, utc, record) VALUES (?, ?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    with contextlib.suppress(OSError):  # another process renamed it, or the folder is read-only
        file.rename(_free(file.with_name(f"{file.name}.imported")))


def _row(line: str) -> tuple[str, str, str] | None:
    """Return (key, utc, record) of a line; None if it is no record."""
    try:
        found = json.loads(line)
        key, record = found["key"], found["measurement"]
        utc = str(record["environment"].get("utc") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(key, list) or _FAKE in line:
        return None
    return json.dumps(key), utc, json.dumps(record)


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


FILE = "kernel-ladder.db"
RETRY_S = 30.0  # seconds for which an unusable file is left alone
RETRY_BUSY_S = 0.5  # seconds that a page may wait for such a file
WAITING = 10_000  # writes kept for such a file; the oldest are dropped

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]


def folder() -> Path:
    """Return this program's data folder of the user (XDG rules)."""
    return _folder(os.environ.get("XDG_DATA_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=8)
def _folder(data: str | None, home: str | None) -> Path:
    base = Path(data) if data else Path.home() / ".local" / "share"
    return base / "kernel-ladder"


def read(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query. A read never creates the file."""
    database = _database(make=False)
    return [] if database is None else database.read(sql, values)


def write(action: Action[T]) -> T:
    """Run `action` in one transaction and return its result. It may run a second time if the file fails."""
    database = _database(make=True)
    assert database is not None
    return database.write(action)


def shrink() -> None:
    """Return the space of removed rows to the disk."""
    database = _database(make=False)
    if database is not None:
        database.shrink()


def version() -> tuple[int, int]:
    """Return a value that changes with every write, of this process or another."""
    database = _database(make=False)
    return (0, 0) if database is None else database.version()


def trouble() -> str | None:
    """Return one sentence if writes do not reach the file now, or could not; else None."""
    database = _database(make=False)
    if database is not None:
        return database.trouble
    if can_be_written(folder()):
        return None
    return f"What is measured and written is kept in memory only: {folder()} cannot be written."


def can_be_written(path: Path) -> bool:
    """Return whether this process can write in the folder, or make it."""
    there = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def close() -> None:
    """Close the file; the next call opens it again."""
    global _open
    with _opening:
        if _open is not None:
            _open.close()
        _open = None


def now() -> str:
    """Return the present time as the tables have it: 2026-11-22T09:40:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Database:
    """One file, or the memory that replaces it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble: str | None = None
        self._epoch = 1  # changes with every other file or memory
        self._tried = 0.0  # the time of the last failure of the file
        self._waiting: list[Action[Any]] = []  # done in memory, not yet in the file
        self._timer: threading.Timer | None = None  # tries the file again, whether anybody writes or not
        self._closed = False
        # Readers never wait for writers. A caller that needs both locks takes the write lock first.
        self._writing, self._reading = threading.RLock(), threading.RLock()
        try:
            self._use(*self._opened())
        except (OSError, sqlite3.Error) as error:
            self._go_on_in_memory(error)

    def read(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._reading:
            epoch = self._epoch
            try:
                return self._reader.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                failure = error
        with self._writing, self._reading:
            if self._epoch == epoch:  # another thread has done it
                self._go_on_in_memory(failure)
            return self._reader.execute(sql, values).fetchall()

    def write(self, action: Action[T]) -> T:
        with self._writing:
            if self.trouble is not None and time.monotonic() - self._tried >= RETRY_S:
                self._try_the_file()
            if self.trouble is None:
                try:
                    return _in_transaction(self._writer, action)
                except sqlite3.Error as error:
                    self._go_on_in_memory(error)
            with self._reading:
                value = _in_transaction(self._writer, action)
            self._waiting = [*self._waiting[-WAITING + 1 :], action]
            return value

    def shrink(self) -> None:
        with self._writing:
            if self.trouble is None:
                self._writer.executescript("PRAGMA incremental_vacuum")  # `execute` would free one page only

    def version(self) -> tuple[int, int]:
        with self._reading:
            return self._epoch, int(self.read("PRAGMA data_version", ())[0][0])

    def close(self) -> None:
        """Close the file; entries that it still misses get a last try."""
        with self._writing, self._reading:
            if self._timer is not None:
                self._timer.cancel()
            if self.trouble is not None and self._waiting:
                with contextlib.suppress(sqlite3.Error):
                    self._try_the_file()
                if self._waiting:
                    print(f"{len(self._waiting)} entries are lost: {self.trouble}", file=sys.stderr, flush=True)
            self._closed = True
            self._reader.close()
            self._writer.close()

    def _opened(self, **how: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        writer = connected(self.path, **how)
        try:
            read_in(self.path.parent, writer)
            return connected(self.path), writer
        except BaseException:
            writer.close()
            raise

    def _use(self, reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
        self._reader, self._writer = reader, writer
        self._epoch += 1

    def _go_on_in_memory(self, error: Exception) -> None:
        """Continue in memory if `error` is the file's; otherwise raise it."""
        if not of_the_file(error):
            raise error
        why = getattr(error, "strerror", None) or error
        self.trouble = (
            f"Measurements and drafts are kept in memory only, for now: {self.path} cannot be used ({why}). "
            f"Make room, or move the file away: it is tried again every {RETRY_S:.0f} s and at the end, and gets what "
            "it missed."
        )
        print(self.trouble, file=sys.stderr, flush=True)
        self._tried = time.monotonic()
        with self._writing, self._reading:
            memory = in_memory(self.path)
            self._use(memory, memory)
        self._set_timer()

    def _set_timer(self) -> None:
        self._timer = threading.Timer(RETRY_S, self._retry)
        self._timer.daemon = True
        self._timer.start()

    def _retry(self) -> None:
        with self._writing:
            if self._closed or self.trouble is None:
                return
            try:
                self._try_the_file()
            finally:
                if self.trouble is not None:
                    self._set_timer()

    def _try_the_file(self) -> None:
        try:
            reader, writer = self._opened(busy_s=RETRY_BUSY_S)
            try:
                _in_transaction(writer, lambda connection: [action(connection) for action in self._waiting])
            except BaseException:
                reader.close()
                writer.close()
                raise
        except (OSError, sqlite3.Error) as error:
            if not of_the_file(error):
                raise
            self._tried = time.monotonic()
            return
        with self._reading:
            self._writer.close()
            self._use(reader, writer)
            self._waiting, self.trouble = [], None
        print(f"{self.path} can be used again, and has what it missed.", file=sys.stderr, flush=True)


_opening = threading.Lock()
_open: _Database | None = None
atexit.register(close)


def _database(*, make: bool) -> _Database | None:
    """Return the database of the present folder; None if it does not exist and must not be created."""
    global _open
    path = folder() / FILE
    found = _open
    if found is not None and found.path == path:
        return found
    with _opening:
        if _open is None or _open.path != path:
            if not make and not path.exists() and not file_in(path.parent).exists():
                return None
            if _open is not None:
                _open.close()
            _open = _Database(path)
        return _open


def _in_transaction(connection: sqlite3.Connection, action: Action[T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        value = action(connection)
        connection.execute("COMMIT")
        return value
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise
