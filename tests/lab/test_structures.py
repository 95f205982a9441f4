"""Structs that a kernel takes by value, with arrays in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import engine
from engine.lab.arguments import argument_of
from engine.lab.kernels import OwnKernel
from engine.lab.setups import launching, propose_setup
from engine.records import Array, NotRunnable, RunFailed
from tests.sentences import refused

TEXT = """namespace own {
struct Params {
    char tag;
    const float *__restrict__ in, *extra;
    float *out;
    double scale; int n;
    short shift[2];
    __device__ float at(int i) const { return in[i] * (float)scale; }
};
__global__ void k(const __grid_constant__ Params p, int more) {
    int i = threadIdx.x;
    if (i < p.n) p.out[i] = p.at(i) + p.shift[1] + more + p.tag;
}
}
int main() { std::vector<float> host; }
"""


@dataclass
class Params:
    tag: int
    in_: Array


def fields(**changed: Any) -> dict[str, Any]:
    given = {"tag": 3, "in": np.arange(32, dtype="f4"), "extra": None, "out": np.zeros(32, "f4"), "scale": 0.5,
             "n": 32, "shift": np.array([7, 9], np.int16)}  # fmt: skip
    return {**given, **changed}


@cache
def own_kernel() -> OwnKernel:
    return engine.kernel(TEXT)


def test_arrays_are_passed_in_the_fields_of_a_struct() -> None:
    kernel, right = own_kernel(), np.arange(32) * 0.5 + 9 + 100 + 3
    for passed in (fields(), tuple(fields().values())):
        run = kernel.run(1, 32, (passed, 100))
        assert {*run.arrays} == {"p.in", "p.out"} and np.array_equal(run.arrays["p.out"], right) and run.ok
    both = np.ones(32, "f4")
    assert kernel.run(1, 32, (fields(**{"in": both, "out": both}), 0)).arrays["p.in"].tolist() == [12.5] * 32
    with refused("structures.out-of-bounds", RunFailed):
        kernel.run(1, 32, (fields(out=np.zeros(8, "f4")), 0))


def test_a_dataclass_and_words_are_structs_too() -> None:
    text = "struct S { int tag; int *in_; };\n__global__ void k(S s) { s.in_[threadIdx.x] += s.tag; }\n"
    assert engine.kernel(text).run(1, 2, (Params(5, np.arange(2, dtype="i4")),)).arrays["s.in_"].tolist() == [5, 6]
    setup = propose_setup(text)
    assert setup.arguments == ("{n, int32[n]=random}",)
    made = launching(setup, 4).arguments[0]
    assert isinstance(made, tuple) and made[0] == 4 and made[1].shape == (4,)
    assert engine.kernel(text).run(1, 2, (argument_of("{7, int32[2]=ones}"),)).arrays["s.in_"].tolist() == [8, 8]


@pytest.mark.parametrize(
    ("passed", "key"),
    [
        (fields(more=1), "structures.fields"),
        ((1, 2), "structures.too-few"),
        (fields(n=np.zeros(3)), "structures.array-for-a-number"),
        (fields(shift=np.zeros(3, np.int16)), "structures.bytes"),
    ],
)
def test_fields_that_do_not_fit_are_refused(passed: Any, key: str) -> None:
    with refused(key, NotRunnable):
        own_kernel().run(1, 32, (passed, 0))


def test_fields_for_a_number_are_refused() -> None:
    with refused("structures.no-struct", NotRunnable):
        own_kernel().run(1, 32, (fields(), {"a": 1}))
