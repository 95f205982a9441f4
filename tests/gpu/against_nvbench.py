"""Time 60 cells of the catalogue with this program and with NVIDIA's nvbench, in the same state: about half a minute.

    pip install cuda-bench
    python tests/gpu/against_nvbench.py docs/notes/against-nvbench.md [SAMPLES.json]

Both flush the L2 by setting as many bytes as it has ("cold-dirty"), both take the median, both time the same prebuilt
launches on the same stream.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from cuda import bench  # noqa: E402
from engine.backends.gpu import launches  # noqa: E402
from engine.backends.gpu.backend import describe  # noqa: E402
from engine.backends.gpu.memory import stream  # noqa: E402
from engine.backends.timing import gpu, probes  # noqa: E402
from engine.catalogue import default_choice, recipe_of  # noqa: E402
from engine.plan import plan, settle  # noqa: E402
from engine.records.words import size_text  # noqa: E402

CACHE = "cold-dirty"
SAMPLES = 300
LONG_US = 20.0  # from here on 2% are asked for, below a difference in microseconds
CLOSE_US, CLOSE = 0.3, 0.02
ALL = ("int32", "float32", "float64")
# kernel -> its types and sizes
CELLS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "reduce_vectorized": (ALL, tuple(2**power for power in range(10, 27, 2))),
    "reduce_last_block": (ALL, (2**16, 2**20, 2**24)),
    "reduce_interleaved": (("int32",), (2**16, 2**20)),
    "row_sums_vectorized": (("int32", "float32"), (256, 1024, 4096)),
    "max_vectorized": (("int32", "float32"), (2**16, 2**20, 2**24)),
    "matmul_naive": (("float32",), (64, 256)),
    "matmul_tiled": (("float32",), (64, 256, 1024)),
    "matmul_prefetch": (("float32",), (256, 1024)),
    "matmul_warp_slices": (("float32",), (64, 256, 512)),
}


@dataclass(frozen=True)
class Cell:
    """What is timed, and its median in microseconds."""

    name: str
    dtype: str
    n: int
    prepared: launches.Prepared
    ours: float


def cells() -> list[Cell]:
    """Every cell, checked by running once, and timed by this program."""
    found = []
    for kernel, (dtypes, sizes) in CELLS.items():
        for dtype in dtypes:
            for n in sizes:
                choice = settle(replace(default_choice(kernel), n=n, dtype=dtype, cache=CACHE, device="gpu"))
                prepared = launches.prepare(plan(choice), recipe_of(choice))
                launches.execute(prepared)
                ours = gpu.time_plan(prepared, CACHE).time_us
                found.append(Cell(kernel, dtype, n, prepared, ours))
    return found


def by_nvbench(found: list[Cell]) -> list[float]:
    """nvbench's median of each cell: isolated ("cold") samples, on our stream."""
    for number, cell in enumerate(found):
        register(f"cell{number}", cell.prepared.enqueue)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nvbench.json"
        bench.run_all_benchmarks(["against_nvbench", "--jsonbin", str(path)])
        states = [one["states"][0]["summaries"] for one in json.loads(path.read_text())["benchmarks"]]
    values = [next(row for row in rows if row["tag"] == "nv/cold/time/gpu/median")["data"] for rows in states]
    return [1e6 * float(next(item["value"] for item in row if item["name"] == "value")) for row in values]


def register(name: str, enqueue: Any) -> None:
    """A benchmark of a prebuilt launch."""

    def cell(state: bench.State) -> None:
        state.set_stream(stream())
        state.exec(lambda launch: enqueue(), batched=False)

    cell.__name__ = name
    made = bench.register(cell)
    made.set_stopping_criterion("sample-count")
    made.set_criterion_param_int64("target-samples", SAMPLES)


def page(found: list[Cell], theirs: list[float]) -> str:
    """The page of docs/, whole."""
    name = describe()["name"]
    rows = [
        f"| `{cell.name}` | {cell.dtype} | {size_text(cell.n)} | {other:.2f} | {cell.ours:.2f} | "
        f"{cell.ours - other:+.2f} |"
        for cell, other in zip(found, theirs, strict=True)
    ]
    ours = verdict([(cell.ours, other) for cell, other in zip(found, theirs, strict=True)])
    return "\n".join((
        "# Against nvbench",
        "",
        f"*Laboratory note, made by `python tests/gpu/against_nvbench.py docs/notes/against-nvbench.md` on "
        f"{datetime.now(UTC):%Y-%m-%d}: {name}, cuda-bench {bench.__version__}. [How a time is measured]"
        "(../measuring.md) explains the terms.*",
        "",
        f"Medians of the same launches in the same cache state (`{CACHE}`), in microseconds. **ours**: the program's "
        "own time, as recorded.",
        "",
        ours,
        "",
        "| kernel | type | N | nvbench | ours | ours - nvbench |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
    ))  # fmt: skip


def verdict(pairs: list[tuple[float, float]]) -> str:
    """How many of (ours, theirs) agree, in words."""
    below = [own - other for own, other in pairs if other < LONG_US]
    beyond = [own / other - 1 for own, other in pairs if other >= LONG_US]
    near, same = sum(abs(gap) <= CLOSE_US for gap in below), sum(abs(gap) <= CLOSE for gap in beyond)
    return (
        f"{near} of {len(below)} cells below {LONG_US:.0f} us are within {CLOSE_US} us (median {median(below):+.2f} "
        f"us, from {min(below):+.2f} to {max(below):+.2f}); {same} of {len(beyond)} others within {CLOSE:.0%} "
        f"(median {median(beyond):+.1%}, from {min(beyond):+.1%} to {max(beyond):+.1%})."
    )


def main() -> None:
    """Time all, write the page, and the samples' medians where a second file is named."""
    with stream():
        probes.wake()
        found = cells()
        theirs = by_nvbench(found)
    Path(sys.argv[1]).write_text(page(found, theirs), encoding="utf-8")
    if len(sys.argv) > 2:
        rows = [{"kernel": cell.name, "dtype": cell.dtype, "n": cell.n, "nvbench_us": other, "ours_us": cell.ours}
                for cell, other in zip(found, theirs, strict=True)]  # fmt: skip
        Path(sys.argv[2]).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
