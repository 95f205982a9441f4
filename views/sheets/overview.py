"""Who is where in a sheet, for who gives the lab: names are in it."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.sheets import progress
from engine.sheets.folder import load, names, titles
from engine.sheets.progress import Progress
from engine.sheets.sheet import Sheet

_MARKS = {True: ("✓", "ok"), False: ("✗", "bad"), None: ("–", "")}
ALL = "all sheets"


def show() -> None:
    """The menu and the table."""
    st.subheader("Lab sheets: who is where")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Sheet", [ALL, *names()], key="sheet to look at", width=420, format_func=_title)
        st.button("Look again", key="look at sheets", icon=":material/refresh:")
    st.html(_all() if chosen == ALL else _one(load(str(chosen))))


def _title(name: str) -> str:
    return titles().get(name, name)


def _all() -> str:
    """Everybody and every sheet that somebody has begun: how many checks are passed."""
    sheets = [load(name) for name in names()]
    begun = {sheet: everybody for sheet in sheets if (everybody := progress.of_everybody(sheet))}
    owners = sorted({owner for everybody in begun.values() for owner in everybody}, key=str.lower)
    rows = [
        (owner, "".join(_share(sheet, everybody.get(owner)) for sheet, everybody in begun.items())) for owner in owners
    ]
    return _table([sheet.name for sheet in begun], rows)


def _share(sheet: Sheet, known: Progress | None) -> str:
    if known is None:
        return "<td></td>"
    done = known.passed == len(sheet.checks)
    return f'<td class="{"ok" if done else ""}">{known.passed} of {len(sheet.checks)}</td>'


def _one(sheet: Sheet) -> str:
    """Everybody and every check of one sheet."""
    heads = [*(check.name for check in sheet.checks), "hints", "solution"]
    everybody = sorted(progress.of_everybody(sheet).items(), key=lambda row: row[0].lower())
    return _table(heads, [(owner, _checks(sheet, known)) for owner, known in everybody])


def _checks(sheet: Sheet, known: Progress) -> str:
    cells = []
    for check in sheet.checks:
        sign, mood = _MARKS[known.checks[check.name]] if check.name in known.checks else ("", "")
        cells.append(f'<td class="status {mood}" title="{escape(check.aim)}">{sign}</td>')
    opened = f"{known.hints} of {len(sheet.hints)}" if known.hints else ""
    return "".join([*cells, f"<td>{opened}</td><td>{'shown' if known.solution else ''}</td>"])


def _table(heads: list[str], rows: list[tuple[str, str]]) -> str:
    if not rows:
        return '<p class="smallprint">Nobody has begun yet.</p>'
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f'<tr><td class="text">{escape(owner)}</td>{cells}</tr>' for owner, cells in rows)
    return (f'<div class="scroll"><table class="ladder"><thead><tr><th class="text">Student</th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")  # fmt: skip
