"""What the lectures claim in numbers, each with the count that checks it: data, and one small evaluator.

A claim is checked on the emulator, whose counts are exact. Where today's hardware or compiler differs from what the
lecture says, `counted` is the number of today and `why` the reason; the lecture's number stays beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.records import Choice, Measurement

_CS121, _CROVELLA = "cs121", "crovella"


@dataclass(frozen=True)
class Count:
    """scale * over / under, or just scale * over: of the whole run, or of the .cu line that contains `line`.

    `over`, `under`: names of engine.records.COUNTERS. `whole_under`: `under` is of the whole run even with a `line`.
    """

    over: str
    under: str = ""
    scale: float = 1.0
    line: str = ""
    whole_under: bool = False

    @property
    def formula(self) -> str:
        """The count as text: "global_load_sectors / global_load_requests"."""
        factor = "" if self.scale == 1 else f"{self.scale:g} * "
        where = f" on the line {self.line!r}" if self.line else ""
        return f"{factor}{self.over}{' / ' + self.under if self.under else ''}{where}"


@dataclass(frozen=True)
class Claim:
    """One numeric claim. `sentence`: the lecture's words; `case`: what of them is checked here.

    `expected`: the number that follows from the words, in `unit`. `counted`: what is counted today where that is
    another number, and `why`. `parameter`: the kernel's knob. `against`: another kernel; the value is then its count
    over this kernel's. The run: n, block_size, dtype.
    """

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    kernel: str
    count: Count
    unit: str
    expected: float
    case: str = ""
    parameter: int | None = None
    against: str = ""
    counted: float | None = None
    why: str = ""
    n: int = 4096
    block_size: int = 128
    dtype: str = "int32"

    def choice(self, kernel: str = "") -> Choice:
        """The run that is counted, on the emulator; `kernel`: the one that it is compared with."""
        other = kernel or self.kernel
        knob = self.parameter if other == self.kernel else None
        return Choice(other, self.n, self.block_size, dtype=self.dtype, device="emulator", parameter=knob)


@dataclass(frozen=True)
class Verdict:
    """A claim beside what was counted: `holds` compares with the lecture, `as_known` with what is known of today."""

    claim: Claim
    value: float
    holds: bool
    as_known: bool


def counted(count: Count, measurement: Measurement) -> float:
    """The number that `count` describes. KeyError: the run has no counters, or no line with that text."""
    whole: Mapping[str, Any] | None = measurement.counters
    if whole is None:
        raise KeyError(f"{measurement.kernel} was not counted: {measurement.reason or 'it ran on a GPU'}")
    lines = [line for line in measurement.lines if count.line in line["text"]] if count.line else [whole]
    if not lines:
        raise KeyError(f"{measurement.kernel} has no line with {count.line!r} that did anything")
    over = count.scale * sum(float(line[count.over]) for line in lines)
    if not count.under:
        return over
    below = [whole] if count.whole_under else lines
    return over / sum(float(line[count.under]) for line in below)


def judged(claim: Claim, measure: Callable[[Choice], Measurement]) -> Verdict:
    """The claim against the counts of its run, which `measure` gives for a Choice."""
    value = counted(claim.count, measure(claim.choice()))
    if claim.against:
        value = counted(claim.count, measure(claim.choice(claim.against))) / value
    known = claim.expected if claim.counted is None else claim.counted
    return Verdict(claim, value, value == claim.expected, value == known)


def claims_of(ladder: str) -> tuple[Claim, ...]:
    """The claims that belong to a ladder's page."""
    return tuple(claim for claim in CLAIMS if claim.ladder == ladder)


_SECTORS = Count("global_load_sectors", "global_load_requests")
_BYTES = Count("global_load_sectors", "global_load_requests", 32.0)
_LOAD_PASSES = Count("shared_load_wavefronts", "shared_load_requests")
_STORE_PASSES = Count("shared_store_wavefronts", "shared_store_requests")
_BRANCH_PASSES = Count("warp_instructions", "thread_instructions", 32.0, "value = value *")
_ALL_PASSES = Count("warp_instructions", "thread_instructions", 32.0)
_STEPS = Count("branches", "global_load_requests", line="if (tid < stride)", whole_under=True)  # one load per warp

_ONE_PASS = "If threads in a warp access different banks, completes in one pass."
_K_WAYS = (
    "If k > 1 threads access different addresses in same bank, get k-way bank conflict. Accesses serialize, takes k "
    "passes to complete accesses."
)
_K_BRANCHES = "If threads have k branches, SM takes k passes to run warp."

CLAIMS: tuple[Claim, ...] = (
    Claim("one-segment", _CS121, "Memory coalescing",
          "If all 32 locations being read lie in one segment, hardware detects this and only transfers one segment "
          "(128 B) from global memory to SM.",
          "cs121-access", "copy_offset", _BYTES, "bytes per request", 128, parameter=0),
    Claim("worst-case-segments", _CS121, "Memory coalescing",
          "In worst case, transfer 32*128 B = 4KB to read 32 floats!",
          "cs121-access", "copy_strided", _BYTES, "bytes per request", 4096, parameter=32, dtype="float32",
          counted=1024, why="A GPU of today moves sectors of 32 bytes, not segments of 128 bytes: 32 * 32 B = 1 KB."),
    Claim("by-row", _CS121, "Coalescing example", "Locations all consecutive. All iterations coalesced.",
          "cs121-coalescing", "column_sums", _BYTES, "bytes per request", 128, n=128),
    Claim("by-column", _CS121, "Coalescing example",
          "Each iteration accesses nonconsecutive locations. All accesses noncoalesced.",
          "cs121-coalescing", "row_sums", _SECTORS, "sectors per request", 32, "a sector of its own for every lane",
          n=128),
    Claim("staged", _CS121, "Improving coalescing",
          "To improve coalescing, first do coalesced read from global to shared memory.",
          "cs121-coalescing", "row_sums_staged", _BYTES, "bytes per request", 128, n=128),
    Claim("staged-conflicts", _CS121, "Bank conflicts", _K_WAYS,
          "cs121-coalescing", "row_sums_staged", _LOAD_PASSES, "passes", 32, "k = 32: a column of the tile", n=128),
    Claim("padded", _CS121, "Bank conflicts", _ONE_PASS,
          "cs121-coalescing", "row_sums_padded", _LOAD_PASSES, "passes", 1, "a column of the padded tile", n=128),
    Claim("no-conflict", _CS121, "Bank conflicts", _ONE_PASS,
          "cs121-banks", "banks_strided", _LOAD_PASSES, "passes", 1, "stride 1", parameter=1, n=256),
    *(Claim(f"{ways}-way-conflict", _CS121, "Bank conflicts", _K_WAYS,
            "cs121-banks", "banks_strided", _LOAD_PASSES, "passes", ways, f"k = {ways}", parameter=ways, n=256)
      for ways in (2, 4, 8, 16, 32)),
    Claim("broadcast", _CS121, "Bank conflicts",
          "Unless all threads access same value, which then gets broadcast in one pass.",
          "cs121-banks", "banks_broadcast", _LOAD_PASSES, "passes", 1, parameter=1, n=256),
    Claim("consecutive-locations", _CS121, "Bank conflict example",
          "If thread loads consecutive locations, 2 way bank conflict.",
          "cs121-banks", "banks_pairs_neighbours", _STORE_PASSES, "passes", 2),
    Claim("block-size-apart", _CS121, "Bank conflict example",
          "If thread loads locations block size apart, no bank conflicts!",
          "cs121-banks", "banks_pairs_apart", _STORE_PASSES, "passes", 1),
    Claim("three-branches", _CS121, "Warp divergence", _K_BRANCHES,
          "cs121-divergence", "divergence_three", _ALL_PASSES, "passes", 3, "k = 3: the lecture's example", counted=1,
          why="The branches are so short that the compiler computes all values and selects one: no branch is left."),
    *(Claim(f"{ways}-branches", _CS121, "Warp divergence", _K_BRANCHES,
            "cs121-divergence", "divergence_ways", _BRANCH_PASSES, "passes", ways, f"k = {ways}", ways, n=1024)
      for ways in (2, 3, 8)),
    Claim("worst-case-divergence", _CS121, "Warp divergence", "In worst case, SM takes 32 passes to run one warp!",
          "cs121-divergence", "divergence_ways", _BRANCH_PASSES, "passes", 32, parameter=32, n=1024),
    Claim("different-warps", _CS121, "Thread warps",
          "Different warps can do different things without performance loss.",
          "cs121-divergence", "divergence_warps", _BRANCH_PASSES, "passes", 1, parameter=32, n=1024),
    Claim("tiles-reuse", _CS121, "Shared memory and tiled MM",
          "Total (n/m)^2*(n/m)*2m^2 = 2n^3/m accesses. A factor of m less!",
          "cs121-tiling", "matmul_tiled", Count("global_load_requests"), "times fewer reads", 16, "m = 16",
          against="matmul_naive", n=64, block_size=16, dtype="float32"),
    Claim("divergent-iterations", _CS121, "Reducing divergence", "8 iterations, only 4 have divergence.",
          "harris", "reduce_sequential", Count("divergent_branches", line="if (tid < stride)"), "iterations", 4,
          "512 values", n=512, block_size=512, counted=5,
          why="The lecture's loop stops before stride 1. All strides below 32 diverge: 16, 8, 4, 2 and 1."),
    Claim("tree-steps", _CROVELLA, "Parallel Reduction Complexity",
          "log(N) parallel steps, each step S does N/2^S independent ops.",
          "harris", "reduce_sequential", _STEPS, "steps", 7, "N = 128: one block", n=128),
    Claim("sequential-conflict-free", _CROVELLA, "Parallel Reduction: Sequential Addressing",
          "Sequential addressing is conflict free.",
          "harris", "reduce_sequential", _LOAD_PASSES, "passes", 1),
    Claim("one-shuffle", _CROVELLA, "Warp shuffle tips and tricks",
          "Broadcast a value to all threads in the warp in a single instruction.",
          "crovella-warps", "warp_broadcast", Count("shuffles", "global_store_requests"), "shuffles per warp", 1),
    Claim("every-thread-at-once", _CROVELLA, "Reduction: naive thread strategy",
          "But every thread is trying to do this, potentially at the same time.",
          "crovella-atomics", "atomic_add", Count("atomic_max_contention"), "lanes at one address", 32,
          "the 32 lanes of a warp", parameter=1),
    Claim("aggregated", _CROVELLA, "Warp shuffle tips and tricks", "Atomic aggregation.",
          "crovella-order", "filter_aggregated", Count("atomic_max_contention"), "lanes at one address", 1,
          "one lane draws for its warp"),
)  # fmt: skip
