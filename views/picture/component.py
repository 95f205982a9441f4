"""Mounts the player of animations: one block, or the same block of two rungs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from engine.catalogue import KERNELS, Rung
from engine.figures.banks import wave_colour
from engine.figures.look import GREEN, RED
from engine.picture.picture import Packed
from engine.records import Settled
from views.server.components import joined
from views.shared import address, keyboard

_HERE = Path(__file__).parent
# Each module comes after its imports; the last one is the component.
_MODULES = (
    "film",
    "pen",
    "layout",
    "memory",
    "arrows",
    "tree",
    "stage",
    "timeline",
    "gif",
    "theme",
    "moments",
    "screen",
    "files",
    "player",
)
NARROW, STACKED = 640, 840  # pixels: below this width two pictures are stacked, and then need this height
KEY, BESIDE, WHOLE = "motion", "beside", "whole"
PALETTE = {"passes": [wave_colour(at) for at in (1, 2, 3, 4, 8, 9)], "global": GREEN, "split": RED}


@dataclass(frozen=True)
class Drawn:
    """The picture of a rung, and the choice whose block it shows."""

    rung: Rung
    choice: Settled
    picture: Packed

    @property
    def title(self) -> str:
        """Return the rung's label and title."""
        return f"{self.rung.label}  {KERNELS[self.rung.kernel].title}"

    @property
    def opening(self) -> int | None:
        """Return the number of the source line at which the picture opens; None if the rung names none."""
        if not self.rung.moment:
            return None
        lines = KERNELS[self.rung.kernel].text.splitlines()
        return next((number for number, line in enumerate(lines, 1) if self.rung.moment in line), None)


def beside() -> bool:
    """Return whether the previous rung is shown beside the rung."""
    return st.session_state.get(BESIDE) == "1"


def whole() -> bool:
    """Return whether the picture shows the chosen block, not a small one."""
    return st.session_state.get(WHOLE) == "1"


def stacked() -> bool:
    """Return whether the window is so narrow that two pictures stand one above the other."""
    return keyboard.window()[0] < NARROW


def room(height: int, both: bool) -> int:
    """Return the height of a place for pictures: `height`, and enough for `both` if they are stacked."""
    return max(height, STACKED) if both and stacked() else height


def show(
    drawn: Sequence[Drawn],
    height: str,
    *,
    before: bool,
    few: bool = False,
    sizes: bool = False,
    hall: bool = False,
    note: str = "",
) -> None:
    """Draw the pictures on one clock.

    `height`: in CSS, or "100%" of the container. `before`: a button shows the previous rung beside it. `few`: the block
    has the teaching size; `sizes`: a button changes that. `hall`: all words are readable from the back row. `note`:
    words behind the size of the block.
    """
    _component()(
        key=KEY,
        height="stretch" if height.endswith("%") else "content",
        on_beside_change=lambda: _turned(BESIDE),
        on_whole_change=lambda: _turned(WHOLE),
        data={
            "id": " ".join(f"{one.title} {one.picture.digest} {few}" for one in drawn),
            "pictures": [
                {"title": one.title, "picture": one.picture.text, "n": one.choice.n, "opening": one.opening}
                for one in drawn
            ],
            "palette": PALETTE,
            "height": height,
            "hall": hall,
            "told": " Beside it: ".join(f"{one.title}: {one.picture.words}" for one in drawn),
            "beside": beside() if before else None,
            "few": few,
            "whole": not few if sizes else None,
            "note": note,
        },
    )


def _turned(name: str) -> None:
    """Take over the state of a button from the browser."""
    address.forget(name)
    if (st.session_state.get(KEY) or {}).get(name):
        address.keep("", {name: "1"})


@lru_cache(maxsize=1)
def _component() -> Any:
    return st.components.v2.component(
        "kernel_ladder_picture",
        html=(_HERE / "player.html").read_text(encoding="utf-8"),
        css=(_HERE / "player.css").read_text(encoding="utf-8"),
        js=joined(_HERE, _MODULES),
    )
