"""The results of a run: its checked answer, its times, its counts, and their record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.records.choice import Array, Choice, Status


@dataclass(frozen=True)
class Check:
    """The answer beside the reference. A right array is represented by the element with the largest error, a wrong one
    by its first wrong element. Integers compare exactly.

    `first`: some elements of an array's reference, from element `begin` on; None if their order is free or the answer
    is one number. `off`: the indices in the array of those whose error exceeds the bound. `answer`: the same elements
    of the answer, None for a value that is not finite; `count`: how many elements it has. Both are None for a single
    number. `wrong`: how many elements are wrong; `at`: the index of the first of them, None if the index means nothing;
    `columns`: of a matrix, else 0.
    """

    ok: bool
    result: float | int
    expected: float | int
    error: float
    error_bound: float
    note: str | None = None
    first: tuple[float | int, ...] | None = None
    off: tuple[int, ...] = ()
    answer: tuple[float | int | None, ...] | None = None
    count: int | None = None
    begin: int = 0
    wrong: int = 0
    at: int | None = None
    columns: int = 0


@dataclass(frozen=True)
class Finding:
    """A hazard: `kind` from the contract, the .cu lines of both accesses, one sentence a student understands."""

    kind: str
    line: int | None
    other_line: int | None
    message: str


@dataclass(frozen=True)
class LineCounters:
    """The counters of one .cu line."""

    line: int
    text: str
    counters: Mapping[str, float]


@dataclass(frozen=True)
class Caveat:
    """The reason why the counts of a .cu line can differ from a GPU's, in one sentence that names the line."""

    line: int
    message: str


@dataclass(frozen=True)
class Counts:
    """The emulator's counts, over the whole run and by .cu line, and the caveats where a GPU's counts differ."""

    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...] = ()
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True)
class Run:
    """One execution of a plan: the answer and its findings; on the emulator also its counts and printf output.

    `badges`: labels shown beside its numbers; `notes`: facts for the record's environment.
    """

    output: Array
    counts: Counts | None = None
    findings: tuple[Finding, ...] = ()
    printed: tuple[str, ...] = ()
    badges: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """Samples of one plan on a GPU in microseconds.

    `low_us`, `high_us`: the 95% confidence interval of the median. `floor_us`: the time of an empty kernel on the same
    path. `peers`: name -> Timing of a library's kernel, sampled in turn with this plan; `ratio` is the median of
    library time / plan time over the pairs (above 1: the plan is faster), with its 95% interval.
    """

    times_us: tuple[float, ...]
    time_us: float
    low_us: float
    high_us: float
    floor_us: float | None = None
    clock: Literal["event", "host"] = "event"
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    peers: Mapping[str, Timing] = field(default_factory=dict)
    badges: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """The rates of a time: the lecture's bytes and operations divided by the time, and the percentage of the device's
    peak.

    A percentage is None if no peak of that unit and type is known.
    """

    bandwidth_gb_s: float | None = None
    gflop_s: float | None = None
    percent_of_peak: float | None = None


@dataclass(frozen=True)
class Measurement:
    """A run of a choice: checked, and timed on a GPU. A missing part is None.

    `device`: {kind, name, ...} of the device that ran. `reason`: one sentence if the status is not ok; `log`: the
    compiler's log or a traceback. `grid_size`: the blocks that ran, if known. `findings`, `printed`: as in Run, also
    for a run that failed. `line`: the .cu line where a run failed; live only. engine.history.contract makes the flat
    form that `--json` prints and history keeps.
    """

    choice: Choice  # a Choice, if the run was refused before it was settled
    device: Mapping[str, Any]
    status: Status
    reason: str | None = None
    log: str | None = None
    grid_size: int | None = None
    check: Check | None = None
    timing: Timing | None = None
    rates: Rates = Rates()
    counts: Counts | None = None
    findings: tuple[Finding, ...] = ()
    printed: tuple[str, ...] = ()
    badges: tuple[str, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    origin: Literal["live", "recorded"] = "live"
    line: int | None = None

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self.choice.kernel

    @property
    def time_us(self) -> float | None:
        """The median time in microseconds; None if nothing was timed."""
        return self.timing.time_us if self.timing else None

    @property
    def peers(self) -> Mapping[str, Timing]:
        """The libraries' times by name; empty if nothing was timed."""
        return self.timing.peers if self.timing else {}

    @property
    def cpu(self) -> str | None:
        """The CPU that ran a scalar rung, whatever device was asked for; None for a rung of the GPU."""
        return self.environment.get("cpu")

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """The caveats where a GPU's counts differ; empty if nothing was counted."""
        return self.counts.caveats if self.counts else ()

    @property
    def counters(self) -> Mapping[str, float] | None:
        """The counters of the whole run; None if nothing was counted."""
        return self.counts.counters if self.counts else None
