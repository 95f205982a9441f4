"""What the compiler refuses, in one sentence with the line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, STANDARD_HEADERS, compile_source, include_folders
from engine.records import CompileError, Source

BROKEN = (
    (
        'extern "C" __global__ void k(int *o) {\n  o[0] = 1;\n',
        2,
        'expected a "}" before the file ends; the { of line 1 is not closed.',
    ),
    ("\n#include <no_such_file.h>\n", 2, 'cannot open source file "no_such_file.h".'),
    ("#error not yet.\n", 1, "#error directive: not yet."),
    (
        "__global__ void k(int *o) {\n  o[threadIDx.x] = 1; }",
        2,
        'identifier "threadIDx" is undefined; perhaps `threadIdx` was meant.',
    ),
    (
        "__global__ void k(int *o) {\n  int first = 1;\n  o[0] = frist; }",
        3,
        'identifier "frist" is undefined; perhaps `first` was meant.',
    ),
    (
        "__global__ void k(int *o) {\n  __syncthread(); }",
        2,
        'identifier "__syncthread" is undefined; perhaps `__syncthreads` was meant.',
    ),
    (
        "__global__ void k(int *o) {\n  o[threadIdx.X] = 1; }",
        2,
        'class "uint3" has no member "X"; perhaps `x` was meant.',
    ),
    ("__global__ void k(int *o) {\n  o[0] = elsewhere; }", 2, 'identifier "elsewhere" is undefined.'),
    (
        "\n\n__global__ void k(int x) { __shared__ int a[x]; }",
        3,
        "expression must have a constant value; a shared array has a constant size, or it is "
        "`extern __shared__ int a[]` and the launch gives its bytes.",
    ),
)


@pytest.mark.parametrize(("text", "line", "what"), BROKEN)
def test_the_first_error_is_one_sentence_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_source(Source("mine.cu", text, "int32"), "compute_90")
    assert str(caught.value) == f"mine.cu does not compile: line {line}: {what}"
    assert caught.value.line == line and "error" in caught.value.log


def test_a_header_that_is_not_there_is_named_with_the_package_that_brings_it() -> None:
    if any((Path(folder) / "curand_kernel.h").is_file() for folder in include_folders()):
        pytest.skip("nvidia-curand is installed")
    with pytest.raises(CompileError) as caught:
        compile_source(Source("mine.cu", "#include <curand_kernel.h>\n", ""), "compute_90")
    assert str(caught.value) == (
        'mine.cu does not compile: line 1: cannot open source file "curand_kernel.h", which the Python package '
        "nvidia-curand brings (pip install nvidia-curand)."
    )


@pytest.mark.thorough
def test_the_headers_that_students_include_are_there_and_agree_with_each_other() -> None:
    lines = [
        f"#include <{name}>" for name in sorted(path.name for path in STANDARD_HEADERS.iterdir() if path.is_file())
    ]
    text = (
        "\n".join(lines)
        + """
extern "C" __global__ void f(float *out, uint64_t n, size_t m) {
  assert(n < UINT_MAX);
  int32_t k = INT_MAX;
  memcpy(out, &k, sizeof k);
  out[1] = FLT_MAX * sqrt(M_PI) + INFINITY + NAN + DBL_EPSILON;
  printf("%d", CHAR_BIT);
}"""
    )
    assert b".entry f(" in compile_source(Source("mine.cu", text, "int32"), "compute_90")


def test_the_standard_headers_stand_beside_those_of_cuda() -> None:
    text = "\n".join(f"#include <{name}>" for name in ("stdint.h", "climits", "cfloat", "cmath", "cuda/std/cstdint",
                                                       "cuda/std/climits", "cuda/std/cfloat")) + """
extern "C" __global__ void f(cuda::std::uint32_t *out, uint32_t n) { out[0] = INT_MAX + n; }"""  # fmt: skip
    assert b".entry f(" in compile_source(Source("mine.cu", text, "int32"), "compute_90")


def test_a_students_text_needs_no_header_that_nvcc_includes_by_itself() -> None:
    text = """extern "C" __global__ void f(T *out, uint n) {
  uint8_t k = n; size_t m = INT_MAX; out[0] = fmaxf(-INFINITY, FLT_MAX) + M_PI + k + m;
}"""
    assert b".entry f(" in compile_source(Source("mine.cu", text, "float32", foreign=True), "compute_90")


@pytest.mark.thorough
def test_cooperative_groups_compile_fast_and_to_the_same_code() -> None:
    text = """// what cuda calls a tile
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void f(T *out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  T sum = cg::reduce(tile, out[threadIdx.x], cg::plus<T>());
  cg::this_grid().sync();
  if (cg::coalesced_threads().thread_rank() == 0) out[0] = sum;
}
"""
    whole_library = text + "\n#include <cuda/atomic>"
    lean, full = (compile_source(Source("mine.cu", each, "float32"), "compute_90") for each in (text, whole_library))
    assert len(lean) < len(full) / 3  # what libcu++ declares is left out
    bodies = [re.findall(r"(?ms)^\.visible \.entry f\(.*?^}", ptx.decode()) for ptx in (lean, full)]
    one, other = ([line for line in body[0].splitlines() if ".loc" not in line] for body in bodies)
    assert one == other


@pytest.mark.parametrize("count", [50, pytest.param(2000, marks=(pytest.mark.release, pytest.mark.timeout(1200)))])
def test_the_compiler_outlives_files_that_fail(count: int) -> None:
    command = [sys.executable, "-m", "tests.compile.failing", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1000)
    told = re.fullmatch(rf"{count} failed, peak (\d+) MB\n", done.stdout)
    assert done.returncode == 0 and told, (done.returncode, done.stdout[-500:], done.stderr[-500:])
    assert int(told[1]) < 600  # nothing is left over from each


def test_a_name_of_the_launchs_macro_is_told():
    source = Source("mine.cu", "template <int BLOCK_SIZE> __device__ int f();", "int32", (("BLOCK_SIZE", 32),))
    with pytest.raises(CompileError, match=r"`BLOCK_SIZE` is a macro .*launch's value"):
        compile_source(source, EMULATED_ARCHITECTURE)
