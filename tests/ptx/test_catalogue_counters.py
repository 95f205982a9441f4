"""The emulator's counters of every kernel equal what Nsight Compute counted on an H200, at two block sizes.

tests/gpu/profile_kernels.py records the golden file. Where the two cannot be equal, the reason stands here, and the
test fails when the difference is gone. trapezoid_global_race is left out: how its blocks overlap is a matter of time.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from engine.catalogue import default_choice
from engine.measure import measure

pytestmark = pytest.mark.thorough

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "catalogue.json").read_text())["kernels"]

EXACT = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_wavefronts", "shared_store_wavefronts", "bank_conflicts",
)  # fmt: skip
# The hardware's count of shared requests takes an instruction that was issued again as two: up to 3% more.
REISSUED = ("shared_load_requests", "shared_store_requests")

JOINED = "the GPU's assembler joins neighbouring loads of shared memory into wider ones, below PTX"
WAITING = "blocks that wait for each other look again and again: how often is a matter of time"
ASYNCHRONOUS = "the GPU counts asynchronous copies into shared memory apart from stores"
UNEQUAL = {
    "matmul_tiled": {"shared_load_wavefronts": JOINED, "shared_load_requests": JOINED},
    "matmul_register_1d": {"shared_load_wavefronts": JOINED, "shared_load_requests": JOINED},
    "matmul_async_copy": {
        "shared_store_wavefronts": ASYNCHRONOUS, "shared_store_requests": ASYNCHRONOUS, "bank_conflicts": ASYNCHRONOUS,
    },
    "reduce_cooperative": {
        "global_load_requests": WAITING,
        "global_load_sectors": WAITING, "shared_store_wavefronts": WAITING, "bank_conflicts": WAITING,
    },
    "reduce_vectorized": {
        "global_load_requests": WAITING, "global_load_sectors": WAITING, "global_store_requests": WAITING,
        "global_store_sectors": WAITING, "shared_load_wavefronts": JOINED, "shared_load_requests": JOINED,
        "shared_store_wavefronts": WAITING, "bank_conflicts": WAITING,
    },
}  # fmt: skip

PLANS = [pytest.param(at, id=f"{entry['kernel']}-{entry['block_size']}") for at, entry in enumerate(GOLDEN)]


@cache
def counted(at: int) -> tuple[dict, dict]:
    """(on the emulator, on the GPU) of one plan."""
    gpu = dict(GOLDEN[at])
    gpu["bank_conflicts"] = gpu["shared_load_conflicts"] + gpu["shared_store_conflicts"]
    chosen = {name: gpu[name] for name in ("n", "block_size", "dtype")}
    return dict(measure(replace(default_choice(gpu["kernel"]), device="emulator", **chosen)).counters), gpu


def differs(name: str, emulated: dict, gpu: dict) -> bool:
    if name in REISSUED:
        return not emulated[name] <= gpu[name] <= 1.03 * emulated[name] + 1
    return emulated[name] != gpu[name]


@pytest.mark.parametrize("at", PLANS)
def test_memory_counters_equal_the_hardwares(at: int):
    emulated, gpu = counted(at)
    allowed = UNEQUAL.get(gpu["kernel"], {})
    wrong = {
        name: (emulated[name], gpu[name])
        for name in (*EXACT, *REISSUED)
        if name not in allowed and differs(name, emulated, gpu)
    }
    assert not wrong, f"(emulator, GPU): {wrong}"


@pytest.mark.parametrize("kernel", UNEQUAL)
def test_every_difference_that_is_allowed_is_there(kernel: str):
    pairs = [counted(at) for at, entry in enumerate(GOLDEN) if entry["kernel"] == kernel]
    for name in UNEQUAL[kernel]:
        assert any(differs(name, emulated, gpu) for emulated, gpu in pairs), name
