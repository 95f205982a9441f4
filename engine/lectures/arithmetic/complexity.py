"""Crovella's arithmetic of parallel algorithms for one choice: steps, work and cost, by the formula and as launched.

N elements on P threads: every thread first adds its N/P elements, then all threads work down a tree. So the time is T =
N/P + log2 P steps, the work N - 1 additions, the cost P * T: the additions that P threads could have done in that time.
The algorithm is cost-efficient if its cost grows like its work (Brent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2

from engine.catalogue import KERNELS
from engine.catalogue.gpu_models import WARP
from engine.plan import plan
from engine.records import HostRun, Launch, Measurement, Scalar, Settled

# How the sums of the blocks become one if no launch adds them.
_TAILS = {"host": "the host adds them", "atomic": "atomics at one address, one after the other"}


def brent_steps(n: int, threads: int) -> int:
    """Return T = N/P + log2 P, both rounded up."""
    return ceil(n / threads) + ceil(log2(threads)) if threads > 1 else n


def brent_cost(n: int, threads: int) -> int:
    """Return P * T."""
    return threads * brent_steps(n, threads)


def work(n: int) -> int:
    """Return N/2 + N/4 + ... + 1 = N - 1 additions, which do not depend on the distribution."""
    return n - 1


@dataclass(frozen=True)
class Level:
    """One launch: `n` numbers on `blocks` blocks of `block_size` threads. Each thread first adds `loads` numbers; then
    the block works down a tree of `tree` steps. `tail`: the additions in a row after that, 0 in a race; `tail_by`: the
    words for what makes them."""

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
        """The steps of the longest chain: one for each element, for each step of the tree, and for each addition of the
        tail."""
        return self.loads + self.tree + self.tail

    @property
    def cost(self) -> int:
        """The threads times the steps for which they are allotted; only one thread is allotted to the tail."""
        return self.threads * (self.loads + self.tree) + self.tail

    def working(self) -> list[int]:
        """The number of working threads in each step: all while loading, then half of a block, a quarter, ..., one per
        block."""
        return [self.threads] * self.loads + [
            self.blocks * max(1, self.block_size >> step) for step in range(1, self.tree + 1)
        ]


def levels(choice: Settled) -> tuple[Level, ...]:
    """Return the launches of a reduction's plan, in their order. NotRunnable: the choice cannot be planned."""
    kernel, whole = KERNELS[choice.kernel], plan(choice)
    if isinstance(whole.steps[0], HostRun):
        return (Level(choice.n, 1, 1, choice.n, 0),)
    made = []
    for step in whole.steps:
        if isinstance(step, Launch):
            n = next(arg.value for arg in step.args if isinstance(arg, Scalar))
            blocks, threads = step.grid[0], step.block[0]
            tree = 0 if kernel.tree == "none" else ceil(log2(threads))
            made.append(Level(int(n), blocks, threads, ceil(int(n) / (blocks * threads)), tree))
    combine = choice.combine or kernel.combines[0]
    last = made[-1]
    if kernel.tree == "none" and kernel.expect == "wrong":
        made[-1] = replace(last, tail_by="additions at one address, in no order: a race")
    elif kernel.tree == "none":
        made[-1] = replace(last, tail=choice.n, tail_by="additions at one address, one after the other")
    elif combine in _TAILS and last.blocks > 1:
        made[-1] = replace(last, tail=last.blocks, tail_by=f"{last.blocks:,} block sums: {_TAILS[combine]}")
    elif combine in ("last-block", "hand-over", "grid-sync") and last.blocks > 1:
        steps = ceil(last.blocks / last.block_size) + last.tree
        made[-1] = replace(last, tail=steps, tail_by=f"one block adds {last.blocks:,} block sums")
    return tuple(made)


def steps_of(made: Sequence[Level]) -> int:
    """Return the steps of all launches together."""
    return sum(level.steps for level in made)


def cost_of(made: Sequence[Level]) -> int:
    """Return the cost of all launches together."""
    return sum(level.cost for level in made)


@dataclass(frozen=True)
class Compared:
    """A number that follows from the formula, beside the emulator's count."""

    what: str
    computed: int
    counted: int


def compared(choice: Settled, counted: Measurement | None) -> tuple[Compared, ...]:
    """Compare the barriers and loads of a run with the steps and the work of its levels, if these follow exactly."""
    counters: Mapping[str, float] = (counted.counters or {}) if counted else {}
    kernel = KERNELS[choice.kernel]
    made = levels(choice)
    if not counters or kernel.tree != "barriers" or choice.block_size % WARP:
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


def logarithm(n: int) -> str:
    """Return how the steps of a tree of N elements are written: rounded up if N is no power of two."""
    return "log₂ N" if n & (n - 1) == 0 else "⌈log₂ N⌉"


def lecture_lines(choice: Settled) -> tuple[str, ...]:
    """Return the lecture's complexity slides with the numbers of this choice; rounded up if N is no power of two."""
    n = choice.n
    ceiling = ceil(log2(n)) if n > 1 else 0
    threads = max(1, ceil(n / max(1, ceiling)))
    log, (about, halves) = logarithm(n), ("", "N/2 + N/4 + … + 1 = ") if n == 2**ceiling else ("about ", "")
    return (
        f"{log} = {ceiling} steps with one thread per element; step S does {about}N/2^S additions that need not wait "
        "for each other.",
        f"Work: {halves}N − 1 = {work(n):,} additions, as in the serial loop: work-efficient.",
        f"Cost with P = N: N · (1 + {log}) = {brent_cost(n, n):,} = {brent_cost(n, n) / n:.3g} per element: not "
        "cost-efficient.",
        f"Brent: P = ⌈N / {log}⌉ = {threads:,} threads take {brent_steps(n, threads):,} steps, and cost "
        f"{brent_cost(n, threads) / n:.3g} per element: about 2 or less, however large N is.",
    )
