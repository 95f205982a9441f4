"""The emulator's counters of atomics, loops and conditional stores equal what Nsight Compute counted on an H200.

tests/gpu/profile_small.py records what it counted.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from engine.backends.emulator import loading
from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.watching import results
from engine.records import Buffer
from tests.small import atomics, loops, stores
from tests.small.case import SmallCase

GOLDEN = Path(__file__).parents[3] / "golden"


@cache
def golden(kind: str) -> dict[str, dict[str, int]]:
    """Return what the profiler counted: kernel -> counter -> count, without zeros."""
    rows = json.loads((GOLDEN / f"{kind}.json").read_text(encoding="utf-8"))["kernels"]
    return {row.pop("kernel"): row for row in rows}


def compare(case: SmallCase, kind: str, names: tuple[str, ...]) -> None:
    """Assert that a case counts on the emulator as on the GPU."""
    device, counters = Device(), results.all_counters()
    for name, array in case.arrays.items():
        device.place(Buffer(name, str(array.dtype), array.size, "input"), case.arrays)
    launch(device, case.launch(), counters)
    ours, gpu = results.details(counters), golden(kind)[case.kernel]
    assert {name: ours.get(name, 0) for name in names} == {name: gpu.get(name, 0) for name in names}


@pytest.mark.sampled(quick=60, thorough=6)
@pytest.mark.parametrize("case", atomics.CASES, ids=lambda case: case.kernel)
def test_an_atomic_counts_as_on_the_gpu(case: SmallCase) -> None:
    compare(case, "atomics", atomics.COUNTERS)


@pytest.mark.sampled(quick=30, thorough=3)
@pytest.mark.parametrize("case", loops.CASES, ids=lambda case: case.kernel)
def test_a_loop_counts_as_on_the_gpu(case: SmallCase) -> None:
    compare(case, "loops", loops.COUNTERS)


@pytest.mark.sampled(quick=3, thorough=1)
@pytest.mark.parametrize("case", stores.CASES, ids=lambda case: case.kernel)
def test_stores_count_as_on_the_gpu(case: SmallCase) -> None:
    compare(case, "stores", stores.COUNTERS)


@pytest.mark.parametrize("kind", [atomics, loops, stores], ids=["atomics", "loops", "stores"])
def test_every_case_was_recorded(kind: ModuleType) -> None:
    assert golden(kind.__name__.rpartition(".")[2]).keys() == {case.kernel for case in kind.CASES}


def test_all_accesses_of_a_loop_are_of_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in loops.CASES if case.kernel == "loop_few_mixed")
    unrolled = loading.unrolled_lines

    def mixed(cubin: bytes, ptx: str, kernel: str) -> dict[int, bool]:
        """Say that the loop's last access has no turn in front."""
        found = unrolled(cubin, ptx, kernel)
        return {**found, max(found): False}

    monkeypatch.setattr(loading, "unrolled_lines", mixed)
    found = loading.load.__wrapped__(case.launch().source, case.kernel).requests.unrolled
    last = found[max(found)]
    same = [loop for loop in found.values() if loop.first == last.first]
    assert len(same) > 1 and {*same} == {last}
