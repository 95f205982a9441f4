"""A course's rules for its sheets: `course.toml` in a folder of sheets.

[heidelberg-2]
deadline = 2026-12-04T18:00:00+01:00
late = 0.5          # of the points of a check that is passed later; 0 without this line
attempts = 10
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from engine.sheets.sheet import Rules
from engine.sheets.table import Table, table_in

FILE = "course.toml"


def rules_in(folder: Path) -> Mapping[str, Rules]:
    """Return the rules of a folder's file by the sheet's name; none without a file. NotRunnable: it has a fault."""
    path = folder / FILE
    if not path.is_file():
        return {}
    table = table_in(path, str(path))
    return {name: _rules(table.table(name)) for name in table.names}


def _rules(table: Table) -> Rules:
    deadline = table.one_of("deadline", (datetime,), "a day and a time: 2026-12-04T18:00:00+01:00", None)
    late, attempts = table.number("late", 0.0), table.one_of("attempts", (int,), "a whole number", None)
    if not 0 <= late <= 1:
        raise table.refusal("`late` is a share of the points, from 0 to 1")
    if attempts is not None and attempts < 1:
        raise table.refusal("`attempts` is at least 1")
    table.end()
    # A time without an offset is that of the server's own clock.
    return Rules(deadline.astimezone() if deadline and deadline.tzinfo is None else deadline, late, attempts)
