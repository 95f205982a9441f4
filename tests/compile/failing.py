"""Files that do not compile, of many kinds, one after the other in one process: does the compiler outlive them?

python -m tests.compile.failing 2000      # "2000 failed, peak 210 MB"; a crash ends the process
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from engine.compile.nvrtc import compile_source
from engine.records import CompileError, Source

KERNEL = 'extern "C" __global__ void k(int *x) {{ {} }}'
# What stands in a kernel, or after it where it starts a line.
BODIES = (
    "x[0] = y;", "x[0] = 1", "int 3a;", "foo<int>(3);", "}", "x[0] = nosuch(3);", "\n#include <no_such_file.h>\n",
    "\n#error not yet\n", "\n#define A(x) x(\nA(3)\n", '"unterminated', "/* unterminated", "\n#if 1\n",
    "\n#include <stdio.h\n", "Q<Q<Q<", f"int a[{'9' * 400}];", f"{'x' * 100_000};", "(" * 300,
    "".join(f"y{number} = 1;" for number in range(200)), '\n#include "mine.cu"\n', 'static_assert(false, "");',
    "goto nowhere;", "int *p = 3.5;", "return 3;", "\n#define M(a, b) a##b\nM(,) M(+,-) M(1\n",
    "\n#define B { \\\n int q = ; \\\n }\nB\n", "struct S { virtual void f() = 0; }; S s;",
    "auto l = [=](auto q) { return q.zz; }; l(3);", "int a[-1];", "__shared__ int s[x[0]];",
    "switch (1) { case 1: case 1: }", "throw 3;", "new int[3]; delete x y;", "std::vector<int> v;",
    "using namespace std; cout << 3;", 'printf("%d", );', 'printf("%s %d" 3);', "const int c = 3; c = 4;",
    "\\u00e4 @ $ `", "08; 1.2.3;", "atomicAdd(x);", "k<<<1, 2>>>(x);", "__syncthreads(3, 4);",
    "x.y = blockIdx.w;", "asm(3);", "float4 f = 1; f.q = 2;", "for (int i = 0; i < 3; i++ {",
)  # fmt: skip
FILES = (
    "template <int N> struct F { static const int v = F<N - 1>::v; }; __global__ void k(int *x) { x[0] = F<10>::v; }",
    "template <class A> __device__ A f(A a) { return a.b; } __global__ void k(int *x) { x[0] = f(3) + f(3.f) + f(x); }",
    "template <class A, class B = typename A::t> __device__ void g(A); __global__ void k(int *x) { g(3); }",
    "template <class A> __device__ void f(A a) { f(&a); } __global__ void k(int *x) { f(3); }",
    "__global__ int k(int *x) {}", "__device__ int f(int) { g(); }", "int main() { k<<<1, 2>>>(3); }",
    "namespace {", "class A { int b; }; __global__ void k(A a) { a.b = 3; }", "#define X X X\nX", "concept C = true;",
    "__device__ constexpr int f(int n) { return f(n + 1); } static_assert(f(0) == 1);", "__constant__ int c = f();",
    "typedef struct { int a } b;", "#include", "#include <>", "#include MACRO", "#define", "#if", "#elif 3", "#else",
    "#endif", "#line x", "#foo", "#if 1\n" * 2000,
)  # fmt: skip
LIGHT = ("", "#include <stdio.h>\n", "#include <math.h>\n#include <cstdint>\n", "#include <cooperative_groups.h>\n")
# Seconds each: few of them.
HEAVY = ("#include <cuda/barrier>\n", "#include <cub/block/block_reduce.cuh>\n", "#include <cuda/atomic>\n",
         "#include <cooperative_groups/reduce.h>\n")  # fmt: skip
IN_HEAVY = (
    "cuda::barrier<3> b;", "typedef cub::BlockReduce<int> B; B(3).Foo();", "cuda::atomic_ref<int> r; r.foo();",
    "cooperative_groups::reduce(1, 2, 3);", "x[0] = y;", "}", "\n#include <no_such_file.h>\n",
)  # fmt: skip
_ONE_HEAVY_IN = 50


def texts(count: int, seed: int = 0) -> Iterator[str]:
    """`count` files, every kind among them where there are enough."""
    make = random.Random(seed)
    light = [head + KERNEL.format(body) for head in LIGHT for body in BODIES] + [
        head + text for head in LIGHT for text in FILES
    ]
    for number in range(count):
        if number % _ONE_HEAVY_IN == _ONE_HEAVY_IN - 1:
            yield make.choice(HEAVY) + KERNEL.format(make.choice(IN_HEAVY))
        else:
            yield f"// {number}\n{light[number % len(light)]}"


def main() -> None:
    """Compile so many that fail, and say so."""
    failed = 0
    for text in texts(int(sys.argv[1])):
        try:
            compile_source(Source("mine.cu", text, "int32"), "compute_90")
            print(f"compiles: {text[:200]!r}")
        except CompileError:
            failed += 1
    # Not getrusage's, which starts with what the parent had.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(f"{failed} failed, peak {int(peak) // 1024} MB")


if __name__ == "__main__":
    main()
