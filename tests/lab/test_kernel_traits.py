"""What the PTX of a kernel tells about the numbers with which it should be tried."""

from __future__ import annotations

import pytest

import engine
from engine.lab.kernel_traits import compared_with, stored_only

STORED = {
    "a store": ("y[i] = x[i];", True),
    "a store behind a condition": ("if (x[i] > 0) y[i] = 1;", True),
    "stores of several elements": ("y[2 * i] = x[i]; y[2 * i + 1] = 0;", True),
    "a load": ("if (y[i] == 0) y[i] = x[i];", False),
    "a volatile load": ("y[i] = 1; x[i] = ((volatile int *)y)[i];", False),
    "an atomic": ("atomicAdd(y + i, x[i]);", False),
    "one pointer or the other": ("int *p = x[i] > 0 ? x : y; y[i] = 1; x[i] = p[0];", False),
    "a pointer in memory": ("y[i] = 1; *(int **)(x + 2 * i) = y;", False),
    "a pointer from memory": ("y[i] = 1; x[i] = **(int **)(x + 2 * i);", False),
    "a pointer as a number": ("y[i] = 1; x[i] = *(int *)((unsigned long long)y ^ 4);", False),
}


@pytest.mark.parametrize("what", STORED)
def test_arrays_that_a_kernel_only_stores_to(what: str) -> None:
    body, alone = STORED[what]
    text = f"__global__ void f(int *x, int *y, int n) {{ int i = threadIdx.x; if (i < n) {{ {body} }} }}"
    assert stored_only(engine.kernel(text))[1:] == (alone, False)


def test_constants_that_a_kernel_compares_with() -> None:
    body = "y[i] = x[i] > 49.5f ? x[i] : i == 4321 ? fminf(x[i], -3e5f) : fmaxf(x[i], 1e30f);"
    kernel = engine.kernel(f"__global__ void f(const float *x, float *y) {{ int i = threadIdx.x; {body} }}")
    assert set(compared_with(kernel, "f")) == {49.5, -3e5} and 4321 in compared_with(kernel, "i")
