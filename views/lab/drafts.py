"""Drafts of the lab: a draft, its copy in this browser's session, and its copy in the store."""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from engine.catalogue import KERNELS, Ladder
from engine.compile.limits import SOURCE_BYTES
from engine.lab.setups import Setup, setup_of
from engine.lab.templates import TEMPLATES
from engine.records import Choice, NotRunnable
from engine.records.json_text import read_json
from engine.records.words import without_halves
from engine.store import drafts as store
from views.access import policy, visitor
from views.lab.attempts import Attempt, attempts_of
from views.shared import address, messages, rungs
from views.shared.messages import shown_instead


@dataclass(frozen=True)
class Draft:
    """A draft. `start`: "rung", "sheet", or a template's name; `at`: how often the browser has stored its text, 0 for
    the unchanged start; `reset`: how often the server has replaced the text, which outdates the texts before; `setup`:
    the launch of a pasted kernel, None for a rung's draft; `place`: the ladder and the rung, as in the address."""

    id: str
    start: str
    text: str
    file: str
    at: int = 0
    reset: int = 0
    setup: Setup | None = None
    attempts: tuple[Attempt, ...] = ()
    place: str = ""


def compiling(draft: str, choice: Choice | None) -> dict[str, Any]:
    """Return what the editor sends with a text that is typed. `choice`: of the rung in whose place the text stands;
    None: a kernel of one's own."""
    names = ("kernel", "n", "block_size", "dtype", "combine")
    chosen = choice and {name: getattr(choice, name) for name in names}
    return {"proof": policy.proof_of(policy.COMPILE, draft), "choice": chosen}


MOST_KEPT = 40  # drafts of a browser, as many as it stores itself


def store_draft(draft: Draft, keep: bool = False) -> str | None:
    """Store the draft's text and launch. `keep`: the text before stays as a version. Returns a sentence if there is no
    room."""
    owner = visitor.owner()
    if owner is None:
        return None
    setup = draft.setup
    kept = {"start": draft.start, "text": draft.text, "file": draft.file, "at": draft.at, "reset": draft.reset,
            "place": draft.place, "call": setup.call if setup else "",
            "right": str(setup.right or "") if setup else ""}  # fmt: skip
    try:
        store.save(owner, draft.id, json.dumps(kept), most=MOST_KEPT, keep=keep)
    except store.Full as full:
        return f"{full} This draft is kept by your browser alone: download it before you leave."
    return None


def stored_draft(begun: Draft) -> Draft:
    """Return the stored draft with this number; without one, the given draft."""
    owner = visitor.owner()
    raw = store.load(owner, begun.id) if owner else None
    try:
        kept: dict[str, Any] = read_json(raw or "{}")
        if kept["start"] != begun.start or len(kept["text"]) > SOURCE_BYTES:
            return begun
        setup = setup_of(kept["call"], kept["right"]) if kept["call"] else begun.setup
        return replace(begun, text=str(kept["text"]), file=str(kept["file"]), at=int(kept["at"]),
                       reset=int(kept.get("reset", 0)), setup=setup)  # fmt: skip
    except (ValueError, KeyError, TypeError, NotRunnable):
        return begun  # stored by another version of this program


@dataclass(frozen=True)
class Kept:
    """A draft in the store: its address, file and start, the first line of its kernel, and the time of its text."""

    address: str
    file: str
    line: str
    start: str
    utc: str


def kept_drafts() -> list[Kept]:
    """Return the reader's drafts of the lab in the store, the last one first."""
    owner, found = visitor.owner(), []
    for id, raw, utc in store.kept(owner) if owner else ():
        try:
            kept = read_json(raw)
            if kept["start"] not in (RUNG, *TEMPLATES):
                continue  # a sheet's
            lines = [line.strip() for line in str(kept["text"]).splitlines()]
            first = next((line for line in lines if "__global__" in line), next(filter(None, lines), ""))
            place = f"&{kept['place']}" if kept.get("place") else ""
            found.append(
                Kept(f"lab?start={kept['start']}&draft={id}{place}", str(kept["file"]), first, kept["start"], utc)
            )
        except (ValueError, KeyError, TypeError):
            continue  # stored by another version of this program
    return found


RUNG, DEFAULT = "rung", "saxpy"
_ZLIB = b"\x78"  # the first byte of zlib's format, and of no text that a browser compressed without it
_DRAFTS, _OF_STARTS = "drafts", "drafts of starts"
_UNKEPT = "draft unkept"


def start() -> str:
    """Return the start in the menu or the address; an address with a rung starts from that rung."""
    chosen, said = st.session_state.get("start"), ""
    if chosen not in (RUNG, *TEMPLATES):
        if chosen:
            said = f"There is nothing to start from that is called {chosen!r}. Shown instead: {DEFAULT}."
        st.session_state["start"] = chosen = RUNG if address.given("ladder") else DEFAULT
    shown_instead("start", chosen, said)
    return str(chosen)


def opened(ladder: Ladder | None, position: int) -> Draft:
    """Return the page's draft: the address's, or the last one with this start, or a new one. A source in the address
    that cannot be read is reported, and the draft is unchanged."""
    name = str(st.session_state["start"])
    name = DEFAULT if ladder is None and name == RUNG else name
    key = f"{ladder.name} {rungs.names(ladder)[position]}" if ladder else name
    known: dict[str, str] = st.session_state.setdefault(_OF_STARTS, {})
    shared = st.session_state.pop("source", None)
    if shared:
        known[key] = _new_id()
    elif key not in known or address.given("draft"):
        known[key] = _valid(st.session_state.get("draft")) if address.given("draft") else _new_id()
    st.session_state["draft"] = known[key]
    drafts = _drafts()
    if known[key] not in drafts:
        drafts[known[key]] = _begun(known[key], name, ladder, position)
    if shared:
        with shown_refusals():
            save(replace(drafts[known[key]], text=unpack(shared)))
    return drafts[known[key]]


def begin_anew(draft: Draft) -> None:
    """Start another draft in the same way. For callbacks."""
    known: dict[str, str] = st.session_state.setdefault(_OF_STARTS, {})
    for key, own in known.items():
        if own == draft.id:
            known[key] = _new_id()


def keep(draft: Draft) -> None:
    """Keep the draft in the session."""
    _drafts()[draft.id] = draft


def save(draft: Draft, keep: bool = False) -> None:
    """Keep the draft in the session and in the store, as its text has changed. `keep`: the text before is to stay among
    the earlier ones."""
    _drafts()[draft.id] = draft
    st.session_state[_UNKEPT] = store_draft(draft, keep)


def warn_unkept() -> None:
    """Show why the server has not stored the latest text, if it has not."""
    if unkept := st.session_state.get(_UNKEPT):
        messages.warning(unkept)


def draft_of(id: str) -> Draft | None:
    """Return the draft of that number, if this session has it."""
    return _drafts().get(id)


def take_draft(message: Mapping[str, Any]) -> bool:
    """Take over a draft from the browser; return whether the server has the browser's text now. For callbacks."""
    draft = draft_of(str(message.get("draft")))
    text, reset = message.get("text"), int(message.get("reset") or 0)
    if draft is None or not isinstance(text, str) or reset < draft.reset:
        return False
    text = without_halves(text)
    if len(text.encode()) > SOURCE_BYTES:
        return False
    file = re.sub(r"[^\w.-]", "_", str(message.get("file") or draft.file))[:80]
    now = replace(draft, text=text, file=file, at=int(message.get("at") or 0), reset=reset,
                  attempts=draft.attempts or attempts_of(message.get("tries")))  # fmt: skip
    (keep if (now.text, now.file) == (draft.text, draft.file) else save)(now)
    return True


def replaced(draft: Draft, text: str) -> Draft:
    """Return the draft with a text of the server, which takes the place of whatever the browser has."""
    return replace(draft, text=text, at=draft.at + 1, reset=draft.reset + 1)


def _drafts() -> dict[str, Draft]:
    return st.session_state.setdefault(_DRAFTS, {})


def _begun(id: str, name: str, ladder: Ladder | None, position: int) -> Draft:
    if ladder is not None:
        kernel = KERNELS[ladder.rungs[position].kernel]
        place = f"ladder={ladder.name}&rung={rungs.names(ladder)[position]}"
        return stored_draft(Draft(id, RUNG, kernel.text, Path(kernel.file_name).name, place=place))
    template = TEMPLATES[name]
    draft = stored_draft(Draft(id, name, template.text, template.file_name, setup=template.setup))
    with shown_refusals():
        if address.given("call"):
            setup = setup_of(str(st.session_state.get("call")), str(st.session_state.get("right") or ""))
            return replace(draft, setup=setup)
    return draft


@contextmanager
def shown_refusals() -> Iterator[None]:
    """Show a refusal as a sentence on the page."""
    try:
        yield
    except NotRunnable as refused:
        messages.error(str(refused))


def unpack(source: str) -> str:
    """Return the source in a link. NotRunnable if it has none.

    Its bytes are zlib's, with a check; those of older links are without one.
    """
    packed, raw, text = b"", b"", ""
    with suppress(binascii.Error, ValueError):
        packed = base64.urlsafe_b64decode(source + "=" * (-len(source) % 4))
    unpacking = zlib.decompressobj(15 if packed[:1] == _ZLIB else -15)
    with suppress(zlib.error, ValueError):
        raw = unpacking.decompress(packed, SOURCE_BYTES)
        text = raw.decode()
    if len(raw) == SOURCE_BYTES and unpacking.unconsumed_tail:
        raise NotRunnable("The source in this link is too long.")
    if (
        not text or not unpacking.eof or unpacking.unused_data
    ):  # a mail program has cut off the rest, and half a kernel is another kernel
        raise NotRunnable("The source in this link cannot be read: ask for it as a file.")
    return text


def _new_id() -> str:
    return secrets.token_hex(6)


def _valid(id: object) -> str:
    """Return the draft's number in the address, if it is valid: Streamlit's keys have no double underscore."""
    return str(id) if re.fullmatch(r"(?!_|.*__|.*_$)[\w-]{1,40}", str(id)) else _new_id()
