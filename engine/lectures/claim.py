"""A claim: a quantity of some runs stands in a relation to a number, and certain words say so.

Lectures, rungs and sheets all make claims; engine.lectures.judge decides them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.catalogue import LADDERS, Published
from engine.records import Choice

CS121, CROVELLA, HEIDELBERG, COOPER, HEKUN = "cs121", "crovella", "heidelberg", "cooper", "hekun"
LECTURES: dict[str, str] = {
    CS121: "CS121",
    CROVELLA: "Crovella",
    HEIDELBERG: "Heidelberg",
    COOPER: "Cooper",
    HEKUN: "He Kun",
}


@dataclass(frozen=True)
class Counted:
    """scale * over / under, or just scale * over: of a whole run, or of its .cu line that contains `line`. With a
    second run: the count of the second over that of the first.

    `over`, `under`: names in engine.records.counters. `whole_under`: `under` is of the whole run even with a `line`.
    `unit`: what the number is called.
    """

    over: str
    under: str = ""
    scale: float = 1.0
    line: str = ""
    whole_under: bool = False
    unit: str = ""


@dataclass(frozen=True)
class TimeRatio:
    """The slower time over the faster one, of runs in pairs (slower, faster), multiplied over all pairs; of another
    `metric`, where more is better, the faster over the slower. `medians`: the intervals of the times do not count.

    `beyond`: the runs are one pair and a third, whose time is taken away from both. `unit`, `words`: what to call the
    ratio, and what the lecture says if it names no number, if "as fast" and "faster" do not fit.
    """

    metric: str = "time_us"
    medians: bool = False
    beyond: bool = False
    unit: str = ""
    words: str = ""


@dataclass(frozen=True)
class FastestBlock:
    """The block size with the shortest time among runs that differ in it."""


@dataclass(frozen=True)
class Status:
    """How a run ends. `edit`: (old, new), what is changed in its kernel's text before it runs."""

    edit: tuple[str, str] | None = None


@dataclass(frozen=True)
class Findings:
    """The number of hazards that a run has."""


@dataclass(frozen=True)
class Computed:
    """A number in `unit` that is computed from `source`; `compute()` may compile. `words`: what the lecture says if it
    names no number, "more instructions"."""

    compute: Callable[[], float]
    unit: str
    source: str = "the compiled kernel and the GPU's limits"
    words: str = ""


@dataclass(frozen=True)
class Untestable:
    """Nothing that a run decides: what hardware costs to build, say."""


Quantity = Counted | TimeRatio | FastestBlock | Status | Findings | Computed | Untestable

# about: more than 1, and of about this size. Of times, all but the last two allow for run-to-run differences.
Relation = Literal["equals", "one of", "more than", "about", "at least", "at most"]

# direction: more, as the words say, but not by as much, or by more; close: no difference, but the words promise one
Outcome = Literal["holds", "direction", "differs", "close", "untestable"]

# Why words do not hold here: the lecture errs; the GPU or its compiler changed since; the run is judged by rules of
# today; the words are true, but not of this case.
Cause = Literal["", "error", "changed", "rules", "case"]


@dataclass(frozen=True)
class Claim:
    """`quantity` of `runs` stands in `relation` to `expected`: a number, or the statuses that a run may end with.

    `lecture`, `slide`, `sentence`: the words, and where they stand; `ladder`: on whose page. `case`: what of the words
    is checked here. `today`: what comes instead today, an outcome, a number or a status; None: the words hold. `why`:
    the reason, if they do not, or if nothing decides them; `cause`: of which kind it is. `question`: what the runs
    answer, if the words only raise it; a sentence with a question mark is one.
    """

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    quantity: Quantity
    relation: Relation = "equals"
    expected: float | tuple[str, ...] = 1
    runs: tuple[Choice, ...] = ()
    case: str = ""
    today: float | str | None = None
    why: str = ""
    cause: Cause = ""
    question: str = ""

    @property
    def asks(self) -> bool:
        """Return whether the words ask, so the runs give an answer and no verdict."""
        return bool(self.question) or self.sentence.endswith("?")


SECTORS = Counted("global_load_sectors", "global_load_requests", unit="sectors per request")  # of a warp
LOAD_PASSES = Counted("shared_load_wavefronts", "shared_load_requests", unit="passes")  # a request to shared memory
CONSTANT_PASSES = Counted("constant_passes", "constant_requests", unit="passes")  # a request to constant memory
TIMES, STATUS = TimeRatio(), Status()


def emulated(
    *kernels: str,
    n: int = 4096,
    block_size: int = 128,
    grid_size: int | None = None,
    dtype: str = "int32",
    combine: str | None = None,
    parameter: int | None = None,
) -> tuple[Choice, ...]:
    """Return the runs of these kernels on the emulator; only the first has the `parameter`."""
    return tuple(
        Choice(kernel, n, block_size, grid_size, dtype, device="emulator", combine=combine,
               parameter=None if place else parameter)
        for place, kernel in enumerate(kernels)
    )  # fmt: skip


def figure(ladder: str, kernel: str, block_size: int | None = None, n: int | None = None) -> Published:
    """Return what the lecture prints of this kernel, or of the rung that it stands in for: the first figure, or that
    of this block size and n. StopIteration: it prints none."""
    return next(
        printed
        for rung in LADDERS[ladder].rungs
        if rung.timed == kernel
        for printed in rung.published
        if block_size in (None, printed.block_size) and n in (None, printed.n)
    )


def times_as_fast(ladder: str, slow: str, fast: str) -> float:
    """Return the published time of `slow` over that of `fast`."""
    before, now = figure(ladder, slow).time_ms, figure(ladder, fast).time_ms
    assert before and now
    return before / now
