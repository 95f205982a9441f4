"""What nvcc takes and NVRTC alone does not: it compiles here, and computes the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.compile.nvrtc import compile_here, compile_with_log
from engine.lab import pasted_source
from engine.lab.compilation import compiled_in_full
from engine.lab.kernels import kernels
from engine.lab.setups import propose_setup
from engine.records import CompileError, NotRunnable, RunFailed
from engine.store.cupy_cache import VARIABLE, cache_trouble, settle_cache
from tests.sentences import refused, says, sentence

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

ROOT = Path(__file__).parents[2]


def test_a_power_of_whole_numbers_or_of_mixed_types_is_a_double() -> None:
    text = """__global__ void k(double *out, int i, float f, unsigned char c) {
    out[0] = pow(2, i); out[1] = pow(c, 2); out[2] = pow(f, 2.0); out[3] = std::pow(2.0, f); out[4] = pow(i, 0.5);
}"""
    made = engine.kernel(text).run(1, 1, (np.zeros(5), 33, 1.5, 7)).arrays["out"]
    assert made.tolist() == [2.0**33, 49, 2.25, 2.0**1.5, 33**0.5]


def test_integers_of_128_bits() -> None:
    text = """__global__ void k(unsigned long long *out, unsigned long long a, unsigned long long b) {
    unsigned __int128 x = (unsigned __int128)a * b;
    out[0] = x >> 64; out[1] = x; out[2] = x / 7; out[3] = x % 1000000007; out[4] = -(__int128)a / 3;
}"""
    a, b, most = (1 << 63) + 12345, (1 << 64) - 3, 1 << 64
    made = engine.kernel(text).run(1, 1, (np.zeros(5, np.uint64), a, b)).arrays["out"]
    x = a * b
    assert made.tolist() == [x >> 64, x % most, x // 7 % most, x % 1000000007, -(a // 3) % most]


LONG = """#include <cuda_pipeline.h>
#include <%s>
static_assert(std::is_same<uint64_t, unsigned long>::value && std::is_same<std::int64_t, long>::value, "");
static_assert(cuda::std::is_same<cuda::std::uint64_t, unsigned long>::value, "");
__global__ void k(uint64_t *a, intptr_t b, uintmax_t c) { printf("%%lu %%ld %%lu\\n", a[0], b, c); }
"""


@pytest.mark.sampled(quick=1)
@pytest.mark.parametrize("header", ["cstdint", "stdint.h", "cuda/std/cstdint", "cuda_awbarrier_primitives.h"])
def test_whole_numbers_of_64_bits_are_long_as_with_nvcc(header: str) -> None:
    made = engine.kernel(LONG % header)
    assert made.symbol == "_Z1kPmlm" and made.warnings == ()


def test_an_atomic_of_a_uint64_t_is_refused_as_by_nvcc() -> None:
    with pytest.raises(CompileError, match=r'no instance of .* "atomicAdd"'):
        engine.kernel("__global__ void k(uint64_t *a) { atomicAdd(a, 1); }")


def test_cupy_gets_a_folder_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    settle_cache()
    assert os.environ[VARIABLE] == str(tmp_path / "mine") and cache_trouble() is None
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "cache"))
    assert says("doctor.cupy-cache", str(cache_trouble()).replace(str(tmp_path), ""))
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    settle_cache()
    assert Path(os.environ[VARIABLE]).is_dir() and cache_trouble() is None


@pytest.mark.thorough
def test_a_home_that_cannot_be_written_stops_no_compilation(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")  # so that not even root can make a folder in it
    code = "import engine; print(engine.kernel('__global__ void k(int *a) { a[0] = 1; }').symbol)"
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment.pop("CUPY_CACHE_DIR", None)
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "_Z1kPi\n", ran.stderr


def test_a_static_array_is_told_apart_from_an_extern_one_of_another_kernel() -> None:
    text = """__global__ void fixed(int *a) { __shared__ int s[64]; s[threadIdx.x] = a[0]; a[1] = s[0]; }
__global__ void sized(int *a) { extern __shared__ int s[]; s[threadIdx.x] = a[0]; a[1] = s[0]; }
"""
    with refused("shared.static-array", RunFailed):
        engine.kernel(text, "fixed").run(1, 96, (np.zeros(2, np.int32),))
    with refused("shared.unsized-array", RunFailed):
        engine.kernel(text, "sized").run(1, 96, (np.zeros(2, np.int32),))


def test_a_local_array_is_named_if_it_is_the_only_one() -> None:
    one = (
        "__global__ void k(int *a, int n) { int own[8]; for (int i = 0; i < n; i++) own[i] = i; a[0] = own[n / 2]; }\n"
    )
    with refused("local.array", RunFailed):
        engine.kernel(one).run(1, 1, (np.zeros(2, np.int32), 9))
    with refused("local.arrays", RunFailed):
        engine.kernel(one.replace("own[8];", "own[8], more[4]; more[n % 4] = n; a[1] = more[a[0] % 4];")).run(
            1, 1, (np.zeros(2, np.int32), 60)
        )


def test_a_kernel_that_is_named_compiles_alone() -> None:
    text = """__global__ void other(int *a) { a[0] = missing; }
template <int N> __global__ void many(int *a) { a[0] = N + missing; }
template __global__ void many<7>(int *);
__global__ void wanted(int *a) { a[0] = 5; }
"""
    assert engine.kernel(text, "wanted").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [5]
    with pytest.raises(CompileError, match="line 1: "):
        engine.kernel(text, "other")


def test_a_function_object_is_the_type_that_the_launch_passes() -> None:
    text = """struct Add { __device__ int operator()(int a, int b) const { return a + b; } };
template <typename Op, typename A> __global__ void apply(int *a, Op op, A by) { a[0] = op(a[0], by); }
"""
    for launch in ("apply<<<1, 1>>>(d, Add(), 2.5);", "Add add; double b; apply<<<1, 1>>>(d, add, b);"):
        assert engine.kernel(f"{text}int main() {{ int *d; {launch} }}\n").name == "apply<Add, double>"
    with pytest.raises(NotRunnable, match="gets a lambda"):
        engine.kernel(text + "int main() { apply<<<1, 1>>>(d, [=] __device__ (int a, int b) { return a; }, 2); }\n")


def test_macros_with_parameters_may_define_and_launch_a_kernel() -> None:
    text = """#define KERNEL(name) __global__ void name
#define LAUNCH(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)
template <int N> KERNEL(fill)(int *out) { out[threadIdx.x] = N; }
int main() { LAUNCH(fill<6>, 4, 128, out); }
"""
    assert engine.kernel(text).name == "fill<6>"


def test_check_names_kernels_that_are_not_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    file.write_text("""__global__ void later(int *a);
__global__ void here(int *a) { a[0] = 1; }
#define USUAL
#ifndef USUAL
__global__ void rare(int *a) { a[0] = 1; }
#elif USE_FAST
__global__ void fast(int *a) { a[0] = 2; }
#endif
""")
    found = kernels(file)
    assert [one.name for one in found] == ["here"]
    said = dict(found[0].made.refused)
    assert sentence("check.only-declared", said["later"]) and sentence("check.left-out", said["rare"])
    assert "line 6: " in said["fast"]
    with refused("check.only-declared", NotRunnable):
        engine.kernel(file, "later")
    with refused("check.left-out", CompileError):
        engine.kernel(file, "rare")
    file.write_text("__global__ void later(int *a);\n__global__ void latest(int *a);\n")
    with refused("check.only-declared", NotRunnable):
        engine.kernel(file)


def test_a_name_of_the_host_s_side_is_named_with_both_lines() -> None:
    text = "int square(int x) {\n    return x * x;\n}\nint size = 4;\n__global__ void k(int *a) {\n    a[0] = %s;\n}\n"
    with refused("pasted.host-function", CompileError) as caught:
        engine.kernel(text % "square(3)")
    assert getattr(caught.value, "line", None) == 6
    with refused("pasted.host-variable", CompileError):
        engine.kernel(text % "size")


def test_only_a_header_that_the_preprocessor_asks_for_is_missed() -> None:
    untaken = '#ifdef _WIN32\n#include "win.h"\n#include <cute/tensor.hpp>\n#endif\n'
    text = "__global__ void k(int *a) { a[0] = UNKNOWN; }\n"
    with refused("pasted.unknown-name", CompileError):
        engine.kernel(untaken + text)
    with pytest.raises(CompileError, match=r'line 5: "mine.h" is not here'):
        engine.kernel(f'{untaken}#include "mine.h"\n{text}')


def test_every_missing_header_is_named_and_none_is_blamed_alone() -> None:
    text = '#include <time.h>\n#include <raylib.h>\n#include "a.h"\n#include "b.h"\n__global__ void k(Color *a) { }\n'
    with refused("pasted.missing-headers", CompileError) as caught:
        engine.kernel(text)
    assert getattr(caught.value, "line", None) == 5
    with refused("pasted.missing-library", CompileError):
        engine.kernel("#include <raylib.h>\n__global__ void k(Color *a) { }\n")


def test_arguments_of_a_template_that_are_made_of_foreign_names_are_said() -> None:
    text = """#include "fft.hpp"
template <class A> __global__ void k(float *a) { a[0] = 1; }
int main() {
    using Made = decltype(Block() + Size<32>()
                          + Kind<1>());
    k<Made><<<1, 1>>>(nullptr);
}
"""
    with refused("pasted.template-arguments", CompileError):
        engine.kernel(text)
    found = kernels(f"{text}__global__ void other(float *a) {{ a[0] = 2; }}\n")
    assert [one.name for one in found] == ["other"] and [name for name, _ in found[0].made.refused] == ["k"]


def test_a_namespace_that_an_if_leaves_out_is_named_with_its_line() -> None:
    with refused("pasted.left-out-namespace", CompileError):
        engine.kernel("#ifdef USE_CUDNN\nnamespace own {\n__global__ void k(int *a) { }\n}\n#endif\n")


def test_a_name_in_a_value_is_not_the_variable() -> None:
    with refused("pasted.unknown-value", CompileError):
        engine.kernel("constexpr int N = _N_;\n__global__ void k(int *a) { a[0] = N; }\n")


def test_a_word_of_a_comment_or_of_another_script_is_not_proposed() -> None:
    with refused("pasted.no-proposal", CompileError):
        engine.kernel("// GAP_PENALTY는 1, gap_penalty\n__global__ void k(int *a) { a[0] = GAP_PENALTY; }\n")


def test_of_two_functions_in_a_line_the_faulty_one_is_refused() -> None:
    first, other = kernels(
        "__global__ void c(int *a) { a[0] = 1; } __global__ void k(int *a) { c<<<1, 1>>>(a); }\n"
        "__global__ void d(int *a) { a[0] = 2; }\n"
    )
    assert (first.name, other.name) == ("c", "d")
    assert [name for name, _ in first.made.refused] == ["k"]


def test_text_that_does_not_compile_is_not_tried_for_each_of_its_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "__device__ int wrong() { return MISSING; }\n" + "".join(
        f"template <class A> __global__ void k{each}(A *a) {{ a[0] = wrong(); }}\n" for each in range(9)
    )
    text += "int main() {" + "".join(f"k{each}<float><<<1, 1>>>(a);" for each in range(9)) + "}\n"
    tried = list[str]()
    monkeypatch.setattr(
        pasted_source, "compile_here", lambda source, made_for: tried.append("") or compile_here(source, made_for)
    )
    with pytest.raises(CompileError, match="MISSING"):
        compiled_in_full("many.cu", text, None, True)
    assert len(tried) <= 4


@pytest.mark.release  # CUB takes seconds
def test_what_cuda_13_ended_is_said() -> None:
    text = """#include "mine.h"
#include <cub/thread/thread_operators.cuh>
__global__ void k(int *a) { a[0] = cub::Max()(a[0], a[1]); }
"""
    with refused("pasted.cub-max", CompileError):
        engine.kernel(text)


def test_hints_to_the_cache_change_no_answer() -> None:
    text = """__global__ void k(float *a) {
    unsigned long long policy; float x;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(x) : "l"(a), "l"(policy));
    asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %0, [%1], 16, 64;"
                 : "=l"(policy) : "l"(a));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(a));
    asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(a + 1), "f"(x + 1), "l"(policy));
}
"""
    assert engine.kernel(text).run(1, 1, (np.ones(32, np.float32),)).arrays["a"][:2].tolist() == [1, 2]


def test_parameters_have_the_names_of_the_definition() -> None:
    text = "__global__ void k(float *, int);\n__global__ void k(float *data, int n) { data[0] = n; }\n"
    assert [one.name for one in engine.kernel(text).parameters] == ["data", "n"]


TAKEN = {  # with a kernel k(int *a) that leaves 7 in a[0]
    "attributes of a kernel": """#define KERNEL(threads) __global__ void __launch_bounds__(threads)
[[nodiscard]] __device__ int seven() { return 7; }
KERNEL(64) other(int *a) { a[0] = 1; }
__attribute__((used)) KERNEL(64) k([[maybe_unused]] int *a) { a[0] = seven(); }
""",
    "C++20": """template <typename A> concept Number = requires(A a) { a + a; };
struct Pair { int x, y; };
consteval int twice(int x) { return 2 * x; }
__device__ auto sum(Number auto a, auto b) { return a + b; }
__global__ void k(int *a) { Pair p{.x = 1, .y = twice(3)}; a[0] = [](auto x, auto y) { return sum(x, y); }(p.x, p.y); }
""",
    "a constant that others give": """const double HALF = 0.5; static const float FOUR = HALF * 8;
const float ROOT = sqrt(2.0), *POINTER = nullptr;
__global__ void k(int *a) { a[0] = FOUR + 6 * HALF; }
""",
    "two files, one after the other": """\ufeff#include <cstdio>
__device__ int seven() { return 7; }
__global__ void first(int *a) { a[0] = seven(); }
int main() { first<<<1, 1>>>(0); }
#include <cstdio>
__device__ int seven()
{ return 7; }
__global__ void k(int *a) { a[0] = seven(); }
int main() { k<<<1, 1>>>(0); }
""",
    "a class that streams and vectors know": """#include <iostream>
class Point {
public:
    __host__ __device__ Point(int x) : x(x) {}
    friend std::ostream &operator<<(std::ostream &out, const Point &p);
    void save(const std::string &name);
    static std::vector<Point> load();
    int x;
};
__global__ void k(int *a) { a[0] = Point(7).x; }
""",
    "an overload": "__global__ void k(int *a) { a[0] = 7; }\n__global__ void k(float *a) { a[0] = 1; }\n",
    "a function that nobody calls": """__device__ int broken() { return missing; }
__global__ void other(int *a) { a[0] = broken(); }
__global__ void k(int *a) { a[0] = RAND_MAX > 7 ? 7 : EXIT_FAILURE; }
""",
    "names of std without std": """#include <utility>
using namespace std;
__global__ void k(int *a) { pair<int, int> p(3, 4); swap(p.first, p.second); a[0] = p.first + p.second; }
""",
    "a macro that is empty for other compilers": """#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif
BOTH inline int seven() { return 7; }
__global__ void k(int *a) { __asm__ __volatile__("mov.u32 %0, %1;" : "=r"(a[0]) : "r"(seven())); }
""",
    "macros without a semicolon": """#define EVERY(what) what(float) what(int)
namespace own {
template <class A> class Wrong { std::vector<A> all; };
#define INSTANCE(A) template class Wrong<A>;
EVERY(INSTANCE)
#undef INSTANCE
}
__global__ void k(int *a) { a[0] = 7; }
""",
    "a type that the host's library would bring": """#include <cublas_v2.h>
typedef __nv_bfloat16 real;
__global__ void k(int *a) { real x = (real)3.5f; a[0] = (float)x * 2; }
__global__ void reads(const real *x, float *y) { float first = x[0]; y[0] = first; }
__global__ void copies(const __grid_constant__ CUtensorMap map) { }
""",
    "limits that the host's compiler defines": """__global__ void k(int *a) {
    float low = -__FLT_MAX__, most = MAXFLOAT;
    a[0] = low == -most && __INT_MAX__ > 0 && __DBL_MAX__ > __LONG_MAX__ && __FLT_EPSILON__ > __FLT_MIN__ ? 7 : 1;
}
""",
    "a class of the C++ library as a base": """
template <class T, class = void> struct has_length : std::false_type {};
template <class T> struct has_length<T, std::void_t<decltype(std::declval<T>().length())>> : std::true_type {};
struct Line { __device__ int length() const { return 0; } };
__global__ void k(int *a) { a[0] = 5 + 2 * has_length<Line>::value + has_length<int>::value; }
""",
    "a variable in the head of a range": """__global__ void k(int *a) {
    int odd[] = {1, 2, 3};
    for (int factor = 1; int x : odd) a[0] += factor * x;
    a[0] += 1;
}
""",
    "places in a struct as constants": """#include <cstddef>
struct P { char a; double b; struct { short s, t; } in; };
static_assert(offsetof(P, b) == 8, "");
constexpr size_t WHERE = offsetof(P, in.t);
__global__ void k(int *a) { __shared__ char s[offsetof(P, b)]; s[0] = WHERE; a[0] = sizeof(s) + (s[0] == 18) - 2; }
""",
    "built-in functions of GCC": """__global__ void k(int *a) {
    double two = __builtin_sqrt(4.0);
    __builtin_memcpy(a, &two, sizeof(int));
    a[0] += __builtin_popcount(5) + __builtin_clz(1) - __builtin_ffsll(1LL << 25) - (int)__builtin_fmaxf(two, 1.0f);
    a[0] += __builtin_inff() > 0;
    a[0] += __builtin_offsetof(float3, z) - 7;
}
""",
    "code for nvcc": """#if defined(__NVCC__) && defined(__unix__)
#define SEVEN __SIZEOF_INT__ + 3
#endif
#include <cooperative_groups.h>
__global__ void k(int *a) { a[0] = SEVEN + cooperative_groups::this_thread_block().thread_rank(); }
""",
    "functions of C in the namespace std": """#include <cstdio>
#include <cstring>
__global__ void k(int *a) {
    int *made = (int *)std::malloc(8);
    std::memset(made, 0, 8);
    made[1] = std::abs(-7);
    std::memcpy(a, made + 1, 4);
    std::free(made);
    if (a[0] != 7) std::printf("%d", a[0]);
}
""",
    "storage that the C++ library aligns": """#include <type_traits>
__global__ void k(int *a) { std::aligned_storage<4, 4>::type four; *(int *)&four = 7; a[0] = *(int *)&four; }
""",
    "a template of functions as an argument": """template <class A> using Function = A (*)(A);
template <class A> __device__ A more(A x) { return x + 1; }
template <class A, Function<A> f> __global__ void k(A *a) { a[0] = f(A(6)); }
int main() { k<int, more><<<1, 1>>>(nullptr); }
""",
    "a file of host code beside it": """#include "verify.cpp"
#include "vector"
#include "../reference.c"
__global__ void k(int *a) { a[0] = 7; }
""",
    "the branch that is taken": """#define VERSION 2
#if VERSION == 1
__global__ void k(float *a, int n) { a[0] = n; }
#elif defined(OTHER) || 0
#elif VERSION >= 2
__global__ void k(int *a) { a[0] = 7; }
#else
__global__ void k(int n) { }
#endif
""",
    "another kernel's types of the C++ library": """
#include <map>
#include <string>
#include <vector>
struct Config { std::vector<int> sizes; std::map<std::string, int> names; };
template <typename T> class Tensor { std::vector<T> host; T *data; public: T *get() { return data; } };
typedef std::pair<std::string, int> Named;
namespace util { struct Timer { std::chrono::steady_clock::time_point at; void start() {} }; }
__host__ __device__ bool operator<(const Config &a, const Config &b) { return a.names < b.names; }
__global__ void other(Tensor<float> t, Config *c) { t.get()[0] = c->sizes[0]; }
__global__ void k(int *a) { a[0] = 7; }
""",
    "another kernel's header that is not here": """
#include <cufft.h>
#include <cuda/no_such_library>
__device__ cuda::none draw(cufftReal *s) { return cuda::none(s); }
__global__ void other(cufftReal *s, float *x) { x[0] = draw(s); }
__global__ void k(int *a) { a[0] = 7; }
""",
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_a_file_that_nvcc_takes_runs(name: str) -> None:
    assert engine.kernel(TAKEN[name], "k").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [7]


@pytest.mark.release  # libcu++ takes seconds to compile
def test_a_header_of_the_standard_library_may_bring_the_driver_s_types() -> None:
    text = "#include <cuda/barrier>\n__global__ void k(int *a) { a[0] = 7; }\n"
    assert engine.kernel(text, "k").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [7]


def test_a_function_that_is_left_out_is_named() -> None:
    text = "__device__ int broken() {\n  return missing;\n}\n__global__ void k(int *a) { a[0] = %s; }\n"
    assert sentence("pasted.left-out-function", engine.kernel(text % "1").warnings[0])
    with refused("pasted.unknown-name-2", CompileError):
        engine.kernel(text % "broken()")


def test_two_definitions_that_differ_are_refused_with_both_lines() -> None:
    twice = "__device__ int f() { return 1; }\n__device__ int f() { return 2; }\n"
    text = f"{twice}__global__ void k(int *a) {{ a[0] = f(); }}\n"
    with refused("pasted.defined-twice", CompileError):
        engine.kernel(text)


@pytest.mark.parametrize("strange", ["\u201cx\u201d", "\u2212 1", "\u00a01"])
def test_a_character_that_is_no_c_is_named(strange: str) -> None:
    with pytest.raises(CompileError, match=rf"line 2: .*U\+{ord(strange[0]):04X}"):
        engine.kernel(f"__global__ void k(int *a) {{\n  a[0] = {strange};\n}}\n")


def test_the_last_arguments_of_a_template_follow_from_the_values() -> None:
    text = """template <int N, class A, class B> __global__ void k(A *a, B by) { a[0] = N * by; }
int main() { int *a; double by = 2; k<3><<<1, 1>>>(a, by); }
"""
    assert engine.kernel(text).name == "k<3, int, double>"


def test_an_enumerator_and_a_member_are_template_arguments() -> None:
    text = """enum class Op { Add, Mul }; enum { FEW = 3, MANY }; struct Traits { static constexpr int N = 5; };
template <Op op, int N, int M> __global__ void k(int *a) { a[0] = int(op) + N + M; }
int main() { k<Op::Mul, MANY, Traits::N><<<1, 1>>>(0); }
"""
    kernel = engine.kernel(text)
    assert kernel.name == "k<Op::Mul, MANY, Traits::N>"
    assert kernel.run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [10]
    special = "template <int N> __global__ void k(int *a) { }\ntemplate <> __global__ void k<3>(int *a) { a[0] = 4; }\n"
    assert engine.kernel(special, "k<3>").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [4]


def test_video_instructions_compute_on_words_and_on_their_parts() -> None:
    text = """#define ASK(opcode) asm(opcode " %0, %1, %2, %3;" : "=r"(x) : "r"(a[0]), "r"(a[1]), "r"(7)); a[at++] = x;
__global__ void k(unsigned *a) {
    unsigned x; int at = 2;
    ASK("vabsdiff.u32.u32.u32.add") ASK("vadd4.u32.u32.u32.sat") ASK("vmax2.s32.s32.s32")
    ASK("vabsdiff4.u32.u32.u32.add")
}
"""
    first, second = 0xFF018005, 0x02030409
    made = engine.kernel(text).run(1, 1, (np.array([first, second, 0, 0, 0, 0], np.uint32),)).arrays["a"].tolist()
    assert made[2:] == [first - second + 7, 0xFF04840E, 0x02030409, 7 + 0xFD + 2 + 0x7C + 4]


def test_macros_may_make_whole_kernels_and_their_names() -> None:
    text = """#define NAME(x) x##_kernel
#define MAKE(A, by) __global__ void add_##A(A *a, A b) { \\
    a[0] += b * by; \\
}
MAKE(float, 3)
MAKE(int, 2)
__global__ void NAME(set)(int *a, int b) { a[0] = b; }
int main() { add_int<<<1, 32>>>(0, 1); NAME(set)<<<1, 64>>>(0, 1); }
"""
    for name, right in (("add_int", 10), ("set_kernel", 5)):
        assert engine.kernel(text, name).run(1, 1, (np.zeros(1, np.int32), 5)).arrays["a"].tolist() == [right]
    assert [one.name for one in kernels(text)] == ["add_float", "add_int", "set_kernel"]
    assert propose_setup(text, "set_kernel").block == ("64",)


def test_a_lambda_has_no_name_to_launch_it_with() -> None:
    text = "template <typename F> __global__ void k(int *a, F f) { a[0] = f(1); }\n"
    with refused("template.lambda", NotRunnable):
        engine.kernel(text + "int main() {\n  auto f = [] __device__ (int x) { return x; };\n  k<<<1, 1>>>(0, f);\n}\n")
    with pytest.raises(NotRunnable, match="line 2: k gets a lambda"):
        engine.kernel(text + "int main() { k<<<1, 1>>>(0, [=] __device__ (int x) { return x; }); }\n")


def test_a_kernel_of_an_unnamed_namespace_has_one_name_in_every_build() -> None:
    text = "namespace { __device__ int n; __global__ void k(int *a) { a[0] = n++; } }\n"
    own = engine.kernel(text)
    builds = [compile_with_log(own.source, architecture) for architecture in ("compute_90", "sm_75", "sm_90")]
    assert {build.symbols for build in builds} == {(own.symbol,)}  # each by a process of its own
    run = own.run(1, 1, (np.ones(1, np.int32),))
    assert run.arrays["a"].tolist() == [0] and "a" in run.at(line=1)  # the debugger's build, too


def test_launch_bounds_may_be_an_expression_with_brackets() -> None:
    text = """constexpr int warp() { return 32; }
__global__ void __launch_bounds__((warp() < 64 ? warp() : (int)(sizeof(int) * (2 + 1))) * 4, 2) k(int *a) { a[0] = 1; }
"""
    assert engine.kernel(text).name == "k"


def test_a_kernel_may_wait_for_the_kernel_before_it() -> None:
    text = """__global__ void k(int *a) {
    cudaGridDependencySynchronize(); a[0] = 1; cudaTriggerProgrammaticLaunchCompletion();
}"""
    assert engine.kernel(text).run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [1]


def test_a_block_of_markdown_is_told_from_cuda() -> None:
    with refused("compile.markdown", CompileError):
        engine.kernel("```cuda\n__global__ void k(int *a) { a[0] = 1; }\n```\n")


@pytest.mark.parametrize(("call", "key"), [("sqrt(n)", "compile.whole-number"), ("max(n, a[0])", "compile.two-types")])
def test_an_argument_that_fits_two_functions_is_told_how_to_convert(call: str, key: str) -> None:
    with refused(key, CompileError):  # nvcc takes neither
        engine.kernel(f"__global__ void k(float *a, int n) {{ a[0] = {call}; }}\n")


def test_a_pointer_to_a_type_that_is_only_declared_brings_its_header() -> None:
    text = "#include <cublas_v2.h>\ntypedef __nv_bfloat16 real;\n__global__ void k(real *x, float *y) { *y = x[0]; }\n"
    made = engine.kernel(text).run(1, 1, (np.array([0x4040], np.uint16), np.zeros(1, np.float32)))
    assert made.arrays["y"].tolist() == [3.0]


OF_TEMPLATE = (
    "template <class T> __global__ void k(T *a) { a[0] = one(a[1]); }\ntemplate __global__ void k<int>(int *);"
)
BY_MACRO = "#define CALL(x) one(x)\n__global__ void k(int *a) { a[0] = CALL(a[1]); }"
BY_ARGUMENT = (
    "struct Own { __device__ int f() { return one(1); } };\n"
    "template <class F> __global__ void k(int *a) { a[0] = F().f(); }\nint main() { k<Own><<<1, 1>>>(0); }"
)


@pytest.mark.parametrize("kernel", [OF_TEMPLATE, BY_MACRO, BY_ARGUMENT])
def test_an_error_of_what_a_kernel_uses_is_no_other_kernels(kernel: str) -> None:
    text = "struct Used { int x = missing; };\n__device__ int one(int x) { return Used().x; }\n" + kernel
    with pytest.raises(CompileError, match='line 1: identifier "missing" is undefined'):
        engine.kernel(text, "k")


def test_a_header_that_is_not_here_is_named_if_the_kernel_needs_it() -> None:
    text = "#include <cuda/no_such_library>\n__global__ void k(int *a) { a[0] = cuda::none; }\n"
    with pytest.raises(CompileError, match='line 1: cannot open source file "cuda/no_such_library"'):
        engine.kernel(text)


def test_a_kernel_may_have_the_name_of_a_function_of_cuda() -> None:
    text = "".join(
        f"__global__ void {name}(const int *__restrict__ x, int n = 3) {{}}\n" for name in ("any", "f", "max")
    )
    assert [one.name for one in kernels(text)] == ["any", "f", "max"]
    assert engine.kernel(text, "max").symbol != engine.kernel(text, "any").symbol


NAMESAKES = """namespace a { __global__ void k(float *y) { y[0] = 1; } }
namespace b { namespace c { __global__ void k(float *y) { y[0] = 2; } } }
__global__ void k(float *y, int n) { y[0] = 3; }
template <int N> __global__ void k(float y[]) { y[0] = N; }
template <int N> __global__ void k(const unsigned int *__restrict__ n, float *y = 0) { y[0] = N + n[0]; }
#if 0
__global__ void k(float *y, int n) { y[0] = 9; }
#endif
"""


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(
    ("name", "right"),
    [("k", 1), ("a::k", 1), ("c::k", 2), ("b::c::k", 2), ("::k(float *, int)", 3), ("k(float*,int n)", 3),
     ("k<7>(float *)", 7), ("k<4>(const unsigned *, float *)", 9), ("::k<8>(float [])", 8)],
)  # fmt: skip
def test_of_kernels_with_one_name_the_asked_one_is_taken(name: str, right: int) -> None:
    kernel = engine.kernel(NAMESAKES, name)
    given = {"y": np.zeros(1, np.float32), "n": 5 if right == 3 else np.full(1, 5, np.uint32)}
    assert kernel.run(1, 1, [given[one.name] for one in kernel.parameters]).arrays["y"].tolist() == [right]
    assert [warning for warning in kernel.warnings if "not taken" in warning] == [] or name == "k"
    assert len(propose_setup(NAMESAKES, name).arguments) == len(kernel.parameters)


@pytest.mark.parametrize("name", ["d::k", "k(double *)", "k<3>(int)"])
def test_kernels_with_one_name_are_listed_where_none_fits(name: str) -> None:
    with pytest.raises(NotRunnable) as raised:
        engine.kernel(NAMESAKES, name)
    assert says("lab.namesakes", str(raised.value).replace(f"named {name};", "named d::k;"))


def test_a_library_of_windows_and_the_types_of_bsd() -> None:
    text = """#define API __declspec(dllexport)
extern "C" __declspec( dllimport ) __device__ __host__ float outside(float);
__global__ void k(u_int32_t *a, u_int8_t b) { a[0] = b; }
extern "C" API int launch(u_int32_t *a) { k<<<1, 1>>>(a, 7); return 0; }
"""
    kernel = engine.kernel(text)
    assert kernel.run(1, 1, (np.zeros(1, np.uint32), 7)).arrays["a"].tolist() == [7] and kernel.warnings == ()


def test_a_member_function_of_the_host_is_removed_and_its_class_stays() -> None:
    text = """class Big {
public:
    int a;
    __host__ std::string name() const {
        std::stringstream to;
        to << std::hex << a;
        return to.str();
    }
};
std::vector<Big> many(Big a);
__global__ void k(Big *b) { b[0].a += 1; }
"""
    assert engine.kernel(text).run(1, 1, (np.zeros(1, np.int32),)).arrays["b"].tolist() == [1]


def test_the_reason_is_not_that_of_a_function_which_takes_the_type() -> None:
    text = """std::vector<int> many(Big a);
__global__ void k(Big *b) { b[0].a += 1; }
"""
    with pytest.raises(CompileError, match=r'line 2: identifier "Big" is undefined'):
        engine.kernel(text)


def test_words_of_gcc() -> None:
    text = "__global__ void k(int *a) { __const__ int b = 2; __const __signed__ c = __extension__ -3; a[0] = b * c; }"
    assert engine.kernel(text).run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [-6]


def test_a_macro_that_instantiates_a_host_function_is_left_out() -> None:
    text = """template <int N> __global__ void many(int *a) { a[0] = N; }
template <int N> void run(int *a) { many<N><<<1, 1>>>(a); }
#define INSTANTIATE(N) \\
    template void run<N>(int *);
INSTANTIATE(4)
INSTANTIATE(8)
__global__ void k(int *a) { a[0] = 5; }
"""
    assert engine.kernel(text, "k").run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [5]


def test_the_name_of_a_kernel_may_stand_in_a_branch() -> None:
    text = """__global__ void
#if defined(FAST)
fast
#else
slow
#endif
(int *a) { a[0] = 5; }
"""
    assert engine.kernel(text).run(1, 1, (np.zeros(1, np.int32),)).arrays["a"].tolist() == [5]
