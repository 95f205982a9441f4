"""An integer division by zero is a finding if a thread executes it; floats and threads behind a guard have none."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun

# In d every element is its place, and 0 for every fifth one; the first is at thread 0.
DIVIDES = {
    "a quotient": "out[t] = 100 / d[t];",
    "a remainder": "out[t] = 100 % d[t];",
    "without a sign": "out[t] = 100u / (unsigned)d[t];",
    "64 bits": "out[t] = 100000000000ll / (long long)d[t];",
    "in a straight run": "int a = t * 3 + n, b = a ^ t; out[t] = (b / d[t] + a) * 5 - b;",
    "one divisor for all": "out[t] = t / (n - 40);",
    "in a loop": "int s = 0; for (int k = 0; k < n; k++) s += k / (k - d[t]); out[t] = s;",
    "decides a branch": "if (t % d[t] == 0) out[t] = 1;",
}
FINE = {
    "floats": "out[t] = 100.f / d[t];",
    "a guard": "out[t] = d[t] ? 100 / d[t] : 0;",
    "a guard in front": "if (d[t] == 0) return; out[t] = 100 % d[t];",
    "a guard of two": "if (d[t] != 0 && 100 / d[t] > 3) out[t] = 1;",
    "another loop": "int s = 0; for (int k = d[t]; k > 0; k--) s += 100 / k; out[t] = s;",
    "never used": "int q = 100 / d[t]; if (d[t] > 0) out[t] = q;",
    "a constant": "out[t] = t / 7 + t % 3;",
    "64 bits": "out[t] = d[t] ? 100000000000ll / (long long)d[t] : 0;",
}


def run_of(body: str) -> KernelRun:
    text = f"__global__ void k(const int *d, int *out, int n) {{\n int t = threadIdx.x; if (t >= n) return;\n {body} }}"
    places = np.arange(64, dtype=np.int32)
    return engine.kernel(text).run(2, 64, (np.where(places % 5, places, 0), np.zeros(64, np.int32), 40))


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", DIVIDES)
def test_an_integer_division_by_zero_is_found(name: str) -> None:
    (found,) = run_of(DIVIDES[name]).findings
    assert (found.kind, found.line) == ("division-by-zero", 3) and "thread 0 of block 0" in found.message


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", FINE)
def test_threads_that_divide_by_no_zero_have_no_finding(name: str) -> None:
    assert run_of(FINE[name]).ok
