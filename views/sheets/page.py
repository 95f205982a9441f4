"""The sheets page: a lab sheet, the student's file in the editor, and all checks at one press."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from engine.sheets.sheet import Sheet
from views.editor import component
from views.lab import drafts
from views.lab.drafts import Draft
from views.shared import address, keyboard
from views.sheets import menu, panel

HTML = Path(__file__).parents[1] / "html"


def main() -> None:
    """Read the choice, show the file and the panel, and start the checks of a press."""
    for style in ("inside.css", "lab.css", "sheet.css"):
        st.html(HTML / style)
    sheet = chosen()
    draft = opened(sheet)
    keyboard.on_key({"run": lambda: take_press({"draft": draft.id, "action": "check"})})
    address.publish("sheets", {"sheet": sheet.name, menu.STUDENT: st.session_state.get(menu.STUDENT)})
    number = st.session_state.pop(panel.ASKED, None)
    if number is not None and (not number or number != panel.last_press(sheet)):  # the editor may send a press twice
        panel.start(sheet, draft.text, draft.file, number)
    show(sheet, draft)
    if menu.is_old():
        st.rerun()


def show(sheet: Sheet, draft: Draft) -> None:
    """Show the panel, beside the editor if the sheet asks for a file."""
    if sheet.function is None:
        panel.show(sheet, "", "")
        return
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        kept = component.EditorDraft(draft.id, draft.text, draft.at, draft.file, len(draft.attempts))
        component.show(kept, panel.last_press(sheet), drafts.take_draft, take_press)
        drafts.warn_unkept()
        st.button("Start over", key="start_over", icon=":material/restart_alt:", on_click=start_over, args=(sheet,),
                  help="The file as the sheet hands it out")  # fmt: skip
    with right:
        panel.show(sheet, draft.id, draft.text)


def chosen() -> Sheet:
    """Show the menu of sheets and the student's name; return the sheet."""
    left, right = st.columns([4, 1.3], vertical_alignment="bottom")
    with right:
        menu.name_field()
    with left:
        return menu.chosen()


def opened(sheet: Sheet) -> Draft:
    """Return the student's file: the browser's, or a link's, or the sheet's own at first."""
    key = f"sheet-{sheet.name}"[:40]
    known = drafts.draft_of(key)
    if known is None:
        known = drafts.stored_draft(Draft(key, "sheet", sheet.start, f"{sheet.name}.cu"))
        drafts.keep(known)
    shared = st.session_state.pop("source", None)
    if shared:
        with drafts.shown_refusals():
            known = replace(known, text=drafts.unpack(shared), at=component.now())
            drafts.save(known)
    return known


def start_over(sheet: Sheet) -> None:
    """Replace the browser's file by the sheet's own. For callbacks."""
    drafts.save(replace(opened(sheet), text=sheet.start, at=component.now()))


def take_press(message: Mapping[str, Any]) -> None:
    """Handle a press of Check, here or in the editor. For callbacks."""
    drafts.take_draft(message)
    if message.get("action") in ("check", "run"):
        st.session_state[panel.ASKED] = int(message.get("number") or 0)


main()
