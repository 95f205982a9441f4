"""The topic "aggregate": reductions other than the sum. Product, minimum, maximum, argmax, and the histogram.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n). For a product, minimum or maximum `out` has
one element per block; for an argmax two doubles, the number and its place, exact for every element type; for a
histogram one count per value, zero at the start. Blocks that hand over their numbers do so in an array of slots, the
last argument.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil, sqrt
from typing import Any

import numpy as np

from engine.catalogue import checks, data, reduction
from engine.catalogue.entries import Kernel, Ladder, Parameter, Rung, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import check_grid, given_source, slots
from engine.catalogue.published import HEIDELBERG
from engine.records import Array, Buffer, Check, Choice, Launch, Plan, Scalar, Settled, Zero, dtype_of

ARGMAX = "argmax"
LEVELS = 2**14  # different numbers: few, so the largest soon comes twice; many, so it comes late
_OUT = Buffer("out", "float64", 2, "poison")


def _plan_pairs(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """Return the launches of a maximum of the same shape, with places beside the numbers."""
    made = reduction.plan(kernel, choice, gpu)
    first, blocks = made.steps[0], made.grid_size
    assert isinstance(first, Launch)
    numbers, n = made.buffers[0], Scalar("uint32", choice.n)
    if kernel.combines == ("hand-over",):
        handed = replace(slots(choice.dtype, blocks), count=slots(choice.dtype, blocks).count + 2 * blocks)
        return replace(made, buffers=(numbers, _OUT, handed), result_count=2)
    found = (Buffer("numbers", choice.dtype, blocks, "poison"), Buffer("places", "uint32", blocks, "poison"))
    last = Launch("best_of_blocks", first.source, (1, 1, 1), first.block,
                  ("numbers", "places", Scalar("uint32", blocks), "out"))  # fmt: skip
    steps = (replace(first, args=("in", "numbers", n, "places")), last)
    return replace(made, buffers=(numbers, *found, _OUT), steps=steps, result="out", result_count=2)


@lru_cache(maxsize=4)
def _few_numbers(dtype: str, seed: int) -> Array:
    """Return one period, shape (data.PERIOD,): LEVELS different numbers, from -LEVELS to -1, or floats from -1 to 0."""
    bits = np.random.default_rng(seed).integers(0, LEVELS, data.PERIOD) - LEVELS
    made: Array = (bits if dtype == "int32" else bits / LEVELS).astype(dtype)
    made.flags.writeable = False
    return made


def _check_pair(plan: Plan, output: Array, seed: int) -> Check:
    """Check the largest number and its first place: nothing is rounded, so both must be equal."""
    period = _few_of(plan.choice, seed)[: plan.choice.n]
    place = int(np.argmax(period))  # the first of the largest; a repetition of the period does not bring it earlier
    number = period[place].item()
    ok = bool((output == (number, place)).all())
    found = int(output[1]) if np.isfinite(output[1]) else output[1].item()
    note = f"Checked: the largest number, {output[0].item():.9g} (expected {number:.9g}), and the first of its places."
    off = tuple(np.flatnonzero(output != (number, place)).tolist())
    return Check(ok, found, place, abs(found - place), 0, note, (float(number), float(place)), off)


_OPERATORS = Ladder(
    name="heidelberg-operators",
    title="Heidelberg: the same tree with other operators",
    lecture=HEIDELBERG,
    summary="A reduction only needs an associative operation. The lecture's kernels differ in the operator and its "
    "neutral element, and cost the same; the last three reach the memory's speed on a long array.",
    n=2**22,
    block_size=256,
    dtype="int32",
    today=(
        "The lecture prints no times of these kernels. "
        "The three operators take {time reduce_product}, {time reduce_min} and "
        "{time reduce_max}: all read the same numbers in as many launches.",
        "With more bytes in flight, and one launch, they take {time reduce_product_vectorized}, "
        "{time reduce_min_vectorized} and {time reduce_max_vectorized}; at N = 2^28 the maximum reaches "
        "{peak reduce_max_vectorized n=268435456} of the memory's peak.",
    ),
    rungs=(
        Rung("reduce_product", "product", "A tree needs only an associative operation, and * is associative too.",
             "Parallel reduction", "relaunch"),
        Rung("reduce_min", "minimum", "A product of floats depends on the order, as each step rounds; a minimum does "
             "not.", "Parallel reduction", "relaunch", promise="same", shows="=barriers"),
        Rung("reduce_max", "maximum", "Again only the operator changes.", "Parallel reduction", "relaunch",
             promise="same",
             shows="=warp_instructions"),
        Rung("reduce_max_vectorized", "maximum, vectors", "After the lecture: each thread had one word in flight, and "
             "a second launch had to follow; now a thread has four times 16 bytes in flight, in one launch.",
             promise="faster",
             shows="global_load_requests"),
        Rung("reduce_min_vectorized", "minimum, vectors", "Again only the operator changes.", promise="same",
             shows="=global_load_requests"),
        Rung("reduce_product_vectorized", "product, vectors", "A number may be compared twice, but not multiplied "
             "twice; that costs a condition, and hardly any time.", promise="same", shows="+shuffles"),
    ),
)  # fmt: skip

_ARGMAX = Ladder(
    name="argmax",
    title="Argmax: the largest number, and where it stands",
    lecture="After the lectures: a reduction of pairs",
    summary="A maximum forgets where it was found. Pairs of a number and its place are still reduced by an associative "
    "operation, whose answer is the same in every order: of equal numbers the first wins.",
    n=2**22,
    block_size=256,
    dtype="float32",
    today=(
        "No lecture here measures an argmax.",
        "Carrying a place with every number has its price: the tree of pairs takes {times argmax_tree reduce_max} as "
        "long as that of numbers.",
        "If the index is looked up only for a new maximum, it takes {time argmax_vectorized}; the maximum alone, read "
        "the same way, takes {time reduce_max_vectorized}.",
        "At N = 2^28 they take {time argmax_vectorized n=268435456} and {time reduce_max_vectorized n=268435456}, and "
        "reach {peak argmax_vectorized n=268435456} and {peak reduce_max_vectorized n=268435456} of the memory's peak.",
    ),
    rungs=(
        Rung("reduce_max", "maximum", "The tree of the maximum, which tells the largest number but not its place.",
             combine="relaunch", shows="=warp_instructions"),
        Rung("argmax_tree", "pairs", "The place was lost; now every number carries its place through the tree.",
             combine="relaunch", shows="+shared_load_requests"),
        Rung("argmax_vectorized", "vectors", "Each thread had one word in flight, and a second launch had to follow; "
             "now a thread has four times 16 bytes in flight, in one launch, and the index is looked up only for a new "
             "maximum.", promise="faster", shows="global_load_requests"),
    ),
)  # fmt: skip

_HISTOGRAM = Ladder(
    name="heidelberg-histogram",
    title="Heidelberg: the histogram, and contention",
    lecture=HEIDELBERG,
    summary="A sum for each of 256 values. With fewer values more lanes of a warp meet at one count.",
    n=2**22,
    block_size=256,
    dtype="int32",
    picture="time",
    counter="atomics",
    today=(
        "The lecture prints no times of these kernels. In global memory 256 addresses are too few for all threads: "
        "{time histogram_global}, {times histogram_global histogram_shared} as long as with a copy per block.",
        "A copy per warp brings nothing more: it takes {times histogram_warps histogram_shared} as long. "
        "Atomics in shared memory are done by hardware, which counts the lanes of one address at once.",
    ),
    rungs=(
        Rung("histogram_global", "global atomics",
             "One tree per value would read everything 256 times; one atomic per element reads it once.",
             "Parallel reduction: h_k", shows="+atomics"),
        Rung("histogram_shared", "shared atomics",
             "All threads of the GPU shared 256 addresses; now only those of a block do.",
             "Parallel reduction on a GPU", promise="faster", shows="+atomics"),
        Rung("histogram_warps", "a copy per warp",
             "The warps of a block still shared the counts; now only the lanes of a warp do, but the hardware already "
             "handled that.", "Parallel reduction on a GPU",
             promise="same", shows="+wavefronts"),
    ),
)  # fmt: skip

LADDERS = (
    _OPERATORS,
    _ARGMAX,
    _HISTOGRAM,
)


SEED = 7
_BINS = Parameter("BINS", "Number of different values", (1, 2, 4, 8, 16, 32, 64, 128, 256), 256)
_COUNTED = dict.fromkeys(("float32", "float64"), "a histogram counts whole numbers; choose int32.")


def _operator(name: str, title: str, operation: str) -> Kernel:
    return Kernel(name, "aggregate", title, combines=("relaunch",), coverage=None,
                  work="one number", operation=operation)  # fmt: skip


def _vectorized(name: str, title: str, operation: str) -> Kernel:
    return Kernel(name, "aggregate", title, combines=("hand-over",), coverage=None, bytes_per_thread=64,
                  needs=reduction.WHOLE_WARPS, work="one number", operation=operation)  # fmt: skip


def _argmax(name: str, title: str, combine: str, **needs: Any) -> Kernel:
    return Kernel(name, "aggregate", title, combines=(combine,), coverage=None, work="number and place",
                  operation=ARGMAX, **needs)  # fmt: skip


def _histogram(name: str, title: str) -> Kernel:
    return Kernel(name, "aggregate", title, dtypes=("int32",), combines=("atomic",), coverage=None, parameter=_BINS,
                  refuses=_COUNTED, work="histogram", operation="histogram", law="values by chance")  # fmt: skip


KERNELS = (
    _operator("reduce_product", "Product", "product"),
    _operator("reduce_min", "Minimum", "minimum"),
    _operator("reduce_max", "Maximum", "maximum"),
    _vectorized("reduce_max_vectorized", "Maximum, vector loads, four in flight, single pass", "maximum"),
    _vectorized("reduce_min_vectorized", "Minimum, vector loads, four in flight, single pass", "minimum"),
    _vectorized("reduce_product_vectorized", "Product, vector loads, four in flight, single pass", "product"),
    _argmax("argmax_tree", "Argmax, a tree of pairs", "relaunch"),
    _argmax("argmax_vectorized", "Argmax, vector loads, four in flight, single pass", "hand-over",
            bytes_per_thread=64, needs=reduction.WHOLE_WARPS),
    _histogram("histogram_global", "Histogram, one atomic per element in global memory"),
    _histogram("histogram_shared", "Histogram, one copy per block in shared memory"),
    _histogram("histogram_warps", "Histogram, one copy per warp in shared memory"),
)  # fmt: skip
_NAMED = {kernel.name: kernel for kernel in KERNELS}


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return the launches of a reduction, or one launch after zeroing the counts; the choice has passed engine.plan."""
    if kernel.operation == ARGMAX:
        return _plan_pairs(kernel, choice, gpu)
    if kernel.parameter is None:
        return reduction.plan(kernel, choice, gpu)
    n, block_size, bins = choice.n, choice.block_size, _bins(choice)
    check_grid(choice)
    blocks = choice.grid_size or min(ceil(n / block_size), gpu.multiprocessors * gpu.threads // block_size)
    source = given_source(kernel, choice, ("BLOCK_SIZE", block_size), (kernel.parameter.name, bins))
    launch = Launch(kernel.name, source, (blocks, 1, 1), (block_size, 1, 1), ("in", "out", Scalar("uint32", n)))
    return Plan(
        choice=choice,
        buffers=(Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, bins, "zero")),
        steps=(Zero("out"), launch),
        result="out",
        result_count=bins,
        bytes_moved=n * dtype_of(choice.dtype).itemsize,
        flops=n,
        additions=1,
        grid_size=blocks,
    )


def _bins(choice: Choice) -> int:
    return _BINS.default if choice.parameter is None else choice.parameter


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n)}, the numbers chosen so that leaving one out changes the answer."""
    operation = _NAMED[choice.kernel].operation
    if operation == ARGMAX:
        return {"in": (_few_of(choice, SEED), choice.n)}
    bins = _bins(choice) if operation == "histogram" else 0
    return {"in": (_numbers_of(operation, choice.dtype, choice.n, choice.schedule, bins), choice.n)}


def _few_of(choice: Choice, seed: int) -> Array:
    return data.for_search(_few_numbers(choice.dtype, seed), choice.n, choice.schedule, 1)


def _numbers_of(operation: str, dtype: str, n: int, schedule: str | None, bins: int = 0) -> Array:
    """Return a period of the numbers that a choice reads."""
    sign = {"maximum": 1, "minimum": -1}.get(operation)
    numbers = _numbers(operation, dtype, bins)
    if operation == "product" and n <= data.MOST_TURNED and str(schedule).startswith("waves"):
        numbers = numbers.copy()
        numbers[n // 2] = 0  # a kernel that leaves out zeros gives a wrong answer
    return numbers if sign is None else data.for_search(numbers, n, schedule, sign)


@lru_cache(maxsize=16)
def _numbers(operation: str, dtype: str, bins: int) -> Array:
    """Return one period, shape (data.PERIOD,)."""
    bits = np.random.default_rng(SEED).integers(1, 2**31, data.PERIOD)
    if operation == "histogram":
        numbers = bits % bins
    elif operation == "product":
        numbers = _odd(bits) if dtype == "int32" else _near_one(bits)
    else:  # a maximum of negative numbers and a minimum of positive ones: a start from 0 is a wrong answer
        sign = 1 if operation == "minimum" else -1
        # Ints are from the whole range, so the smallest and the largest are rare.
        numbers = sign * (bits if dtype == "int32" else np.abs(data.period(dtype, SEED)))
    made = numbers.astype(dtype_of(dtype))
    made.flags.writeable = False
    return made


def _odd(bits: Array) -> Array:
    """Return odd numbers of at least 3 in size: their product modulo 2^32 is never 0, and every factor changes it."""
    numbers: Array = (2 * (bits % 48) + 3) * np.where(data.period("int32", SEED) < 0, -1, 1)
    return numbers


GROUP = 14  # factors that nearly multiply to 1; no divisor of a block, so a block that is left out changes the product
SMALLEST, LARGEST, APART = 2.0**-6, 2.0**-5, 2.0**-14  # logarithms of factors, and how far apart two of a pair are


def _near_one(bits: Array) -> Array:
    """Return exp(e) for small e. Those of a group nearly add up to 0, so no part of the product, at any stride, comes
    near the limits of float32.

    Only nearly: if a factor met its inverse, the exact product would lie within a rounding of 1. Floats are half as
    dense above 1 as below, so these roundings have a mean of about -u/8, which adds up over n; random roundings do not.
    """
    sizes = SMALLEST + (LARGEST - SMALLEST) * 2.0**-31 * bits[: data.PERIOD // 2]
    apart = APART * data.period("float64", SEED)[: len(sizes)]
    whole = len(sizes) // (GROUP // 2) * (GROUP // 2)
    up, down = (half[:whole].reshape(-1, GROUP // 2) for half in (sizes, apart - sizes))
    mixed = np.random.default_rng(SEED + 1).permuted(np.concatenate((up, down), axis=1), axis=1)
    numbers: Array = np.exp(np.concatenate((mixed.ravel(), sizes[whole:], (apart - sizes)[whole:], [SMALLEST])))
    return numbers


def check(plan: Plan, output: Array) -> Check:
    """Check the answer: whole numbers, minima, maxima and counts must be equal, a float product within its
    roundings."""
    choice = plan.choice
    operation = _NAMED[choice.kernel].operation
    if operation == "histogram":
        return _check_counts(plan, output)
    if operation == ARGMAX:
        return _check_pair(plan, output, SEED)
    expected = _expected(operation, choice.dtype, choice.n, choice.schedule)
    result = output[0].item()
    error = abs(result - expected)
    if operation != "product":
        return Check(result == expected, result, expected, error, 0, "There is nothing to round: they must be equal.")
    if choice.dtype == "int32":
        return Check(result == expected, result, expected, error, 0, "32-bit products wrap on overflow, as on the GPU.")
    # Each of the n roundings, anywhere in the tree, scales the whole product; its standard deviation is about 0.4 u.
    # Beyond a period of the data the same factors meet again, and their roundings, equal, add up.
    again = ceil(choice.n / data.PERIOD)
    bound = 4 * data.unit_roundoff(choice.dtype) * sqrt(choice.n * again) * abs(expected)
    note = f"Bound: 10 standard deviations of {choice.n:,} roundings, each of which scales the product."
    if again > 1:
        note += f" As many as {again:,} of them are equal, as the data repeat."
    return Check(bool(np.isfinite(result)) and error <= bound, result, expected, error, bound, note)


def _check_counts(plan: Plan, output: Array) -> Check:
    """Check that every count is equal; the check shows the value with the largest miss."""
    n, bins = plan.choice.n, plan.result_count
    whole, rest = divmod(n, data.PERIOD)
    numbers = _numbers("histogram", plan.choice.dtype, bins)
    counts = whole * np.bincount(numbers, minlength=bins) + np.bincount(numbers[:rest], minlength=bins)
    return checks.equal(output, counts, f"Checked: the counts of all {bins:,} values.")


@lru_cache(maxsize=64)
def _expected(operation: str, dtype: str, n: int, schedule: str | None = None) -> float | int:
    numbers = _numbers_of(operation, dtype, n, schedule)
    if operation == "minimum":
        return numbers[:n].min().item()  # type: ignore[no-any-return]
    if operation == "maximum":
        return numbers[:n].max().item()  # type: ignore[no-any-return]
    whole, rest = divmod(n, data.PERIOD)
    if dtype == "int32":
        once, remainder = (int(np.multiply.reduce(part.view(np.uint32))) for part in (numbers, numbers[:rest]))
        return (pow(once, whole, 2**32) * remainder + 2**31) % 2**32 - 2**31
    wide = numbers.astype(np.float64)
    (high, low), (rest_high, rest_low) = _product(wide), _product(wide[:rest])
    high, low = _product(np.array([high] * whole + [rest_high]), np.array([low] * whole + [rest_low]))
    return high + low


def _product(high: Array, low: Array | None = None) -> tuple[float, float]:
    """Return the product of numbers high + low, to about 100 bits, as the sum of two floats; 1 for none.

    Pairs of floats are multiplied down a tree (Dekker 1971): each step keeps what the rounding of the step drops.
    """
    low = np.zeros_like(high) if low is None else low
    while len(high) > 1:
        if len(high) % 2:
            high, low = np.append(high, 1.0), np.append(low, 0.0)
        (a, b), (a_low, b_low) = (high[::2], high[1::2]), (low[::2], low[1::2])
        rounded = a * b
        (a_head, a_tail), (b_head, b_tail) = _halves(a), _halves(b)
        dropped = ((a_head * b_head - rounded) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail
        dropped += a * b_low + a_low * b
        high = rounded + dropped
        low = dropped - (high - rounded)
    return (float(high[0]), float(low[0])) if len(high) else (1.0, 0.0)


def _halves(number: Array) -> tuple[Array, Array]:
    """Split a float64 into two parts of at most 26 bits, whose products are exact (Veltkamp)."""
    scaled = number * 134_217_729.0  # 2^27 + 1
    head = scaled - (scaled - number)
    return head, number - head


TOPIC = Topic(
    name="aggregate",
    title="Aggregates",
    size_label="N (elements)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=tuple(2**power for power in range(10, 29, 2)),
    default_n=2**22,
    default_block_size=256,
    max_n=2**28,
    emulator_max_n=2**22,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note="Random numbers. For a product they are odd, or floats near 1; for a maximum and an argmax they are "
    "negative, for a minimum positive; for a histogram they are 0 to BINS - 1. If blocks run in waves, the last number "
    "of a search has the other sign, and one factor of a product is zero.",
)
