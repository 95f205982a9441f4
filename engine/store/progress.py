"""The progress of each student in each lab sheet. The sheet names a task's state."""

from __future__ import annotations

from sqlite3 import Connection

from engine.store.database import now, read, write


def save(owner: str, sheet: str, task: str, state: str, final: str | None = None) -> None:
    """Save the owner's state in a task of a sheet; a state that begins with `final` stays."""
    row = (owner, sheet, task, state, now(), final, final or "")
    write(lambda connection: connection.execute(_SAVE, row))


_SAVE = """INSERT INTO progress VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state,
           utc = excluded.utc WHERE ? IS NULL OR instr(state, ?) != 1"""


def count(owner: str, sheet: str, task: str, most: int | None = None) -> int | None:
    """Add one to the number that is the owner's state in a task, and return it; None: it was `most` already."""
    row = (owner, sheet, task, now(), most, most)

    def add(connection: Connection) -> int | None:
        found = connection.execute(_COUNT, row).fetchone()
        return None if found is None else int(found[0])

    return write(add)


_COUNT = """INSERT INTO progress VALUES (?, ?, ?, '1', ?) ON CONFLICT DO UPDATE SET
            state = CAST(CAST(state AS INTEGER) + 1 AS TEXT), utc = excluded.utc
            WHERE ? IS NULL OR CAST(state AS INTEGER) < ? RETURNING state"""


def load(owner: str, sheet: str) -> dict[str, str]:
    """Return task -> state of the owner in the sheet."""
    found = read("SELECT task, state FROM progress WHERE sheet = ? AND owner = ?", sheet, owner)
    return {str(task): str(state) for task, state in found}


def of_owner(owner: str) -> dict[str, dict[str, str]]:
    """Return sheet -> task -> state of the owner."""
    found: dict[str, dict[str, str]] = {}
    for sheet, task, state in read("SELECT sheet, task, state FROM progress WHERE owner = ?", owner):
        found.setdefault(str(sheet), {})[str(task)] = str(state)
    return found


def of_everybody(sheet: str) -> dict[str, dict[str, str]]:
    """Return owner -> task -> state, for the lab's teacher."""
    found: dict[str, dict[str, str]] = {}
    for owner, task, state in read("SELECT owner, task, state FROM progress WHERE sheet = ? ORDER BY owner", sheet):
        found.setdefault(str(owner), {})[str(task)] = str(state)
    return found


def remember_name(browser: str, name: str) -> None:
    """Remember the name that was typed in a browser; "" forgets it."""
    if name:
        row = (browser, name, now())
        write(lambda connection: connection.execute("REPLACE INTO names VALUES (?, ?, ?)", row))
    else:
        write(lambda connection: connection.execute("DELETE FROM names WHERE browser = ?", (browser,)))


def name_of(browser: str) -> str:
    """Return the last name that was typed in a browser, or ""."""
    found = read("SELECT name FROM names WHERE browser = ?", browser)
    return str(found[0][0]) if found else ""


def save_return(owner: str, sheet: str, record: str) -> None:
    """Save where a learning platform wants the owner's points of a sheet."""
    row = (owner, sheet, record, now())
    write(lambda connection: connection.execute("REPLACE INTO returns VALUES (?, ?, ?, ?)", row))


def return_of(owner: str, sheet: str) -> str | None:
    """Return what `save_return` saved, or None."""
    found = read("SELECT record FROM returns WHERE owner = ? AND sheet = ?", owner, sheet)
    return str(found[0][0]) if found else None
