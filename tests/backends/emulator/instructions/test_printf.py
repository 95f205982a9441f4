"""What printf returns: the number of its arguments, as on an H200."""

from __future__ import annotations

import numpy as np

import engine

CALLS = """__global__ void k(int *a, const char *unused) {
    int t = threadIdx.x;
    a[4 * t] = printf("none, 100%%\\n");
    a[4 * t + 1] = printf("%d %5.2f %s\\n", t, 1.5, "text");
    a[4 * t + 2] = printf("%*d %-*.*f|\\n", 5, t, 8, 2, 2.5);
    a[4 * t + 3] = printf(t % 2 ? "%d\\n" : "%d and %d\\n", t, t);
}
"""


def test_printf_returns_the_number_of_arguments_of_its_format() -> None:
    ran = engine.kernel(CALLS).run(1, 40, (np.zeros(160, np.int32), np.zeros(1, np.int8)))
    assert ran.arrays["a"].reshape(40, 4).tolist() == [[0, 3, 5, 1 if t % 2 else 2] for t in range(40)]
    assert "    3     2.50|" not in ran.printed and "    3 2.50    |" in ran.printed


def test_printf_returns_the_same_when_its_output_is_full() -> None:
    text = '__global__ void k(int *a) { for (int i = 0; i < 60; i++) a[threadIdx.x] += printf("%d\\n", i); }\n'
    ran = engine.kernel(text).run(1, 32, (np.zeros(32, np.int32),))
    assert ran.arrays["a"].tolist() == [60] * 32 and len(ran.printed) == 1001
