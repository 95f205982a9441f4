"""The drafts of one browser: the text of each as the server was last told it, and what each started from.

A draft is known by a number in the address. The browser owns its text, which it keeps; the server has a copy, in the
session and, for when both are gone, in its store.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from engine.catalogue import KERNELS, Ladder
from engine.compile.limits import SOURCE_BYTES
from engine.lab.setups import setup_of
from engine.lab.templates import TEMPLATES
from engine.records import NotRunnable
from views.draft import stored
from views.draft.draft import Draft
from views.draft.tries import Try, tries_of
from views.session import rungs, state

RUNG, DEFAULT = "rung", "saxpy"
_DRAFTS, _OF_STARTS = "drafts", "drafts of starts"
_UNKEPT = "draft unkept"


def start() -> str:
    """What the page starts from: the menu or the address say it; an address that names a rung means that."""
    chosen = st.session_state.get("start")
    if chosen not in (RUNG, *TEMPLATES):
        if chosen:
            st.error(f"There is nothing to start from that is called {chosen!r}. Shown instead: {DEFAULT}.")
        st.session_state["start"] = chosen = RUNG if state.given("ladder") else DEFAULT
    return str(chosen)


def opened(ladder: Ladder | None, position: int) -> Draft:
    """The draft of the page: the address's, or the last one with this start, or a new one. What the address holds and
    nobody can read is said, and the draft is as it started."""
    name = DEFAULT if ladder is None and start() == RUNG else start()
    key = f"{ladder.name} {rungs.names(ladder)[position]}" if ladder else name
    known: dict[str, str] = st.session_state.setdefault(_OF_STARTS, {})
    shared = st.session_state.pop("source", None)
    if shared:
        known[key] = _new_id()
    elif key not in known or state.given("draft"):
        known[key] = _valid(st.session_state.get("draft")) if state.given("draft") else _new_id()
    st.session_state["draft"] = known[key]
    drafts = _drafts()
    if known[key] not in drafts:
        drafts[known[key]] = _begun(known[key], name, ladder, position)
    if shared:
        with said():
            save(replace(drafts[known[key]], text=unpacked(shared)))
    return drafts[known[key]]


def begin_anew(draft: Draft) -> None:
    """Another draft with the same start. For callbacks."""
    known: dict[str, str] = st.session_state.setdefault(_OF_STARTS, {})
    for key, own in known.items():
        if own == draft.id:
            known[key] = _new_id()


def keep(draft: Draft) -> None:
    """Remember the draft as it is now, while the browser is here."""
    _drafts()[draft.id] = draft


def save(draft: Draft) -> None:
    """Remember it beyond that: its text is another one."""
    keep(draft)
    st.session_state[_UNKEPT] = stored.save(draft)


def say_unkept() -> None:
    """Why the server has not kept what was written last, if it has not."""
    if told := st.session_state.get(_UNKEPT):
        st.warning(told, icon=":material/save:")


def with_try(draft: Draft, tries: tuple[Try, ...]) -> Draft:
    """The draft with these tries."""
    return replace(draft, tries=tries)


def of(id: str) -> Draft | None:
    """The draft of that number, if this session knows it."""
    return _drafts().get(id)


def take(told: Mapping[str, Any]) -> None:
    """Take over what the browser tells of a draft. For callbacks."""
    draft = of(str(told.get("draft")))
    text = told.get("text")
    if draft is None or not isinstance(text, str) or len(text) > SOURCE_BYTES:
        return
    file = re.sub(r"[^\w.-]", "_", str(told.get("file") or draft.file))[:80]
    now = replace(draft, text=text, file=file, at=int(told.get("at") or 0),
                  tries=draft.tries or tries_of(told.get("tries")))  # fmt: skip
    (keep if (now.text, now.file) == (draft.text, draft.file) else save)(now)


def _drafts() -> dict[str, Draft]:
    return st.session_state.setdefault(_DRAFTS, {})


def _begun(id: str, name: str, ladder: Ladder | None, position: int) -> Draft:
    if ladder is not None:
        kernel = KERNELS[ladder.rungs[position].kernel]
        return stored.load(Draft(id, RUNG, kernel.text, Path(kernel.file_name).name))
    template = TEMPLATES[name]
    draft = stored.load(Draft(id, name, template.text, template.file_name, setup=template.setup))
    with said():
        if state.given("call"):
            setup = setup_of(str(st.session_state.get("call")), str(st.session_state.get("right") or ""))
            return replace(draft, setup=setup)
    return draft


@contextmanager
def said() -> Iterator[None]:
    """What cannot be is a sentence on the page."""
    try:
        yield
    except NotRunnable as refused:
        st.error(str(refused), icon=":material/block:")


def unpacked(source: str) -> str:
    """The source that a link holds. NotRunnable: it holds none."""
    unpacking = zlib.decompressobj(-15)
    try:
        packed = base64.urlsafe_b64decode(source + "=" * (-len(source) % 4))
        text = unpacking.decompress(packed, SOURCE_BYTES).decode()
    except (binascii.Error, zlib.error, ValueError):
        text = ""
    if not text:
        raise NotRunnable("The source in this link cannot be read: ask for it as a file.")
    if unpacking.unconsumed_tail:
        raise NotRunnable("The source in this link is too long.")
    return text


def _new_id() -> str:
    return secrets.token_hex(6)


def _valid(id: object) -> str:
    """An address's own number of a draft, if it is one."""
    return str(id) if re.fullmatch(r"[\w-]{1,40}", str(id)) else _new_id()
