"""The topic "floats": how much of a float sum is lost to rounding. Serial, by atomics, down a tree, compensated, in
doubles.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n); the one that adds in doubles has a double out.
The serial ones run on the CPU; their files are C++ and CUDA at once. The parameter ONES chooses numbers, not code.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil, log2, sqrt

import numpy as np

from engine.catalogue import data, reduction
from engine.catalogue.entries import Kernel, Ladder, Parameter, Rung, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import given_source, value_of_parameter
from engine.records import Array, Buffer, Check, Choice, HostRun, Launch, Plan, Scalar, Settled, Step, dtype_of

_FLOATS = Ladder(
    name="float-truths",
    title="Float truths: 17,825,792 ones, and what is left of them",
    lecture='B. Crovella 2020, Atomics, Reductions, Warp Shuffle, "Further study"; N. J. Higham 1993, The Accuracy '
    "of Floating Point Summation",
    summary="2^24 + 2^20 ones as float32. The order of the additions decides how many of them are counted.",
    n=2**24 + 2**20,
    block_size=256,
    dtype="float32",
    picture="answers",
    today=(
        "Nothing has changed here since the lecture: a float32 has 24 binary digits on every GPU, so a sum that grows "
        "by ones stops at 2^24, however fast the memory is.",
        "The right order is also the fast one: at N = 2^24, where both still count every one, the tree takes "
        "{time floats_tree n=16777216}, one atomic per number {time floats_atomic n=16777216}.",
    ),
    rungs=(
        Rung("floats_serial", "serial", "The obvious loop. It stops counting at 2^24 = 16,777,216.",
             "Further study: Floating point"),
        Rung("floats_atomic", "atomic", "One thread added; now all threads do, but still one after the other: the same "
             "chain, in no fixed order.", "Atomics to the rescue"),
        Rung("floats_tree", "tree", "Ones met a sum that was too large for them; in a tree equal sums meet.",
             "Parallel Reduction", shows="atomics"),
        Rung("floats_kahan", "compensated", "Another order saved the ones; the serial order counts them too, if each "
             "addition carries along what the last rounding dropped.", "Further study: Floating point",
             fixes="nothing for these ones, which the tree counts exactly; it keeps the serial order."),
        Rung("floats_double", "double", "Each number took four additions; a sum with more digits needs one, and the "
             "numbers in memory stay small.", "Further study: Floating point",
             fixes="four additions for each number, each of which waits for the one before."),
    ),
)  # fmt: skip

LADDERS = (_FLOATS,)


SEED = reduction.SEED
ONES = Parameter("ONES", "Numbers (1: all ones, 0: random)", (1, 0), 1, ("ones", "random"))
SATURATED_N = 2**24 + 2**20  # ones: more than a float32 can count one by one
BLOCK_SIZES = (64, 128, 256, 512, 1024)
_WHOLE = {"int32": "a sum of whole numbers is never rounded; choose float32."}


def _kernel(name: str, title: str, combine: str, expect: str = "ok", coverage: int | None = 1) -> Kernel:
    """Return a kernel of the topic; one without a way to combine blocks is a loop on the CPU."""
    return Kernel(name, "floats", title, dtypes=("float32", "float64"), block_sizes=BLOCK_SIZES, combines=(combine,),
                  coverage=coverage, expect=expect, parameter=ONES, refuses=_WHOLE,
                  processor="cpu" if combine == "none" else "gpu")  # fmt: skip


KERNELS = (
    _kernel("floats_serial", "One number after the other, on the CPU", "none", expect="rounds"),
    _kernel("floats_atomic", "One atomic per element", "atomic", expect="rounds"),
    _kernel("floats_tree", "A tree, launched again", "relaunch"),
    _kernel("floats_kahan", "Compensated: what rounding drops is kept", "none"),
    _kernel("floats_double", "Float numbers, double sums", "atomic", coverage=None),
)


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return the steps that add choice.n numbers with `kernel`; the choice has passed engine.plan's checks."""
    if kernel.processor == "gpu":
        made = reduction.plan(kernel, choice, gpu)
        if kernel.name == "floats_double":
            made = replace(made, buffers=(made.buffers[0], Buffer("out", "float64", 1, "zero")))
        return made
    return Plan(
        choice=choice,
        buffers=(Buffer("in", choice.dtype, choice.n, "input"), Buffer("out", choice.dtype, 1, "poison")),
        steps=(_one_thread(kernel, choice),),
        result="out",
        result_count=1,
        bytes_moved=choice.n * dtype_of(choice.dtype).itemsize,
        flops=choice.n - 1,
        additions=choice.n if kernel.name == "floats_serial" else 4,
        grid_size=1,
    )


def _one_thread(kernel: Kernel, choice: Choice) -> Step:
    """On the CPU. A user's own text never runs on the CPU, which does not isolate it: it gets one thread of the GPU or
    of the emulator."""
    source, args = given_source(kernel, choice), ("in", "out", Scalar("uint32", choice.n))
    if source.text == kernel.text:
        return HostRun(kernel.name, source, args, _serial if kernel.name == "floats_serial" else _kahan)
    return Launch(kernel.name, source, (1, 1, 1), (1, 1, 1), args)


def _serial(numbers: Array, out: Array, n: int) -> None:
    out[0] = np.add.accumulate(numbers[:n])[-1]


def _kahan(numbers: Array, out: Array, n: int) -> None:
    total = dropped = numbers.dtype.type(0)
    for number in numbers[:n]:
        arrived = number - dropped
        after = total + arrived
        dropped = (after - total) - arrived
        total = after
    out[0] = total


def all_ones(choice: Choice) -> bool:
    """Return whether the numbers of a choice are ones; else they are the random ones of the reductions."""
    return value_of_parameter(KERNELS[0], choice) == 1


@lru_cache(maxsize=4)
def _ones(dtype: str) -> Array:
    numbers = np.ones(data.PERIOD, dtype_of(dtype))
    numbers.flags.writeable = False
    return numbers


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n)}."""
    return {"in": (_ones(choice.dtype) if all_ones(choice) else data.period(choice.dtype, SEED), choice.n)}


@lru_cache(maxsize=256)
def sum_of_sizes(dtype: str, count: int) -> float:
    """Return the sum of |x| over `count` of the random numbers, to a few roundings of a double."""
    whole, rest = divmod(count, data.PERIOD)
    sizes = np.abs(data.period(dtype, SEED).astype(np.float64))
    return float(whole * sizes.sum() + sizes[:rest].sum())


def worst(kernel: str, choice: Choice) -> float:
    """Return the largest error that rounding can make, for any numbers of these sizes: c u times the sum of |x| for c
    roundings in a row (Higham 1993; Rump 2012 showed that a serial sum needs no further term)."""
    unit, c = data.unit_roundoff(choice.dtype), float(choice.n - 1)
    if kernel == "floats_tree":
        c = ceil(log2(max(choice.n, 2)))
    elif kernel == "floats_kahan":
        c = 2 + choice.n * unit  # to first order, and the next
    elif kernel == "floats_double":
        unit = data.unit_roundoff("float64")
    sizes = float(choice.n) if all_ones(choice) else sum_of_sizes(choice.dtype, choice.n)
    return c * unit * sizes


def check(plan: Plan, output: Array) -> Check:
    """Check the sum against the exact one, within ten standard deviations of its roundings, as for a reduction; the
    note has the largest error that the rounding of these n numbers could make."""
    choice, kernel = plan.choice, plan.choice.kernel
    expected, squares = float(choice.n), float(choice.n)
    if not all_ones(choice):
        expected = float(data.exact_sum(choice.dtype, SEED, choice.n))
        squares = data.sum_of_squares(choice.dtype, SEED, choice.n)
    result = float(output[0])
    error = abs(result - expected)
    unit = data.unit_roundoff("float64" if kernel == "floats_double" else choice.dtype)
    bound = 10 * unit * sqrt(plan.additions) * (sqrt(squares) + abs(expected))
    note = (
        f"Bound: 10 standard deviations of {plan.additions:,} roundings in a row, if they go up as often as down. "
        f"The worst that they can do is an error of {worst(kernel, choice):.3g}."
    )
    return Check(bool(np.isfinite(result)) and error <= bound, result, expected, error, bound, note)


TOPIC = Topic(
    name="floats",
    title="Float sums",
    size_label="N (elements)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(2**10, 2**14, 2**18, 2**20, 2**22, 2**24, SATURATED_N, 2**26),
    default_n=2**22,
    default_block_size=256,
    max_n=2**28,
    emulator_max_n=2**26,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note="All ones; or, as chosen, random numbers between -1 and 1, never zero.",
)
