"""The measurements of before there was a database: a file of JSON lines, read in once and kept beside it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path

_FAKE = '"name": "Test GPU"'  # in the rows that this program's tests once wrote into the user's own file


def file_in(folder: Path) -> Path:
    """Where the old file stands, if it does."""
    return folder / "history.jsonl"


def read_in(folder: Path, connection: sqlite3.Connection) -> None:
    """Take over the old file's measurements, then rename it to history.jsonl.imported. sqlite3.Error.

    A line that cannot be read stays there and is left out, as is one that nothing measured.
    """
    file = file_in(folder)
    try:
        content = file.read_bytes()
    except OSError:
        return
    digest = hashlib.sha256(content).hexdigest()
    # Before others have to wait: of a large file this takes seconds.
    rows = [row for line in content.decode(errors="replace").splitlines() if (row := _row(line))]
    connection.execute("BEGIN IMMEDIATE")
    try:  # an end between the two, and another process at the same moment, must not count a line twice
        added = connection.execute("INSERT OR IGNORE INTO imported VALUES (?, ?)", (file.name, digest)).rowcount
        if added:
            connection.executemany("INSERT INTO measurements (key, utc, record) VALUES (?, ?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    with contextlib.suppress(OSError):  # another process has done it, or the folder is read-only: next time
        file.rename(_free(file.with_name(f"{file.name}.imported")))


def _row(line: str) -> tuple[str, str, str] | None:
    """(key, utc, record) of a line, None if it is none."""
    try:
        found = json.loads(line)
        key, record = found["key"], found["measurement"]
        utc = str(record["environment"].get("utc") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
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
