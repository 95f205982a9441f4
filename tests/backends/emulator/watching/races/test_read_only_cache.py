"""The read-only cache is for data that no thread of the launch writes: later reads through it may be stale."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun
from tests.sentences import sentence

STALE = {
    "another thread's, behind a barrier": "b[i] = t; __syncthreads(); out[i] = __ldg(&b[i ^ 33]);",
    "its own": "b[i] = t; __threadfence(); out[i] = __ldg(&b[i]);",
    "an atomic's": "atomicAdd(&b[i], t); __syncthreads(); out[i] = __ldg(&b[i ^ 1]);",
    "the second of a pair": "b[2 * i + 1] = t; __syncthreads(); out[i] = __ldg((const int2 *)b + (i ^ 1)).x;",
}
FRESH = {
    "an ordinary read": "b[i] = t; __syncthreads(); out[i] = b[i ^ 1];",
    "a read from the L2": "b[i] = t; __syncthreads(); out[i] = __ldcg(&b[i ^ 1]);",
    "written after all reads": "int v = __ldg(&b[i ^ 1]); __syncthreads(); b[i] = v; out[i] = v;",
    "another array": "out[i] = __ldg(&b[i]);",
    "another element": "b[i] = t; __syncthreads(); out[i] = __ldg(&b[i + 128]);",
}


def run_of(parameters: str, body: str) -> KernelRun:
    text = f"__global__ void k({parameters}) {{ int t = threadIdx.x, i = blockIdx.x * 64 + t; {body} }}"
    return engine.kernel(text).run(2, 64, (np.arange(256, dtype=np.int32), np.zeros(128, np.int32)))


@pytest.mark.parametrize("name", STALE)
def test_a_read_of_what_the_launch_wrote_is_found(name: str) -> None:
    run = run_of("int *b, int *out", STALE[name])
    assert [found.kind for found in run.findings] == ["stale-read"]
    if name == "its own":
        assert sentence("finding.stale-read-of-its-own", run.findings[0].message)
    elif "barrier" in name:
        assert sentence("finding.stale-read", run.findings[0].message)


@pytest.mark.parametrize("name", FRESH)
def test_other_reads_are_no_finding(name: str) -> None:
    assert run_of("int *b, int *out", FRESH[name]).ok


def test_restrict_promises_what_the_caller_must_keep() -> None:
    """The compiler reads through this cache where the pointers are const and __restrict__."""
    text = """__global__ void k(const int *__restrict__ a, int *__restrict__ out) {
    int t = threadIdx.x;
    out[t] = t;
    __syncthreads();
    out[t + 64] = a[t ^ 1]; }"""
    kernel, both = engine.kernel(text), np.zeros(128, np.int32)
    assert kernel.run(1, 64, (both.copy(), both.copy())).ok
    assert [found.kind for found in kernel.run(1, 64, (both, both)).findings] == ["stale-read"]
