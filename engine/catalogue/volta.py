"""The topic "volta": the changes by independent thread scheduling. Divergent branches, locks in a warp, groups.

Kernels have the signature NAME(const T *in, T *out, unsigned int n), with counters or locks after these.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from engine.catalogue import checks, data
from engine.catalogue.entries import Kernel, Ladder, Parameter, Rung, Topic
from engine.catalogue.gpu_models import GPU, GpuModel
from engine.catalogue.plans import elements, launch_of, plan_with, value_of_parameter
from engine.catalogue.published import HEIDELBERG
from engine.records import Array, Buffer, Check, Choice, NotRunnable, Plan, Scalar, Settled, Step, Zero

_SCHEDULING = Ladder(
    name="heidelberg-volta",
    title="Heidelberg: Volta's independent thread scheduling",
    lecture=HEIDELBERG,
    summary="What a warp promises about the order of its lanes, and what it no longer promises. On the emulator choose "
    "between lockstep (up to Pascal) and independent lanes.",
    n=256,
    block_size=128,
    dtype="int32",
    picture="motion",
    counter="atomics",
    today=(
        "The lecture prints no times of these kernels, which are not about speed: a launch or a wait is most of each "
        "time.",
        "The lock that only independent scheduling can finish takes {time lock_spin}, the one that any GPU can finish "
        "{time lock_inside}, the one that serves in order {time lock_ticket}.",
        "__syncwarp costs next to nothing if the warp has converged anyway: the exchange takes "
        "{times branch_exchange_syncwarp branch_exchange} as long with it.",
    ),
    rungs=(
        Rung("branch_order", "if/else", "The lecture's branches with A, B, X, Y and Z: tickets show the order in which "
             "they run.",
             "Volta's (and after) SIMT model", moment="// X"),
        Rung("branch_order_syncwarp", "__syncwarp", "Z could run beside a branch; now __syncwarp lets the lanes "
             "converge before it.", "Volta's (and after) SIMT model", promise="same", shows="+warp_instructions",
             moment="// Z"),
        Rung("branch_exchange", "exchange", "The order alone is harmless; reading what the other branch wrote is not.",
             "Volta's (and after) SIMT model", shows="+findings", moment="left[tid ^ 31]"),
        Rung("branch_exchange_syncwarp", "safe exchange", "A lane may have read too early; now the warp converges "
             "between writing and reading.", "Volta's (and after) SIMT model", promise="same", shows="findings",
             moment="left[tid ^ 31]"),
        Rung("lock_inside", "lock, Pascal", "So far lanes met once; with a lock they wait repeatedly. Up to Pascal the "
             "work had to be inside the loop.", "Pascal's (and before) SIMT model", shows="+atomics",
             moment="atomicCAS(lock"),
        Rung("lock_spin", "lock", "The work had to be done inside the waiting loop; with independent lanes the plain "
             "lock works. In lockstep it never ends.", "Starvation-free algorithms", shows="+atomics"),
        Rung("lock_ticket", "ticket lock", "Nothing decided which lane is next; tickets do: no lane is passed over "
             "forever, and no failing try slows the lock down.", "Starvation-free algorithms",
             promise="faster", shows="atomics"),
        Rung("groups_tile", "groups", "Nothing in the code said which threads work together; a group has a name "
             "and a size.",
             "Escape the new feature", shows="+shuffles",
             fixes="nothing; it shows how code names the threads that work together."),
        Rung("groups_coalesced", "coalesced group", "The tiles were fixed; in a branch the group is the lanes that "
             "took the branch.",
             "Escape the new feature", shows="+atomics",
             fixes="tiles of a fixed size, which cannot be the lanes that took a branch."),
    ),
)  # fmt: skip

LADDERS = (_SCHEDULING,)


SEED = 2017
ROUNDS = 4  # steps of each branch of branch_exchange*, as in cuda/volta
MAX_WAITING = 2**12  # threads that the emulator can watch until it is sure that they wait for ever

_ONLY_INT = dict.fromkeys(
    ("float32", "float64"), "The lesson is the order of the lanes, the same for every type; choose int32."
)
_SPLIT = Parameter("SPLIT", "Lanes in the first branch", tuple(range(1, 32)), 4)


def _branch(name: str, title: str, work: str, expect: str = "ok") -> Kernel:
    return Kernel(name, "volta", title, dtypes=("int32",), expect=expect, parameter=_SPLIT, refuses=_ONLY_INT,
                  work=work, varies="order" if work == "order" else "")  # fmt: skip


KERNELS = (
    _branch("branch_order", "The order of the lanes in an if/else", "order"),
    _branch("branch_order_syncwarp", "The order of the lanes, with __syncwarp", "order"),
    _branch("branch_exchange", "Lanes of two branches exchange numbers", "exchange", "hazard"),
    _branch("branch_exchange_syncwarp", "The exchange with __syncwarp", "exchange"),
    Kernel("lock_inside", "volta", "A lock per warp, the work inside the loop", work="lock",
           varies="floats"),
    Kernel("lock_spin", "volta", "A lock per warp, the work behind the loop", expect="deadlock",
           work="lock"),
    Kernel("lock_ticket", "volta", "A lock per warp that serves in order", expect="deadlock",
           work="lock"),
    Kernel("groups_tile", "volta", "Cooperative groups: tiles of a warp", work="tiles",
           parameter=Parameter("TILE", "Threads per tile", (1, 2, 4, 8, 16, 32), 8)),
    Kernel("groups_coalesced", "volta", "Cooperative groups: the lanes that are together",
           work="coalesced"),
)  # fmt: skip
_NAMED = {kernel.name: kernel for kernel in KERNELS}


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel = GPU) -> Plan:
    """Plan one launch with a thread per element; the choice has passed engine.plan's checks. NotRunnable: too many
    locks."""
    n = choice.n
    warps = ceil(n / 32)
    inputs = Buffer("in", choice.dtype, n, "input")
    count = elements(choice)
    if kernel.expect == "deadlock" and choice.device == "emulator" and n > MAX_WAITING:
        raise NotRunnable(
            f"{n:,} threads that wait for each other keep the emulator too long; choose up to {MAX_WAITING:,}."
        )
    match kernel.name:
        case "branch_order" | "branch_order_syncwarp":
            return _planned(kernel, choice, (), 3 * n, "poison", ("out", count, "tickets"), ("tickets", warps))
        case "lock_inside" | "lock_spin" | "lock_ticket":
            locks = 2 * warps if kernel.name == "lock_ticket" else warps
            return _planned(kernel, choice, (inputs,), warps, "zero", ("in", "out", count, "locks"), ("locks", locks))
        case "groups_tile":
            tiles = ceil(n / value_of_parameter(kernel, choice))
            return _planned(kernel, choice, (inputs,), tiles, "poison", ("in", "out", count))
        case "groups_coalesced":
            return _planned(kernel, choice, (inputs,), 1, "zero", ("in", "out", count))
    return _planned(kernel, choice, (inputs,), n, "poison", ("in", "out", count))


def _planned(
    kernel: Kernel,
    choice: Settled,
    inputs: tuple[Buffer, ...],
    results: int,
    fill: str,
    args: tuple[str | Scalar, ...],
    counters: tuple[str, int] | None = None,
) -> Plan:
    """Plan `results` numbers in out; a buffer that starts as "zero" is set to zero in every run."""
    dtype = "uint32" if kernel.name == "groups_coalesced" else choice.dtype
    buffers = [*inputs, Buffer("out", dtype, results, "zero" if fill == "zero" else "poison")]
    steps: list[Step] = [Zero("out")] if fill == "zero" else []
    if counters is not None:
        buffers.append(Buffer(counters[0], "uint32", counters[1], "zero"))
        steps.append(Zero(counters[0]))
    launch = launch_of(kernel, choice, args, choice.n)
    moved = results + (choice.n if inputs else 0)
    return plan_with(choice, tuple(buffers), (*steps, launch), result_count=results, moved=moved, additions=32)


def input_recipe(choice: Choice) -> dict[str, tuple[Array, int]]:
    """{"in": (period, n)}; nothing for the kernels that only draw tickets."""
    return {} if choice.kernel.startswith("branch_order") else {"in": (data.for_sums(choice, SEED), choice.n)}


def check(plan: Plan, output: Array) -> Check:
    """Check the answer by the rule of its kernel, which must hold in every order of the lanes."""
    choice = plan.choice
    value = value_of_parameter(_NAMED[choice.kernel], choice)
    if choice.kernel.startswith("branch_order"):
        return tickets(output.reshape(choice.n, 3), choice.kernel == "branch_order_syncwarp")
    numbers = data.repeated(data.for_sums(choice, SEED), choice.n)
    if choice.kernel.startswith("branch_exchange"):
        return checks.equal(output, _exchanged(numbers, choice.block_size, value), "Checked: every element.")
    if choice.kernel == "groups_coalesced":
        return checks.equal(output, np.array([(numbers > 0).sum()]), "Checked: the count.")
    group = 32 if choice.kernel.startswith("lock") else value
    columns = checks.exact_type(
        np.concatenate([numbers, np.zeros(-choice.n % group, numbers.dtype)]).reshape(-1, group)
    )
    squares = np.square(columns, dtype=np.float64).sum(axis=1)
    note = f"Checked: the sum of every {group} numbers."
    return checks.sums(output, numbers, squares, columns.sum(axis=1), plan.additions, note)


def tickets(drawn: Array, synchronised: bool) -> Check:
    """`drawn`, shape (n, 3): the tickets of every lane at A or X, at B or Y, and at Z.

    In every warp the tickets are 0, 1, 2, ... each once, and a lane's tickets rise; with `synchronised` every ticket of
    Z is larger than all others of the warp.
    """
    broken = 0
    for first in range(0, len(drawn), 32):
        warp = drawn[first : first + 32].astype(np.int64)
        lanes = len(warp)
        right = np.diff(warp, axis=1).min() > 0 and np.array_equal(np.sort(warp, axis=None), np.arange(3 * lanes))
        if synchronised:
            right = right and warp[:, 2].min() == 2 * lanes
        broken += not right
    rules = "each ticket once, rising in every lane" + (", Z after all others" if synchronised else "")
    return checks.rule(broken, ceil(len(drawn) / 32), f"Checked: in every warp {rules}; shown are the right warps.")


def _exchanged(numbers: Array, block_size: int, split: int) -> Array:
    """Return the numbers that the lanes read: lane l reads that of lane 31 - l of its warp, after the branch. Threads
    beyond n start at 0."""
    whole = -(-len(numbers) // block_size) * block_size
    value = np.zeros(whole, np.uint32)
    value[: len(numbers)] = numbers.view(np.uint32)
    first = np.arange(whole) % 32 < split
    factor, term = np.where(first, 3, 5).astype(np.uint32), np.where(first, 1, 2).astype(np.uint32)
    for _ in range(ROUNDS):
        value = value * factor + term
    read: Array = value.view(np.int32)[np.arange(len(numbers)) ^ 31]
    return read


TOPIC = Topic(
    name="volta",
    title="Volta scheduling",
    size_label="N (threads)",
    block_label="Block size (threads)",
    kernels=KERNELS,
    ladders=LADDERS,
    sizes=(32, 256, 1024, 2**12),
    default_n=256,
    default_block_size=128,
    max_n=2**20,
    emulator_max_n=2**18,
    metric="bandwidth_gb_s",
    plan=plan,
    input_recipe=input_recipe,
    check=check,
    data_note=data.SUMS_NOTE,
)
