"""The ladder page in one run of its script: the ladder, the rung, the choices, and what is known of every rung."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd

from engine import tables
from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, Ladder, Rung, Topic, emulated_n
from engine.choices import settle
from engine.history.history import Known
from engine.records import Choice, Settled
from engine.service import service
from views.shared import menus, work
from views.shared.menus import AUTO

WORK = "ladder work"  # the name of the runs that the page waits for
KEPT = 256  # of each kind of what browsers share


@dataclass(frozen=True, eq=False)
class Page:
    """A ladder, the rung on the page, and what the menus say; the same object for all browsers that look at the same.

    Equal to itself alone, so that what is made of it can be kept for whoever asks again.

    `choices`: what the times are of, one a rung; `runs`: what Run runs, which on the emulator may be at another N.
    `plot`: the one that was asked for, which the rung may lack; "" for none.
    """

    ladder: Ladder
    topic: Topic
    position: int
    choices: tuple[Settled, ...]
    runs: tuple[Settled, ...]
    presenting: bool
    plot: str = ""

    @property
    def rung(self) -> Rung:
        """The rung on the page."""
        return self.ladder.rungs[self.position]

    @property
    def kernel(self) -> Kernel:
        """Its kernel."""
        return KERNELS[self.rung.kernel]

    @property
    def counting(self) -> bool:
        """Whether runs are counted by the emulator, and not timed."""
        return self.choice.device == "emulator"

    @property
    def choice(self) -> Settled:
        """What the times of the rung on the page are of."""
        return self.choices[self.position]

    @property
    def run(self) -> Settled:
        """What Run would run."""
        return self.runs[self.position]


@lru_cache(maxsize=KEPT)
def page_of(
    ladder: str,
    position: int,
    chosen: tuple[tuple[str, str], ...],
    order: str,
    presenting: bool,
    plot: str,
    found: tuple[service.HostGpu, ...],
) -> Page:
    """The page with this rung of a ladder, made once for all browsers. NotRunnable.

    `chosen`: what the menus say; `order`: of execution; `found`: this computer's GPUs.
    """
    shown, words = LADDERS[ladder], dict(chosen)
    asked = tuple(choice_of(rung, words, shown.rungs[position]) for rung in shown.rungs)
    ran = tuple(run_of(choice, shown, words["device"], order) for choice in asked)
    return Page(shown, TOPICS[shown.topic], position, asked, ran, presenting, plot)


def choice_of(rung: Rung, chosen: Mapping[str, str], on_page: Rung) -> Settled:
    """What the menus say, for one rung. Combining and grid size were chosen for the rung on the page only, its knob for
    every rung that has the same."""
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
    )
    return settle(asked)


def run_of(choice: Settled, ladder: Ladder, device: str, order: str) -> Settled:
    """What Run runs for a choice: on the emulator in the order that was chosen and, unless the emulator was asked for
    by name, at an N that it can count in a lecture's patience."""
    if choice.device != "emulator":
        return choice
    schedule = menus.schedule_of(order)
    n = emulated_n(ladder, choice.n) if device == AUTO else choice.n
    return replace(choice, n=n, schedule=schedule)


def run_sizes(asked: Sequence[Settled]) -> None:
    """Run these choices for the page, each named by its kernel and N. For callbacks."""
    work.start(WORK, asked, [f"{KERNELS[choice.kernel].title}, N = {choice.n:,}" for choice in asked])


@dataclass(frozen=True, eq=False)
class Facts:
    """`known`: about each rung; `frame`: the table made of it, `rows`: the same as one mapping a rung.

    Equal to itself alone, so that what is made of it can be kept for whoever asks again.
    """

    known: Sequence[Known]
    frame: pd.DataFrame
    rows: Sequence[Mapping[str, Any]]


class Same:
    """Measurements that are the very same ones: a new run makes a new one, and what was recorded stays."""

    def __init__(self, known: Sequence[Known]) -> None:
        self.known = known
        self._ids = tuple((id(one.live), id(one.recorded)) for one in known)

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._ids == other._ids


def facts_of(page: Page) -> Facts:
    """What is known by now about every rung on the page."""
    known = [work.outcome(choice, run) for choice, run in zip(page.choices, page.runs, strict=True)]
    return _made(page.ladder.name, page.choices, Same(known))


@lru_cache(maxsize=KEPT)
def _made(ladder: str, choices: tuple[Settled, ...], same: Same) -> Facts:
    frame = tables.ladder_table(LADDERS[ladder], choices, same.known)
    return Facts(same.known, frame, frame.to_dict("records"))
