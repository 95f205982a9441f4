"""The numbers that a presentation holds back: a rung shows its numbers when the presenter asks for them.

The address has the number of rungs whose numbers are shown (`reveal=3`, or `reveal=all`), and `stage=picture` while the
block in motion is shown in place of the plot. So a reload shows the same, and so do the pages that follow.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from engine.catalogue import KERNELS, Ladder
from views.ladder.panels import motion
from views.shared import address, presentation, rungs

REVEAL, STAGE = "reveal", "stage"  # names in the address
ALL, PICTURE = "all", "picture"


def shown(ladder: Ladder, presenting: bool) -> int:
    """Return how many rungs, from the first on, show their numbers.

    While presenting: those before the furthest rung that was on the slide, and that rung once it is uncovered.
    """
    asked = st.session_state.get(REVEAL)
    if not presenting:
        return _count(ladder, 0) if asked and presentation.is_followed() else len(ladder.rungs)
    count = _count(ladder, _position(ladder))
    if asked != ALL:
        st.session_state[REVEAL] = str(count)
    return count


def in_address(presenting: bool) -> dict[str, object]:
    """Return the choices of this module that belong to the page's address."""
    if not (presenting or presentation.is_followed()):
        return {}
    return {name: st.session_state.get(name) for name in (REVEAL, STAGE)}


def asked_plot(presenting: bool) -> str:
    """Return the name of the plot that the address asks for, or ""."""
    if in_address(presenting).get(STAGE) == PICTURE:
        return motion.SCENE.name
    return str(st.session_state.get("show") or "")


def uncover(ladder: Ladder) -> None:
    """Show the numbers of the rung on the slide, in a plot. For callbacks."""
    address.forget(STAGE, *(["show"] if st.session_state.get("show") == motion.SCENE.name else []))
    if not _tells_all():
        st.session_state[REVEAL] = str(_count(ladder, _position(ladder) + 1))


def forget() -> None:
    """Hold back numbers anew when the next presentation begins. For callbacks."""
    address.forget(REVEAL, STAGE)


def show_all() -> None:
    """Show the numbers of every rung. For callbacks."""
    st.session_state[REVEAL] = ALL


def show_picture() -> None:
    """Show the block in motion in place of the plot. For callbacks."""
    st.session_state[STAGE] = PICTURE


def on(ladder: Ladder) -> None:
    """Show the numbers of the rung on the slide; if they are shown, the next rung. For callbacks."""
    if _is_covered(ladder) or _is_picture(ladder):
        uncover(ladder)
    else:
        rungs.step(ladder, 1)


def back(ladder: Ladder) -> None:
    """Show the rung before, and cover nothing. For callbacks."""
    address.forget(STAGE)
    rungs.step(ladder, -1)


def walk_on(ladder: Ladder) -> None:
    """Show the next part of the rung: the code, its block in motion, its numbers; then the next rung. For callbacks."""
    if _is_covered(ladder) and not _is_picture(ladder) and _has_picture(ladder):
        show_picture()
    else:
        on(ladder)


def walk_back(ladder: Ladder) -> None:
    """Show the part before, and cover nothing; if no number is held back, the rung before. For callbacks."""
    if st.session_state.get(STAGE) == PICTURE and _is_covered(ladder):
        address.forget(STAGE)
    elif _is_picture(ladder) or _is_covered(ladder) or not _has_picture(ladder) or _tells_all():
        back(ladder)
    else:
        show_picture()


def stepping(ladder: Ladder) -> dict[str, Callable[[], None]]:
    """Return the callbacks of the keys that step on a slide."""

    def leaving(step: Callable[[], None]) -> Callable[[], None]:
        def left() -> None:
            address.forget(STAGE)
            step()

        return left

    return {name: leaving(step) for name, step in rungs.stepping(ladder).items()} | {
        "next": lambda: on(ladder),
        "previous": lambda: back(ladder),
        "walk on": lambda: walk_on(ladder),
        "walk back": lambda: walk_back(ladder),
        "reveal": show_all,
    }


def _count(ladder: Ladder, least: int) -> int:
    """Return how many rungs show their numbers by the address, but at least so many."""
    asked, every = str(st.session_state.get(REVEAL) or ""), len(ladder.rungs)
    if asked == ALL:
        return every
    kept = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 4 else 0
    return min(max(kept, least), every)


def _position(ladder: Ladder) -> int:
    return rungs.names(ladder).index(st.session_state["rung"])


def _is_covered(ladder: Ladder) -> bool:
    return _count(ladder, 0) <= _position(ladder)


def _is_picture(ladder: Ladder) -> bool:
    """Return whether the slide shows the block in motion: asked for, or before its numbers as the rung's own plot."""
    own = ladder.rungs[_position(ladder)].picture or ladder.picture
    return (asked_plot(True) or (own if _is_covered(ladder) else "")) == motion.SCENE.name


def _tells_all() -> bool:
    return st.session_state.get(REVEAL) == ALL


def _has_picture(ladder: Ladder) -> bool:
    return motion.is_drawn(KERNELS[ladder.rungs[_position(ladder)].kernel])
