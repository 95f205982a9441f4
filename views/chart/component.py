"""Mounts charts: Plotly figures, drawn in the browser by an official part of Plotly.js."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from views.server.components import library

_SCRIPT = Path(__file__).with_name("chart.js")

Height = Literal["stretch", "content"]


def chart(figure: Mapping[str, Any], *, key: str, alt: str, origin: str) -> None:
    """Draw a figure as high as its container. `alt`: its description for a screen reader. `origin`: of its numbers, for
    a saved plot."""
    _mount(json.dumps(figure, allow_nan=False, ensure_ascii=False), key, alt, origin, "stretch")


class Chart:
    """A chart in a container of its own, which may be drawn several times during one run of the script."""

    def __init__(self, container: st.delta_generator.DeltaGenerator, key: str) -> None:
        self._container, self._key = container, key
        self._drawn: list[str] = []

    def draw(self, figure: Mapping[str, Any], *, alt: str, origin: str, height: Height = "stretch") -> None:
        """Draw a figure in place of the one before; an unchanged figure stays as it is. `height`: as high as its
        container ("stretch") or as the figure says ("content")."""
        text = json.dumps(figure, allow_nan=False, ensure_ascii=False)
        if self._drawn[-1:] == [text]:
            return
        self._drawn.append(text)
        # The same figure has the same key in the next run of the script, so the browser keeps its drawing. A figure
        # that replaces another one during a run comes below it, and style.css hides the first: an empty place between
        # the two would blank the page.
        key = f"{self._key} {sha256(text.encode()).hexdigest()[:16]} {self._drawn.count(text)}"
        with self._container:
            _mount(text, key, alt, origin, height)


def _mount(figure: str, key: str, alt: str, origin: str, height: Height) -> None:
    data = {
        "figure": figure,
        "alt": alt,
        "origin": origin,
        "fills": height != "content",
        "library": library("plotly-basic.min.js"),
    }
    _component()(key=key, data=data, height=height)


@lru_cache(maxsize=1)
def _component() -> Any:
    return st.components.v2.component(
        "kernel_ladder_chart", js=_SCRIPT.read_text(encoding="utf-8"), isolate_styles=False
    )
