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


VECTORS = """#include <cuComplex.h>
typedef double2 Pair; template <class A> struct Of { A a; };
__global__ void k(float3 a, float *y, const uint2 b, dim3 d, Pair p, uchar4 c, cuFloatComplex z) {
    y[0] = a.x + 10 * a.y + 100 * a.z; y[1] = b.x + 10 * b.y; y[2] = d.y; y[3] = p.y; y[4] = c.w; y[5] = z.y;
}"""


def test_vectors_of_cuda_are_passed_by_value() -> None:
    kernel, y = engine.kernel(VECTORS), np.zeros(6, np.float32)
    passed = ((1, 2, 3), y, {"x": 4, "y": 5}, [6, 7, 8], (0, 0.5), (0, 0, 0, 9), (0, 2.5))
    assert kernel.run(1, 1, passed).arrays["y"].tolist() == [321, 54, 7, 0.5, 9, 2.5]
    setup = propose_setup(VECTORS)
    pairs = ("{1, 1, 1}", "float32[n]", "{n, n}", "{n, n, n}", "{1, 1}", "{1, 1, 1, 1}", "{1, 1}")
    assert setup.arguments == pairs
    made = launching(setup, 32)
    assert kernel.run(1, 1, made.arguments).arrays["y"].tolist()[:3] == [111, 32 * 11, 32]
    with refused("structures.vector", NotRunnable):
        kernel.run(1, 1, ((1, 2), *passed[1:]))


def test_a_vector_does_not_keep_the_form_from_reading_the_launch() -> None:
    text = """__global__ void k(float *y, float3 by) { y[threadIdx.x] = by.x; }
int main() {
    float *d; cudaMalloc(&d, 48 * 4);
    float3 by; by.x = 2; k<<<3, 16>>>(d, by); k<<<3, 16>>>(d, make_float3(1, 2, 3));
}
"""
    setup = propose_setup(text)
    assert (setup.grid, setup.block, setup.arguments) == (("3",), ("16",), ("float32[48]", "{1, 1, 1}"))
    turned = text.replace("k<<<3, 16>>>(d, by);", "")
    assert propose_setup(turned).arguments == ("float32[48]", "{1, 1, 1}")


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


PRIVATE = """template <typename T> class Of { size_t pitch; protected: short rows; public: T *at; Of() { at = 0; }
private: int tail; public: __device__ T &of(int i) { return at[i * pitch + rows + tail]; } };
enum class Kind { one };
__global__ void k(Of<float> a, Of<const unsigned int> b) { a.of(1) = b.of(2); }
"""


def test_private_fields_and_those_of_a_template_are_passed_too() -> None:
    a, b = (1, 2, np.zeros(8, np.float32), 1), {"pitch": 2, "rows": 1, "at": np.arange(8, dtype=np.uint32), "tail": 0}
    run = engine.kernel(PRIVATE).run(1, 1, (a, b))
    assert run.arrays["a.at"].tolist() == [0, 0, 0, 0, 5, 0, 0, 0]
    assert propose_setup(PRIVATE).arguments[0] == "{n, n, float32[n]=random, n}"


def test_a_type_of_c_is_no_struct_because_a_struct_is_aligned_to_it() -> None:
    text = """typedef struct alignas(sizeof(float)) P { float3 at; } P;
__global__ void k(P *p, float a, float *y) { y[0] = p[0].at.x + a; }
"""
    assert propose_setup(text).arguments[1:] == ("1", "float32[n]")


def test_the_fields_of_a_base_class_stand_first() -> None:
    text = """namespace own { template <typename T> class Table { protected: short size; T *at; }; }
class Row : public own::Table<int> { public: int row; __device__ int of(int i) { return at[row * size + i]; } };
struct Again : Again { int a; };
__global__ void k(Row r, int *y) { y[0] = r.of(1); }
"""
    passed = {"size": 3, "at": np.arange(9, dtype=np.int32), "row": 2}
    assert engine.kernel(text).run(1, 1, (passed, np.zeros(1, np.int32))).arrays["y"].tolist() == [7]
    assert propose_setup(text.replace("Row r", "Again r")).arguments[0] == "{n}"
