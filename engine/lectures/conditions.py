"""Under which conditions a lecture printed its figures, as choices that can be run here."""

from __future__ import annotations

from engine.catalogue import LADDERS, Ladder, Published, Rung
from engine.plan import settle
from engine.records import Choice, Settled


def has_figures(ladder: Ladder) -> bool:
    """Whether the ladder's lecture prints figures."""
    return any(rung.published for rung in ladder.rungs)


def choices(ladder: Ladder, device: str) -> tuple[tuple[Settled, str], ...]:
    """The runs at the published conditions on a GPU or the emulator, each once, with their names."""
    found = {
        choice_of(ladder, rung, figure, device): f"{label(ladder, rung)}, {figure.lecture}'s conditions"
        for rung in ladder.rungs
        for figure in rung.published
    }
    return tuple(found.items())


def choice_of(ladder: Ladder, rung: Rung, figure: Published, device: str) -> Settled:
    """The rung, or its stand-in, under the conditions of a figure; what the lecture leaves open is the ladder's own."""
    asked = Choice(
        kernel=rung.timed,
        n=figure.n,
        block_size=figure.block_size or ladder.block_size,
        grid_size=figure.grid_size,
        dtype=figure.dtype,
        device=device,
        combine=rung.combine,
    )
    return settle(asked)


def label(ladder: Ladder, rung: Rung) -> str:
    """The rung's label; with a stand-in, what runs here: "#5, here volatile"."""
    other = next((one.label for one in ladder.rungs if one.kernel == rung.stand_in), "")
    return f"{rung.label}, here {other.removeprefix(rung.label).strip()}" if other else rung.label


def published_ladders() -> tuple[str, ...]:
    """The names of the ladders whose lectures print figures."""
    return tuple(name for name, ladder in LADDERS.items() if has_figures(ladder))
