"""The topic "memory": how a warp reads global and shared memory, and what divergence costs. One law per kernel.

Every kernel has the signature NAME(const T *in, T *out, unsigned int n) and writes n elements, one or two per thread.
Its knob (STRIDE, OFFSET, WORDS, WAYS) is compiled in; the counters of the emulator then follow the lecture's law.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np

from engine.catalogue import checks, data
from engine.catalogue.entries import Kernel, Parameter, Topic
from engine.catalogue.ladders.memory import LADDERS
from engine.catalogue.plans import elements, knob, launch_of, plan_with
from engine.records import Array, Buffer, Check, Choice, Plan, Settled

SEED = 121
MAX_N = 2**24
ROUNDS = 64  # steps of a loop over shared memory or of a branch: enough that they and not the copy are what is timed
CHAIN = 1024  # numbers that a single thread follows
TABLE = 1024  # numbers in the shared table, as in cuda/memory/banks_*.cu

_ONLY_INT = dict.fromkeys(
    ("float32", "float64"),
    "The passes are the same for every element type; integers make the answer exact. Choose int32.",
)
_TO_32 = tuple(range(1, 33))
_WAYS = Parameter("WAYS", "Branches", _TO_32, 8)


def _ways(name: str, title: str, parameter: Parameter | None, shows: str) -> Kernel:
    work = "branches" if parameter else "three short branches"
    return Kernel(name, "memory", title, dtypes=("int32",), parameter=parameter, refuses=_ONLY_INT, shows=shows,
                  work=work)  # fmt: skip


_CHAIN = dict.fromkeys(("float32", "float64"), "The numbers say where the next one lies; choose int32.")


def _chain(name: str, title: str, shows: str = "", work: str = "one chain") -> Kernel:
    return Kernel(name, "memory", title, dtypes=("int32",), refuses=_CHAIN, shows=shows, work=work)


KERNELS = (
    _chain("latency_global", "One chain through global memory"),
    _chain("latency_shared", "One chain through shared memory", "global_load_requests"),
    _chain("latency_hidden", "A chain for every thread", "+global_load_requests", "many chains"),
    Kernel("copy_offset", "memory", "Copy that starts beside a sector", shows="sectors_per_request",
           work="copy", parameter=Parameter("OFFSET", "Offset (elements)", tuple(range(33)), 1)),
    Kernel("copy_strided", "memory", "Copy with a stride between neighbours", shows="+sectors_per_request",
           work="copy", parameter=Parameter("STRIDE", "Stride (elements)", _TO_32, 8)),
    Kernel("banks_strided", "memory", "Shared memory with a stride between lanes", shows="+bank_conflicts",
           work="reads", parameter=Parameter("STRIDE", "Stride (elements)", (*_TO_32, 33), 32)),
    Kernel("banks_broadcast", "memory", "Shared memory, words of one bank for many lanes", shows="bank_conflicts",
           work="reads", parameter=Parameter("WORDS", "Different words", _TO_32, 1)),
    Kernel("banks_pairs_neighbours", "memory", "Two numbers per thread, at 2*tid and 2*tid + 1", coverage=2,
           shows="+bank_conflicts", work="pairs"),
    Kernel("banks_pairs_apart", "memory", "Two numbers per thread, at tid and tid + blockDim.x", coverage=2,
           shows="bank_conflicts", work="pairs"),
    _ways("divergence_three", "Three short branches", None, "=divergent_branches"),
    _ways("divergence_ways", "Branches by threadIdx.x % WAYS", _WAYS, "+divergent_branches"),
    _ways("divergence_warps", "Branches by warp", _WAYS, "divergent_branches"),
)  # fmt: skip


def plan(kernel: Kernel, choice: Settled) -> Plan:
    """One launch that writes n elements; the choice has passed engine.plan's checks."""
    if kernel.name.startswith("latency"):
        return _chained(kernel, choice)
    macros = {} if kernel.name.startswith(("copy", "banks_pairs", "divergence_three")) else {"ROUNDS": ROUNDS}
    threads = ceil(choice.n / (kernel.coverage or 1))
    launch = launch_of(kernel, choice, ("in", "out", elements(choice)), threads, macros=macros)
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, _inputs(kernel, choice), "input"), Buffer("out", choice.dtype, choice.n, "poison")),
        (launch,),
        result_count=choice.n,
        moved=2 * choice.n,
        flops=choice.n * ROUNDS if macros else 0,
        additions=ROUNDS + 1,
    )


def _chained(kernel: Kernel, choice: Settled) -> Plan:
    """One thread, or n of them, follow a chain; `moved` and `flops` count its numbers."""
    threads, rounds = _chains(kernel.name, choice.n)
    launch = launch_of(kernel, choice, ("in", "out", elements(choice)), threads, macros={"ROUNDS": rounds})
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, choice.n, "input"), Buffer("out", choice.dtype, threads, "poison")),
        (launch,),
        result_count=threads,
        moved=threads * rounds,
        flops=threads * rounds,
    )


def _chains(kernel: str, n: int) -> tuple[int, int]:
    """(threads, numbers in the chain of each)."""
    return (n, ROUNDS) if kernel == "latency_hidden" else (1, CHAIN)


def _inputs(kernel: Kernel, choice: Choice) -> int:
    if kernel.name == "copy_strided":
        return choice.n * knob(kernel, choice)
    return choice.n + (knob(kernel, choice) if kernel.name == "copy_offset" else 0)


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, count)}: n numbers, and as many more as a stride or an offset reaches over."""
    return {"in": (data.period(choice.dtype, SEED), _inputs(_NAMED[choice.kernel], choice))}


def check(plan: Plan, output: Array) -> Check:
    """Every element against NumPy: copies and integers equal, sums of floats within their rounding."""
    choice = plan.choice
    kernel, n = _NAMED[choice.kernel], choice.n
    value = knob(kernel, choice)
    if kernel.name.startswith("copy"):
        period = data.period(choice.dtype, SEED)
        reads = np.arange(n) * value if kernel.name == "copy_strided" else np.arange(n) + value
        return checks.equal(output, period[reads % len(period)], _COPY)
    numbers = data.repeated(data.period(choice.dtype, SEED), n)
    if kernel.name.startswith("latency"):
        return checks.equal(output, _ends(choice.kernel, numbers), "Checked: where every chain ends.")
    match choice.kernel:
        case "banks_strided" | "banks_broadcast":
            return _banks(numbers, output, _lane_words(choice.kernel, value), plan.additions)
        case "divergence_three":
            way = np.arange(n) % choice.block_size % 3
            expected = np.choose(way, (numbers + 1, numbers - 1, numbers * 2))
            return checks.equal(output, expected, "Checked: every element.")
        case "divergence_ways" | "divergence_warps":
            threads = np.arange(n)
            way = (threads % choice.block_size if choice.kernel == "divergence_ways" else threads // 32) % value
            return checks.equal(output, _looped(numbers, way), "Checked: every element, modulo 2^32.")
    return checks.equal(output, numbers, _COPY)


_COPY = "Checked: every element; a copy is equal."


def _ends(kernel: str, numbers: Array) -> Array:
    """Where the chains end, as int32: the next place is the upper half of (at + number + round) * 2654435769 * size."""
    threads, rounds = _chains(kernel, len(numbers))
    table = _table(numbers) if kernel == "latency_shared" else numbers
    at = np.arange(threads, dtype=np.uint64)
    for step in range(rounds):
        mixed = (at + table[at].astype(np.int64).view(np.uint64) + np.uint64(step)) & np.uint64(2**32 - 1)
        at = (((mixed * np.uint64(2654435769)) & np.uint64(2**32 - 1)) * np.uint64(len(table))) >> np.uint64(32)
    return at.astype(np.int32)


def _table(numbers: Array) -> Array:
    """The first TABLE numbers, zeros beyond them."""
    table = np.zeros(TABLE, numbers.dtype)
    head = numbers[:TABLE]
    table[: len(head)] = head
    return table


def _lane_words(kernel: str, value: int) -> Array:
    """The word of the table where each lane begins, shape (32,)."""
    lanes = np.arange(32)
    return lanes * value if kernel == "banks_strided" else lanes % value * 32


def _banks(numbers: Array, output: Array, words: Array, additions: int) -> Check:
    """Each element: the number itself plus ROUNDS words of the table, of which lane l begins at words[l]."""
    table = _table(numbers)
    read = checks.exact_type(table)[(words[:, None] + np.arange(ROUNDS)) % TABLE]  # (lane, round)
    own = checks.exact_type(numbers)
    lanes = np.arange(len(numbers)) % 32  # blocks are whole warps, so this is the lane
    exact = own + read.sum(axis=1)[lanes]
    squares = np.square(own, dtype=np.float64) + np.square(read, dtype=np.float64).sum(axis=1)[lanes]
    return checks.sums(output, numbers, squares, exact, additions, "Checked: every element.")


def _looped(numbers: Array, way: Array) -> Array:
    """ROUNDS steps of x -> (4 way + 5) x + 2 way + 1, modulo 2^32, as int32."""
    value = numbers.astype(np.int32).view(np.uint32)
    factor, term = (4 * way + 5).astype(np.uint32), (2 * way + 1).astype(np.uint32)
    for _ in range(ROUNDS):
        value = value * factor + term
    return value.view(np.int32)


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
    peers=(),
    data_note=data.NOTE,
)


def swept(choice: Choice) -> tuple[Choice, ...]:
    """The choice with every value of its kernel's knob: the sweep whose plot shows the law."""
    parameter = _NAMED[choice.kernel].parameter
    return (choice,) if parameter is None else tuple(replace(choice, parameter=value) for value in parameter.values)
