"""The folders that come with the program: beside its packages in a checkout, inside them where a wheel is installed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]  # of the packages
INSTALLED = Path(__file__).parents[1] / "shipped"  # a wheel has the folders here, as setup.py says


def shipped(name: str) -> Path:
    """Return the folder `name` of the program: cuda, notes, questions, recorded or sheets."""
    return INSTALLED / name if INSTALLED.is_dir() else ROOT / name
