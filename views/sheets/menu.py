"""The menu of the sheets, the name of the student who works on them, and the progress of every student."""

from __future__ import annotations

from hashlib import sha256
from html import escape

import streamlit as st

from engine.sheets import progress
from engine.sheets.folder import faults, load, names, titles
from engine.sheets.progress import LONGEST, Progress
from engine.sheets.sheet import Sheet
from engine.store import progress as store
from views.access import visitor
from views.html.table import cell, code_in, heading, table
from views.shared import presence
from views.shared.messages import shown_instead

STUDENT = "student"
_MARK = 4  # letters of a browser's name beside the student's


def name_field() -> None:
    """Show the field for a student's name."""
    if st.session_state.get(STUDENT) is None:
        browser = visitor.owner()
        st.session_state[STUDENT] = store.name_of(browser) if browser else ""
    if visitor.account():
        st.html(f'<p class="smallprint">Your progress is kept as {escape(owner())}.</p>')
        return
    # A run that is cut short may never reach the browser, so every run sends the name, not only the first.
    st.text_input("Your name", st.session_state[STUDENT], key=STUDENT, max_chars=LONGEST, on_change=_remember,
                  placeholder="as your lecturer knows you",
                  help="Your progress is stored under this name, and your lecturer sees it.")  # fmt: skip


def _remember() -> None:
    """Remember the typed name for this browser's next visit. For callbacks."""
    if browser := visitor.owner():
        store.remember_name(browser, str(st.session_state.get(STUDENT) or "").strip()[:LONGEST])


def owner() -> str:
    """Return the name that progress is stored under. A typed name proves nothing: if students share a key, each browser
    has progress of its own, so nobody reads another student's answers by typing a name."""
    account = visitor.account()
    if account:
        short = f"{account[: LONGEST - 9]} {sha256(account.encode()).hexdigest()[:8]}"
        return account if len(account) <= LONGEST else short
    name, browser = progress.plain_name(str(st.session_state.get(STUDENT) or "")), visitor.browser()
    if not name:
        return f"browser {(browser or presence.session())[:6]}"
    return name if browser is None or visitor.rights().sees_students else f"{name} ({browser[:_MARK]})"


_BETWEEN = " · "  # between a title and its progress
_DONE = f"{_BETWEEN}done ✓"
_SHOWN = "labels of sheets"


def chosen() -> Sheet:
    """Show the menu and return the chosen sheet; the address's sheet, if there is one of that name."""
    listed = names()
    labels = st.session_state[_SHOWN] = _labels()
    now = str(st.session_state.get("sheet") or "")
    # A browser identifies an option by its label, which may have changed since.
    now = next((name for name, title in titles().items() if now.split(_BETWEEN)[0] == title), now)
    said = f"There is no sheet {now!r}. Shown instead: {listed[0]}." if now and now not in listed else ""
    if now not in listed:
        now = listed[0]
    shown_instead("sheet", now, said)
    st.session_state["sheet"] = now  # so the browser gets the new label
    done = sum(label.endswith(_DONE) for label in labels.values())
    st.selectbox(f"Lab sheet ({done} of {len(listed)} done)" if done else "Lab sheet", listed, listed.index(now),
                 key="sheet", format_func=lambda name: labels.get(name, name))  # fmt: skip
    return load(now)


def warn_left_out() -> None:
    """Tell presenter and assistants which sheets cannot be read, and why."""
    if visitor.rights().sees_students:
        for why in faults().values():
            st.html(f'<p class="smallprint">A sheet is left out: {code_in(why)}</p>')


def is_old() -> bool:
    """Return whether the menu shows older progress than is known, as a check has ended."""
    return bool(st.session_state.get(_SHOWN) != _labels())


def _labels() -> dict[str, str]:
    """Return the labels: a title, with the number of passed checks once a sheet was begun."""
    begun = progress.of_all(owner(), load, names())
    far = {
        sheet.name: _DONE if known.done(sheet) else f"{_BETWEEN}{known.passed} of {len(sheet.checks)}"
        for sheet, known in begun.items()
    }
    return {name: title + far.get(name, "") for name, title in titles().items()}


_MARKS = {True: ("✓", "ok"), False: ("✗", "bad"), None: ("–", "")}
ALL = "all sheets"
REFRESH_S = 10.0  # between two looks at the students' progress


def show_progress() -> None:
    """Show the menu and the table, which follows the students by itself."""
    st.subheader("Lab sheets: progress of the students")
    warn_left_out()
    chosen = st.selectbox("Sheet", [ALL, *names()], key="sheet to look at", width=420,
                          format_func=lambda name: titles().get(name, name))  # fmt: skip
    st.fragment(_progress, run_every=REFRESH_S)(str(chosen))


def _progress(chosen: str) -> None:
    """Show the table of one sheet, or of all, as it is now."""
    st.html(_one(load(chosen)) if chosen in names() else _all())  # a sheet may have gone since


def _all() -> str:
    """Return a table of students and sheets: how many checks are passed."""
    sheets = [load(name) for name in names()]
    begun = {sheet: everybody for sheet in sheets if (everybody := progress.of_everybody(sheet))}
    owners = sorted({owner for everybody in begun.values() for owner in everybody}, key=str.lower)
    rows = [(owner, [_share(sheet, everybody.get(owner)) for sheet, everybody in begun.items()]) for owner in owners]
    where = [escape(progress.stuck_text(sheet, everybody.values())) for sheet, everybody in begun.items()]
    return _table([sheet.name for sheet in begun], [*rows, (_STUCK, where)] if any(where) else rows)


_STUCK = "stuck at"


def _share(sheet: Sheet, known: Progress | None) -> str:
    if known is None:
        return ""
    done = known.passed == len(sheet.checks)
    return cell(f"{known.passed} of {len(sheet.checks)}", "ok" if done else "")


def _one(sheet: Sheet) -> str:
    """Return a table of students and the checks of one sheet."""
    heads = [*(check.name for check in sheet.checks), "points", "hints", "solution", "attempts", "last", _STUCK]
    everybody = sorted(progress.of_everybody(sheet).items(), key=lambda row: row[0].lower())
    where = progress.stuck_text(sheet, (known for _, known in everybody))
    said = f"<p>Students are stuck at: {escape(where)}.</p>" if where else ""
    return said + _table(heads, [(owner, _checks(sheet, known)) for owner, known in everybody])


def _checks(sheet: Sheet, known: Progress) -> list[str]:
    cells: list[str] = []
    for check in sheet.checks:
        sign, mood = _MARKS[known.checks[check.name]] if check.name in known.checks else ("", "")
        when = _utc(known.times.get(check.name, ""))
        late = "after the deadline" if known.is_late(sheet, check.name) else ""
        sign += " late" if late else ""
        title = f"{check.aim} {when and f'({when} UTC)'} {late}"
        cells.append(cell(sign, f"status {mood}", title=title.strip()))
    opened = f"{known.hints} of {len(sheet.hints)}" if known.hints else ""
    solution, at = "shown" if known.solution else "", escape(known.stuck_at(sheet) or "")
    return [*cells, f"{known.points(sheet):g}", opened, solution, str(known.attempts or ""), _utc(known.tried), at]


def _utc(when: str) -> str:
    """Return a time in UTC up to its minutes."""
    return when.replace("T", " ")[:16]


def _table(heads: list[str], rows: list[tuple[str, list[str]]]) -> str:
    if not rows:
        return '<p class="smallprint">Nobody has begun yet.</p>'
    return table(
        [heading("Student", "text"), *map(escape, heads)],
        [[cell(escape(owner), "text"), *cells] for owner, cells in rows],
    )
