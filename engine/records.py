"""The values that travel between the modules: frozen, printable, picklable.

    page -> Choice -> plan -> Plan -> compile -> PTX --+--> gpu ------+--> Run -> measure -> Measurement
                        |                              +--> emulator -+
                        +-> NotRunnable(reason) -> page

Vocabulary: a `kernel` is a `__global__` function with its file; a `rung` its place in a `ladder`;
`n` the number of elements (or the matrix width); `block_size` the threads per block (or the tile
width); `grid_size` the blocks; a `plan` the steps that produce one answer; a `run` one execution; a
`measurement` a checked and, on a GPU, timed record. A value that was not measured is None, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Progress = Callable[[float, str], None]  # (fraction done 0..1, what is being done)

# The element types a kernel can be compiled for: name -> (C type, NumPy type).
C_TYPES: dict[str, str] = {"int32": "int", "float32": "float", "float64": "double"}
CACHE_STATES: tuple[str, ...] = ("cold-clean", "cold-dirty", "hot")
DEVICES: tuple[str, ...] = ("auto", "gpu", "emulator")

# How the partial sums of the blocks become one answer.
COMBINES: dict[str, str] = {
    "relaunch": "The kernel is launched again on the block sums, with the same block size, until one block is left.",
    "relaunch-resized": "As relaunch, but every level chooses its own block size: the lecture's open exercise.",
    "host": "The block sums are copied to the host, which adds them.",
    "atomic": "Every block adds its sum to the result with one atomic.",
    "last-block": "The block that finishes last adds the block sums: one launch.",
    "hand-over": "Every block hands its sum to the last block in one word that also says it is there: one launch.",
    "grid-sync": "All blocks wait for each other (grid sync), then one block adds the block sums: one launch.",
    "none": "Nothing to combine: every thread writes for itself.",
}

Status = Literal["ok", "wrong", "hazard", "refused", "compile-error", "out-of-bounds",
                 "deadlock", "timeout", "crashed"]  # fmt: skip


class NotRunnable(Exception):
    """The choice cannot be run as asked, and the user can change it. `str(error)` is one sentence."""


class CompileError(Exception):
    """NVRTC refused the source. `str(error)` is one sentence with the .cu line; `log` is the compiler's whole log."""

    def __init__(self, sentence: str, log: str, line: int | None = None) -> None:
        super().__init__(sentence, log, line)
        self.log, self.line = log, line

    def __str__(self) -> str:
        return str(self.args[0])


class RunFailed(Exception):
    """A run ended without an answer: `status` is the contract's word for it, `str(error)` one sentence.

    `finding`: the kind of hazard that ended it ("out-of-bounds", "misaligned", "step-limit", ...), where it was one.
    """

    def __init__(self, status: Status, sentence: str, line: int | None = None, finding: str | None = None) -> None:
        super().__init__(status, sentence, line, finding)
        self.status, self.line, self.finding = status, line, finding

    def __str__(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True)
class Choice:
    """What a user asks for. `grid_size`, `combine`, `parameter`, `schedule` None: the kernel's own rule.

    `parameter` is the kernel's own knob where it has one (a stride, a number of ways). `schedule`: in which order the
    emulator runs lanes and blocks, "lockstep", "independent:SEED" or "waves:BLOCKS". `source`: text in place of the
    file.
    """

    kernel: str
    n: int
    block_size: int
    grid_size: int | None = None
    dtype: str = "int32"
    cache: str = "cold-clean"
    device: str = "auto"
    combine: str | None = None
    parameter: int | None = None
    schedule: str | None = None
    source: str | None = None
    source_name: str | None = None


@dataclass(frozen=True)
class Settled(Choice):
    """A Choice as it will run: "gpu" or "emulator", with the kernel's own way to combine and own knob named.

    Made at the door by `engine.choices.settle`, and passed on whole from there: equal ones run the same.
    """


@dataclass(frozen=True)
class Source:
    """One translation unit. `name` is what messages call it; `defines` become compiler macros; `dtype` becomes `T`."""

    name: str
    text: str
    dtype: str
    defines: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Buffer:
    """Device memory of `count` elements. `fill`: "input" (the topic's data of that name), "poison", or "zero"."""

    name: str
    dtype: str
    count: int
    fill: Literal["input", "poison", "zero"]


@dataclass(frozen=True)
class Scalar:
    """A kernel argument passed by value."""

    dtype: str
    value: int | float


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `args` are buffer names or scalars, in the kernel's order."""

    kernel: str
    source: Source
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[str | Scalar, ...]
    cooperative: bool = False


@dataclass(frozen=True)
class Zero:
    """Set a buffer to zero: part of the plan and of its time."""

    buffer: str


@dataclass(frozen=True)
class HostSum:
    """Copy the first `count` elements of `buffer` to the host and add them there, in `buffer`'s element type."""

    buffer: str
    count: int


@dataclass(frozen=True)
class HostRun:
    """Run `function` of a source on the CPU, on one thread, compiled by the machine's C++ compiler: a scalar rung.

    `args` as for a launch; buffers lie in the host's memory. `stand_in(*args)` does the same in Python where there is
    no compiler: its answer is checked, but nothing is timed.
    """

    function: str
    source: Source
    args: tuple[str | Scalar, ...]
    stand_in: Callable[..., None]


Step = Launch | Zero | HostSum | HostRun


@dataclass(frozen=True)
class Plan:
    """The steps that produce one answer, with all that is needed to check and rate it.

    `result` names the buffer whose first `result_count` elements are the answer (with a final HostSum, the answer is
    that sum). `bytes_moved` and `flops` are the lecture's counts. `additions` is the longest chain of roundings, which
    the error bound is made of.
    """

    choice: Settled
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    result: str
    result_count: int
    bytes_moved: int
    flops: int
    additions: int
    grid_size: int


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
class Counts:
    """What the emulator counted: over the whole run, and by .cu line."""

    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...] = ()


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
    def counters(self) -> Mapping[str, float] | None:
        """The counters of the whole run; None where nothing was counted."""
        return self.counts.counters if self.counts else None


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's dtype for a type name; KeyError for an unknown one is a bug of the caller."""
    return np.dtype({"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"}[name])
