"""Draws figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

import streamlit as st
from plotly import graph_objects

from engine.figures.look import CONFIG

Height = Literal["stretch", "content"]


def chart(figure: Mapping[str, Any], *, key: str, alt: str, height: Height = "stretch") -> None:
    """Draw a figure. `alt`: its description for a screen reader. `height`: as high as its container
    ("stretch") or as the figure says ("content")."""
    _mount(st.container(), json.dumps(figure, allow_nan=False), key, alt, height)


class Chart:
    """A chart in a container of its own, which may be drawn several times during one run of the script."""

    def __init__(self, container: st.delta_generator.DeltaGenerator, key: str) -> None:
        self._container, self._key = container, key
        self._drawn: list[str] = []

    def draw(self, figure: Mapping[str, Any], *, alt: str, height: Height = "stretch") -> None:
        """Draw a figure instead of the one before; a figure that has not changed is left alone."""
        text = json.dumps(figure, allow_nan=False)
        if self._drawn[-1:] == [text]:
            return
        self._drawn.append(text)
        key = f"{self._key} {sha256(text.encode()).hexdigest()[:16]} {self._drawn.count(text)}"
        self._container = _mount(self._container, text, key, alt, height)


def _mount(place: st.delta_generator.DeltaGenerator, text: str, key: str, alt: str, height: Height) -> Any:
    figure = _validated(text)
    high = figure.to_dict()["layout"].get("height") if height == "content" else height
    return place.plotly_chart(figure, key=key, config=CONFIG, height=high or "content", alt=alt)


class _Validated(graph_objects.Figure):
    """A figure that Plotly has checked, and that nobody changes."""

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self._sent = super().to_dict()

    def to_dict(self) -> dict[str, Any]:
        """What it is made of."""
        return self._sent


_validated = lru_cache(maxsize=256)(_Validated)
