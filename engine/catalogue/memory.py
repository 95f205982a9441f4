"""The topic "memory": how a warp reads global and shared memory, and what divergence costs. One law per kernel.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n) and writes n elements, one or two per thread.
Its parameter (STRIDE, OFFSET, WORDS, WAYS) is compiled in; the counters of the emulator then follow the lecture's law.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from engine.catalogue import checks, data, memory_checks
from engine.catalogue.entries import Kernel, Parameter, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.memory_checks import SIDE, TABLE
from engine.catalogue.memory_ladders import LADDERS
from engine.catalogue.plans import elements, launch_of, plan_with, value_of_parameter
from engine.records import Array, Buffer, Check, Choice, Plan, Settled, dtype_of

SEED = 121
MAX_N = 2**24
ROUNDS = 64  # steps of a loop over shared memory or of a branch: enough to dominate the time of the copy
CHAIN = 1024  # numbers in the chain of a single thread, and rounds of a warp's work between two barriers
PASSES = 8  # over rows that lie on the chip

_ONLY_INT = dict.fromkeys(("float32", "float64"), "Integers make the answer exact; choose int32.")
_TILES = dict.fromkeys(
    ("512", "1024"),
    "The tiles have at least 32 numbers per thread, which must fit in 48 KB of shared memory; choose 32 to 256.",
)
_TO_32 = tuple(range(1, 33))
_KILOBYTES = Parameter("KILOBYTES", "Numbers (KB)", (4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256, 384, 512, 1024),
                       16)  # fmt: skip
_OFFSET = Parameter("OFFSET", "Offset (elements)", tuple(range(33)), 1)
_WAYS = Parameter("WAYS", "Branches", _TO_32, 8)


_CHAIN = dict.fromkeys(("float32", "float64"), "Each number says where the next one lies; choose int32.")


def _chain(name: str, title: str, parameter: Parameter | None = None,
           work: str = "one chain") -> Kernel:  # fmt: skip
    return Kernel(name, "memory", title, dtypes=("int32",), parameter=parameter, refuses=_CHAIN,
                  work=work)  # fmt: skip


def _whole(name: str, title: str, work: str, parameter: Parameter | None = None,
           on_chip: bool = False, law: str = "") -> Kernel:  # fmt: skip
    return Kernel(name, "memory", title, dtypes=("int32",), parameter=parameter, refuses=_ONLY_INT,
                  work=work, on_chip=on_chip, law=law)  # fmt: skip


def _matrix(name: str, title: str, tiles: bool = False) -> Kernel:
    sizes = (32, 64, 128, 256) if tiles else (32, 64, 128, 256, 512, 1024)
    operation = "" if name == "matrix_by_row" else "sums of short rows"  # of 32; by row, lanes sum columns
    return Kernel(name, "memory", title, dtypes=("int32",), block_sizes=sizes,
                  refuses=_ONLY_INT | (_TILES if tiles else {}), work="matrices",
                  operation=operation)  # fmt: skip


KERNELS = (
    _chain("latency_global", "One chain through global memory"),
    _chain("latency_l1", "One chain through the L1 cache", _KILOBYTES),
    _chain("latency_shared", "One chain through shared memory"),
    _chain("latency_constant", "One chain through constant memory"),
    _chain("latency_register", "One chain, its number in a register"),
    _chain("latency_hidden", "A chain for every thread", work="many chains"),
    _whole("bandwidth_global", "Numbers from global memory", "numbers once"),
    _whole("bandwidth_l1", "Numbers from the L1 cache", "numbers again", on_chip=True),
    _whole("bandwidth_shared", "Numbers from shared memory", "numbers again", on_chip=True),
    _whole("constant_words", "Constant memory, different words for the lanes", "constants",
           Parameter("WORDS", "Different words", _TO_32, 32), law="constant words"),
    _whole("constant_broadcast", "Constant memory, one word for all lanes", "constants"),
    _matrix("matrix_by_row", "A matrix row by row"),
    _matrix("matrix_by_column", "A matrix column by column"),
    _matrix("matrix_staged", "Columns from shared memory", tiles=True),
    _matrix("matrix_padded", "Columns from padded shared memory", tiles=True),
    _matrix("matrix_shuffled", "Rows by eight lanes each, 16-byte loads and shuffles"),
    Kernel("copy_offset", "memory", "Copy that starts beside a sector",
           work="copy", parameter=_OFFSET, operation="copy", law="offset"),
    Kernel("copy_strided", "memory", "Copy with a stride between neighbours",
           work="copy", parameter=Parameter("STRIDE", "Stride (elements)", _TO_32, 8), operation="copy", law="stride"),
    Kernel("copy_vectorized", "memory", "Copy, 16 bytes at a time, four in flight",
           work="copy", bytes_per_thread=64, operation="copy"),
    Kernel("copy_unaligned", "memory", "Copy from any start, 64 bytes in flight",
           work="copy", parameter=_OFFSET, bytes_per_thread=64, operation="copy of a slice", law="offset"),
    Kernel("banks_strided", "memory", "Shared memory with a stride between lanes",
           work="reads", parameter=Parameter("STRIDE", "Stride (elements)", (*_TO_32, 33), 32), law="bank stride"),
    Kernel("banks_broadcast", "memory", "Shared memory, words of one bank for many lanes",
           work="reads", parameter=Parameter("WORDS", "Different words", _TO_32, 1), law="bank words"),
    Kernel("banks_pairs_neighbours", "memory", "Two numbers per thread, at 2*tid and 2*tid + 1", coverage=2,
           work="pairs"),
    Kernel("banks_pairs_apart", "memory", "Two numbers per thread, at tid and tid + blockDim.x", coverage=2,
           work="pairs"),
    _whole("divergence_three", "Three short branches", "three short branches"),
    _whole("divergence_ways", "Branches by threadIdx.x % WAYS", "branches", _WAYS, law="branches"),
    _whole("divergence_warps", "Branches by warp", "branches", _WAYS, law="branches by warp"),
    _whole("barrier_every_step", "A barrier after every step", "steps"),
    _whole("barrier_none", "The same steps without barriers", "steps"),
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Return one launch that writes n elements; the choice has passed engine.plan's checks."""
    if kernel.name.startswith("latency"):
        return _chained(kernel, choice)
    macros = _macros(kernel)
    each = max(kernel.coverage or 1, kernel.bytes_per_thread // dtype_of(choice.dtype).itemsize)
    threads = ceil(choice.n / each)
    launch = launch_of(kernel, choice, ("in", "out", elements(choice)), threads, macros=macros)
    reads = _reads(kernel)
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, _inputs(kernel, choice), "input"), Buffer("out", choice.dtype, choice.n, "poison")),
        (launch,),
        result_count=choice.n,
        moved=choice.n * (reads or 2),
        flops=choice.n * (reads or macros.get("ROUNDS", 0)),
        additions=(reads or ROUNDS) + 1,
    )


def _macros(kernel: Kernel) -> dict[str, int]:
    """Return the macros of a kernel's loops; none for a kernel without loops."""
    if kernel.name.startswith(("copy", "banks_pairs", "divergence_three", "matrix")):
        return {}
    rounds = {"ROUNDS": CHAIN if kernel.name.startswith("barrier") else ROUNDS}
    return rounds | ({"PASSES": PASSES} if kernel.on_chip else {})


def _reads(kernel: Kernel) -> int:
    """Return how many numbers a thread reads and adds; 0 for kernels that write one number for each that they read."""
    if kernel.name.startswith("matrix"):
        return SIDE
    return ROUNDS * (PASSES if kernel.on_chip else 1) if kernel.name.startswith("bandwidth") else 0


def _chained(kernel: Kernel, choice: Settled) -> Plan:
    """Plan one thread, or n threads, that follow a chain; `moved` and `flops` count its numbers."""
    threads, rounds = _chains(kernel.name, choice.n)
    launch = launch_of(kernel, choice, ("in", "out", elements(choice)), threads, macros={"ROUNDS": rounds})
    results = choice.block_size if kernel.name == "latency_l1" else threads
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, _inputs(kernel, choice), "input"), Buffer("out", choice.dtype, results, "poison")),
        (launch,),
        result_count=results,
        moved=threads * rounds,
        flops=threads * rounds,
    )


def _chains(kernel: str, n: int) -> tuple[int, int]:
    """Return (threads, numbers in the chain of each)."""
    return (n, ROUNDS) if kernel == "latency_hidden" else (1, CHAIN)


def _inputs(kernel: Kernel, choice: Choice) -> int:
    """Return how many numbers the kernel may read: n, unless it reads beyond n or always the same ones."""
    whole = ceil(choice.n / choice.block_size) * choice.block_size
    if kernel.name.startswith("matrix"):
        return whole * SIDE
    match kernel.name:
        case "copy_strided":
            return choice.n * value_of_parameter(kernel, choice)
        case "copy_offset" | "copy_unaligned":
            return choice.n + value_of_parameter(kernel, choice)
        case "latency_l1":
            return value_of_parameter(kernel, choice) * 256
        case "bandwidth_global":
            return whole * ROUNDS
        case "bandwidth_l1" | "bandwidth_shared":
            return SIDE * (ROUNDS + PASSES)
    return choice.n


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """Return {"in": (period, count)}: n numbers, or as many as the kernel may read."""
    return {"in": (data.for_sums(choice, SEED), _inputs(_NAMED[choice.kernel], choice))}


def check(plan: Plan, output: Array) -> Check:
    """Check every element against NumPy: copies and integers must be equal, float sums within their rounding."""
    choice = plan.choice
    kernel, n = _NAMED[choice.kernel], choice.n
    value = value_of_parameter(kernel, choice)
    period, wide = data.for_sums(choice, SEED), data.is_wide(choice)
    match kernel.name.partition("_")[0]:
        case "copy":
            return checks.equal(output, period[_copied(kernel.name, value, n) % len(period)], memory_checks.COPY)
        case "latency":
            return _check_chain(kernel, choice, output)
        case "matrix":
            by_row = kernel.name == "matrix_by_row"
            return memory_checks.sums_of_warps(choice.dtype, SEED, output, SIDE, by_row, wide)
        case "bandwidth":
            if kernel.on_chip:
                numbers = data.repeated(period, _inputs(kernel, choice))
                return memory_checks.shifted_sums(numbers, output, ROUNDS, PASSES)
            return memory_checks.sums_of_warps(choice.dtype, SEED, output, ROUNDS, by_row=True, wide=wide)
    numbers = data.repeated(period, n)
    if kernel.name.startswith("banks_pairs"):
        return checks.equal(output, numbers, memory_checks.COPY)
    if kernel.name.startswith(("banks", "constant")):
        table = memory_checks.head(numbers) if kernel.name.startswith("banks") else memory_checks.constants()
        return memory_checks.table_sums(numbers, output, table, _words(kernel.name, value), plan.additions)
    if kernel.name == "divergence_three":
        third = np.arange(n) % choice.block_size % 3
        return checks.equal(output, np.choose(third, (numbers + 1, numbers - 1, numbers * 2)), memory_checks.EVERY)
    factor, term, rounds = np.array([1664525]), np.array([1013904223]), CHAIN
    way: Array | int = 0
    if kernel.name.startswith("divergence"):
        threads, ways = np.arange(n), np.arange(value)
        way = (threads % choice.block_size if kernel.name == "divergence_ways" else threads // 32) % value
        factor, term, rounds = 4 * ways + 5, 2 * ways + 1, ROUNDS
    expected = memory_checks.looped(numbers, factor, term, way, rounds)
    return checks.equal(output, expected, "Checked: every element, modulo 2^32.")


def _copied(kernel: str, value: int, n: int) -> Array:
    """Return the elements that a copy reads, shape (n,)."""
    match kernel:
        case "copy_strided":
            return np.arange(n) * value
        case "copy_offset" | "copy_unaligned":
            return np.arange(n) + value
    return np.arange(n)


def _check_chain(kernel: Kernel, choice: Choice, output: Array) -> Check:
    threads, rounds = _chains(kernel.name, choice.n)
    if kernel.name == "latency_hidden":
        return memory_checks.chains_of_all(choice.dtype, SEED, data.is_wide(choice), output, rounds)
    numbers = data.repeated(data.for_sums(choice, SEED), _inputs(kernel, choice))
    if kernel.name == "latency_register":
        end = memory_checks.register_end(int(numbers[0]), choice.n, rounds)
        return memory_checks.chained(output, np.array([end], np.int32))
    table = numbers
    if kernel.name in ("latency_shared", "latency_constant"):
        table = memory_checks.head(numbers) if kernel.name == "latency_shared" else memory_checks.constants()
    ends = memory_checks.chain_ends(table, np.arange(threads), rounds)
    if kernel.name != "latency_l1":
        return memory_checks.chained(output, ends)
    brought = np.array([numbers[thread :: choice.block_size].sum(dtype=np.int64) for thread in range(len(output))])
    return memory_checks.chained(output, ends, brought)


def _words(kernel: str, value: int) -> Array:
    """Return the words of the table that a lane reads, shape (32, ROUNDS)."""
    lanes, rounds = np.arange(32)[:, None], np.arange(ROUNDS)
    match kernel:
        case "banks_strided":
            return (lanes * value + rounds) % TABLE
        case "banks_broadcast":
            return (lanes % value * 32 + rounds) % TABLE
        case "constant_words":
            return lanes % value * 32 + rounds % 32
    return lanes * 0 + rounds % 32


_NAMED = {kernel.name: kernel for kernel in KERNELS}

TOPIC = Topic(
    name="memory",
    title="Memory and warps",
    size_label="N (elements)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(2**10, 2**14, 2**18, 2**22, 2**24),
    default_n=2**18,
    default_block_size=256,
    max_n=MAX_N,
    emulator_max_n=2**20,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note=data.SUMS_NOTE,
)
