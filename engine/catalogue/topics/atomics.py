"""The topic "atomics": what threads can agree on: atomics, places in an order, shuffles, prefix sums, maxima.

Kernels have the signature NAME(const T *in, T *out, unsigned int n), with a counter after these where threads draw from
one. Many answers may come in any order, so they are checked as what they must be in every order.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

import numpy as np

from engine.catalogue import checks, data
from engine.catalogue.entries import Kernel, Parameter, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.ladders.atomics import LADDERS
from engine.catalogue.plans import elements, knob, launch_of, plan_with
from engine.catalogue.topics import atomic_checks, one_pass, prefix_sums
from engine.records import Array, Buffer, Check, Choice, Plan, Settled, Step, Zero

SEED = 2020

_NO_FLOAT = dict.fromkeys(
    ("float32", "float64"), "CUDA has this atomic for integers only; build it on atomicCAS, or choose int32."
)
_ONLY_INT = dict.fromkeys(
    ("float32", "float64"), "It hands out whole numbers, the same for every element type; choose int32."
)
_PACKED = dict.fromkeys(
    ("512", "1024"),
    "A block packs 128 bytes for each thread in shared memory, which must fit in 48 KB; choose 32 to 256.",
)
_SPECIALIZED = dict.fromkeys(
    ("512", "1024"),
    "128 bytes for each thread that loads wait in the block's shared memory, which has 48 KB; choose 64 to 256.",
) | {"32": "One warp looks back and the others load, so a block needs two warps at least; choose 64 to 256."}
_TWO_WARPS = (64, 128, 256)
_INT = ("int32",)
_POWERS = tuple(2**power for power in range(21))


# The default is the same for all, so that their times compare; few enough threads per address for compare-and-swap.
_EXCHANGES = ("atomic_exch", "atomic_cas")  # who comes first is part of the answer
_ADDRESSES = Parameter("ADDRESSES", "Addresses", _POWERS, 4096)


def _atomic(
    name: str,
    title: str,
    dtypes: tuple[str, ...],
    shows: str = "",
    work: str = "a number for each address",
    operation: str = "",
    varies: Literal["floats", "order", ""] = "floats",
) -> Kernel:
    refuses = {kind: why for kind, why in _NO_FLOAT.items() if kind not in dtypes}
    return Kernel(name, "atomics", title, dtypes=dtypes, parameter=_ADDRESSES, refuses=refuses, shows=shows,
                  work=work, operation=operation, varies="order" if name in _EXCHANGES else varies)  # fmt: skip


def _whole(name: str, title: str, shows: str, work: str) -> Kernel:
    return Kernel(name, "atomics", title, dtypes=_INT, refuses=_ONLY_INT, shows=shows, work=work, varies="order")


KERNELS = (
    Kernel("transformation", "atomics", "One thread per output point", work="transformation"),
    _atomic("atomic_add", "Add", ("int32", "float32", "float64"), "+atomics", operation="sums by address"),
    _atomic("atomic_add_cas", "Add, built on compare-and-swap", ("int32", "float32", "float64"), "+atomics",
            operation="sums by address"),
    _atomic("atomic_sub", "Subtract", _INT, "=atomics"),
    _atomic("atomic_min", "Minimum", _INT, "=atomics"),
    _atomic("atomic_max", "Maximum", _INT, "=atomics"),
    _atomic("atomic_inc", "Count in turns", _INT, "=atomics"),
    _atomic("atomic_dec", "Count down in turns", _INT, "=atomics"),
    _atomic("atomic_and", "Clear bits", _INT, "+launches"),
    _atomic("atomic_or", "Set bits", _INT, "launches"),
    _atomic("atomic_xor", "Flip bits", _INT, "=atomics"),
    _atomic("atomic_exch", "Exchange", ("int32", "float32"), "+global_store_requests", "one exchange per element"),
    _atomic("atomic_cas", "Compare and swap", _INT, "=atomics"),
    _atomic("atomic_add_aggregated", "Add, in registers and in the block first", ("int32", "float32", "float64"),
            "atomics", operation="sums by address"),
    _atomic("add_without_atomics", "Add, every address in one block", ("int32", "float32", "float64"), "atomics",
            operation="sums by address", varies=""),
    _whole("order_place", "My place in an order", "+atomic_max_contention", "places"),
    _whole("reserve_buffer", "Space in a buffer", "+global_store_requests", "space"),
    Kernel("filter_atomic", "atomics", "Keep the positive numbers, one atomic each", shows="global_store_requests",
           work="filter", operation="selection", varies="order"),
    Kernel("filter_aggregated", "atomics", "Keep the positive numbers, one atomic per warp",
           shows="atomic_max_contention", work="filter", operation="selection", varies="order"),
    Kernel("filter_lookback", "atomics", "Keep the positive numbers, in order, blocks look back",
           block_sizes=(32, 64, 128, 256), refuses=_PACKED, shows="atomics", work="filter",
           operation="selection"),
    Kernel("filter_specialized", "atomics", "Keep the positive numbers, one warp looks back", block_sizes=_TWO_WARPS,
           refuses=_SPECIALIZED, shows="+barriers", work="filter", operation="selection"),
    Kernel("warp_broadcast", "atomics", "A lane hands its number to the whole warp", shows="+shuffles",
           work="broadcast", parameter=Parameter("LANE", "Lane", tuple(range(32)), 0)),
    Kernel("warp_movements", "atomics", "Four ways from lane to lane", shows="+shuffles", work="movements"),
    Kernel("warp_prefix_sum", "atomics", "Prefix sum in every warp", shows="+shuffles", work="prefix sums of warps"),
    Kernel("block_prefix_sum", "atomics", "Prefix sum in every block", shows="+barriers", work="prefix sums of blocks"),
    Kernel("grid_prefix_sum", "atomics", "Prefix sum of everything", shows="+launches", work="prefix sum",
           operation="prefix sum"),
    Kernel("prefix_sum_lookback", "atomics", "Prefix sum of everything in one pass", shows="launches",
           work="prefix sum", operation="prefix sum"),
    Kernel("prefix_sum_specialized", "atomics", "Prefix sum of everything, one warp looks back", block_sizes=_TWO_WARPS,
           refuses=_SPECIALIZED, shows="+shared_load_requests", work="prefix sum", operation="prefix sum",
           varies="floats"),
    Kernel("max_shared", "atomics", "Largest number, tree in shared memory", combines=("relaunch",), coverage=None,
           shows="shuffles", work="maximum", operation="maximum"),
    Kernel("max_shuffle", "atomics", "Largest number, shuffles", combines=("relaunch",), coverage=None,
           shows="barriers", work="maximum", operation="maximum"),
    Kernel("max_shuffle_atomic", "atomics", "Largest number, shuffles and one atomic per block", dtypes=_INT,
           combines=("atomic",), coverage=None, refuses=_NO_FLOAT, shows="+atomics", work="maximum",
           operation="maximum"),
    Kernel("max_vectorized", "atomics", "Largest number, vector loads, four in flight, single pass",
           combines=("hand-over",), coverage=None, bytes_per_thread=64, shows="atomics", work="maximum",
           operation="maximum"),
)  # fmt: skip
_NAMED = {kernel.name: kernel for kernel in KERNELS}


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """The launches that give the answer; the choice has passed engine.plan's checks. NotRunnable: too many tries."""
    if kernel.name.startswith("max_"):
        return one_pass.largest(kernel, choice, gpu)
    if kernel.name.endswith(("_lookback", "_specialized")):
        kept = atomic_checks.produced(kernel.name, choice.dtype, SEED, choice.n)
        return one_pass.looking_back(kernel, choice, kept, gpu)
    if kernel.name.endswith("_prefix_sum"):
        return prefix_sums.planned(kernel, choice, _each(kernel, choice))
    if kernel.name in ("transformation", "warp_broadcast", "warp_movements"):
        return _each(kernel, choice)
    if kernel.name in _EXCHANGES:
        return _places(kernel, choice)
    if kernel.name == "atomic_add_aggregated":
        return one_pass.aggregated(kernel, choice, gpu)
    if kernel.name == "add_without_atomics":
        return one_pass.apart(kernel, choice, gpu)
    if kernel.parameter is not None:
        return _sums(kernel, choice)
    return _drawn(kernel, choice)


def _sums(kernel: Kernel, choice: Settled) -> Plan:
    """ADDRESSES results, zero or all bits before; every thread adds to one of them."""
    n, addresses = choice.n, knob(kernel, choice)
    if kernel.name == "atomic_add_cas":
        atomic_checks.check_tries(choice, addresses)
    start: Step = Zero("out")
    if kernel.name == "atomic_and":
        start = launch_of(kernel, choice, ("out",), addresses, function="set_bits")
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, addresses, "zero")),
        (start, launch_of(kernel, choice, ("in", "out", elements(choice)), n)),
        result_count=addresses,
        moved=n,
        flops=n,
        additions=ceil(n / addresses),
        grid_size=ceil(n / choice.block_size),
    )


def _places(kernel: Kernel, choice: Settled) -> Plan:
    """n answers, then ADDRESSES places that are zero before."""
    n, count = choice.n, choice.n + knob(kernel, choice)
    args = ("in", "out", elements(choice)) if kernel.name == "atomic_exch" else ("out", elements(choice))
    inputs = (Buffer("in", choice.dtype, n, "input"),) if "in" in args else ()
    return plan_with(
        choice,
        (*inputs, Buffer("out", choice.dtype, count, "zero")),
        (Zero("out"), launch_of(kernel, choice, args, n)),
        result_count=count,
        moved=2 * n if inputs else n,
    )


def _drawn(kernel: Kernel, choice: Settled) -> Plan:
    """Threads draw from one counter where to write."""
    n = choice.n
    count = atomic_checks.produced(kernel.name, choice.dtype, SEED, n)
    args = ("out", elements(choice), "counter") if kernel.name == "order_place" else (
        "in", "out", elements(choice), "counter")  # fmt: skip
    inputs = (Buffer("in", choice.dtype, n, "input"),) if "in" in args else ()
    return plan_with(
        choice,
        (*inputs, Buffer("out", choice.dtype, max(1, count), "poison"), Buffer("counter", "uint32", 1, "zero")),
        (Zero("counter"), launch_of(kernel, choice, args, n)),
        result_count=max(1, count),
        moved=count + (n if inputs else 0),
    )


def _each(kernel: Kernel, choice: Settled) -> Plan:
    """Every thread writes one number."""
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, choice.n, "input"), Buffer("out", choice.dtype, choice.n, "poison")),
        (launch_of(kernel, choice, ("in", "out", elements(choice)), choice.n),),
        result_count=choice.n,
        moved=2 * choice.n,
        flops=choice.n,
    )


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n)}; nothing for the kernels that hand out numbers without reading any."""
    if choice.kernel in ("order_place", "atomic_cas"):
        return {}
    return {"in": (data.period(choice.dtype, SEED), choice.n)}


def check(plan: Plan, output: Array) -> Check:
    """The answer by the rule of its kernel; see engine.catalogue.topics.atomic_checks."""
    choice = plan.choice
    numbers = data.repeated(data.period(choice.dtype, SEED), choice.n)
    value = knob(_NAMED[choice.kernel], choice)
    match choice.kernel:
        case "transformation":
            return checks.equal(output, numbers + numbers.dtype.type(10), "Checked: every element.")
        case "atomic_add" | "atomic_add_cas" | "atomic_add_aggregated" | "add_without_atomics":
            return atomic_checks.sums_by_address(numbers, output, value, plan.additions)
        case "atomic_sub":
            return atomic_checks.sums_by_address(-numbers, output, value, plan.additions)
        case "atomic_min":
            return atomic_checks.combined_by_address(numbers, output, value, np.minimum)
        case "atomic_max":
            return atomic_checks.combined_by_address(numbers, output, value, np.maximum)
        case "atomic_inc":
            return atomic_checks.turns(choice.n, output, value)
        case "atomic_dec":
            return atomic_checks.turns(choice.n, output, value, down=True)
        case "atomic_and":
            return atomic_checks.cleared(numbers, output, value)
        case "atomic_or":
            return atomic_checks.combined_by_address(numbers, output, value, np.bitwise_or)
        case "atomic_xor":
            return atomic_checks.combined_by_address(numbers, output, value, np.bitwise_xor)
        case "atomic_exch":
            return atomic_checks.exchanged(numbers, output, value)
        case "atomic_cas":
            return atomic_checks.taken(output, choice.n, value)
        case "order_place":
            return atomic_checks.places(output)
        case "reserve_buffer":
            return atomic_checks.packed(numbers, output)
        case "filter_atomic" | "filter_aggregated":
            return atomic_checks.kept(numbers, output)
        case "filter_lookback" | "filter_specialized":
            return atomic_checks.kept_in_order(numbers, output)
        case "warp_broadcast":
            return atomic_checks.broadcast(numbers, output, value)
        case "warp_movements":
            return atomic_checks.moved(numbers, output)
        case "max_shared" | "max_shuffle" | "max_shuffle_atomic" | "max_vectorized":
            return atomic_checks.largest(numbers, output)
    group = {"warp_prefix_sum": 32, "block_prefix_sum": choice.block_size}.get(choice.kernel, choice.n)
    return atomic_checks.prefix_sums(numbers, output, group, plan.additions)


TOPIC = Topic(
    name="atomics",
    title="Atomics and warps",
    size_label="N (elements)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=tuple(2**power for power in range(10, 25, 2)),
    default_n=2**18,
    default_block_size=256,
    max_n=2**28,
    emulator_max_n=2**20,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note=data.NOTE,
)
