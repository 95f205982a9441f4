"""The ladder page in one run of its script: what is shown, which runs it is of, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, Ladder, Rung, Topic
from engine.figures.look import Figure, Look
from engine.history import tables
from engine.history.history import Known
from engine.records import Settled
from views.shared import work

T = TypeVar("T")
WORK = "ladder work"  # the name of the runs that the page waits for
KEPT = 256  # results of each kind that browsers share


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known about each rung, and the rows of the ladder's table that are made of it.

    Compared by identity, so it can be a cache key.
    """

    known: Sequence[Known]
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Picture:
    """A plot of the ladder page. `name`: in the address; `title`: on its button.

    `figure` is made anew with every result, so it holds no widget. `controls`: its widgets, drawn once, above the plot.
    `words`: HTML that stands below the plot and explains it.
    """

    name: str
    title: str
    offered: Callable[[Page], bool]
    figure: Callable[[Page, Facts, Look], Figure]
    controls: Callable[[Page], None] | None = None
    words: Callable[[Page, Facts], str] | None = None


@dataclass(frozen=True)
class Bars(Picture):
    """A plot with a bar for each rung. `paired`: the lecture's bar stands below each of ours."""

    paired: bool = False


@dataclass(frozen=True)
class Scene:
    """An animation in place of the plot, also on a slide. `show` draws it with its widgets, once a run of the script;
    the place around it has a fixed height."""

    name: str
    title: str
    offered: Callable[[Page], bool]
    show: Callable[[Page], None]
    controls: None = None
    words: None = None


Plot = Picture | Scene


@dataclass(frozen=True)
class Section:
    """A part of the page below the table. `html` is made anew with every result; `controls`: its widgets, drawn once,
    above it."""

    name: str
    title: str
    offered: Callable[[Page], bool]
    html: Callable[[Page, Sequence[Known]], str]
    controls: Callable[[Page], None] | None = None


@dataclass(frozen=True, eq=False)
class Page:
    """A ladder, the rung on the page, and everything that the menus choose; browsers at the same address share it.

    `choices`: one a rung, which the times are of; `runs`: what Run runs, which on the emulator may be at another N.
    `plots`, `sections`: those that this rung offers, by name; `plot`: the one that is shown. `answer_count`: elements
    of the answer, 0 if it is a single number. Compared by identity, so it can be a cache key.
    """

    ladder: Ladder
    position: int
    choices: tuple[Settled, ...]
    runs: tuple[Settled, ...]
    presenting: bool
    plot: Plot
    plots: Mapping[str, Plot] = field(default_factory=dict)
    sections: Mapping[str, Section] = field(default_factory=dict)
    answer_count: int = 0

    @property
    def topic(self) -> Topic:
        """The topic of the ladder."""
        return TOPICS[self.ladder.topic]

    @property
    def rung(self) -> Rung:
        """The rung on the page."""
        return self.ladder.rungs[self.position]

    @property
    def kernel(self) -> Kernel:
        """The kernel of this rung."""
        return KERNELS[self.rung.kernel]

    @property
    def counting(self) -> bool:
        """Whether runs are counted by the emulator, and not timed."""
        return self.choice.device == "emulator"

    @property
    def choice(self) -> Settled:
        """What the times of this rung are of."""
        return self.choices[self.position]

    @property
    def run(self) -> Settled:
        """What Run runs."""
        return self.runs[self.position]


def shared(make: Callable[..., T]) -> Callable[..., T]:
    """Cache `make(known, *key)` for all browsers. `known` counts by the identity of its measurements: a new run makes
    a new one, and comparing their contents would take longer than drawing them."""
    kept: dict[Any, tuple[Sequence[Known], T]] = {}
    writing = Lock()  # pages are made by many threads

    @wraps(make)
    def found(known: Sequence[Known], *key: Any) -> T:
        which = (*key, *((id(one.live), id(one.recorded)) for one in known))
        entry = kept.get(which)
        if entry is None:
            entry = known, make(known, *key)  # holds the measurements, so that nothing else gets their ids
            with writing:
                if len(kept) >= KEPT:
                    del kept[next(iter(kept))]
                kept[which] = entry
        return entry[1]

    found.cache_clear = kept.clear  # type: ignore[attr-defined]
    return found


def facts_of(page: Page) -> Facts:
    """Return what is known by now about every rung on the page."""
    known = [work.outcome(choice, run) for choice, run in zip(page.choices, page.runs, strict=True)]
    return _facts(known, page.ladder.name, page.choices)


@shared
def _facts(known: Sequence[Known], ladder: str, choices: tuple[Settled, ...]) -> Facts:
    return Facts(known, tables.ladder_table(LADDERS[ladder], choices, known).to_dict("records"))


def run_sizes(asked: Sequence[Settled]) -> None:
    """Run these choices for the page, each named by its kernel and N. For callbacks."""
    work.start(WORK, asked, [f"{KERNELS[choice.kernel].title}, N = {choice.n:,}" for choice in asked])
