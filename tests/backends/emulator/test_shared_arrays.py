"""An access beyond its shared array ends the run, even where another array of the block follows."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.records import RunFailed
from tests.sentences import refused

pytestmark = pytest.mark.sampled(quick=2)

TEXT = """__global__ void k(float *out, const int *at, int n) {{
    __shared__ float {first}[32], {second}[32];
    int t = threadIdx.x;
    a[t] = t; b[t] = 2 * t;
    __syncthreads();
    {body}
}}
"""
ASTRAY = {
    "a[t + 1]": "out[t] = a[t + 1] + b[t];",
    "b[t - 1]": "out[t] = b[t - 1] + a[t];",
    "a pointer that walks on": "float sum = 0; for (float *p = a; p < a + n + 1; p++) sum += *p; out[t] = sum + b[t];",
    "a pointer that a comparison chooses": "float *p = &a[n - 1]; p = p < a ? a : p + 1; out[t] = *p + b[t];",
    "an index from memory": "out[t] = a[at[t]] + b[t];",
    "an atomic": "atomicAdd(&a[at[t]], 1); out[t] = a[t] + b[t];",
    "a wide load": "float4 v = *(float4 *)&a[n - 2]; out[t] = v.w + b[t];",
}
INSIDE = {
    "one of two arrays": "float *p = n & 1 ? a : b; out[t] = p[31 - t] + a[t];",
    "arrays that change places": """float *p = a, *q = b;
    for (int i = 0; i < n; i++) { q[t] = p[31 - t]; float *s = p; p = q; q = s; __syncthreads(); }
    out[t] = p[t];""",
    "a difference of pointers": "float *p = &a[t]; out[t] = b[p - a] + a[31 - t];",
    "a swizzled place": "out[t] = a[t ^ (t >> 2 & 3)] + b[t];",
}


WRAPPING = {  # what an H200 returns, and compute-sanitizer calls no fault
    "a load": ("out[t] = (a + 16)[~(unsigned(n) - 31 + (t & 7))] + b[t];", lambda t: 14 - (t & 7) + 2 * t),
    "a load of some lanes": ("out[t] = t < 8 ? (a + 16)[~unsigned(t)] : b[t];",
                             lambda t: np.where(t < 8, 15 - t, 2 * t)),
    "a store": ("if (t < 16) (a + 16)[~unsigned(t)] = 100 + t; __syncthreads(); out[t] = a[t];",
                lambda t: np.where(t < 16, 115 - t, t)),
    "an atomic": ("atomicAdd(&(a + 16)[~(unsigned(n) - 32)], 1); __syncthreads(); out[t] = a[t];",
                  lambda t: np.where(t == 15, 47, t)),
    "a walk": ("float s = 0; for (unsigned i = n - 1; i > 15; i--) s += (a + 16)[15 - i]; out[t] = s;",
               lambda t: 0 * t + 120),
}  # fmt: skip


@pytest.mark.parametrize("schedule", [None, "independent:3"])
@pytest.mark.parametrize("name", WRAPPING)
def test_an_address_of_shared_memory_has_32_bits(name: str, schedule: str | None) -> None:
    body, wanted = WRAPPING[name]
    text = TEXT.format(first="a", second="b", body=body)
    arguments = np.zeros(32, np.float32), np.zeros(32, np.int32), 32
    run = engine.kernel(text).run(1, 32, arguments, schedule=schedule)
    assert run.arrays["out"].tolist() == wanted(np.arange(32)).tolist()
    assert not run.findings


def run_of(body: str, arrays: tuple[str, str] = ("a", "b")) -> None:
    text = TEXT.format(first=arrays[0], second=arrays[1], body=body)
    engine.kernel(text).run(1, 32, (np.zeros(32, np.float32), np.arange(1, 33, dtype=np.int32), 32))


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("arrays", [("a", "b"), ("b", "a")], ids=" before ".join)
@pytest.mark.parametrize("name", ASTRAY)
def test_an_access_beyond_its_array_is_found_wherever_the_array_lies(name: str, arrays: tuple[str, str]) -> None:
    with pytest.raises(RunFailed, match=r"of the shared array `[ab]`, which has 32 elements") as failure:
        run_of(ASTRAY[name], arrays)
    assert failure.value.finding == "out-of-bounds"


def test_the_sentence_names_the_array_that_was_meant() -> None:
    with refused("shared.astray", RunFailed):
        run_of(ASTRAY["a[t + 1]"])


@pytest.mark.parametrize("name", INSIDE)
def test_an_access_to_one_of_several_arrays_is_none(name: str) -> None:
    run_of(INSIDE[name])


def test_an_external_array_reaches_to_the_end() -> None:
    text = """__global__ void k(float *out) {
    __shared__ float b[32]; extern __shared__ float a[];
    int t = threadIdx.x; a[t] = t; a[t + 32] = t; b[t] = t; __syncthreads(); out[t] = a[63 - t] + b[31 - t];
}"""
    assert engine.kernel(text).run(1, 32, (np.zeros(32, np.float32),), shared=256).arrays["out"][0] == 62
    with pytest.raises(RunFailed, match="element 62 of the shared array `a`, which has 62 elements"):
        engine.kernel(text).run(1, 32, (np.zeros(32, np.float32),), shared=248)
