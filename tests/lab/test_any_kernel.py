"""`engine.kernel(...).run(...)`: any kernel, with NumPy arrays, as CuPy's RawKernel would take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.lab import arguments as lab_arguments
from engine.lab.kernels import KernelRun
from engine.records import Array, CompileError, NotRunnable, RunFailed
from tests.sentences import refused, sentence

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

SAXPY = """#include <iostream>
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
int main() { saxpy<<<1, 2>>>(1, 0, 0, 3); std::cout << "done"; }
"""
SUM = """template <typename A, int SIZE> __global__ void sum(const A *in, A *out) {
    __shared__ A s[SIZE];
    s[threadIdx.x] = in[blockIdx.x * SIZE + threadIdx.x];
    for (int k = SIZE / 2; k; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
"""


def test_saxpy_from_a_text() -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    run = engine.kernel(SAXPY, "saxpy").run((4,), (256,), (2.0, x, y, 1000))
    assert np.array_equal(run.arrays["y"], 2 * x + 1) and (y == 1).all()  # what is passed is not changed
    assert run.findings == () and run.printed == () and run.ok
    assert run.counters["global_load_requests"] == 2 * 32
    assert {line.line for line in run.lines} <= {2, 3, 4, 5} and run.lines[-2].text.strip().startswith("if (i < n)")
    assert "saxpy" in run._repr_html_() and "&lt;iostream&gt;" in run._repr_html_()


def test_a_kernel_from_a_file_needs_no_name_if_it_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(SAXPY)
    kernel = engine.kernel(tmp_path / "mine.cu")
    assert (kernel.name, kernel.source.name) == ("saxpy", "mine.cu")
    with pytest.raises(RunFailed, match=r"mine.cu, line 4: thread 10 of block 0 reads element 10 of `y`, which has 10"):
        kernel.run(1, 32, (1, np.zeros(32, np.float32), np.zeros(10, np.float32), 32))
    with pytest.raises(RunFailed, match="element 10 of `h_y`"):
        kernel.run(1, 32, (1, np.zeros(32, "f4"), np.zeros(10, "f4"), 32), names=("a", "h_x", "h_y", "n"))


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
                                  "float64", "bool"])  # fmt: skip
def test_every_type_of_numpy(kind: str) -> None:
    c_type = {"float32": "float", "float64": "double", "bool": "bool"}.get(kind, f"{kind}_t")
    text = f"__global__ void add({c_type} *a, {c_type} by) {{ a[threadIdx.x] += by; }}"
    start = np.array([0, 1] * 16).astype(kind)
    one = np.dtype(kind).type(1)
    for passed in (one, bool(one) if kind == "bool" else 1):
        run = engine.kernel(text).run(1, 32, (start, passed))
        assert run.arrays["a"].dtype == start.dtype and np.array_equal(run.arrays["a"], start + one)


def test_half_and_structs() -> None:
    half = "#include <cuda_fp16.h>\n__global__ void twice(__half *a, __half by) { a[threadIdx.x] *= by; }"
    a = np.arange(32, dtype=np.float16)
    for by in (2, 2.0, np.float16(2)):
        assert np.array_equal(engine.kernel(half).run(1, 32, (a, by)).arrays["a"], a * 2)
    body = np.dtype([("place", "f4", 3), ("charge", "i1")], align=True)
    text = """struct Body { float place[3]; char charge; };
__global__ void move(Body *all, Body by) { all[threadIdx.x].place[1] += by.place[1]; all[threadIdx.x].charge = 1; }"""
    by = np.zeros((), body)
    by["place"] = (0, 5, 0)
    made = engine.kernel(text).run(1, 4, (np.zeros(4, body), by[()])).arrays["all"]
    assert made.dtype == body and (made["place"] == (0, 5, 0)).all() and (made["charge"] == 1).all()


def test_templates_by_their_arguments() -> None:
    numbers = np.arange(256, dtype=np.float64)
    run = engine.kernel(SUM, "sum<double, 128>").run(2, 128, (numbers, np.zeros(2)))
    assert run.arrays["out"].tolist() == [numbers[:128].sum(), numbers[128:].sum()]
    with refused("kernel.template", NotRunnable):
        engine.kernel(SUM, "sum")
    nested = "namespace own { __global__ void f(int *a) { a[0] = 3; } }"
    assert engine.kernel(nested, "own::f").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [3]


def test_variables_of_the_module() -> None:
    text = """__constant__ float weights[2]; __device__ int counter; __device__ double4 untouched[3];
__global__ void f(float *a) { a[threadIdx.x] *= weights[threadIdx.x % 2]; atomicAdd(&counter, 1); }"""
    values: dict[str, Any] = {"weights": np.float32([2, 3]), "counter": np.int32([10])}
    run = engine.kernel(text).run(2, 4, (np.ones(4, np.float32),), symbols=values)
    assert run.arrays["a"].tolist() == [4, 9, 4, 9] and run.symbols["counter"].tolist() == [18]
    assert set(run.symbols) <= {"weights", "counter", "untouched"} and values["counter"].tolist() == [10]
    with refused("kernel.no-variable", NotRunnable):
        engine.kernel(text).run(1, 1, (np.ones(1, np.float32),), symbols={"wieghts": np.zeros(2)})
    with refused("kernel.variable-size", NotRunnable):
        engine.kernel(text).run(1, 1, (np.ones(1, np.float32),), symbols={"weights": np.zeros(2)})


def test_shared_memory_cooperation_schedules_and_printf() -> None:
    text = """#include <cooperative_groups.h>
__global__ void f(int *a) {
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    a[blockIdx.x] = s[threadIdx.x];
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 1) printf("%d\\n", a[0] + 1);
}"""
    run = engine.kernel(text).run((2, 1, 1), (1, 1), (np.zeros(2, np.int32),), shared=4, cooperative=True)
    assert run.printed == ("1",) and run.ok
    race = "__global__ void f(int *a) { a[0] = a[0] + 1; }"
    answers = [
        engine.kernel(race).run(4, 32, (np.zeros(1, np.int32),), schedule=order)
        for order in ("waves:1", "waves:2", "waves:4")
    ]
    assert [run.arrays["a"].tolist() for run in answers] == [[4], [2], [1]]
    assert {finding.kind for run in answers for finding in run.findings} == {"global-race"}


def test_an_array_may_be_passed_twice_and_results_passed_on() -> None:
    text = "__global__ void f(int *a, const int *b) { a[threadIdx.x] += b[threadIdx.x]; }"
    kernel, a = engine.kernel(text), np.arange(8, dtype=np.int32).reshape(2, 4)
    run: KernelRun = kernel.run(1, 8, (a, a))
    assert list(run.arrays) == ["a"] and np.array_equal(run.arrays["a"], 2 * a)
    again = kernel.run(1, 8, (run.arrays["a"], a[:, ::-1]))  # in the order in which a reader of it counts
    assert np.array_equal(again.arrays["a"], 2 * a + a[:, ::-1]) and np.array_equal(again.arrays["b"], a[:, ::-1])
    with refused("kernel.overlapping-arrays", NotRunnable):
        kernel.run(1, 4, (a[0], a))


@pytest.mark.parametrize(
    ("arguments", "key"),
    [((1.0, None, None), "kernel.argument-count"),
     ((1.0, None, 2.5, 3), "kernel.pointer-gets-fraction"),
     ((np.float64(1), None, None, 3), "kernel.float-gets-float64"),
     ((np.int32(1), None, None, 3), "kernel.float-gets-int32"),
     ((1.0, None, None, 1 << 32), "kernel.number-too-large"),
     ((np.zeros(3), None, None, 3), "kernel.float-gets-array"),
     ((1.0, None, "y", 3), "kernel.pointer-gets-text"), ((1e300, None, None, 3), "kernel.float-too-large"),
     ((1.0, np.array([None]), None, 3), "kernel.array-of-objects")],
)  # fmt: skip
def test_a_wrong_argument_is_refused_by_the_name_of_its_parameter(arguments: tuple[Any, ...], key: str) -> None:
    with refused(key, NotRunnable):
        engine.kernel(SAXPY).run(1, 1, arguments)


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(
    ("grid", "block", "key"),
    [((1,), (2048,), "kernel.block-too-large"),
     ((1, 1, 1, 1), 1, "kernel.grid-of-four"),
     (1, "x", "kernel.block-of-text"), (0, 1, "kernel.grid-of-none"), (1.5, 1, "kernel.grid-of-fraction")],
)  # fmt: skip
def test_sizes_that_no_gpu_takes_are_refused(grid: Any, block: Any, key: str) -> None:
    with refused(key, NotRunnable):
        engine.kernel("namespace own { __global__ void f() {} }", "own::f").run(grid, block)
    with refused("kernel.template-block-too-large", NotRunnable):
        engine.kernel(SUM, "sum<int, 32>").run(1, 2048, (None, None))


def test_a_text_without_the_kernel_is_refused() -> None:
    for text, name, key in (
        ("int main() {}", None, "kernel.none-in-file"),
        (SAXPY, "saxpi", "kernel.no-such-name"),
        (SAXPY + SUM, None, "kernel.several"),
    ):
        with refused(key, NotRunnable):
            engine.kernel(text, name)
    with refused("kernel.no-file", NotRunnable):
        engine.kernel("nowhere.cu")
    with pytest.raises(CompileError, match=r"kernel.cu does not compile: line 2: "):
        engine.kernel("__global__ void f(int *a) {\n a[0] = b;\n}")
    with refused("kernel.foreign-header", CompileError):
        engine.kernel("#include </etc/passwd>\n" + SAXPY)


def test_an_instruction_that_is_not_emulated_is_refused() -> None:
    text = """__global__ void k(int *a) {
  a[0] = surf1Dread<int>((cudaSurfaceObject_t)a[1], a[2]); }"""
    with pytest.raises(RunFailed, match=r"kernel.cu, line 2: "):
        engine.kernel(text).run(1, 1, (np.zeros(1, np.int32),))


class OnAGpu:
    """What CuPy's arrays have."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}

    def get(self) -> Array:
        return self._array.copy()


def test_an_array_of_a_gpu_is_handed_over_by_its_contents() -> None:
    kernel, x = engine.kernel(SAXPY), np.arange(8, dtype=np.float32)
    theirs = OnAGpu(x)
    handed = lab_arguments.convert_arguments("saxpy", kernel.parameters, (2, theirs, theirs, 8), ("a", "x", "y", "n"))
    assert handed.values[1:3] == ("x", "x") and list(handed.arrays) == ["x"]
    assert np.array_equal(handed.arrays["x"], x) and handed.arrays["x"] is not x


def test_a_missing_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.lab.kernels.gpus", tuple)
    kernel, arguments = engine.kernel(SAXPY), (2, np.zeros(8, "f4"), np.zeros(8, "f4"), 8)
    with pytest.raises(NotRunnable, match="no GPU"):
        kernel.run(1, 32, arguments, device="gpu")
    with pytest.raises(NotRunnable, match="no GPU"):
        kernel.time(1, 32, arguments)
    with pytest.raises(NotRunnable, match="no device 'tpu'"):
        kernel.run(1, 32, arguments, device="tpu")


def test_a_surface_is_the_matter_of_the_kernels_that_use_it() -> None:
    text = """__device__ __noinline__ int at(cudaSurfaceObject_t map, int x) { return surf1Dread<int>(map, x); }
__global__ void plain(int *out) { out[threadIdx.x] = 7 * threadIdx.x; }
__global__ void direct(int *out, cudaSurfaceObject_t source) {
  out[threadIdx.x] = surf2Dread<int>(source, 4, 2);
}
__global__ void called(int *out, cudaSurfaceObject_t source) { out[threadIdx.x] = at(source, threadIdx.x); }
"""
    run = engine.kernel(text, "plain").run(1, 32, (np.zeros(32, "i4"),))
    assert run.arrays["out"].tolist() == [7 * t for t in range(32)]
    for name, line in (("direct", 4), ("called", 1)):
        with pytest.raises(RunFailed, match=f"line {line}: a surface, [^\n]* is not emulated; run it"):
            engine.kernel(text, name).run(1, 32, (np.zeros(32, "i4"), 0))


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        (SAXPY.replace("done", "größer\u2019").encode("cp1252"), "kernel.read-as-windows"),
        (b"\xff\xfe" + SAXPY.encode("utf-16-le"), "kernel.read-as-utf-16"),
        (b"\xef\xbb\xbf" + SAXPY.replace("\n", "\r\n").encode(), "kernel.read-with-mark"),
        (SAXPY.replace("done", "größer").encode(), None),
    ],
)
def test_files_of_windows_are_read_with_a_word_about_it(tmp_path: Path, raw: bytes, key: str | None) -> None:
    (tmp_path / "mine.cu").write_bytes(raw)
    kernel = engine.kernel(tmp_path / "mine.cu")
    assert kernel.text.splitlines()[2].endswith("+ threadIdx.x;") and "\r" not in kernel.text
    assert len(kernel.warnings) == (key is not None)
    if key:
        assert sentence(key, kernel.warnings[0])
    (tmp_path / "none.cu").write_bytes(b"\x81\x8d" + raw)
    with refused("kernel.no-text", NotRunnable):
        engine.kernel(tmp_path / "none.cu")


def test_the_operators_of_the_samples_vectors_are_right() -> None:
    text = """#include <helper_math.h>
__global__ void k(float3 *v, float *s, int4 *w) {
  float3 a = v[0], b = v[1];
  v[2] = cross(a, b); v[3] = normalize(a); v[4] = lerp(a, b, 0.25f); v[5] = 2 * a - b / 4 + 1.f; v[6] = reflect(a, b);
  v[7] = clamp(a, 0.5f, 1.5f); v[8] = fmaxf(a, b) * make_float3(make_int3(1, 2, 3)); v[9] = fracf(-a);
  s[0] = dot(a, b); s[1] = length(b); s[2] = smoothstep(0.f, 2.f, 0.5f); s[3] = dot(make_float4(a, 2), make_float4(b));
  w[1] = min(w[0] * 3 - 7, make_int4(5)); w[1] += -w[0];
}
"""
    a, b, w = np.array([1.25, -2, 0.5], "f4"), np.array([3, 0.75, -1], "f4"), np.array([1, 2, 3, 4], "i4")
    vectors, whole = np.zeros((10, 3), "f4"), np.zeros((2, 4), "i4")
    vectors[:2], whole[0] = (a, b), w
    made = engine.kernel(text).run(1, 1, (vectors, np.zeros(4, "f4"), whole)).arrays
    right = [np.cross(a, b), a / np.sqrt(a @ a), a + (b - a) / 4, 2 * a - b / 4 + 1, a - 2 * b * (a @ b),
             np.clip(a, 0.5, 1.5), np.maximum(a, b) * [1, 2, 3], -a - np.floor(-a)]  # fmt: skip
    assert np.allclose(made["v"][2:], right, rtol=1e-6) and (made["w"][1] == np.minimum(3 * w - 7, 5) - w).all()
    assert np.allclose(made["s"], [a @ b, np.sqrt(b @ b), 0.15625, a @ b], rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "fits", "others"),
    [("float", ("float32", "complex64"), ("float64", "int32", "uint8")),
     ("int", ("int32", "uint32"), ("int64", "float32")),
     ("unsigned char", ("uint8", "int8", "bool"), ("int32",)), ("double", ("float64",), ("float32",)),
     ("__half", ("float16", "uint16"), ("float32", "int16")), ("float4", ("float32",), ("float64",)),
     ("void", ("float64", "int8"), ())],
)  # fmt: skip
def test_an_array_of_another_type_is_refused(kind: str, fits: tuple[str, ...], others: tuple[str, ...]) -> None:
    text = f"#include <cuda_fp16.h>\n__global__ void k({kind} *data) {{ }}\n"
    made = engine.kernel(text)
    for each in fits:
        made.run(1, 1, (np.zeros(8, each),))
    for each in others:
        with pytest.raises(NotRunnable, match=f"`data` of k .* array of {each} is passed"):
            made.run(1, 1, (np.zeros(8, each),))


def test_the_type_of_a_template_and_of_a_field_is_checked_too() -> None:
    text = """struct Pair { float *in; int n; };
template <typename A> __global__ void k(const A *a, Pair p) { p.in[0] = a[0]; }
"""
    made, right = engine.kernel(text, "k<double>"), np.zeros(4, np.float32)
    assert made.run(1, 1, (np.ones(1), (right, 4))).arrays["p.in"][0] == 1
    with refused("kernel.array-of-another-type", NotRunnable):
        made.run(1, 1, (right, (right, 4)))
    with refused("kernel.field-of-another-type", NotRunnable):
        made.run(1, 1, (np.ones(1), (np.zeros(4), 4)))


def test_a_block_with_too_much_memory_is_told_by_the_kernel_s_own_name() -> None:
    text = "__global__ void sums(float *a) { extern __shared__ float s[]; s[threadIdx.x] = 1; a[0] = s[0]; }\n"
    with refused("any.too-much-shared", RunFailed):
        engine.kernel(text).run(1, 32, (np.zeros(1, np.float32),), shared=1 << 20)
