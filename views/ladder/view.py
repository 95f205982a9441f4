"""The ladder page in one run of its script: the rung, its plots and sections, its runs, and their known results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, Ladder, Rung, Topic
from engine.catalogue.entries import Published
from engine.figures.bars import held_back
from engine.figures.look import Figure, Look
from engine.history import tables
from engine.history.history import Known
from engine.records import Settled
from views.shared import work

T = TypeVar("T")
WORK = "ladder work"  # the name of the runs that the page waits for
KEPT = 256  # results of each kind that all browsers share


@dataclass(frozen=True)
class Facts:
    """The known results of each rung, and the rows of the ladder's table made from them.

    A rung whose numbers are held back has no known results; its row has only names and, as `engine.figures.bars.HELD`,
    the whole row, for the scale of an axis. `sources`: of the "times" and the "counters", in words.
    """

    known: Sequence[Known]
    rows: Sequence[Mapping[str, Any]]
    sources: Mapping[str, str]


@dataclass(frozen=True)
class Picture:
    """A plot of the ladder page. `name`: in the address; `title`: on its button.

    `figure` runs again for every result, so it holds no widget. `controls`: its widgets, drawn once, above the plot.
    `words`: HTML below the plot that explains it. `covers`: "?" stands in its place while the numbers of the rung are
    held back; else it holds them back itself.
    """

    name: str
    title: str
    offered: Callable[[Page], bool]
    figure: Callable[[Page, Facts, Look], Figure]
    controls: Callable[[Page], None] | None = None
    words: Callable[[Page, Facts], str] | None = None
    covers: bool = True


@dataclass(frozen=True)
class Bars(Picture):
    """A plot with a bar for each rung. `paired`: whether a second bar may be below each, such as the lecture's."""

    covers: bool = False
    paired: Callable[[Page], bool] = lambda page: False


@dataclass(frozen=True)
class Scene:
    """An animation in place of the plot, also on a slide. `show` draws it with its widgets, once per run of the script,
    in a container of fixed height."""

    name: str
    title: str
    offered: Callable[[Page], bool]
    show: Callable[[Page], None]
    controls: None = None
    words: None = None


Plot = Picture | Scene


@dataclass(frozen=True)
class Section:
    """A part of the page below the table. `html` runs again for every result; `controls`: its widgets, drawn once,
    above it."""

    name: str
    title: str
    offered: Callable[[Page], bool]
    html: Callable[[Page, Sequence[Known]], str]
    controls: Callable[[Page], None] | None = None


@dataclass(frozen=True, eq=False)
class Page:
    """A ladder, the rung on the page, and all choices of the menus; browsers at the same address share it.

    `choices`: one per rung, for its time; `runs`: the choices that Run starts, on the emulator perhaps at another N.
    `shown`: the first rungs, whose numbers are shown; those of the others are held back. `plots`, `sections`: those of
    this rung, by name; `plot`: the shown one. `answer_count`: elements of the answer, 0 if it is a single number;
    `launch`: what its time launches, in words; `published`: the lecture's figure at this choice, None without one.
    Compared by identity, so it can be a cache key.
    """

    ladder: Ladder
    position: int
    choices: tuple[Settled, ...]
    runs: tuple[Settled, ...]
    presenting: bool
    shown: int
    plot: Plot
    plots: Mapping[str, Plot] = field(default_factory=dict)
    sections: Mapping[str, Section] = field(default_factory=dict)
    answer_count: int = 0
    launch: str = ""
    published: Published | None = None

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
    def covered(self) -> bool:
        """Return whether this rung's own numbers are held back."""
        return self.position >= self.shown

    @property
    def tells_all(self) -> bool:
        """Return whether the numbers of all rungs are shown."""
        return self.shown >= len(self.choices)

    @property
    def counting(self) -> bool:
        """Return whether the emulator counts the runs, and nothing is timed."""
        return self.choice.device == "emulator"

    @property
    def choice(self) -> Settled:
        """Return the choice that the time of this rung belongs to."""
        return self.choices[self.position]

    @property
    def run(self) -> Settled:
        """Return the choice that Run starts."""
        return self.runs[self.position]


def shared(make: Callable[..., T]) -> Callable[..., T]:
    """Cache `make(known, *key)` for all browsers.

    The key holds the identities of the measurements in `known`: a new run makes new ones, and comparing their contents
    would take longer than drawing them.
    """
    kept: dict[Any, tuple[Sequence[Known], T]] = {}
    writing = Lock()  # many threads draw pages

    @wraps(make)
    def found(known: Sequence[Known], *key: Any) -> T:
        which = (*key, *((id(one.live), id(one.recorded)) for one in known))
        entry = kept.get(which)
        if entry is None:
            entry = known, make(known, *key)  # keeps the measurements alive, so no other object gets their ids
            with writing:
                if len(kept) >= KEPT:
                    del kept[next(iter(kept))]
                kept[which] = entry
        return entry[1]

    found.cache_clear = kept.clear  # type: ignore[attr-defined]
    return found


def all_known(page: Page) -> list[Known]:
    """Return the known results of every rung on the page."""
    return [work.outcome(choice, run) for choice, run in zip(page.choices, page.runs, strict=True)]


def facts_of(page: Page) -> Facts:
    """Return the known results of every rung on the page, without those that are held back."""
    known = all_known(page)
    rows = _rows(known, page.ladder.name, page.choices)
    if not page.tells_all:
        held = [held_back(row) for row in rows[page.shown :]]
        known, rows = [*known[: page.shown], *(Known() for _ in held)], [*rows[: page.shown], *held]
    return Facts(known, rows, tables.sources(known, page.choice.n, page.run.n))


@shared
def _rows(known: Sequence[Known], ladder: str, choices: tuple[Settled, ...]) -> list[Mapping[str, Any]]:
    return tables.ladder_table(LADDERS[ladder], choices, known).to_dict("records")


def run_sizes(asked: Sequence[Settled]) -> None:
    """Run these choices for the page; kernel and N name each run. For callbacks."""
    work.start(WORK, asked, [f"{KERNELS[choice.kernel].title}, N = {choice.n:,}" for choice in asked])
