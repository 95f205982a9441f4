"""The sheets page: a lab sheet, the student's file in the editor, and all checks at one press."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st

from engine.records import Choice
from engine.sheets.folder import names
from engine.sheets.sheet import Check, Sheet
from views.editor import component
from views.lab import drafts, versions
from views.lab.drafts import Draft
from views.lab.versions import Version
from views.shared import address, keyboard, messages
from views.sheets import menu, panel

HTML = Path(__file__).parents[1] / "html"


def main() -> None:
    """Read the choice, show the file and the panel, and start the checks of a press."""
    for style in ("inside.css", "lab.css", "sheet.css"):
        st.html(HTML / style)
    if not names():
        menu.warn_left_out()
        messages.error("This server has no lab sheet.")
        return
    sheet = chosen()
    draft = opened(sheet)
    earlier = versions.of(draft)
    keyboard.on_key({"run": panel.ask, **versions.presses(draft, earlier)})
    address.publish("sheets", {"sheet": sheet.name, menu.STUDENT: st.session_state.get(menu.STUDENT)})
    number = st.session_state.pop(panel.ASKED, None)
    if number is not None and (not number or number != panel.last_press(sheet)):  # the editor may send a press twice
        panel.start(sheet, draft.text, draft.file, number)
    show(sheet, draft, earlier)
    if menu.is_old():
        st.rerun()


def show(sheet: Sheet, draft: Draft, earlier: Sequence[Version]) -> None:
    """Show the panel, beside the editor if the sheet asks for a file."""
    if sheet.function is None:
        panel.show(sheet, "", "")
        return
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        ask_which(sheet, draft)
        kept = component.EditorDraft(
            draft.id, draft.text, draft.at, draft.reset, draft.file, len(draft.attempts),
            compiled=drafts.compiling(draft.id, first_run(sheet)),
        )  # fmt: skip
        component.show(kept, panel.last_press(sheet), drafts.take_draft, take_press)
        drafts.warn_unkept()
        with st.container(horizontal=True, key="texts"):
            st.button("Start over", key="start_over", icon=":material/restart_alt:", on_click=start_over, args=(sheet,),
                      help="The file as the sheet hands it out; Undo brings yours back")  # fmt: skip
            with st.popover("Earlier texts", icon=":material/history:", key="earlier"):
                st.html(versions.listed(draft, earlier))
    with right:
        panel.show(sheet, draft.id, draft.text)


def first_run(sheet: Sheet) -> Choice | None:
    """Return the first run of the sheet's kernel; None if the sheet has a launch of its own."""
    if sheet.kernel is None:
        return None
    checks = (check for check in sheet.checks if isinstance(check, Check))
    return next((choice for check in checks for choice in check.runs.of(sheet.kernel, None, None, "emulator")), None)


def chosen() -> Sheet:
    """Show the menu of sheets and the student's name; return the sheet."""
    left, right = st.columns([4, 1.3], vertical_alignment="bottom")
    with right:
        menu.name_field()
    with left:
        menu.warn_left_out()
        return menu.chosen()


def opened(sheet: Sheet) -> Draft:
    """Return the file in the editor: the student's own, or a link's text, which opens beside it."""
    mine = own(sheet)
    shared = st.session_state.pop("source", None)
    if shared:
        with drafts.shown_refusals():
            begin_beside(mine, drafts.unpack(shared))
    return drafts.draft_of(_beside().get(mine.id, mine.id)) or mine


def own(sheet: Sheet) -> Draft:
    """Return the student's own file: the browser's, or the sheet's at first."""
    key = re.sub("_+", "_", f"sheet-{sheet.name}")[:40].strip("_")
    known = drafts.draft_of(key)
    if known is None:
        known = drafts.stored_draft(Draft(key, "sheet", sheet.start, f"{sheet.name}.cu"))
        drafts.keep(known)
    return known


def begin_beside(mine: Draft, text: str) -> None:
    """Open a link's text as a draft of its own, unless it is the student's; the same link leads to the same draft."""
    if text == mine.text:
        go_back(mine.id)
        return
    id = f"{mine.id[:31].strip('_')}-{sha256(text.encode()).hexdigest()[:8]}"
    if drafts.draft_of(id) is None:
        drafts.keep(drafts.stored_draft(Draft(id, "sheet", text, mine.file)))
    _beside()[mine.id] = id


def ask_which(sheet: Sheet, draft: Draft) -> None:
    """Say that the editor has a link's text, and ask whether it shall replace the student's own."""
    mine = own(sheet)
    if draft.id == mine.id:
        return
    messages.info("This is the text of a link. Your own file is unchanged.")
    with st.container(horizontal=True, key="beside"):
        st.button("Back to my file", key="back_to_mine", icon=":material/undo:", on_click=go_back, args=(mine.id,))
        st.button("Replace my file by this text", key="replace_mine", icon=":material/content_copy:",
                  on_click=replace_own, args=(sheet, draft.id))  # fmt: skip


def go_back(mine: str) -> None:
    """Show the student's own file again. For callbacks."""
    _beside().pop(mine, None)


def replace_own(sheet: Sheet, other: str) -> None:
    """Replace the student's own file by another draft's text. For callbacks."""
    mine, taken = own(sheet), drafts.draft_of(other)
    if taken is not None:
        drafts.save(drafts.replaced(mine, taken.text), keep=True)
    go_back(mine.id)


def _beside() -> dict[str, str]:
    """Return the id of a student's own file -> the id of the link's text that is shown in its place."""
    return st.session_state.setdefault("drafts beside", {})


def start_over(sheet: Sheet) -> None:
    """Replace the student's own file by the sheet's. For callbacks."""
    mine = own(sheet)
    drafts.save(drafts.replaced(mine, sheet.start), keep=True)
    go_back(mine.id)


def take_press(message: Mapping[str, Any]) -> None:
    """Handle a press of Check, here or in the editor. For callbacks."""
    if drafts.take_draft(message) and message.get("action") in ("check", "run"):
        st.session_state[panel.ASKED] = int(message.get("number") or 0)


main()
