"""What a launch of any kernel may ask for, print, find and keep has an end, and says so."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import engine
from engine.records import NotRunnable, RunFailed
from tests.lab.test_any_kernel import SAXPY


def test_a_launch_keeps_the_limits_of_a_gpu_that_is_named() -> None:
    kernel, x = engine.kernel(SAXPY), np.zeros(64, "f4")
    run = partial(kernel.run, 1, 64, (2, x, x.copy(), 64))
    assert run(gpu="Tesla V100", shared=96 << 10).ok and run(gpu="H200", shared=100 << 10).ok
    with pytest.raises(NotRunnable, match="98,305 bytes of shared memory a block; NVIDIA Tesla V100 has 98,304"):
        run(gpu="v100", shared=(96 << 10) + 1)
    with pytest.raises(NotRunnable, match=r"There is no GPU 'V1000' here: choose one of .*NVIDIA T4"):
        run(gpu="V1000")
    with pytest.raises(NotRunnable, match="NVIDIA T4 has 65,536"):
        run(gpu="t4", shared=65537)


def test_printf_has_bounds_and_says_so() -> None:
    wide = '__global__ void k(int n) { printf("%*d|%.*f|%.3f|%.f\\n", n, 7, -n, 1.5, 2.0, 2.5); }'
    assert engine.kernel(wide).run(1, 1, (2_000_000_000,)).printed == (" " * 4095 + "7|1.500000|2.000|2",)
    many = '__global__ void k(int n) { for (int i = 0; i < n; i++) printf("%d\\n", i); }'
    assert engine.kernel(many).run(1, 1, (1000,)).printed[-1] == "999"
    cut = engine.kernel(many).run(1, 1, (1001,)).printed
    assert len(cut) == 1001 and cut[-1] == "(The rest of printf's output is left out.)"
    fields = f'__global__ void k() {{ printf("{"%d" * 33}", {", ".join("1" * 33)}); }}'
    assert engine.kernel(fields).run(1, 1).printed == ("1" * 32 + "%d",)


def test_what_is_found_has_an_end_and_says_how_much_there_is() -> None:
    lines = "\n".join(f"a[{number}] = threadIdx.x;" for number in range(60))
    run = engine.kernel(f"__global__ void k(int *a) {{\n{lines}\n}}").run(1, 64, (np.zeros(64, "i4"),))
    assert len(run.findings) == 51 and run.findings[-1].message == "10 more findings at other lines are left out."


def test_variables_have_a_bound_together() -> None:
    text = "__device__ int one[1 << 27], two[1 << 27], three;\n__global__ void k() { one[0] = two[0] = three; }"
    with pytest.raises(RunFailed, match=r"the variables of kernel.cu have 1,073,741,828 bytes"):
        engine.kernel(text).run(1, 1)
