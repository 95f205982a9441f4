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
    """What a user asks for. `grid_size`, `combine`, `parameter` None: the kernel's own rule.

    `parameter` is the kernel's own knob where it has one (a stride, a number of ways). `source`: text in place of the
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
    source: str | None = None
    source_name: str | None = None


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

    choice: Choice
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
    the places among them where the answer misses by more than its bound.
    """

    ok: bool
    result: float | int
    expected: float | int
    error: float
    error_bound: float
    note: str | None = None
    first: tuple[float | int, ...] | None = None
    off: tuple[int, ...] = ()


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
class Run:
    """One execution of a plan: the answer and, on the emulator, what was counted, found, and printed by printf."""

    output: Array
    counters: Mapping[str, float] | None = None
    lines: tuple[LineCounters, ...] = ()
    findings: tuple[Finding, ...] = ()
    printed: tuple[str, ...] = ()


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
class Measurement:
    """A checked, and on a GPU timed, record: the object that `--json` prints and that history keeps.

    `grid_size` is the grid that ran, `grid_asked` what the choice named (None: the kernel's own rule). Where the answer
    is an array of `answer_count` elements, `answer` are the first of them, None for what is no finite number;
    `answer_expected` the reference's, None where any order is right; `answer_off` the places where they disagree.
    """

    kernel: str
    n: int
    block_size: int
    grid_size: int | None
    dtype: str
    cache: str
    combine: str | None
    device: Mapping[str, Any]
    status: Status
    reason: str | None = None
    log: str | None = None
    parameter: int | None = None
    grid_asked: int | None = None
    result: float | int | None = None
    expected: float | int | None = None
    error: float | None = None
    error_bound: float | None = None
    times_us: tuple[float, ...] | None = None
    time_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    floor_us: float | None = None
    clock: str | None = None
    bandwidth_gb_s: float | None = None
    gflop_s: float | None = None
    percent_of_peak: float | None = None
    peers: Mapping[str, Any] = field(default_factory=dict)
    badges: tuple[str, ...] = ()
    counters: Mapping[str, float] | None = None
    lines: tuple[Mapping[str, Any], ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    printed: tuple[str, ...] = ()
    answer: tuple[float | int | None, ...] | None = None
    answer_count: int | None = None
    answer_expected: tuple[float | int, ...] | None = None
    answer_off: tuple[int, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    origin: Literal["live", "recorded"] = "live"


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's dtype for a type name; KeyError for an unknown one is a bug of the caller."""
    return np.dtype({"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"}[name])
