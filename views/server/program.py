"""The command `kernel-ladder` of an installed program: the dashboard, or one of the engine's commands.

kernel-ladder [--port PORT ...]          kernel-ladder doctor
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

DASHBOARD = Path(__file__).parents[2] / "dashboard.py"


def command(arguments: list[str]) -> list[str]:
    """Return the program that these arguments start: a word first names a command, an option is the dashboard's."""
    if arguments and not arguments[0].startswith("-"):
        return [sys.executable, "-m", "engine", *arguments]
    return [sys.executable, str(DASHBOARD), *arguments]


def main() -> None:
    """Become that program."""
    started = command(sys.argv[1:])
    os.execv(started[0], started)
