"""The records on the page of this machine: what each is, adding a file of another GPU, removing one."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.history import records
from engine.history.records import MOST_BYTES, Record, Refused, Summary
from engine.records.words import many
from views.access import visitor
from views.html.table import cell, heading, table, whole_dates
from views.shared import messages
from views.shared.messages import label

SHOWN = 4  # kernels named in a line
_ROUND, _SAID = "files dropped", "file dropped"


def show() -> None:
    """Show the records and, to roles with the right, the place for a file."""
    st.subheader("Recorded runs")
    known = records.records()
    st.html(table([heading(word, "text") for word in ("GPU", "Driver", "Recorded", "Rows", "Older than today's texts")],
                  [_row(record) for record in known.values()]))  # fmt: skip
    if not visitor.rights().prepares:
        return
    st.write("`python -m engine record --quick` on another computer makes a file for its GPU. Each page then offers "
             "that GPU in its menu *Recorded on*.")  # fmt: skip
    number = st.session_state.setdefault(_ROUND, 0)
    dropped = st.file_uploader("A file of recorded runs", key=f"dropped {number}", max_upload_size=MOST_BYTES >> 20)
    if dropped is not None:
        _take(dropped.getvalue())
        st.session_state[_ROUND] = number + 1  # an empty place for the next file
        st.rerun()
    if said := st.session_state.pop(_SAID, ""):
        messages.error(said)
    with st.container(horizontal=True, key="removals"):
        for record in known.values():
            if record.added:
                st.button(f"Remove {label(record.title)}", key=f"remove {record.name}", icon=":material/delete:",
                          on_click=_remove, args=(record.name,))  # fmt: skip


def _take(data: bytes) -> None:
    """Add a dropped file, or keep the sentence that refuses it for the next run of the script."""
    try:
        added = records.add(data)
    except Refused as refused:
        st.session_state[_SAID] = str(refused)
        return
    st.toast(label(f"Added: {added.title}, {many(len(added.recording.rows), 'row')}."), icon=":material/check:")


def _remove(name: str) -> None:
    if visitor.rights().prepares:
        records.remove(name)


def _row(record: Record) -> list[str]:
    said = records.summary(record)
    days = " to ".join(dict.fromkeys((said.days[0], said.days[-1]))) if said.days else "–"
    facts = (", ".join(said.drivers) or "–", days, f"{said.rows:,}", _older(said))
    title = f"<b>{escape(record.title)}</b>"
    return [cell(title, "text"), *(cell(whole_dates(escape(fact)), "text") for fact in facts)]


def _older(said: Summary) -> str:
    """Return which rows belong to texts that have changed since."""
    parts = []
    for kernels, words in ((said.earlier, "of an earlier text of"), (said.unknown, "of kernels not here:")):
        if kernels:
            names = sorted(kernels)
            rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            parts.append(f"{many(sum(kernels.values()), 'row')} {words} {', '.join(names[:SHOWN])}{rest}")
    if said.retimed:
        parts.append(f"{many(said.retimed, 'row')} timed by earlier functions")
    return "; ".join(parts) or "none"
