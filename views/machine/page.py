"""The page of this machine: checks of the installation with a fix each, recorded runs, the warm-up, students."""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path

import streamlit as st

from engine.catalogue import KERNELS, LADDERS, Ladder
from engine.service import service
from engine.service.warm_up import RungReadiness, readiness, run_of
from engine.store import database, votes
from engine.store import presentation as store
from views.access import visitor
from views.html.table import cell, code_in, heading, table
from views.machine import model, records
from views.report import report
from views.shared import keyboard, messages, presentation, work
from views.shared.messages import label
from views.shared.slots import Slot
from views.sheets import menu

WORK = "warm up work"
LADDER = "ladder to warm up"
_WORDS = {"ready": "✓ ready", "recorded": "≈ only a record", "failed": "✗ failed", "waiting": "not run yet"}
_MOODS = {"ready": "ok", "failed": "bad"}  # states with a colour


def show_warm_up() -> None:
    """Show the menu, the button and the table."""
    st.subheader("Warm up before a lecture")
    st.write(
        "Compiles and runs every rung once. A rung that cannot run here shows its recorded run, marked as recorded."
    )
    if (last := presentation.now()) is not None:
        link = f'<a href="./?{escape(last.address)}&amp;present=1" target="_self">resume it</a>'
        st.html(f'<p class="lecturekept">There is an earlier presentation: {link}.</p>')
    names = list(LADDERS)
    now = st.session_state.get(LADDER) or st.session_state.get("ladder")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox("Ladder", names, names.index(now) if now in names else 0, key=LADDER, width=420,
                     format_func=lambda name: LADDERS[name].title)  # fmt: skip
        st.button("Warm up", key="warm_up", type="primary", icon=":material/local_fire_department:",
                  on_click=start_warm_up, help="Every rung, one after the other (R)")  # fmt: skip
    place = Slot("warm")

    def draw() -> None:
        place.html(_table(readiness(_ladder())))

    work.follow(WORK, draw)
    draw()


def start_warm_up() -> None:
    """Run every rung of the chosen ladder, if the visitor's role allows it. For callbacks."""
    if not visitor.rights().prepares:
        return
    ladder = _ladder()
    work.start(WORK, [run_of(ladder, rung) for rung in ladder.rungs],
               [f"{rung.label} {KERNELS[rung.kernel].title}" for rung in ladder.rungs])  # fmt: skip


def _ladder() -> Ladder:
    return LADDERS[st.session_state[LADDER]]


def _table(found: tuple[RungReadiness, ...]) -> str:
    rows = [
        [
            cell(escape(ready.rung), "rung"),
            cell(_WORDS[ready.state], f"text status {_MOODS.get(ready.state, 'waiting')}"),
            cell(f"<b>{escape(KERNELS[ready.kernel].title)}</b>{code_in(ready.sentence)}", "text"),
        ]
        for ready in found
    ]
    count = {state: sum(ready.state == state for ready in found) for state in _WORDS}
    said = ", ".join(f"{number} {_WORDS[state].lstrip('✓≈✗ ')}" for state, number in count.items() if number)
    heads = [heading(title, "text") for title in ("Rung", "State", "What will be shown")]
    return f"<p>{len(found)} rungs: {said}.</p>{table(heads, rows)}"


FOLDER = Path(__file__).parents[2]


@st.cache_data(ttl=300, show_spinner="Looking at this machine")
def checks() -> list[dict[str, object]]:
    """Return the doctor's list, made in another process, because this one must never hold a GPU."""
    asked = subprocess.run([sys.executable, "-m", "engine", "doctor", "--json"], cwd=FOLDER, capture_output=True,
                           text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
    return list(json.loads(asked.stdout)) if asked.returncode in (0, 1) else []  # 1: something is missing


def main() -> None:
    """Show the devices that run kernels, the recorded runs and, to roles with the right, the doctor's list, the warm-up
    and the students."""
    may = visitor.rights()
    keyboard.on_key({"run": start_warm_up} if may.prepares else {})
    st.header("This machine")
    visitor.show_badge()
    found = service.gpus()
    without = (
        "There is no GPU that CUDA can use. Kernels run on the emulator, which checks and counts; "
        "times come from recorded runs, with the name of their GPU."
    )
    st.write(label(f"Kernels run on {service.device_summary()}." if found else without))
    hosts = service.hosts()
    if hosts is not None:
        st.write(label(f"The cluster, host by host: {hosts}."))
    kept = database.trouble() if may.sees_service else None
    for trouble in filter(None, (*service.troubles(), kept)):
        messages.warning(trouble)
    in_class = visitor.role_is_given()  # there the students come first
    if may.sees_students and in_class:
        show_class()
    if may.sees_service:
        doctor()
    records.show()
    if may.prepares:
        show_warm_up()
    if may.sees_students and not in_class:
        show_class()
    model.show()


def show_class() -> None:
    """Show the progress of the students, and offer the lectures' report and votes."""
    menu.show_progress()
    offer_lectures()


def offer_lectures() -> None:
    """Offer the last lecture as a report, and the votes of all lectures as files."""
    lecture, asked = str((store.load(presentation.NAME) or {}).get("lecture", "")), votes.all_asked()
    if not report.shown_in(lecture) and not asked:
        return
    st.header("Lectures")
    if report.shown_in(lecture):
        st.download_button("The last lecture as a report", lambda: report.lecture_report(lecture), "lecture.html",
                           "text/html", on_click="ignore", icon=":material/description:", key="report")  # fmt: skip
    if asked:
        files = {"csv": ("text/csv", votes.csv_of(asked)), "json": ("application/json", votes.json_of(asked))}
        for column, (kind, (mime, text)) in zip(st.columns(2), files.items(), strict=True):
            title = f"The votes on {len(asked)} questions as {kind.upper()}"
            column.download_button(title, text, f"votes.{kind}", mime, on_click="ignore", icon=":material/download:",
                                   key=f"votes {kind}")  # fmt: skip


def doctor() -> None:
    """Show the doctor's list, with a fix for each failed check."""
    rows = checks()
    if not rows:
        messages.error("The doctor did not answer. In a terminal: `python -m engine doctor`")
    cells = [
        [
            cell(_verdict(row), f"text status {'ok' if row['ok'] else 'waiting' if row['optional'] else ''}"),
            cell(f"<b>{escape(str(row['name']))}</b>", "text"),
            cell(escape(str(row["detail"])) + _fix(row), "text"),
        ]
        for row in rows
    ]
    st.html(table([cell(""), heading("What", "text"), heading("Found", "text")], cells))
    if st.button("Look again", icon=":material/refresh:"):
        checks.clear()
        st.rerun()


def _verdict(row: dict[str, object]) -> str:
    return "✓ works" if row["ok"] else "not here, not needed" if row["optional"] else "✗ missing"


def _fix(row: dict[str, object]) -> str:
    if row["ok"] or not row["fix"]:
        return ""
    said = escape(str(row["fix"]))
    return f"<br>{said}" if row["optional"] else f"<br><b>To fix it:</b> {said}"


main()
