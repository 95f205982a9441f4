"""Sentences with words that a reader typed: no such word is Markdown, HTML, an emoji or a link.

A notice is such a sentence that stays on the page although the page's script runs again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st

from engine.records import shortened
from views.html.table import code_in
from views.shared import address

Place = st.delta_generator.DeltaGenerator

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_JOINER = "\u2060"  # has no width, and ends the words that Streamlit would replace after it has read the Markdown
_REPLACED = re.compile(r"(?<=[:.@<>~=-])(?=\S)|(?<=\S)(?=[:.@<>~=-])")
_KEPT = "shown instead"


def error(sentence: str, place: Place | None = None) -> None:
    """Show why something cannot be shown or run."""
    _show("error", sentence, place)


def warning(sentence: str, place: Place | None = None) -> None:
    """Show what the reader must know before going on."""
    _show("warning", sentence, place)


def info(sentence: str, place: Place | None = None) -> None:
    """Show what the reader may want to know."""
    _show("info", sentence, place)


def box(kind: str, sentence: str) -> str:
    """Return the message as HTML; text between backticks is code."""
    role = "alert" if kind == "error" else "status"
    return f'<div class="message {kind}" role="{role}">{code_in(shortened(sentence))}</div>'


def label(text: str) -> str:
    """Return the text for the label of a widget or a toast, which Streamlit reads as Markdown."""
    words = " ".join(text.split())
    return _PUNCTUATION.sub(r"\\\1", _REPLACED.sub(_JOINER, words))


def code(text: str) -> str:
    """Return the text as code in such a label."""
    words = " ".join(text.split()).replace(":material/", f":{_JOINER}material/")  # replaced in code, too
    fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
    return f"{fence} {words} {fence}"


def _show(kind: str, sentence: str, place: Place | None) -> None:
    (place or st).html(box(kind, sentence))


def shown_instead(menu: str, now: object, said: str = "", moved: bool = False, place: Place | None = None) -> None:
    """Show why a menu has the value `now` and not the one of the address, until the reader chooses another value.

    `said`: the sentence, in the run of the script that replaced the value; "" in the later ones. `moved`: the address
    was right once.
    """
    kept: dict[str, tuple[object, str, bool]] = st.session_state.setdefault(_KEPT, {})
    if said:
        kept[menu] = now, said, moved
    value, sentence, moved = kept.get(menu, (None, "", False))
    if value != now:
        kept.pop(menu, None)
    elif sentence:
        (info if moved else error)(sentence, place)


def replace_unknown(name: str, what: str, known: Mapping[str, str], otherwise: str, place: Place | None = None) -> str:
    """Replace a value that is not known here, and say so if the address has it; return the value, or `otherwise`.

    `what`: the kind of value, in the sentence; `known`: the words of each value; `otherwise`: a value, or "" if the
    page chooses one itself.
    """
    asked, said = st.session_state.get(name), ""
    if asked not in known:
        if asked and address.given(name):
            said = f"There is no {what} {asked!r} here. Shown instead: {known.get(otherwise) or 'the usual one'}."
        if otherwise:
            st.session_state[name] = otherwise
        else:
            address.forget(name)
    now = st.session_state.get(name)
    shown_instead(name, now, said, place=place)
    return str(now or otherwise)
