"""How large an element of a declared array is, as the source has it."""

from __future__ import annotations

import pytest

from engine.compile import element_sizes
from engine.compile.element_sizes import element_bytes
from engine.compile.nvrtc import Compiled, compile_here
from engine.records import Source

TEXT = """struct P { float x, y, z; };
template <typename A> struct Pair { A one; A two; };
__constant__ P table[7];
static __device__ volatile unsigned short small[3];
__device__ int came, count = 2, parts[8], more[2][4];
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
SIZES = {"table": 12, "small": 2, "sized": 32, "pairs": 16, "tile": 8, "wide": 8, "parts": 4, "more": 4}


@pytest.mark.parametrize("name", SIZES)
def test_the_compiler_tells_an_element_s_size(name: str) -> None:
    assert element_bytes(Source("mine.cu", TEXT, "float64"), name) == SIZES[name]


@pytest.mark.parametrize("name", ["twice", "inner", "out", "nowhere"])
def test_details_that_the_file_lacks_are_not_guessed(name: str) -> None:
    assert element_bytes(Source("mine.cu", TEXT, "float64"), name) is None


def test_the_types_of_many_arrays_are_asked_for_in_one_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Source] = []

    def counted(source: Source, architecture: str) -> Compiled:
        asked.append(source)
        return compile_here(source, architecture)

    monkeypatch.setattr(element_sizes, "compile_here", counted)
    kinds = ("float", "double", "short", "P")
    text = "struct P { float x, y, z; };\n" + "".join(f"__device__ {kinds[at % 4]} g{at}[9];\n" for at in range(400))
    assert [element_bytes(Source("many.cu", text, "float64"), f"g{at}") for at in range(400)] == [4, 8, 2, 12] * 100
    assert len(asked) == 1
    own = "__global__ void k() { struct Q { int a; }; __shared__ Q q[3]; }\n"
    assert element_bytes(Source("own.cu", text + own, "float64"), "g7") == 12
    assert element_bytes(Source("own.cu", text + own, "float64"), "q") is None
    assert len(asked) == 1 + 1 + len(kinds) + 1
