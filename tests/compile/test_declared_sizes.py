"""How large an element of a declared array is, as the source has it."""

from __future__ import annotations

import pytest

from engine.compile.element_sizes import element_bytes
from engine.records import Source

TEXT = """struct P { float x, y, z; };
template <typename A> struct Pair { A one; A two; };
__constant__ P table[7];
static __device__ volatile unsigned short small[3];
extern "C" __global__ void f(T *out) {
  extern __shared__ double4 sized[];
  __shared__ __align__(16) Pair<double> pairs[4][5];
  __shared__ T tile[32];
  struct Mine { char c; } mine[2];
  Mine inner[3]; unsigned long long wide[2];
  out[0] = tile[3];
}
__device__ void g() { int twice[3]; }
__device__ void h() { char twice[3]; }
"""
SIZES = {"table": 12, "small": 2, "sized": 32, "pairs": 16, "tile": 8, "wide": 8}


@pytest.mark.parametrize("name", SIZES)
def test_the_compiler_tells_an_element_s_size(name: str) -> None:
    assert element_bytes(Source("mine.cu", TEXT, "float64"), name) == SIZES[name]


@pytest.mark.parametrize("name", ["twice", "inner", "out", "nowhere"])
def test_details_that_the_file_lacks_are_not_guessed(name: str) -> None:
    assert element_bytes(Source("mine.cu", TEXT, "float64"), name) is None
