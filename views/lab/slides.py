"""The attempts of a draft as slides: one attempt a slide, in large type, with the changes since the previous one."""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path

import streamlit as st

from engine.history.tables import tile_text, tile_title
from engine.records.counters import IN_TABLE, IN_TILES
from engine.records.words import size_text, text_of
from views.html.source import source_html
from views.html.table import code_in, tile, tiles
from views.lab.attempts import Attempt
from views.lab.drafts import Draft
from views.lab.results import attempts_html
from views.shared import keyboard

STYLE = Path(__file__).parents[1] / "html" / "present.css"
_SHOWN = "attempt shown"


def begin() -> None:
    """Present the attempts, beginning with the last. For callbacks."""
    st.session_state.pop(_SHOWN, None)
    st.session_state["present"] = "1"


def end() -> None:
    """Return to the editor. For callbacks."""
    st.session_state["present"] = ""


def show(draft: Draft) -> None:
    """Show the slide of one attempt, and assign the keys that step."""
    st.html(STYLE)
    last = len(draft.attempts) - 1
    at = min(st.session_state.get(_SHOWN, last), last)
    by = {"next": 1, "walk on": 1, "previous": -1, "walk back": -1, "first": -last, "last": last}
    steps = {name: partial(step, places, last) for name, places in by.items()}
    keyboard.on_key({**steps, "leave": end, "present": end})
    with st.container(key="hall"):
        if at < 0:
            st.html(_title(draft, "", "no attempt yet: check your kernel first"))
            return
        one, before = draft.attempts[at], draft.attempts[at - 1] if at else None
        st.html(_title(draft, one.label, f"{at + 1} of {last + 1}") + f'<p class="idea">{code_in(one.said)}</p>')
        left, right = st.columns([1.35, 1], gap="medium")
        with left:
            shown = source_html(
                one.text, "", before.text if before else None, "", slide=True, what_before="the previous attempt"
            )
            st.html(f'<div class="slide">{shown}</div>')
        with right:
            st.html(_numbers(one, before) + attempts_html(draft.attempts[: at + 1], st.context.timezone))


def step(by: int, last: int) -> None:
    """Step `by` attempts; the ends hold. For callbacks."""
    st.session_state[_SHOWN] = min(max(st.session_state.get(_SHOWN, last) + by, 0), last)


def _title(draft: Draft, label: str, place: str) -> str:
    return (
        f'<header class="presenting"><h1><span>{escape(label)}</span>{escape(draft.file)}</h1>'
        f"<p>My attempts · {escape(place)}"
        '<button class="leave" type="button" aria-label="Stop presenting" title="Stop presenting (Esc)">✕</button>'
        "</p></header>"
    )


def _numbers(one: Attempt, before: Attempt | None) -> str:
    """Return its verdict, time and counts, each with the factor against the previous attempt."""
    row = {**dict.fromkeys(IN_TABLE), "caveats": None, **one.counters}
    known = [(names, [name for name in names if name in one.counters]) for names in IN_TILES]
    made = [tile(tile_title(names), tile_text(row, names), below=_small(_against(one, before, counted[0])))
            for names, counted in known if counted]  # fmt: skip
    if one.time_us is not None:
        made.insert(0, tile("Time", text_of("time_us", one.time_us), below=_small(one.device or "")))
    mood = "good" if one.status == "ok" else "bad"
    return f'<div class="insideanswer {mood}"><b>{escape(one.verdict)}</b> N = {size_text(one.n)}</div>' + tiles(
        made, "counted"
    )


def _small(words: str) -> str:
    return f"<small>{escape(words)}</small>"


def _against(one: Attempt, before: Attempt | None, key: str) -> str:
    was = before.counters.get(key) if before and before.n == one.n else None
    same = not was or was == one.counters[key]
    return "" if same else f"{text_of('step', one.counters[key] / was)} of the previous attempt"
