"""Record the hardware's counters of the small kernels with one atomic each, with Nsight Compute, on a GPU: two minutes.

    python tests/gpu/profile_atomics.py tests/golden/atomics.json

The emulator's test_atomic_counters.py compares. Exit status 1: nothing was recorded.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.atomics.cases import CASES
from tests.gpu.profile_kernels import counted, recorded, watched, write


def run_all() -> None:
    """Launch every case once: what the profiler watches."""
    import cupy

    text = "\n".join(case.text for case in CASES)
    module = cupy.RawModule(code=text, options=("-std=c++17",))
    for case in CASES:
        arrays = {name: cupy.asarray(array) for name, array in case.arrays().items()}
        module.get_function(case.kernel)((1,), (case.threads,), (arrays["out"], arrays["in"], cupy.int32(1)))
    cupy.cuda.runtime.deviceSynchronize()


def record(target: Path) -> None:
    """Profile all cases and write the file. RuntimeError where the profiler saw something else than was launched."""
    rows = watched(["(global|shared)_.*"], [__file__, "--run"])
    seen = [row["Kernel Name"].partition("(")[0] for row in rows]
    if seen != [case.kernel for case in CASES]:
        raise RuntimeError(f"{len(CASES)} kernels were launched; the profiler saw {len(seen)}.")
    write(target, [{"kernel": name, **_nonzero(counted(row))} for name, row in zip(seen, rows, strict=True)])


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    atomics = (name for name in counts if name.startswith(("global_red", "global_atom", "shared_")))
    return {name: counts[name] for name in atomics if counts[name]}


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_all()
    else:
        recorded(record, Path(sys.argv[1]))
