"""The emulator's counters of kernels that its rules were not made for equal what Nsight Compute counted on an H200.

tests/gpu/profile_unseen.py records what it counted. The kernels were written before anybody looked at how they count,
and a miss stays in the share: only where a kernel waits, or its order is open, nothing can be compared.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.watching import results
from engine.records import Buffer
from tests.unseen.cases import CASES, Case

pytestmark = pytest.mark.thorough

GOLDEN = Path(__file__).parents[3] / "golden" / "unseen.json"
LEAST = 0.99
MISSED = {
    "convolution_2d": "a store that was issued again counts twice: 804 instead of 803",
    "spmv_scalar": "the GPU's assembler unrolls the loop by 4, 2 and 1, and lanes with fewer turns take other copies",
    "radix_counts": "of 1,090 atomics of one lane each 85 took two passes on the GPU: not known why",
    "dct_8x8": "of 256 stores 93 took two passes on the GPU, where no two lanes share a bank: not known why",
}
# A counter is a kind of access: requests, and the sectors or wavefronts that they cost.
COUNTERS = tuple(
    f"{kind}_{what}"
    for kind, cost in (("global_load", "sectors"), ("global_store", "sectors"), ("global_red", "sectors"),
                       ("global_atom", "sectors"), ("shared_load", "wavefronts"), ("shared_store", "wavefronts"),
                       ("shared_atomic", "wavefronts"))
    for what in ("requests", cost)
)  # fmt: skip


def emulated(case: Case) -> dict[str, float]:
    """What the emulator counts in one launch."""
    device, counters, arrays = Device(), results.all_counters(), case.arrays()
    for name, array in arrays.items():
        device.place(Buffer(name, str(array.dtype), array.size, "input"), arrays)
    launch(device, case.launch(), counters)
    return results.details(counters)


@cache
def compared() -> dict[tuple[str, str], tuple[float, float]]:
    """Return (kernel, counter) -> (on the emulator, on the GPU), if either is not zero."""
    rows: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))["kernels"]
    assert [row["kernel"] for row in rows] == [case.kernel for case in CASES]
    found = {}
    for case, gpu in zip(CASES, rows, strict=True):
        ours = emulated(case)
        for name in COUNTERS:
            if ours[name] or gpu[name]:
                found[case.kernel, name] = (ours[name], gpu[name])
    return found


def missed() -> dict[tuple[str, str], tuple[float, float]]:
    """Those that are not equal."""
    return {key: pair for key, pair in compared().items() if pair[0] != pair[1]}


def test_ninety_nine_of_a_hundred_counters_are_equal() -> None:
    assert len(missed()) <= (1 - LEAST) * len(compared()), f"of {len(compared())} (emulator, GPU): {missed()}"


def test_what_is_missed_is_known() -> None:
    assert {kernel for kernel, _ in missed()} == MISSED.keys(), f"(emulator, GPU): {missed()}"
