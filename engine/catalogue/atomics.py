"""The topic "atomics": how threads combine values: atomics, places in an order, shuffles, prefix sums, maxima.

Kernels have the signature NAME(const T *in, T *out, unsigned int n), with a counter after these if threads draw from
one. Many answers may come in any order, so each check states what every order has in common.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Literal

import numpy as np

from engine.catalogue import atomic_checks, checks, data
from engine.catalogue.atomic_ladders import LADDERS
from engine.catalogue.entries import Kernel, Parameter, Topic
from engine.catalogue.gpu_models import GPU, WARP, GpuModel
from engine.catalogue.plans import (
    PIECE_LANES,
    PIECE_LOADS,
    PIECE_THREADS,
    check_grid,
    elements,
    filling_lanes,
    launch_of,
    plan_with,
    slots,
    value_of_parameter,
)
from engine.records import Array, Buffer, Check, Choice, Launch, Plan, Scalar, Settled, Step, Zero, dtype_of


def _scan_plan(kernel: Kernel, choice: Settled, made: Plan) -> Plan:
    """Return one launch for warps and blocks, as `made` plans it. For the grid: scan blocks, then their sums, and add
    these."""
    n, block_size = choice.n, choice.block_size
    steps = 5 if kernel.name == "warp_prefix_sum" else 11
    if kernel.name != "grid_prefix_sum":
        return plan_with(choice, made.buffers, made.steps, result_count=n, moved=2 * n, flops=n, additions=steps)
    buffers = [Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, n, "poison")]
    down: list[Step] = []
    up: list[Step] = []
    source, target, count = "in", "out", n
    while True:
        blocks = ceil(count / block_size)
        sums = f"block_sums{len(down) + 1}"
        buffers.append(Buffer(sums, choice.dtype, blocks, "poison"))
        size = Scalar("uint32", count)
        down.append(launch_of(kernel, choice, (source, target, size, sums), count))
        if blocks == 1:
            break
        up.insert(0, launch_of(kernel, choice, (target, size, sums), count, function="add_block_sums"))
        source, target, count = sums, sums, blocks  # a thread reads only the element that it writes
    return plan_with(
        choice,
        tuple(buffers),
        (*down, *up),
        result_count=n,
        moved=2 * n,
        flops=n,
        additions=(steps + 1) * len(down),
    )


LOOK_BACK_BYTES = 128  # elements of a thread, in a kernel whose blocks look back
LOADED_BYTES = 16  # with one load of a thread
FEWEST_PIECES = 16  # of add_without_atomics, if it has so many addresses
BLOCKS_IN_FLIGHT = 4  # blocks of max_vectorized on each multiprocessor; more only hand over more numbers (measured)


def _look_back_plan(kernel: Kernel, choice: Settled, kept: int, gpu: GpuModel) -> Plan:
    """Return one launch; its ticket and the states of its tiles start as zeros: 8 bytes for a count, or for every four
    bytes of a sum. Each tile has a block; or resident blocks draw tiles, and one of their warps does not load. `kept`:
    by a filter."""
    n, block_size = choice.n, choice.block_size
    scans, stays = kernel.name.startswith("prefix_sum"), kernel.name.endswith("_specialized")
    size = dtype_of(choice.dtype).itemsize
    count = n if scans else kept
    loading = block_size - WARP if stays else block_size
    tiles = ceil(n / (loading * LOOK_BACK_BYTES // size))
    blocks = min(tiles, gpu.filling_blocks(block_size) // 2) if stays else tiles  # a thread has 64 registers
    words = size // 4 if scans else 1
    more = ("states",) if scans else ("kept", "states")
    buffers = [Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, max(1, count), "poison")]
    buffers += [Buffer("kept", "uint32", 1, "poison")] * (not scans)
    return plan_with(
        choice,
        (*buffers, Buffer("states", "uint32", 2 * (1 + tiles * words), "zero")),
        (
            Zero("states"),
            launch_of(kernel, choice, ("in", "out", elements(choice), *more), blocks * block_size),
        ),
        result_count=max(1, count),
        moved=n + count,
        flops=n,
        # The additions in a thread, a warp, its rounds and a block; then from tile to tile, if each waits for the one
        # below.
        additions=3 + 5 + LOOK_BACK_BYTES // 16 + 5 + 2 * tiles,
    )


def _maximum_plan(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """Return a grid-stride launch; then one block for the numbers of the blocks, or an atomic per block, or a
    hand-over."""
    check_grid(choice)
    n, block_size = choice.n, choice.block_size
    elements_each = max(1, kernel.bytes_per_thread // dtype_of(choice.dtype).itemsize)
    most = gpu.filling_blocks(block_size)
    if elements_each > 1:
        most = min(most, BLOCKS_IN_FLIGHT * gpu.multiprocessors)
    blocks = choice.grid_size or min(ceil(n / (block_size * elements_each)), most)
    hands_over = kernel.combines == ("hand-over",)
    more = ("slots",) if hands_over else ()
    first = launch_of(kernel, choice, ("in", "out", elements(choice), *more), blocks * block_size)
    buffers = [Buffer("in", choice.dtype, n, "input")]
    steps: list[Step] = [first]
    result = "out"
    if kernel.combines == ("atomic",):
        start = Launch("first_number", first.source, (1, 1, 1), (1, 1, 1), ("in", "out"))
        buffers.append(Buffer("out", choice.dtype, 1, "poison"))
        steps = [start, first]
    elif hands_over:
        buffers += [Buffer("out", choice.dtype, 1, "poison"), slots(choice.dtype, blocks)]
    else:
        buffers.append(Buffer("out", choice.dtype, blocks, "poison"))
        if blocks > 1:
            result = "out2"
            buffers.append(Buffer("out2", choice.dtype, 1, "poison"))
            steps.append(launch_of(kernel, choice, ("out", "out2", Scalar("uint32", blocks)), block_size))
    return plan_with(choice, tuple(buffers), tuple(steps), result=result, result_count=1, moved=n, flops=n - 1,
                   additions=1, grid_size=blocks)  # fmt: skip


def _aggregated_plan(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """Return a launch whose threads add up the numbers of one address: a round of the grid covers a multiple of the
    addresses, unless one round covers everything."""
    n, block_size, addresses = choice.n, choice.block_size, value_of_parameter(kernel, choice)
    tile = block_size * LOADED_BYTES // dtype_of(choice.dtype).itemsize
    tiles, blocks_together = ceil(n / tile), max(1, addresses // tile)
    blocks = max(1, gpu.filling_blocks(block_size) // 2 // blocks_together) * blocks_together
    blocks = min(blocks, tiles)
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, addresses, "zero")),
        (Zero("out"), launch_of(kernel, choice, ("in", "out", elements(choice)), blocks * block_size)),
        result_count=addresses,
        moved=n,
        flops=n,
        additions=ceil(n / addresses),
    )


def _apart_plan(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """Return one launch whose blocks own pieces of the addresses, as columns of a matrix; if these do not fill the GPU,
    blocks share them by strips of rows."""
    n, threads, addresses = choice.n, choice.block_size, value_of_parameter(kernel, choice)
    each = LOADED_BYTES // dtype_of(choice.dtype).itemsize
    vectors = max(addresses // each, PIECE_LANES[-1])
    rows, strips = ceil(n / (vectors * each)), 1
    lanes = next((lanes for lanes in filling_lanes(rows, vectors, threads, gpu) if lanes <= vectors), 0)
    if lanes:
        widest = min(threads // each, vectors // FEWEST_PIECES, PIECE_LOADS * threads // rows)
        while 2 * lanes <= widest:
            lanes *= 2
    else:
        lanes = next((lanes for lanes in PIECE_LANES if vectors // lanes >= FEWEST_PIECES), PIECE_LANES[-1])
        filling = gpu.multiprocessors * PIECE_THREADS * lanes // (vectors * threads)
        strips = max(1, min(filling, rows * lanes // (PIECE_LOADS * threads)))
    launch = launch_of(kernel, choice, ("in", "out", elements(choice), "slots"), threads, macros={"LANES": lanes})
    return plan_with(
        choice,
        (
            Buffer("in", choice.dtype, n, "input"),
            Buffer("out", choice.dtype, addresses, "poison"),
            slots(choice.dtype, (strips - 1) * addresses + 1),
        ),
        (replace(launch, grid=(vectors // lanes, strips, 1)),),
        result_count=addresses,
        moved=n,
        flops=n,
        additions=ceil(n / addresses),
        grid_size=vectors // lanes * strips,
    )


SEED = 2020

_NO_FLOAT = "CUDA has this atomic for integers only; build it on atomicCAS, or choose int32."
_NO_DOUBLE = "CUDA has this atomic for integers and float32 only; build it on atomicCAS, or choose float32."
_ONLY_INT = dict.fromkeys(
    ("float32", "float64"), "The kernel hands out whole numbers, the same for every element type; choose int32."
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


# One default for all, so their times compare; few threads per address, for compare-and-swap.
_EXCHANGES = ("atomic_exch", "atomic_cas")  # the order of the threads is part of the answer
_ADDRESSES = Parameter("ADDRESSES", "Addresses", _POWERS, 4096)


def _atomic(
    name: str,
    title: str,
    dtypes: tuple[str, ...],
    work: str = "a number for each address",
    operation: str = "",
    varies: Literal["floats", "order", ""] = "floats",
    law: str = "addresses",
) -> Kernel:
    why = _NO_DOUBLE if "float32" in dtypes else _NO_FLOAT
    refuses = {kind: why for kind in ("float32", "float64") if kind not in dtypes}
    return Kernel(name, "atomics", title, dtypes=dtypes, parameter=_ADDRESSES, refuses=refuses,
                  work=work, operation=operation, law=law,
                  varies="order" if name in _EXCHANGES else varies)  # fmt: skip


def _whole(name: str, title: str, work: str, packed: bool = False) -> Kernel:
    return Kernel(name, "atomics", title, dtypes=_INT, refuses=_ONLY_INT, work=work, varies="order",
                  packed=packed)  # fmt: skip


KERNELS = (
    Kernel("transformation", "atomics", "One thread per output point", work="transformation"),
    _atomic("atomic_add", "Add", ("int32", "float32", "float64"), operation="sums by address"),
    _atomic("atomic_add_cas", "Add, built on compare-and-swap", ("int32", "float32", "float64"),
            operation="sums by address", law="tries"),
    _atomic("atomic_sub", "Subtract", _INT),
    _atomic("atomic_min", "Minimum", _INT),
    _atomic("atomic_max", "Maximum", _INT),
    _atomic("atomic_inc", "Count in turns", _INT, law="addresses in turn"),
    _atomic("atomic_dec", "Count down in turns", _INT, law="addresses in turn"),
    _atomic("atomic_and", "Clear bits", _INT),
    _atomic("atomic_or", "Set bits", _INT),
    _atomic("atomic_xor", "Flip bits", _INT),
    _atomic("atomic_exch", "Exchange", ("int32", "float32"), "one exchange per element", law="addresses in turn"),
    _atomic("atomic_cas", "Compare and swap", _INT, law="addresses in turn"),
    _atomic("atomic_add_aggregated", "Add, in registers and in the block first", ("int32", "float32", "float64"),
            operation="sums by address",
            law="aggregated"),
    _atomic("add_without_atomics", "Add, every address in one block", ("int32", "float32", "float64"),
            operation="sums by address", varies="", law="no atomics"),
    _whole("order_place", "My place in an order", "places"),
    _whole("reserve_buffer", "Space in a buffer", "space", packed=True),
    Kernel("filter_atomic", "atomics", "Keep the positive numbers, one atomic each",
           work="filter", operation="selection", varies="order", packed=True),
    Kernel("filter_aggregated", "atomics", "Keep the positive numbers, one atomic per warp", work="filter",
           operation="selection", varies="order",
           packed=True),
    Kernel("filter_lookback", "atomics", "Keep the positive numbers, in order, blocks look back",
           block_sizes=(32, 64, 128, 256), refuses=_PACKED, work="filter",
           operation="selection"),
    Kernel("filter_specialized", "atomics", "Keep the positive numbers, one warp looks back", block_sizes=_TWO_WARPS,
           refuses=_SPECIALIZED, work="filter", operation="selection"),
    Kernel("warp_broadcast", "atomics", "A lane hands its number to the whole warp",
           work="broadcast", parameter=Parameter("LANE", "Lane", tuple(range(32)), 0)),
    Kernel("warp_movements", "atomics", "Four ways from lane to lane", work="movements"),
    Kernel("warp_prefix_sum", "atomics", "Prefix sum in every warp", work="prefix sums of warps"),
    Kernel("block_prefix_sum", "atomics", "Prefix sum in every block", work="prefix sums of blocks"),
    Kernel("grid_prefix_sum", "atomics", "Prefix sum of everything", work="prefix sum",
           operation="prefix sum"),
    Kernel("prefix_sum_lookback", "atomics", "Prefix sum of everything in one pass",
           work="prefix sum", operation="prefix sum"),
    Kernel("prefix_sum_specialized", "atomics", "Prefix sum of everything, one warp looks back", block_sizes=_TWO_WARPS,
           refuses=_SPECIALIZED, work="prefix sum", operation="prefix sum",
           varies="floats"),
    Kernel("max_shared", "atomics", "Largest number, tree in shared memory", combines=("relaunch",), coverage=None,
           work="maximum", operation="maximum"),
    Kernel("max_shuffle", "atomics", "Largest number, shuffles", combines=("relaunch",), coverage=None, work="maximum",
           operation="maximum"),
    Kernel("max_shuffle_atomic", "atomics", "Largest number, shuffles and one atomic per block", dtypes=_INT,
           combines=("atomic",), coverage=None, refuses=dict.fromkeys(("float32", "float64"), _NO_FLOAT),
           work="maximum", operation="maximum"),
    Kernel("max_vectorized", "atomics", "Largest number, vector loads, four in flight, single pass",
           combines=("hand-over",), coverage=None, bytes_per_thread=64, work="maximum",
           operation="maximum"),
)  # fmt: skip
_NAMED = {kernel.name: kernel for kernel in KERNELS}


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return the launches that give the answer; the choice has passed engine.plan's checks. NotRunnable: too many
    tries."""
    if kernel.name.startswith("max_"):
        return _maximum_plan(kernel, choice, gpu)
    if kernel.name.endswith(("_lookback", "_specialized")):
        kept = atomic_checks.produced(kernel.name, choice.dtype, SEED, choice.n)
        return _look_back_plan(kernel, choice, kept, gpu)
    if kernel.name.endswith("_prefix_sum"):
        return _scan_plan(kernel, choice, _each(kernel, choice))
    if kernel.name in ("transformation", "warp_broadcast", "warp_movements"):
        return _each(kernel, choice)
    if kernel.name in _EXCHANGES:
        return _places(kernel, choice)
    if kernel.name == "atomic_add_aggregated":
        return _aggregated_plan(kernel, choice, gpu)
    if kernel.name == "add_without_atomics":
        return _apart_plan(kernel, choice, gpu)
    if kernel.parameter is not None:
        return _sums(kernel, choice)
    return _drawn(kernel, choice)


def _sums(kernel: Kernel, choice: Settled) -> Plan:
    """Plan ADDRESSES results, which start as zeros or with all bits set; every thread adds to one of them."""
    n, addresses = choice.n, value_of_parameter(kernel, choice)
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
    """Plan n answers, then ADDRESSES places that start as zeros."""
    n, count = choice.n, choice.n + value_of_parameter(kernel, choice)
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
    """Plan threads that draw their places from one counter."""
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
    """Plan one launch, whose threads write one number each."""
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
    return {"in": (_numbers(choice), choice.n)}


def _numbers(choice: Choice) -> Array:
    """Return the period of the data; for a maximum all numbers are negative, so a start from 0 is a wrong answer."""
    if _NAMED[choice.kernel].operation == "maximum":
        return data.for_search(data.negative(choice.dtype, SEED), choice.n, choice.schedule, 1)
    if _has_a_nan(choice):
        return data.with_a_nan(choice.dtype, SEED, choice.n)
    if "prefix_sum" in choice.kernel or _NAMED[choice.kernel].operation == "sums by address":
        return data.for_sums(choice, SEED)
    return data.period(choice.dtype, SEED)


def _has_a_nan(choice: Choice) -> bool:
    """Return whether one number is a NaN: for a file of one's own that adds floats by compare-and-swap."""
    own = choice.source is not None and choice.kernel == "atomic_add_cas" and choice.dtype != "int32"
    return own and choice.n <= data.MOST_TURNED and str(choice.schedule).startswith("independent")


def check(plan: Plan, output: Array) -> Check:
    """Check the answer by the rule of its kernel; see engine.catalogue.atomic_checks."""
    choice = plan.choice
    numbers = data.repeated(_numbers(choice), choice.n)
    value = value_of_parameter(_NAMED[choice.kernel], choice)
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
    data_note=f"{data.NOTE} Those of a maximum are negative; if blocks run in waves, the last one is positive. When a "
    f"file is checked in waves, int32 for sums by address and prefix sums are {data.WIDENING:,} times as large; if "
    "warps run independently, one float that is added by compare-and-swap is a NaN.",
    shows={"atomic_sub": "atomics", "atomic_add_aggregated": "=atomics", "warp_broadcast": "atomics"},
)
