"""The best kernel of every operation beside the libraries that do the same, on a GPU: about three minutes.

    python -m engine peers                          # first: builds CUB's calls with nvcc, and says what is missing
    python tests/gpu/against_libraries.py [FILE.json] [OPERATION ...]

For each operation, element type and n the last kernels of the catalogue are timed at a few block sizes; the fastest is
checked and timed again, in turn with its libraries, cold-clean. A ratio above 1: the kernel is faster.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from engine.backends.gpu import launches
from engine.backends.gpu.memory import forget_inputs
from engine.backends.timing import gpu
from engine.catalogue import KERNELS, Kernel, default_choice, topic_of
from engine.catalogue.inputs import recipe_of
from engine.catalogue.libraries import PEERS, operation_of
from engine.plan import plan, settle
from engine.records import CompileError, NotRunnable, Settled

CANDIDATES = 3  # the last kernels of the catalogue that do an operation
BLOCKS = (128, 256, 512)
POWERS, WIDTHS = tuple(2**power for power in range(16, 29, 2)), (256, 512, 1024, 2048, 4096, 8192)
LOOK_MS, LAST_MS = 4.0, 60.0


def candidates(operation: str) -> list[Kernel]:
    able = [
        kernel
        for kernel in KERNELS.values()
        if operation_of(kernel.name) == operation and kernel.expect == "ok" and kernel.processor == "gpu"
    ]
    return able[-CANDIDATES:]


def sizes(kernel: Kernel) -> tuple[int, ...]:
    topic = topic_of(kernel)
    return WIDTHS if "matrix width" in topic.size_label else tuple(n for n in POWERS if n <= topic.max_n)


def choices(operation: str, dtype: str, n: int) -> list[Settled]:
    found = []
    for kernel in candidates(operation):
        for block in [size for size in BLOCKS if size in kernel.block_sizes] or kernel.block_sizes[-1:]:
            if dtype in kernel.dtypes and n <= topic_of(kernel).max_n:
                choice = replace(default_choice(kernel.name), n=n, block_size=block, dtype=dtype, device="gpu")
                found.append(settle(choice))
    return found


def best(wanted: list[Settled]) -> tuple[float, launches.Prepared] | None:
    """The fastest, which is then run once more, and its answer checked."""
    timed = []
    for choice in wanted:
        try:
            made = plan(choice)
            prepared = launches.prepare(made, recipe_of(choice))
            launches.execute(prepared)
            timed.append((gpu.time_plan(prepared, choice.cache, budget_ms=LOOK_MS).time_us, choice))
        except (NotRunnable, CompileError) as refused:
            print(f"  {choice.kernel} {choice.block_size}: {refused}")
    if not timed:
        return None
    time, choice = min(timed, key=lambda each: each[0])
    prepared = launches.prepare(plan(choice), recipe_of(choice))
    checked = topic_of(choice.kernel).check(prepared.plan, launches.execute(prepared).output)
    if not checked.ok:
        print(f"  WRONG: {choice.kernel} {choice.n:,} {choice.dtype}: {checked.result} for {checked.expected}")
        return None
    return time, prepared


def measured(operation: str, dtype: str, n: int) -> list[dict]:
    found = best(choices(operation, dtype, n))
    if found is None:
        return []
    prepared = found[1]
    choice = prepared.plan.choice
    timed = gpu.time_plan(prepared, choice.cache, PEERS[operation], budget_ms=LAST_MS)
    rows = [
        {"operation": operation, "dtype": dtype, "n": n, "kernel": choice.kernel, "block": choice.block_size,
         "time_us": timed.time_us, "peer": name, "peer_us": peer.time_us, "ratio": peer.ratio,
         "low": peer.ratio_low, "high": peer.ratio_high}
        for name, peer in timed.peers.items()
    ]  # fmt: skip
    beside = "  ".join(f"{row['peer']} {row['peer_us']:.1f} = {row['ratio']:.3f}" for row in rows)
    best_one = f"{choice.kernel:24} {choice.block_size:4} {timed.time_us:9.1f} us"
    print(f"{operation:17} {dtype:8} {n:>11,} {best_one}  {beside}", flush=True)
    for name, why in timed.notes.get("peers_missing", {}).items():
        print(f"  {name}: {why}")
    return rows


def main(arguments: list[str]) -> None:
    file = next((name for name in arguments if name.endswith(".json")), None)
    asked = [name for name in arguments if name != file] or list(PEERS)
    rows, started = [], perf_counter()
    for operation in asked:
        kinds = dict.fromkeys(dtype for kernel in candidates(operation) for dtype in kernel.dtypes)
        for dtype in list(kinds)[:2]:
            for n in sizes(candidates(operation)[-1]):
                try:
                    rows += measured(operation, dtype, n)
                except NotRunnable as refused:
                    print(f"  {operation} {dtype} {n:,}: {refused}")
        forget_inputs()
    print(f"{perf_counter() - started:.0f} s")
    if file:
        Path(file).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
