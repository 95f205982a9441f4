"""A launch in words: what CUDA would write, with sizes that are computed; what cannot be launched is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engine.lab.checking import check_own
from engine.lab.kernels import kernel
from engine.lab.setups import MOST_BYTES, Right, Setup, evaluate, fit_setup, launching, propose_setup, setup_of
from engine.records import CompileError, NotRunnable
from tests.sentences import refused

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

CALL = "sum<float, 128><<<dim3(n / 16, 2), dim3(16, 16), 4 * block>>>(float32[n, n]=range, int64[3]=7, n - 1, 2.5)"


def test_words_become_a_launch_and_words_again() -> None:
    setup = setup_of(CALL, "out = matrix-product(a, b)")
    assert setup.kernel == "sum<float, 128>" and setup.right == Right("out", "matrix-product", ("a", "b"))
    assert setup.call == CALL and setup_of(setup.call, str(setup.right)) == setup
    made = launching(setup, 64)
    assert (made.grid, made.block, made.shared) == ((4, 2), (16, 16), 64)
    matrix, small, one, number = made.arguments
    assert isinstance(matrix, np.ndarray) and matrix.shape == (64, 64) and matrix.dtype == np.float32
    assert isinstance(small, np.ndarray) and small.tolist() == [7, 7, 7]
    assert (one, number) == (63, 2.5)


@pytest.mark.parametrize(
    ("words", "number"),
    [("4096", 4096), ("2^20", 1 << 20), ("4M", 1 << 22), ("(n + block - 1) / block", 8), ("n * n", 1_000_000),
     ("n % 7", 6), ("-n", -1000), ("1 << 10", 1024), ("n >> 1", 500), ("2 * 2^3", 16)],
)  # fmt: skip
def test_a_size_is_computed_as_c_computes_it(words: str, number: int) -> None:
    assert evaluate(words, {"n": 1000, "block": 128}) == number


@pytest.mark.parametrize("words", ["", "m", "n.real", "n if n else 1", "__import__('os')", "1 / 0", "2.5", "(" * 500,
                                   "n, n", "[n]", "True", "n == 1", "1 << -1", "'a' * n"])  # fmt: skip
def test_an_expression_that_is_no_whole_number_is_refused(words: str) -> None:
    with pytest.raises(NotRunnable, match="not a whole number"):
        evaluate(words, {"n": 1000})


@pytest.mark.parametrize("words", ["2^(2^40)", "n^63", "9^63 * 9^63"])
def test_a_number_that_is_too_large_is_refused_at_once(words: str) -> None:
    with pytest.raises(NotRunnable, match="too large"):
        evaluate(words, {"n": 1 << 30})


def test_a_proposed_launch_fits_the_parameters_and_keeps_given_arguments() -> None:
    text = "template <typename T> __global__ void f(const T *in, unsigned char out[], size_t n, bool all, double x) {}"
    assert propose_setup(text).arguments == ("float32[n]=random", "uint8[n]", "n", "1", "1")
    kept = Setup("f<float>", arguments=("float32[9]=ones", "uint8[9]"))
    assert fit_setup(kept, text).arguments == ("float32[9]=ones", "uint8[9]", "n", "1", "1")
    assert fit_setup(Setup("g", arguments=("1",)), text) == propose_setup(text)
    with pytest.raises(NotRunnable, match="no kernel here yet"):
        propose_setup("int main() {}")


@pytest.mark.parametrize(
    ("call", "right", "key"),
    [
        ("f(1)", "", "setup.no-launch"),
        ("f<<<1>>>()", "", "setup.launch-of-one-size"),
        ("f<<<1, 2>>>()", "y equals x", "setup.no-reference"),
        ("f<<<1, 2>>>()", "y = percentile(x)", "setup.unknown-reference"),
        ("f<<<1, 2>>>()", "y = saxpy(x)", "setup.reference-arguments"),
        ("f<<<m, 2>>>()", "", "setup.unknown-number"),
        ("f<<<1, 2>>>(float33[n])", "", "setup.no-array"),
        ("f<<<1, 2>>>(/etc/passwd.npy)", "", "setup.file-argument"),
        (f"f<<<1, 2>>>(int32[{MOST_BYTES}], 1)", "", "setup.too-large"),
    ],
)
def test_an_impossible_launch_is_refused(call: str, right: str, key: str) -> None:
    with refused(key, NotRunnable):
        launching(setup_of(call, right), 64)


def test_a_kernel_that_waits_for_the_grid_is_launched_cooperatively() -> None:
    text = """#include <cooperative_groups.h>
    __global__ void f(int *x, int *out, int n) {
        auto grid = cooperative_groups::this_grid();
        int i = grid.thread_rank();
        if (i < n) x[i] = i;
        grid.sync();
        if (i < n) out[i] = x[n - 1 - i];
    }
    __global__ void g(int *x) { x[0] = 1; }"""
    setup = propose_setup(text)
    assert setup.cooperative and not propose_setup(text, "g").cooperative
    assert setup.call.endswith(", 0, cooperative>>>(int32[n]=random, int32[n], n)")
    assert setup_of(setup.call) == setup
    assert check_own(setup, 1000, text, "mine.cu").measurement.status == "ok"
    assert check_own(replace(setup, cooperative=False), 1000, text, "mine.cu").measurement.status == "crashed"


def test_sizes_of_several_dimensions_need_no_dim3() -> None:
    tuples = setup_of("f<<<((n + 31) / 32, 2), (32, 8)>>>(float32[n]=random)")
    assert tuples == setup_of("f<<<dim3((n + 31) / 32, 2), dim3(32, 8)>>>(float32[n]=random)")
    assert setup_of("f<<<(n + 255) / (256), (256)>>>(float32[n])").grid == ("(n + 255) / (256)",)


SUM = """template <int bs> __global__ void sum(const float *in, float *out, int n) {
    __shared__ float part[bs];
    int tid = threadIdx.x, i = blockIdx.x * bs + tid;
    part[tid] = i < n ? in[i] : 0.f;
    __syncthreads();
    for (int k = bs / 2; k > 0; k >>= 1) { if (tid < k) part[tid] += part[tid + k]; __syncthreads(); }
    if (tid == 0) out[blockIdx.x] = part[0];
}
"""
HOST = "void run(float *a, float *b, int n, int t) { switch (t) {\n" + "\n".join(
    f"case {t}: sum<{t}><<<(n + t - 1) / t, t>>>(a, b, n); break;" for t in (512, 64)
)  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "text", "block"),
    [
        ("sum<512>", SUM, "512"),
        ("sum<(64)>", SUM, "64"),
        ("sum<B>", "#define B 128 // threads\n" + SUM, "128"),
        ("sum", SUM + "template __global__ void sum<32>(const float *, float *, int);", "32"),
        ("sum", SUM + HOST + "} }", "512"),
        ("sum<64>", SUM + HOST + "} }", "64"),
        ("sum<64>", SUM + "int main() { sum<512><<<8, 512>>>(a, b, 4096); }", "64"),
        ("sum", SUM + "int main() { sum<512><<<8, 512>>>(a, b, 4096); }", "512"),
        ("sum", SUM.replace("template <int bs>", "const unsigned bs = 64;"), "64"),
        ("sum", SUM.replace("template <int bs>", "").replace("bs", "512"), "512"),
        ("f", "__global__ void f(int *x, int n) { for (int i = threadIdx.x; i < n; i += 96) x[i] = i; }", "96"),
        ("f<64>", "template <int B> __global__ void f(int *x) { using R = cub::BlockReduce<int, B>; *x = 1; }", "64"),
        ("f", "__global__ void f(int *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = n; }", "256"),
        ("f", "#define B 8 * 16\n__global__ void f(int *x) { x[blockIdx.x * B + threadIdx.x] = 1; }", "256"),
        ("f<8>", "template <int S> __global__ void f() { __shared__ int t[S][S]; t[0][threadIdx.y]++; }", "8, 8"),
    ],
)  # fmt: skip
def test_a_kernel_that_is_made_for_a_block_gets_it(kernel: str, text: str, block: str) -> None:
    setup = propose_setup(text, kernel)
    assert ", ".join(setup.block) == block
    if kernel.startswith("sum"):
        setup = replace(setup, kernel=kernel if "<" in kernel else "sum")
        assert check_own(setup, 1000, text, "mine.cu", again=False).measurement.status == "ok"


@pytest.mark.parametrize("bound", ["if (i < w * h)", "if (i >= (w*h)) return;", "for (; i < h * w; i += 9999999)"])
def test_an_array_of_rows_and_columns_that_one_row_of_threads_walks_through_has_both(bound: str) -> None:
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    text = f"__global__ void f(float *x, int w, int h) {{ {index} {bound} x[i] = 1; }}"
    setup = propose_setup(text)
    assert setup.call == "f<<<(n * n + block - 1) / block, 256>>>(float32[n, n], n, n)"
    assert check_own(setup, 100, text, "mine.cu", again=False).measurement.status == "ok"


LONG = "A" * 5000


@pytest.mark.parametrize("said", [
    lambda: kernel(SUM, LONG), lambda: kernel(f"__global__ void {LONG}(int *a) {{ a[0] = 1; }}", "z"),
    lambda: kernel(f'#include "{LONG}.h"\n__global__ void k(int *a) {{ a[0] = Q; }}'),
    lambda: kernel(f"#ifdef {LONG}\n__global__ void k(int *a) {{ a[0] = 1; }}\n#endif"),
    lambda: setup_of(f"k<<<{LONG}"), lambda: setup_of("k<<<1, 1>>>(1)", LONG),
    lambda: launching(setup_of(f"k<<<1, 1>>>({LONG})"), 64),
    lambda: launching(setup_of(f"k<<<1, 1>>>(int32[n]={LONG})"), 64),
])  # fmt: skip
def test_a_refusal_shows_only_the_beginning_of_a_long_word(said: Callable[[], object]) -> None:
    with pytest.raises((NotRunnable, CompileError)) as refusal:
        said()
    assert len(str(refusal.value)) < 400 and "A" * 30 in str(refusal.value) and "…" in str(refusal.value)


@pytest.mark.parametrize("length", ["9" * 5000, "²", "N", ""])
def test_a_field_whose_length_is_no_number_is_proposed_all_the_same(length: str) -> None:
    text = f"struct S {{ int a[{length}]; }};\n__global__ void k(S *x) {{ x[0].a[0] = 1; }}"
    assert propose_setup(text).kernel == "k"


def test_a_grid_that_divides_by_0_at_a_large_n_is_proposed_and_refused_there() -> None:
    text = """__global__ void k(float *a, int n) { a[threadIdx.x] = n; }
void run(float *a, int n) { int per = (n + 7) / 8; int rows = 256 / per; k<<<(n + rows - 1) / rows, 256>>>(a, n); }
"""
    setup = propose_setup(text)
    assert launching(setup, 1024).grid == (512,)
    with refused("lab.divides-by-0", NotRunnable):
        launching(setup, 4096)
