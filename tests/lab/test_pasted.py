"""Files as they were written for nvcc: the host's part goes, lines keep their numbers, and what is wrong is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.compile import nvrtc
from engine.compile.limits import CPU_S, HURRIED_S, TookTooLong
from engine.lab import compilation
from engine.lab.compilation import compiled_in_full
from engine.lab.marks import CompilerWarning
from engine.lab.pasted_source import compiled_for_device, device_part, warnings_of
from engine.lab.signatures import kernels_in
from engine.lab.top_level import declarations
from engine.records import CompileError
from tests.sentences import refused, says, sentence

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"
# Each compiles, with a kernel k.
FILES = {
    "host headers and main": "#include <iostream>\n#include <cuda_runtime.h>\n#include <thrust/host_vector.h>\n"
    + KERNEL + 'int main(int argc, char **argv) { std::cout << "}" << \'}\'; return 0; }\n',
    "a check macro": "#define CHECK(x) { if (x != cudaSuccess) exit(1); }\n" + KERNEL
    + "void f() { CHECK(cudaFree(0)) }\n",
    "host templates": "#include <vector>\ntemplate <typename A>\nA total(const std::vector<A> &v) { A s{}; "
    "for (auto x : v) s += x; return s; }\n" + KERNEL,
    "host globals": "static std::vector<int> all = {1, 2, 3};\nstd::map<int, int> table;\nint *p;\n" + KERNEL,
    "a host class between": "class Timer { std::chrono::time_point<int> t; public: void start() {} };\n" + KERNEL,
    "a struct with functions": "struct P { float x; P(float x) : x(x) {} float twice() const { return 2 * x; } };\n"
    "__global__ void k(int *a) { a[0] = P(3).twice(); }\n",
    "a device function after its use": "__device__ int f(int);\n" + KERNEL + "__device__ int f(int x) { return x; }\n",
    "both sides": "__host__ __device__ int f(int x) { return x + 1; }\n__global__ void k(int *a) { a[0] = f(2); }\n",
    "the host's only": "__host__ int f(int x) { std::string s; return x; }\n" + KERNEL,
    "constants": "const int N = 4;\nconstexpr float HALF = 0.5f;\nenum { SIZE = 3 };\n#define TILE 16\n"
    "__global__ void k(int *a) { __shared__ int s[N + SIZE + TILE]; s[0] = HALF; a[0] = s[0]; }\n",
    "nvcc's own types": "__global__ void k(uint *a, uint8_t b, int64_t c, ushort d) "
    "{ a[0] = b + c + d - ssize_t(d) + u_int(c); a[1] = INFINITY > 1; }\n",
    "a namespace": "namespace own {\nvoid host() { std::abort(); }\n__device__ int f() { return 1; }\n}\n"
    "using namespace std;\n__global__ void k(int *a) { a[0] = own::f(); }\n",
    "an extern block": 'extern "C" {\n' + KERNEL + "int main() { return printf(); }\n}\n",
    "aligned types": "typedef struct __align__(8) { float x, y; } Pair;\nstruct alignas(16) Four { Pair a, b; };\n"
    "struct Four *make(int n) { return new Four[n]; }\n"
    "template <class A> __global__ void t(A *a) { a[0].x = 1; }\n__global__ void k(Pair *a, Four b) { a[0] = b.b; }\n",
    "own pi": "#define M_PI 3.14159265f\n__global__ void k(int *a) { a[0] = M_PI * 2; }\n",
    "an alias": "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
    "__global__ void k(int *a) { cg::this_thread_block().sync(); a[0] = 1; }\n",
    "libraries of the host": "#include <thrust/sort.h>\n#include <cub/cub.cuh>\n" + KERNEL
    + "void f() { thrust::sort(a, b); }\n",
    "CUB in a kernel": "#include <cub/cub.cuh>\n"
    "__global__ void k(int *a) { using Sum = cub::BlockReduce<int, 64>; "
    "__shared__ Sum::TempStorage s; int x = Sum(s).Sum(a[threadIdx.x]); if (threadIdx.x == 0) a[0] = x; }\n",
    "a raw string": 'const char *source = R"(__global__ { )";\nint main() { puts(source); }\n' + KERNEL,
    "numbers with quotes": "int big = 1'000'000; int main() { char c = '\\''; return c; }\n" + KERNEL,
    "directives inside main": "int main() {\n#ifdef DEBUG\n  if (1) {\n#else\n  {\n#endif\n  }\n}\n" + KERNEL,
    "an operator of the host": "std::ostream &operator<<(std::ostream &o, int3 v) { return o << v.x; }\n" + KERNEL,
    "launch bounds": "__global__ __launch_bounds__(256, 2) void k(int *__restrict__ a) { a[0] = 1; }\nint main() { }\n",
    "a lambda": "auto f = [](int x) { return x; };\nstd::function<int(int)> g = [](int x) { return x; };\n" + KERNEL,
    "a class with functions of the host's": "class Managed {\npublic:\n  void *operator new(size_t n) {\n"
    "    void *p; cudaMallocManaged(&p, n); return p;\n  }\n  ~Managed() {\n    cudaFree(this);\n  }\n"
    "  __device__ int half() { return value / 2; }\n  int value;\n};\n"
    "__global__ void k(Managed *a) { a->value = a->half(); }\n",
    "what nvcc knows": "#ifndef __linux__\n#error unsupported\n#endif\n"
    "__global__ void k(int *a) {\n  register int x = 3;\n  a[0] = x;\n}\n",
    "vectors as in the samples": '#include <helper_cuda.h>\n#include "helper_math.h"\n'
    "__global__ void k(float3 *a, uint2 *b, cudaTextureObject_t, CUtexObject) {\n"
    "  float3 x = normalize(cross(a[0], make_float3(1.f))) * 2 + 0.5f * lerp(a[0], a[1], 0.25f);\n"
    "  x -= clamp(x, 0.f, 1.f); b[0] = b[1] * 3u + make_uint2(2); a[0] = -x / length(x); a[1].x = dot(x, x);\n}\n",
    "cuFFT's numbers": "#include <cufftXt.h>\nvoid f(cudaLibXtDesc *);\n"
    "__global__ void k(cufftComplex *a, cufftDoubleReal b) { a[0].x = b; }\n",
    "macros for what is the device's": "#define HD __host__ __device__\n#define KERNEL __global__\n"
    "HD inline int f(int x) { return x + 1; }\nKERNEL void k(int *a) { a[0] = f(2); }\n",
    "defaults of a template": "template <int N = 4, class A = int>\n__device__ A f() { return N; }\n"
    "template <typename A = float>\nvoid host(std::vector<A> v) { }\n__global__ void k(int *a) { a[0] = f(); }\n",
    "what is constant of the C++ library": "#include <limits>\n#include <cmath>\n"
    "const float LEAST = -std::numeric_limits<float>::infinity();\n"
    "__global__ void k(float *a) { a[0] = std::isnan(a[1]) ? LEAST : std::exp(std::abs(a[1])); }\n",
    "halves whose header a library brings": "#include <torch/extension.h>\n"
    "__global__ void k(half *a) { a[0] = __hadd(a[0], __float2half(1)); }\n",
    "algorithms of the host's": "#include <thrust/device_vector.h>\n#include <thrust/sort.h>\n"
    "struct Less { __host__ __device__ bool operator()(int a) { return thrust::seq, a < 1; } };\n" + KERNEL,
    "a function's default": "void f(int a = (3), std::string s = \"};\") {}\n" + KERNEL,
}  # fmt: skip


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize("name", FILES)
def test_a_pasted_file_compiles_as_it_is(name: str) -> None:
    part = compiled_for_device("pasted.cu", FILES[name], ("k",))
    source, made = part.source, part.compiled
    assert source.text.count("\n") == FILES[name].count("\n") and b".entry" in made.ptx
    for before, after in zip(FILES[name].splitlines(), source.text.splitlines(), strict=True):
        assert len(before) == len(after) and all(new in (old, " ") for old, new in zip(before, after, strict=True))


def test_errors_of_the_kernel_are_reported_and_errors_of_the_host_are_not() -> None:
    text = FILES["a host class between"].replace("a[0] = 1", "a[0] =\n b") + "struct Other { std::string s; };\n"
    with pytest.raises(CompileError, match='line 3: identifier "b" is undefined'):
        compiled_for_device("pasted.cu", text)


def test_the_first_error_is_the_cause_of_the_others() -> None:
    with refused("pasted.undefined", CompileError):
        compiled_for_device("pasted.cu", "__global__ void k(Node *a) { a[0] = 1; }\n")
    with refused("pasted.since-volta", CompileError):
        compiled_for_device("pasted.cu", "__global__ void k(int *a) { a[0] = __shfl_xor(a[0], 1); }\n")
    with refused("pasted.launches-kernels", CompileError):
        compiled_for_device("pasted.cu", "__global__ void k(int *a) { k<<<1, 1>>>(a); }\n")


def test_a_library_that_is_not_here_is_named_where_a_kernel_needs_it() -> None:
    text = "#include <cute/tensor.hpp>\n__global__ void k(int *a) { a[0] = cute::one; }\n"
    with refused("pasted.no-library", CompileError):
        compiled_for_device("pasted.cu", text)


HOST_ONLY = {
    "std::vector<int> v; int n": ("vector", ""), "vector<int> v; int n": ("vector", "using namespace std;"),
    "std::unordered_map<int, int> *v; int n": ("unordered_map", ""),
    "string s; int n": ("string", "using namespace std;"),
    "int n; std::mutex m": ("mutex", ""),
    "std::min<int> v; int n": (None, ""), "Node<int> v; int n": (None, "using namespace std;"),
}  # fmt: skip


@pytest.mark.parametrize("members", HOST_ONLY)
def test_a_struct_of_the_hosts_library_is_refused_with_what_to_pass(members: str) -> None:
    named, using = HOST_ONLY[members]
    text = f"{using}\nstruct P {{ {members}; }};\n__global__ void k(P p, int *a) {{ a[0] = p.n; }}\n"
    with pytest.raises(CompileError, match="line 2: ") as caught:
        compiled_for_device("pasted.cu", text)
    assert ("library" in str(caught.value)) == (named is not None)
    assert named is None or f" `{named}` " in str(caught.value)
    if members.startswith("std::vector"):
        assert says("pasted.host-library", str(caught.value))


def test_only_kernels_that_cannot_be_compiled_are_refused() -> None:
    text = """texture<float, 1> table;
__global__ void child(int *a) { a[0] = 1; }
__device__ void launch(int *a);
__device__ void launch(int *a) { child<<<1, 1>>>(a); }
__global__ void parent(int *a) { launch(a); }
__global__ void waits(int *a) { cudaDeviceSynchronize(); }
namespace own { __global__ void reads(float *a) { a[0] = tex1Dfetch(table, 1); } }
"""
    made = compiled_in_full("pasted.cu", text, None, True)[0]
    assert [one.name for one in made.kernels] == ["child"]
    said = dict(made.refused)
    assert "line 4: " in said["parent"] and says("pasted.refused-launching", said["parent"])
    assert "line 6: " in said["waits"] and says("pasted.refused-runtime", said["waits"])
    assert "line 7: " in said["own::reads"] and says("pasted.refused-texture", said["own::reads"])
    with pytest.raises(CompileError, match="line 6: "):
        engine.kernel(text, "waits")
    assert engine.kernel(text, "child").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [1]


def test_a_file_is_compiled_with_the_instances_that_it_launches() -> None:
    text = """template <class A, int N> __global__ void sum(A *a) { a[0] = N; }
template <int N> __global__ void other(int *a) { a[0] = Missing<N>::value; }
namespace own { __global__ void plain(int *a) { a[0] = 1; } }
int main() { const int n = 8; sum<double, n><<<1, 1>>>(a); other<n><<<1, 1>>>(a); }
"""
    made = compiled_in_full("pasted.cu", text.replace("Missing<N>::value", "N"), None, True)[0]
    assert [one.name for one in made.kernels] == ["sum<double, (8)>", "other<(8)>", "plain"] and not made.left_out
    made = compiled_in_full("pasted.cu", text, None, True)[0]
    assert [one.name for one in made.kernels] == ["sum<double, (8)>", "plain"]
    assert made.refused[0][0] == "other<(8)>" and "line 2: " in made.refused[0][1]
    assert engine.kernel(text.replace("Missing<N>::value", "N"), "sum").name == "sum<double, (8)>"


def test_a_class_whose_shape_a_function_is_part_of_goes_whole() -> None:
    text = "struct P {\n  virtual void f() { std::string s; }\n  int x;\n};\n__global__ void k(P *a) { a[0].x = 1; }\n"
    with pytest.raises(CompileError, match="line 2: "):
        compiled_for_device("pasted.cu", text)


def test_a_word_that_is_glued_to_extern_c_is_a_word() -> None:
    part = compiled_for_device("pasted.cu", 'extern "C"__global__\nvoid k(int *a) { a[0] = 1; }\n', ("k",))
    source, made = part.source, part.compiled
    assert b".entry k(" in made.ptx and source.text.count("\n") == 2


@pytest.mark.thorough
def test_a_large_module_is_not_assembled(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "#include <mma.h>\n__global__ void k(float *a) { __shared__ float s[32]; s[0] = a[0]; a[1] = s[0]; }\n"
    assert compiled_for_device("pasted.cu", text, ("k",)).compiled.cubin
    monkeypatch.setattr(nvrtc, "ASSEMBLED_BYTES", 100)
    made = compiled_for_device("pasted.cu", text, ("k",)).compiled
    assert not made.cubin and made.ptx
    kernel, values = engine.kernel(text, "k"), np.arange(2, dtype="f4")
    assert kernel.run(1, 1, (values,)).arrays["a"].tolist() == [0, 0]


def test_a_missing_type_is_reported_as_the_cause() -> None:
    text = "struct P {\n  std::string s;\n};\n__global__ void k(P *a) { a[0].s = 1; }\n"
    with pytest.raises(CompileError, match="line 2: "):
        compiled_for_device("pasted.cu", text)


def test_warnings_of_the_device_s_functions_are_sentences() -> None:
    text = "const int UNUSED = 3;\n__global__ void k(int *a) {\n  int idle;\n  a[0] = 1;\n}\n"
    part = compiled_for_device("pasted.cu", text)
    source, made = part.source, part.compiled
    assert warnings_of(source, made.warnings) == (
        CompilerWarning('variable "idle" was declared but never referenced.', 3),
    )


def test_kernels_and_the_names_of_their_parameters() -> None:
    text = """// __global__ void no(int a);
template <class A, int N = (3 > 2)> __global__ void one(const A *__restrict__ x, A (&y)[N], int n = 3);
template <class A, int N> __global__ void one(const A *x, A (&y)[N], int n) { }
extern "C" __global__ void __launch_bounds__(64) two(void) {}
static __global__ void three(float a[], unsigned long long /* the last */ last) {}
"""
    found = kernels_in(text)
    assert {name: one.parameters for name, one in found.items()} == {
        "one": ("x", "y", "n"), "two": (), "three": ("a", "last"),
    }  # fmt: skip
    assert [one.template for one in found.values()] == [("class A", "int N = (3 > 2)"), (), ()]


def test_any_text_is_cut_without_an_error() -> None:
    pieces = [
        "{",
        "}",
        "(",
        ")",
        ";",
        '"',
        "'",
        "/*",
        "*/",
        "//",
        "\n",
        "#if",
        'R"(',
        "template<",
        "int x",
        "=",
        "\\\n",
    ]
    for number in range(3000):
        text = "".join(pieces[(number * 7919 + place * place * (number % 13 + 1)) % len(pieces)] for place in range(12))
        part = device_part(text)
        assert len(part) == len(text) and part.count("\n") == text.count("\n")
        assert all(0 <= one.start < one.end <= len(text) for one in declarations(text))


@pytest.mark.parametrize("piece", ["#include /*", '"\\', "__launch_bounds__(", 'R"(', "__global__ k("])
def test_a_text_that_closes_nothing_is_read_once(piece: str) -> None:
    """And not once from every place in it, which would take the rest of the day."""
    kernels_in(KERNEL + piece * (200_000 // len(piece)))
    kernels_in("__global__ void k() { " + piece * (200_000 // len(piece)))


def test_an_apostrophe_in_removed_text_hides_no_kernel() -> None:
    text = "#if 0\ndon't\n#endif\n__global__ void one(int a) { }\n__global__ void two(int b) { }\n"
    assert list(kernels_in(text)) == ["one", "two"]


def test_a_header_that_lay_beside_the_file_is_passed_over_and_missed_only_where_it_is_needed() -> None:
    text = '#include "../common/common.h"\n#include "error.cuh"\n#include "helper_cuda.h"\n' + KERNEL
    kernel = engine.kernel(text + "void f() { CHECK(cudaFree(0)); }\n")
    first, second = kernel.warnings
    assert sentence("pasted.header-passed-over", first) and sentence("pasted.second-header-passed-over", second)
    with refused("pasted.header-needed", CompileError):
        engine.kernel(text + "__device__ int more[N];\n")
    for name in ("/etc/passwd", "/etc/own.h", "../../etc/passwd", "secret.txt"):
        with pytest.raises(CompileError, match="line 1: "):
            engine.kernel(f'#include "{name}"\n{KERNEL}')


def test_a_slow_compilation_is_repeated_with_less_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def slow(name: str, text: str, function: Callable[..., Any], *arguments: Any, cpu_s: int) -> Any:
        asked.append((*arguments[2:], cpu_s))
        if len(asked) == 1:
            raise TookTooLong(sentence, sentence)
        return function(*arguments)

    sentence = "kernel.cu does not compile: it takes too long."
    monkeypatch.setattr(compilation, "call_apart", slow)
    unrolled = "__global__ void k(float *a) {\n#pragma unroll\n  for (int i = 0; i < 500; i++) a[i] = sinf(a[i]);\n}\n"
    kernel = engine.kernel(unrolled, "k")
    assert asked == [("k", False, CPU_S - HURRIED_S), ("k", False, True, HURRIED_S)]
    assert "optimise less" in kernel.warnings[0]
    assert kernel.run(1, 1, (np.zeros(500, np.float32),)).arrays["a"].tolist() == [0] * 500


@pytest.mark.parametrize(("head", "line"), [
    ("static_assert(0);\n", 1), ("\nnamespace a { static_assert(sizeof(int) == 8, \"no\"); }\n", 2),
    ("struct H { std::vector<int> v; };\nstatic_assert(sizeof(H) == 24);\n", None),
])  # fmt: skip
def test_a_static_assert_that_fails_is_the_compilers_refusal(head: str, line: int | None) -> None:
    """One about a type of the host says nothing here, because that type is not compiled."""
    if line is None:
        assert engine.kernel(head + KERNEL).name == "k"
    else:
        with pytest.raises(CompileError) as caught:
            engine.kernel(head + KERNEL)
        assert caught.value.line == line


def test_a_pragma_of_another_function_is_no_warning() -> None:
    loop = "#pragma unroll\n  for (int i = 0; i < 3; i++) a[i] = 0;\n"
    text = (
        f"__global__ void other(int *a) {{\n{loop}}}\n__global__ void k(int *a) {{\n{loop}}}\nint main() {{\n{loop}}}\n"
    )
    assert engine.kernel(text, "k").warnings == ()
    placed = text.replace("i++) a[i] = 0;\n}\nint main", "i++) a[i] = 0;\n#pragma unroll\n}\nint main")
    (warning,) = engine.kernel(placed, "k").warnings
    assert str(warning).startswith("line 8: ")


def test_a_function_of_the_host_that_returns_a_struct_is_no_struct() -> None:
    text = (
        "struct image *make(int n)\n{\n    struct image *made = (struct image *)malloc(n);\n    return made;\n}\n"
        + KERNEL
    )
    (function, _) = declarations(text)
    assert function.kind == "function" and "malloc" not in device_part(text)
    kept = "struct ALIGNED(16) P { int x; };\nenum class E : int { a };\ntypedef struct { int x; } Q;\n"
    assert [one.kind for one in declarations(kept)] == ["type"] * 3


def test_of_kernels_behind_a_macro_in_brackets_the_one_that_is_compiled_counts() -> None:
    old, new = "__global__ void k(int *a) { }\n", "__global__ void k(int *a, int b) { a[0] = b; }\n"
    text = f"#define OLD (0)\n#if OLD\n{old}#else\n{new}#endif\n"
    assert kernels_in(text)["k"].parameters == ("a", "b")


def test_a_text_with_the_line_ends_of_windows_compiles() -> None:
    text = "#define CHECK(x) { \\\nint e = x; \\\nif (e) exit(1); \\\n}\n\n" + KERNEL
    run = engine.kernel(text.replace("\n", "\r\n")).run(1, 1, (np.zeros(1, np.int32),))
    assert run.arrays["a"].tolist() == [1]
