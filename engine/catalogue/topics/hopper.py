"""What the kernels share that feed Hopper's tensor cores by its copy engine: their pieces, their ring, their widths."""

from __future__ import annotations

from engine.records import NotRunnable

MULTIPLE = 256  # of which the width is one: no kernel tests at a border
WIDE = (128, 256)  # rows and columns of P for each block
STAGES, DEPTH = 4, 64  # phases on their way or in use, and of k in each
FETCHING = 128  # threads of a warpgroup that only fetches, beside those that multiply


def shared_bytes(rows: int, columns: int, stages: int = STAGES) -> int:
    """The shared memory of a ring of 16-bit tiles for pieces of `rows` x `columns`, and of its barriers."""
    return stages * 2 * DEPTH * (rows + columns) + 1024


def check_width(n: int, pieces: str) -> None:
    """NotRunnable for a width that the pieces of P do not divide; `pieces`: whose they are and how large."""
    if n % MULTIPLE:
        nearest = max(1, round(n / MULTIPLE)) * MULTIPLE
        raise NotRunnable(
            f"N = {n:,} is no multiple of {MULTIPLE}: {pieces}, and nothing is tested at a border; choose {nearest:,}."
        )
