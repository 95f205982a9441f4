"""Mistakes that keep a kernel from compiling, as students make them: the sentence is at the line that a reader mends,
and it says what to write."""

from __future__ import annotations

import pytest

from engine.lab.checking import compiled_marks
from engine.records import NotRunnable

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

BODY = "__global__ void f(float *a, int n) {\n%s\n}\n"
INDEX = BODY % "    int i = threadIdx.x;\n    if (i < n) a[i] = 1;"
# name -> (text, line of the first error, what its sentence names)
MISTAKES = {
    "no semicolon": (INDEX.replace("x;", "x"), 2, ('";"', "end of this line")),
    "no semicolon before a comment": (INDEX.replace("x;", "x  // mine\n\n"), 2, ('";"',)),
    "no semicolon behind the last line": (INDEX.replace("1;", "1"), 3, ('";"',)),
    "an open bracket": (INDEX.replace("(i < n)", "(i < n"), 3, ('")"',)),
    "an open brace": (INDEX.replace("a[i] = 1;", "{ a[i] = 1;"), 4, ('"}"', "line 1")),
    "an open brace above a function": (BODY % "    if (n) {" + "__device__ int g(int x) { return x; }\n",
                                       4, ("}", "above")),
    "a brace too many": (INDEX + "}\n", 5, ("}",)),
    "a struct without its semicolon": ("struct P {\n    float x;\n}\n" + INDEX.replace("int n", "P p, int n"),
                                       3, ('";"',)),
    "threadIdx in a sum": (BODY % "    int i = threadIdx + 1;\n    a[i] = 1;", 2, ("`threadIdx.x`",)),
    "blockIdx as a number": (BODY % "    int i = blockIdx;\n    a[i] = 1;", 2, ("`blockIdx.x`",)),
    "threadIdx as an index": (BODY % "    a[threadIdx] = 1;", 2, ("`threadIdx.x`",)),
    "blockDim as a function": (BODY % "    a[blockDim()] = 1;", 2, ("`blockDim.x`",)),
    "a shared array of n": (BODY % "    __shared__ float s[n];\n    a[0] = s[0];", 2, ("extern __shared__ float s[]",)),
    "a shared array without extern": (BODY % "    __shared__ float s[];\n    a[0] = s[0];", 2, ("extern",)),
    "a local array of n": (BODY % "    float s[n];\n    a[0] = s[0];", 2, ("constant",)),
    "two indices of a pointer": (BODY % "    a[n][0] = 1;", 2, ("a[row * width + column]",)),
    "an atomic of a value": (BODY % "    atomicAdd(a[0], 1.0f);", 2, ("(float, float)", "atomicAdd(int *, int)")),
    "an atomic that is not there": (BODY % "    atomicMax(a, 1.0f);", 2, ("(float *, float)",)),
    "a shuffle without its mask": (BODY % "    a[0] = __shfl_down_sync(a[n], 1);", 2, ("mask",)),
    "= for ==": (BODY % "    if (threadIdx.x = 0) a[0] = 1;", 2, ("==",)),
    "a store to const": (INDEX.replace("float *a", "const float *a"), 3, ("const",)),
    "a power": (BODY % "    a[0] = a[1] ^ 2;", 2, ("powf",)),
    "a rest of floats": (BODY % "    a[0] = a[1] % 2;", 2, ("fmodf",)),
    "vectors in a sum": ("__global__ void f(float3 *a) { a[0] = a[0] + a[1]; }\n", 1, ("float3 + float3",)),
    "restrict of C": (INDEX.replace("float *a", "float *restrict a"), 1, ("`__restrict__`",)),
    "commas in a for": (BODY % "    for (int i = 0, i < n, i++) a[i] = 0;", 2, ("separated by ;",)),
    "a macro with a semicolon": ("#define N 16;\n" + BODY % "    __shared__ float s[N];\n    a[0] = s[1];",
                                 3, ("`16;`",)),
    "a macro with =": ("#define N = 16\n" + BODY % "    for (int i = 0; i < N; i++) a[i] = 0;", 3, ("`= 16`",)),
    "a kernel with a result": ("__global__ int f(int *a) { return 1; }\n", 1, ("pointer",)),

    "a template's number": (
        "template <int N> __device__ int g(int *a) { return a[N]; }\n" + BODY % "    a[0] = g(&n);", 3,
        ("f<float, 32>(a)",)),
    "a function below": (BODY % "    a[0] = g(n);" + "__device__ int g(int x) { return x; }\n", 2, ("`g`", "line 4")),
    "a header of halves": ("__global__ void f(half *a) { a[0] = __float2half(1); }\n", 1, ("<cuda_fp16.h>",)),
    "a header of groups": (BODY % "    cooperative_groups::this_thread_block().sync();",
                           2, ("<cooperative_groups.h>",)),
    "an alias of groups": ("#include <cooperative_groups.h>\n" + BODY % "    cg::this_thread_block().sync();", 3,
                           ("namespace cg = cooperative_groups",)),
    "a header of random numbers": ("__global__ void f(curandState *s) { s[0] = s[1]; }\n", 1, ("<curand_kernel.h>",)),
    "a vector without its header": ("__global__ void f(vector<int> a) { a[0] = 1; }\n", 1, ("`vector`", "pointer")),
    "rand": (BODY % "    a[0] = rand();", 2, ("`rand`", "curand_kernel.h")),
    "exit": (BODY % "    if (n) exit(1);\n    a[0] = 1;", 2, ("`exit`", "return")),
    "a sort": (BODY % "    std::sort(a, a + n);", 2, ("`sort`", "loop")),
    "a function named as one of the library": (
        "int reverse(int x) { return -x; }\n" + BODY % "    a[0] = reverse(n);", 3,
        ("`reverse`", "line 1", "__device__")),
    "halves with a header that has none": (
        "#include <cuda_runtime.h>\n#include <vector>\n__global__ void f(half *a) { a[0] = a[1]; }\n", 3,
        ("<cuda_fp16.h>",)),
    "a word of CUDA without its lines": (BODY % "    shared float s[32];\n    a[0] = 1;", 2, ("`__shared__`",)),
    "the length of a pointer": (BODY % "    for (int i = 0; i < a.size(); i++) a[i] = 0;", 2, ("parameter",)),
    "first values of a shared array": (BODY % "    __shared__ float s[2] = {0};\n    a[0] = s[1];", 2,
                                       ("__syncthreads()",)),
    "a word of another language": (BODY % "    if (n > 0 And n < 9) a[0] = 1;", 2, ("&&",)),
    "a name of 3,000 letters": (BODY % f"    a[0] = {'x' * 3000};", 2, (f'"{"x" * 40} …" is undefined',)),
    "a length of a text": ("__global__ void f(char *a) { a[0] = strlen(a); }\n", 1, ("`strlen`", "loop")),
    "an order of the library": (
        "#include <compare>\nstruct P { int x; auto operator<=>(const P &) const = default; };\n"
        "__global__ void f(P *a) { a[0].x = a[0] < a[1]; }\n", 2, ("<compare>", "operator<")),
    "a number of the host": ("int N = 4;\n" + BODY % "    a[0] = N;", 3, ("`N`", "line 1", "const")),
}  # fmt: skip


@pytest.mark.sampled(quick=8)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_has_a_sentence_at_the_line_to_mend(name: str) -> None:
    text, line, named = MISTAKES[name]
    first = next(mark for mark in compiled_marks(text, "mine.cu", None) if mark.kind == "error")
    assert first.line == line and all(word in first.message for word in named), first


# name -> (text, line, what the sentence names)
NO_KERNEL = {
    "one underscore": ("_global_ void f(int *a) { a[0] = 1; }\n", 1, ("`_global_`", "`__global__`")),
    "misspelt": ("\n__globl__ void f(int *a) { a[0] = 1; }\n", 2, ("`__globl__`", "`__global__`")),
    "launched": ("\nvoid f(int *a) { a[0] = 1; }\nint main() { f<<<1, 32>>>(0); }\n", 2, ("f is launched",)),
    "with a thread": ("void f(int *a) { a[threadIdx.x] = 1; }\n", 1, ("f asks for its thread",)),
    "of a class": ("struct S {\n    __global__ void f(int *a) { a[0] = 1; }\n};\n", 2, ("line 1", "move it out")),
    "behind an open brace": ("int h() {\n    return 3;\n" + INDEX, 3, ("line 1", "close them")),
    "none": ("int main() { return 0; }\n", None, ("no kernel",)),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_KERNEL)
def test_a_text_without_a_kernel_is_refused_with_the_function_that_was_meant(name: str) -> None:
    text, line, named = NO_KERNEL[name]
    with pytest.raises(NotRunnable) as caught:
        compiled_marks(text, "mine.cu", None)
    assert caught.value.line == line and all(word in str(caught.value) for word in named)


def test_a_warning_about_an_unused_variable_is_left_out_beside_errors() -> None:
    marks = compiled_marks(INDEX.replace("x;", "x"), "mine.cu", None)
    assert [mark.kind for mark in marks] == ["error"]


WITHOUT_EFFECT = {"__syncthreads;": "__syncthreads();", "a[0] == 1;": "=", "a[1, 2] = 3;": "[i, 2]"}


@pytest.mark.parametrize("statement", WITHOUT_EFFECT)
def test_a_statement_without_effect_is_warned_of_with_what_was_meant(statement: str) -> None:
    (mark,) = compiled_marks(BODY % f"    {statement}\n    a[2] = 1;", "mine.cu", None)
    assert (mark.line, mark.kind) == (2, "warning") and WITHOUT_EFFECT[statement] in mark.message, mark


# statements -> the line of the warning, what it names
WARNED = {
    "if (n < 3);\n    a[0] = 1;": (2, ("`if`", "in any case")),
    "if (n < 3)\n    ;\n    a[0] = 1;": (3, ("`if`",)),
    "for (int i = 0; i < n; i++);\n    { a[0] = 1; }": (2, ("`for`", "once")),
    "while (a[0] < (n + 1) * 2); { a[0] = 1; }": (2, ("`while`", "once")),
    "if ((unsigned)n < 0) a[0] = 1;": (2, ("never below 0",)),
    "a[0] = 1 << 40;": (2, ("1LL",)),
    "a[0] = n / 0;": (2, ("undefined",)),
    "a[0] = 2147483647 + 1;": (2, ("long long",)),
    "char c = 300; a[0] = c;": (2, ("does not fit",)),
}


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("statements", WARNED)
def test_a_statement_that_is_perhaps_another_one_is_warned_of_in_plain_words(statements: str) -> None:
    line, named = WARNED[statements]
    (mark,) = compiled_marks(BODY % f"    {statements}", "mine.cu", None)
    assert (mark.line, mark.kind) == (line, "warning") and all(word in mark.message for word in named), mark


EMPTY = ("do { a[0] += 1; } while (a[0] < n);", "while (atomicAdd(a, 0.0f) < n);\n    a[1] = 2;",
         "for (int i = 0; i < n; a[i++] = 1);", "if (n < 3); else a[0] = 1;", "// if (n);\n    a[0] = 1;")  # fmt: skip


@pytest.mark.sampled(quick=1)
@pytest.mark.parametrize("statements", EMPTY)
def test_a_loop_may_have_no_body(statements: str) -> None:
    assert compiled_marks(BODY % f"    {statements}", "mine.cu", None) == ()


OTHER = "__global__ void f(int *b) { b[0] = 2; }\n"
SAME_NAME = {
    "an overload": (INDEX + OTHER, 5),
    "another namespace": (INDEX + "namespace other {\n" + OTHER + "}\n", 6),
    "a template": (INDEX + "template <class A> " + OTHER, 5),
    "an #if chooses": (f"#ifdef FIRST\n{INDEX}#else\n{OTHER}#endif\n", None),
    "a forward declaration": ("__global__ void f(float *a, int n);\n" + INDEX, None),
    "for some arguments": ("template <class A> __global__ void f(A *b) { b[0] = 1; }\n"
                           "template <> __global__ void f(int *b) { b[0] = 2; }\n"
                           "int main() { f<<<1, 1>>>((int *)0); f<float><<<1, 1>>>(0); }\n", None),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_NAME)
def test_a_kernel_that_is_not_taken_for_its_name_is_told_of(name: str) -> None:
    text, line = SAME_NAME[name]
    marks = compiled_marks(text, "mine.cu", None)
    assert [mark.line for mark in marks] == [line] * (line is not None), marks
    assert all("not taken" in mark.message for mark in marks)


def test_a_left_out_function_has_the_reason_of_its_error() -> None:
    text = "#include <vector>\n__device__ int g(std::vector<int> v) { return v[0]; }\n" + INDEX
    (mark,) = compiled_marks(text, "mine.cu", None)
    assert (mark.line, mark.kind) == (2, "warning") and "`vector`" in mark.message and "pointer" in mark.message


def test_a_name_of_a_missing_header_is_not_taken_for_a_misspelt_one() -> None:
    text = '#include "sizes.h"\n#define BLOCK_X 3\n' + BODY % "    a[BLOCK_X] = BLOCK_Y;"
    first = next(mark for mark in compiled_marks(text, "mine.cu", None) if mark.kind == "error")
    assert "sizes.h" in first.message and "BLOCK_Y" in first.message and "BLOCK_X" not in first.message
