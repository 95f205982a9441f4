"""The state of a live presentation by name: followers read it, and its presenter resumes from it after a restart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.store.database import now, read, write


def save(name: str, state: Mapping[str, Any]) -> None:
    """Save the presentation's state (JSON values)."""
    row = (name, json.dumps(state), now())
    write(lambda connection: connection.execute("REPLACE INTO lectures VALUES (?, ?, ?)", row))


def load(name: str) -> dict[str, Any] | None:
    """Return the presentation's last state, or None."""
    found = read("SELECT state FROM lectures WHERE name = ?", name)
    return dict(json.loads(found[0][0])) if found else None


MOST_STEPS = 20_000  # of all lectures; the oldest beyond it are dropped


def add_step(lecture: str, address: str) -> None:
    """Add a place to a lecture's course."""
    row = (lecture, address, now())
    write(lambda connection: (
        connection.execute("INSERT INTO steps (lecture, address, utc) VALUES (?, ?, ?)", row),
        connection.execute("DELETE FROM steps WHERE id <= (SELECT MAX(id) FROM steps) - ?", (MOST_STEPS,)),
    ))  # fmt: skip


def steps(lecture: str) -> list[tuple[str, str]]:
    """Return the places of a lecture in their order: when, and which address."""
    return [(utc, address) for utc, address in
            read("SELECT utc, address FROM steps WHERE lecture = ? ORDER BY id", lecture)]  # fmt: skip
