"""Volatile accesses to global memory by the threads of one block are data, unless they are flags."""

from __future__ import annotations

import numpy as np
import pytest

import engine

HEAD = """__global__ void k(const int *x, volatile int *g, int *out) {
    int t = threadIdx.x, i = t + blockIdx.x * 64;
"""
RACES = {
    "an exchange between warps": "g[i] = x[t];\nout[i] = g[i ^ 32];",
    "an exchange between lanes": "g[i] = x[t];\nout[i] = g[i ^ 1];",
    "a tail without barriers": "if (t < 16) { g[i] += g[i + 16]; g[i] += g[i + 8]; }\nif (t == 0) out[i] = g[i];",
}
RIGHT = {
    "a barrier": "g[i] = x[t];\n__syncthreads();\nout[i] = g[i ^ 32];",
    "a __syncwarp()": "g[i] = x[t];\n__syncwarp();\nout[i] = g[i ^ 1];",
    "a thread's own word": "g[i] = x[t];\nout[i] = g[i] + g[i];",
    "a flag": "if (t == 0) { g[i + 1] = 5; __threadfence(); g[i] = 1; }\n"
    "if (t == 32) { while (!g[i - 32]); __threadfence(); out[i] = g[i - 31]; }",
    "a flag without data": "if (t == 0) g[i] = 1;\n"
    "if (t == 32) { int v; do v = g[i - 32]; while (v == 0); out[i] = 1; }",
    "the same flag by all threads": "g[0] = 1;\nif (t == 5) { while (!g[0]); out[i] = 1; }",
    "a value from another block": "g[i] = x[t];\nout[i] = g[(i + 64) % 128];",
}


@pytest.mark.parametrize("schedule", [None, "independent:1", "waves:2"])
@pytest.mark.parametrize("body", [*RACES.values(), *RIGHT.values()], ids=[*RACES, *RIGHT])
def test_volatile_exchange_in_a_block_needs_a_barrier(body: str, schedule: str | None) -> None:
    arrays = np.arange(64, dtype=np.int32), np.zeros(192, np.int32), np.zeros(192, np.int32)
    run = engine.kernel(f"{HEAD}{body}\n}}").run(2, 64, arrays, schedule=schedule)
    assert {one.kind for one in run.findings} == ({"global-race"} if body in RACES.values() else set())
