"""Reading and writing what outlives the server, by any thread of any server process on this computer.

    read("SELECT text FROM drafts WHERE owner = ?", owner)        a list of rows
    write(lambda connection: connection.execute("INSERT ...", values).lastrowid)        one transaction

While the file cannot be used, everything goes on in memory with what could be read of it, `trouble()` says so in a
sentence, and what is written meanwhile gets into the file as soon as it can be used again.
"""

from __future__ import annotations

import atexit
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

from engine.store import old_history
from engine.store.connection import connected, in_memory, of_the_file

FILE = "kernel-ladder.db"
RETRY_S = 30.0  # how long a file that could not be used is left alone
RETRY_BUSY_S = 0.5  # how long a page may wait for such a file
WAITING = 10_000  # writes kept for such a file; the oldest are dropped

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]


def folder() -> Path:
    """The user's data folder for this program (XDG rules)."""
    return _folder(os.environ.get("XDG_DATA_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=8)
def _folder(data: str | None, home: str | None) -> Path:
    base = Path(data) if data else Path.home() / ".local" / "share"
    return base / "kernel-ladder"


def read(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query. Nothing is made where nothing was ever written."""
    database = _database(make=False)
    return [] if database is None else database.read(sql, values)


def write(action: Action[T]) -> T:
    """Do `action` in one transaction; returns what it returns. It may be done a second time if the file fails."""
    database = _database(make=True)
    assert database is not None
    return database.write(action)


def shrink() -> None:
    """Give back to the disk what removed rows took."""
    database = _database(make=False)
    if database is not None:
        database.shrink()


def version() -> tuple[int, int]:
    """Another one when somebody has written since: this process or another."""
    database = _database(make=False)
    return (0, 0) if database is None else database.version()


def trouble() -> str | None:
    """One sentence if what is written now does not get into the file, else None."""
    database = _database(make=False)
    return None if database is None else database.trouble


def close() -> None:
    """Close the file; the next call opens it again."""
    global _open
    with _opening:
        if _open is not None:
            _open.close()
        _open = None


def now() -> str:
    """This moment as the tables have it: 2026-11-22T09:40:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Database:
    """One file, or what stands for it in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble: str | None = None
        self._epoch = 1  # another one whenever another file, or memory, is used
        self._tried = 0.0  # when the file could last not be used
        self._waiting: list[Action[Any]] = []  # done in memory, not yet in the file
        # Readers never wait for writers. Who needs both locks takes that of writing first.
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
            if self._epoch == epoch:  # else somebody has seen to it
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
                self._writer.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page

    def version(self) -> tuple[int, int]:
        with self._reading:
            return self._epoch, int(self.read("PRAGMA data_version", ())[0][0])

    def close(self) -> None:
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()

    def _opened(self, **how: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        writer = connected(self.path, **how)
        try:
            old_history.read_in(self.path.parent, writer)
            return connected(self.path), writer
        except BaseException:
            writer.close()
            raise

    def _use(self, reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
        self._reader, self._writer = reader, writer
        self._epoch += 1

    def _go_on_in_memory(self, error: Exception) -> None:
        """For now: `error`, if it is the file's; any other is raised."""
        if not of_the_file(error):
            raise error
        self.trouble = (
            f"What is measured and written is kept in memory only, for now: {self.path} cannot be used ({error}). "
            "Make room, or move the file away: it is tried again, and gets what it missed."
        )
        print(self.trouble, file=sys.stderr, flush=True)
        self._tried = time.monotonic()
        with self._writing, self._reading:
            memory = in_memory(self.path)
            self._use(memory, memory)

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
    """The database of the folder of now; None where there is none yet and none is to be made."""
    global _open
    path = folder() / FILE
    found = _open
    if found is not None and found.path == path:
        return found
    with _opening:
        if _open is None or _open.path != path:
            if not make and not path.exists() and not old_history.file_in(path.parent).exists():
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
        if connection.in_transaction:  # a full disk ends it by itself
            connection.execute("ROLLBACK")
        raise
