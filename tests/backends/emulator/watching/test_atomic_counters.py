"""The emulator's counters of each kind of atomic equal what Nsight Compute counted on an H200.

tests/gpu/profile_atomics.py records what it counted.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.watching import results
from engine.records import Buffer
from tests.atomics.cases import CASES, AtomicCase

GOLDEN = Path(__file__).parents[3] / "golden" / "atomics.json"
COUNTERS = (
    "global_red_requests", "global_red_sectors", "global_atom_requests", "global_atom_sectors",
    "shared_load_requests", "shared_load_wavefronts", "shared_store_requests", "shared_store_wavefronts",
    "shared_atomic_requests", "shared_atomic_wavefronts", "shared_atomic_conflicts",
)  # fmt: skip


@cache
def golden() -> dict[str, dict[str, int]]:
    """Return what the profiler counted: kernel -> counter -> count, without zeros."""
    rows = json.loads(GOLDEN.read_text(encoding="utf-8"))["kernels"]
    return {row.pop("kernel"): row for row in rows}


@pytest.mark.sampled(quick=60, thorough=6)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel)
def test_an_atomic_counts_as_on_the_gpu(case: AtomicCase) -> None:
    device, counters, arrays = Device(), results.all_counters(), case.arrays()
    for name, array in arrays.items():
        device.place(Buffer(name, str(array.dtype), array.size, "input"), arrays)
    launch(device, case.launch(), counters)
    ours, gpu = results.details(counters), golden()[case.kernel]
    assert {name: ours[name] for name in COUNTERS} == {name: gpu.get(name, 0) for name in COUNTERS}


def test_every_case_was_recorded() -> None:
    assert golden().keys() == {case.kernel for case in CASES}
