"""The animated block of a rung in place of the plot, alone or beside the previous rung."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from engine.catalogue import KERNELS, TOPICS, Kernel, Ladder, emulated_n
from engine.picture.teaching import teaching_choice
from engine.records import Settled
from views.inside.work import InsideChoice, InsideWork, work_on
from views.ladder.view import Page, Scene
from views.picture import component
from views.shared import messages

WORK = "motion work"
PATIENCE_S, POLL_S = 0.5, 0.4
PARTS = 4  # the part of the emulator's largest n, as on the page Inside
TILES = 4  # tiles along a row of a matrix
NO_CONFLICTS = "too few for bank conflicts: see the whole block"


def offered(page: Page) -> bool:
    """Return whether the block of this rung can be drawn."""
    return is_drawn(page.kernel)


def is_drawn(kernel: Kernel) -> bool:
    """Return whether the emulator runs blocks of this kernel."""
    return kernel.processor == "gpu" and kernel.emulated


def drawn_choice(page: Page, position: int) -> Settled:
    """Return the choice whose block is drawn for a rung of the page."""
    return short_run(page.ladder, page.runs[position], component.whole())


def short_run(ladder: Ladder, run: Settled, whole: bool) -> Settled:
    """Return a short run on the emulator in place of `run`, for a drawing.

    It has the teaching size, or the `whole` chosen block; a matrix product of those is small enough to show its tiles.
    """
    if not whole:
        return teaching_choice(run)
    tile = KERNELS[run.kernel].tile
    most = max(TOPICS[ladder.topic].emulator_max_n // PARTS, 1)
    n = emulated_n(ladder, run.n, most)
    if tile is not None:
        n = min(n, TILES * run.block_size * max(tile.rows, tile.columns))
    return replace(run, device="emulator", n=n)


def show(page: Page) -> None:
    """Show the rung's block once it is drawn, and the previous rung's beside it on request."""
    show_block(page, page.position > 0 and component.beside(), choosable=True)


def show_block(page: Page, beside: bool, choosable: bool) -> None:
    """Show the rung's block once it is drawn. `beside`: with the previous rung's; `choosable`: a button changes
    that."""
    before = drawn_choice(page, page.position - 1) if beside else None
    inside = work_on(WORK, InsideChoice(drawn_choice(page, page.position), before, 0, 1, "motion"))
    while not inside.finished and inside.advance(PATIENCE_S):
        pass
    if inside.finished:
        _draw(page, inside, choosable)
    else:
        st.fragment(_wait, run_every=POLL_S)(page, inside)


def _wait(page: Page, inside: InsideWork) -> None:
    """Look for results again and again, while the rest of the page stays usable."""
    inside.advance(0.0)
    if inside.finished:
        st.rerun()
    st.html(f'<p class="drawingblock">{escape(inside.progress[1])}</p>')


def _draw(page: Page, inside: InsideWork, choosable: bool) -> None:
    if inside.picture is None:
        messages.warning(inside.reason or "There is nothing to draw.")
        return
    pictures = drawn_pictures(page.ladder, page.position, inside)
    far = page.presenting or not (choosable or component.stacked())
    component.show(pictures, "100%", before=choosable and page.position > 0, few=not component.whole(), sizes=choosable,
                   hall=far, note=_missing(page.ladder, pictures))  # fmt: skip


def _missing(ladder: Ladder, pictures: Sequence[component.Drawn]) -> str:
    """Return what a small block cannot show: the bank conflicts that the rung after it removes."""
    removed = {before.kernel for at, before in enumerate(ladder.rungs[:-1])
               if ladder.meant(at + 1) == ("bank_conflicts", "fall")}  # fmt: skip
    lacks = any(one.rung.kernel in removed and not one.picture.conflicts for one in pictures)
    return NO_CONFLICTS if lacks and not component.whole() else ""


def drawn_pictures(ladder: Ladder, position: int, inside: InsideWork) -> list[component.Drawn]:
    """Return the drawn pictures of the rungs, the previous rung first."""
    asked = inside.asked
    found = ((position - 1, asked.before, inside.picture_before), (position, asked.choice, inside.picture))
    return [component.Drawn(ladder.rungs[at], choice, picture) for at, choice, picture in found if choice and picture]


SCENE = Scene("motion", "In motion", offered, show)
