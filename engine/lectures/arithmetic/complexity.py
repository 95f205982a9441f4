"""Crovella's arithmetic of parallel algorithms for one choice: steps, work and cost, by the formula and as launched.

N elements on P threads: every thread first adds its N/P elements, then all of them work down a tree. So the time is
T = N/P + log2 P steps, the work N - 1 additions, the cost P * T: what P threads could have done in that time. The
algorithm is cost-efficient if its cost grows like its work (Brent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any

from engine.catalogue import KERNELS
from engine.gpu_models import WARP, resident_threads
from engine.history.history import Known, device_line, recorded_for
from engine.plan import grid_for, offered, plan, strides
from engine.records import Choice, HostRun, Launch, Measurement, Scalar
from engine.words import size_text, time_text

CLAIM = (1024, 4096)  # elements per thread: "best perf with ... 1024-4096 elements per thread"
SLIDE = "Algorithm Cascading"
SAME = 1.03  # times this close are the same

# How the sums of the blocks become one where no launch does it: how many steps in a row `blocks` sums then take.
_TAILS = {"host": "the host adds them", "atomic": "atomics at one address, one after the other"}
# Kernels whose blocks wait once after loading and once after each step of the tree: there the steps can be counted.
_ONE_BARRIER_A_STEP = ("reduce_interleaved", "reduce_strided", "reduce_sequential", "reduce_first_add",
                       "reduce_grid_stride_host", "reduce_grid_stride_atomic")  # fmt: skip
_NO_TREE = ("reduce_racy", "reduce_atomic")


def brent_steps(n: int, threads: int) -> int:
    """T = N/P + log2 P, both rounded up."""
    return ceil(n / threads) + ceil(log2(threads)) if threads > 1 else n


def brent_cost(n: int, threads: int) -> int:
    """P * T."""
    return threads * brent_steps(n, threads)


def work(n: int) -> int:
    """N/2 + N/4 + ... + 1 = N - 1 additions, however they are distributed."""
    return n - 1


@dataclass(frozen=True)
class Level:
    """One launch: `n` numbers on `blocks` blocks of `block_size` threads, of which each first takes `loads` of them;
    then the block goes down a tree of `tree` steps. `tail`: additions in a row after that, and what makes them."""

    n: int
    blocks: int
    block_size: int
    loads: int
    tree: int
    tail: int = 0
    tail_by: str = ""

    @property
    def threads(self) -> int:
        """P of this launch."""
        return self.blocks * self.block_size

    @property
    def steps(self) -> int:
        """Of the longest chain: a step for each element, one for each step of the tree, one for each in the tail."""
        return self.loads + self.tree + self.tail

    @property
    def cost(self) -> int:
        """Threads times the steps during which they are allotted; nobody is allotted to the tail but one thread."""
        return self.threads * (self.loads + self.tree) + self.tail

    def working(self) -> list[int]:
        """How many threads work in each step: all while loading, half of the block, a quarter, ..., one a block."""
        return [self.threads] * self.loads + [
            self.blocks * max(1, self.block_size >> step) for step in range(1, self.tree + 1)
        ]


def levels(choice: Choice) -> tuple[Level, ...]:
    """The launches of a reduction's plan, in their order. NotRunnable where the choice is."""
    kernel, whole = KERNELS[choice.kernel], plan(choice)
    if isinstance(whole.steps[0], HostRun):
        return (Level(choice.n, 1, 1, choice.n, 0),)
    made = []
    for step in whole.steps:
        if isinstance(step, Launch):
            n = next(arg.value for arg in step.args if isinstance(arg, Scalar))
            blocks, threads = step.grid[0], step.block[0]
            tree = 0 if kernel.name in _NO_TREE else ceil(log2(threads))
            made.append(Level(int(n), blocks, threads, ceil(int(n) / (blocks * threads)), tree))
    combine = choice.combine or kernel.combines[0]
    last = made[-1]
    if kernel.name in _NO_TREE:
        made[-1] = replace(last, tail=choice.n, tail_by="additions at one address, one after the other")
    elif combine in _TAILS and last.blocks > 1:
        made[-1] = replace(last, tail=last.blocks, tail_by=f"{last.blocks:,} block sums: {_TAILS[combine]}")
    elif combine in ("last-block", "hand-over", "grid-sync") and last.blocks > 1:
        steps = ceil(last.blocks / last.block_size) + last.tree
        made[-1] = replace(last, tail=steps, tail_by=f"one block adds {last.blocks:,} block sums")
    return tuple(made)


def steps_of(made: Sequence[Level]) -> int:
    """All launches together."""
    return sum(level.steps for level in made)


def cost_of(made: Sequence[Level]) -> int:
    """All launches together."""
    return sum(level.cost for level in made)


# ---- elements per thread


@dataclass(frozen=True)
class Point:
    """One number of elements per thread: its threads, Brent's steps and cost, and what was measured (None: nothing)."""

    elements: int
    choice: Choice
    threads: int
    steps: int
    cost: int
    time_us: float | None = None
    origin: str | None = None


def sweep_choices(choice: Choice) -> tuple[tuple[int, Choice], ...]:
    """(elements per thread, the choice of a grid that makes it so); none for a kernel whose grid follows from N."""
    if not strides(KERNELS[choice.kernel]):
        return ()
    return tuple(
        (elements, replace(choice, grid_size=grid_for(choice.n, choice.block_size, elements)))
        for elements in offered(choice.n, choice.block_size)
    )


def points(made: Sequence[tuple[int, Choice]], facts: Sequence[Known]) -> tuple[Point, ...]:
    """The sweep with its times; `facts` stand beside `made`."""
    found = []
    for (elements, choice), fact in zip(made, facts, strict=True):
        threads = (choice.grid_size or 1) * choice.block_size
        timed = fact.timed
        found.append(
            Point(
                elements=elements,
                choice=choice,
                threads=threads,
                steps=brent_steps(choice.n, threads),
                cost=brent_cost(choice.n, threads),
                time_us=timed.time_us if timed else None,
                origin=device_line(timed) if timed else None,
            )
        )
    return tuple(found)


def recorded_blocks(choice: Choice) -> tuple[int, ...]:
    """The other block sizes with which the sweep of this N was recorded, as far as the claim needs it."""
    found = []
    for block_size in KERNELS[choice.kernel].block_sizes:
        made = sweep_choices(replace(choice, block_size=block_size))
        known = [elements for elements, one in made if (m := recorded_for(one)) is not None and m.time_us is not None]
        inside = [elements for elements in known if CLAIM[0] <= elements <= CLAIM[1]]
        if inside and len(inside) < len(known) and block_size != choice.block_size:
            found.append(block_size)
    return tuple(found)


@dataclass(frozen=True)
class Verdict:
    """Whether the lecture's claim holds here; `holds` None: not measured yet. `sentence` says so."""

    holds: bool | None
    sentence: str
    best: Point | None = None


def room(device: Mapping[str, Any]) -> int | None:
    """How many threads a GPU of a measurement holds at a time; None where the record does not say."""
    many = device.get("multiprocessors")
    return int(many) * resident_threads(str(device.get("compute_capability"))) if many else None


def verdict(found: Sequence[Point], room: int | None = None) -> Verdict:
    """The claim "1024-4096 elements per thread" against the measured sweep, of one device.

    It holds if no other number is faster by more than 3%. `room`: the threads that the GPU holds, for the reason.
    """
    timed = [point for point in found if point.time_us is not None]
    inside = [point for point in timed if CLAIM[0] <= point.elements <= CLAIM[1]]
    if not any(CLAIM[0] <= point.elements <= CLAIM[1] for point in found):
        return Verdict(None, f"With so few elements no thread can have {CLAIM[0]:,}: choose a larger N.")
    if not inside or len(timed) == len(inside):
        have = f"{len(timed)} of {len(found)} times are known" if timed else "no times are known"
        return Verdict(None, f"The lecture claims 1,024 to 4,096 elements per thread; {have} for these choices.")
    if len({point.origin for point in timed}) > 1:
        return Verdict(None, "The times come from different machines: run the whole sweep on one.")
    best, allowed = _fastest(timed), _fastest(inside)
    assert best.time_us is not None and allowed.time_us is not None
    n = best.choice.n
    where = f"{best.origin}, N = {size_text(n)}, {best.choice.block_size} threads per block"
    fastest = f"fastest with {_elements(best.elements)} per thread, {time_text(best.time_us)}"
    ratio = allowed.time_us / best.time_us
    if ratio <= SAME:
        also = "" if best is allowed else f"; {allowed.elements:,} take the same within 3%"
        return Verdict(True, f"True here. {where}: {fastest}{also}.", best)
    least = f"{allowed.elements:,} take {time_text(allowed.time_us)}, {ratio:.3g} times as long"
    why = ""
    if room and best.elements < CLAIM[0] and allowed.threads < room:
        why = f" They leave {allowed.threads:,} threads, and this GPU has room for {room:,}."
    return Verdict(False, f"Not true here. {where}: {fastest}; {least}.{why}", best)


def _fastest(timed: Sequence[Point]) -> Point:
    return min(timed, key=lambda point: point.time_us or 0.0)


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count:,} elements"


# ---- computed beside counted


@dataclass(frozen=True)
class Compared:
    """A number that follows from the formula, beside the emulator's count of it."""

    what: str
    computed: int
    counted: int


def compared(choice: Choice, counted: Measurement | None) -> tuple[Compared, ...]:
    """Barriers and loads of a run against the steps and the work of its levels, where they follow exactly."""
    counters: Mapping[str, float] = (counted.counters or {}) if counted else {}
    kernel = KERNELS[choice.kernel]
    made = levels(choice)
    if not counters or kernel.name not in _ONE_BARRIER_A_STEP or choice.block_size % WARP:
        return ()
    barriers = sum(level.threads // WARP * (1 + level.tree) for level in made)
    loads = sum(ceil(level.n / WARP) for level in made)
    return (
        Compared(f"barriers: 1 + log₂ {choice.block_size} steps for each of {_warps(made):,} warps", barriers,
                 int(counters["barriers"])),
        Compared("loads from global memory by whole warps: each number is read once, 32 at a time", loads,
                 int(counters["global_load_requests"])),
    )  # fmt: skip


def _warps(made: Sequence[Level]) -> int:
    return sum(level.threads // WARP for level in made)


def lecture_lines(choice: Choice) -> tuple[str, ...]:
    """The lecture's complexity slides with the numbers of this choice."""
    n = choice.n
    ceiling = ceil(log2(n)) if n > 1 else 0
    threads = max(1, ceil(n / max(1, ceiling)))
    return (
        f"log₂ N = {ceiling} steps with one thread per element; step S does N/2^S additions that need not wait for "
        "each other.",
        f"Work: N/2 + N/4 + … + 1 = N − 1 = {work(n):,} additions, as in the serial loop: work-efficient.",
        f"Cost with P = N: N · (1 + log₂ N) = {brent_cost(n, n):,} = {brent_cost(n, n) / n:.3g} per element: not "
        "cost-efficient.",
        f"Brent: P = N / log₂ N = {threads:,} threads take {brent_steps(n, threads):,} steps, and cost "
        f"{brent_cost(n, threads) / n:.3g} per element, however large N is.",
    )
