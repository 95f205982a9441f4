"""The blocks run in an order in which lanes converge where their paths meet, wherever the compiler puts the code."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.ptx.block_order import postdominators, running_order
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute, zeros

# The successors of each block -> the order in which they run.
GRAPHS: dict[str, tuple[list[list[int]], list[int]]] = {
    "if": ([[1, 2], [2], []], [0, 1, 2]),
    "loop": ([[1], [1, 2], []], [0, 1, 2]),
    "rare code behind the end": ([[1, 3], [2], [], [1]], [0, 3, 1, 2]),
    "rare code in rare code": ([[1, 3], [2], [], [4, 1], [1]], [0, 3, 4, 1, 2]),
    "rare code of a loop behind its end": ([[1], [2, 5], [1, 3], [4], [], [2]], [0, 1, 5, 2, 3, 4]),
    "the end of a loop in front of its body": ([[1], [2, 3], [], [1]], [0, 1, 3, 2]),
    "a way out of a loop, written inside it": ([[1], [3, 2], [4], [1, 4], []], [0, 1, 2, 3, 4]),
    "a loop with two entrances": ([[1, 2], [2], [1, 3], []], [0, 1, 2, 3]),
    "a called function behind the kernel": ([[1, 3], [2], [], [1], [5], []], [0, 3, 1, 2, 4, 5]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_running_order_of_a_graph(name: str) -> None:
    after, order = GRAPHS[name]
    assert running_order(after, {0, 4} if "called" in name else {0}) == order


def test_the_postdominators_of_a_graph() -> None:
    assert postdominators([[1, 3], [2], [], [1]]) == [1, 2, -1, 1]


def test_blocks_of_an_endless_loop_have_no_postdominator() -> None:
    assert postdominators([[1], [2], [1]]) == [-1, -1, -1]
    assert postdominators([[1, 3], [2], [1], []]) == [3, -1, -1, -1]


RARE = """extern "C" __global__ void f(int *out, int n) {
    __shared__ int s[2];
    s[threadIdx.x / 32] = 0;
    for (int k = 0; k < n; k++) {
        if (__builtin_expect((threadIdx.x ^ k) == 5, 0)) { s[0] = k; if (k == 3) out[65] = 1; else out[64] = n; }
        __syncthreads();
        out[threadIdx.x] += s[0];
        __syncthreads();
    }
}"""


@pytest.mark.parametrize("turns", [1, 5])
def test_the_lanes_of_rare_code_reach_the_barrier_with_the_others(turns: int) -> None:
    hazards = Hazards()
    made = execute(RARE, 1, 64, observers=[hazards], out=zeros(66), n=turns)["out"]
    assert hazards.findings() == () and (made[:64] == np.arange(turns).sum()).all()
