"""The progress of every student in the sheets, by name, for the assistant."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.sheets import progress
from engine.sheets.folder import load, names, titles
from engine.sheets.progress import Progress
from engine.sheets.sheet import Sheet
from views.html.table import cell, heading, table
from views.sheets import menu

_MARKS = {True: ("✓", "ok"), False: ("✗", "bad"), None: ("–", "")}
ALL = "all sheets"


def show() -> None:
    """Show the menu and the table."""
    st.subheader("Lab sheets: progress of the students")
    menu.warn_left_out()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Sheet",
            [ALL, *names()],
            key="sheet to look at",
            width=420,
            format_func=lambda name: titles().get(name, name),
        )
        st.button("Look again", key="look at sheets", icon=":material/refresh:")
    st.html(_all() if chosen == ALL else _one(load(str(chosen))))


def _all() -> str:
    """Return a table of students and sheets: how many checks are passed."""
    sheets = [load(name) for name in names()]
    begun = {sheet: everybody for sheet in sheets if (everybody := progress.of_everybody(sheet))}
    owners = sorted({owner for everybody in begun.values() for owner in everybody}, key=str.lower)
    rows = [(owner, [_share(sheet, everybody.get(owner)) for sheet, everybody in begun.items()]) for owner in owners]
    return _table([sheet.name for sheet in begun], rows)


def _share(sheet: Sheet, known: Progress | None) -> str:
    if known is None:
        return ""
    done = known.passed == len(sheet.checks)
    return cell(f"{known.passed} of {len(sheet.checks)}", "ok" if done else "")


def _one(sheet: Sheet) -> str:
    """Return a table of students and the checks of one sheet."""
    heads = [*(check.name for check in sheet.checks), "hints", "solution"]
    everybody = sorted(progress.of_everybody(sheet).items(), key=lambda row: row[0].lower())
    return _table(heads, [(owner, _checks(sheet, known)) for owner, known in everybody])


def _checks(sheet: Sheet, known: Progress) -> list[str]:
    cells: list[str] = []
    for check in sheet.checks:
        sign, mood = _MARKS[known.checks[check.name]] if check.name in known.checks else ("", "")
        when = known.times.get(check.name, "").replace("T", " ")[:16]
        title = f"{check.aim} {when and f'({when} UTC)'}"
        cells.append(cell(sign, f"status {mood}", title=title.strip()))
    opened = f"{known.hints} of {len(sheet.hints)}" if known.hints else ""
    return [*cells, opened, "shown" if known.solution else ""]


def _table(heads: list[str], rows: list[tuple[str, list[str]]]) -> str:
    if not rows:
        return '<p class="smallprint">Nobody has begun yet.</p>'
    return table(
        [heading("Student", "text"), *map(escape, heads)],
        [[cell(escape(owner), "text"), *cells] for owner, cells in rows],
    )
