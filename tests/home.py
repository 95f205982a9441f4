"""The variables by which programs find a user's files."""

from __future__ import annotations

from pathlib import Path

PLACES = {"HOME": "", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"}


def places(home: Path) -> dict[str, str]:
    """Return the environment of a user whose home is `home`."""
    return {name: str(home / below) for name, below in PLACES.items()}
