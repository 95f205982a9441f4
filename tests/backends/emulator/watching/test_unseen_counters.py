"""The emulator's counters of kernels that its rules were not made for equal what Nsight Compute counted on an H200.

tests/gpu/profile_unseen.py records what it counted in five runs. The kernels were written before anybody looked at how
they count. Where the GPU counts differently from run to run, its units made an access
wait and issued it again: there the emulator's number is the least that is possible.
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
ISSUED_AGAIN = {("convolution_2d", "shared_store_requests"), ("radix_counts", "shared_atomic_wavefronts"),
                ("dct_8x8", "shared_store_wavefronts"), ("rotate", "shared_store_requests"),
                ("run_heads", "shared_atomic_wavefronts"), ("conv_channels", "shared_store_wavefronts")}  # fmt: skip
BY_PLACE = {  # the GPU sends a sector twice where two lines of an atomic share its way
    ("relax", "global_red_sectors"), ("histogram_2d", "global_red_sectors"),
}  # fmt: skip
BY_ORDER = {  # an atomic chooses the places, or the values so far decide who does one, and the blocks come in any order
    ("run_heads", "global_store_sectors"), ("keep_positive", "global_store_sectors"),
    ("insert_keys", "global_atom_sectors"), ("round_robin", "global_red_sectors"), ("minmax", "shared_atomic_requests"),
    ("minmax", "shared_atomic_wavefronts"), ("minmax", "shared_load_wavefronts"),
}  # fmt: skip
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
def counted() -> dict[tuple[str, str], tuple[float, list[float]]]:
    """Return (kernel, counter) -> (on the emulator, in the GPU's runs, one number if all are equal), if any is not
    zero."""
    rows: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))["kernels"]
    assert [row["kernel"] for row in rows] == [case.kernel for case in CASES]
    found = {}
    for case, gpu in zip(CASES, rows, strict=True):
        ours = emulated(case)
        for name in COUNTERS:
            if ours[name] or gpu[name]:
                runs = gpu[name] if isinstance(gpu[name], list) else [gpu[name]]
                found[case.kernel, name] = (ours[name], runs)
    return found


def test_every_counter_that_does_not_vary_is_equal() -> None:
    same = {key: (ours, runs[0]) for key, (ours, runs) in counted().items() if len(runs) == 1}
    assert {key: pair for key, pair in same.items() if pair[0] != pair[1]} == {}, "(emulator, GPU)"


def test_where_the_gpu_sends_an_access_again_it_counts_more_than_the_emulator() -> None:
    varying = {key: pair for key, pair in counted().items() if len(pair[1]) > 1}
    assert varying.keys() == ISSUED_AGAIN | BY_PLACE | BY_ORDER
    for key in ISSUED_AGAIN | BY_PLACE:
        ours, runs = varying[key]
        assert 0 < ours <= min(runs), (key, ours, runs)
    for key in BY_ORDER:
        ours, runs = varying[key]
        assert 0.98 * min(runs) <= ours <= 1.02 * max(runs), (key, ours, runs)
