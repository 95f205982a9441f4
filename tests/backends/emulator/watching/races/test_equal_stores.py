"""Unordered stores of one value are no race, and each of them races with an unordered store of another value."""

from __future__ import annotations

import numpy as np
import pytest

import engine

HEAD = """
#define MEET(number) asm volatile("bar.sync " #number ", 64;" ::: "memory")
__global__ void k(int *out, int n) {
    __shared__ int s;
    int t = threadIdx.x, w = t / 32;
"""
NAMED = "if (w) MEET(1);\nif (t == 64) s = OTHER;\nif (w) { MEET(2); out[t] = s; }"
STORED = "__syncthreads();\nout[t] = s;"
BODIES = {
    "two lanes of one store": f"if (t == 0 || t == 32) s = n;\n{NAMED}",
    "two stores": f"if (t == 32) s = n;\n__syncwarp();\nif (t == 0) s = 3;\n{NAMED}".replace("(w)", "(w != 1)"),
    "three stores": "if (t == 0) s = n;\n__syncwarp();\nif (t == 32) s = 3;\n__syncwarp();\nif (t == 64) s = n;\n"
    f"{NAMED}",
    "a thread that stores twice": f"if (t == 0 || t == 32) s = n;\n__syncwarp();\nif (t == 32) s = OTHER;\n{STORED}",
    "all threads, and the last one again": f"s = n;\n__syncwarp();\nif (t == 95) s = OTHER;\n{STORED}",
}


@pytest.mark.parametrize("schedule", [None, "independent:1", "waves:1"])
@pytest.mark.parametrize(("other", "kinds"), [("9", {"shared-race"}), ("3", set())], ids=["another", "the same"])
@pytest.mark.parametrize("name", BODIES)
def test_a_store_of_another_value_races_with_each_equal_store(
    name: str, other: str, kinds: set[str], schedule: str | None
) -> None:
    kernel = engine.kernel(f"{HEAD}{BODIES[name]}}}".replace("OTHER", other))
    run = kernel.run(2, 96, (np.zeros(96, np.int32), 3), schedule=schedule)
    assert {one.kind for one in run.findings} - {"global-race"} == kinds


def test_equal_stores_in_front_of_a_barrier_are_forgotten() -> None:
    kernel = engine.kernel(
        f"{HEAD}s = n;\n__syncthreads();\nif (t == 0) s = 9;\n__syncthreads();\nif (w) out[t] = s;}}"
    )
    assert kernel.run(1, 96, (np.zeros(96, np.int32), 3)).findings == ()
