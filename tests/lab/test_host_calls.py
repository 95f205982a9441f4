"""Calls of host functions in device code: NVRTC takes them here, nvcc does not, and the page says so at their line."""

from __future__ import annotations

import pytest

from engine.lab.checking import compiled_marks

POINT = """struct P {
    float x; P(float a) : x(a) {}
    float get() const { return x; }
    static constexpr int two() { return 2; }
    int operator()(int a) const { return a + (int)get(); }
};
constexpr int twice(int a) { return 2 * a; }
constexpr int FOUR = twice(2);
template <class F> __device__ int apply(F f) { return f(3); }
__global__ void k(int *a, const P p) {
    %s
}
"""
# a statement of the kernel -> (line, what the sentence names)
REFUSED = {
    "a[0] = p.get();": (11, ("`P::get` of line 3", "write __device__")),
    "P q(2.0f); a[0] = q.x;": (11, ("`P::P` of line 2",)),
    "a[0] = apply(p);": (9, ("`P::operator()` of line 5",)),
    "a[0] = P::two();": (11, ("`P::two` of line 4", "--expt-relaxed-constexpr")),
    "a[0] = twice(3);": (11, ("`twice` of line 7", "--expt-relaxed-constexpr")),
    "__shared__ int s[twice(3)]; s[1] = 1; a[0] = s[1];": (11, ("`twice` of line 7",)),
    "a[0] = std::max(a[1], a[2]);": (11, ("`std::max`", "--expt-relaxed-constexpr")),
    "a[0] = std::numeric_limits<int>::max();": (11, ("`std::numeric_limits<int>::max`",)),
}
TAKEN = ("a[0] = FOUR;", "auto f = [](int b) { return b; }; a[0] = f(1);", "a[0] = max(a[1], a[2]);",
         "a[0] = p.x;", "a[0] = std::abs(a[1]);", "a[0] = 1;  // std::max(1, 2)")  # fmt: skip


@pytest.mark.sampled(quick=6, thorough=2)
@pytest.mark.parametrize("statement", REFUSED)
def test_a_call_that_nvcc_refuses_has_a_remark_at_its_line(statement: str) -> None:
    line, named = REFUSED[statement]
    marks = compiled_marks(POINT % statement, "mine.cu", None)
    (mark,) = (mark for mark in marks if "nvcc" in mark.message)
    assert mark.line == line and mark.kind == "warning" and all(word in mark.message for word in named), mark


@pytest.mark.sampled(quick=6, thorough=2)
@pytest.mark.parametrize("statement", TAKEN)
def test_what_nvcc_takes_has_no_remark(statement: str) -> None:
    assert compiled_marks(POINT % statement, "mine.cu", None) == ()


def test_functions_of_both_sides_and_their_calls_have_no_remark() -> None:
    text = """#define BOTH __host__ __device__
struct P { float x; P() = default; BOTH P(float a) : x(a) {} BOTH float get() const { return x; } };
__host__ __device__ int larger(int a, int b) { return std::max(a, b); }
__global__ void k(float *a) { P p(a[1]); P q; q.x = 1; a[0] = p.get() + q.get() + larger(1, 2); }
"""
    assert compiled_marks(text, "mine.cu", None) == ()
