"""Where programs look for what is the user's."""

from __future__ import annotations

from pathlib import Path

PLACES = {"HOME": "", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"}


def places(home: Path) -> dict[str, str]:
    """The environment of somebody who lives at `home`."""
    return {name: str(home / below) for name, below in PLACES.items()}
