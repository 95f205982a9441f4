"""What came of a plan: its answer checked, its time, its counts, and the record that is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.records.choice import Array, Choice, Status


@dataclass(frozen=True)
class Check:
    """The answer beside the reference: scalars; of an array the element that misses by most. Ints compare exactly.

    `first`: the first elements of an array's reference, None where their order is free or there is no array; `off`:
    the places among them where the answer misses by more than its bound. `answer`: the first elements of the array
    itself, None for what is no finite number, and `count` how many it has; both None for a single number.
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
    """Why the counts of a .cu line cannot be a GPU's, in one sentence that names the line."""

    line: int
    message: str


@dataclass(frozen=True)
class Counts:
    """What the emulator counted: over the whole run, and by .cu line; and where a GPU counts otherwise."""

    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...] = ()
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True)
class Run:
    """One execution of a plan: the answer and, on the emulator, what was counted, found, and printed by printf.

    `badges`: what must stand beside its numbers; `notes`: the same and more for the record's environment.
    """

    output: Array
    counts: Counts | None = None
    findings: tuple[Finding, ...] = ()
    printed: tuple[str, ...] = ()
    badges: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """Samples of one plan on a GPU in microseconds, and how they were taken.

    `low_us`, `high_us`: 95% confidence interval of the median. `floor_us`: the empty kernel on the same path.
    `peers`: name -> Timing of what a user would pick instead, sampled round-robin with this plan; `ratio` is then
    the median of peer time / plan time over paired samples (above 1: the plan is faster), with its 95% interval.
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
    """What a time comes to: bytes and operations by the lecture's count over the time, and the part of the device's
    peak that the topic is rated by; None where no peak of that unit and type is known."""

    bandwidth_gb_s: float | None = None
    gflop_s: float | None = None
    percent_of_peak: float | None = None


@dataclass(frozen=True)
class Measurement:
    """A checked, and on a GPU timed, run of a choice, made of its parts; a part that there is not is None.

    `device`: {kind, name, ...}, what ran. `reason`: one sentence where the status is not ok; `log`: the compiler's, or
    a traceback. `grid_size`: the blocks that ran, where that is known. `findings`, `printed`: as in Run, also of a run
    that failed. What `--json` prints and history keeps is its flat form: see engine.history.contract.
    """

    choice: Choice  # Settled, but of a run that was refused at the door
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

    @property
    def kernel(self) -> str:
        """Whose run it is."""
        return self.choice.kernel

    @property
    def time_us(self) -> float | None:
        """The median time in microseconds; None where nothing was timed."""
        return self.timing.time_us if self.timing else None

    @property
    def peers(self) -> Mapping[str, Timing]:
        """What was timed alongside, by name; none where nothing was timed."""
        return self.timing.peers if self.timing else {}

    @property
    def cpu(self) -> str | None:
        """The CPU that a scalar rung ran on, whatever device was asked for; None of a rung of the GPU."""
        return self.environment.get("cpu")

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Where a GPU counts otherwise; nowhere, where nothing was counted."""
        return self.counts.caveats if self.counts else ()

    @property
    def counters(self) -> Mapping[str, float] | None:
        """The counters of the whole run; None where nothing was counted."""
        return self.counts.counters if self.counts else None
