"""Kernels that stop themselves, and the line that is to blame."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.running.chunk import constant_store, local_atomic
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute
from tests.sentences import refused

LOCAL = """extern "C" __global__ void f(const int *in, int *out) {
    int bins[4] = {0, 0, 0, 0};
    int t = threadIdx.x;
    atomicAdd(&bins[in[t] & 3], 1);
    out[t] = bins[in[t] & 3];
}"""


def test_an_atomic_on_a_local_variable_is_named_with_its_line() -> None:
    with refused("emulator.atomic-on-local", RunFailed) as why:
        execute(LOCAL, **{"in": np.arange(32, dtype=np.int32)}, out=np.zeros(32, np.int32))
    assert why.value.line == 4 and why.value.status == "crashed"


def test_a_trap_of_the_students_own_is_as_it_was() -> None:
    text = 'extern "C" __global__ void f(int *out) {\n  out[0] = 1;\n  if (out[1] == 0)\n    __trap();\n}'
    with refused("emulator.trap", RunFailed):
        execute(text, out=np.zeros(32, np.int32))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("void f() {\n int sum = 0;\n atomicAdd(&sum, 1);\n}", (3, "sum")),
        ("void f() {\n float sums[4];\n atomicMax(sums + 1, 1);\n}", (3, "sums")),
        ("void f(int *out) {\n atomicAdd(out, 1);\n atomicAdd(&out[3], 1);\n}", None),
        ("void f() {\n __shared__ int sum;\n atomicAdd(&sum, 1);\n}", None),
        ("__device__ int sum;\nvoid f() {\n atomicAdd(&sum, 1);\n}", None),
        ("void f(int *out) {\n int *place = out + 1;\n atomicAdd(place, 1);\n}", None),
    ],
)
def test_only_a_threads_own_variable_is_meant(text: str, found: tuple[int, str] | None) -> None:
    assert local_atomic(text) == found


def test_a_store_to_a_constant_is_named_with_its_line() -> None:
    text = '__constant__ int c[32];\nextern "C" __global__ void f(int *out) {\n  c[threadIdx.x] = out[threadIdx.x];\n}'
    with refused("emulator.store-to-constant", RunFailed) as why:
        execute(text, out=np.zeros(32, np.int32))
    assert why.value.line == 3 and why.value.status == "crashed"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("__constant__ float scale;\nvoid f() {\n scale *= 2;\n}", (3, "scale")),
        ("__constant__ float a[2] = {1, 2}, b;\nvoid f() {\n float x = a[0];\n ++a[1];\n}", (4, "a")),
        ("struct P { int x; };\n__constant__ P p;\nvoid f() {\n p.x = 3;\n}", (4, "p")),
        ("__constant__ int n = 3;\nvoid f(int *a) {\n if (n == 3) a[n] = 1;\n}", None),
        ("__constant__ int n[2][2] = {{1, 2}, {3, 4}};\nvoid f(int *a) {\n a[0] = n[0][0] <= n[0][1];\n}", None),
        ("__constant__ int n;\nvoid f(P *p) {\n p->n = 3; p[0].n = 2;\n}", None),
    ],
)
def test_only_a_constant_of_the_file_is_meant(text: str, found: tuple[int, str] | None) -> None:
    assert constant_store(text) == found
