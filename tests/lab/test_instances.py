"""Which instance of a template a file launches, read off its host code."""

from __future__ import annotations

import pytest

from engine.lab.instances import _File, guessed_types, instance, named_kernel
from engine.lab.kernels import kernel, kernels
from engine.lab.signatures import function_name, kernels_in
from engine.records import NotRunnable
from tests.sentences import refused

ONE, SIZE = "template <class A> __global__ void k(A *a) { }\n", "template <int N> __global__ void k(int *a) { }\n"
BOTH = "template <class A, int N = 4> __global__ void k(A *a) { }\n"
FILES = {
    "a number": (SIZE + "int main() { k<64><<<1, 64>>>(a); }", "k<64>"),
    "a macro": ("#define N 64\n" + SIZE + "int main() { k <N> <<<1, N>>>(a); }", "k<N>"),
    "constants of the function": (
        SIZE + "int main() { constexpr int n{32}; const int l = 1, m = 2 * n; k<m / 2><<<1, 1>>>(a); }",
        "k<(2 * (32)) / 2>",
    ),
    "the first that is known": (
        SIZE + "void f(int n) { k<n><<<1, 1>>>(a); }\nint main() { k<8><<<1, 1>>>(a); }",
        "k<8>",
    ),
    "in a comment": (SIZE + "// k<9><<<1, 1>>>\nint main() { k<8><<<1, 1>>>(a); }", "k<8>"),
    "comments between the parameters": (
        "template <int N, // the size, 32 or 64\n int M /* of a row, too */ >\n__global__ void k(int *a) { }\n"
        "int main() { k<32, 8><<<1, 1>>>(a); }",
        "k<32, 8>",
    ),
    "comments between the function's": (
        SIZE + "template <int M, // 16, say\n int L> void f() { k<L><<<1, 1>>>(a); }\nint main() { f<16, 4>(); }",
        "k<4>",
    ),
    "through a function": (SIZE + "template <int M> void f() { k<M><<<1, 1>>>(a); }\nint main() { f<16>(); }", "k<16>"),
    "an alias with commas, through a function": (
        "template <int N, class A> struct Of { };\n" + ONE + "template <int M, class B> void f() { using X = Of<M, B>; "
        "k<X><<<1, 1>>>(a); }\nint main() { f<16, float3>(); }",
        "k<Of<16, float3>>",
    ),
    "constants with a comparison": (
        SIZE + "int main() { const int m = 3 < 4 ? 8 : 4, n = 2; k<m + n><<<1, 1>>>(a); }",
        "k<(3 < 4 ? 8 : 4) + (2)>",
    ),
    "a function's default": (
        SIZE + "template <int M = 4> void f() { k<M><<<1, 1>>>(a); }\nint main() { f(); }",
        "k<4>",
    ),
    "deduced": (ONE + "int main() { double *x, *y; k<<<1, 1>>>(y); }", "k<double>"),
    "deduced from several words": (
        ONE + "int main() { unsigned long  long int *y = 0; k<<<1, 1>>>(y + 4 * n); }",
        "k<unsigned long long int>",
    ),
    "deduced from an element's address": (ONE + "int main() { int *x; float2 *y; k<<<1, 1>>>(&y[3]); }", "k<float2>"),
    "deduced from an array of pointers": (ONE + "int main() { int *y; double *x[4]; k<<<1, 1>>>(x[i]); }", "k<double>"),
    "deduced from a pointer to pointers": (ONE + "void f(long long **x) { k<<<1, 1>>>(x[0]); }", "k<long long>"),
    "deduced, and unknown": (ONE + "void f(Tensor t) { k<<<1, 1>>>(t.data()); }", "k<float>"),
    "a type of a library's": (ONE + "void f() { DISPATCH([&] { k<scalar_t><<<1, 1>>>(t.data()); }); }", "k<float>"),
    "defaults": ("template <int N = 4> __global__ void k(int *a) { }\n", "k<>"),
    "a type and a default": (BOTH, "k<float>"),
    "nothing is said": (SIZE, None),
    "an explicit instance": (SIZE + "template __global__ void k<OF_A_HEADER + 2>(int *);", "k<OF_A_HEADER + 2>"),
    "in a macro": (ONE + "#define L(A) k<A><<<1, 1>>>(p)\nint main() { L(double); }", "k<double>"),
    "in a macro that nobody uses": (ONE + "#define L(A) k<A><<<1, 1>>>(p)\n", "k<float>"),
    "in a macro of a macro": (
        ONE
        + "#define L(A) k<A><<<1, 1>>>(p)\n#define M(A, x) do { \\\n  L(A); \\\n} while (0)\nint main() { M(int, 1); }",
        "k<int>",
    ),
    "in a macro that is passed to a macro": (
        SIZE + "#define SIZES(X) X(4) X(8)\n#define L(N) k<N><<<1, N>>>(p);\nint main() { SIZES(L) }",
        "k<4>",
    ),
    "behind a name": (SIZE + "auto f = k<128>;", "k<128>"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_template_is_named_as_its_file_launches_it(name: str) -> None:
    text, wanted = FILES[name]
    assert instance(text, "k", kernels_in(text)["k"]) == wanted


@pytest.mark.parametrize(("name", "wanted"), [("k<4>", "k<4, double>"), ("k<4, int>", "k<4, int>"), ("k<", "k<")])
def test_the_types_that_a_name_omits_follow_from_the_launch(name: str, wanted: str) -> None:
    text = "template <int N, class A> __global__ void k(A *a) { }\nvoid f(double *x) { k<2><<<1, 1>>>(x); }"
    assert named_kernel(text, "a.cu", name).name == wanted


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(
    "piece", ["k<", "k<a, ", "const int n = n; k<n>", "template <int n> void f() { f<n>(); k<n>(); }\n"]
)
def test_a_text_that_says_it_a_thousand_times_is_read_soon(piece: str) -> None:
    text = SIZE + piece * (30_000 // len(piece))
    instance(text, "k", kernels_in(text)["k"])


@pytest.mark.parametrize(("host", "guessed"), [
    ("", ("A",)), ("int main() { int *p; k<<<1, 2>>>(p); }", ()), ("int main() { k<int, 3><<<1, 2>>>(p); }", ()),
    ("template <typename U> void run(U *x) { k<U, 3><<<1, 2>>>(x); }", ("A",)),
    ("template <typename U> void run(U *x) { k<U, 3><<<1, 2>>>(x); }\nint main() { run<int>(0); }", ()),
])  # fmt: skip
def test_a_type_that_the_file_does_not_tell_is_named(host: str, guessed: tuple[str, ...]) -> None:
    text = BOTH + host
    declared = kernels_in(text)["k"]
    assert guessed_types(text, "k", declared) == guessed and len(kernel(text).warnings) == len(guessed)
    assert (instance(text, "k", declared, "double") != instance(text, "k", declared)) == bool(guessed)


def test_a_file_of_templates_that_it_does_not_launch_is_told() -> None:
    text = SIZE + "template <int N, class A> __global__ void m(A *a) { a[0] = N; }\n"
    with refused("instances.only-templates", NotRunnable):
        kernels(text)
    assert [one.name for one in kernels(text + "int main() { k<4><<<1, 1>>>(0); }")] == ["k<4>"]


FUNCTOR = """template <int N, class F> __global__ void k(int *a, F f) { a[0] = f(N); }
template <class F> void run(int *p, F f) { k<4, F><<<1, 1>>>(p, f); }
int main() { run(p, [=] __device__ (int x) { return x; }); }
"""


def test_a_function_object_is_no_number() -> None:
    with refused("instances.functor", NotRunnable):
        kernel(FUNCTOR)


def test_places_are_those_of_the_text_with_its_macros() -> None:
    text = """#define LAUNCH(SIZE) k<scalar, SIZE><<<grid, 64>>>(input.data());
template <class A, int N> __global__ void k(A *a) { a[0] = N; }
void run(Tensor input) { LAUNCH(1) LAUNCH(2) }
template <class B> void after(B b) { }
"""
    file = _File(text)
    assert len(file.text) > len(text)
    assert [function_name(file.text, one) for one in file.declared if one.called] == ["k", "run", "after"]
    assert file.text[file.declared[-1].start :].startswith("template <class B>")


@pytest.mark.parametrize(
    ("template", "launch", "name"),
    [
        ("int B = 64, typename T", "", "k<64, float>"),
        ("int B = 64, typename T", "double *d; k<<<1, 2>>>(d);", "k<64, double>"),
        ("typename T, int B = 64", "", "k<float>"),
        ("int B = 64, int C", "", "such as k<64, 128>."),
        ("int B, int C = B * 2", "", "such as k<128>."),
    ],
)
def test_defaults_before_other_arguments_are_taken(template: str, launch: str, name: str) -> None:
    kind = "T" if "T" in template else "float"
    text = f"template <{template}> __global__ void k({kind} *a) {{ a[0] = B; }}\nint main() {{ {launch} }}\n"
    try:
        told = named_kernel(text, "kernel.cu", None).name
    except NotRunnable as refusal:
        told = str(refusal)
    assert told.endswith(name)
