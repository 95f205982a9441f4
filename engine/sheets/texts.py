"""The kernels of a sheet as texts: a file beside it, a rung of the catalogue, or either with some words replaced.

A rung's header tells what it does better than the one before, which is the answer: a student does not get it.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.catalogue import Kernel, kernel_named
from engine.sheets.table import Table


def text_of(table: Table, folder: Path, kernel: Kernel | None, own: str, base: str | None = None) -> str:
    """The text that a table describes: `file`, or `rung`, else `base`, else the file `own`; then `replace`: pairs of a
    text that stands there once and what comes in its place. `kernel`: the one whose place it takes, None where it is
    any kernel. NotRunnable, where that cannot be."""
    text = _base(table, folder, kernel, own, base)
    pairs = table.one_of("replace", (list,), "a list of pairs, [[old, new], ...]", [])
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)):
            raise table.refusal("`replace` is a list of pairs, [[old, new], ...]")
        if text.count(pair[0]) != 1:
            raise table.refusal(f"{pair[0]!r} stands there {text.count(pair[0])} times, not once")
        text = text.replace(*pair)
    return text


def _base(table: Table, folder: Path, kernel: Kernel | None, own: str, base: str | None) -> str:
    if kernel is not None and "rung" in table:
        return of_rung(kernel_named(table.text("rung")), kernel)
    if "file" not in table and base is not None:
        return base
    if kernel is not None and "file" not in table and own == "solution.cu" and not (folder / own).is_file():
        return of_rung(kernel, kernel)
    path = folder / table.text("file", own)
    if path.parent not in (folder, folder / "wrong") or not path.is_file():
        raise table.refusal(f"there is no file {path.name}")
    return path.read_text(encoding="utf-8")


def of_rung(rung: Kernel, goal: Kernel) -> str:
    """A kernel of the catalogue without its header, under the name of the kernel that is asked for."""
    body = re.sub(r"\A(?://[^\n]*\n)+", "", rung.text)
    return re.sub(rf"\b{rung.name}\b", goal.name, body)
