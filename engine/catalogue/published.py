"""The lectures' titles and printed figures. Their figures stand in published/*.csv and nowhere else."""

from __future__ import annotations

import csv
from fractions import Fraction
from functools import cache
from pathlib import Path

from engine.catalogue.entries import Published

CS121 = "CS121 Parallel Computing, GPUs and CUDA 2: Memory and Warps (ShanghaiTech, 2021)"
HEIDELBERG = "GPU Computing 07, Scheduling Optimizations (Heidelberg University)"
CROVELLA = "B. Crovella 2020, Atomics, Reductions, Warp Shuffle"
# The homework whose title alone stands in Crovella's document: github.com/olcf/cuda-training-series, exercises/hw5.
HW5 = "Exercise hw5 of NVIDIA's CUDA training series (OLCF)"
_FIGURES = Path(__file__).parent / "published"


def published(lecture: str, kernel: str, grid_size: int | None = None) -> tuple[Published, ...]:
    """Return the rows of published_times.csv that `lecture` prints for its kernel of that name. KeyError if there is
    none.

    `grid_size`: the number of blocks, if the lecture's code shows one.
    """
    found = tuple(
        Published(
            lecture=row["lecture"],
            gpu=row["gpu"],
            n=int(row["n"]),
            dtype=row["dtype"],
            block_size=int(row["block"]) if row["block"] else None,
            time_ms=_number(row["time_ms"]),
            bandwidth_gb_s=_number(row["bandwidth_gb_s"]),
            step_speedup=_number(row["step_speedup"]),
            cumulative_speedup=_number(row["cumulative_speedup"]),
            grid_size=grid_size,
        )
        for row in _rows("published_times.csv")
        if (row["lecture"], row["kernel"]) == (lecture, kernel)
    )
    if not found:
        raise KeyError(f"{lecture} prints no figure for {kernel!r}")
    return found


def throughput(kernel: str) -> tuple[Published, ...]:
    """Return Heidelberg's throughput of one version, one figure per block size (the table's maximum only repeats one).
    KeyError: it prints none of this kernel."""
    for row in _rows("heidelberg_throughput.csv"):
        if row["kernel"] == kernel:
            return tuple(
                Published(
                    "heidelberg",
                    "an unnamed GPU (probably Kepler)",
                    2**22,
                    "int32",
                    int(threads),
                    None,
                    _number(figure),
                )
                for threads, figure in row.items()
                if threads.isdigit()
            )
    raise KeyError(f"heidelberg prints no figure for {kernel!r}")


def printed(lecture: str, figure: str) -> float:
    """Return a number of figures.csv, which `lecture` prints for something other than a rung. KeyError: there is
    none."""
    for row in _rows("figures.csv"):
        if (row["lecture"], row["figure"]) == (lecture, figure):
            return float(Fraction(row["value"]))
    raise KeyError(f"{lecture} prints no figure {figure!r}")


@cache
def _rows(file_name: str) -> tuple[dict[str, str], ...]:
    lines = (_FIGURES / file_name).read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))


def _number(text: str) -> float | None:
    return float(text) if text else None
