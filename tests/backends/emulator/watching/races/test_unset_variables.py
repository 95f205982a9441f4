"""A variable without a value: arithmetic with it is found where its result counts, and copies are no mistake."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun
from tests.sentences import sentence

pytestmark = pytest.mark.sampled(quick=2)

UNSET = {
    "a sum": "float s; for (int k = 0; k < n; k++) s += x[k]; out[t] = s;",
    "a sum in shared memory": """__shared__ float part[32]; float s; for (int k = t; k < n; k += 32) s += x[k];
        part[t] = s; __syncthreads(); out[t] = part[t ^ 1];""",
    "a sum by atomics": "float s; for (int k = t; k < n; k += 32) s += x[k]; atomicAdd(out, s);",
    "a sum by shuffles": """float s; for (int k = t; k < n; k += 32) s += x[k];
        for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o); if (t == 0) out[0] = s;""",
    "a maximum": "float m; for (int k = 0; k < n; k++) if (x[k] > m) m = x[k]; out[t] = m;",
    "fmaxf": "float m; for (int k = 0; k < n; k++) m = fmaxf(m, x[k]); out[t] = m;",
    "a count": "int c; for (int k = 0; k < n; k++) if (x[k] > 0.2f) c++; out[t] = c;",
    "a sum of some": "float s; for (int k = 0; k < n; k++) if (x[k] > 0.1f) s += x[k]; out[t] = s;",
    "a few sums": "float s[2]; for (int k = 0; k < n; k++) s[k & 1] += x[k]; out[t] = s[0] + s[1];",
    "a double": "double s; for (int k = 0; k < n; k++) s += x[k]; out[t] = s;",
    "a branch": """int last; for (int k = 0; k < n; k++) { if (last < n) { out[t] += x[k]; __threadfence(); }
        last = k + __float2int_rd(x[k]); }""",
    "an index": "int j; for (int k = 0; k < n; k++) if (x[k] > 3) j = k; out[t] = x[(j * 3 + 1) & 31];",
    "an index, set at a branch": """int j; for (int k = 0; k < n; k++) if (x[k] > 3) { j = k; atomicAdd(out, x[k]); }
        out[t] = x[j & 31];""",
    "an index of an atomic": "int j; for (int k = 0; k < n; k++) if (x[k] > 3) j = k; atomicAdd(out + (j & 31), 1.f);",
    "set by some": "float m; for (int k = 0; k < n; k++) if (k + 20 < t) m = x[k]; out[t] = 2 * m;",
    "a vote": "int f; for (int k = 0; k < n; k++) if (x[k] > 3) f = k; out[t] = __ballot_sync(~0u, f > n * 3);",
    "a flag": "unsigned f; for (int k = 0; k < n; k++) if (x[k] > 3) f |= 2; out[t] = (f >> 1) & 1;",
    "many flags": "unsigned f; for (int k = 0; k < n; k++) f |= 1u << (int)(9 * x[k]); out[t] = f;",
    "a toggled flag": "unsigned f; for (int k = 0; k < n; k++) if (x[k] > 0.5f) f ^= 4; out[t] = f & 4;",
}
FINE = {
    "a value from the round before": """float last, s = 0;
        for (int k = 0; k < n; k++) { if (k > 0) s += last; last = x[k]; } out[t] = s;""",
    "the larger of two rounds": """float last; int c = 0;
        for (int k = 0; k < n; k++) { if (k > 0 && last > x[k]) c++; last = x[k]; } out[t] = c;""",
    "a maximum from the first": """float m; for (int k = 0; k < n; k++) if (k == 0 || x[k] > m) m = x[k];
        out[t] = m;""",
    "a tile's border is copied": """__shared__ float tile[32]; float v; if (t < n) v = x[t]; tile[t] = v;
        __syncthreads(); if (t < n) out[t] = tile[n - 1 - t];""",
    "a piece that a guard reads and writes": """float v[4];
        if (4 * t < n) for (int k = 0; k < 4; k++) v[k] = x[4 * t + k]; __syncthreads();
        if (4 * t < n) for (int k = 0; k < 4; k++) out[4 * t + k] = 2 * v[k];""",
    "a field that nobody sets": "float4 v; v.x = x[t % n]; v.y = 1; out[t] = v.x + v.y;",
    "bits of a word": """struct Bits { unsigned a : 3, b : 5; } w, *to = (Bits *)out;
        for (int k = 0; k < n; k++) if (x[k] > 0.5f) w.a = k; to[t] = w; out[t] = 1;""",
    "bytes put together": """unsigned char low, high; if (t < n) { low = t; high = t + 1; }
        unsigned w = high << 8 | low; out[t] = 1; if (t < n) out[t] = w;""",
    "an index that is chosen": """int last, c = 0;
        for (int k = 0; k < n; k++) { c += x[k > 0 ? last : 0] > 0; last = k; } out[t] = c;""",
    "found by all": "int j; for (int k = 0; k < n; k++) if (x[k] > 0.1f) j = k; out[t] = x[(j * 3 + 1) & 31];",
    "used where it was found": """int j; bool known = false;
        for (int k = 0; k < n; k++) if (x[k] > 3) { j = k; known = true; } out[t] = known ? 2 * j : -1;""",
    "set on both ways": "float s; if (t & 1) s = x[t % n]; else s = 2; out[t] = s + 1;",
    "set by a switch": """float s; switch (t % 3) { case 0: s = 1; break; case 1: s = x[0]; break; default: s = 3; }
        out[t] = s + 1;""",
}


def run_of(body: str) -> KernelRun:
    text = f"__global__ void k(const float *x, float *out, int n) {{\n int t = threadIdx.x; {body} }}"
    return engine.kernel(text).run(1, 32, (np.linspace(0, 1, 32, dtype=np.float32), np.zeros(32, np.float32), 8))


@pytest.mark.parametrize("name", UNSET)
def test_arithmetic_with_a_variable_without_a_value_is_found(name: str) -> None:
    found = run_of(UNSET[name]).findings
    assert {each.kind for each in found} == {"uninitialised-variable"}
    if name == "a sum":
        assert sentence("finding.uninitialised-variable", found[0].message)
    if name == "a branch":
        assert sentence("finding.branch-by-uninitialised-variable", found[0].message)


@pytest.mark.parametrize("name", FINE)
def test_what_is_set_before_it_counts_is_no_finding(name: str) -> None:
    run = run_of(FINE[name])
    assert run.ok and np.isfinite(run.arrays["out"]).all()


@pytest.mark.parametrize("value", ["s", "s + 1"])  # the compiler knows the sum of no value and 1: no value
def test_a_copy_of_no_value_is_no_zero(value: str) -> None:
    """A copied value that was never set is no finding, but no reference calls it right."""
    run = run_of(f"float s; if (t < n) s = x[t]; out[t] = {value};")
    assert run.ok and np.isnan(run.arrays["out"][8:]).all()
