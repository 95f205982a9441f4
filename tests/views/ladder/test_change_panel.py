"""Before and after on a slide: each rung shows the counter that it is meant to change."""

from __future__ import annotations

import pytest

from engine.catalogue import LADDERS
from engine.figures.look import Look
from engine.records.counters import COUNTERS
from views.ladder.panels import bars, change, motion
from views.ladder.resolve import page_of
from views.ladder.view import Bars, Page, facts_of
from views.shared import rungs


def page(name: str, position: int, shown: int | None = None, plot: str = "", presenting: bool = True) -> Page:
    """The page of a rung, by default with its numbers."""
    ladder = LADDERS[name]
    chosen = {**rungs.own_choices(ladder), "cache": "cold-clean", "combine": "auto", "grid": "auto", "device": "auto",
              "parameter": ""}  # fmt: skip
    count = position + 1 if shown is None else shown
    return page_of(name, position, tuple(chosen.items()), "lockstep", presenting, count, plot, ())


@pytest.mark.sampled(quick=4, thorough=1)
@pytest.mark.parametrize("name", [name for name in LADDERS if not name.startswith("all-")])
def test_a_slide_shows_the_counter_that_its_rung_is_meant_to_change(name: str) -> None:
    ladder = LADDERS[name]
    opened = []
    for position in range(1, len(ladder.rungs)):
        here, meant = page(name, position), ladder.meant(position)
        own = here.plots[next(plot for plot in (here.rung.picture, ladder.picture, "time") if plot in here.plots)]
        assert (here.plot is change.PICTURE) == (meant is not None and (isinstance(own, Bars) or own is motion.SCENE))
        opened.append(here.plot.name)
        if meant is not None:
            other = page(name, position, plot="change")
            figure = change.figure(other, facts_of(other), Look(19, 320))
            title = figure["layout"]["annotations"][1]["text"]
            assert change.shown(other) == meant[0] and title.startswith(COUNTERS[meant[0]].title)
    assert opened


def test_the_plot_is_for_slides_and_bars_show_the_same_counter() -> None:
    assert "change" not in page("harris", 2, presenting=False).plots
    assert list(page("harris", 2).plots)[:2] == ["change", "rate"]
    assert bars.counter_shown(page("harris", 2, presenting=False)) == "bank_conflicts"


def test_a_rungs_own_animation_is_shown_before_its_numbers() -> None:
    position = rungs.names(LADDERS["heidelberg-volta"]).index("lock_spin")
    assert page("heidelberg-volta", position, position).plot is motion.SCENE
    assert page("heidelberg-volta", position).plot is change.PICTURE


@pytest.mark.parametrize(("name", "kernel", "told"), [
    ("harris", "reduce_strided", False),  # the H200 has no divergent branch in either kernel
    ("harris", "reduce_sequential", True), ("tensor-cores", "tensor_wgmma", False),
])  # fmt: skip
def test_a_profilers_counts_are_shown_only_if_they_tell_what_the_rung_changes(
    name: str, kernel: str, told: bool
) -> None:
    here = page(name, rungs.names(LADDERS[name]).index(kernel))
    notes = [note["text"] for note in change.figure(here, facts_of(here), Look(19, 320))["layout"]["annotations"]]
    assert any("→" in note for note in notes) == told
    assert any(note.startswith("Not counted") for note in notes) != told
