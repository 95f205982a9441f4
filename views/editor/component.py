"""Mounts the editor and sends it the marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from views.server.components import joined, library

_HERE = Path(__file__).parent
# Each module comes after its imports; the last one is the component.
_MODULES = ("drafts", "language", "completion", "definition", "marks", "sharing", "editor")
# The marks have an element of their own further down, where a result is known, so a result leaves the editor above
# untouched.
_MARKS = """export default ({ data }) => {
  window.kernelLadder.marks = data;
  window.dispatchEvent(new CustomEvent('kernelladder-marks'));
};"""
KEY = "editor"
_HEIGHT = "max(420px, calc(100vh - 190px))"


@dataclass(frozen=True)
class EditorDraft:
    """The server's copy of a draft. `at`, `reset`: how often the browser has stored the text, and the server has
    replaced it; `tries`: the number of attempts; `runs`: whether there is a GPU to run it on. `compiled`: what the
    browser sends with a text that is typed, to have it compiled: see `views/server/compiled.py`."""

    draft: str
    text: str
    at: int
    reset: int
    file: str
    tries: int
    runs: bool = False
    compiled: Mapping[str, Any] = field(default_factory=dict)


def show(
    kept: EditorDraft,
    heard: int,
    told: Callable[[Mapping[str, Any]], None],
    asked: Callable[[Mapping[str, Any]], None],
) -> None:
    """Show the editor of a draft. A newer text in the browser's storage replaces the server's copy.

    `heard`: the number of the last press that arrived. Callbacks: `told` receives the text, `asked` a press of Check or
    Run.
    """
    _component()(
        key=f"{KEY} {kept.draft}",
        data={**asdict(kept), "height": _HEIGHT, "heard": heard, "library": library("codemirror.min.js")},
        on_told_change=lambda: told(_value(kept.draft, "told")),
        on_asked_change=lambda: asked(_value(kept.draft, "asked")),
    )


def mark(found: Mapping[str, Any], key: str) -> None:
    """Show marks at their lines: see `views/editor/marks.js`."""
    component = st.components.v2.component("kernel_ladder_marks", js=_MARKS)
    component(key=key, data=dict(found), height=0)


def _value(draft: str, name: str) -> Mapping[str, Any]:
    return (st.session_state.get(f"{KEY} {draft}") or {}).get(name) or {}


@lru_cache(maxsize=1)
def _component() -> Any:
    return st.components.v2.component(
        "kernel_ladder_editor",
        html=(_HERE / "editor.html").read_text(encoding="utf-8"),
        css=(_HERE / "editor.css").read_text(encoding="utf-8"),
        js=joined(_HERE, _MODULES),
    )
