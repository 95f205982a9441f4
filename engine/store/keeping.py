"""What an operator does with the store: back it up, restore it, show or delete what one person left, end a term.

back_up(Path("monday.zip"))      restore(Path("monday.zip"))      of_person("Ada")      delete_person("Ada")
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from engine.records import NotRunnable
from engine.records.archive import UNREADABLE
from engine.records.files import written_whole
from engine.records.words import reason_text
from engine.store import database
from engine.store.database import FILE, MIGRATIONS, read, write

# Small files beside the database; without the second everybody must sign in again.
CLASS_KEYS, COOKIE_SECRET, LTI_KEY = "class-keys", "cookie-secret", "lti-key.pem"
BESIDE = (CLASS_KEYS, COOKIE_SECRET, LTI_KEY)
_LARGEST = 8 << 30  # bytes of a database in a backup


def back_up(path: Path) -> int:
    """Write the store into a zip file, while servers run, and return its bytes. NotRunnable: there is no store."""
    folder = database.folder()
    if not (folder / FILE).is_file():
        raise NotRunnable(f"There is no store in {folder}: nothing has been kept yet.")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / FILE
        live, to = sqlite3.connect(folder / FILE), sqlite3.connect(copy)
        with contextlib.closing(live), contextlib.closing(to):
            live.backup(to)
        whole = Path(scratch) / "backup.zip"  # not in place: an archive needs a file that can be read back
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as made:
            made.write(copy, FILE)
            for name in BESIDE:
                if (folder / name).is_file():
                    made.write(folder / name, name)
        with written_whole(path, 0o600) as file, whole.open("rb") as ready:
            shutil.copyfileobj(ready, file)
        return whole.stat().st_size


def restore(path: Path) -> Path | None:
    """Put a backup in the place of the store, and return the backup of what was there before, if there was a store.

    NotRunnable: the file is no backup, is damaged, or was made by a later version.
    """
    folder = database.folder()
    with tempfile.TemporaryDirectory() as scratch:
        copy = _unpacked(path, Path(scratch))
        before = None
        if (folder / FILE).is_file():
            before = folder / "before-restore.zip"
            back_up(before)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(copy)) as source, \
                contextlib.closing(sqlite3.connect(folder / FILE, timeout=database.BUSY_S)) as live:  # fmt: skip
            source.backup(live)
        for name in BESIDE:
            kept = Path(scratch) / name
            if kept.is_file():
                with written_whole(folder / name, 0o600) as file:
                    file.write(kept.read_bytes())
    return before


def _unpacked(path: Path, scratch: Path) -> Path:
    """Return the database of a backup, unpacked and checked. NotRunnable."""
    try:
        with zipfile.ZipFile(path) as found:
            for name in (FILE, *BESIDE):
                if name in found.namelist():
                    if found.getinfo(name).file_size > _LARGEST:
                        raise NotRunnable(f"{path} holds more than a store does.")
                    (scratch / name).write_bytes(found.read(name))
    except UNREADABLE as error:
        raise NotRunnable(f"{path} is no backup that can be read: {reason_text(error)}.") from None
    copy = scratch / FILE
    if not copy.is_file():
        raise NotRunnable(f"{path} is no backup: it has no {FILE}.")
    try:
        with contextlib.closing(sqlite3.connect(copy)) as found_database:
            sound = found_database.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            version = int(found_database.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError:
        sound, version = False, 0
    if not sound:
        raise NotRunnable(f"{path} is damaged: its database cannot be read.")
    if version > len(MIGRATIONS):
        raise NotRunnable(f"{path} was made by a later version of this program: update it first.")
    return copy


@dataclass(frozen=True)
class Person:
    """What one person left. `sheets`: (owner of the progress, sheet, task, state, time); `drafts`: (name, text,
    time) of the last texts, then of the earlier ones."""

    sheets: Sequence[tuple[str, str, str, str, str]]
    drafts: Sequence[tuple[str, str, str]]

    @property
    def nothing(self) -> bool:
        """Return whether there is nothing."""
        return not self.sheets and not self.drafts


def of_person(name: str) -> Person:
    """Return what is kept of a student: of a typed name in every browser, or of an account."""
    where, values = _of_name(name)
    owners = _draft_owners(name)
    sheets = read(f"SELECT owner, sheet, task, state, utc FROM progress WHERE {where} ORDER BY owner, sheet", *values)
    drafts = [
        (str(draft), str(text), str(utc))
        for owner in owners
        for table in ("drafts", "versions")
        for draft, text, utc in read(f"SELECT name, text, utc FROM {table} WHERE owner = ? ORDER BY utc", owner)
    ]
    rows = [(str(owner), str(sheet), str(task), str(state), str(utc)) for owner, sheet, task, state, utc in sheets]
    return Person(rows, drafts)


def delete_person(name: str) -> Person:
    """Delete what is kept of a student, and return what it was."""
    found, owners = of_person(name), _draft_owners(name)
    where, values = _of_name(name)

    def delete(connection: sqlite3.Connection) -> None:
        connection.execute(f"DELETE FROM progress WHERE {where}", values)
        connection.execute("DELETE FROM names WHERE name = ?", (name,))
        for table in ("drafts", "versions", "returns"):
            connection.executemany(f"DELETE FROM {table} WHERE owner = ?", [(owner,) for owner in owners])

    write(delete)
    return found


def _of_name(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition of a name's progress: with a class key, four letters of the browser stand behind a name."""
    plain = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return "(owner = ? OR owner LIKE ? ESCAPE '\\')", (name, f"{plain} (____)")


def _draft_owners(name: str) -> list[str]:
    browsers = [str(browser) for (browser,) in read("SELECT browser FROM names WHERE name = ?", name)]
    return [*browsers, owner_of_drafts(sha256(name.encode()).hexdigest()[:16])]  # the second: of an account


def owner_of_drafts(visitor: str) -> str:
    """Return the key of a browser or an account in the store, which does not reveal the cookie."""
    return f"browser {sha256(visitor.encode()).hexdigest()[:32]}"


# Of a term: what students and halls left, with the time of the last change. Measurements stay.
_OF_A_TERM = ("progress", "drafts", "versions", "returns", "names", "lectures", "questions", "rounds", "asked", "steps")


def end_term(before: str) -> dict[str, int]:
    """Delete what students and halls left before a day (ISO 8601, UTC), and return how many rows of each table."""

    def delete(connection: sqlite3.Connection) -> dict[str, int]:
        gone = {}
        for table in _OF_A_TERM:
            gone[table] = connection.execute(f"DELETE FROM {table} WHERE utc < ?", (before,)).rowcount
        gone["votes"] = connection.execute(
            "DELETE FROM votes WHERE lecture NOT IN (SELECT lecture FROM questions)"
        ).rowcount
        return gone

    return write(delete)
