"""Sentences with words that a reader typed: no such word is Markdown, HTML, an emoji or a link."""

from __future__ import annotations

import re

import streamlit as st

from views.html.table import code_in

Place = st.delta_generator.DeltaGenerator

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_JOINER = "\u2060"  # has no width, and ends the words that Streamlit would replace after it has read the Markdown
_REPLACED = re.compile(r"(?<=[:.@<>~=-])(?=\S)|(?<=\S)(?=[:.@<>~=-])")


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
    return f'<div class="message {kind}" role="{role}">{code_in(sentence)}</div>'


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
