"""Time every kernel of the ladders with the installed CUDA, for docs/notes/cuda-12.md.

python -m tests.gpu.cuda_versions cuda13-1.json        # once with each installation, in turn, on the same GPU
python -m tests.gpu.cuda_versions --table cuda13-1.json cuda12-1.json cuda13-2.json cuda12-2.json > cuda-12.csv
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from engine.backends.measure import measure
from engine.catalogue import KERNELS, LADDERS
from engine.machine.environment import environment
from engine.plan import settle
from engine.records import Choice, CompileError, NotRunnable, RunFailed

COLUMNS = ("kernel", "n", "block_size", "dtype")


def times() -> dict[str, Any]:
    """The time of each kernel at the size of the first ladder that has it; None without a right answer."""
    rows: dict[str, list[Any]] = {}
    for ladder in LADDERS.values():
        for rung in ladder.rungs:
            if rung.kernel in rows or KERNELS[rung.kernel].processor != "gpu":
                continue
            asked = Choice(rung.kernel, ladder.n, ladder.block_size, dtype=ladder.dtype, device="gpu",
                           combine=rung.combine)  # fmt: skip
            try:
                time_us = measure(settle(asked)).time_us
            except (NotRunnable, CompileError, RunFailed) as error:
                print(f"{rung.kernel}: {error}", file=sys.stderr)
                time_us = None
            rows[rung.kernel] = [ladder.n, ladder.block_size, ladder.dtype, time_us]
    return {"environment": environment(), "rows": rows}


def table(files: list[Path]) -> None:
    """Print the times of all files as CSV; a kernel without a time in one of them is left out."""
    found = [json.loads(file.read_text(encoding="utf-8"))["rows"] for file in files]
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write([*COLUMNS, *(f"{file.stem}_us" for file in files)])
    for kernel, row in found[0].items():
        own = [rows[kernel][-1] for rows in found]
        if None not in own:
            write([kernel, *row[:-1], *(round(time_us, 3) for time_us in own)])


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        table([Path(name) for name in sys.argv[2:]])
    else:
        Path(sys.argv[1]).write_text(json.dumps(times()), encoding="utf-8")
