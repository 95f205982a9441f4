"""Float sums beside their theory: runs repeated in other orders, and each rung's error beside its worst case.

repeat(choice, runs) -> Repeats                 rounding(choice, measurement) -> Rounding
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any

import numpy as np

from engine.backends.backend import backend_named, backend_of, quiet
from engine.backends.cpu import host_step
from engine.catalogue import KERNELS, data, floats, reduction, topic_of
from engine.plan import plan
from engine.records import Array, Measurement, NotRunnable, Plan, Progress, Settled

RUNS = {"gpu": 200, "emulator": 40}
CPU_RUNS = 5  # it has one order
EMULATOR_N = 2**16  # repeated on the emulator; a GPU takes the page's N
SIZES = tuple(2**power for power in range(10, 25, 2))  # at which errors are shown
ORDERS = {"gpu": "the GPU's own order, each time anew", "cpu": "one thread of the CPU, which has one order"}
TOPICS = (floats.TOPIC.name, reduction.TOPIC.name)


@dataclass(frozen=True)
class Repeats:
    """The answers of repeated runs of one choice, on the random numbers. `orders`: in words, how the runs differed.

    `environment`: of the recording that has them; None: they are live.
    """

    choice: Settled
    device: Mapping[str, Any]
    results: tuple[float, ...]
    exact: float
    orders: str
    environment: Mapping[str, Any] | None = None

    @property
    def distribution(self) -> list[tuple[float, int]]:
        """(answer, how often), from the smallest to the largest."""
        return sorted(Counter(self.results).items())

    @property
    def different(self) -> int:
        """Return how many different answers there were."""
        return len(set(self.results))

    @property
    def apart(self) -> float:
        """Return how many units in the last place the smallest and the largest answer are apart."""
        low, high = min(self.results), max(self.results)
        return (high - low) / spacing(high, result_type(self.choice))


def can_repeat(choice: Settled) -> bool:
    """Return whether there is rounding to look at: a sum of floats."""
    return topic_of(choice.kernel).name in TOPICS and choice.dtype != "int32" and choice.source is None


def repeated_choice(choice: Settled) -> Settled:
    """Return the choice that is repeated in place of `choice`: with random numbers, and on the emulator at most 2^16 of
    them. Ones add up without rounding until the sum stops, so their order would not show."""
    n = min(choice.n, EMULATOR_N) if choice.device == "emulator" else choice.n
    return replace(on_random_numbers(choice), n=n)


def on_random_numbers(choice: Settled) -> Settled:
    """Return the same sum of the random numbers, if the kernel offers them."""
    return replace(choice, parameter=0 if KERNELS[choice.kernel].parameter is not None else None)


def repeat(choice: Settled, runs: int, progress: Progress | None = None) -> Repeats:
    """Run a float sum `runs` times. On a GPU each run is the same launch; the emulator draws another legal order of the
    lanes for each run; a rung on the CPU has only one order. NotRunnable: whole numbers. A run's own errors pass
    through."""
    say = progress or quiet
    if not can_repeat(choice):
        raise NotRunnable("Only a sum of floats is rounded: choose float32 or float64.")
    choice = repeated_choice(choice)
    made = plan(choice)
    backend, orders, results = backend_of(made), orders_of(made), []
    schedules: list[str | None] = [None] * runs
    if host_step(made):
        schedules = schedules[:CPU_RUNS]
    elif backend.ordered:
        orders = f"independent lanes, seeds 1 to {runs}; the emulator's blocks keep their order"
        schedules = [f"independent:{seed}" for seed in range(1, runs + 1)]
    for number, schedule in enumerate(schedules, 1):
        again = made if schedule is None else plan(replace(choice, schedule=schedule))
        results.append(float(backend.run(again, quiet).output[0]))
        say(number / len(schedules), f"Run {number} of {len(schedules)}")
    exact = topic_of(choice.kernel).check(made, np.array([results[0]])).expected
    return Repeats(choice, backend_named(choice.device).describe(), tuple(results), float(exact), orders)


def orders_of(made: Plan) -> str:
    """Return in words how the orders of repeated runs on a GPU differ; for a rung on the CPU, its one order."""
    return ORDERS["cpu" if host_step(made) else "gpu"]


# ---- the error of a run beside what rounding can do


@dataclass(frozen=True)
class Rounding:
    """One run: its error, its `chain` of additions in a row, and the largest error of such a chain."""

    result: float
    exact: float
    error: float
    chain: int
    worst: float


def sum_of_sizes(choice: Settled) -> float:
    """Return the sum of |x| over the numbers of a choice."""
    if topic_of(choice.kernel).name == floats.TOPIC.name and floats.all_ones(choice):
        return float(choice.n)
    return floats.sum_of_sizes(choice.dtype, choice.n)  # both topics add the same random numbers


def bounds(choice: Settled) -> tuple[float, float]:
    """Return the largest error of a serial sum, (n - 1) u sum|x|, and of a tree, ceil(log2 n) u sum|x|, for these
    numbers."""
    size, n = data.unit_roundoff(choice.dtype) * sum_of_sizes(choice), max(choice.n, 2)
    return (n - 1) * size, ceil(log2(n)) * size


def chain_of(choice: Settled) -> int:
    """Return the longest chain of additions of a choice's plan: no number goes through more roundings."""
    return plan(choice).additions


def rounding(choice: Settled, measurement: Measurement | None) -> Rounding | None:
    """Return a run's error beside the largest possible one; None without an answer."""
    if measurement is None or measurement.check is None:
        return None
    chain = chain_of(choice)
    if topic_of(choice.kernel).name == floats.TOPIC.name:
        worst = floats.worst(choice.kernel, choice)
    else:
        worst = chain * data.unit_roundoff(choice.dtype) * sum_of_sizes(choice)
    result, exact = float(measurement.check.result), float(measurement.check.expected)
    return Rounding(result, exact, abs(result - exact), chain, worst)


def bits(result: float, dtype: str) -> str:
    """Return the answer as a hexadecimal float of that type, which shows a difference in the last digits."""
    return f"{int(_words(result, dtype)[0]):0{8 if dtype == 'float32' else 16}x}"


def _words(result: float, dtype: str) -> Array:
    return np.array([result], dtype).view("u4" if dtype == "float32" else "u8")


def result_type(choice: Settled) -> str:
    """Return the element type of the answer, which may have more digits than the numbers."""
    made = plan(choice)
    return next(buffer.dtype for buffer in made.buffers if buffer.name == made.result)


def spacing(value: float, dtype: str) -> float:
    """Return the distance from `value` to the next number of that type: one unit in the last place."""
    return float(np.spacing(np.array(abs(value), dtype)))


def sentence(found: Repeats) -> str:
    """Return one or two sentences on what the repeated runs show."""
    runs, kind = len(found.results), result_type(found.choice)
    if found.different == 1:
        return f"{runs} runs, one answer: {found.results[0]:.9g}, bits {bits(found.results[0], kind)} ({found.orders})."
    off = max(abs(result - found.exact) for result in found.results)
    return (
        f"{runs} runs, {found.different} different answers, up to {found.apart:,.0f} units in the last place apart "
        f"({found.orders}). The one farthest from the exact sum is off by {off:.2g}."
    )
