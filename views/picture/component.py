"""Mounts the player of animations: one block, or the same block of two rungs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from engine.figures.banks import wave_colour
from engine.figures.lanes import colours_of
from engine.figures.look import GREEN, RED
from engine.picture.picture import Packed
from views.server.components import joined
from views.shared import address

_HERE = Path(__file__).parent
# Each module comes after its imports; the last one is the component.
_MODULES = (
    "film",
    "pen",
    "tree",
    "layout",
    "memory",
    "stage",
    "timeline",
    "gif",
    "theme",
    "moments",
    "screen",
    "files",
    "player",
)
KEY, BESIDE = "motion", "beside"
PALETTE = {"passes": [wave_colour(at) for at in (1, 2, 3, 4, 8, 9)], "global": GREEN, "split": RED}


def beside() -> bool:
    """Return whether the previous rung is shown beside the rung."""
    return st.session_state.get(BESIDE) == "1"


def show(pictures: Sequence[tuple[str, Packed]], height: str, choosable: bool) -> None:
    """Draw the pictures, each with its title, on one clock.

    `height`: in CSS, or "100%" of the container. `choosable`: a button shows and hides the previous rung.
    """
    _component()(
        key=KEY,
        height="stretch" if height.endswith("%") else "content",
        on_beside_change=_turned,
        data={
            "id": " ".join(f"{title} {picture.digest}" for title, picture in pictures),
            "pictures": [
                {"title": title, "picture": picture.text, "colours": colours_of(picture.lines)}
                for title, picture in pictures
            ],
            "palette": PALETTE,
            "height": height,
            "told": " Beside it: ".join(f"{title}: {picture.words}" for title, picture in pictures),
            "beside": beside() if choosable else None,
        },
    )


def _turned() -> None:
    """Take over the state of the button from the browser."""
    address.forget(BESIDE)
    if (st.session_state.get(KEY) or {}).get("beside"):
        address.keep("", {BESIDE: "1"})


@lru_cache(maxsize=1)
def _component() -> Any:
    return st.components.v2.component(
        "kernel_ladder_picture",
        html=(_HERE / "player.html").read_text(encoding="utf-8"),
        css=(_HERE / "player.css").read_text(encoding="utf-8"),
        js=joined(_HERE, _MODULES),
    )
