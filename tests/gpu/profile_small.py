"""Record the hardware's counters of the small kernels, with Nsight Compute, on a GPU: two minutes at most for a kind.

    python tests/gpu/profile_small.py atomics tests/golden/atomics.json   # or loops, or stores

The emulator's test_small_counters.py compares. Exit status 1: nothing was recorded.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.gpu.profile_kernels import counted, recorded, watched, write
from tests.small import atomics, loops, stores

KINDS = {"atomics": atomics, "loops": loops, "stores": stores}


def run_all(kind: str) -> None:
    """Launch every case once: what the profiler watches."""
    import cupy

    cases = KINDS[kind].CASES
    module = cupy.RawModule(code="\n".join(case.text for case in cases), options=("-std=c++17",))
    for case in cases:
        arrays = [cupy.asarray(array) for array in case.arrays.values()]
        module.get_function(case.kernel)((case.blocks,), (case.threads,), (*arrays, cupy.int32(case.number)))
    cupy.cuda.runtime.deviceSynchronize()


def record(kind: str, target: Path) -> None:
    """Profile all cases and write the file. RuntimeError where the profiler saw something else than was launched."""
    rows = watched(["(global|shared|loop|store)_.*"], [__file__, "--run", kind])
    seen = [row["Kernel Name"].partition("(")[0] for row in rows]
    if seen != [case.kernel for case in KINDS[kind].CASES]:
        raise RuntimeError(f"{len(KINDS[kind].CASES)} kernels were launched; the profiler saw {len(seen)}.")
    write(target, [{"kernel": name, **_nonzero(kind, counted(row))} for name, row in zip(seen, rows, strict=True)])


def _nonzero(kind: str, counts: dict[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in KINDS[kind].COUNTERS if counts[name]}


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_all(sys.argv[2])
    else:
        recorded(partial(record, sys.argv[1]), Path(sys.argv[2]))
