"""A claim: a sentence by which a quantity of some runs has a relation to a number.

Lectures, rungs and sheets all make claims; engine.lectures.judge decides them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.catalogue import LADDERS, Published
from engine.records import Choice, Finding, Measurement

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
    `unit`: of the number; `words`: for a sentence without a number, "fewer reads".
    """

    over: str
    under: str = ""
    scale: float = 1.0
    line: str = ""
    whole_under: bool = False
    unit: str = ""
    words: str = ""


@dataclass(frozen=True)
class TimeRatio:
    """The slower time over the faster one, of runs in pairs (slower, faster), multiplied over all pairs; of another
    `metric`, in which more is better, the faster over the slower. `medians`: the times' intervals do not count.

    `beyond`: the runs are one pair and a third run, whose time is subtracted from both. `unit`, `words`: for a ratio
    that "as fast" does not fit, and for a sentence without a number that "faster" does not fit.
    """

    metric: str = "time_us"
    medians: bool = False
    beyond: bool = False
    unit: str = ""
    words: str = ""


@dataclass(frozen=True)
class FastestBlock:
    """The block size with the shortest time, among runs that differ in block size only."""


@dataclass(frozen=True)
class Status:
    """The status in which a run ends. `edit`: (old, new), a change of its kernel's text before it runs."""

    edit: tuple[str, str] | None = None


@dataclass(frozen=True)
class Findings:
    """The number of hazards that a run has, without those of the kinds `allowed`."""

    allowed: tuple[str, ...] = ()

    def of(self, measurement: Measurement) -> tuple[Finding, ...]:
        """Return the hazards that count."""
        return tuple(found for found in measurement.findings if found.kind not in self.allowed)


@dataclass(frozen=True)
class Computed:
    """A number in `unit` that is computed from `source`; `compute()` may compile. `words`: the lecture's words if it
    names no number, such as "more instructions"."""

    compute: Callable[[], float]
    unit: str
    source: str = "the compiled kernel and the GPU's limits"
    words: str = ""


@dataclass(frozen=True)
class Untestable:
    """A question that no run decides, such as the cost of hardware."""


Quantity = Counted | TimeRatio | FastestBlock | Status | Findings | Computed | Untestable

# about: more than 1, and of about this size. For times, all but the last two allow for run-to-run differences.
Relation = Literal["equals", "one of", "more than", "about", "at least", "at most"]

# direction: more, as the sentence says, but by another factor; close: no difference, but the sentence promises one
Outcome = Literal["holds", "direction", "differs", "close", "untestable"]

# Why a sentence does not hold here: the lecture errs; the GPU or its compiler has changed since; today's rules judge
# the run; the sentence is true, but not in this case.
Cause = Literal["", "error", "changed", "rules", "case"]


@dataclass(frozen=True)
class Claim:
    """`quantity` of `runs` stands in `relation` to `expected`: a number, or the statuses that a run may end with.

    `lecture`, `slide`, `sentence`: the quotation and its place; `ladder`: the page that shows it. `case`: the case that
    is checked here. `today`: the known result of today (an outcome, a number or a status) if the sentence does not
    hold; `why`: the reason, also if no run decides it; `cause`: the kind of reason. `question`: the question that the
    runs answer, if the sentence only raises it; a sentence with a question mark is one.
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
        """Return whether the sentence asks, so the runs give an answer and no verdict."""
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
    """Return the figure that the lecture prints for this kernel, or for the rung that it stands in for: the first one,
    or the one at this block size and n. StopIteration: there is none."""
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
