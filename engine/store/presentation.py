"""Where a lecture stands, under a name: what followers see, and where its presenter goes on after a restart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.store.database import now, read, write


def save(name: str, state: Mapping[str, Any]) -> None:
    """Keep the lecture's state, values that JSON has, in place of the one before."""
    row = (name, json.dumps(state), now())
    write(lambda connection: connection.execute("REPLACE INTO lectures VALUES (?, ?, ?)", row))


def load(name: str) -> dict[str, Any] | None:
    """The lecture's last state, or None."""
    found = read("SELECT state FROM lectures WHERE name = ?", name)
    return dict(json.loads(found[0][0])) if found else None
