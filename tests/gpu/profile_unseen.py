"""Record the hardware's counters of the unseen kernels, with Nsight Compute, on a GPU: about two minutes.

    python tests/gpu/profile_unseen.py tests/golden/unseen.json

Every kernel is counted in several runs, with its arrays at another place of the memory in each. A counter that was not
the same in all of them is recorded as a list, one number a run. The emulator's test_unseen_counters.py compares. Exit
status 1: nothing was recorded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.gpu.profile_kernels import counted, recorded, watched, write
from tests.unseen.cases import CASES

RUNS = 5
PLACES = 33 * 512  # bytes between the places of an array in two runs


def run_all(run: int) -> None:
    """Launch every case once: what the profiler watches. `run`: from 0; it decides where the arrays are."""
    import cupy

    from engine.backends.gpu.launches import launcher
    from engine.backends.gpu.memory import stream

    _before = cupy.empty(PLACES * run + 1, cupy.uint8)
    for case in CASES:
        arrays = {name: cupy.asarray(array) for name, array in case.arrays().items()}
        launch, _keep = launcher(case.launch(), arrays)
        launch()
        stream().synchronize()


def record(target: Path) -> None:
    """Profile all cases RUNS times and write the file. RuntimeError where the profiler saw something else than was
    launched."""
    began = time.monotonic()
    runs = [_profiled(run) for run in range(RUNS)]
    write(target, [together(rows) for rows in zip(*runs, strict=True)])
    print(f"{len(CASES)} kernels, {RUNS} runs in {time.monotonic() - began:.0f} s", flush=True)


def _profiled(run: int) -> list[dict[str, Any]]:
    rows = watched([case.kernel for case in CASES], [__file__, "--run", str(run)])
    seen = [row["Kernel Name"].partition("(")[0] for row in rows]
    if seen != [case.kernel for case in CASES]:
        raise RuntimeError(f"{len(CASES)} kernels were launched; the profiler saw {seen}.")
    return [{"kernel": name, **counted(row)} for name, row in zip(seen, rows, strict=True)]


def together(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row of the same kernel's rows: each value, or the list of them where they differ."""
    values = {name: [row[name] for row in rows] for name in rows[0]}
    return {name: each if len(set(each)) > 1 else each[0] for name, each in values.items()}


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_all(int(sys.argv[2]))
    else:
        recorded(record, Path(sys.argv[1]))
