"""Record the hardware's counters of the unseen kernels, with Nsight Compute, on a GPU: about a minute.

    python tests/gpu/profile_unseen.py tests/golden/unseen.json

The emulator's test_unseen_counters.py compares. Exit status 1: nothing was recorded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.gpu.profile_kernels import counted, watched, write
from tests.unseen.cases import CASES


def run_all() -> None:
    """Launch every case once: what the profiler watches."""
    import cupy

    from engine.backends.gpu.launches import launcher
    from engine.backends.gpu.memory import stream

    for case in CASES:
        arrays = {name: cupy.asarray(array) for name, array in case.arrays().items()}
        launch, _keep = launcher(case.launch(), arrays)
        launch()
        stream().synchronize()


def record(target: Path) -> None:
    """Profile all cases and write the file. RuntimeError where the profiler saw something else than was launched."""
    began = time.monotonic()
    rows = watched([case.kernel for case in CASES], [__file__, "--run"])
    seen = [row["Kernel Name"].partition("(")[0] for row in rows]
    if seen != [case.kernel for case in CASES]:
        raise RuntimeError(f"{len(CASES)} kernels were launched; the profiler saw {seen}.")
    write(target, [{"kernel": name, **counted(row)} for name, row in zip(seen, rows, strict=True)])
    print(f"{len(rows)} kernels in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_all()
    elif shutil.which("ncu") is None:
        sys.exit("There is no ncu on the path: install Nsight Compute, or add its folder to PATH.")
    else:
        try:
            record(Path(sys.argv[1]))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            sys.exit(f"NOT RECORDED. {error}")
