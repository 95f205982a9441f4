"""Threads that use parts of one element of an array: each part is checked by itself."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun

pytestmark = pytest.mark.sampled(quick=2)

PAIRS = np.dtype([("n", np.int32), ("v", np.float32)])
RACES = {
    "a neighbour's pair": "float2 *p = (float2 *)b; p[i] = p[(i + 1) % 128];",
    "a field of a structure": "((Two *)b)[t / 2].n += 1;",
    "an atomic beside a plain read": "atomicAdd(&((Two *)b)[t / 2].n, 1); if (t == 5) *out = ((Two *)b)[0].n;",
    "bytes of words": "((char *)b)[i] = 1; out[i] = ((char *)b)[i ^ 63];",
    "a byte and its word": "((char *)b)[i] = 1; out[i] = ((int *)b)[i / 4];",
    "words of longer words": "((int *)b)[i] = 1; out[i] = ((int *)b)[i ^ 63];",
    "an element, then its half": "b[i] = 1; out[i] = ((int *)b)[2 * (i ^ 63)];",
}
ORDERED = {
    "each its own pair": "float2 *p = (float2 *)b; float2 v = p[i]; p[i] = make_float2(v.y, v.x);",
    "another half": "((int *)b)[2 * i] = 1; __syncthreads(); out[i] = ((int *)b)[2 * (i ^ 63) + 1];",
    "other halves, unordered": "((int *)b)[2 * i] = 1; out[i] = ((int *)b)[2 * (i ^ 63) + 1];",
    "bytes behind a barrier": "((char *)b)[i] = 1; __syncthreads(); out[i] = ((char *)b)[i ^ 63];",
    "elements, then their bytes": "b[i] = 1; __syncthreads(); out[i] = ((char *)b)[8 * (i ^ 63)];",
}


def run_of(body: str, dtype: np.dtype[np.generic], schedule: str | None) -> KernelRun:
    text = f"""struct Two {{ int n; float v; }};
__global__ void k(long long *b, int *out) {{ int t = threadIdx.x, i = blockIdx.x * 64 + t; {body} }}"""
    return engine.kernel(text).run(2, 64, (np.zeros(128, dtype), np.zeros(128, np.int32)), schedule=schedule)


@pytest.mark.parametrize("schedule", [None, "independent:1", "waves:1"])
@pytest.mark.parametrize("dtype", [np.dtype(np.int64), PAIRS], ids=str)
@pytest.mark.parametrize("name", [*RACES, *ORDERED])
def test_a_race_on_a_part_is_found_and_other_parts_are_no_race(
    name: str, dtype: np.dtype[np.generic], schedule: str | None
) -> None:
    found = run_of({**RACES, **ORDERED}[name], dtype, schedule)
    assert {one.kind for one in found.findings} == ({"global-race"} if name in RACES else set())


GENERIC = """__global__ void k(const int *x, int *out, TYPE *other, int n) {
    __shared__ TYPE s[64];
    int t = threadIdx.x;
    TYPE *p = n > 5 ? s : other;
    p[t] = x[t];
    WAIT;
    out[t] = p[63 - t];
}"""


@pytest.mark.parametrize("kind", ["char", "short", "int"])
@pytest.mark.parametrize(("wait", "kinds"), [("", {"shared-race"}), ("__syncthreads()", set())])
def test_shared_memory_behind_a_pointer_that_may_be_global(kind: str, wait: str, kinds: set[str]) -> None:
    text = GENERIC.replace("TYPE", kind).replace("WAIT", wait)
    other = np.zeros(64, {"char": np.int8, "short": np.int16, "int": np.int32}[kind])
    run = engine.kernel(text).run(1, 64, (np.arange(64, dtype=np.int32), np.zeros(64, np.int32), other, 9))
    assert {one.kind for one in run.findings} == kinds
