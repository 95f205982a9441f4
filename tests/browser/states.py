"""Addresses of the ladder page: every plot of every ladder, and of every rung whose plot differs from the others'."""

from __future__ import annotations

from collections.abc import Iterator

from engine.catalogue import LADDERS
from views.ladder.panels.bars import TIMES
from views.ladder.resolve import PLOTS, choice_of, resolved
from views.ladder.view import Bars, Page, Scene


def states(most_rungs: int = 1) -> Iterator[str]:
    """Yield the addresses. Bars are the same on every rung; other plots are taken from `most_rungs` rungs at most."""
    for ladder in LADDERS.values():
        seen: dict[str, int] = {}
        chosen = {"n": str(ladder.n), "block": str(ladder.block_size), "grid": "", "dtype": ladder.dtype,
                  "cache": "cold-clean", "device": "emulator", "combine": "", "parameter": ""}  # fmt: skip
        for position, rung in enumerate(ladder.rungs):
            times = tuple(choice_of(each, chosen, rung) for each in ladder.rungs)
            page = resolved(Page(ladder, position, times, times, False, TIMES), "")
            for plot in PLOTS:
                most = 1 if isinstance(plot, Bars) else most_rungs
                if isinstance(plot, Scene) or not plot.offered(page) or seen.get(plot.name, 0) >= most:
                    continue
                seen[plot.name] = seen.get(plot.name, 0) + 1
                yield f"ladder={ladder.name}&rung={rung.kernel}&show={plot.name}"
