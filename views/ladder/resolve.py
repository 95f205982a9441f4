"""Resolve a page: from the address and the menus to the choices, the runs, the plots, the sections and the answer's
size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from engine.catalogue import KERNELS, LADDERS, Ladder, Rung, emulated_n
from engine.history.tables import published_for
from engine.plan import describe_launches, plan, settle
from engine.records import CACHE_STATES, Choice, HostSum, NotRunnable, Settled
from engine.service import service
from views.ladder.panels import (
    arithmetic,
    change,
    claims,
    complexity,
    estimate,
    floats,
    law,
    motion,
    occupancy,
    paper,
    reasons,
    trapezoids,
)
from views.ladder.panels.bars import BARS, TIMES
from views.ladder.view import KEPT, Bars, Page, Plot, Scene, Section
from views.shared import menus
from views.shared.menus import AUTO

# The choices that `choice_of` reads beside N, block size and type, as a ladder opens.
USUAL = {"cache": CACHE_STATES[0], "combine": AUTO, "grid": AUTO, "device": AUTO, "parameter": "", "record": ""}
# In the order on the page.
PLOTS: tuple[Plot, ...] = (
    change.PICTURE,
    *BARS,
    estimate.PICTURE,
    law.PICTURE,
    arithmetic.PICTURE,
    trapezoids.TRAPEZOIDS,
    trapezoids.ERRORS,
    complexity.PICTURE,
    floats.ANSWERS,
    floats.PICTURE,
    floats.REPEATS,
    paper.PICTURE,
    motion.SCENE,
)
PLOT_TITLES = {plot.name: plot.title for plot in PLOTS}
SECTIONS: tuple[Section, ...] = (
    arithmetic.SECTION,
    paper.SECTION,
    claims.SECTION,
    complexity.SECTION,
    floats.SECTION,
    occupancy.SECTION,
    reasons.SECTION,
)


@lru_cache(maxsize=KEPT)
def page_of(
    ladder: str,
    position: int,
    chosen: tuple[tuple[str, str], ...],
    order: str,
    presenting: bool,
    count: int,
    plot: str,
    found: tuple[service.HostGpu, ...],
) -> Page:
    """Return the page of this rung, shared by all browsers. NotRunnable.

    `chosen`: the values of the menus; `order`: of execution; `count`: rungs that show their numbers; `plot`: the
    requested one, or ""; `found`: the GPUs of this computer.
    """
    shown, words = LADDERS[ladder], dict(chosen)
    times = tuple(choice_of(rung, words, shown.rungs[position]) for rung in shown.rungs)
    runs = tuple(run_of(choice, shown, words["device"], order) for choice in times)
    return resolved(Page(shown, position, times, runs, presenting, count, TIMES), plot)


def resolved(page: Page, asked: str) -> Page:
    """Add the plots and sections of the rung, the shown plot, the length of the answer, and the lecture's figure.

    The shown plot is the `asked` one, else the rung's, else the ladder's, else the times. On a slide, what the rung
    changes comes before the bars of all rungs, and takes the place of an animation once the numbers are shown. Sections
    tell the numbers of all rungs, so none is shown while some are held back.
    """
    plots = {plot.name: plot for plot in PLOTS if plot.offered(page)}
    own = [name for name in (page.rung.picture, page.ladder.picture, TIMES.name) if name in plots]
    if page.presenting and not page.covered:
        own = [name for name in own if not isinstance(plots[name], Scene)]
    if isinstance(plots[own[0]], Bars) and change.is_default(page):
        own.insert(0, change.PICTURE.name)
    name = next(name for name in (asked, *own) if name in plots)
    sections = {section.name: section for section in SECTIONS if page.tells_all and section.offered(page)}
    return replace(page, plots=plots, plot=plots[name], sections=sections, answer_count=answer_count(page.run),
                   launch=describe_launches(page.choice), published=published_for(page.rung, page.choice))  # fmt: skip


def answer_count(choice: Settled) -> int:
    """Return the number of elements of a choice's answer; 0 if it is a single number or cannot run."""
    try:
        made = plan(choice)
    except NotRunnable:
        return 0
    return 0 if made.result_count == 1 or isinstance(made.steps[-1], HostSum) else made.result_count


def choice_of(rung: Rung, chosen: Mapping[str, str], on_page: Rung) -> Settled:
    """Return the values of the menus for one rung. Combining and grid size hold for the rung on the page only, its
    parameter for every rung with the same parameter."""
    combine, blocks, this = chosen["combine"], chosen["grid"], rung is on_page
    asked = Choice(
        kernel=rung.kernel,
        n=menus.number_of(chosen["n"], "N"),
        block_size=menus.number_of(chosen["block"], "The block size"),
        grid_size=None if not this or blocks in ("", AUTO) else menus.number_of(blocks, "The number of blocks"),
        dtype=chosen["dtype"],
        cache=chosen["cache"],
        device=chosen["device"],
        combine=rung.combine if not this or combine in ("", AUTO) else combine,
        parameter=menus.parameter_for(KERNELS[rung.kernel], KERNELS[on_page.kernel], chosen["parameter"]),
        record=chosen.get("record") or None,
    )
    return settle(asked)


def run_of(choice: Settled, ladder: Ladder, device: str, order: str) -> Settled:
    """Return the choice that Run starts, without a record: on the emulator in the chosen order, and at a smaller N if
    the emulator would keep a lecture waiting, unless the emulator was chosen by name."""
    choice = replace(choice, record=None)
    if choice.device != "emulator":
        return choice
    schedule = menus.schedule_of(order)
    n = emulated_n(ladder, choice.n) if device == AUTO else choice.n
    return replace(choice, n=n, schedule=schedule)
